import CDModel
@_spi(Generated) import CDRuntime

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The operations of a batch as SQL statements, each of which processes many rows.
final class PostgresBatchSession: StoreBatchSession {
  private let write: PostgresWriteSession
  private var session: PostgresSession { write.session }
  private var model: ModelPlan { session.model }
  private var dialect: any SQLDialect { session.dialect }
  private var stores: StoreSet { session.stores }

  init(_ write: PostgresWriteSession) { self.write = write }

  // MARK: Statements

  private func table(_ entity: EntityPlan) -> String { dialect.table(entity.table) }

  private func join(_ index: Int) -> String { dialect.table(model.joins[index].table) }

  /// Runs a statement that changes rows, and converts the errors of constraints.
  @discardableResult
  private func change(_ text: String, _ parameters: [PostgresParameter]) throws -> PostgresResult {
    try write.flush()
    write.noteRowsWritten()
    do {
      guard
        let result = try write.transaction.runInSavepoint([PostgresStatement(text, parameters)]).last
      else { throw PostgresFailure.lost("the server did not answer") }
      return result
    } catch let failure as PostgresFailure {
      throw Self.converted(failure, write)
    }
  }

  static func converted(_ failure: PostgresFailure, _ write: PostgresWriteSession) -> any Error {
    if failure.isUniquenessViolation {
      return UniquenessViolation(properties: write.refusedProperties(failure))
    }
    if failure.isReferenceViolation { return ReferenceViolation() }
    return failure.error(of: write.urls, during: "writing")
  }

  /// The condition for a selection of rows of an entity's table, whose alias is `t0`.
  private func condition(_ rows: RowSelection) -> (text: String, parameters: [PostgresParameter]) {
    switch rows {
    case .keys(let keys): return ("t0._pk = ANY(?)", [.keys(keys)])
    case .range(let keys, let others):
      let range = "(t0._pk >= \(keys.lowerBound) AND t0._pk < \(keys.upperBound))"
      return others.isEmpty ? (range, []) : ("(\(range) OR t0._pk = ANY(?))", [.keys(others)])
    case .query(let answer):
      // A selection of this engine contains only this engine's queries.
      guard let query = answer as? PostgresQuery else { return ("FALSE", []) }
      return (
        query.compiled.restriction() ?? "TRUE", query.compiled.bindings.map { .value($0) }
      )
    }
  }

  /// Returns `_pk`, and `_entity` if the table contains several entities.
  private static func keyColumns(of entity: EntityPlan, alias: String = "t0.") -> String {
    alias + "_pk" + (entity.hasEntityColumn ? ", \(alias)_entity" : "")
  }

  /// The first column of a result as keys, with the entity of each row.
  ///
  /// - Parameter entity: The entity of the rows, if the result has no second column with the entity's name.
  private func keys(_ result: PostgresResult, of entity: EntityPlan) -> [FetchedKey] {
    var found = FetchedKeyList(of: entity, in: model, isMixed: result.columnCount > 1)
    for row in 0..<result.rowCount { _ = found.add(result.int(row, 0), entityName: result.string(row, 1)) }
    return found.keys
  }

  // MARK: Finding rows

  func selection(of query: StoreQuery) throws -> (rows: RowSelection, readRoots: Set<Int>)? {
    let query = try session.compile(query)
    let condition = query.compiled.condition
    guard condition.map({ $0.isExact && !$0.mayFail }) ?? true,
      // The server refuses such a constant. Without a selection, the evaluator decides, as it does for a fetch.
      query.compiled.bindings.allSatisfy(PostgresWriteSession.isStorable)
    else { return nil }
    return (.query(query), condition?.readRoots ?? [])
  }

  func keys(_ keys: [ObjectKey], of entity: EntityPlan) throws -> [FetchedKey] {
    let result = try session.run(
      "SELECT \(Self.keyColumns(of: entity)) FROM \(table(entity)) AS t0 WHERE t0._pk = ANY(?) ORDER BY t0._pk",
      [.keys(keys)])
    return self.keys(result, of: entity)
  }

