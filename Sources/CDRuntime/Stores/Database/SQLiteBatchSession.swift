import CDModel
import CSQLite

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The operations of a batch as SQL statements, each of which processes many rows.
final class SQLiteBatchSession: StoreBatchSession {
  private let session: SQLiteSession
  private var connection: SQLiteConnection { session.connection }
  private var model: ModelPlan { session.model }
  private var stores: SQLiteStoreSet { session.attached }

  init(_ session: SQLiteSession) { self.session = session }

  // MARK: Statements

  /// Runs an operation that changes rows, and converts the errors of constraints.
  private func changing<R>(_ entity: EntityPlan, _ body: () throws -> R) throws -> R {
    do {
      return try body()
    } catch let error as StoreError where error.isUniquenessViolation {
      throw UniquenessViolation(properties: error.refusedProperties(of: entity))
    } catch let error as StoreError where error.isReferenceViolation {
      throw ReferenceViolation()
    }
  }

  private func execute(_ sql: String, _ bindings: [AttributeValue] = []) throws {
    let statement = try connection.statement(sql)
    statement.bind(bindings)
    try statement.run()
  }

  /// Returns the condition for a selection of rows of an entity's table, whose alias is `t0`.
  private func condition(_ rows: RowSelection) -> SQLText {
    switch rows {
    case .keys(let keys): SQLText(text: "t0._pk IN \(SQLite.boundKeys)", bindings: [SQLite.list(keys)])
    case .range(let keys, let others):
      others.isEmpty
        ? SQLText(text: Self.text(keys))
        : SQLText(
          text: "(\(Self.text(keys)) OR t0._pk IN \(SQLite.boundKeys))", bindings: [SQLite.list(others)])
    case .query(let answer):
      if let query = answer as? SQLiteQuery {
        SQLText(
          text: query.compiled.restriction() ?? "1", bindings: query.compiled.bindings)
      } else {
        // A selection of this engine contains only this engine's queries.
        "0"
      }
    }
  }

  @_optimize(none)
  private static func text(_ keys: Range<ObjectKey>) -> String {
    "(t0._pk >= \(keys.lowerBound) AND t0._pk < \(keys.upperBound))"
  }

  /// Returns `_pk`, and `_entity` if the table contains several entities.
  @_optimize(none)
  private static func keyColumns(of entity: EntityPlan) -> String {
    "_pk" + (entity.hasEntityColumn ? ", _entity" : "")
  }

  /// Runs a statement and returns the first column of its rows as keys, with the entity of each row.
  ///
  /// - Parameter entity: The entity of the rows, if the statement has no second column with the entity's name.
  private func keys(
    _ sql: String, _ bindings: [AttributeValue] = [], of entity: EntityPlan
  ) throws -> [FetchedKey] {
    let statement = try connection.statement(sql)
    defer { statement.reset() }
    statement.bind(bindings)
    var found = FetchedKeyList(of: entity, in: model, isMixed: statement.columnCount > 1)
    while try statement.step() { _ = found.add(statement.int64(0), entityName: statement.string(1)) }
    return found.keys
  }

  // MARK: Finding rows

  func selection(of query: StoreQuery) throws -> (rows: RowSelection, readRoots: Set<Int>)? {
    let query = try session.compile(query)
    let condition = query.compiled.condition
    guard condition.map({ $0.isExact && !$0.mayFail }) ?? true else { return nil }
    return (.query(query), condition?.readRoots ?? [])
  }

  func keys(_ keys: [ObjectKey], of entity: EntityPlan) throws -> [FetchedKey] {
    try self.keys(
      "SELECT \(Self.keyColumns(of: entity)) FROM \(SQLText.quoted(entity.table)) WHERE _pk IN \(SQLite.boundKeys)",
      [SQLite.list(keys)], of: entity)
  }

  func related(_ relationship: RelationshipPlan, of keys: [ObjectKey]) throws -> [FetchedKey] {
    guard let sides = pairs(of: relationship) else { return [] }
    let destination = model.entities[relationship.destination]
    return try self.keys(of: destination, sides.table, sides.related, where: sides.owner, isIn: keys)
  }

  func owners(of relationship: RelationshipPlan, to keys: [ObjectKey]) throws -> [FetchedKey] {
    guard let owner = model.entity(relationship.owner), let sides = pairs(of: relationship) else { return [] }
    return try self.keys(of: owner, sides.table, sides.owner, where: sides.related, isIn: keys)
  }

