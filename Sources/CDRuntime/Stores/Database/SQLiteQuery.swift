#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A ``StoreQuery`` as SQL: the parts that SQLite decides like the evaluator, and the results.
struct SQLiteQuery: StoreAnswer {
  let session: SQLiteSession
  let query: StoreQuery
  /// Nil if all objects are wanted.
  let condition: SQLPredicate?
  /// The terms of ORDER BY for the sort keys. Nil if SQL cannot sort by them, and if the condition is not exact.
  let terms: String?

  private var entity: EntityPlan { query.entity }
  private var model: ModelPlan { session.model }
  private var dialect: any SQLDialect { session.sql.dialect }

  var isExact: Bool { condition?.isExact ?? true }

  var isSorted: Bool { isExact && (query.sortKeys.isEmpty || terms != nil) }

  var inexactParts: [String] { condition?.inexactParts ?? [] }

  // MARK: Answers

  /// Returns the rows of objects, in the query's order or in the order of insertion.
  ///
  /// - Parameter isSorted: Whether the rows must be in the query's order.
  func rows(_ window: StoreWindow, isSorted: Bool) throws -> RowCursor {
    let select = session.sql.selects[entity.index]
    let statement = try session.connection.statement(select.sql + rest(window, isSorted))
    statement.bind(condition?.bindings ?? [])
    return session.cursor(statement, select)
  }

  func versions(_ window: StoreWindow, isSorted: Bool) throws -> RowCursor {
    let select = session.sql.selects[entity.index]
    let statement = try session.connection.statement(select.keysSQL + rest(window, isSorted))
    statement.bind(condition?.bindings ?? [])
    return RowCursor(statement)
  }

  private func rest(_ window: StoreWindow, _ isSorted: Bool) -> String {
    restriction() + " ORDER BY " + (isSorted ? order(window) : insertionOrder(window)) + sql(window)
  }

  func count(without keys: [ObjectKey]) throws -> Int {
    let statement = try session.connection.statement(
      "SELECT count(*) FROM \(SQLText.quoted(entity.table)) AS t0" + restriction(isWithoutKeys: !keys.isEmpty)
    )
    defer { statement.reset() }
    statement.bind((condition?.bindings ?? []) + Self.binding(of: keys))
    return try session.connection.watchingCount { try statement.step() ? Int(statement.int64(0)) : 0 }
  }

  func keys(
    _ window: StoreWindow, without keys: [ObjectKey], unusable: (ObjectKey) -> Void
  ) throws -> [FetchedKey] {
    let sql =
      "SELECT t0._pk" + (query.isMixed ? ", t0._entity" : "") + " FROM \(SQLText.quoted(entity.table)) AS t0"
      + restriction(isWithoutKeys: !keys.isEmpty) + " ORDER BY " + order(window) + self.sql(window)
    return try self.keys(by: sql, (condition?.bindings ?? []) + Self.binding(of: keys), unusable)
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
    guard
      let terms = try SQLPredicate.terms(
        of: query.sortKeys, entity: entity, plan: model, dialect: dialect),
      others.count * (terms.count + 2) < 5000
    else { return nil }
    var values: [AttributeValue] = []
    for other in others {
      values += [.int(other.key.key), .string(model.entities[other.key.entity].name)]
      for (value, term) in zip(other.values, terms) {
        switch SQLConstant.form(value, as: term.value.kind, SQLPredicate.noKey, dialect) {
        case .null: values.append(.null)
        case .stored(let stored): values.append(stored)
        case .incomparable, .inexact: return nil
        }
      }
    }
    let names = terms.indices.map { "s\($0)" }
    let columns = zip(terms, names).map { ", \($0.value.sql.text) AS \($1)" }.joined()
    let row = "(" + Array(repeating: "?", count: terms.count + 2).joined(separator: ", ") + ")"
    let order = zip(terms, names).map { $1 + $0.suffix }.joined(separator: ", ")
    let sql =
      "SELECT k, e FROM (SELECT t0._pk AS k, "
      + (query.isMixed ? "t0._entity" : SQLText.literal(entity.name)) + " AS e\(columns) "
      + "FROM \(SQLText.quoted(entity.table)) AS t0" + restriction(isWithoutKeys: !keys.isEmpty)
      + " UNION ALL VALUES " + Array(repeating: row, count: others.count).joined(separator: ", ")
      + ") ORDER BY \(order), k" + self.sql(window)
    return try self.keys(by: sql, (condition?.bindings ?? []) + Self.binding(of: keys) + values, unusable)
  }

