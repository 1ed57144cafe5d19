import CDModel
@_spi(Generated) import CDRuntime

/// A session that reads the stores of several engines. Each engine has a snapshot of its own.
final class CombinedSession: StoreSession {
  let stores: StoreSet
  /// The sessions, in the order of the engines.
  let sessions: [any StoreSession]
  let model: ModelPlan
  private let map: EngineMap
  private let files: [ExternalFiles?]
  /// Called before an engine's session is used.
  private let willUse: (Int) throws -> Void

  /// - Parameter willUse: Called with the number of an engine before its session is used.
  init(
    _ sessions: [any StoreSession], stores: StoreSet, model: ModelPlan, _ map: EngineMap,
    files: [ExternalFiles?], willUse: @escaping (Int) throws -> Void = { _ in }
  ) {
    self.sessions = sessions
    self.stores = stores
    self.model = model
    self.map = map
    self.files = files
    self.willUse = willUse
  }

  // MARK: Engines

  private func session(_ number: Int) throws -> any StoreSession {
    try willUse(number)
    return sessions[number]
  }

  /// The session of an entity's engine. An entity without a store has no rows in any of the sessions.
  func session(of entity: EntityPlan) throws -> any StoreSession {
    try session(map.engine(of: entity) ?? 0)
  }

  func session(of store: any AttachedStore) throws -> any StoreSession {
    try session(map.engine(of: store) ?? 0)
  }

  /// Whether two entities have stores of different engines.
  func areSeparate(_ entity: EntityPlan, _ other: EntityPlan) -> Bool {
    guard let first = map.engine(of: entity), let second = map.engine(of: other) else { return false }
    return first != second
  }

  /// The entity whose store has a join table.
  func owner(ofJoin index: Int) -> EntityPlan { model.entities[model.joins[index].source] }

  /// The join table of a relationship whose objects are in another engine than the table, with the side of the
  /// relationship; nil for any other relationship.
  func separateJoin(of relationship: RelationshipPlan) -> (index: Int, isSource: Bool)? {
    guard case .join(let index, let isSource) = relationship.storage,
      areSeparate(owner(ofJoin: index), model.entities[relationship.destination])
    else { return nil }
    return (index, isSource)
  }

  // MARK: Snapshots

  func beginSnapshot() throws {
    var begun: [any StoreSession] = []
    do {
      for session in sessions {
        try session.beginSnapshot()
        begun.append(session)
      }
    } catch {
      for session in begun { session.endSnapshot() }
      throw error
    }
  }

  func endSnapshot() { for session in sessions { session.endSnapshot() } }

  func checkVersions() throws { for session in sessions { try session.checkVersions() } }

  // MARK: Rows by their keys

  func row(_ key: ObjectKey, of entity: EntityPlan) throws -> RowCursor {
    try session(of: entity).row(key, of: entity)
  }

  func row(_ key: ObjectKey, of entity: EntityPlan, reading column: Int) throws -> RowCursor {
    try session(of: entity).row(key, of: entity, reading: column)
  }

  func laterValues(
    in column: Int, of entity: EntityPlan, _ keys: [ObjectKey], size: Int
  ) throws -> [(key: ObjectKey, version: Int64, value: AttributeValue)]? {
    try session(of: entity).laterValues(in: column, of: entity, keys, size: size)
  }

  func row(_ key: ObjectKey, inSubtreeOf entity: EntityPlan) throws -> RowCursor {
    try session(of: entity).row(key, inSubtreeOf: entity)
  }

  func rows(_ keys: [ObjectKey], inSubtreeOf entity: EntityPlan) throws -> RowCursor {
    try session(of: entity).rows(keys, inSubtreeOf: entity)
  }

  func rows(
    ofSubtree entity: EntityPlan, isOwn: Bool, after key: ObjectKey, count: Int
  ) throws -> (rows: RowCursor, last: ObjectKey)? {
    try session(of: entity).rows(ofSubtree: entity, isOwn: isOwn, after: key, count: count)
  }

