@_spi(Generated) import CDRuntime

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A session that writes to the stores of several engines. The transaction of an engine begins when it is first used.
final class CombinedWriteSession: StoreWriteSession {
  private let sessions: [any StoreWriteSession]
  private let model: ModelPlan
  private let map: EngineMap
  private let state: State
  private let combinedReader: CombinedSession

  /// How far the transaction has come.
  private final class State {
    var isOpen = false
    var isRowByRow = false
    /// The engines whose transactions have begun.
    var begun: Set<Int> = []
    /// The engine that wrote the last row.
    var last = 0
  }

  init(
    _ sessions: [any StoreWriteSession], stores: StoreSet, model: ModelPlan, _ map: EngineMap,
    files: [ExternalFiles?]
  ) {
    let state = State()
    self.sessions = sessions
    self.model = model
    self.map = map
    self.state = state
    combinedReader = CombinedSession(
      sessions.map(\.reader), stores: stores, model: model, map, files: files
    ) { number in
      try Self.use(number, sessions, state)
    }
  }

  var reader: any StoreSession { combinedReader }
  var batch: any StoreBatchSession { CombinedBatchSession(self, combinedReader, model) }

  // MARK: Engines

  private static func use(_ number: Int, _ sessions: [any StoreWriteSession], _ state: State) throws {
    guard state.isOpen, state.begun.insert(number).inserted else { return }
    do {
      if state.isRowByRow { try sessions[number].beginRowByRow() } else { try sessions[number].begin() }
    } catch {
      state.begun.remove(number)
      throw error
    }
  }

  private func session(_ number: Int) throws -> any StoreWriteSession {
    try Self.use(number, sessions, state)
    return sessions[number]
  }

  /// The session of an entity's engine, whose transaction has begun.
  func session(of entity: EntityPlan) throws -> any StoreWriteSession {
    guard let number = map.engine(of: entity) else { throw StoreError.noStore(entity: entity.name) }
    return try session(number)
  }

  private func session(of store: any AttachedStore) throws -> any StoreWriteSession {
    try session(map.engine(of: store) ?? 0)
  }

  func session(ofJoin index: Int) throws -> any StoreWriteSession {
    try session(of: combinedReader.owner(ofJoin: index))
  }

  /// Writes a row with the session of an entity's engine.
  private func writeRow(
    _ entity: EntityPlan, _ body: (any StoreWriteSession) throws -> RowOutcome
  ) throws -> RowOutcome {
    state.last = map.engine(of: entity) ?? 0
    let outcome = try body(session(of: entity))
    switch outcome {
    case .done, .unwritable: return outcome
    case .missing, .notUnique:
      // Another engine may still have rows that it has not written. Only row by row, all conflicts are found.
      if !state.isRowByRow { throw UnexpectedRows() }
      return outcome
    }
  }

  // MARK: Transactions

  func begin() throws { begin(rowByRow: false) }

  func beginRowByRow() throws { begin(rowByRow: true) }

  private func begin(rowByRow: Bool) {
    state.isOpen = true
    state.isRowByRow = rowByRow
    state.begun = []
  }

  func writePart(_ body: () throws -> Void) throws {
    // An engine that takes its own rows back and runs the body again cannot take back the rows of another one.
    throw StoreError.notSupported("an import into stores of several engines")
  }

  func commit(changed: [any AttachedStore], check: () throws -> Void) throws {
    try commit(from: 0, changed, check)
    state.isOpen = false
    state.begun = []
  }

  /// Commits the transactions of an engine and of those after it. An engine commits after the check, so the last engine
  /// commits first, and nothing is written if it refuses.
  @_optimize(none)
  private func commit(
    from number: Int, _ changed: [any AttachedStore], _ check: () throws -> Void
  ) throws {
    guard number < sessions.count else { return try check() }
    guard state.begun.contains(number) else { return try commit(from: number + 1, changed, check) }
    let own = changed.filter { map.engine(of: $0) == number }
    try sessions[number].commit(changed: own) { try commit(from: number + 1, changed, check) }
  }

  func excludesOthers(from store: any AttachedStore) -> Bool {
    sessions[map.engine(of: store) ?? 0].excludesOthers(from: store)
  }

  func excludeOthers(from store: any AttachedStore) throws {
    try session(of: store).excludeOthers(from: store)
  }

  func keepAlive() throws {
    for number in state.begun { try sessions[number].keepAlive() }
  }

  func rollback() {
    for number in state.begun { sessions[number].rollback() }
    state.isOpen = false
    state.begun = []
  }

  // MARK: Rows

  func insert(_ entity: EntityPlan, _ key: ObjectKey, _ encode: (RowWriter) -> Void) throws -> RowOutcome {
    try writeRow(entity) { try $0.insert(entity, key, encode) }
  }