  func related(_ relationship: RelationshipPlan, of keys: [ObjectKey]) throws -> [FetchedKey] {
    let destination = model.entities[relationship.destination]
    let condition: String
    switch relationship.storage {
    case .reference(let column):
      guard let owner = model.entity(relationship.owner) else { return [] }
      let name = SQLText.quoted(owner.columns[column].name)
      condition = "t0._pk IN (SELECT \(name) FROM \(table(owner)) AS o WHERE _pk = ANY(?))"
    case .inverseReference, .referencesOfOthers:
      guard let column = model.inverseReferenceColumn(of: relationship) else { return [] }
      condition = "t0.\(SQLText.quoted(column.name)) = ANY(?)"
    case .join(let index, let isSource):
      let (own, other) = isSource ? ("_source", "_target") : ("_target", "_source")
      condition = "t0._pk IN (SELECT \(other) FROM \(join(index)) AS j WHERE \(own) = ANY(?))"
    }
    return try found(destination, condition, keys)
  }

  func owners(of relationship: RelationshipPlan, to keys: [ObjectKey]) throws -> [FetchedKey] {
    guard let owner = model.entity(relationship.owner) else { return [] }
    let condition: String
    switch relationship.storage {
    case .reference(let column):
      condition = "t0.\(SQLText.quoted(owner.columns[column].name)) = ANY(?)"
    case .inverseReference, .referencesOfOthers:
      guard let column = model.inverseReferenceColumn(of: relationship) else { return [] }
      let destination = table(model.entities[relationship.destination])
      condition =
        "t0._pk IN (SELECT \(SQLText.quoted(column.name)) FROM \(destination) AS o WHERE _pk = ANY(?))"
    case .join(let index, let isSource):
      let (own, other) = isSource ? ("_source", "_target") : ("_target", "_source")
      condition = "t0._pk IN (SELECT \(own) FROM \(join(index)) AS j WHERE \(other) = ANY(?))"
    }
    return try found(owner, condition, keys)
  }

  private func found(
    _ entity: EntityPlan, _ condition: String, _ keys: [ObjectKey]
  ) throws -> [FetchedKey] {
    let result = try session.run(
      "SELECT \(Self.keyColumns(of: entity)) FROM \(table(entity)) AS t0 WHERE \(condition) ORDER BY t0._pk",
      [.keys(keys)])
    return self.keys(result, of: entity)
  }

  func targets(of column: ColumnPlan, of entity: EntityPlan, _ rows: RowSelection) throws -> [ObjectKey] {
    let name = SQLText.quoted(column.name)
    let condition = condition(rows)
    let result = try session.run(
      "SELECT DISTINCT t0.\(name) FROM \(table(entity)) AS t0 "
        + "WHERE t0.\(name) IS NOT NULL AND \(condition.text) ORDER BY 1", condition.parameters)
    return (0..<result.rowCount).map { result.int($0, 0) }
  }

  func references(
    _ column: String, of entity: EntityPlan, _ keys: [ObjectKey]
  ) throws -> [ObjectKey: ObjectKey] {
    let found = try session.run(
      "SELECT _pk, \(SQLText.quoted(column)) FROM \(table(entity)) AS t0 WHERE _pk = ANY(?)", [.keys(keys)])
    var result: [ObjectKey: ObjectKey] = [:]
    for row in 0..<found.rowCount { result[found.int(row, 0)] = found.int(row, 1) }
    return result
  }

  func ownersWithWrongCount(
    _ relationship: RelationshipPlan, of keys: [ObjectKey], _ range: ClosedRange<Int>, most: Int
  ) throws -> [(key: ObjectKey, count: Int)] {
    guard let owner = model.entity(relationship.owner) else { return [] }
    let count: String
    switch relationship.storage {
    case .reference: return []
    case .inverseReference, .referencesOfOthers:
      guard let column = model.inverseReferenceColumn(of: relationship) else { return [] }
      let destination = table(model.entities[relationship.destination])
      count = "SELECT count(*) FROM \(destination) AS o WHERE o.\(SQLText.quoted(column.name)) = t0._pk"
    case .join(let index, let isSource):
      count = "SELECT count(*) FROM \(join(index)) AS o WHERE o.\(isSource ? "_source" : "_target") = t0._pk"
    }
    let found = try session.run(
      "SELECT k, n FROM (SELECT t0._pk AS k, (\(count)) AS n FROM \(table(owner)) AS t0 "
        + "WHERE t0._pk = ANY(?)) AS c WHERE NOT n BETWEEN ? AND ? ORDER BY k LIMIT \(most)",
      [.keys(keys), .value(.int(Int64(range.lowerBound))), .value(.int(Int64(range.upperBound)))])
    return (0..<found.rowCount).map { (found.int($0, 0), Int(found.int($0, 1))) }
  }

