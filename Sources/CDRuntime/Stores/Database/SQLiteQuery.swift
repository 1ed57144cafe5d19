#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A ``StoreQuery`` as SQL: what of it SQLite decides as the evaluator does, and its answers.
struct SQLiteQuery: StoreAnswer {
  let session: SQLiteSession
  let query: StoreQuery
  /// Nil where all objects are wanted.
  let condition: SQLPredicate?
  /// The terms of ORDER BY for the sort keys, which leave no choice; nil where SQL cannot sort so, and where the condition
  /// is not exact.
  let terms: String?

  private var entity: EntityPlan { query.entity }
  private var model: ModelPlan { session.model }

  var isExact: Bool { condition?.isExact ?? true }

  var isSorted: Bool { isExact && (query.sortKeys.isEmpty || terms != nil) }

  var inexactParts: [String] { condition?.inexactParts ?? [] }

  // MARK: Answers

  /// The rows of objects, in the query's order if it is sorted, and in that of insertion if not.
  ///
  /// - Parameter isSorted: Whether the query's order matters.
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
      "SELECT count(*) FROM \(SQLite.quoted(entity.table)) AS t0" + restriction(isWithoutKeys: !keys.isEmpty))
    defer { statement.reset() }
    statement.bind((condition?.bindings ?? []) + Self.binding(of: keys))
    return try session.connection.watchingCount { try statement.step() ? Int(statement.int64(0)) : 0 }
  }

  func keys(
    _ window: StoreWindow, without keys: [ObjectKey], unusable: (ObjectKey) -> Void
  ) throws -> [FetchedKey] {
    let sql =
      "SELECT t0._pk" + (query.isMixed ? ", t0._entity" : "") + " FROM \(SQLite.quoted(entity.table)) AS t0"
      + restriction(isWithoutKeys: !keys.isEmpty) + " ORDER BY " + order(window) + self.sql(window)
    return try self.keys(by: sql, (condition?.bindings ?? []) + Self.binding(of: keys), unusable)
  }

  /// The keys of rows and of objects that the store does not have so, sorted together; nil where the values of those are
  /// not to be had in a form that SQL can sort.
  ///
  /// - Parameters:
  ///   - others: Each with its values by the sort keys.
  ///   - keys: The rows that do not count.
  func keys(
    _ window: StoreWindow, beside others: [(key: FetchedKey, values: [EvaluationValue])],
    without keys: [ObjectKey], unusable: (ObjectKey) -> Void
  ) throws -> [FetchedKey]? {
    guard let terms = try SQLPredicate.terms(of: query.sortKeys, entity: entity, plan: model),
      others.count * (terms.count + 2) < 5000
    else { return nil }
    var values: [AttributeValue] = []
    for other in others {
      values += [.int(other.key.key), .string(model.entities[other.key.entity].name)]
      for (value, term) in zip(other.values, terms) {
        switch SQLConstant.form(value, as: term.value.kind, SQLPredicate.noKey) {
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
      + (query.isMixed ? "t0._entity" : SQLite.literal(entity.name)) + " AS e\(columns) "
      + "FROM \(SQLite.quoted(entity.table)) AS t0" + restriction(isWithoutKeys: !keys.isEmpty)
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
    var current: (name: String, place: Int)?
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
        // A row of an entity that this model has not is nobody's to read.
        guard let place = model.places[name] else { continue }
        current = (name, place)
      }
      if let current { found.append(FetchedKey(key: key, entity: current.place)) }
    }
    return found
  }

  // MARK: Values

  /// The values of key paths, without those that equal an earlier row's where they are to be distinct; nil where SQL
  /// cannot give them so.
  func values(
    of names: [String], _ types: [ExpressionType], isDistinct: Bool, _ window: StoreWindow,
    _ report: RowReport
  ) throws -> [[FetchedValue]]? {
    guard isSorted, let columns = try FetchedColumns(names, types, of: entity, session) else { return nil }
    // Equal values stand together where the order is one of them; where it is not, the first one is kept here.
    let isGrouped =
      isDistinct && !columns.hasOpaque
      && query.sortKeys.allSatisfy { names.contains($0.keyPath) && $0.options.isEmpty }
    var sql = "SELECT \(columns.sql) FROM \(SQLite.quoted(entity.table)) AS t0" + restriction()
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

  /// The values of each group, and behind them its aggregates; nil where SQL has no exact form of something.
  func aggregates(
    _ aggregates: [Aggregate], _ aggregated: [ExpressionType?], by keyPaths: [String],
    _ types: [ExpressionType],
    _ report: RowReport
  ) throws -> [[FetchedValue]]? {
    guard isExact, let columns = try FetchedColumns(keyPaths, types, of: entity, session), !columns.hasOpaque
    else { return nil }
    var terms: [String] = []
    var cells: [StorageType] = []
    var compiler = SQLCompiler(
      entity: entity, model: model, variables: [:], now: Date(), key: SQLPredicate.noKey)
    for (aggregate, type) in zip(aggregates, aggregated) {
      guard let keyPath = aggregate.keyPath else {
        terms.append("count(*)")
        cells.append(.int64)
        continue
      }
      guard case .value(let value)? = try compiler.operand(ValueExpression.keyPath(keyPath)),
        value.sql.bindings.isEmpty, value.sql.parserDepth <= SQLPredicate.maximumTermDepth,
        let (term, cell) = term(aggregate.function, value, type)
      else { return nil }
      terms.append(term)
      cells.append(cell)
    }
    let all = ([columns.sql] + terms).filter { !$0.isEmpty }
    var sql =
      "SELECT \(all.isEmpty ? "1" : all.joined(separator: ", ")) FROM \(SQLite.quoted(entity.table)) AS t0"
      + restriction()
    if columns.count > 0 {
      sql +=
        " GROUP BY " + (1...columns.count).map(String.init).joined(separator: ", ") + " ORDER BY min(t0._pk)"
    } else if terms.isEmpty {
      return nil
    }
    let connection = session.connection
    let statement = try connection.statement(sql)
    // The one row of an aggregate over all rows may be counted in one instruction.
    func step() throws -> Bool {
      try columns.count > 0 ? statement.step() : connection.watchingCount { try statement.step() }
    }
    defer { statement.reset() }
    statement.bind(condition?.bindings ?? [])
    let first = Int(statement.columnCount) - terms.count
    let row = RowReader(
      statement: statement.handle, map: cells.indices.map { Int32($0 + first) }, report: report)
    var rows: [[FetchedValue]] = []
    while try step() {
      rows.append(
        columns.values(statement, report)
          + cells.enumerated().map { .attribute(row.value($0.offset, $0.element)) })
    }
    return rows
  }

  /// An aggregate in SQL, and how its result is read; nil where memory may come to another one.
  private func term(
    _ function: Aggregate.Function, _ value: SQLValue, _ type: ExpressionType?
  ) -> (String, StorageType)? {
    let sql = value.sql.text
    switch (function, value.kind) {
    case (.count, .opaque): return nil
    case (.count, _): return ("count(\(sql))", .int64)
    // SQLite's sum of integers fails where it overflows, as ours does.
    case (.sum, .int): return ("coalesce(sum(\(sql)), 0)", .int64)
    case (.average, .int(let range)) where range.lowerBound > -(1 << 40) && range.upperBound < 1 << 40:
      return ("CAST(sum(\(sql)) AS REAL) / count(\(sql))", .double)
    case (.min, .int), (.min, .double), (.min, .decimal), (.min, .string), (.min, .date), (.max, .int),
      (.max, .double),
      (.max, .decimal), (.max, .string), (.max, .date):
      guard case .attribute(let type)? = type, let cell = StorageType(type, in: model.graph) else {
        return nil
      }
      return ("\(function.rawValue)(\(sql))", cell)
    default: return nil
    }
  }

  // MARK: Parts of statements

  /// The WHERE of the wanted entities and the condition.
  func restriction(isWithoutKeys: Bool = false) -> String {
    var parts: [String] = []
    if query.includesSubentities || !entity.isPolymorphic {
      if let kinds = session.sql.selects[entity.index].condition { parts.append(kinds) }
    } else {
      parts.append("t0._entity = " + SQLite.literal(entity.name))
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
    window.limit != nil || window.offset > 0 ? " LIMIT \(window.limit ?? -1) OFFSET \(window.offset)" : ""
  }

  private func order(_ window: StoreWindow) -> String {
    terms.map { $0 + ", t0._pk" } ?? insertionOrder(window)
  }

  /// The order of insertion. SQLite has rows in it when it walks over the table, and prefers that to looking for a
  /// range in an index and sorting what it finds. A range is mostly a small part of a table: the `+` keeps it
  /// from seeing the chance. Where a limit is given, the walk may soon be over.
  private func insertionOrder(_ window: StoreWindow) -> String {
    guard window.limit == nil, let predicate = query.predicate,
      !entity.description.indexes.isEmpty || entity.lineage.count > 1
    else { return "t0._pk" }
    return isIndexedRange(predicate) ? "+t0._pk" : "t0._pk"
  }

  /// Whether an index finds the range of a comparison that all wanted objects meet, and none their equality, whose
  /// rows an index has in the right order.
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
    return entity.lineage.contains { place in
      model.entities[place].description.indexes.contains { $0.elements.first?.keyPath == key }
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
          predicate, entity: query.entity, plan: model, variables: query.variables, key: keyLookup)
        : .unrestricted
    }
    var terms: String?
    if !query.sortKeys.isEmpty, query.storeDecides, condition?.isExact ?? true {
      terms = try SQLPredicate.order(by: query.sortKeys, entity: query.entity, plan: model)
    }
    return SQLiteQuery(session: self, query: query, condition: condition, terms: terms)
  }

  /// Finds the keys of objects that are constants of predicates.
  var keyLookup: SQLPredicate.KeyLookup {
    SQLPredicate.keys(in: model) { [model, stores] root in
      stores.store(of: model.entities[root])?.storeID ?? EmptyValue.uuid
    }
  }
}
