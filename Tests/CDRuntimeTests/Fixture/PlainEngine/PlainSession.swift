import CDModel
import Foundation

@_spi(Generated) @testable import CDRuntime

/// What a context reads a plain engine's stores by.
final class PlainSession: StoreSession {
  private let engine: PlainEngine
  let stores: StoreSet
  /// The state that is held; nil for the newest.
  private var held: PlainState?
  /// That of a transaction, which its own reads see.
  var working = PlainState()
  var isWriting = false

  var model: ModelPlan { engine.model }
  private var state: PlainState { isWriting ? working : held ?? engine.state }

  init(_ engine: PlainEngine, _ stores: StoreSet) {
    self.engine = engine
    self.stores = stores
  }

  func beginSnapshot() throws { held = engine.state }
  func endSnapshot() { held = nil }
  func checkVersions() throws {}

  // MARK: Rows

  func row(_ key: ObjectKey, of entity: EntityPlan) throws -> RowCursor {
    guard isHeld(entity), let row = state.row(key, of: entity.root) else { return RowCursor(RowList([])) }
    return RowCursor(RowList([listed(key, row, as: entity)]))
  }

  func row(_ key: ObjectKey, of entity: EntityPlan, reading column: Int) throws -> RowCursor {
    guard isHeld(entity), let row = state.row(key, of: entity.root) else { return RowCursor(RowList([])) }
    return RowCursor(RowList([listed(key, row, as: entity, reading: column)]))
  }

  func row(_ key: ObjectKey, inSubtreeOf entity: EntityPlan) throws -> RowCursor {
    try rows([key], inSubtreeOf: entity)
  }

  func rows(_ keys: [ObjectKey], inSubtreeOf entity: EntityPlan) throws -> RowCursor {
    let table = table(of: entity)
    return cursor(keys.sorted().compactMap { key in table[key].map { (key, $0) } }, of: entity)
  }

  func rows(
    ofSubtree entity: EntityPlan, isOwn: Bool, after key: ObjectKey, count: Int
  ) throws -> (rows: RowCursor, last: ObjectKey)? {
    let found = rows(ofSubtree: entity).filter { $0.key > key && (!isOwn || $0.row.entity == entity.index) }
      .prefix(count)
    return found.last.map { (cursor(Array(found), of: entity), $0.key) }
  }

  func hasRow(_ key: ObjectKey, of entity: EntityPlan) throws -> Bool { table(of: entity)[key] != nil }

  func isNil(_ column: ColumnPlan, of entity: EntityPlan, _ key: ObjectKey) throws -> Bool {
    table(of: entity)[key].map { value(of: column.name, in: $0) == .null } ?? false
  }

