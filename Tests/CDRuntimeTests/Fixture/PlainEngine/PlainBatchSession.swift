import CDModel
import Foundation

@_spi(Generated) @testable import CDRuntime

/// A batch's work on a plain engine, row by row.
final class PlainBatchSession: StoreBatchSession {
  private let write: PlainWriteSession
  private var session: PlainSession { write.session }
  private var model: ModelPlan { session.model }

  init(_ write: PlainWriteSession) { self.write = write }

  // MARK: Finding rows

  /// The rows of a selection, in the order of their keys.
  private func rows(
    _ selection: RowSelection, of entity: EntityPlan
  ) -> [(key: ObjectKey, row: PlainState.Row)] {
    let table = session.working.tables[entity.root] ?? [:]
    let keys: [ObjectKey]
    switch selection {
    case .keys(let wanted): keys = wanted
    case .range(let range, let others): keys = table.keys.filter(range.contains) + others
    case .query(let answer):
      keys = (answer as? PlainAnswer).map { $0.found(StoreWindow()).map(\.key) } ?? []
    }
    return Set(keys).sorted().compactMap { key in table[key].map { (key, $0) } }
  }

  private func fetched(_ keys: some Sequence<ObjectKey>, of entity: EntityPlan) -> [FetchedKey] {
    let table = session.working.tables[entity.root] ?? [:]
    return Set(keys).sorted().compactMap { key in
      table[key].map { FetchedKey(key: key, entity: $0.entity) }
    }
  }

  /// A plain engine decides nothing but which entities are wanted.
  func selection(of query: StoreQuery) throws -> (rows: RowSelection, readRoots: Set<Int>)? {
    query.predicate == nil ? (.query(try session.prepare(query)), []) : nil
  }

  func keys(_ keys: [ObjectKey], of entity: EntityPlan) throws -> [FetchedKey] { fetched(keys, of: entity) }

  func related(_ relationship: RelationshipPlan, of keys: [ObjectKey]) throws -> [FetchedKey] {
    let destination = model.entities[relationship.destination]
    switch relationship.storage {
    case .reference(let column):
      guard let owner = model.entity(relationship.owner) else { return [] }
      return fetched(
        try references(owner.columns[column].name, of: owner, keys).values.filter { $0 != 0 }, of: destination
      )
    case .inverseReference, .referencesOfOthers:
      guard let column = model.inverseReferenceColumn(of: relationship) else { return [] }
      let wanted = Set(keys)
      return fetched(
        (session.working.tables[destination.root] ?? [:]).filter {
          wanted.contains(session.reference(column.name, in: $0.value))
        }.keys, of: destination)
    case .join(let place, let isSource):
      let wanted = Set(keys)
      return fetched(
        (session.working.joins[place] ?? [:]).keys.filter {
          wanted.contains(isSource ? $0.source : $0.target)
        }.map { isSource ? $0.target : $0.source }, of: destination)
    }
  }

  func owners(of relationship: RelationshipPlan, to keys: [ObjectKey]) throws -> [FetchedKey] {
    guard let owner = model.entity(relationship.owner) else { return [] }
    let wanted = Set(keys)
    switch relationship.storage {
    case .reference(let column):
      return fetched(
        (session.working.tables[owner.root] ?? [:]).filter {
          wanted.contains(session.reference(owner.columns[column].name, in: $0.value))
        }.keys, of: owner)
    case .inverseReference, .referencesOfOthers:
      guard let column = model.inverseReferenceColumn(of: relationship) else { return [] }
      let destination = model.entities[relationship.destination]
      return fetched(
        try references(column.name, of: destination, keys).values.filter { $0 != 0 }, of: owner)
    case .join(let place, let isSource):
      return fetched(
        (session.working.joins[place] ?? [:]).keys.filter {
          wanted.contains(isSource ? $0.target : $0.source)
        }.map { isSource ? $0.source : $0.target }, of: owner)
    }
  }