  func hasRow(_ key: ObjectKey, of entity: EntityPlan) throws -> Bool {
    try session(of: entity).hasRow(key, of: entity)
  }

  func isNil(_ column: ColumnPlan, of entity: EntityPlan, _ key: ObjectKey) throws -> Bool {
    try session(of: entity).isNil(column, of: entity, key)
  }

  /// The keys, among the given ones, that rows of an entity or its subentities have.
  func existingKeys(_ keys: [ObjectKey], inSubtreeOf entity: EntityPlan) throws -> Set<ObjectKey> {
    if keys.isEmpty { return [] }
    let rows = try session(of: entity).rows(keys, inSubtreeOf: entity)
    defer { rows.close() }
    var found: Set<ObjectKey> = []
    while try rows.next() { found.insert(rows.key) }
    return found
  }

  // MARK: Relationships

  func hasPair(ofJoin index: Int, source: ObjectKey, target: ObjectKey) throws -> Bool {
    try session(of: owner(ofJoin: index)).hasPair(ofJoin: index, source: source, target: target)
  }

  func pairs(ofJoin index: Int, isSource: Bool, of keys: [ObjectKey]) throws -> [JoinedPair] {
    try session(of: owner(ofJoin: index)).pairs(ofJoin: index, isSource: isSource, of: keys)
  }

  func rows(of relationship: RelationshipPlan, of key: ObjectKey, _ entity: EntityPlan) throws -> RowCursor {
    guard let join = separateJoin(of: relationship) else {
      return try session(of: model.entities[relationship.destination]).rows(of: relationship, of: key, entity)
    }
    return try rows(of: relationship, join, ofAny: [key])
  }

  func rows(of relationship: RelationshipPlan, ofAny keys: [ObjectKey]) throws -> RowCursor {
    guard let join = separateJoin(of: relationship) else {
      return try session(of: model.entities[relationship.destination]).rows(of: relationship, ofAny: keys)
    }
    return try rows(of: relationship, join, ofAny: keys)
  }

  /// The rows of objects in another engine than the join table.
  private func rows(
    of relationship: RelationshipPlan, _ join: (index: Int, isSource: Bool), ofAny keys: [ObjectKey]
  ) throws -> RowCursor {
    let destination = model.entities[relationship.destination]
    let pairs = try pairs(ofJoin: join.index, isSource: join.isSource, of: keys).sorted(
      by: JoinedPair.precedes)
    let found = try listedRows(Array(Set(pairs.map(\.member))), of: destination)
    let rows = pairs.compactMap { pair -> RowList.Row? in
      guard var row = found[pair.member] else { return nil }
      row.owner = pair.owner
      row.position = relationship.isOrdered ? pair.position : nil
      return row
    }
    return RowCursor(RowList(rows, isMixed: destination.isPolymorphic))
  }

  /// The rows of an entity and its subentities with the given keys, as values.
  private func listedRows(
    _ keys: [ObjectKey], of entity: EntityPlan
  ) throws -> [ObjectKey: RowList.Row] {
    if keys.isEmpty { return [:] }
    let rows = try session(of: entity).rows(keys, inSubtreeOf: entity)
    defer { rows.close() }
    let report = RowReport(files: files)
    var result: [ObjectKey: RowList.Row] = [:]
    while try rows.next() {
      let name = rows.isMixed ? rows.entityName : entity.name
      guard let plan = model.entity(name), let reader = rows.reader(of: plan, report) else { continue }
      result[rows.key] = RowList.Row(
        key: rows.key, version: rows.version, entity: name,
        values: plan.columns.enumerated().map { reader.value($0.offset, $0.element.storageType) },
        unread: plan.laterColumns.filter(reader.isUnread))
    }
    return result
  }

