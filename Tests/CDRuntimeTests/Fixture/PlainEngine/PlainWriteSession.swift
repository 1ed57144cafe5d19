import CDModel
import Foundation

@_spi(Generated) @testable import CDRuntime

/// What a save writes a plain engine's stores by: a copy of the state, which takes the state's place at the end.
final class PlainWriteSession: StoreWriteSession {
  private let engine: PlainEngine
  let session: PlainSession
  private let writer = RowWriter()

  var reader: any StoreSession { session }
  var batch: any StoreBatchSession { PlainBatchSession(self) }
  private var model: ModelPlan { engine.model }
  init(_ engine: PlainEngine, _ session: PlainSession) {
    self.engine = engine
    self.session = session
  }

  // MARK: Transactions

  func begin() throws {
    session.working = engine.state
    session.isWriting = true
  }

  func commit(changed: [any AttachedStore], check: () throws -> Void) throws {
    guard !hasDanglingRows else { throw ReferenceViolation() }
    for store in changed { try store.checkIdentity() }
    try check()
    // Keys may have been reserved meanwhile.
    session.working.nextKeys.merge(engine.state.nextKeys) { max($0, $1) }
    engine.put(session.working)
    rollback()
  }

  func rollback() {
    session.working = PlainState()
    session.isWriting = false
  }

  // MARK: Rows

  private func captured(_ encode: (RowWriter) throws -> Void) rethrows -> [AttributeValue]? {
    writer.startCapture()
    try encode(writer)
    return writer.failure == nil ? writer.values : nil
  }

  func insert(_ entity: EntityPlan, _ key: ObjectKey, _ encode: (RowWriter) -> Void) throws -> RowOutcome {
    guard let values = captured(encode) else { return .unwritable }
    let row = PlainState.Row(entity: entity.index, version: 1, values: values)
    if session.working.row(key, of: entity.root) != nil { return .notUnique(["_pk"]) }
    if let properties = refusal(of: row, key) { return .notUnique(properties) }
    put(row, key, entity.root)
    return .done
  }

  func setVersion(_ version: Int64, of entity: EntityPlan, _ key: ObjectKey) throws {
    session.working.tables[entity.root]?[key]?.version = version
  }

  func update(
    _ entity: EntityPlan, _ changed: SlotSet, _ key: ObjectKey, version: Int64,
    _ encode: (_ slots: [Int], RowWriter) throws -> Void
  ) throws -> RowOutcome {
    let slots = entity.storedSlots.filter(changed.contains)
    guard let values = try captured({ try encode(slots, $0) }) else { return .unwritable }
    guard var row = session.working.row(key, of: entity.root), row.version == version else { return .missing }
    for (column, value) in zip(slots.flatMap { entity.slots[$0].columns }, values) {
      row.values[column] = value
    }
    row.version = (row.version + 1) & 0xFFFF_FFFF
    if let properties = refusal(of: row, key) { return .notUnique(properties) }
    put(row, key, entity.root)
    return .done
  }

  func delete(_ entity: EntityPlan, _ key: ObjectKey, version: Int64) throws -> RowOutcome {
    guard let row = session.working.row(key, of: entity.root), row.version == version else { return .missing }
    put(nil, key, entity.root)
    let root = entity.root
    for (place, join) in model.joins.enumerated() {
      let isWithin = model.entities[join.source].storeIndex == model.entities[join.target].storeIndex
      for pair in (session.working.joins[place] ?? [:]).keys {
        let isSource = model.entities[join.source].root == root && pair.source == key
        let isTarget = isWithin && model.entities[join.target].root == root && pair.target == key
        if isSource || isTarget { session.working.joins[place]?[pair] = nil }
      }
    }
    clearReferences(to: key, root)
    return .done
  }

  /// Clears references that nobody else can clear.
  private func clearReferences(to key: ObjectKey, _ root: Int) {
    for (entity, slot) in model.clearedReferences[root] ?? [] {
      guard let column = entity.slots[slot].columns.first else { continue }
      for (holder, row) in session.working.tables[entity.root] ?? [:]
      where row.entity == entity.index && row.values[column] == .int(key) {
        var row = row
        row.values[column] = .null
        put(row, holder, entity.root)
      }
    }
  }

  func failure(of encode: (RowWriter) -> Void) -> (any Error)? {
    writer.startCapture()
    encode(writer)
    return writer.failure
  }

