extension BatchRun {
  /// Deletes objects, with what their delete rules reach.
  ///
  /// - Returns: How many objects the request was for.
  func delete<Object>(_ request: FetchRequest<Object>) throws -> Int {
    let run = try fetchRun(request)
    let kinds = entity.subtree.map { model.entities[$0] }
    if !model.hasDerivedSlots, kinds.allSatisfy(goesAlone), let found = try selection(run) {
      // The store clears references, of rows of any table, while it deletes.
      let keys = try rows.delete(
        entity, found.readRoots.isEmpty ? found.rows : .keys(try run.keys().map(\.key)))
      noteDeleted(keys)
      return keys.values.reduce(0) { $0 + $1.count }
    }
    let keys = try run.keys()
    try delete(keys)
    return keys.count
  }

  /// Whether no other row has to be looked at where one of the entity goes.
  private func goesAlone(_ entity: EntityPlan) -> Bool {
    guard entity.externalSlots.isEmpty, oneSidedMinimums(of: entity).isEmpty else { return false }
    return entity.relationships.allSatisfy { relationship in
      guard let relationship else { return true }
      switch relationship.description.deleteRule {
      case .cascade, .deny: return false
      case .noAction, .nullify: break
      }
      switch relationship.storage {
      case .reference:
        let isCounted = inverse(of: relationship).map(Self.hasCountRule) ?? false
        return !relationship.isSymmetric && !isCounted
      case .inverseReference, .referencesOfOthers: return relationship.description.deleteRule == .noAction
      case .join: return false
      }
    }
  }

  /// The relationships that may not be without objects and lead to the entity's, which know nothing of them.
  private func oneSidedMinimums(of entity: EntityPlan) -> [RelationshipPlan] {
    model.oneSidedMinimums.filter { entity.lineage.contains($0.destination) }
  }

  private func delete(_ keys: [FetchedKey]) throws {
    // Keys by the root of the table: entities of one table share them.
    var doomed: [Int: Set<ObjectKey>] = [:]
    var all: [(entity: Int, keys: [ObjectKey])] = []
    var waiting = keys
    while !waiting.isEmpty {
      let new = waiting.filter { doomed[model.entities[$0.entity].root, default: []].insert($0.key).inserted }
      waiting = []
      for (place, keys) in Self.byEntity(new) {
        all.append((place, keys))
        for case let relationship? in model.entities[place].relationships
        where relationship.description.deleteRule == .cascade {
          waiting += try rows.related(relationship, of: keys)
        }
      }
    }
    func stays(_ key: FetchedKey) -> Bool {
      doomed[model.entities[key.entity].root]?.contains(key.key) != true
    }
    var readers: [FetchedKey] = []
    var counted: [(relationship: RelationshipPlan, owners: [ObjectKey])] = []
    var cleared: [(relationship: RelationshipPlan, keys: [ObjectKey])] = []
    for (place, keys) in all {
      let entity = model.entities[place]
      readers += try self.readers(of: keys.map { FetchedKey(key: $0, entity: place) }, nil)
      for relationship in oneSidedMinimums(of: entity) {
        counted.append((relationship, try rows.owners(of: relationship, to: keys).filter(stays).map(\.key)))
      }
      for case let relationship? in entity.relationships {
        let rule = relationship.description.deleteRule
        if rule == .noAction { continue }
        if case .reference = relationship.storage, rule != .deny, inverse(of: relationship) == nil {
          continue
        }
        let others = try rows.related(relationship, of: keys).filter(stays)
        guard !others.isEmpty else { continue }
        if rule == .deny { throw try denial(relationship, keys, stays) }
        guard let inverse = inverse(of: relationship) else { continue }
        readers += try others + self.readers(of: others, [inverse.name])
        if Self.hasCountRule(inverse) { counted.append((inverse, others.map(\.key))) }
        switch relationship.storage {
        case .reference:
          if relationship.isSymmetric { cleared.append((inverse, others.map(\.key))) }
        case .inverseReference, .referencesOfOthers: cleared.append((inverse, others.map(\.key)))
        // The pairs go with the rows; those that had them read their relationship again.
        case .join: noteUpdated(others, [inverse.name])
        }
      }
    }
    try clear(cleared)
    for (place, keys) in all { try remove(keys, of: model.entities[place]) }
    for (relationship, owners) in counted { try checkCounts(of: relationship, of: owners) }
    try derive(own: [], others: readers.filter(stays))
  }

  private func denial(
    _ relationship: RelationshipPlan, _ keys: [ObjectKey], _ stays: (FetchedKey) -> Bool
  ) throws -> BatchError {
    var ids: [ManagedObjectID] = []
    let owner = model.entity(relationship.owner) ?? entity
    for key in keys where ids.count < 100 {
      if try rows.related(relationship, of: [key]).contains(where: stays) { ids.append(id(key, owner)) }
    }
    return .deleteDenied(entity: owner.name, relationship: relationship.name, ids)
  }

  /// Sets references to objects that go to nil.
  private func clear(_ references: [(relationship: RelationshipPlan, keys: [ObjectKey])]) throws {
    var mistakes: [BatchMistake] = []
    for (relationship, keys) in references where !relationship.description.isOptional {
      guard let owner = model.entity(relationship.owner) else { continue }
      for key in keys.prefix(BatchRowWriter.mostMistakes) {
        mistakes.append(
          BatchMistake(
            entity: owner.name, property: relationship.name, reason: .missingValue, objectID: id(key, owner)))
      }
    }
    if !mistakes.isEmpty { throw BatchError.invalid(Array(mistakes.prefix(BatchRowWriter.mostMistakes))) }
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
      // The store does not take the pairs along.
      guard case .join(let place, let isSource) = relationship.storage else { continue }
      try rows.deletePairs(ofJoin: place, isSource: isSource, keys)
    }
    noteDeleted(try rows.delete(entity, .keys(keys)))
  }
}
