import CDModel
@_spi(Generated) import CDRuntime

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A ``StoreQuery`` as SQL: the parts that PostgreSQL decides like the evaluator, and the results.
struct PostgresQuery: StoreAnswer {
  let session: PostgresSession
  let query: StoreQuery
  /// Nil if all objects are wanted.
  let condition: SQLPredicate?
  /// The terms of ORDER BY for the sort keys. Nil if SQL cannot sort by them, and if the condition is not exact.
  let terms: String?

  private var entity: EntityPlan { query.entity }
  private var model: ModelPlan { session.model }
  private var dialect: any SQLDialect { session.dialect }
  private var table: String { dialect.table(entity.table) }

  var isExact: Bool { condition?.isExact ?? true }

  var isSorted: Bool { isExact && (query.sortKeys.isEmpty || terms != nil) }

  var inexactParts: [String] { condition?.inexactParts ?? [] }

  // MARK: Objects

  func rows(_ window: StoreWindow, isSorted: Bool) throws -> RowCursor {
    let select = session.sql.selects[entity.index]
    let result = try session.runCompiled(select.sql + rest(window, isSorted), condition?.bindings ?? [])
    return session.cursor(result, entity)
  }

  func versions(_ window: StoreWindow, isSorted: Bool) throws -> RowCursor {
    let select = session.sql.selects[entity.index]
    let result = try session.runCompiled(select.keysSQL + rest(window, isSorted), condition?.bindings ?? [])
    return session.keyCursor(result, entity)
  }

  private func rest(_ window: StoreWindow, _ isSorted: Bool) -> String {
    restriction() + " ORDER BY " + (isSorted ? order : "t0._pk") + sql(window)
  }

  func count(without keys: [ObjectKey]) throws -> Int {
    let result = try session.runCompiled(
      "SELECT count(*) FROM \(table) AS t0" + restriction(isWithoutKeys: !keys.isEmpty),
      (condition?.bindings ?? []) + Self.binding(of: keys))
    return Int(result.int(0, 0))
  }

  // MARK: Keys

  func keys(
    _ window: StoreWindow, without keys: [ObjectKey], unusable: (ObjectKey) -> Void
  ) throws -> [FetchedKey] {
    let sql =
      "SELECT t0._pk" + (query.isMixed ? ", t0._entity" : "") + " FROM \(table) AS t0"
      + restriction(isWithoutKeys: !keys.isEmpty) + " ORDER BY " + order + self.sql(window)
    return try self.keys(by: sql, (condition?.bindings ?? []) + Self.binding(of: keys), unusable)
  }