  // MARK: Unique values

  func put(_ row: PlainState.Row?, _ key: ObjectKey, _ root: Int) {
    session.working.put(row, key, root, engine.uniqueLists)
  }

  /// The properties of the first unique list that another row has the values of.
  func refusal(of row: PlainState.Row, _ key: ObjectKey) -> [String]? {
    session.working.refusal(of: row, key, engine.uniqueLists)
  }

  /// The row that has the values of a `unique:` list.
  func row(of list: UniqueList, _ entity: EntityPlan, _ values: [AttributeValue]) -> FetchedKey? {
    guard let own = UniqueValues(owner: list.owner.index, list.columns, values),
      let key = session.working.unique[own], let row = session.working.row(key, of: entity.root)
    else { return nil }
    return FetchedKey(key: key, entity: row.entity)
  }

  func conflictingRow(
    of columns: [Int], _ entity: EntityPlan, _ owner: EntityPlan, excluding key: ObjectKey,
    _ encode: (_ slots: [Int], RowWriter) -> Void
  ) throws -> (key: ObjectKey, entity: String)? {
    guard let own = uniqueValues(columns, entity, owner.index, encode),
      let found = session.working.unique[own], found != key,
      let row = session.working.row(found, of: entity.root)
    else { return nil }
    return (found, model.entities[row.entity].name)
  }

  func comparedValues(
    of columns: [Int], _ entity: EntityPlan, _ encode: (_ slots: [Int], RowWriter) -> Void
  ) throws -> [String]? {
    uniqueValues(columns, entity, entity.index, encode)?.texts
  }

  private func uniqueValues(
    _ columns: [Int], _ entity: EntityPlan, _ owner: Int, _ encode: (_ slots: [Int], RowWriter) -> Void
  ) -> UniqueValues? {
    let slots = Set(columns.map { entity.columns[$0].slot }).sorted()
    let written = slots.flatMap { entity.slots[$0].columns }
    guard let values = captured({ encode(slots, $0) }) else { return nil }
    return UniqueValues(
      owner: owner, columns.map { entity.columns[$0].name },
      columns.map { column in written.firstIndex(of: column).map { values[$0] } ?? .null })
  }

  func writePlaceholder(in column: ColumnPlan, of entity: EntityPlan, _ key: ObjectKey) throws {
    guard var row = session.working.row(key, of: entity.root),
      let place = model.entities[row.entity].columns.firstIndex(where: { $0.name == column.name })
    else { return }
    // Nil equals nothing.
    row.values[place] = .null
    put(row, key, entity.root)
  }

  // MARK: Keys of batches

  func nextKey(of root: Int) -> ObjectKey {
    engine.state.nextKeys[root] ?? session.working.nextKeys[root] ?? 1
  }
  func reserve(upTo key: ObjectKey, of root: Int) { session.working.nextKeys[root] = key }

  // MARK: Relationships

  func deletePairs(ofJoin place: Int, _ source: ObjectKey, _ targets: [ObjectKey]) throws {
    for target in targets {
      session.working.joins[place]?[PlainState.Pair(source: source, target: target)] = nil
    }
  }

  func insertPairs(ofJoin place: Int, _ source: ObjectKey, _ targets: [ObjectKey]) throws {
    for target in targets {
      let pair = PlainState.Pair(source: source, target: target)
      if session.working.joins[place]?[pair] == nil {
        session.working.joins[place, default: [:]][pair] = PlainState.Positions()
      }
    }
  }

  func hasPositions(_ relationship: RelationshipPlan) -> Bool {
    switch relationship.storage {
    case .join: true
    case .referencesOfOthers: model.positionColumn(of: relationship) != nil
    case .reference, .inverseReference: false
    }
  }

  func lastPosition(_ relationship: RelationshipPlan, of key: ObjectKey) throws -> Int64 {
    try session.positions(of: relationship, of: key)?.values.max() ?? 0
  }

  func positionedKeys(_ relationship: RelationshipPlan, of key: ObjectKey) throws -> [ObjectKey] {
    (try session.positions(of: relationship, of: key) ?? [:]).sorted {
      ($0.value, $0.key) < ($1.value, $1.key)
    }
    .map(\.key)
  }

