// Relationships with rows of their own, and orders.
extension SaveRun {
  func writePairs(of object: ManagedObject) throws {
    for (slot, state) in object.extras?.toMany ?? [] where state.isChanged {
      guard let relationship = object.scope.plan.relationships[slot] else { continue }
      if case .join(let place, let isSource) = relationship.storage, isSource {
        let table = SQLite.quoted(model.joins[place].table)
        let root = model.entities[relationship.destination].root
        // A pair that has gone and come back stays: the other side may keep its place there.
        try run(
          "DELETE FROM \(table) WHERE _source = ?1 AND _target = ?2", object.key,
          state.removed.keys.filter { !state.added.contains($0) })
        try run(
          "INSERT OR IGNORE INTO \(table) (_source, _target) VALUES (?1, ?2)", object.key,
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

  private func run(_ sql: String, _ key: ObjectKey, _ others: [ObjectKey]) throws {
    guard !others.isEmpty else { return }
    let statement = try connection.statement(sql)
    for other in others {
      statement.bind(key, at: 1)
      statement.bind(other, at: 2)
      try statement.run()
    }
  }

  private func keys(_ sql: String, of object: ManagedObject) throws -> [ObjectKey] {
    let statement = try connection.statement(sql)
    defer { statement.reset() }
    statement.bind(object.key, at: 1)
    var keys: [ObjectKey] = []
    while try statement.step() { keys.append(statement.int64(0)) }
    return keys
  }

  mutating func writePositions(
    of object: ManagedObject, _ relationship: RelationshipPlan, _ state: ToManyState
  ) throws {
    guard let place = PositionTable(relationship, in: model) else { return }
    try context.making?.index(relationship)
    var changes: [(key: ObjectKey, position: Int64)] = []
    // Where nothing was loaded an object may have been related all along, and stays where it was.
    var isCertain = true
    if let keys = state.keys?.keys {
      changes = Positions.changes(for: keys, given: state.positions)
    } else {
      let last = try keys(place.maximum, of: object).first ?? 0
      if let appended = Positions.appended(state.added.keys, behind: last) {
        changes = appended
        isCertain = false
      } else {
        let others = try keys(place.others, of: object)
        changes = Positions.renumbered(others + state.added.keys.filter { !others.contains($0) })
      }
    }
    guard !changes.isEmpty else { return }
    for change in changes {
      let keepsPlace = !isCertain && !state.removed.contains(change.key)
      let statement = try connection.statement(keepsPlace ? place.updateNew : place.update)
      statement.bind(change.position, at: 1)
      statement.bind(object.key, at: 2)
      statement.bind(change.key, at: 3)
      try statement.run()
    }
    positions.append((state, changes))
  }
}
