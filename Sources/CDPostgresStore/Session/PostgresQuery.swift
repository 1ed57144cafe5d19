import CDModel
@_spi(Generated) import CDRuntime

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A query that PostgreSQL answers.
struct PostgresQuery: StoreAnswer {
  let session: PostgresSession
  let compiled: SQLQuery

  var query: StoreQuery { compiled.query }
  private var entity: EntityPlan { query.entity }
  private var dialect: any SQLDialect { session.dialect }
  private var table: String { dialect.table(entity.table) }

  var isExact: Bool { compiled.isExact }
  var isSorted: Bool { compiled.isSorted }
  var inexactParts: [String] { compiled.inexactParts }

  // MARK: Objects

  func rows(_ window: StoreWindow, isSorted: Bool) throws -> RowCursor {
    let select = session.sql.selects[entity.index]
    let result = try session.runCompiled(select.sql + rest(window, isSorted), compiled.bindings)
    return session.cursor(result, entity)
  }

  func versions(_ window: StoreWindow, isSorted: Bool) throws -> RowCursor {
    let select = session.sql.selects[entity.index]
    let result = try session.runCompiled(select.keysSQL + rest(window, isSorted), compiled.bindings)
    return session.plainCursor(result, entity)
  }

  private func rest(_ window: StoreWindow, _ isSorted: Bool) -> String {
    compiled.whereClause() + " ORDER BY " + (isSorted ? order : "t0._pk") + compiled.clause(of: window)
  }

  func count(without keys: [ObjectKey]) throws -> Int {
    let result = try session.runCompiled(
      "SELECT count(*) FROM \(table) AS t0" + restriction(without: keys),
      compiled.bindings + Self.binding(of: keys))
    return Int(result.int(0, 0))
  }

  // MARK: Keys

  func keys(
    _ window: StoreWindow, without keys: [ObjectKey], unusable: (ObjectKey) -> Void
  ) throws -> [FetchedKey] {
    let sql =
      "SELECT t0._pk" + (query.isMixed ? ", t0._entity" : "") + " FROM \(table) AS t0"
      + restriction(without: keys) + " ORDER BY " + order + compiled.clause(of: window)
    return try self.keys(by: sql, compiled.bindings + Self.binding(of: keys), unusable)
  }

  func keys(
    _ window: StoreWindow, mergedWith others: [(key: FetchedKey, values: [EvaluationValue])],
    without keys: [ObjectKey], unusable: (ObjectKey) -> Void
  ) throws -> [FetchedKey]? {
    guard let (terms, values) = try compiled.merging(others) else { return nil }
    var types: [String] = []
    for term in terms {
      guard let type = Self.type(of: term.value.kind) else { return nil }
      types.append(type)
    }
    let names = terms.indices.map { "s\($0)" }
    let columns = zip(zip(terms, names), types).map {
      ", CAST(\($0.0.value.sql.text) AS \($1)) AS \($0.1)"
    }.joined()
    let fields = ["CAST(? AS bigint)", "CAST(? AS text)"] + types.map { "CAST(? AS \($0))" }
    let row = "(" + fields.joined(separator: ", ") + ")"
    let order = zip(terms, names).map { $1 + $0.suffix }.joined(separator: ", ")
    let sql =
      "SELECT k, e FROM (SELECT t0._pk AS k, "
      + (query.isMixed ? "CAST(t0._entity AS text)" : "CAST(\(SQLText.literal(entity.name)) AS text)")
      + " AS e\(columns) FROM \(table) AS t0" + restriction(without: keys)
      + " UNION ALL VALUES " + Array(repeating: row, count: others.count).joined(separator: ", ")
      + ") AS u ORDER BY \(order), k" + compiled.clause(of: window)
    return try self.keys(by: sql, compiled.bindings + Self.binding(of: keys) + values, unusable)
  }

  /// The type of the values of a term.
  private static func type(of kind: SQLValue.Kind) -> String? {
    switch kind {
    case .int, .object: "bigint"
    case .double, .float: "double precision"
    case .decimal: "numeric"
    case .plain(let type): PostgresType(type).name
    case .opaque: nil
    }
  }

  private func keys(
    by sql: String, _ bindings: [AttributeValue], _ unusable: (ObjectKey) -> Void
  ) throws -> [FetchedKey] {
    let result = try session.runCompiled(sql, bindings)
    var found = FetchedKeyList(of: entity, in: session.model, isMixed: query.isMixed)
    for row in 0..<result.rowCount {
      let key = result.int(row, 0)
      if !found.add(key, entityName: result.string(row, 1)) { unusable(key) }
    }
    return found.keys
  }

  // MARK: Values