  func search(_ list: UniqueList, of entity: EntityPlan) throws -> any RowSearch {
    let types = list.columns.map { name in
      entity.columns.first { $0.name == name }.map { PostgresType($0.storageType) } ?? .text
    }
    let names = list.columns.map { "t0." + SQLText.quoted($0) }
    let part = model.isPart(list.owner, "t0.")
    let arrays = types.map { "CAST(? AS \($0.name)[])" }.joined(separator: ", ")
    let columns = names.indices.map { "c\($0)" }
    let conditions = zip(names, columns).map { "\($0) = v.\($1)" } + part
    return PostgresRowSearch(
      session, entity, types: types,
      text: "SELECT \(Self.keyColumns(of: entity)) FROM \(table(entity)) AS t0 WHERE "
        + (names.map { $0 + " = ?" } + part).joined(separator: " AND "),
      textOfMany: "SELECT v.n, \(Self.keyColumns(of: entity)) FROM unnest(\(arrays)) WITH ORDINALITY "
        + "AS v(\(columns.joined(separator: ", ")), n) JOIN \(table(entity)) AS t0 "
        + "ON \(conditions.joined(separator: " AND "))")
  }

  // MARK: Changing rows

  func calculation(
    _ expression: ValueExpression, on entity: EntityPlan, as type: StorageType, isMandatory: Bool, now: Date
  ) throws -> Calculation {
    var compiler = SQLCompiler(
      entity: entity, model: model, variables: [:], now: now, key: session.keyLookup, dialect: dialect)
    switch try compiler.operand(expression) {
    case .constant(let value): return .constant(value)
    case .value(let value)
    where !compiler.mayFail && (!value.isNullable || !isMandatory) && Self.holds(type, value.kind)
      // A row of the same table could already have its new value when the calculation reads it.
      && !compiler.readRoots.contains(entity.root):
      return .store(
        PostgresCalculation(
          sql: type == .bool ? "(\(value.sql)) <> 0" : "CAST(\(value.sql) AS \(raw: PostgresType(type).name))"
        ))
    case .value, .collection, nil: return .evaluator
    }
  }

  /// Whether a column of a type can hold every value that SQL calculates.
  private static func holds(_ type: StorageType, _ kind: SQLValue.Kind) -> Bool {
    if case .int(let range) = kind {
      if type == .bool { return range == 0...1 }
      return type.integerRange.map { $0.lowerBound <= range.lowerBound && range.upperBound <= $0.upperBound }
        ?? false
    }
    return kind != .opaque && kind == SQLValue.Kind(type)
  }

  private func type(ofColumn name: String, of entity: EntityPlan) -> PostgresType {
    for kind in model.entities[entity.root].subtree.map({ model.entities[$0] }) {
      if let column = kind.columns.first(where: { $0.name == name }) {
        return PostgresType(column.storageType)
      }
    }
    // A position.
    return .int64
  }

  private func texts(
    _ assignments: [(column: String, source: ColumnSource)], _ entity: EntityPlan
  ) throws -> (texts: [String], parameters: [PostgresParameter]) {
    var texts: [String] = []
    var parameters: [PostgresParameter] = []
    for (column, source) in assignments {
      switch source {
      case .value(let value):
        write.noteReferences([value], in: [column], of: entity)
        texts.append(SQLText.quoted(column) + " = ?")
        parameters.append(.typed(try write.storable(value), type(ofColumn: column, of: entity)))
      case .calculation(let calculation):
        guard let sql = (calculation as? PostgresCalculation)?.sql else { continue }
        texts.append("\(SQLText.quoted(column)) = \(sql.text)")
        parameters += sql.bindings.map { .value($0) }
      }
    }
    return (texts, parameters)
  }

  func update(
    _ entity: EntityPlan, _ assignments: [(column: String, source: ColumnSource)], _ rows: RowSelection
  ) throws -> [Int: KeyRanges] {
    let (texts, parameters) = try texts(assignments, entity)
    let condition = condition(rows)
    let result = try change(
      "UPDATE \(table(entity)) AS t0 SET "
        + (texts + [RowStatements.nextVersion]).joined(separator: ", ")
        + " WHERE \(condition.text) RETURNING \(Self.keyColumns(of: entity))",
      parameters + condition.parameters)
    return changedKeys(result, entity)
  }

  private func changedKeys(_ result: PostgresResult, _ entity: EntityPlan) -> [Int: KeyRanges] {
    KeyRanges.byEntity(keys(result, of: entity).sorted { $0.key < $1.key })
  }

