// Updates whose unique values stand in each other's way.
extension SaveRun {
  mutating func update() throws {
    var blocked: [(object: ManagedObject, error: StoreError)] = []
    for object in plan.updated {
      do {
        try update(object)
      } catch let error as StoreError where error.isUniquenessViolation {
        blocked.append((object, error))
      }
    }
    while !blocked.isEmpty {
      var left: [(object: ManagedObject, error: StoreError)] = []
      for entry in blocked {
        do {
          try update(entry.object)
        } catch let error as StoreError where error.isUniquenessViolation {
          left.append((entry.object, error))
        }
      }
      if left.count == blocked.count {
        try park(left.map(\.object))
        for entry in left {
          do {
            try update(entry.object)
          } catch let error as StoreError where error.isUniquenessViolation {
            throw notUnique(entry.object, error)
          }
        }
        return
      }
      blocked = left
    }
  }

  /// Gives the unique columns of rows that stand in each other's way values that no row has, for the moment
  /// that the others need to move.
  private mutating func park(_ objects: [ManagedObject]) throws {
    for object in objects {
      guard let changed = object.extras?.changed else { continue }
      let entity = object.scope.plan
      let table = SQLite.quoted(entity.table)
      let unique = Set(
        entity.lineage.flatMap { model.entities[$0].description.uniquenessConstraints.joined() })
      for slot in entity.slots where changed.contains(slot.number) && unique.contains(slot.name) {
        for column in slot.columns.map({ entity.columns[$0] }) {
          let name = SQLite.quoted(column.name)
          let value =
            switch column.cell {
            case .string, .url, .decimal, .codable: "'_cdgen ' || hex(randomblob(16))"
            case .data, .uuid: "randomblob(16)"
            case .bool, .int16, .int32, .int64, .float, .double, .date:
              "(SELECT min(\(name)) FROM \(table)) - 1"
            }
          let statement = try connection.statement("UPDATE \(table) SET \(name) = \(value) WHERE _pk = ?1")
          statement.bind(object.key, at: 1)
          try statement.run()
        }
      }
    }
  }

  /// The error with the properties of the `unique:` list, as far as SQLite's message names the columns.
  func notUnique(_ object: ManagedObject, _ error: StoreError) -> SaveError {
    var properties: [String] = []
    if case .sqlite(_, _, let message, _) = error, let colon = message.lastIndex(of: ":") {
      let rest = message[message.index(after: colon)...]
      if rest.hasPrefix(" index '") {
        let name = rest.dropFirst(" index '".count).dropLast()
        properties = name.split(separator: ".").dropFirst(2).map(String.init)
      } else {
        let table = object.scope.plan.table + "."
        properties = rest.split(separator: ",").map { part in
          let column = String(part.drop { $0 == " " })
          return column.hasPrefix(table) ? String(column.dropFirst(table.count)) : column
        }
      }
    }
    return .notUnique(entity: object.scope.plan.name, properties: properties, objectID: object.objectID)
  }
}
