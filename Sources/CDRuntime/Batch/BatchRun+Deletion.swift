extension BatchRun {
  /// Deletes objects, and the objects that their delete rules reach.
  ///
  /// - Returns: The number of objects that the request concerns.
  @_optimize(none)
  func delete<Object>(_ request: FetchRequest<Object>) throws -> Int {
    let run = try fetchRun(request)
    let subentities = entity.subtree.map { model.entities[$0] }
    if !model.hasDerivedSlots, subentities.allSatisfy(canDeleteIndependently), let found = try selection(run)
    {
      if !found.readRoots.isEmpty { try willRead(nil) }
      // While it deletes, the store clears references in rows of any table.
      let keys = try rows.delete(
        entity, found.readRoots.isEmpty ? found.rows : .keys(try run.keys().map(\.key)))
      noteDeleted(keys)
      return keys.values.reduce(0) { $0 + $1.count }
    }
    try willRead(nil)
    let keys = try run.keys()
    try delete(keys)
    return keys.count
  }

  /// Whether rows of the entity can be deleted without looking at other rows.
  @_optimize(none)
  private func canDeleteIndependently(_ entity: EntityPlan) -> Bool {
    guard entity.externalSlots.isEmpty, oneSidedMinimums(of: entity).isEmpty else { return false }
    return entity.relationships.allSatisfy { relationship in
      guard let relationship else { return true }
      if relationship.description.deleteRule.needsRelatedObjects { return false }
      switch relationship.storage {
      case .reference:
        let isCounted = inverse(of: relationship).map(Self.hasCountRule) ?? false
        return !relationship.isSymmetric && !isCounted
      case .inverseReference, .referencesOfOthers: return relationship.description.deleteRule.leavesReferences
      case .join: return false
      }
    }
  }

  /// The relationships that lead to the entity, have a minimum, and have no inverse.
  @_optimize(none)
  private func oneSidedMinimums(of entity: EntityPlan) -> [RelationshipPlan] {
    model.oneSidedMinimums.filter { entity.lineage.contains($0.destination) }
  }

  @_optimize(none)
  private func delete(_ keys: [FetchedKey]) throws {
    // Keys by root entity: entities of one table share their keys.
    var deletedKeys: [Int: Set<ObjectKey>] = [:]
    var all: [(entity: Int, keys: [ObjectKey])] = []
    var waiting = keys
    while !waiting.isEmpty {
      let new = waiting.filter {
        deletedKeys[model.entities[$0.entity].root, default: []].insert($0.key).inserted
      }
      waiting = []
      for (entityIndex, keys) in Self.byEntity(new) {
        all.append((entityIndex, keys))
        for case let relationship? in model.entities[entityIndex].relationships
        where relationship.description.deleteRule.owns {
          waiting += try rows.related(relationship, of: keys)
        }
      }
    }
    func remains(_ key: FetchedKey) -> Bool {
      deletedKeys[model.entities[key.entity].root]?.contains(key.key) != true
    }
    var dependents: [FetchedKey] = []
    var counted: [(relationship: RelationshipPlan, owners: [ObjectKey])] = []
    var cleared: [(relationship: RelationshipPlan, keys: [ObjectKey])] = []
    for (entityIndex, keys) in all {
      let entity = model.entities[entityIndex]
      dependents += try self.dependents(of: keys.map { FetchedKey(key: $0, entity: entityIndex) }, nil)
      for relationship in oneSidedMinimums(of: entity) {
        counted.append((relationship, try rows.owners(of: relationship, to: keys).filter(remains).map(\.key)))
      }
      for case let relationship? in entity.relationships {
        let rule = relationship.description.deleteRule
        if rule.leavesReferences { continue }
        if case .reference = relationship.storage, !rule.refusesDeletion, inverse(of: relationship) == nil {
          continue
        }
        let others = try rows.related(relationship, of: keys).filter(remains)
        guard !others.isEmpty else { continue }
        if rule.refusesDeletion { throw try denial(relationship, keys, remains) }
        guard let inverse = inverse(of: relationship) else { continue }
        dependents += try others + self.dependents(of: others, [inverse.name])
        if Self.hasCountRule(inverse) { counted.append((inverse, others.map(\.key))) }
        switch relationship.storage {
        case .reference:
          if relationship.isSymmetric { cleared.append((inverse, others.map(\.key))) }
        case .inverseReference, .referencesOfOthers: cleared.append((inverse, others.map(\.key)))
        // The pairs are deleted with the rows. The objects on the other side read the relationship again.
        case .join: noteUpdated(others, [inverse.name])
        }
      }
    }
    try clear(cleared)
    for (entityIndex, keys) in all { try remove(keys, of: model.entities[entityIndex]) }
    for (relationship, owners) in counted { try checkCounts(of: relationship, of: owners) }
    try derive(own: [], others: dependents.filter(remains))
  }

  private func denial(
    _ relationship: RelationshipPlan, _ keys: [ObjectKey], _ remains: (FetchedKey) -> Bool
  ) throws -> BatchError {
    var ids: [ManagedObjectID] = []
    let owner = model.entity(relationship.owner) ?? entity
    for key in keys where ids.count < 100 {
      if try rows.related(relationship, of: [key]).contains(where: remains) { ids.append(id(key, owner)) }
    }
    return .deleteDenied(entity: owner.name, relationship: relationship.name, ids)
  }

  /// Sets references to deleted objects to nil.
  @_optimize(none)
  private func clear(_ references: [(relationship: RelationshipPlan, keys: [ObjectKey])]) throws {
    var mistakes: [BatchMistake] = []
    for (relationship, keys) in references where !relationship.description.isOptional {
      guard let owner = model.entity(relationship.owner) else { continue }
      for key in keys.prefix(BatchRowWriter.maximumMistakes) {
        mistakes.append(
          BatchMistake(
            entity: owner.name, property: relationship.name, reason: .missingValue, objectID: id(key, owner)))
      }
    }
    try refuse(mistakes)
    for (relationship, keys) in references {
      guard let owner = model.entity(relationship.owner), case .reference(let column) = relationship.storage
      else { continue }
      let position = inverse(of: relationship).flatMap(model.positionColumn)
      let columns = [owner.columns[column].name] + [position].compactMap(\.self)
      noteUpdated(
        try rows.update(owner, columns.map { ($0, .value(.null)) }, .keys(keys)), [relationship.name])
    }
  }

  private func remove(_ keys: [ObjectKey], of entity: EntityPlan) throws {
    try listFiles(entity.externalSlots.map { entity.slots[$0] }, of: entity, .keys(keys))
    for case let relationship? in entity.relationships where !relationship.isWithinStore {
      // The store does not delete pairs with rows of another store by itself.
      guard case .join(let index, let isSource) = relationship.storage else { continue }
      // A rule that leaves references leaves these pairs in the other store too. The batch does not change that store for
      // them: it has no save there, and a file that is written whole would still have the pairs.
      if relationship.description.deleteRule.leavesReferences,
        model.owner(ofRowsOf: relationship).storeIndex != entity.storeIndex
      {
        continue
      }
      try rows.deletePairs(ofJoin: index, isSource: isSource, keys)
    }
    noteDeleted(try rows.delete(entity, .keys(keys)))
  }
}