  func targets(of column: ColumnPlan, of entity: EntityPlan, _ rows: RowSelection) throws -> [ObjectKey] {
    Set(self.rows(rows, of: entity).map { session.reference(column.name, in: $0.row) }).filter { $0 != 0 }
      .sorted()
  }

  func references(
    _ column: String, of entity: EntityPlan, _ keys: [ObjectKey]
  ) throws -> [ObjectKey: ObjectKey] {
    var result: [ObjectKey: ObjectKey] = [:]
    for (key, row) in rows(.keys(keys), of: entity) { result[key] = session.reference(column, in: row) }
    return result
  }

  func ownersWithWrongCount(
    _ relationship: RelationshipPlan, of keys: [ObjectKey], _ range: ClosedRange<Int>, most: Int
  ) throws -> [(key: ObjectKey, count: Int)] {
    if case .reference = relationship.storage { return [] }
    guard let owner = model.entity(relationship.owner) else { return [] }
    var result: [(key: ObjectKey, count: Int)] = []
    for (key, _) in rows(.keys(keys), of: owner) where result.count < most {
      let count = try session.relatedKeys(of: relationship, of: key).count
      if !range.contains(count) { result.append((key, count)) }
    }
    return result
  }

  func search(_ list: UniqueList, of entity: EntityPlan) throws -> any RowSearch {
    PlainSearch(write, list, entity)
  }

  // MARK: Changing rows

  func calculation(
    _ expression: ValueExpression, on entity: EntityPlan, as type: StorageType, isMandatory: Bool, now: Date
  ) throws -> Calculation { .evaluator }

  /// Puts a value into a column, which may be one of positions.
  private func set(_ column: String, _ value: AttributeValue, in row: inout PlainState.Row) {
    if let place = model.entities[row.entity].columns.firstIndex(where: { $0.name == column }) {
      row.values[place] = value
    } else if case .int(let position) = value {
      row.positions[column] = position
    } else {
      row.positions[column] = nil
    }
  }

  private func set(
    _ values: [(column: String, value: AttributeValue)], in entity: EntityPlan, _ key: ObjectKey,
    raisingVersion: Bool = true
  ) throws {
    guard var row = session.working.row(key, of: entity.root) else { return }
    for (column, value) in values { set(column, value, in: &row) }
    if raisingVersion { row.version = (row.version + 1) & 0xFFFF_FFFF }
    if let properties = write.refusal(of: row, key) { throw UniquenessViolation(properties: properties) }
    write.put(row, key, entity.root)
  }

  func update(
    _ entity: EntityPlan, _ assignments: [(column: String, source: ColumnSource)], _ rows: RowSelection
  ) throws -> [Int: KeyRanges] {
    let values = assignments.compactMap { column, source -> (column: String, value: AttributeValue)? in
      if case .value(let value) = source { (column, value) } else { nil }
    }
    let found = self.rows(rows, of: entity)
    for (key, _) in found { try set(values, in: entity, key) }
    return KeyRanges.byEntity(found.map { FetchedKey(key: $0.key, entity: $0.row.entity) })
  }

  func update(
    _ entity: EntityPlan, calculated: [(column: String, source: ColumnSource)], _ columns: [String],
    _ rows: [(key: ObjectKey, values: [AttributeValue])]
  ) throws {
    for row in rows {
      try set(zip(columns, row.values).map { (column: $0, value: $1) }, in: entity, row.key)
    }
  }

  func setValues(
    _ values: [(column: String, value: AttributeValue)], of entity: EntityPlan, _ key: ObjectKey,
    raisingVersion: Bool
  ) throws {
    try set(values, in: entity, key, raisingVersion: raisingVersion)
  }

  func delete(_ entity: EntityPlan, _ rows: RowSelection) throws -> [Int: KeyRanges] {
    let found = self.rows(rows, of: entity)
    for (key, row) in found { _ = try write.delete(entity, key, version: row.version) }
    return KeyRanges.byEntity(found.map { FetchedKey(key: $0.key, entity: $0.row.entity) })
  }

