import CDModel
import Foundation

@_spi(Generated) @testable import CDRuntime

/// The contents of a plain store, and the model by which to read them.
struct PlainImage: Sendable {
  let model: ModelPlan
  /// The index of the store in the model. The state may have rows of other stores too.
  let storeIndex: Int
  let state: PlainState

  private var roots: [EntityPlan] {
    model.entities.filter { $0.root == $0.index && $0.storeIndex == storeIndex }
  }

  /// The names that the tables would have in a database.
  var tableNames: Set<String> {
    let joins = model.joins.filter { model.entities[$0.source].storeIndex == storeIndex }
    return Set(roots.map(\.table) + joins.map(\.table))
  }

  /// The rows, for the store's address.
  func stored(_ url: URL) -> StoredTables { StoredTables(PlainTables(self), names: tableNames, url: url) }

  func contents() throws -> StoreContents { try StoreContents(tables, from: PlainTables(self)) }

  private var tables: StoreTables { StoreTables(model, store: storeIndex) }

  /// The rows in the tables of another model, unchecked.
  func state(in model: ModelPlan, store: Int, _ lists: PlainUniqueLists) throws -> PlainState {
    let receiver = PlainReceiver(model, store: store, lists)
    try receiver.copy(PlainTables(self), tables)
    return receiver.state
  }

  /// A store of the same model with other rows, unchecked.
  func replacingRows(by source: any TableSource) throws -> PlainImage {
    let receiver = PlainReceiver(model, store: storeIndex, PlainUniqueLists(model))
    try receiver.copy(source, tables)
    return PlainImage(model: model, storeIndex: storeIndex, state: receiver.state)
  }

  /// The next key of each root entity that has had objects.
  fileprivate var nextKeys: [(name: String, next: ObjectKey)] {
    roots.compactMap { root in state.nextKeys[root.index].map { (name: root.name, next: $0) } }
  }
}

// MARK: Reading

/// The rows of a plain store.
///
/// The tables that are asked for are of the same version as the store, but may be of another plan. So entities and columns
/// are found by their names.
final class PlainTables: TableSource {
  private let image: PlainImage
  private var state: PlainState { image.state }

  init(_ image: PlainImage) { self.image = image }

  func metadata() throws -> [String: String] { state.metadata[image.storeIndex] ?? [:] }

  func forEachRow(of part: StoreTables.Part, _ body: ([StoreValue]) throws -> Void) throws {
    let names = part.table.columns.map(\.name)
    switch part.content {
    case .keys: try forEachKey(body)
    case .objects(let entity): try forEachObject(of: entity, names, body)
    case .pairs(let join): try forEachPair(of: join, names, body)
    case .history: try forEachSave(body)
    }
  }

  private func forEachKey(_ body: ([StoreValue]) throws -> Void) throws {
    let nextSave = (state.lastSaves[image.storeIndex] ?? 0) + 1
    let all = image.nextKeys + [(name: StoreBuilder.historyKey, next: nextSave)]
    for (name, next) in all.sorted(by: { $0.name < $1.name }) { try body([.text(name), .integer(next)]) }
  }

  private func forEachObject(
    of entity: EntityPlan, _ names: [String], _ body: ([StoreValue]) throws -> Void
  ) throws {
    guard let own = image.model.entity(entity.name) else { return }
    let columns = names.dropFirst(2).map { name in
      (name: name, index: own.columns.firstIndex { $0.name == name })
    }
    let rows = (state.tables[own.root] ?? [:]).filter { $0.value.entity == own.index }
    for (key, row) in rows.sorted(by: { $0.key < $1.key }) {
      let values = columns.map { column -> StoreValue in
        if let index = column.index { return StoreValue(row.values[index]) }
        return row.positions[column.name].map { StoreValue.integer($0) } ?? .null
      }
      try body([.integer(key), .integer(row.version)] + values)
    }
  }

  private func forEachPair(
    of join: JoinPlan, _ names: [String], _ body: ([StoreValue]) throws -> Void
  ) throws {
    guard let index = image.model.joins.firstIndex(where: { $0.table == join.table }) else { return }
    let pairs = (state.joins[index] ?? [:]).sorted {
      ($0.key.source, $0.key.target) < ($1.key.source, $1.key.target)
    }
    for (pair, positions) in pairs {
      try body(
        names.map { name -> StoreValue in
          switch name {
          case "_source": return .integer(pair.source)
          case "_target": return .integer(pair.target)
          case "_position": return positions.ofSource.map { StoreValue.integer($0) } ?? .null
          default: return positions.ofTarget.map { StoreValue.integer($0) } ?? .null
          }
        })
    }
  }

  private func forEachSave(_ body: ([StoreValue]) throws -> Void) throws {
    for save in (state.saves[image.storeIndex] ?? []).suffix(StoreTables.historyLength) {
      try body([
        .integer(save.number), .real(save.date.timeIntervalSinceReferenceDate), .text(save.origin),
        save.author.map { StoreValue.text($0) } ?? .null, .text(save.changes),
      ])
    }
  }
}

