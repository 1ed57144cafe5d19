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
      try park(left.map(\.object))
      // To the last one, for a conflict behind it is to be reported too.
      for entry in try self.blocked(among: left.map(\.object)) {
        try noteRefusal(of: entry.object, entry.error)
      }
      return
    }
  }

  /// Updates rows, and gives those that a unique index refuses.
  private mutating func blocked(
    among objects: [ManagedObject]
  ) throws -> [(object: ManagedObject, error: StoreError)] {
    var blocked: [(object: ManagedObject, error: StoreError)] = []
    for object in objects {
      do {
        try update(object)
      } catch let error as StoreError where error.isUniquenessViolation {
        blocked.append((object, error))
      }
    }
    return blocked
  }

  // MARK: Passing values

  /// Gives the unique columns of rows that stand in each other's way values that no row has, for the moment
  /// that the others need to move.
  private mutating func park(_ objects: [ManagedObject]) throws {
    for object in objects {
      guard let changed = object.extras?.changed else { continue }
      let entity = object.scope.plan
      // A field of a composite is `composite.field`.
      let keys = entity.lineage.flatMap { model.entities[$0].description.uniquenessConstraints.joined() }
      let unique = Set(keys.map { key in key.prefix { $0 != "." } })
      for slot in entity.slots where changed.contains(slot.number) {
        guard unique.contains(slot.name[...]) || slot.relationship?.isOneToOne == true else { continue }
        for column in slot.columns.map({ entity.columns[$0] }) { try park(object, column) }
      }
    }
  }

  private func park(_ object: ManagedObject, _ column: ColumnPlan) throws {
    let name = SQLite.quoted(column.name)
    let value =
      switch column.cell {
      case .string, .url, .decimal, .codable: "'_cdgen ' || hex(randomblob(16))"
      case .data, .uuid: "randomblob(16)"
      case .bool, .int16, .int32, .int64: "random()"
      case .float, .double, .date: "CAST(random() AS REAL)"
      }
    let statement = try connection.statement(
      "UPDATE \(SQLite.quoted(object.scope.plan.table)) SET \(name) = \(value) WHERE _pk = ?1")
    // Two numbers alike are as good as impossible, and a dozen of them more so.
    for attempt in 1... {
      statement.bind(object.key, at: 1)
      do {
        return try statement.run()
      } catch let error as StoreError where error.isUniquenessViolation && attempt < 12 {
        continue
      }
    }
  }
}
