#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A query that SQLite answers.
struct SQLiteQuery: StoreAnswer {
  let session: SQLiteSession
  let compiled: SQLQuery

  var query: StoreQuery { compiled.query }
  private var entity: EntityPlan { query.entity }
  private var model: ModelPlan { session.model }
  private var table: String { SQLText.quoted(entity.table) }

  var isExact: Bool { compiled.isExact }
  var isSorted: Bool { compiled.isSorted }
  var inexactParts: [String] { compiled.inexactParts }

  // MARK: Answers

  /// Returns the rows of objects, in the query's order or in the order of insertion.
  ///
  /// - Parameter isSorted: Whether the rows must be in the query's order.
  func rows(_ window: StoreWindow, isSorted: Bool) throws -> RowCursor {
    let select = session.sql.selects[entity.index]
    if !isSorted || compiled.terms == nil, let rows = try passedRows(window, select) { return rows }
    let statement = try session.connection.statement(select.sql + rest(window, isSorted))
    statement.bind(compiled.bindings)
    return RowCursor(statement, select)
  }

  /// Returns rows in the order of insertion, which SQLite passes to a function; nil if this is not possible or not worth
  /// it. The order is left to the context, which seldom has to sort the objects.
  private func passedRows(_ window: StoreWindow, _ select: EntitySelect) throws -> RowCursor? {
    guard window.offset == 0, let feed = session.connection.rowFeed, let sql = feed.select(select) else {
      return nil
    }
    var last: String?
    if let limit = window.limit {
      // An aggregate cannot be limited, but the key of the last row can be found before. For few rows, that takes longer than
      // it saves. With a predicate, it would be evaluated twice.
      guard limit > 100, query.predicate == nil else { return nil }
      last =
        "t0._pk <= (SELECT max(_pk) FROM (SELECT t0._pk FROM \(table) AS t0" + compiled.whereClause()
        + " ORDER BY t0._pk LIMIT \(limit)))"
    }
    let statement = try session.connection.statement(sql + compiled.whereClause(excluding: last))
    statement.bind(compiled.bindings)
    return RowCursor(statement, select, passedBy: feed)
  }

  func versions(_ window: StoreWindow, isSorted: Bool) throws -> RowCursor {
    let select = session.sql.selects[entity.index]
    let statement = try session.connection.statement(select.keysSQL + rest(window, isSorted))
    statement.bind(compiled.bindings)
    return RowCursor(statement)
  }

  private func rest(_ window: StoreWindow, _ isSorted: Bool) -> String {
    compiled.whereClause() + " ORDER BY " + (isSorted ? order(window) : insertionOrder(window))
      + compiled.clause(of: window)
  }

  func count(without keys: [ObjectKey]) throws -> Int {
    let statement = try session.connection.statement(
      "SELECT count(*) FROM \(table) AS t0" + restriction(without: keys)
    )
    defer { statement.reset() }
    statement.bind(compiled.bindings + Self.binding(of: keys))
    return try session.connection.watchingCount { try statement.step() ? Int(statement.int64(0)) : 0 }
  }

  func keys(
    _ window: StoreWindow, without keys: [ObjectKey], unusable: (ObjectKey) -> Void
  ) throws -> [FetchedKey] {
    let sql =
      "SELECT t0._pk" + (query.isMixed ? ", t0._entity" : "") + " FROM \(table) AS t0"
      + restriction(without: keys) + " ORDER BY " + order(window) + compiled.clause(of: window)
    return try self.keys(by: sql, compiled.bindings + Self.binding(of: keys), unusable)
  }

