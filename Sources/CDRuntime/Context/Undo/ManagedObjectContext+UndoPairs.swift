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
      return (state.keys?.contains(key) == true && !state.added.contains(key)) || state.removed.contains(key)
    }
    return hasPairRow(object, relationship, member)
  }

  /// What the objects of a pair know of each other.
  private func states(
    of object: ManagedObject, _ relationship: RelationshipPlan, _ member: ManagedObject
  ) -> [(state: ToManyState, key: ObjectKey)] {
    let own = object.extras?.toManyState(relationship.slot).map { ($0, member.key) }
    let other = relationship.inverseSlot.flatMap { member.extras?.toManyState($0) }.map { ($0, object.key) }
    return [own, other].compactMap { $0 }
  }

  private func hasPairRow(
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
      let statement = try reader().statement(
        "SELECT 1 FROM \(SQLite.quoted(model.joins[place].table)) WHERE _source = ?1 AND _target = ?2")
      defer { statement.reset() }
      statement.bind(isSource ? object.key : member.key, at: 1)
      statement.bind(isSource ? member.key : object.key, at: 2)
      return try statement.step()
    } catch {
      object.report(.readFailed("\(error)"), slot: relationship.slot)
      return false
    }
  }
}