  /// Returns the table that has the pairs of a relationship, and the columns with the owners and the related objects. If the
  /// rows of one side are themselves in the table, their column is `_pk`.
  private func pairs(of relationship: RelationshipPlan) -> (table: String, owner: String, related: String)? {
    switch relationship.storage {
    case .reference(let column):
      guard let owner = model.entity(relationship.owner) else { return nil }
      return (SQLText.quoted(owner.table), "_pk", SQLText.quoted(owner.columns[column].name))
    case .inverseReference, .referencesOfOthers:
      guard let column = model.inverseReferenceColumn(of: relationship) else { return nil }
      let table = SQLText.quoted(model.entities[relationship.destination].table)
      return (table, SQLText.quoted(column.name), "_pk")
    case .join(let index, let isSource):
      let table = SQLText.quoted(model.joins[index].table)
      return isSource ? (table, "_source", "_target") : (table, "_target", "_source")
    }
  }

  /// Returns the keys on one side of the pairs that have any of some keys on the other side.
  private func keys(
    of entity: EntityPlan, _ table: String, _ column: String, where other: String, isIn keys: [ObjectKey]
  ) throws -> [FetchedKey] {
    let condition = "\(other) IN \(SQLite.boundKeys)"
    return try self.keys(
      "SELECT \(Self.keyColumns(of: entity)) FROM \(SQLText.quoted(entity.table)) WHERE "
        + (column == "_pk" ? condition : "_pk IN (SELECT \(column) FROM \(table) WHERE \(condition))"),
      [SQLite.list(keys)], of: entity)
  }

  func targets(of column: ColumnPlan, of entity: EntityPlan, _ rows: RowSelection) throws -> [ObjectKey] {
    let name = SQLText.quoted(column.name)
    let condition = condition(rows)
    return try keys(
      "SELECT DISTINCT t0.\(name) FROM \(SQLText.quoted(entity.table)) AS t0 "
        + "WHERE t0.\(name) IS NOT NULL AND \(condition.text)", condition.bindings, of: entity
    ).map(\.key)
  }

  func references(
    _ column: String, of entity: EntityPlan, _ keys: [ObjectKey]
  ) throws -> [ObjectKey: ObjectKey] {
    let statement = try connection.statement(
      "SELECT _pk, \(SQLText.quoted(column)) FROM \(SQLText.quoted(entity.table)) WHERE _pk IN \(SQLite.boundKeys)"
    )
    defer { statement.reset() }
    statement.bind([SQLite.list(keys)])
    var result: [ObjectKey: ObjectKey] = [:]
    while try statement.step() { result[statement.int64(0)] = statement.int64(1) }
    return result
  }

  @_optimize(none)
  func ownersWithWrongCount(
    _ relationship: RelationshipPlan, of keys: [ObjectKey], _ range: ClosedRange<Int>, most: Int
  ) throws -> [(key: ObjectKey, count: Int)] {
    if case .reference = relationship.storage { return [] }
    guard let owner = model.entity(relationship.owner), let sides = pairs(of: relationship) else { return [] }
    let count = "SELECT count(*) FROM \(sides.table) AS o WHERE o.\(sides.owner) = t0._pk"
    let statement = try connection.statement(
      // No attribute can have the name `_count`. The name of an attribute would refer to its column instead.
      "SELECT t0._pk, (\(count)) AS _count FROM \(SQLText.quoted(owner.table)) AS t0 "
        + "WHERE t0._pk IN \(SQLite.boundKeys) AND NOT _count BETWEEN ? AND ? LIMIT \(most)")
    defer { statement.reset() }
    statement.bind([SQLite.list(keys), .int(Int64(range.lowerBound)), .int(Int64(range.upperBound))])
    var result: [(key: ObjectKey, count: Int)] = []
    while try statement.step() { result.append((statement.int64(0), Int(statement.int64(1)))) }
    return result
  }

  @_optimize(none)
  func search(_ list: UniqueList, of entity: EntityPlan) throws -> any RowSearch {
    let conditions = list.columns.map { SQLText.quoted($0) + " = ?" } + model.isPart(list.owner)
    return SQLiteRowSearch(
      entity, model,
      try connection.makeStatement(
        "SELECT \(Self.keyColumns(of: entity)) FROM \(SQLText.quoted(entity.table)) "
          + "WHERE \(conditions.joined(separator: " AND "))"))
  }

  // MARK: Changing rows