  /// Returns the keys of stored rows together with other objects, sorted as one list. The other objects have values
  /// that the store does not have. Returns nil if these values have no form that SQL can sort.
  ///
  /// - Parameters:
  ///   - others: The other objects, each with its values for the sort keys.
  ///   - keys: The keys of rows to exclude.
  func keys(
    _ window: StoreWindow, mergedWith others: [(key: FetchedKey, values: [EvaluationValue])],
    without keys: [ObjectKey], unusable: (ObjectKey) -> Void
  ) throws -> [FetchedKey]? {
    guard let (terms, values) = try compiled.merging(others) else { return nil }
    let names = terms.indices.map { "s\($0)" }
    let columns = zip(terms, names).map { ", \($0.value.sql.text) AS \($1)" }.joined()
    let row = "(" + Array(repeating: "?", count: terms.count + 2).joined(separator: ", ") + ")"
    let order = zip(terms, names).map { $1 + $0.suffix }.joined(separator: ", ")
    let sql =
      "SELECT k, e FROM (SELECT t0._pk AS k, "
      + (query.isMixed ? "t0._entity" : SQLText.literal(entity.name)) + " AS e\(columns) "
      + "FROM \(table) AS t0" + restriction(without: keys)
      + " UNION ALL VALUES " + Array(repeating: row, count: others.count).joined(separator: ", ")
      + ") ORDER BY \(order), k" + compiled.clause(of: window)
    return try self.keys(by: sql, compiled.bindings + Self.binding(of: keys) + values, unusable)
  }

  private func keys(
    by sql: String, _ bindings: [AttributeValue], _ unusable: (ObjectKey) -> Void
  ) throws -> [FetchedKey] {
    let statement = try session.connection.statement(sql)
    defer { statement.reset() }
    statement.bind(bindings)
    var found = FetchedKeyList(of: entity, in: model, isMixed: query.isMixed)
    while try statement.step() {
      let key = statement.int64(0)
      if !found.add(key, entityName: statement.string(1)) { unusable(key) }
    }
    return found.keys
  }

  // MARK: Values

  /// Returns the values of key paths. If `isDistinct`, leaves out a row that equals an earlier one. Returns nil if SQL
  /// cannot do so.
  func values(
    of names: [String], _ types: [ExpressionType], isDistinct: Bool, _ window: StoreWindow,
    _ report: RowReport
  ) throws -> [[FetchedValue]]? {
    guard isSorted, let columns = try self.columns(names, types) else { return nil }
    // If only requested values are sort keys, SQLite can group equal rows. Otherwise, `DistinctRows` keeps the first of
    // equal rows.
    let isGrouped =
      isDistinct && !columns.hasOpaque
      && query.sortKeys.allSatisfy { names.contains($0.keyPath) && $0.options.isEmpty }
    var sql = "SELECT \(columns.sql) FROM \(table) AS t0" + compiled.whereClause()
    if isGrouped {
      sql += " GROUP BY " + (1...columns.count).map(String.init).joined(separator: ", ")
      sql += " ORDER BY " + (compiled.terms.map { $0 + ", " } ?? "") + "min(t0._pk)"
    } else {
      sql += " ORDER BY " + order(window)
    }
    if isGrouped || !isDistinct { sql += compiled.clause(of: window) }
    let statement = try session.connection.statement(sql)
    defer { statement.reset() }
    statement.bind(compiled.bindings)
    if isGrouped || !isDistinct {
      var rows: [[FetchedValue]] = []
      while try statement.step() { rows.append(columns.values(statement, report)) }
      return rows
    }
    var distinct = DistinctRows(window)
    while !distinct.isFull, try statement.step() { distinct.add(columns.values(statement, report)) }
    return distinct.rows
  }

  /// Returns a row for each group: the group's values, then its aggregates. Returns nil if SQL has no exact form of one
  /// of them.
  @_optimize(none)
  func aggregates(
    _ aggregates: [Aggregate], _ aggregated: [ExpressionType?], by keyPaths: [String],
    _ types: [ExpressionType],
    _ report: RowReport
  ) throws -> [[FetchedValue]]? {
    guard isExact, let columns = try self.columns(keyPaths, types), !columns.hasOpaque,
      let aggregate = try compiled.statement(for: aggregates, aggregated, by: columns)
    else { return nil }
    let connection = session.connection
    let statement = try connection.statement(aggregate.text)
    // An aggregate over all rows has one row, for which SQLite may count all rows in one instruction.
    func step() throws -> Bool {
      try columns.count > 0 ? statement.step() : connection.watchingCount { try statement.step() }
    }
    defer { statement.reset() }
    statement.bind(compiled.bindings)
    let first = Int(statement.columnCount) - aggregate.types.count
    let row = RowReader(
      statement: statement.handle, map: aggregate.types.indices.map { Int32($0 + first) }, report: report)
    var rows: [[FetchedValue]] = []
    while try step() {
      rows.append(
        columns.values(statement, report)
          + aggregate.types.enumerated().map { .attribute(row.value($0.offset, $0.element)) })
    }
    return rows
  }

