// Whether two objects are related by a row of their own: asked for that alone, without loading a relationship.
extension ManagedObjectContext {
  /// Whether two objects are related. No relationship is loaded for it.
  func hasPair(_ object: ManagedObject, _ relationship: RelationshipPlan, _ member: ManagedObject) -> Bool {
    for (state, key) in states(of: object, relationship, member) {
      if state.keys != nil { return state.keys?.contains(key) == true }
    }
    for (state, key) in states(of: object, relationship, member) {
      if state.added.contains(key) { return true }
      if state.removed.contains(key) { return false }
    }
    return hasPairRow(object, relationship, member)
  }

  /// Whether the store relates two objects.
  func hasStoredPair(
    _ object: ManagedObject, _ relationship: RelationshipPlan, _ member: ManagedObject
  ) -> Bool {
    // New rows have no pairs.
    if object.flags.contains(.inserted) || member.flags.contains(.inserted) { return false }
    for (state, key) in states(of: object, relationship, member) where state.keys != nil {
      let isMember = state.keys?.contains(key) == true
      let isChanged = isMember ? state.added.contains(key) : state.removed.contains(key)
      return isMember != (isChanged && !state.isShared(key))
    }
    return hasPairRow(object, relationship, member)
  }

  /// Whether the context has related two objects since its last save, and others have done so too.
  func hasSharedPair(
    _ object: ManagedObject, _ relationship: RelationshipPlan, _ member: ManagedObject
  ) -> Bool {
    // An outdated one knows nothing of others.
    guard
      let (state, key) = states(of: object, relationship, member).first(where: { state, key in
        !state.isOutdated && state.added.contains(key) && !state.removed.contains(key)
      })
    else { return false }
    if state.keys != nil { return state.isShared(key) }
    return hasPairRow(object, relationship, member)
  }

  /// Whether the context has made a pair since its last save, or removed it.
  func hasChangedPair(
    _ object: ManagedObject, _ relationship: RelationshipPlan, _ member: ManagedObject, to isRelated: Bool
  ) -> Bool {
    states(of: object, relationship, member).contains { state, key in
      isRelated ? state.added.contains(key) : state.removed.contains(key)
    }
  }

  /// What the objects of a pair know of each other.
  private func states(
    of object: ManagedObject, _ relationship: RelationshipPlan, _ member: ManagedObject
  ) -> [(state: ToManyState, key: ObjectKey)] {
    let own = object.extras?.toManyState(relationship.slot).map { ($0, member.key) }
    let other = relationship.inverseSlot.flatMap { member.extras?.toManyState($0) }.map { ($0, object.key) }
    return [own, other].compactMap { $0 }
  }

  func hasPairRow(
    _ object: ManagedObject, _ relationship: RelationshipPlan, _ member: ManagedObject
  ) -> Bool {
    guard case .join(let place, let isSource) = relationship.storage,
      !object.flags.contains(.inserted), !member.flags.contains(.inserted)
    else { return false }
    if let parent {
      guard let original = original(of: object), let other = self.original(of: member) else { return false }
      return parent.hasPair(original, relationship, other)
    }
    do {
      return try reader().hasPair(
        ofJoin: place, source: isSource ? object.key : member.key, target: isSource ? member.key : object.key)
    } catch {
      object.report(.readFailed("\(error)"), slot: relationship.slot)
      return false
    }
  }
}
