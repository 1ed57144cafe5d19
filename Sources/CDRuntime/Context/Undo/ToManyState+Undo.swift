// Restoring members without changing the other side.
extension ToManyState {
  /// Adds an object to the members or removes it.
  ///
  /// - Parameter isStored: Whether the store has it as a member now.
  func setMembership(_ key: ObjectKey, isMember: Bool, isStored: Bool) {
    cache = nil
    if keys != nil {
      if !isMember {
        keys?.remove(key)
      } else if keys?.contains(key) == false {
        keys?.append(key)
      }
    }
    forgetChange(of: key)
    if isMember, !isStored { added.append(key) }
    if !isMember, isStored { removed.append(key) }
    if !isMember || !isStored { positions[key] = nil }
    if isMember { isOrderChanged = true }
  }

  /// Whether only the order can differ from the store, and the stored positions have to be read to compare it.
  func lacksPositions(_ relationship: RelationshipPlan) -> Bool {
    guard relationship.isOrdered, !differs, let keys else { return false }
    return keys.keys.contains { positions[$0] == nil }
  }

  /// Whether the relationship is equal to the stored one. Its order is then recorded as unchanged.
  func hasKnownOrder(_ relationship: RelationshipPlan) -> Bool {
    guard added.isEmpty, removed.isEmpty else { return false }
    if relationship.isOrdered, keys != nil, !hasStoredOrder { return false }
    isOrderChanged = false
    return true
  }

  /// Whether the objects have been loaded and have the order of the stored positions.
  var hasStoredOrder: Bool {
    guard !differs, let keys else { return false }
    let ordered = keys.keys.map { positions[$0] ?? 0 }
    return !ordered.contains(0) && zip(ordered, ordered.dropFirst()).allSatisfy(<)
  }
}