  func update(
    _ entity: EntityPlan, calculated: [(column: String, source: ColumnSource)], _ columns: [String],
    _ rows: [(key: ObjectKey, values: [AttributeValue])]
  ) throws {
    if rows.isEmpty { return }
    let (texts, parameters) = try texts(calculated, entity)
    let types = columns.map { type(ofColumn: $0, of: entity) }
    let arrays = ["CAST(? AS bigint[])"] + types.map { "CAST(? AS \($0.name)[])" }
    let names = ["k"] + columns.indices.map { "c\($0)" }
    let assignments = columns.enumerated().map { "\(SQLText.quoted($0.element)) = v.c\($0.offset)" }
    for row in rows {
      for value in row.values { _ = try write.storable(value) }
      write.noteReferences(row.values, in: columns, of: entity)
    }
    let text =
      "UPDATE \(table(entity)) AS t0 SET "
      + (texts + assignments + [RowStatements.nextVersion]).joined(separator: ", ")
      + " FROM unnest(\(arrays.joined(separator: ", "))) AS v(\(names.joined(separator: ", "))) "
      + "WHERE t0._pk = v.k"
    for part in Self.parts(rows.map(\.values)) {
      let values = types.enumerated().map { column, type in
        PostgresParameter.array(rows[part].map { $0.values[column] }, type)
      }
      try change(text, parameters + [.keys(rows[part].map(\.key))] + values)
    }
  }

  /// The ranges of rows that are sent together. A server accepts no message of more than a gigabyte.
  static func parts(_ rows: [[AttributeValue]]) -> [Range<Int>] {
    var parts: [Range<Int>] = []
    var (start, size) = (0, 0)
    for (index, row) in rows.enumerated() {
      size += row.reduce(0) { $0 + $1.size }
      if index + 1 - start >= InsertedColumns.mostRows || size >= InsertedColumns.mostBytes {
        parts.append(start..<index + 1)
        (start, size) = (index + 1, 0)
      }
    }
    if start < rows.count { parts.append(start..<rows.count) }
    return parts
  }

  func setValues(
    _ values: [(column: String, value: AttributeValue)], of entity: EntityPlan, _ key: ObjectKey,
    raisingVersion: Bool
  ) throws {
    let assignments =
      values.map { SQLText.quoted($0.column) + " = ?" } + (raisingVersion ? [RowStatements.nextVersion] : [])
    if assignments.isEmpty { return }
    var parameters: [PostgresParameter] = []
    for (column, value) in values {
      parameters.append(.typed(try write.storable(value), type(ofColumn: column, of: entity)))
    }
    try change(
      "UPDATE \(table(entity)) AS t0 SET \(assignments.joined(separator: ", ")) WHERE _pk = ?",
      parameters + [.value(.int(key))])
  }

  func delete(_ entity: EntityPlan, _ rows: RowSelection) throws -> [Int: KeyRanges] {
    let condition = condition(rows)
    let result = try change(
      "DELETE FROM \(table(entity)) AS t0 WHERE \(condition.text) RETURNING \(Self.keyColumns(of: entity))",
      condition.parameters)
    let deleted = changedKeys(result, entity)
    let keys = deleted.values.flatMap { $0.ranges.flatMap { Array($0) } }
    for statement in write.cleared(keys, of: entity) { try change(statement.text, statement.parameters) }
    return deleted
  }

  func deletePairs(ofJoin index: Int, isSource: Bool, _ keys: [ObjectKey]) throws {
    try change("DELETE FROM \(join(index)) WHERE \(isSource ? "_source" : "_target") = ANY(?)", [.keys(keys)])
  }

  func appendPositions(
    _ relationship: RelationshipPlan, _ entity: EntityPlan, _ rows: RowSelection, moved: [ObjectKey],
    gap: Int64
  ) throws {
    guard let name = model.positionColumn(of: relationship),
      let column = model.inverseReferenceColumn(of: relationship)
    else { return }
    let table = table(entity)
    let (reference, position) = (SQLText.quoted(column.name), SQLText.quoted(name))
    if !moved.isEmpty {
      try change("UPDATE \(table) SET \(position) = NULL WHERE _pk = ANY(?)", [.keys(moved)])
    }
    let condition = condition(rows)
    try change(
      "UPDATE \(table) AS u SET \(position) = n.last + n.place * \(gap) FROM ("
        + "SELECT t0._pk AS key, row_number() OVER (PARTITION BY t0.\(reference) ORDER BY t0._pk) AS place, "
        + "(SELECT coalesce(max(o.\(position)), 0) FROM \(table) AS o WHERE o.\(reference) = t0.\(reference)) AS last "
        + "FROM \(table) AS t0 "
        + "WHERE t0.\(reference) IS NOT NULL AND t0.\(position) IS NULL AND \(condition.text)) AS n "
        + "WHERE u._pk = n.key", condition.parameters)
  }

