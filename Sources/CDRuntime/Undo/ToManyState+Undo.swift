// Putting members back without following anything.
extension ToManyState {
  /// Whether the store has a member, by what has been loaded and changed since.
  func hasStored(_ key: ObjectKey) -> Bool {
    (keys?.contains(key) == true && !added.contains(key)) || removed.contains(key)
  }

  /// Puts an object in or out.
  ///
  /// - Parameter isStored: Whether the store has it as a member now.
  func put(_ key: ObjectKey, isMember: Bool, isStored: Bool) {
    cache = nil
    if keys != nil {
      if !isMember {
        keys?.remove(key)
      } else if keys?.contains(key) == false {
        keys?.append(key)
      }
    }
    if !isMember || isStored { added.remove(key) }
    if isMember || !isStored { removed.remove(key) }
    if isMember, !isStored, !added.contains(key) { added.append(key) }
    if !isMember, isStored, !removed.contains(key) { removed.append(key) }
    if !isMember || !isStored { positions[key] = nil }
    if isMember { isOrderChanged = true }
  }

  /// Whether the relationship is as the store has it. Its order is then noted as unchanged.
  func isSettled(_ relationship: RelationshipPlan) -> Bool {
    guard added.isEmpty, removed.isEmpty else { return false }
    if relationship.isOrdered, let keys {
      let places = keys.keys.map { positions[$0] ?? 0 }
      guard !places.contains(0), zip(places, places.dropFirst()).allSatisfy(<) else { return false }
    }
    isOrderChanged = false
    return true
  }
}
