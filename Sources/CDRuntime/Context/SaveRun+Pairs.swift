// Relationships with rows of their own, and orders.
extension SaveRun {
  func writePairs(of object: ManagedObject) throws {
    for (slot, state) in object.extras?.toMany ?? [] where state.isChanged {
      guard let relationship = object.scope.plan.relationships[slot] else { continue }
      if case .join(let place, let isSource) = relationship.storage, isSource {
        let root = model.entities[relationship.destination].root
        // A pair that has gone and come back stays: the other side may keep its place there.
        try session.deletePairs(
          ofJoin: place, object.key, state.removed.keys.filter { !state.added.contains($0) })
        try session.insertPairs(
          ofJoin: place, object.key,
          state.added.keys.filter { context.registered($0, root: root)?.isDeleted != true })
      }
    }
  }

  mutating func writePositions(of object: ManagedObject) throws {
    for (slot, state) in object.extras?.toMany ?? [] where state.isOrderChanged {
      guard let relationship = object.scope.plan.relationships[slot], relationship.isOrdered else { continue }
      try writePositions(of: object, relationship, state)
    }
  }

  mutating func writePositions(
    of object: ManagedObject, _ relationship: RelationshipPlan, _ state: ToManyState
  ) throws {
    guard session.hasPositions(relationship) else { return }
    try context.importTarget?.index(relationship)
    var changes: [(key: ObjectKey, position: Int64)] = []
    // Where nothing was loaded an object may have been related all along, and stays where it was.
    var isCertain = true
    if let keys = state.keys?.keys {
      changes = Positions.changes(for: keys, given: state.positions)
    } else {
      let last = try session.lastPosition(relationship, of: object.key)
      if let appended = Positions.appended(state.added.keys, behind: last) {
        changes = appended
        isCertain = false
      } else {
        let others = try session.positionedKeys(relationship, of: object.key)
        changes = Positions.renumbered(others + state.added.keys.filter { !others.contains($0) })
      }
    }
    guard !changes.isEmpty else { return }
    for change in changes {
      try session.setPosition(
        change.position, of: change.key, relationship, of: object.key,
        isNew: !isCertain && !state.removed.contains(change.key))
    }
    positions.append((state, changes))
  }
}