  @_optimize(none)
  func calculation(
    _ expression: ValueExpression, on entity: EntityPlan, as type: StorageType, isMandatory: Bool, now: Date
  ) throws -> Calculation {
    var compiler = SQLCompiler(
      entity: entity, model: model, variables: [:], now: now, key: session.keyLookup,
      dialect: session.sql.dialect)
    switch try compiler.operand(expression) {
    case .constant(let value): return .constant(value)
    case .value(let value)
    where !compiler.mayFail && (!value.isNullable || !isMandatory) && type.holds(value.kind)
      // A row of the same table could already have its new value when the calculation reads it.
      && !compiler.readRoots.contains(entity.root):
      return .store(value.sql)
    case .value, .collection, nil: return .evaluator
    }
  }

  @_optimize(none)
  private func texts(
    _ assignments: [(column: String, source: ColumnSource)]
  ) -> (texts: [String], bindings: [AttributeValue]) {
    var texts: [String] = []
    var bindings: [AttributeValue] = []
    for (column, source) in assignments {
      switch source {
      case .value(let value):
        texts.append(SQLText.quoted(column) + " = ?")
        bindings.append(value.stored)
      case .calculation(let calculation):
        guard let sql = calculation as? SQLText else { continue }
        texts.append("\(SQLText.quoted(column)) = \(sql.text)")
        bindings += sql.bindings
      }
    }
    return (texts, bindings)
  }

  private static let nextVersion = "_version = (_version + 1) & 4294967295"

  @_optimize(none)
  func update(
    _ entity: EntityPlan, _ assignments: [(column: String, source: ColumnSource)], _ rows: RowSelection
  ) throws -> [Int: KeyRanges] {
    let (texts, bindings) = texts(assignments)
    let condition = condition(rows)
    return try change(
      entity, .update,
      "UPDATE \(SQLText.quoted(entity.table)) AS t0 SET \((texts + [Self.nextVersion]).joined(separator: ", ")) "
        + "WHERE \(condition.text)", bindings + condition.bindings)
  }

  func update(
    _ entity: EntityPlan, calculated: [(column: String, source: ColumnSource)], _ columns: [String],
    _ rows: [(key: ObjectKey, values: [AttributeValue])]
  ) throws {
    let (texts, bindings) = texts(calculated)
    let assignments = texts + columns.map { SQLText.quoted($0) + " = ?" } + [Self.nextVersion]
    let statement = try connection.makeStatement(
      "UPDATE \(SQLText.quoted(entity.table)) AS t0 SET \(assignments.joined(separator: ", ")) WHERE _pk = ?")
    try changing(entity) {
      for row in rows {
        statement.bind(bindings + row.values.map(\.stored) + [.int(row.key)])
        try statement.run()
      }
    }
  }

  func setValues(
    _ values: [(column: String, value: AttributeValue)], of entity: EntityPlan, _ key: ObjectKey,
    raisingVersion: Bool
  ) throws {
    let assignments =
      values.map { SQLText.quoted($0.column) + " = ?" } + (raisingVersion ? [Self.nextVersion] : [])
    try changing(entity) {
      try execute(
        "UPDATE \(SQLText.quoted(entity.table)) SET \(assignments.joined(separator: ", ")) WHERE _pk = ?",
        values.map(\.value.stored) + [.int(key)])
    }
  }

  func delete(_ entity: EntityPlan, _ rows: RowSelection) throws -> [Int: KeyRanges] {
    let condition = condition(rows)
    return try change(
      entity, .delete, "DELETE FROM \(SQLText.quoted(entity.table)) AS t0 WHERE \(condition.text)",
      condition.bindings)
  }

  /// Runs a statement that changes rows of an entity's table, and returns their keys.
  @_optimize(none)
  private func change(
    _ entity: EntityPlan, _ change: SQLiteConnection.RowChange, _ sql: String, _ bindings: [AttributeValue]
  ) throws -> [Int: KeyRanges] {
    try changing(entity) {
      if entity.hasEntityColumn {
        // In a table with several entities, the key alone does not determine the entity of a row.
        let keys = try keys(sql + " RETURNING \(Self.keyColumns(of: entity))", bindings, of: entity)
        return KeyRanges.byEntity(keys)
      }
      let statement = try connection.statement(sql)
      statement.bind(bindings)
      return [entity.index: try connection.keysChanged(by: statement, change, inTable: entity.table)]
    }
  }

  func deletePairs(ofJoin index: Int, isSource: Bool, _ keys: [ObjectKey]) throws {
    try execute(
      "DELETE FROM \(SQLText.quoted(model.joins[index].table)) "
        + "WHERE \(isSource ? "_source" : "_target") IN \(SQLite.boundKeys)", [SQLite.list(keys)])
  }