  /// The rows of an entity and of those below it, by their keys; none where no store holds it.
  func rows(ofSubtree entity: EntityPlan) -> [(key: ObjectKey, row: PlainState.Row)] {
    table(of: entity).sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  private func isHeld(_ entity: EntityPlan) -> Bool { stores.store(of: entity) != nil }

  private func table(of entity: EntityPlan) -> [ObjectKey: PlainState.Row] {
    guard isHeld(entity) else { return [:] }
    let table = state.tables[entity.root] ?? [:]
    return entity.root == entity.index ? table : table.filter { entity.subtree.contains($0.value.entity) }
  }

  private func value(of column: String, in row: PlainState.Row) -> AttributeValue {
    model.entities[row.entity].columns.firstIndex { $0.name == column }.map { row.values[$0] } ?? .null
  }

  /// The key that a reference of a row leads to; 0 for nothing.
  func reference(_ column: String, in row: PlainState.Row) -> ObjectKey {
    if case .int(let key) = value(of: column, in: row) { key } else { 0 }
  }

  /// - Parameter column: The large value that the row has. It leaves the others out, however small they are, so that all
  ///   tests read them later.
  private func listed(
    _ key: ObjectKey, _ row: PlainState.Row, as entity: EntityPlan? = nil, reading column: Int? = nil
  ) -> RowList.Row {
    let own = entity ?? model.entities[row.entity]
    var values =
      own.index == row.entity ? row.values : own.columns.map { value(of: $0.name, in: row) }
    let unread = own.laterColumns.filter {
      $0 != column && values[$0] != .null
    }
    // A reader that does not ask whether the value is there must notice.
    for column in unread { values[column] = .bool(false) }
    return RowList.Row(key: key, version: row.version, entity: own.name, values: values, unread: unread)
  }

  func cursor(_ rows: [(key: ObjectKey, row: PlainState.Row)], of entity: EntityPlan) -> RowCursor {
    RowCursor(RowList(rows.map { listed($0.key, $0.row) }, isMixed: entity.isPolymorphic))
  }

  // MARK: Relationships

  func hasPair(ofJoin place: Int, source: ObjectKey, target: ObjectKey) throws -> Bool {
    state.joins[place]?[PlainState.Pair(source: source, target: target)] != nil
  }

  func pairs(ofJoin place: Int, isSource: Bool, of keys: [ObjectKey]) throws -> [JoinedPair] {
    let wanted = Set(keys)
    return (state.joins[place] ?? [:]).compactMap { pair, positions in
      guard wanted.contains(isSource ? pair.source : pair.target) else { return nil }
      return JoinedPair(
        owner: isSource ? pair.source : pair.target, member: isSource ? pair.target : pair.source,
        position: isSource ? positions.ofSource : positions.ofTarget,
        inversePosition: isSource ? positions.ofTarget : positions.ofSource)
    }
  }

  /// The keys of related objects, in the relationship's order.
  private func related(
    _ relationship: RelationshipPlan, of owner: ObjectKey
  ) -> [(key: ObjectKey, position: Int64?)] {
    var found: [(key: ObjectKey, position: Int64?)] = []
    let destination = model.entities[relationship.destination]
    switch relationship.storage {
    case .join(let place, let isSource):
      for (pair, positions) in state.joins[place] ?? [:] where (isSource ? pair.source : pair.target) == owner
      {
        found.append(
          (
            isSource ? pair.target : pair.source,
            relationship.isOrdered ? (isSource ? positions.ofSource : positions.ofTarget) : nil
          ))
      }
    case .referencesOfOthers, .inverseReference, .reference:
      guard let column = model.inverseReferenceColumn(of: relationship) else { return [] }
      let position = model.positionColumn(of: relationship)
      for (key, row) in table(of: destination) where value(of: column.name, in: row) == .int(owner) {
        found.append((key, position.flatMap { row.positions[$0] }))
      }
    }
    return found.sorted { ($0.position ?? .min, $0.key) < ($1.position ?? .min, $1.key) }
  }

  func rows(of relationship: RelationshipPlan, of key: ObjectKey, _ entity: EntityPlan) throws -> RowCursor {
    let destination = model.entities[relationship.destination]
    let table = table(of: destination)
    return cursor(
      related(relationship, of: key).compactMap { member in table[member.key].map { (member.key, $0) } },
      of: destination)
  }

  func rows(of relationship: RelationshipPlan, ofAny keys: [ObjectKey]) throws -> RowCursor {
    let destination = model.entities[relationship.destination]
    let table = table(of: destination)
    var rows: [RowList.Row] = []
    for owner in keys.sorted() {
      for member in related(relationship, of: owner) {
        guard let row = table[member.key] else { continue }
        var listed = listed(member.key, row)
        listed.owner = owner
        listed.position = member.position
        rows.append(listed)
      }
    }
    return RowCursor(RowList(rows, isMixed: destination.isPolymorphic))
  }

  func positions(of relationship: RelationshipPlan, of key: ObjectKey) throws -> [ObjectKey: Int64]? {
    switch relationship.storage {
    case .join: guard relationship.isOrdered else { return nil }
    case .referencesOfOthers, .reference, .inverseReference:
      guard model.positionColumn(of: relationship) != nil else { return nil }
    }
    var positions: [ObjectKey: Int64] = [:]
    for member in related(relationship, of: key) { positions[member.key] = member.position }
    return positions
  }

  func rows(ofSubtree entity: EntityPlan, referringBy column: ColumnPlan, to key: ObjectKey) throws
    -> RowCursor
  {
    try rows(ofSubtree: entity, referringBy: column, toAny: [key])
  }

  func rows(
    ofSubtree entity: EntityPlan, referringBy column: ColumnPlan, toAny keys: [ObjectKey]
  ) throws -> RowCursor {
    let wanted = Set(keys.map { AttributeValue.int($0) })
    return cursor(
      rows(ofSubtree: entity).filter { wanted.contains(value(of: column.name, in: $0.row)) }, of: entity)
  }

  func rows(
    of owner: EntityPlan, whose relationship: RelationshipPlan, leadsToAny keys: [ObjectKey]
  ) throws -> RowCursor {
    switch relationship.storage {
    case .reference(let column):
      return try rows(ofSubtree: owner, referringBy: owner.columns[column], toAny: keys)
    case .join(let place, let isSource):
      let wanted = Set(keys)
      let owners = Set(
        (state.joins[place] ?? [:]).keys.filter { wanted.contains(isSource ? $0.target : $0.source) }
          .map { isSource ? $0.source : $0.target })
      return try rows(Array(owners), inSubtreeOf: owner)
    case .inverseReference, .referencesOfOthers: return RowCursor(RowList([]))
    }
  }

  func referrers(
    by relationship: RelationshipPlan, of owner: EntityPlan, to key: ObjectKey
  ) throws -> [ObjectKey] {
    switch relationship.storage {
    case .join(let place, _):
      return (state.joins[place] ?? [:]).keys.filter { $0.target == key }.map(\.source).sorted()
    case .reference(let column):
      let name = owner.columns[column].name
      return (state.tables[owner.root] ?? [:]).filter { value(of: name, in: $0.value) == .int(key) }.keys
        .sorted()
    case .inverseReference, .referencesOfOthers: return []
    }
  }

  func relatedKeys(of relationship: RelationshipPlan, of key: ObjectKey) throws -> [ObjectKey] {
    related(relationship, of: key).map(\.key)
  }

  // MARK: Queries

  func prepare(_ query: StoreQuery) throws(EvaluationError) -> any StoreAnswer { PlainAnswer(self, query) }

  func lookup(_ entity: EntityPlan, _ slot: PropertyPlan) -> (any ValueLookup)? { nil }

  // MARK: History

  func insertionOrigins(of store: any AttachedStore) throws -> InsertionOrigins {
    try InsertionOrigins(
      text: entries(of: store)[InsertionOrigins.metadataKey], storeID: store.storeID, url: store.url)
  }

  func newestSave(of store: any AttachedStore) throws -> Int64 { state.lastSaves[store.index] ?? 0 }

  func forEachSave(
    of store: any AttachedStore, after save: Int64, _ body: (Int64, String) throws -> Void
  ) throws {
    for each in state.saves[store.index] ?? [] where each.number > save {
      try body(each.number, each.changes)
    }
  }

  func forEachEntry(
    of store: any AttachedStore, after save: Int64, _ body: (HistoryEntry) throws -> Bool
  ) throws {
    for each in state.saves[store.index] ?? [] where each.number > save {
      let entry = HistoryEntry(
        number: each.number, date: each.date, origin: each.origin, author: each.author, changes: each.changes)
      guard try body(entry) else { return }
    }
  }

  // MARK: Metadata

  private func entries(of store: any AttachedStore) -> [String: String] { state.metadata[store.index] ?? [:] }

  func metadata(of store: any AttachedStore) throws -> StoreMetadata {
    try StoreMetadata(entries: entries(of: store), url: store.url)
  }

  func movedKeys(of store: any AttachedStore) throws -> [MovedKeys] {
    entries(of: store)[MovedKeys.metadataKey].map(MovedKeys.list) ?? []
  }

  // MARK: Defects

  func defects() throws -> [StoreFinding] {
    var defects = danglingReferences() + danglingPairs() + oneSidedRelationships()
    for root in model.entities where root.root == root.index && isHeld(root) {
      if let last = rows(ofSubtree: root).last?.key, last >= state.nextKeys[root.index] ?? 1 {
        defects.append(.keyTaken(entity: root.name))
      }
    }
    return defects
  }

  /// Whether there is no object of an entity with a key.
  private func isMissing(_ key: ObjectKey, of entity: EntityPlan) -> Bool {
    state.row(key, of: entity.root).map { !entity.subtree.contains($0.entity) } ?? true
  }

  private func danglingReferences() -> [StoreFinding] {
    var defects: [StoreFinding] = []
    for entity in model.entities where isHeld(entity) {
      for case let relationship? in entity.relationships where relationship.owner == entity.name {
        let destination = model.entities[relationship.destination]
        guard case .reference(let column) = relationship.storage, isHeld(destination) else { continue }
        let name = entity.columns[column].name
        for (key, row) in rows(ofSubtree: entity) {
          let other = reference(name, in: row)
          if other == 0 || !isMissing(other, of: destination) { continue }
          defects.append(
            .danglingReference(entity: entity.name, key: key, destination: destination.name))
        }
      }
    }
    return defects
  }

  private func danglingPairs() -> [StoreFinding] {
    var defects: [StoreFinding] = []
    for (index, join) in model.joins.enumerated() {
      let (source, target) = (model.entities[join.source], model.entities[join.target])
      guard isHeld(source), isHeld(target) else { continue }
      for pair in sortedPairs(ofJoin: index) {
        if isMissing(pair.source, of: source) {
          defects.append(
            .danglingReference(entity: target.name, key: pair.target, destination: source.name))
        }
        if isMissing(pair.target, of: target) {
          defects.append(
            .danglingReference(entity: source.name, key: pair.source, destination: target.name))
        }
      }
    }
    return defects
  }

  private func sortedPairs(ofJoin index: Int) -> [PlainState.Pair] {
    (state.joins[index] ?? [:]).keys.sorted { ($0.source, $0.target) < ($1.source, $1.target) }
  }

  /// Finds relationships that are their own inverse, and lead from one object to another, but not back.
  private func oneSidedRelationships() -> [StoreFinding] {
    var defects: [StoreFinding] = []
    for entity in model.entities where isHeld(entity) {
      for case let relationship? in entity.relationships
      where relationship.owner == entity.name && relationship.isSymmetric {
        for (key, other) in oneSided(relationship, of: entity) {
          defects.append(
            .oneDirection(entity: entity.name, relationship: relationship.name, key: key, other: other))
        }
      }
    }
    return defects
  }

  private func oneSided(
    _ relationship: RelationshipPlan, of entity: EntityPlan
  ) -> [(key: ObjectKey, other: ObjectKey)] {
    switch relationship.storage {
    case .reference(let column):
      let name = entity.columns[column].name
      return rows(ofSubtree: entity).map { (key: $0.key, other: reference(name, in: $0.row)) }
        .filter { each in
          guard each.other != 0, let row = state.row(each.other, of: entity.root) else { return false }
          return reference(name, in: row) != each.key
        }
    case .join(let index, _):
      let pairs = state.joins[index] ?? [:]
      return sortedPairs(ofJoin: index)
        .filter { pairs[PlainState.Pair(source: $0.target, target: $0.source)] == nil }
        .map { (key: $0.source, other: $0.target) }
    case .inverseReference, .referencesOfOthers: return []
    }
  }

  func changeMark() throws -> String { "" }
}

/// A query of which a plain store decides nothing but the entities: the evaluator does the rest.
struct PlainAnswer: StoreAnswer {
  let query: StoreQuery
  private let session: PlainSession