  private func keys(
    by sql: String, _ bindings: [AttributeValue], _ unusable: (ObjectKey) -> Void
  ) throws -> [FetchedKey] {
    let statement = try session.connection.statement(sql)
    defer { statement.reset() }
    statement.bind(bindings)
    var found: [FetchedKey] = []
    var current: (name: String, index: Int)?
    while try statement.step() {
      let key = statement.int64(0)
      guard key > 0 else {
        unusable(key)
        continue
      }
      guard query.isMixed else {
        found.append(FetchedKey(key: key, entity: entity.index))
        continue
      }
      let name = statement.string(1) ?? ""
      if current?.name != name {
        // The model has no such entity, so the row cannot become an object.
        guard let index = model.entityIndices[name] else { continue }
        current = (name, index)
      }
      if let current { found.append(FetchedKey(key: key, entity: current.index)) }
    }
    return found
  }

  // MARK: Values

  /// Returns the values of key paths. If `isDistinct`, leaves out a row that equals an earlier one. Returns nil if SQL
  /// cannot do so.
  func values(
    of names: [String], _ types: [ExpressionType], isDistinct: Bool, _ window: StoreWindow,
    _ report: RowReport
  ) throws -> [[FetchedValue]]? {
    guard isSorted, let columns = try FetchedColumns(names, types, of: entity, session) else { return nil }
    // If only requested values are sort keys, SQLite can group equal rows. Otherwise, `DistinctRows` keeps the first of
    // equal rows.
    let isGrouped =
      isDistinct && !columns.hasOpaque
      && query.sortKeys.allSatisfy { names.contains($0.keyPath) && $0.options.isEmpty }
    var sql = "SELECT \(columns.sql) FROM \(SQLText.quoted(entity.table)) AS t0" + restriction()
    if isGrouped {
      sql += " GROUP BY " + (1...columns.count).map(String.init).joined(separator: ", ")
      sql += " ORDER BY " + (terms.map { $0 + ", " } ?? "") + "min(t0._pk)"
    } else {
      sql += " ORDER BY " + order(window)
    }
    if isGrouped || !isDistinct { sql += self.sql(window) }
    let statement = try session.connection.statement(sql)
    defer { statement.reset() }
    statement.bind(condition?.bindings ?? [])
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
    guard isExact, let columns = try FetchedColumns(keyPaths, types, of: entity, session), !columns.hasOpaque
    else { return nil }
    var terms: [String] = []
    var storageTypes: [StorageType] = []
    var compiler = SQLCompiler(
      entity: entity, model: model, variables: [:], now: Date(), key: SQLPredicate.noKey, dialect: dialect)
    for (aggregate, type) in zip(aggregates, aggregated) {
      guard let keyPath = aggregate.keyPath else {
        terms.append("count(*)")
        storageTypes.append(.int64)
        continue
      }
      guard case .value(let value)? = try compiler.operand(ValueExpression.keyPath(keyPath)),
        value.sql.bindings.isEmpty, dialect.acceptsTerm(value.sql),
        let (term, storageType) = term(aggregate.function, value, type)
      else { return nil }
      terms.append(term)
      storageTypes.append(storageType)
    }
    let all = ([columns.sql] + terms).filter { !$0.isEmpty }
    var sql =
      "SELECT \(all.isEmpty ? "1" : all.joined(separator: ", ")) FROM \(SQLText.quoted(entity.table)) AS t0"
      + restriction()
    if columns.count > 0 {
      sql +=
        " GROUP BY " + (1...columns.count).map(String.init).joined(separator: ", ") + " ORDER BY min(t0._pk)"
    } else if terms.isEmpty {
      return nil
    }
    let connection = session.connection
    let statement = try connection.statement(sql)
    // An aggregate over all rows has one row, for which SQLite may count all rows in one instruction.
    func step() throws -> Bool {
      try columns.count > 0 ? statement.step() : connection.watchingCount { try statement.step() }
    }
    defer { statement.reset() }
    statement.bind(condition?.bindings ?? [])
    let first = Int(statement.columnCount) - terms.count
    let row = RowReader(
      statement: statement.handle, map: storageTypes.indices.map { Int32($0 + first) }, report: report)
    var rows: [[FetchedValue]] = []
    while try step() {
      rows.append(
        columns.values(statement, report)
          + storageTypes.enumerated().map { .attribute(row.value($0.offset, $0.element)) })
    }
    return rows
  }

