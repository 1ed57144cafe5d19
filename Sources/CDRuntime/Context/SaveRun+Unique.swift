// Updates whose unique values stand in each other's way.
extension SaveRun {
  mutating func update() throws {
    var blocked = try blocked(among: plan.updated)
    while !blocked.isEmpty {
      let left = try self.blocked(among: blocked.map(\.object))
      if left.count < blocked.count {
        blocked = left
        continue
      }
      try writePlaceholder(left.map(\.object))
      // To the last one, for a conflict behind it is to be reported too.
      for entry in try self.blocked(among: left.map(\.object)) {
        try noteRefusal(of: entry.object, entry.properties)
      }
      return
    }
  }

  /// Updates rows, and gives those that a unique index refuses, with its properties.
  private mutating func blocked(
    among objects: [ManagedObject]
  ) throws -> [(object: ManagedObject, properties: [String])] {
    var blocked: [(object: ManagedObject, properties: [String])] = []
    for object in objects {
      if let properties = try update(object) { blocked.append((object, properties)) }
    }
    return blocked
  }

  // MARK: Passing values

  /// Gives the unique columns of rows that stand in each other's way values that no row has, for the moment
  /// that the others need to move.
  private mutating func writePlaceholder(_ objects: [ManagedObject]) throws {
    for object in objects {
      guard let changed = object.extras?.changed else { continue }
      let entity = object.scope.plan
      // A field of a composite is `composite.field`.
      let keys = entity.lineage.flatMap { model.entities[$0].description.uniquenessConstraints.joined() }
      let unique = Set(keys.map { key in key.prefix { $0 != "." } })
      for slot in entity.slots where changed.contains(slot.number) {
        guard unique.contains(slot.name[...]) || slot.relationship?.isOneToOne == true else { continue }
        for column in slot.columns.map({ entity.columns[$0] }) {
          try session.writePlaceholder(in: column, of: entity, object.key)
        }
      }
    }
  }
}
