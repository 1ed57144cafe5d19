import CSQLite

/// A row that stands in the way of others, because of a `unique:` list.
struct UniqueObstacle {
  let entity: String
  let properties: [String]
  /// The row that has the values; 0 where it could not be found.
  let key: ObjectKey
  let objectID: ManagedObjectID?
  /// The objects whose rows were refused.
  var refused: [ManagedObjectID]
}

/// Values of a `unique:` list, by the place of the entity that has it.
private struct UniqueValues: Hashable {
  let entity: Int
  let list: Int
  let texts: [String]
}

// Rows that unique indexes refuse.
extension SaveRun {
  /// Notes that a unique index refuses the row of an object, with all rows that have its values.
  mutating func noteRefusal(of object: ManagedObject, _ error: StoreError) throws {
    let plan = object.scope.plan
    refused.append(object)
    let properties = error.refusedProperties(of: plan)
    if properties.count == 1, plan.slot(properties[0])?.relationship?.isOneToOne == true {
      let other = try holder(of: properties, model.entities[plan.root], as: object).map {
        ManagedObjectID(storeID: object.scope.storeID, entityName: $0.entity, key: $0.key)
      }
      conflicts.append(
        SaveConflict(
          reason: .partnerTaken, objectID: object.objectID, keys: properties, otherID: other))
    }
    let obstacles = try obstacles(of: object)
    for found in obstacles {
      let place = self.obstacles.firstIndex {
        $0.key == found.key && $0.entity == found.entity && $0.properties == found.properties
      }
      if let place { self.obstacles[place].refused += found.refused } else { self.obstacles.append(found) }
    }
    // An index that the model has not, or has otherwise.
    if obstacles.isEmpty, conflicts.last?.objectID != object.objectID {
      self.obstacles.append(
        UniqueObstacle(
          entity: plan.name, properties: properties, key: 0, objectID: nil, refused: [object.objectID]))
    }
  }

  /// What was noted, as merge policies are asked about it.
  var refusals: [SaveConflict] {
    obstacles.flatMap { obstacle in
      obstacle.refused.map {
        SaveConflict(
          reason: .notUnique, objectID: $0, keys: obstacle.properties, otherID: obstacle.objectID)
      }
    }
  }

  /// What was noted, as the save throws it; nil for nothing.
  func notUnique() -> SaveError? { equals.isEmpty ? nil : .notUnique(equals) }

  /// Finds the objects that have the same values as refused ones, list by list: rows that were written after a refusal, and
  /// refused objects that no row tells of.
  mutating func findEquals() throws {
    var places: [ManagedObjectID: Int] = [:]
    for object in plan.updated + plan.inserted { places[object.objectID] = places.count }
    var groups: [UniqueValues: Int] = [:]
    var found: [(values: UniqueValues, objectIDs: Set<ManagedObjectID>)] = []
    for object in refused {
      for owner in object.scope.plan.lineage.map({ model.entities[$0] }) {
        for (list, properties) in owner.description.uniquenessConstraints.enumerated() {
          guard let texts = try self.texts(of: properties, object) else { continue }
          let values = UniqueValues(entity: owner.index, list: list, texts: texts)
          let group = groups[values] ?? found.count
          if group == found.count {
            groups[values] = group
            found.append((values, []))
          }
          found[group].objectIDs.insert(object.objectID)
          if let row = try holder(of: properties, owner, as: object) {
            found[group].objectIDs.insert(id(row, object))
          }
        }
      }
    }
    equals = found.filter { $0.objectIDs.count > 1 }.map { values, objectIDs in
      let owner = model.entities[values.entity]
      return UniquenessConflict(
        entity: owner.name, properties: owner.description.uniquenessConstraints[values.list],
        // The one of the store comes last.
        objectIDs: objectIDs.sorted { places[$0] ?? places.count < places[$1] ?? places.count })
    }
    equals += obstacles.filter { $0.key == 0 }.map {
      UniquenessConflict(entity: $0.entity, properties: $0.properties, objectIDs: $0.refused)
    }
  }

  private func id(_ row: (key: ObjectKey, entity: String), _ object: ManagedObject) -> ManagedObjectID {
    context.registered(row.key, root: object.scope.plan.root)?.objectID
      ?? ManagedObjectID(storeID: object.scope.storeID, entityName: row.entity, key: row.key)
  }