  func positions(of relationship: RelationshipPlan, of key: ObjectKey) throws -> [ObjectKey: Int64]? {
    guard let join = separateJoin(of: relationship) else {
      return try session(of: model.entities[relationship.destination]).positions(of: relationship, of: key)
    }
    guard relationship.isOrdered else { return nil }
    var positions: [ObjectKey: Int64] = [:]
    for pair in try pairs(ofJoin: join.index, isSource: join.isSource, of: [key]) {
      positions[pair.member] = pair.position
    }
    return positions
  }

  func rows(
    ofSubtree entity: EntityPlan, referringBy column: ColumnPlan, to key: ObjectKey
  ) throws -> RowCursor {
    try session(of: entity).rows(ofSubtree: entity, referringBy: column, to: key)
  }

  func rows(
    ofSubtree entity: EntityPlan, referringBy column: ColumnPlan, toAny keys: [ObjectKey]
  ) throws -> RowCursor {
    try session(of: entity).rows(ofSubtree: entity, referringBy: column, toAny: keys)
  }

  // The references and the pairs of a relationship without an inverse are in the store of its owner.
  func rows(
    of owner: EntityPlan, whose relationship: RelationshipPlan, leadsToAny keys: [ObjectKey]
  ) throws -> RowCursor {
    try session(of: owner).rows(of: owner, whose: relationship, leadsToAny: keys)
  }

  func referrers(
    by relationship: RelationshipPlan, of owner: EntityPlan, to key: ObjectKey
  ) throws -> [ObjectKey] {
    if case .join(let index, _) = relationship.storage {
      return try session(of: self.owner(ofJoin: index)).referrers(by: relationship, of: owner, to: key)
    }
    return try session(of: owner).referrers(by: relationship, of: owner, to: key)
  }

  func relatedKeys(of relationship: RelationshipPlan, of key: ObjectKey) throws -> [ObjectKey] {
    let destination = model.entities[relationship.destination]
    guard let join = separateJoin(of: relationship) else {
      return try session(of: destination).relatedKeys(of: relationship, of: key)
    }
    let keys = try pairs(ofJoin: join.index, isSource: join.isSource, of: [key]).map(\.member)
    let existing = try existingKeys(keys, inSubtreeOf: destination)
    return keys.filter(existing.contains)
  }

  // MARK: Queries

  func prepare(_ query: StoreQuery) throws(EvaluationError) -> any StoreAnswer {
    let number = map.engine(of: query.entity) ?? 0
    // If the engine's transaction cannot begin, the answer throws the error, or reads without a transaction.
    do { try willUse(number) } catch {}
    return try sessions[number].prepare(query)
  }

  func lookup(_ entity: EntityPlan, _ slot: PropertyPlan) -> (any ValueLookup)? {
    map.engine(of: entity).flatMap { sessions[$0].lookup(entity, slot) }
  }

  // MARK: History

  func newestSave(of store: any AttachedStore) throws -> Int64 {
    try session(of: store).newestSave(of: store)
  }

  var isRemote: Bool { sessions.contains(where: \.isRemote) }

  var isPartlyRemote: Bool { isRemote && !sessions.allSatisfy(\.isRemote) }

  func whenRowsAreRead(
    _ body: @escaping (_ newest: [(store: any AttachedStore, number: Int64)]) throws -> Void
  ) throws -> Bool {
    for session in sessions {
      if try session.whenRowsAreRead(body) { continue }
      try body(session.stores.all.map { ($0, try session.newestSave(of: $0)) })
    }
    return true
  }

  func forEachSave(
    of store: any AttachedStore, after save: Int64, _ body: (Int64, String) throws -> Void
  ) throws {
    try session(of: store).forEachSave(of: store, after: save, body)
  }

  func forEachEntry(
    of store: any AttachedStore, after save: Int64, _ body: (HistoryEntry) throws -> Bool
  ) throws {
    try session(of: store).forEachEntry(of: store, after: save, body)
  }

  func insertionOrigins(of store: any AttachedStore) throws -> InsertionOrigins {
    try session(of: store).insertionOrigins(of: store)
  }

