// What a fetch asks the store.
extension FetchRun {
  /// The predicate as SQL; nil where there is none.
  func storeCondition() throws(EvaluationError) -> SQLPredicate? {
    guard let predicate else { return nil }
    guard usesSQL else { return .unrestricted }
    return try SQLPredicate.compile(
      predicate, entity: plan, plan: context.model, variables: variables, key: context.keyLookup)
  }

  /// The terms of ORDER BY, which leave no choice; nil where SQL cannot sort so.
  func storeOrder() throws(EvaluationError) -> String? {
    if sortKeys.isEmpty { return insertionOrder }
    guard usesSQL else { return nil }
    return try SQLPredicate.order(by: sortKeys, entity: plan, plan: context.model).map { $0 + ", t0._pk" }
  }

  func windowSQL(offset: Int, limit: Int?) -> String {
    limit != nil || offset > 0 ? " LIMIT \(limit ?? -1) OFFSET \(offset)" : ""
  }

  func rows(
    _ condition: SQLPredicate?, order: String? = nil, window: String = ""
  ) throws -> [ManagedObject] {
    let select = context.model.selects[plan.index]
    let rest = restriction(condition) + " ORDER BY " + (order ?? insertionOrder) + window
    return try context.objects(selecting: select, of: plan, rest, condition?.bindings ?? [])
  }

  func storedCount(_ condition: SQLPredicate?, without keys: [ObjectKey]) throws -> Int {
    let sql =
      "SELECT count(*) FROM \(SQLite.quoted(plan.table)) AS t0"
      + restriction(condition, isWithoutKeys: !keys.isEmpty)
    let connection = try context.reader()
    let statement = try connection.statement(sql)
    defer { statement.reset() }
    statement.bind((condition?.bindings ?? []) + Self.binding(of: keys))
    return try connection.watchingCount { try statement.step() ? Int(statement.int64(0)) : 0 }
  }

  func keys(
    _ condition: SQLPredicate?, order: String, window: String = "", without keys: [ObjectKey] = []
  ) throws -> [FetchedKey] {
    let sql =
      "SELECT t0._pk" + (isMixed ? ", t0._entity" : "") + " FROM \(SQLite.quoted(plan.table)) AS t0"
      + restriction(condition, isWithoutKeys: !keys.isEmpty) + " ORDER BY " + order + window
    return try self.keys(by: sql, (condition?.bindings ?? []) + Self.binding(of: keys))
  }

  /// The keys of rows and of objects with changes, sorted together; nil where the values of those are not to be
  /// had in a form that SQL can sort.
  func keys(
    _ condition: SQLPredicate?, beside changed: [ManagedObject], without keys: [ObjectKey]
  ) throws -> [FetchedKey]? {
    guard let terms = try SQLPredicate.terms(of: sortKeys, entity: plan, plan: context.model),
      changed.count * (terms.count + 2) < 5000
    else { return nil }
    var values: [AttributeValue] = []
    for object in changed {
      values += [.int(object.key), .string(object.scope.plan.name)]
      for (key, term) in zip(sortKeys, terms) {
        let value = try evaluator.value(of: ValueExpression.keyPath(key.keyPath), for: object)
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
      + (isMixed ? "t0._entity" : SQLite.literal(plan.name)) + " AS e\(columns) "
      + "FROM \(SQLite.quoted(plan.table)) AS t0" + restriction(condition, isWithoutKeys: !keys.isEmpty)
      + " UNION ALL VALUES " + Array(repeating: row, count: changed.count).joined(separator: ", ")
      + ") ORDER BY \(order), k" + windowSQL(offset: offset, limit: limit)
    return try self.keys(by: sql, (condition?.bindings ?? []) + Self.binding(of: keys) + values)
  }

  /// Whether what is fetched may be of several entities.
  private var isMixed: Bool { includesSubentities && plan.isPolymorphic }

  private func keys(by sql: String, _ bindings: [AttributeValue]) throws -> [FetchedKey] {
    let statement = try context.reader().statement(sql)
    defer { statement.reset() }
    statement.bind(bindings)
    var found: [FetchedKey] = []
    var current: (name: String, place: Int)?
    while try statement.step() {
      let key = statement.int64(0)
      guard key > 0 else {
        context.reportUnusableKey(key, plan)
        continue
      }
      guard isMixed else {
        found.append(FetchedKey(key: key, entity: plan.index))
        continue
      }
      let name = statement.string(1) ?? ""
      if current?.name != name {
        // A row of an entity that this model has not is nobody's to read.
        guard let place = context.model.places[name] else { continue }
        current = (name, place)
      }
      if let current { found.append(FetchedKey(key: key, entity: current.place)) }
    }
    return found
  }

  /// Keys as the one parameter of a list of any length.
  static func binding(of keys: [ObjectKey]) -> [AttributeValue] {
    keys.isEmpty ? [] : [.string("[" + keys.map(String.init).joined(separator: ",") + "]")]
  }

  /// The WHERE of the wanted entities and a condition.
  func restriction(_ condition: SQLPredicate?, isWithoutKeys: Bool = false) -> String {
    var parts: [String] = []
    if includesSubentities || !plan.isPolymorphic {
      if let kinds = context.model.selects[plan.index].condition { parts.append(kinds) }
    } else {
      parts.append("t0._entity = " + SQLite.literal(plan.name))
    }
    if let condition {
      parts.append(parts.isEmpty && !isWithoutKeys ? condition.sql : "(\(condition.sql))")
    }
    if isWithoutKeys { parts.append("t0._pk NOT IN (SELECT value FROM json_each(?))") }
    return parts.isEmpty ? "" : " WHERE " + parts.joined(separator: " AND ")
  }

  /// What a debug log says where SQL is not enough.
  func evaluationInMemory(_ condition: SQLPredicate?) -> String {
    var reasons = condition?.inexactParts ?? []
    if reasons.isEmpty { reasons = ["the order"] }
    return "cdgen: the fetch of '\(plan.name)' is evaluated in memory for what SQL has no exact form of: "
      + reasons.joined(separator: "; ")
  }
}

extension ManagedObjectContext {
  /// Finds the keys of objects that are constants of predicates.
  var keyLookup: SQLPredicate.KeyLookup {
    let scopes = scopes
    return SQLPredicate.keys(in: model) { scopes[$0].storeID }
  }
}