  func values(
    of names: [String], _ types: [ExpressionType], isDistinct: Bool, _ window: StoreWindow,
    _ report: RowReport
  ) throws -> [[FetchedValue]]? {
    guard isSorted, let columns = try self.columns(names, types) else { return nil }
    // If only requested values are sort keys, the server can group equal rows. Otherwise, `DistinctRows` keeps the first
    // of equal rows.
    let isGrouped =
      isDistinct && !columns.hasOpaque && !columns.hasEntityNames
      && query.sortKeys.allSatisfy { names.contains($0.keyPath) && $0.options.isEmpty }
    var sql = "SELECT \(columns.sql) FROM \(table) AS t0" + compiled.whereClause()
    if isGrouped {
      // A zero with a sign equals one without, and the first of both is the result.
      sql += " GROUP BY " + (1...columns.count).map(String.init).joined(separator: ", ")
      sql += " ORDER BY " + groupOrder(names) + "min(t0._pk)"
    } else {
      sql += " ORDER BY " + order
    }
    if isGrouped || !isDistinct { sql += compiled.clause(of: window) }
    let result = try session.runCompiled(sql, compiled.bindings)
    if isGrouped || !isDistinct {
      return (0..<result.rowCount).map { columns.values(result, $0) }
    }
    var distinct = DistinctRows(window)
    for row in 0..<result.rowCount where !distinct.isFull {
      distinct.add(columns.values(result, row))
    }
    return distinct.rows
  }

  /// The terms of ORDER BY for sort keys that are among the selected values, by the numbers of these.
  private func groupOrder(_ names: [String]) -> String {
    query.sortKeys.compactMap { key in
      names.firstIndex(of: key.keyPath).map {
        "\($0 + 1)" + (key.isAscending ? " NULLS FIRST, " : " DESC NULLS LAST, ")
      }
    }.joined()
  }

  func aggregates(
    _ aggregates: [Aggregate], _ aggregated: [ExpressionType?], by keyPaths: [String],
    _ types: [ExpressionType], _ report: RowReport
  ) throws -> [[FetchedValue]]? {
    // PostgreSQL groups by no column that another subquery reads.
    guard isExact, let columns = try self.columns(keyPaths, types), !columns.hasOpaque,
      !columns.hasEntityNames,
      let aggregate = try compiled.statement(for: aggregates, aggregated, by: columns)
    else { return nil }
    let result = try session.runCompiled(aggregate.text, compiled.bindings)
    let first = result.columnCount - aggregate.types.count
    return (0..<result.rowCount).map { row in
      columns.values(result, row)
        + aggregate.types.enumerated().map { .attribute(result.value(row, first + $0.offset, $0.element)) }
    }
  }

  private func columns(_ names: [String], _ types: [ExpressionType]) throws -> FetchedColumns? {
    try FetchedColumns(names, types, of: entity, session.model, session.stores, dialect)
  }

  // MARK: Parts of statements

  private func restriction(without keys: [ObjectKey]) -> String {
    compiled.whereClause(excluding: keys.isEmpty ? nil : "NOT t0._pk = ANY(CAST(? AS bigint[]))")
  }

  private static func binding(of keys: [ObjectKey]) -> [AttributeValue] {
    keys.isEmpty ? [] : [PostgresDialect.list(keys)]
  }

  private var order: String { compiled.terms.map { $0 + ", t0._pk" } ?? "t0._pk" }
}

extension PostgresSession {
  func prepare(_ query: StoreQuery) throws(EvaluationError) -> any StoreAnswer { try compile(query) }

  func compile(_ query: StoreQuery) throws(EvaluationError) -> PostgresQuery {
    PostgresQuery(
      session: self,
      compiled: try SQLQuery(query, model, sql, key: keyLookup))
  }

  /// Finds the keys of objects that are constants in predicates.
  var keyLookup: SQLPredicate.KeyLookup { SQLPredicate.keys(in: model, of: stores) }

  // A fetch decides.
  func lookup(_ entity: EntityPlan, _ slot: PropertyPlan) -> (any ValueLookup)? { nil }
}

extension FetchedColumns {
  fileprivate func values(_ result: PostgresResult, _ row: Int) -> [FetchedValue] {
    readings.enumerated().map { column, reading in
      switch reading {
      case .attribute(let storageType): return .attribute(result.value(row, column, storageType))
      case .object(let destination, let nameColumn):
        if result.isNull(row, column) { return .object(nil) }
        let name = nameColumn.flatMap { result.string(row, $0) } ?? destination.name
        return object(result.int(row, column), entityName: name)
      }
    }
  }
}

extension PostgresDialect {
  /// Keys as one text, which a statement casts to an array.
  static func list(_ keys: [ObjectKey]) -> AttributeValue {
    .string("{" + keys.map(String.init).joined(separator: ",") + "}")
  }
}