  func setPosition(
    _ position: Int64, of member: ObjectKey, _ relationship: RelationshipPlan, of key: ObjectKey, isNew: Bool
  ) throws {
    switch relationship.storage {
    case .join(let place, let isSource):
      let pair = PlainState.Pair(source: isSource ? key : member, target: isSource ? member : key)
      guard var positions = session.working.joins[place]?[pair] else { return }
      if isNew, (isSource ? positions.ofSource : positions.ofTarget) != nil { return }
      if isSource { positions.ofSource = position } else { positions.ofTarget = position }
      session.working.joins[place]?[pair] = positions
    case .referencesOfOthers:
      let root = model.entities[relationship.destination].root
      guard let name = model.positionColumn(of: relationship),
        let row = session.working.row(member, of: root),
        let column = model.inverseReferenceColumn(of: relationship),
        let place = model.entities[row.entity].columns.firstIndex(where: { $0.name == column.name }),
        row.values[place] == .int(key)
      else { return }
      session.working.tables[root]?[member]?.positions[name] = position
    case .reference, .inverseReference: break
    }
  }

  private var hasDanglingRows: Bool {
    for (root, table) in session.working.tables {
      for row in table.values where isDangling(row, root) { return true }
    }
    for (place, pairs) in session.working.joins {
      let join = model.joins[place]
      let (source, target) = (model.entities[join.source], model.entities[join.target])
      for pair in pairs.keys {
        if session.working.row(pair.source, of: source.root) == nil { return true }
        if source.storeIndex == target.storeIndex, session.working.row(pair.target, of: target.root) == nil {
          return true
        }
      }
    }
    return false
  }

  private func isDangling(_ row: PlainState.Row, _ root: Int) -> Bool {
    let entity = model.entities[row.entity]
    return entity.relationships.contains { relationship in
      guard let relationship, relationship.isGuaranteed, case .reference(let column) = relationship.storage,
        case .int(let key) = row.values[column]
      else { return false }
      return session.working.row(key, of: model.entities[relationship.destination].root) == nil
    }
  }

  func danglingRows(in store: any AttachedStore) throws -> [(root: EntityPlan, key: ObjectKey)] {
    var result: [(root: EntityPlan, key: ObjectKey)] = []
    for (root, table) in session.working.tables where model.entities[root].storeIndex == store.index {
      for (key, row) in table.sorted(by: { $0.key < $1.key }) where isDangling(row, root) {
        result.append((model.entities[root], key))
      }
    }
    return Array(result.prefix(100))
  }

  // MARK: History

  func addSave(
    _ id: UUID, to store: any AttachedStore, at date: Date, origin: String, author: String?,
    _ changes: String
  ) throws -> Int64? {
    let number = (session.working.lastSaves[store.index] ?? 0) + 1
    session.working.lastSaves[store.index] = number
    session.working.saves[store.index, default: []].append(
      PlainState.Save(number: number, date: date, origin: origin, author: author, changes: changes))
    return number
  }

  func deleteEntries(_ range: HistoryRange, of store: any AttachedStore) throws {
    let newest = session.working.lastSaves[store.index] ?? 0
    session.working.saves[store.index]?.removeAll { save in
      let isMeant =
        switch range {
        case .before(let date): save.date < date
        case .upTo(let number): save.number <= number
        }
      return isMeant && save.number < newest
    }
  }

  // MARK: Metadata

  func setMetadata(_ values: [String: String], of store: any AttachedStore) throws {
    let prefix = StoreMetadata.valuePrefix
    // Characters would be compared otherwise, which may be more than the letters of the prefix.
    var entries = (session.working.metadata[store.index] ?? [:]).filter {
      !$0.key.utf8.starts(with: prefix.utf8)
    }
    for (key, value) in values { entries[prefix + key] = value }
    session.working.metadata[store.index] = entries
  }

  func hasEntry(
    _ number: Int64, ofSave id: UUID, from origin: String, in store: any AttachedStore
  ) -> Bool {
    session.working.saves[store.index]?.contains {
      $0.number == number && $0.origin == origin && $0.changes.contains(id.uuidString)
    } == true
  }

  // MARK: Files of large values

  func fileName(in column: ColumnPlan, of entity: EntityPlan, _ key: ObjectKey) throws -> String? { nil }
  func listFile(_ name: String, in store: any AttachedStore) throws {}
  func unlistFile(_ name: String, in store: any AttachedStore) throws -> Bool { false }
}