  func deletePairs(ofJoin place: Int, isSource: Bool, _ keys: [ObjectKey]) throws {
    let gone = Set(keys)
    for pair in (session.working.joins[place] ?? [:]).keys
    where gone.contains(isSource ? pair.source : pair.target) {
      session.working.joins[place]?[pair] = nil
    }
  }

  func appendPositions(
    _ relationship: RelationshipPlan, _ entity: EntityPlan, _ rows: RowSelection, moved: [ObjectKey],
    gap: Int64
  ) throws {
    guard let name = model.positionColumn(of: relationship),
      let column = model.inverseReferenceColumn(of: relationship)
    else { return }
    for key in moved { session.working.tables[entity.root]?[key]?.positions[name] = nil }
    for (key, row) in self.rows(rows, of: entity) where row.positions[name] == nil {
      let owner = session.reference(column.name, in: row)
      guard owner != 0 else { continue }
      let last = try write.lastPosition(relationship, of: owner)
      session.working.tables[entity.root]?[key]?.positions[name] = last + gap
    }
  }

  // MARK: Inserting rows

  func firstKey(of entity: EntityPlan) throws -> ObjectKey {
    guard session.stores.store(of: entity) != nil else { throw StoreError.noStore(entity: entity.name) }
    return write.nextKey(of: entity.root)
  }

  func reserve(upTo key: ObjectKey, of entity: EntityPlan) throws {
    write.reserve(upTo: key, of: entity.root)
  }

  func insertion(_ plan: InsertionPlan) throws -> any RowInsertion { PlainInsertion(write, plan) }

  // MARK: Files of large values, of which a plain engine has none

  func listFiles(_ columns: [String], of entity: EntityPlan, _ rows: RowSelection, at time: Date) throws {}
  func files(_ column: String, of entity: EntityPlan, _ keys: [ObjectKey]) throws -> [ObjectKey: String] {
    [:]
  }
  func listFile(
    _ name: String, unlessIn column: String, of entity: EntityPlan, _ key: ObjectKey, at time: Date
  ) throws {}
}

private final class PlainSearch: RowSearch {
  private let write: PlainWriteSession
  private let list: UniqueList
  private let entity: EntityPlan

  init(_ write: PlainWriteSession, _ list: UniqueList, _ entity: EntityPlan) {
    self.write = write
    self.list = list
    self.entity = entity
  }

  func find(_ values: [AttributeValue]) throws -> FetchedKey? {
    write.row(of: list, entity, values)
  }
}

private final class PlainInsertion: RowInsertion {
  private let write: PlainWriteSession
  private let plan: InsertionPlan
  private var writer: RowWriter?

  init(_ write: PlainWriteSession, _ plan: InsertionPlan) {
    self.write = write
    self.plan = plan
  }

  func start(_ writer: RowWriter) {
    self.writer = writer
    writer.startCapture()
  }

  func write(_ key: ObjectKey) throws -> RowInsertionOutcome {
    let entity = plan.entity
    var given: [String: AttributeValue] = [:]
    for (column, value) in zip(plan.columns, writer?.values ?? []) { given[column] = value }
    var row = PlainState.Row(
      entity: entity.index, version: 1, values: entity.columns.map { given[$0.name] ?? .null })
    for (column, value) in plan.defaults {
      guard let place = entity.columns.firstIndex(where: { $0.name == column }) else { continue }
      row.values[place] = value ?? .uuid(UUID())
    }
    for list in plan.lists {
      let values = list.columns.map { name in
        entity.columns.firstIndex { $0.name == name }.map { row.values[$0] } ?? .null
      }
      guard let existing = write.row(of: list, entity, values) else { continue }
      switch plan.conflict {
      case .refuse: throw UniquenessViolation(properties: list.properties)
      case .keep: return .skipped
      case .update(let columns):
        guard !columns.isEmpty else { return .skipped }
        _ = try write.batch.update(
          entity, columns.map { ($0, .value(given[$0] ?? .null)) }, .keys([existing.key]))
        return .written(existing.key)
      }
    }
    if let properties = write.refusal(of: row, key) { throw UniquenessViolation(properties: properties) }
    write.put(row, key, entity.root)
    return .written(key)
  }
}