  @_optimize(none)
  func appendPositions(
    _ relationship: RelationshipPlan, _ entity: EntityPlan, _ rows: RowSelection, moved: [ObjectKey],
    gap: Int64
  ) throws {
    guard let name = model.positionColumn(of: relationship),
      let column = model.inverseReferenceColumn(of: relationship)
    else { return }
    let table = SQLText.quoted(entity.table)
    let (reference, position) = (SQLText.quoted(column.name), SQLText.quoted(name))
    if !moved.isEmpty {
      try execute(
        "UPDATE \(table) SET \(position) = NULL WHERE _pk IN \(SQLite.boundKeys)", [SQLite.list(moved)])
    }
    let condition = condition(rows)
    try execute(
      "UPDATE \(table) SET \(position) = _n.last + _n.place * \(gap) FROM ("
        + "SELECT t0._pk AS key, row_number() OVER (PARTITION BY t0.\(reference) ORDER BY t0._pk) AS place, "
        + "(SELECT coalesce(max(o.\(position)), 0) FROM \(table) AS o WHERE o.\(reference) = t0.\(reference)) AS last "
        + "FROM \(table) AS t0 "
        + "WHERE t0.\(reference) IS NOT NULL AND t0.\(position) IS NULL AND \(condition.text)) AS _n "
        + "WHERE \(table)._pk = _n.key", condition.bindings)
  }

  // MARK: Inserting rows

  func firstKey(of entity: EntityPlan) throws -> ObjectKey {
    guard let store = stores.stores.store(of: entity) else { throw StoreError.noStore(entity: entity.name) }
    let statement = try connection.statement(
      "SELECT coalesce((SELECT \"next\" FROM \(stores.schema(of: store)).\"_cdgen_keys\" WHERE \"entity\" = ?1), 1), "
        + "(SELECT coalesce(max(_pk), 0) FROM \(SQLText.quoted(entity.table)))")
    defer { statement.reset() }
    let root = model.entities[entity.root].name
    statement.bind(root, at: 1)
    _ = try statement.step()
    let next = statement.int64(0)
    guard next > 0, next > statement.int64(1), next <= KeyRanges.largestKey else {
      throw StoreError.damagedKeys(store.url, entity: root)
    }
    return next
  }

  @_optimize(none)
  func reserve(upTo key: ObjectKey, of entity: EntityPlan) throws {
    guard let store = stores.stores.store(of: entity) else { return }
    try execute(
      "INSERT INTO \(stores.schema(of: store)).\"_cdgen_keys\" (\"entity\", \"next\") VALUES (?1, ?2) "
        + "ON CONFLICT (\"entity\") DO UPDATE SET \"next\" = ?2",
      [.string(model.entities[entity.root].name), .int(key)])
  }

  /// Prepares an insertion. The key and the columns of each row are parameters. The defaults that are the same for all
  /// rows are bound here.
  @_optimize(none)
  func insertion(_ plan: InsertionPlan) throws -> any RowInsertion {
    let entity = plan.entity
    var names = ["_pk", "_version"]
    var values = ["?1", "1"]
    if entity.hasEntityColumn {
      names.append("_entity")
      values.append(SQLText.literal(entity.name))
    }
    for (index, name) in plan.columns.enumerated() {
      names.append(SQLText.quoted(name))
      values.append("?\(index + 2)")
    }
    var constants: [AttributeValue] = []
    for (name, value) in plan.defaults {
      names.append(SQLText.quoted(name))
      if let value {
        values.append("?\(plan.columns.count + constants.count + 2)")
        constants.append(value.stored)
      } else {
        values.append("randomblob(16)")
      }
    }
    let statement = try connection.makeStatement(
      "INSERT INTO \(SQLText.quoted(entity.table)) (\(names.joined(separator: ", "))) "
        + "VALUES (\(values.joined(separator: ", ")))" + conflictClauses(plan))
    statement.bind(constants, from: Int32(clamping: plan.columns.count + 2))
    let isRefused = if case .refuse = plan.conflict { true } else { false }
    return SQLiteRowInsertion(statement, entity, returnsKey: !isRefused)
  }

  @_optimize(none)
  private func conflictClauses(_ plan: InsertionPlan) -> String {
    let action: String
    switch plan.conflict {
    case .refuse: return ""
    case .update(let columns) where !columns.isEmpty:
      let assignments = columns.map { "\(SQLText.quoted($0)) = excluded.\(SQLText.quoted($0))" }
      action = "DO UPDATE SET " + (assignments + [Self.nextVersion]).joined(separator: ", ")
    case .keep, .update: action = "DO NOTHING"
    }
    var clauses = ""
    for list in plan.lists {
      let columns = list.columns.map(SQLText.quoted).joined(separator: ", ")
      let condition = model.isPart(list.owner).map { " WHERE " + $0 }.joined()
      clauses += " ON CONFLICT (\(columns))\(condition) \(action)"
    }
    return clauses + " RETURNING _pk"
  }

