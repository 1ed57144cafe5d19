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
  ///
  /// - Parameter properties: Those of the index, as far as the store names them.
  mutating func noteRefusal(of object: ManagedObject, _ properties: [String]) throws {
    let plan = object.scope.plan
    refused.append(object)
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

  /// An object's values of a `unique:` list, as the store compares them; nil where one of them is nil.
  private func texts(of properties: [String], _ object: ManagedObject) throws -> [String]? {
    let plan = object.scope.plan
    let columns = properties.flatMap(plan.columnNumbers)
    if columns.isEmpty { return nil }
    return try session.comparedValues(of: columns, plan) { encode(object, $0, $1) }
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
    let columns = properties.flatMap(object.scope.plan.columnNumbers)
    if columns.isEmpty { return nil }
    return try session.holder(of: columns, object.scope.plan, owner, beside: object.key) {
      encode(object, $0, $1)
    }
  }
}