  /// An object's values of a `unique:` list, as SQLite compares them; nil where one of them is nil.
  private func texts(of properties: [String], _ object: ManagedObject) throws -> [String]? {
    let plan = object.scope.plan
    let columns = properties.flatMap(plan.columnNumbers)
    let slots = Set(columns.map { plan.columns[$0].slot }).sorted()
    let written = slots.flatMap { plan.slots[$0].columns }
    guard !columns.isEmpty else { return nil }
    let terms = columns.map { column in
      let value = "?\((written.firstIndex(of: column) ?? 0) + 1)"
      return "CASE WHEN typeof(\(value)) IN ('text', 'blob') THEN hex(\(value)) ELSE quote(\(value)) END"
    }
    let statement = try connection.statement("SELECT \(terms.joined(separator: ", "))")
    defer { statement.reset() }
    writer.start(statement.handle)
    encode(object, slots)
    guard try statement.step() else { return nil }
    let texts = columns.indices.map { statement.string(Int32($0)) ?? "NULL" }
    return texts.contains("NULL") ? nil : texts
  }

  /// The rows that have an object's values of one of its `unique:` lists.
  private func obstacles(of object: ManagedObject) throws -> [UniqueObstacle] {
    let plan = object.scope.plan
    var result: [UniqueObstacle] = []
    for owner in plan.lineage.map({ model.entities[$0] }) {
      for properties in owner.description.uniquenessConstraints {
        guard let row = try holder(of: properties, owner, as: object) else { continue }
        result.append(
          UniqueObstacle(
            entity: owner.name, properties: properties, key: row.key, objectID: id(row, object),
            refused: [object.objectID]))
      }
    }
    return result
  }

  /// The other row that has an object's values of some properties, and its entity's name; nil for none, and where one
  /// of the values is nil.
  private func holder(
    of properties: [String], _ owner: EntityPlan, as object: ManagedObject
  ) throws -> (key: ObjectKey, entity: String)? {
    let plan = object.scope.plan
    let columns = properties.flatMap(plan.columnNumbers)
    var slots: [Int] = []
    for column in columns where !slots.contains(plan.columns[column].slot) {
      slots.append(plan.columns[column].slot)
    }
    guard !columns.isEmpty else { return nil }
    // All columns of a slot are written together; those of the list are compared.
    let written = slots.flatMap { plan.slots[$0].columns }
    let values = written.indices.map { "?\($0 + 1) AS c\($0)" }.joined(separator: ", ")
    let conditions = columns.map { column in
      "t.\(SQLite.quoted(plan.columns[column].name)) = v.c\(written.firstIndex(of: column) ?? 0)"
    }
    let kinds = owner.kinds.map { SQLite.literal(model.entities[$0].name) }.joined(separator: ", ")
    let entity = plan.hasEntityColumn ? "t._entity" : SQLite.literal(plan.name)
    let statement = try connection.statement(
      "WITH v AS (SELECT \(values)) SELECT t._pk, \(entity) FROM \(SQLite.quoted(plan.table)) AS t, v WHERE "
        + (conditions + ["t._pk <> ?\(written.count + 1)"]).joined(separator: " AND ")
        + (plan.hasEntityColumn ? " AND t._entity IN (\(kinds))" : "") + " LIMIT 1")
    defer { statement.reset() }
    writer.start(statement.handle, at: 1)
    encode(object, slots)
    statement.bind(object.key, at: writer.nextParameter)
    guard try statement.step() else { return nil }
    return (statement.int64(0), statement.string(1) ?? plan.name)
  }
}

extension StoreError {
  /// The properties of the index that refuses a row, as far as SQLite's message names its columns.
  func refusedProperties(of plan: EntityPlan) -> [String] {
    guard case .sqlite(_, _, let message, _) = self, let colon = message.lastIndex(of: ":") else {
      return []
    }
    let rest = message[message.index(after: colon)...]
    if rest.hasPrefix(" index '") {
      let name = rest.dropFirst(" index '".count).dropLast()
      return name.split(separator: ".").dropFirst(2).map(String.init)
    }
    let table = plan.table + "."
    return rest.split(separator: ",").map { part in
      let column = part.drop { $0 == " " }
      let name = String(column.hasPrefix(table) ? column.dropFirst(table.count) : column)
      // A column shared with a sibling's name has the entity's before it.
      guard let found = plan.columns.first(where: { $0.name == name }) else { return name }
      let slot = plan.slots[found.slot]
      return slot.columns.count == 1 ? slot.name : name
    }
  }
}