  // MARK: Files of large values

  @_optimize(none)
  func listFiles(_ columns: [String], of entity: EntityPlan, _ rows: RowSelection, at time: Date) throws {
    guard let store = stores.stores.store(of: entity), store.files != nil else { return }
    let condition = condition(rows)
    for column in columns.map(SQLText.quoted) {
      try execute(
        "INSERT OR REPLACE INTO \(stores.schema(of: store)).\"_cdgen_files\" (\"name\", \"time\") "
          + "SELECT t0.\(column), \(time.timeIntervalSinceReferenceDate) FROM \(SQLText.quoted(entity.table)) AS t0 "
          + "WHERE typeof(t0.\(column)) = 'text' AND \(condition.text)", condition.bindings)
    }
  }

  @_optimize(none)
  func files(_ column: String, of entity: EntityPlan, _ keys: [ObjectKey]) throws -> [ObjectKey: String] {
    let name = SQLText.quoted(column)
    let statement = try connection.statement(
      "SELECT _pk, \(name) FROM \(SQLText.quoted(entity.table)) "
        + "WHERE typeof(\(name)) = 'text' AND _pk IN \(SQLite.boundKeys)")
    defer { statement.reset() }
    statement.bind([SQLite.list(keys)])
    var result: [ObjectKey: String] = [:]
    while try statement.step() { result[statement.int64(0)] = statement.string(1) }
    return result
  }

  @_optimize(none)
  func listFile(
    _ file: String, unlessIn column: String, of entity: EntityPlan, _ key: ObjectKey, at time: Date
  ) throws {
    guard let store = stores.stores.store(of: entity) else { return }
    let name = SQLText.quoted(column)
    try execute(
      "INSERT OR REPLACE INTO \(stores.schema(of: store)).\"_cdgen_files\" (\"name\", \"time\") "
        + "SELECT ?2, \(time.timeIntervalSinceReferenceDate) WHERE NOT EXISTS (SELECT 1 FROM "
        + "\(SQLText.quoted(entity.table)) WHERE _pk = ?1 AND typeof(\(name)) = 'text' AND \(name) = ?2)",
      [.int(key), .string(file)])
  }
}

extension SQLText: StoreCalculation {}

/// A prepared INSERT. Its parameters are the key and the values of each row.
private final class SQLiteRowInsertion: RowInsertion {
  private let statement: SQLiteStatement
  private let entity: EntityPlan
  /// Whether the statement returns the key of the row that it has written.
  private let returnsKey: Bool

  init(_ statement: SQLiteStatement, _ entity: EntityPlan, returnsKey: Bool) {
    self.statement = statement
    self.entity = entity
    self.returnsKey = returnsKey
  }

  func start(_ writer: RowWriter) { writer.start(statement.handle, at: 2) }

  func write(_ key: ObjectKey) throws -> RowInsertionOutcome {
    statement.bind(key, at: 1)
    do {
      guard returnsKey else {
        try statement.run()
        return .written(key)
      }
      defer { statement.reset() }
      var written: ObjectKey?
      while try statement.step() { written = statement.int64(0) }
      return written.map { .written($0) } ?? .skipped
    } catch let error as StoreError where error.isUniquenessViolation {
      throw UniquenessViolation(properties: error.refusedProperties(of: entity))
    }
  }
}

private final class SQLiteRowSearch: RowSearch {
  private let entity: EntityPlan
  private let model: ModelPlan
  private let statement: SQLiteStatement
  private let writer = RowWriter()

  init(_ entity: EntityPlan, _ model: ModelPlan, _ statement: SQLiteStatement) {
    self.entity = entity
    self.model = model
    self.statement = statement
  }

  func find(_ values: [AttributeValue]) throws -> FetchedKey? {
    defer { statement.reset() }
    writer.start(statement.handle)
    for value in values { writer.value(value) }
    guard try statement.step() else { return nil }
    guard statement.columnCount > 1 else { return FetchedKey(key: statement.int64(0), entity: entity.index) }
    return statement.string(1).flatMap { model.entityIndices[$0] }
      .map { FetchedKey(key: statement.int64(0), entity: $0) }
  }
}

extension StorageType {
  /// Whether a column of this type can hold every value that SQL calculates.
  fileprivate func holds(_ kind: SQLValue.Kind) -> Bool {
    if case .int(let range) = kind { return integerRange?.contains(range) ?? false }
    return kind != .opaque && kind == SQLValue.Kind(self)
  }
}
