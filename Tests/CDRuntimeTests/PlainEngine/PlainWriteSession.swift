import CDModel
import Foundation

@_spi(Generated) @testable import CDRuntime

/// What a save writes a plain engine's stores by: a copy of the state, which takes the state's place at the end.
final class PlainWriteSession: StoreWriteSession {
  private let engine: PlainEngine
  private let session: PlainSession
  private let writer = RowWriter()
  private var placeholders: Int64 = 0

  var reader: any StoreSession { session }
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
    try check()
    // Keys may have been reserved meanwhile.
    session.working.nextKeys = engine.state.nextKeys
    engine.put(session.working)
    rollback()
  }

  func rollback() {
    session.working = PlainState()
    session.isWriting = false
  }

  func write<R>(_ body: () throws -> R) throws -> R {
    try begin()
    do {
      let result = try body()
      try commit(changed: []) {}
      return result
    } catch {
      rollback()
      throw error
    }
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
    session.working.tables[entity.root, default: [:]][key] = row
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
    session.working.tables[entity.root]?[key] = row
    return .done
  }

  func delete(_ entity: EntityPlan, _ key: ObjectKey, version: Int64) throws -> RowOutcome {
    guard let row = session.working.row(key, of: entity.root), row.version == version else { return .missing }
    session.working.tables[entity.root]?[key] = nil
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
        session.working.tables[entity.root]?[holder]?.values[column] = .null
      }
    }
  }

  func failure(of encode: (RowWriter) -> Void) -> (any Error)? {
    writer.startCapture()
    encode(writer)
    return writer.failure
  }

  // MARK: Unique values

  /// What makes two values one to a unique index; nil for nil, which equals nothing.
  private func identity(_ value: AttributeValue) -> String? {
    switch value.stored {
    case .null: nil
    case .int(let number): "\(number)"
    case .double(let number): "\(number == 0 ? 0 : number)"
    // By code units: to Swift an accent of its own and one that is part of a letter are the same.
    case .string(let text): text.utf8.map { String($0, radix: 16) }.joined(separator: " ")
    case .data(let data): data.map { String($0, radix: 16) }.joined(separator: " ")
    case .bool, .decimal, .date, .uuid, .url, .composite: nil
    }
  }

  private struct UniqueColumns {
    let owner: EntityPlan
    let names: [String]
    let properties: [String]
  }

  private func uniqueColumns(of entity: EntityPlan) -> [UniqueColumns] {
    var result: [UniqueColumns] = []
    for case let relationship? in entity.relationships where relationship.isOneToOne {
      guard case .reference(let column) = relationship.storage else { continue }
      result.append(
        UniqueColumns(
          owner: model.entities[entity.root], names: [entity.columns[column].name],
          properties: [relationship.description.name]))
    }
    for owner in entity.lineage.map({ model.entities[$0] }) {
      for properties in owner.description.uniquenessConstraints {
        let names = properties.flatMap(entity.columnNumbers).map { entity.columns[$0].name }
        result.append(UniqueColumns(owner: owner, names: names, properties: properties))
      }
    }
    return result
  }

  private func identities(_ names: [String], _ row: PlainState.Row) -> [String]? {
    let entity = model.entities[row.entity]
    var result: [String] = []
    for name in names {
      guard let column = entity.columns.firstIndex(where: { $0.name == name }),
        let identity = identity(row.values[column])
      else { return nil }
      result.append(identity)
    }
    return result.isEmpty ? nil : result
  }

  /// The properties of the first unique list that another row has the values of.
  private func refusal(of row: PlainState.Row, _ key: ObjectKey) -> [String]? {
    let entity = model.entities[row.entity]
    for unique in uniqueColumns(of: entity) {
      guard let own = identities(unique.names, row) else { continue }
      let isTaken = (session.working.tables[entity.root] ?? [:]).contains { other, row in
        other != key && unique.owner.subtree.contains(row.entity) && identities(unique.names, row) == own
      }
      if isTaken { return unique.properties }
    }
    return nil
  }

  func holder(
    of columns: [Int], _ entity: EntityPlan, _ owner: EntityPlan, beside key: ObjectKey,
    _ encode: (_ slots: [Int], RowWriter) -> Void
  ) throws -> (key: ObjectKey, entity: String)? {
    guard let own = try comparedValues(of: columns, entity, encode) else { return nil }
    let names = columns.map { entity.columns[$0].name }
    let found = (session.working.tables[entity.root] ?? [:]).sorted { $0.key < $1.key }.first { other, row in
      other != key && owner.subtree.contains(row.entity) && identities(names, row) == own
    }
    return found.map { ($0.key, model.entities[$0.value.entity].name) }
  }

  func comparedValues(
    of columns: [Int], _ entity: EntityPlan, _ encode: (_ slots: [Int], RowWriter) -> Void
  ) throws -> [String]? {
    let slots = Set(columns.map { entity.columns[$0].slot }).sorted()
    let written = slots.flatMap { entity.slots[$0].columns }
    guard let values = captured({ encode(slots, $0) }) else { return nil }
    var result: [String] = []
    for column in columns {
      guard let place = written.firstIndex(of: column), let text = identity(values[place]) else { return nil }
      result.append(text)
    }
    return result
  }

  func writePlaceholder(in column: ColumnPlan, of entity: EntityPlan, _ key: ObjectKey) throws {
    placeholders += 1
    guard let row = session.working.row(key, of: entity.root),
      let place = model.entities[row.entity].columns.firstIndex(where: { $0.name == column.name })
    else { return }
    // Nil equals nothing.
    session.working.tables[entity.root]?[key]?.values[place] = .null
  }

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
        let column = model.referenceColumn(behind: relationship),
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
    for (root, table) in session.working.tables where model.entities[root].storeIndex == store.place {
      for (key, row) in table.sorted(by: { $0.key < $1.key }) where isDangling(row, root) {
        result.append((model.entities[root], key))
      }
    }
    return Array(result.prefix(100))
  }

  // MARK: History

  func addSave(
    to store: any AttachedStore, at date: Date, origin: String, author: String?, _ changes: String
  ) throws -> Int64 {
    let number = (session.working.lastSaves[store.place] ?? 0) + 1
    session.working.lastSaves[store.place] = number
    session.working.saves[store.place, default: []].append(
      PlainState.Save(number: number, date: date, origin: origin, author: author, changes: changes))
    return number
  }

  func save(_ number: Int64, of origin: String, in store: any AttachedStore) throws -> String? {
    session.working.saves[store.place]?.first { $0.number == number && $0.origin == origin }?.changes
  }

  // MARK: Files of large values

  func fileName(in column: ColumnPlan, of entity: EntityPlan, _ key: ObjectKey) throws -> String? { nil }
  func listFile(_ name: String, in store: any AttachedStore) throws {}
  func unlistFile(_ name: String, in store: any AttachedStore) throws -> Bool { false }
}