  /// Returns an aggregate in SQL, and the type of its result. Returns nil if the evaluator could have a different
  /// result.
  private func term(
    _ function: Aggregate.Function, _ value: SQLValue, _ type: ExpressionType?
  ) -> (String, StorageType)? {
    switch (function, value.kind) {
    case (.count, .opaque): return nil
    case (.count, _): return ("count(\(value.sql.text))", .int64)
    case (.sum, .int): return dialect.sum(value.sql).map { ($0.text, .int64) }
    case (.average, .int(let range)) where range.lowerBound > -(1 << 40) && range.upperBound < 1 << 40:
      return dialect.average(value.sql).map { ($0.text, .double) }
    case (.min, let kind) where kind.isOrdered && kind != .float,
      (.max, let kind) where kind.isOrdered && kind != .float:
      guard case .attribute(let type)? = type, let storageType = StorageType(type, in: model.graph) else {
        return nil
      }
      return (dialect.extreme(function.rawValue, of: value).text, storageType)
    default: return nil
    }
  }

  // MARK: Parts of statements

  /// The WHERE clause for the wanted entities and the condition.
  func restriction(isWithoutKeys: Bool = false) -> String {
    var parts: [String] = []
    if query.includesSubentities || !entity.isPolymorphic {
      if let subtree = session.sql.selects[entity.index].condition { parts.append(subtree) }
    } else {
      parts.append("t0._entity = " + SQLText.literal(entity.name))
    }
    if let condition {
      parts.append(parts.isEmpty && !isWithoutKeys ? condition.sql : "(\(condition.sql))")
    }
    if isWithoutKeys { parts.append("t0._pk NOT IN \(SQLite.boundKeys)") }
    return parts.isEmpty ? "" : " WHERE " + parts.joined(separator: " AND ")
  }

  private static func binding(of keys: [ObjectKey]) -> [AttributeValue] {
    keys.isEmpty ? [] : [SQLite.list(keys)]
  }

  private func sql(_ window: StoreWindow) -> String {
    dialect.window(offset: window.offset, limit: window.limit)
  }

  private func order(_ window: StoreWindow) -> String {
    terms.map { $0 + ", t0._pk" } ?? insertionOrder(window)
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
    guard case .path(let base, let steps) = expression.kind, case .object = base.kind, steps.count == 1,
      case .key(let key) = steps[0]
    else { return false }
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
    var condition: SQLPredicate?
    if let predicate = query.predicate {
      condition =
        query.storeDecides
        ? try SQLPredicate.compile(
          predicate, entity: query.entity, plan: model, dialect: sql.dialect, variables: query.variables,
          key: keyLookup)
        : .unrestricted(in: sql.dialect)
    }
    var terms: String?
    if !query.sortKeys.isEmpty, query.storeDecides, condition?.isExact ?? true {
      terms = try SQLPredicate.order(
        by: query.sortKeys, entity: query.entity, plan: model, dialect: sql.dialect)
    }
    return SQLiteQuery(session: self, query: query, condition: condition, terms: terms)
  }

  /// Finds the keys of objects that are constants in predicates.
  var keyLookup: SQLPredicate.KeyLookup {
    SQLPredicate.keys(in: model) { [model, stores] root in
      stores.store(of: model.entities[root])?.storeID ?? EmptyValue.uuid
    }
  }
}