extension StoreValue {
  fileprivate init(_ value: AttributeValue) {
    if case .decimal(let number) = value {
      self = number.isNaN ? .null : .text(number.canonicalText)
      return
    }
    self =
      switch value.stored {
      case .int(let number): .integer(number)
      case .double(let number): .real(number)
      case .string(let text): .text(text)
      case .data(let data): .bytes(data)
      default: .null
      }
  }
}

extension AttributeValue {
  /// The value of a column. A value that does not have the column's type stays what it is, as in SQLite.
  fileprivate init(_ value: StoreValue, _ type: StoreColumn.ValueType) {
    switch (value, type) {
    case (.null, _): self = .null
    case (.integer(let number), .bool): self = .bool(number != 0)
    case (.integer(let number), .real): self = .double(Double(number))
    case (.integer(let number), .date): self = .date(Date(timeIntervalSinceReferenceDate: Double(number)))
    case (.integer(let number), _): self = .int(number)
    case (.real(let number), .date): self = .date(Date(timeIntervalSinceReferenceDate: number))
    case (.real(let number), _): self = .double(number)
    case (.text(let text), .decimal):
      self = DecimalText.decode(" " + text).map { AttributeValue.decimal($0) } ?? .string(text)
    case (.text(let text), .url): self = URL(string: text).map { AttributeValue.url($0) } ?? .string(text)
    case (.text(let text), _): self = .string(text)
    case (.bytes(let data), .uuid):
      self = ValueBytes.uuid(data).map { AttributeValue.uuid($0) } ?? .data(data)
    case (.bytes(let data), _): self = .data(data)
    }
  }
}

// MARK: Writing

/// Two rows have equal values that a unique list forbids.
struct PlainDuplicate: Error {
  /// The entity that declares the list.
  let entity: String
  let properties: [String]
  /// The greater one of the keys.
  let key: ObjectKey
}

/// The tables of a new plain store. Entities and columns of the rows are found by their names, since the rows may come from
/// another plan.
final class PlainReceiver: TableReceiver {
  private let model: ModelPlan
  private let store: Int
  private let lists: PlainUniqueLists
  private let checksUniqueValues: Bool
  private(set) var state = PlainState()

  init(_ model: ModelPlan, store: Int, _ lists: PlainUniqueLists, checksUniqueValues: Bool = true) {
    self.model = model
    self.store = store
    self.lists = lists
    self.checksUniqueValues = checksUniqueValues
  }

  func begin(_ model: ModelPlan, store: Int, metadata: [String: String]) throws {
    state.metadata[self.store] = metadata
  }

  /// Takes the rows of a source as they are, without any check.
  func copy(_ source: any TableSource, _ tables: StoreTables) throws {
    state.metadata[store] = try source.metadata()
    for part in tables.parts {
      let rows = try insertion(into: part)
      try source.forEachRow(of: part) { row in
        for (index, value) in row.enumerated() { rows.place(value, at: index) }
        try rows.insert()
      }
    }
  }

  func insertion(into part: StoreTables.Part) throws -> any RowReceiver {
    let names = part.table.columns.map(\.name)
    let types = part.table.columns.map(\.type)
    switch part.content {
    case .keys: return PlainRowReceiver(types, addKey)
    case .history: return PlainRowReceiver(types, addSave)
    case .pairs(let join):
      guard let index = model.joins.firstIndex(where: { $0.table == join.table }) else {
        throw StoreFormatError(.unknownEntity(join.table))
      }
      return PlainRowReceiver(types) { [self] in try addPair($0, names, to: index) }
    case .objects(let entity):
      guard let own = model.entity(entity.name) else {
        throw StoreFormatError(.unknownEntity(entity.name))
      }
      let columns = names.dropFirst(2).map { name in
        (name: name, index: own.columns.firstIndex { $0.name == name })
      }
      return PlainRowReceiver(types) { [self] in try addObject($0, columns, of: own) }
    }
  }

  private func addKey(_ row: [AttributeValue]) {
    guard case .string(let name) = row[0], case .int(let next) = row[1] else { return }
    if name == StoreBuilder.historyKey {
      state.lastSaves[store] = next - 1
    } else if let root = model.entity(name)?.root {
      state.nextKeys[root] = next
    }
  }

  private func addSave(_ row: [AttributeValue]) throws {
    guard case .int(let number) = row[0], case .date(let date) = row[1], case .string(let origin) = row[2],
      case .string(let changes) = row[4]
    else { throw RowRefusal.constraint }
    var author: String?
    if case .string(let text) = row[3] { author = text }
    state.saves[store, default: []].append(
      PlainState.Save(number: number, date: date, origin: origin, author: author, changes: changes))
    state.lastSaves[store] = max(state.lastSaves[store] ?? 0, number)
  }