  func insert(
    _ entity: EntityPlan, count: Int, key: (Int) -> ObjectKey, _ encode: (Int, RowWriter) -> Void,
    refused: (Int, RowOutcome) throws -> Void
  ) throws {
    state.last = map.engine(of: entity) ?? 0
    try session(of: entity).insert(entity, count: count, key: key, encode) { number, outcome in
      if case .notUnique = outcome, !state.isRowByRow { throw UnexpectedRows() }
      try refused(number, outcome)
    }
  }

  func setVersion(_ version: Int64, of entity: EntityPlan, _ key: ObjectKey) throws {
    try session(of: entity).setVersion(version, of: entity, key)
  }

  func update(
    _ entity: EntityPlan, _ changed: SlotSet, _ key: ObjectKey, version: Int64,
    _ encode: (_ slots: [Int], RowWriter) throws -> Void
  ) throws -> RowOutcome {
    try writeRow(entity) { try $0.update(entity, changed, key, version: version, encode) }
  }

  func delete(_ entity: EntityPlan, _ key: ObjectKey, version: Int64) throws -> RowOutcome {
    try writeRow(entity) { try $0.delete(entity, key, version: version) }
  }

  func failure(of encode: (RowWriter) -> Void) -> (any Error)? { sessions[state.last].failure(of: encode) }

  // MARK: Unique values

  func conflictingRow(
    of columns: [Int], _ entity: EntityPlan, _ owner: EntityPlan, excluding key: ObjectKey,
    _ encode: (_ slots: [Int], RowWriter) -> Void
  ) throws -> (key: ObjectKey, entity: String)? {
    try session(of: entity).conflictingRow(of: columns, entity, owner, excluding: key, encode)
  }

  func comparedValues(
    of columns: [Int], _ entity: EntityPlan, _ encode: (_ slots: [Int], RowWriter) -> Void
  ) throws -> [String]? {
    try session(of: entity).comparedValues(of: columns, entity, encode)
  }

  func writePlaceholder(in column: ColumnPlan, of entity: EntityPlan, _ key: ObjectKey) throws {
    try session(of: entity).writePlaceholder(in: column, of: entity, key)
  }

  // MARK: Relationships

  func deletePairs(ofJoin index: Int, _ source: ObjectKey, _ targets: [ObjectKey]) throws {
    try session(ofJoin: index).deletePairs(ofJoin: index, source, targets)
  }

  func insertPairs(ofJoin index: Int, _ source: ObjectKey, _ targets: [ObjectKey]) throws {
    try session(ofJoin: index).insertPairs(ofJoin: index, source, targets)
  }

  /// The session of the table that has the positions of a relationship's objects.
  private func session(of relationship: RelationshipPlan) throws -> any StoreWriteSession {
    if case .join(let index, _) = relationship.storage { return try session(ofJoin: index) }
    return try session(of: model.entities[relationship.destination])
  }

  // The model alone decides.
  func hasPositions(_ relationship: RelationshipPlan) -> Bool { sessions[0].hasPositions(relationship) }

  func lastPosition(_ relationship: RelationshipPlan, of key: ObjectKey) throws -> Int64 {
    try session(of: relationship).lastPosition(relationship, of: key)
  }

  func positionedKeys(_ relationship: RelationshipPlan, of key: ObjectKey) throws -> [ObjectKey] {
    try session(of: relationship).positionedKeys(relationship, of: key)
  }

  func setPosition(
    _ position: Int64, of member: ObjectKey, _ relationship: RelationshipPlan, of key: ObjectKey, isNew: Bool
  ) throws {
    try session(of: relationship).setPosition(position, of: member, relationship, of: key, isNew: isNew)
  }

  func danglingRows(in store: any AttachedStore) throws -> [(root: EntityPlan, key: ObjectKey)] {
    try session(of: store).danglingRows(in: store)
  }

  // MARK: History

  func addSave(
    _ id: UUID, to store: any AttachedStore, at date: Date, origin: String, author: String?,
    _ changes: String
  ) throws -> Int64? {
    try session(of: store).addSave(id, to: store, at: date, origin: origin, author: author, changes)
  }

  func deleteEntries(_ range: HistoryRange, of store: any AttachedStore) throws {
    try session(of: store).deleteEntries(range, of: store)
  }

  func hasEntry(
    _ number: Int64, ofSave id: UUID, from origin: String, in store: any AttachedStore
  ) -> Bool {
    guard let engine = map.engine(of: store) else { return false }
    return sessions[engine].hasEntry(number, ofSave: id, from: origin, in: store)
  }

  // MARK: Metadata

  func setMetadata(_ values: [String: String], of store: any AttachedStore) throws {
    try session(of: store).setMetadata(values, of: store)
  }

  // MARK: Files of large values

  func fileName(in column: ColumnPlan, of entity: EntityPlan, _ key: ObjectKey) throws -> String? {
    try session(of: entity).fileName(in: column, of: entity, key)
  }

  func listFile(_ name: String, in store: any AttachedStore) throws {
    try session(of: store).listFile(name, in: store)
  }

  @discardableResult func unlistFile(_ name: String, in store: any AttachedStore) throws -> Bool {
    try session(of: store).unlistFile(name, in: store)
  }
}