  init(_ session: PlainSession, _ query: StoreQuery) {
    self.session = session
    self.query = query
  }

  var isExact: Bool { query.predicate == nil }
  var isSorted: Bool { query.predicate == nil && query.sortKeys.isEmpty }
  var inexactParts: [String] {
    query.predicate == nil ? [] : ["a predicate, which this engine leaves to the evaluator"]
  }

  func found(_ window: StoreWindow) -> [(key: ObjectKey, row: PlainState.Row)] {
    let all = session.rows(ofSubtree: query.entity).filter {
      query.includesSubentities || $0.row.entity == query.entity.index
    }
    let rest = all.dropFirst(window.offset)
    return Array(window.limit.map { rest.prefix($0) } ?? rest)
  }

  func rows(_ window: StoreWindow, isSorted: Bool) throws -> RowCursor {
    session.cursor(found(window), of: query.entity)
  }

  func versions(_ window: StoreWindow, isSorted: Bool) throws -> RowCursor {
    session.cursor(found(window), of: query.entity)
  }

  func count(without keys: [ObjectKey]) throws -> Int {
    let without = Set(keys)
    return found(StoreWindow()).filter { !without.contains($0.key) }.count
  }

  func keys(
    _ window: StoreWindow, without keys: [ObjectKey], unusable: (ObjectKey) -> Void
  ) throws -> [FetchedKey] {
    let without = Set(keys)
    let all = found(StoreWindow()).filter { !without.contains($0.key) }.dropFirst(window.offset)
    return (window.limit.map { all.prefix($0) } ?? all).map { FetchedKey(key: $0.key, entity: $0.row.entity) }
  }

  func keys(
    _ window: StoreWindow, mergedWith others: [(key: FetchedKey, values: [EvaluationValue])],
    without keys: [ObjectKey], unusable: (ObjectKey) -> Void
  ) throws -> [FetchedKey]? { nil }

  func values(
    of names: [String], _ types: [ExpressionType], isDistinct: Bool, _ window: StoreWindow,
    _ report: RowReport
  ) throws -> [[FetchedValue]]? { nil }

  func aggregates(
    _ aggregates: [Aggregate], _ aggregated: [ExpressionType?], by keyPaths: [String],
    _ types: [ExpressionType], _ report: RowReport
  ) throws -> [[FetchedValue]]? { nil }
}