  // MARK: Inserting rows

  func firstKey(of entity: EntityPlan) throws -> ObjectKey {
    guard let store = stores.store(of: entity) else { throw StoreError.noStore(entity: entity.name) }
    let root = model.entities[entity.root].name
    let counter = session.systemTable("_cdgen_keys", of: store)
    // The lock holds until the end of the transaction, so that nobody else reserves the same keys.
    let results = try write.run([
      PostgresStatement(
        #"INSERT INTO \#(counter) ("entity", "next") VALUES (?, 1) ON CONFLICT DO NOTHING"#,
        [.value(.string(root))]),
      PostgresStatement(
        #"SELECT "next", (SELECT coalesce(max(_pk), 0) FROM \#(table(entity)) AS t) FROM \#(counter) "#
          + #"WHERE "entity" = ? FOR UPDATE"#, [.value(.string(root))]),
    ])
    let next = results.last?.int(0, 0) ?? 0
    guard next > 0, next > results.last?.int(0, 1) ?? .max, next <= KeyRanges.largestKey else {
      throw StoreError.damagedKeys(store.url, entity: root)
    }
    return next
  }

  func reserve(upTo key: ObjectKey, of entity: EntityPlan) throws {
    guard let store = stores.store(of: entity) else { return }
    try write.run(
      #"INSERT INTO \#(session.systemTable("_cdgen_keys", of: store)) ("entity", "next") VALUES (?, ?) "#
        + #"ON CONFLICT ("entity") DO UPDATE SET "next" = excluded."next""#,
      [.value(.string(model.entities[entity.root].name)), .value(.int(key))])
  }

  func insertion(_ plan: InsertionPlan) throws -> any RowInsertion {
    let entity = plan.entity
    let names = plan.columns + plan.defaults.map(\.column)
    let defaults = try plan.defaults.map { name, value in try value.map { try write.storable($0) } }
    let target = InsertedColumns(
      table: table(entity), entity: entity, names: names, types: names.map { type(ofColumn: $0, of: entity) })
    let conflicts = conflicts(plan, names)
    if conflicts.isEmpty { return PostgresSetInsertion(write, target, defaults) }
    let single = PostgresRowInsertion(write, target, defaults, conflicts)
    // If rows of several lists can be in conflict, it depends on their order which row is updated.
    guard conflicts.count == 1, plan.lists.count == 1, let set = upsertedRows(plan, target) else {
      return single
    }
    return PostgresSetUpsert(write, target, defaults, set, single)
  }

  /// The statements on many rows of which one `unique:` list may refuse some; nil if it cannot refuse any.
  private func upsertedRows(_ plan: InsertionPlan, _ target: InsertedColumns) -> UpsertedRows? {
    guard let list = plan.lists.first else { return nil }
    let unique = list.columns.compactMap { target.names.firstIndex(of: $0) }
    guard unique.count == list.columns.count else { return nil }
    let table = table(plan.entity)
    let arrays = unique.map { "CAST(? AS \(target.types[$0].name)[])" }
    let columns = unique.indices.map { "c\($0)" }
    let conditions =
      zip(list.columns, columns).map { "t0.\(SQLText.quoted($0)) = v.\($1)" }
      + model.isPart(list.owner, "t0.")
    let search =
      "SELECT v.n, t0._pk FROM unnest(\(arrays.joined(separator: ", "))) WITH ORDINALITY "
      + "AS v(\(columns.joined(separator: ", ")), n) JOIN \(table) AS t0 "
      + "ON \(conditions.joined(separator: " AND ")) ORDER BY t0._pk"
    guard case .update(let names) = plan.conflict, !names.isEmpty else {
      return UpsertedRows(unique: unique, search: search, update: nil, updated: [])
    }
    let updated = names.compactMap { target.names.firstIndex(of: $0) }
    let values = ["CAST(? AS bigint[])"] + updated.map { "CAST(? AS \(target.types[$0].name)[])" }
    let assignments =
      updated.enumerated().map { "\(SQLText.quoted(target.names[$0.element])) = v.c\($0.offset)" }
      + [RowStatements.nextVersion]
    return UpsertedRows(
      unique: unique, search: search + " FOR UPDATE OF t0",
      update: "UPDATE \(table) AS t0 SET \(assignments.joined(separator: ", ")) "
        + "FROM unnest(\(values.joined(separator: ", "))) AS v(k, "
        + updated.indices.map { "c\($0)" }.joined(separator: ", ") + ") WHERE t0._pk = v.k",
      updated: updated)
  }

  /// What happens to a row that the index of a `unique:` list refuses, by the name of the index.
  ///
  /// - Parameter names: The columns of the rows, with those that have defaults.
  private func conflicts(_ plan: InsertionPlan, _ names: [String]) -> [String: PostgresRowInsertion.Conflict]
  {
    var result: [String: PostgresRowInsertion.Conflict] = [:]
    for list in plan.lists {
      let index = PostgresTables.name("\(list.owner.name).unique.\(list.properties.joined(separator: "."))")
      switch plan.conflict {
      case .refuse: continue
      case .update(let columns) where !columns.isEmpty:
        let updated = columns.compactMap { names.firstIndex(of: $0) }
        let unique = list.columns.compactMap { names.firstIndex(of: $0) }
        // A column without a value is nil, and so the row is equal to no other one.
        guard unique.count == list.columns.count else { continue }
        let assignments = columns.map { SQLText.quoted($0) + " = ?" } + [RowStatements.nextVersion]
        let conditions =
          list.columns.map { "t0." + SQLText.quoted($0) + " = ?" } + model.isPart(list.owner, "t0.")
        result[index] = .update(
          text: "UPDATE \(table(plan.entity)) AS t0 SET \(assignments.joined(separator: ", ")) "
            + "WHERE \(conditions.joined(separator: " AND ")) RETURNING t0._pk", columns: updated + unique)
      case .keep, .update: result[index] = .skip
      }
    }
    return result
  }

  // MARK: Files of large values, which a server does not have

  func listFiles(_ columns: [String], of entity: EntityPlan, _ rows: RowSelection, at time: Date) throws {}

  func files(_ column: String, of entity: EntityPlan, _ keys: [ObjectKey]) throws -> [ObjectKey: String] {
    [:]
  }

  func listFile(
    _ name: String, unlessIn column: String, of entity: EntityPlan, _ key: ObjectKey, at time: Date
  ) throws {}
}

/// A calculation as an expression of SQL.
private struct PostgresCalculation: StoreCalculation {
  let sql: SQLText
}

private final class PostgresRowSearch: RowSearch {
  private let session: PostgresSession
  private let entity: EntityPlan
  private let types: [PostgresType]
  private let text: String
  /// Finds the rows for many lists of values. The first column is the number of the list, from 1.
  private let textOfMany: String