  // MARK: Metadata

  func metadata(of store: any AttachedStore) throws -> StoreMetadata {
    try session(of: store).metadata(of: store)
  }

  func movedKeys(of store: any AttachedStore) throws -> [MovedKeys] {
    try session(of: store).movedKeys(of: store)
  }

  func changeMark() throws -> String {
    try sessions.indices.map { try session($0).changeMark() }.joined(separator: " ")
  }

  func defects() throws -> [StoreFinding] {
    try sessions.indices.flatMap { try session($0).defects() } + separateDefects()
  }
}

// References and pairs that lead from one engine to another, which no engine can check.
extension CombinedSession {
  private static let batchSize = 1000

  @_optimize(none)
  private func separateDefects() throws -> [StoreFinding] {
    var findings: [StoreFinding] = []
    for entity in model.entities where stores.store(of: entity) != nil {
      var columns: [(number: Int, destination: EntityPlan)] = []
      for case let relationship? in entity.relationships where relationship.owner == entity.name {
        let destination = model.entities[relationship.destination]
        guard case .reference(let column) = relationship.storage, stores.store(of: destination) != nil,
          areSeparate(entity, destination)
        else { continue }
        columns.append((column, destination))
      }
      if !columns.isEmpty { findings += try danglingReferences(of: entity, columns) }
    }
    for (index, join) in model.joins.enumerated() {
      let (source, target) = (model.entities[join.source], model.entities[join.target])
      guard stores.store(of: source) != nil, stores.store(of: target) != nil, areSeparate(source, target)
      else { continue }
      findings += try danglingPairs(index, source, target)
    }
    return findings
  }

  private func danglingReferences(
    of entity: EntityPlan, _ columns: [(number: Int, destination: EntityPlan)]
  ) throws -> [StoreFinding] {
    var findings: [StoreFinding] = []
    try forEachBatch(of: entity) { rows in
      var references = columns.map { _ in [(owner: ObjectKey, key: ObjectKey)]() }
      while try rows.next() {
        guard let plan = rows.isMixed ? model.entity(rows.entityName) : entity,
          let reader = rows.reader(of: plan, nil)
        else { continue }
        for (index, column) in columns.enumerated() {
          let name = entity.columns[column.number].name
          guard let number = plan.columns.firstIndex(where: { $0.name == name }), !reader.isNull(number)
          else { continue }
          references[index].append((rows.key, reader.key(number)))
        }
      }
      rows.close()
      for (index, column) in columns.enumerated() {
        let existing = try existingKeys(
          Array(Set(references[index].map(\.key))), inSubtreeOf: column.destination)
        for reference in references[index] where !existing.contains(reference.key) {
          findings.append(
            .danglingReference(
              entity: entity.name, key: reference.owner, destination: column.destination.name))
        }
      }
    }
    return findings
  }

  private func danglingPairs(
    _ index: Int, _ source: EntityPlan, _ target: EntityPlan
  ) throws -> [StoreFinding] {
    var findings: [StoreFinding] = []
    try forEachBatch(of: source) { rows in
      var keys: [ObjectKey] = []
      while try rows.next() { keys.append(rows.key) }
      rows.close()
      let pairs = try pairs(ofJoin: index, isSource: true, of: keys)
      let existing = try existingKeys(Array(Set(pairs.map(\.member))), inSubtreeOf: target)
      for pair in pairs.sorted(by: JoinedPair.precedes) where !existing.contains(pair.member) {
        findings.append(
          .danglingReference(entity: source.name, key: pair.owner, destination: target.name))
      }
    }
    return findings
  }

  private func forEachBatch(of entity: EntityPlan, _ body: (RowCursor) throws -> Void) throws {
    var last: ObjectKey = 0
    while let batch = try rows(ofSubtree: entity, isOwn: false, after: last, count: Self.batchSize) {
      last = batch.last
      defer { batch.rows.close() }
      try body(batch.rows)
    }
  }
}