  func keys(
    _ window: StoreWindow, mergedWith others: [(key: FetchedKey, values: [EvaluationValue])],
    without keys: [ObjectKey], unusable: (ObjectKey) -> Void
  ) throws -> [FetchedKey]? {
    guard
      let terms = try SQLPredicate.terms(
        of: query.sortKeys, entity: entity, plan: model, dialect: dialect),
      others.count * (terms.count + 2) < 5000
    else { return nil }
    var types: [String] = []
    for term in terms {
      guard let type = Self.type(of: term.value.kind) else { return nil }
      types.append(type)
    }
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
    let columns = zip(zip(terms, names), types).map {
      ", CAST(\($0.0.value.sql.text) AS \($1)) AS \($0.1)"
    }.joined()
    let fields = ["CAST(? AS bigint)", "CAST(? AS text)"] + types.map { "CAST(? AS \($0))" }
    let row = "(" + fields.joined(separator: ", ") + ")"
    let order = zip(terms, names).map { $1 + $0.suffix }.joined(separator: ", ")
    let sql =
      "SELECT k, e FROM (SELECT t0._pk AS k, "
      + (query.isMixed ? "CAST(t0._entity AS text)" : "CAST(\(SQLText.literal(entity.name)) AS text)")
      + " AS e\(columns) FROM \(table) AS t0" + restriction(isWithoutKeys: !keys.isEmpty)
      + " UNION ALL VALUES " + Array(repeating: row, count: others.count).joined(separator: ", ")
      + ") AS u ORDER BY \(order), k" + self.sql(window)
    return try self.keys(by: sql, (condition?.bindings ?? []) + Self.binding(of: keys) + values, unusable)
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
    var found: [FetchedKey] = []
    found.reserveCapacity(result.rowCount)
    var current: (name: String, index: Int)?
    for row in 0..<result.rowCount {
      let key = result.int(row, 0)
      guard key > 0 else {
        unusable(key)
        continue
      }
      guard query.isMixed else {
        found.append(FetchedKey(key: key, entity: entity.index))
        continue
      }
      let name = result.string(row, 1) ?? ""
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

  func values(
    of names: [String], _ types: [ExpressionType], isDistinct: Bool, _ window: StoreWindow,
    _ report: RowReport
  ) throws -> [[FetchedValue]]? {
    guard isSorted, let columns = try FetchedColumns(names, types, of: entity, session) else { return nil }
    // If only requested values are sort keys, the server can group equal rows. Otherwise, `DistinctRows` keeps the first
    // of equal rows.
    let isGrouped =
      isDistinct && !columns.hasOpaque && !columns.hasEntityNames
      && query.sortKeys.allSatisfy { names.contains($0.keyPath) && $0.options.isEmpty }
    var sql = "SELECT \(columns.sql) FROM \(table) AS t0" + restriction()
    if isGrouped {
      // A zero with a sign equals one without, and the first of both is the result.
      sql += " GROUP BY " + (1...columns.count).map(String.init).joined(separator: ", ")
      sql += " ORDER BY " + groupOrder(names) + "min(t0._pk)"
    } else {
      sql += " ORDER BY " + order
    }
    if isGrouped || !isDistinct { sql += self.sql(window) }
    let result = try session.runCompiled(sql, condition?.bindings ?? [])
    if isGrouped || !isDistinct {
      return (0..<result.rowCount).map { columns.values(result, $0, report) }
    }
    var distinct = DistinctRows(window)
    for row in 0..<result.rowCount where !distinct.isFull {
      distinct.add(columns.values(result, row, report))
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
    guard isExact, let columns = try FetchedColumns(keyPaths, types, of: entity, session), !columns.hasOpaque,
      !columns.hasEntityNames
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
      "SELECT \(all.isEmpty ? "1" : all.joined(separator: ", ")) FROM \(table) AS t0" + restriction()
    if columns.count > 0 {
      sql +=
        " GROUP BY " + (1...columns.count).map(String.init).joined(separator: ", ") + " ORDER BY min(t0._pk)"
    } else if terms.isEmpty {
      return nil
    }
    let result = try session.runCompiled(sql, condition?.bindings ?? [])
    let first = result.columnCount - terms.count
    return (0..<result.rowCount).map { row in
      columns.values(result, row, report)
        + storageTypes.enumerated().map { .attribute(result.value(row, first + $0.offset, $0.element)) }
    }
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
    // PostgreSQL has no least UUID before version 18, and no least Boolean or data.
    case (.min, .plain(.uuid)), (.max, .plain(.uuid)), (.min, .plain(.data)), (.max, .plain(.data)):
      return nil
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

  /// The condition for the wanted entities and the predicate; nil for all rows.
  func restrictionText(isWithoutKeys: Bool = false) -> String? {
    var parts: [String] = []
    if query.includesSubentities || !entity.isPolymorphic {
      if let subtree = session.sql.selects[entity.index].condition { parts.append(subtree) }
    } else {
      parts.append("t0._entity = " + SQLText.literal(entity.name))
    }
    if let condition {
      parts.append(parts.isEmpty && !isWithoutKeys ? condition.sql : "(\(condition.sql))")
    }
    if isWithoutKeys { parts.append("NOT t0._pk = ANY(CAST(? AS bigint[]))") }
    return parts.isEmpty ? nil : parts.joined(separator: " AND ")
  }

  private func restriction(isWithoutKeys: Bool = false) -> String {
    restrictionText(isWithoutKeys: isWithoutKeys).map { " WHERE " + $0 } ?? ""
  }

  private static func binding(of keys: [ObjectKey]) -> [AttributeValue] {
    keys.isEmpty ? [] : [PostgresDialect.list(keys)]
  }

  private func sql(_ window: StoreWindow) -> String {
    dialect.window(offset: window.offset, limit: window.limit)
  }

  private var order: String { terms.map { $0 + ", t0._pk" } ?? "t0._pk" }
}

extension PostgresSession {
  func prepare(_ query: StoreQuery) throws(EvaluationError) -> any StoreAnswer { try compile(query) }

  func compile(_ query: StoreQuery) throws(EvaluationError) -> PostgresQuery {
    var condition: SQLPredicate?
    if let predicate = query.predicate {
      condition =
        query.storeDecides
        ? try SQLPredicate.compile(
          predicate, entity: query.entity, plan: model, dialect: dialect, variables: query.variables,
          key: keyLookup)
        : .unrestricted(in: dialect)
    }
    var terms: String?
    if !query.sortKeys.isEmpty, query.storeDecides, condition?.isExact ?? true {
      terms = try SQLPredicate.order(
        by: query.sortKeys, entity: query.entity, plan: model, dialect: dialect)
    }
    return PostgresQuery(session: self, query: query, condition: condition, terms: terms)
  }

  // A fetch decides.
  func lookup(_ entity: EntityPlan, _ slot: PropertyPlan) -> (any ValueLookup)? { nil }

  /// Finds the keys of objects that are constants in predicates.
  var keyLookup: SQLPredicate.KeyLookup {
    SQLPredicate.keys(in: model) { [model, stores] root in
      stores.store(of: model.entities[root])?.storeID
        ?? UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
    }
  }
}

extension PostgresDialect {
  /// Keys as one text, which a statement casts to an array.
  static func list(_ keys: [ObjectKey]) -> AttributeValue {
    .string("{" + keys.map(String.init).joined(separator: ",") + "}")
  }
}