  init(
    _ session: PostgresSession, _ entity: EntityPlan, types: [PostgresType], text: String, textOfMany: String
  ) {
    self.session = session
    self.entity = entity
    self.types = types
    self.text = text
    self.textOfMany = textOfMany
  }

  func find(_ list: [[AttributeValue]]) throws -> [FetchedKey?] {
    guard list.count > 1 else { return try list.map(find) }
    var found = [FetchedKey?](repeating: nil, count: list.count)
    let result = try session.run(
      textOfMany,
      types.enumerated().map { column, type in .array(list.map { $0[column] }, type) })
    for row in 0..<result.rowCount {
      let index = Int(result.int(row, 0)) - 1
      guard found.indices.contains(index) else { continue }
      let kind =
        result.columnCount > 2
        ? result.string(row, 2).flatMap { session.model.entityIndices[$0] } : entity.index
      found[index] = kind.map { FetchedKey(key: result.int(row, 1), entity: $0) }
    }
    return found
  }

  func find(_ values: [AttributeValue]) throws -> FetchedKey? {
    let result = try session.run(text, zip(values, types).map { .typed($0, $1) })
    guard result.rowCount > 0 else { return nil }
    guard result.columnCount > 1 else { return FetchedKey(key: result.int(0, 0), entity: entity.index) }
    return result.string(0, 1).flatMap { session.model.entityIndices[$0] }
      .map { FetchedKey(key: result.int(0, 0), entity: $0) }
  }
}