  private func addPair(_ row: [AttributeValue], _ names: [String], to join: Int) throws {
    guard case .int(let source) = row[0], case .int(let target) = row[1] else { throw RowRefusal.constraint }
    let pair = PlainState.Pair(source: source, target: target)
    if state.joins[join]?[pair] != nil { throw RowRefusal.duplicateKey }
    var positions = PlainState.Positions()
    for (name, value) in zip(names, row) {
      guard case .int(let position) = value else { continue }
      if name == "_position" { positions.ofSource = position }
      if name == "_inverse_position" { positions.ofTarget = position }
    }
    state.joins[join, default: [:]][pair] = positions
  }

  private func addObject(
    _ values: [AttributeValue], _ columns: [(name: String, index: Int?)], of entity: EntityPlan
  ) throws {
    guard case .int(let key) = values[0], case .int(let version) = values[1] else {
      throw RowRefusal.constraint
    }
    if state.row(key, of: entity.root) != nil { throw RowRefusal.duplicateKey }
    var row = PlainState.Row(
      entity: entity.index, version: version,
      values: [AttributeValue](repeating: .null, count: entity.columns.count))
    for (column, value) in zip(columns, values.dropFirst(2)) {
      if let index = column.index {
        row.values[index] = value
      } else if case .int(let position) = value {
        row.positions[column.name] = position
      }
    }
    state.put(row, key, entity.root, lists)
  }

  func finish(nextSave: Int64) throws {
    if nextSave > 0 { state.lastSaves[store] = max(state.lastSaves[store] ?? 0, nextSave - 1) }
    for (root, table) in state.tables {
      let last = table.keys.max() ?? 0
      state.nextKeys[root] = max(state.nextKeys[root] ?? 1, last + 1)
    }
    if let reference = state.danglingReference(model) {
      throw StoreFormatError(
        .danglingReference(
          entity: reference.entity, key: reference.key, destination: reference.destination))
    }
    if checksUniqueValues, let duplicate = state.duplicate(model, lists) { throw duplicate }
  }
}

/// The insertion of rows into one table.
private final class PlainRowReceiver: RowReceiver {
  private let types: [StoreColumn.ValueType]
  private let add: ([AttributeValue]) throws -> Void
  private var row: [AttributeValue]

  init(_ types: [StoreColumn.ValueType], _ add: @escaping ([AttributeValue]) throws -> Void) {
    self.types = types
    self.add = add
    row = [AttributeValue](repeating: .null, count: types.count)
  }

  func place(_ value: StoreValue, at index: Int) { row[index] = AttributeValue(value, types[index]) }

  func place(_ number: Decimal, at index: Int) -> Bool {
    row[index] = .decimal(number)
    return !number.isNaN
  }

  func insert() throws { try add(row) }
}

extension PlainState {
  /// Adds the rows of another store.
  mutating func merge(_ other: PlainState) {
    tables.merge(other.tables) { $1 }
    unique.merge(other.unique) { $1 }
    joins.merge(other.joins) { $1 }
    nextKeys.merge(other.nextKeys) { $1 }
    saves.merge(other.saves) { $1 }
    lastSaves.merge(other.lastSaves) { $1 }
    metadata.merge(other.metadata) { $1 }
  }

  /// A reference or a pair that leads to no row, although the model guarantees one.
  fileprivate func danglingReference(
    _ model: ModelPlan
  ) -> (entity: String, key: ObjectKey, destination: String)? {
    for table in tables.values {
      for (key, row) in table {
        let entity = model.entities[row.entity]
        for case let relationship? in entity.relationships where relationship.isGuaranteed {
          let destination = model.entities[relationship.destination]
          guard case .reference(let column) = relationship.storage,
            case .int(let other) = row.values[column], self.row(other, of: destination.root) == nil
          else { continue }
          return (entity.name, key, destination.name)
        }
      }
    }
    for (index, pairs) in joins {
      let join = model.joins[index]
      let (source, target) = (model.entities[join.source], model.entities[join.target])
      for pair in pairs.keys {
        if row(pair.source, of: source.root) == nil { return (join.table, pair.source, source.name) }
        if source.storeIndex == target.storeIndex, row(pair.target, of: target.root) == nil {
          return (join.table, pair.source, target.name)
        }
      }
    }
    return nil
  }

  /// A row with the values that another row has in a unique list.
  fileprivate func duplicate(_ model: ModelPlan, _ lists: PlainUniqueLists) -> PlainDuplicate? {
    for table in tables.values {
      for (key, row) in table.sorted(by: { $0.key < $1.key }) {
        for (list, values) in lists.values(of: row) {
          guard let other = unique[values], other != key else { continue }
          return PlainDuplicate(
            entity: model.entities[list.owner].name, properties: list.properties, key: max(key, other))
        }
      }
    }
    return nil
  }
}