  private func columns(_ names: [String], _ types: [ExpressionType]) throws -> FetchedColumns? {
    try FetchedColumns(names, types, of: entity, model, session.stores, session.sql.dialect)
  }

  // MARK: Parts of statements

  private func restriction(without keys: [ObjectKey]) -> String {
    compiled.whereClause(excluding: keys.isEmpty ? nil : "t0._pk NOT IN \(SQLite.boundKeys)")
  }

  private static func binding(of keys: [ObjectKey]) -> [AttributeValue] {
    keys.isEmpty ? [] : [SQLite.list(keys)]
  }

  private func order(_ window: StoreWindow) -> String {
    compiled.terms.map { $0 + ", t0._pk" } ?? insertionOrder(window)
  }

  /// Returns the terms for the order of insertion. A table already has this order. So SQLite prefers to scan the table,
  /// rather than to find a range in an index and sort the result. But a range is usually a small part of a table. The
  /// `+` hides the table's order from SQLite. With a limit, a scan may end early, so it stays possible.
  private func insertionOrder(_ window: StoreWindow) -> String {
    guard window.limit == nil, let predicate = query.predicate,
      !entity.description.indexes.isEmpty || entity.lineage.count > 1
    else { return "t0._pk" }
    return isIndexedRange(predicate) ? "+t0._pk" : "t0._pk"
  }

  /// Whether the predicate requires a range of an indexed attribute, but no equality. For an equality, an index already
  /// has the rows in the order of insertion.
  private func isIndexedRange(_ predicate: FetchPredicate) -> Bool {
    let parts: [FetchPredicate] = if case .and(let parts) = predicate.kind { parts } else { [predicate] }
    var isRange = false
    for part in parts {
      guard case .comparison(let comparison) = part.kind, comparison.modifier == .direct,
        comparison.options.isEmpty, isIndexed(comparison.left) || isIndexed(comparison.right)
      else { continue }
      switch comparison.operator {
      case .lessThan, .lessThanOrEqualTo, .greaterThan, .greaterThanOrEqualTo, .between, .beginsWith:
        isRange = true
      case .equalTo, .in: return false
      default: break
      }
    }
    return isRange
  }

  private func isIndexed(_ expression: ValueExpression) -> Bool {
    guard let key = expression.onlyKey else { return false }
    return entity.lineage.contains { index in
      model.entities[index].description.indexes.contains { $0.elements.first?.keyPath == key }
    }
  }
}

extension SQLiteSession {
  func prepare(_ query: StoreQuery) throws(EvaluationError) -> any StoreAnswer {
    try compile(query)
  }

  func compile(_ query: StoreQuery) throws(EvaluationError) -> SQLiteQuery {
    SQLiteQuery(session: self, compiled: try SQLQuery(query, model, sql, key: keyLookup))
  }

  /// Finds the keys of objects that are constants in predicates.
  var keyLookup: SQLPredicate.KeyLookup { SQLPredicate.keys(in: model, of: stores) }
}

extension FetchedColumns {
  fileprivate func values(_ statement: SQLiteStatement, _ report: RowReport) -> [FetchedValue] {
    let row = RowReader(
      statement: statement.handle, map: readings.indices.map { Int32($0) }, report: report)
    return readings.enumerated().map { column, reading in
      switch reading {
      case .attribute(let storageType): return .attribute(row.value(column, storageType))
      case .object(let destination, let nameColumn):
        if row.isNull(column) { return .object(nil) }
        let name = nameColumn.flatMap { statement.string(Int32($0)) } ?? destination.name
        return object(statement.int64(Int32(column)), entityName: name)
      }
    }
  }
}
