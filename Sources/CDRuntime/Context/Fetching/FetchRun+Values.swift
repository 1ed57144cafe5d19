// Values of objects, as dictionaries.
extension FetchRun {
  /// The values of key paths for each object.
  func dictionaries(of keyPaths: [String], isDistinct: Bool) throws -> [[String: FetchedValue]] {
    if let parent = context.parent, isParents {
      return try run(in: parent).dictionaries(of: keyPaths, isDistinct: isDistinct)
    }
    var names: [String] = []
    for name in keyPaths where !names.contains(name) { names.append(name) }
    let check = FetchCheck(graph: context.model.graph, entity: plan.name)
    let types = try names.map { try check.value(of: $0) }
    let rows = try answer { run in
      try run.storedValues(names, types, isDistinct: isDistinct)
        ?? run.evaluatedValues(names, types, isDistinct: isDistinct)
    }
    return rows.map { row in Dictionary(zip(names, row), uniquingKeysWith: { first, _ in first }) }
  }

  // MARK: In memory

  private func evaluatedValues(
    _ names: [String], _ types: [ExpressionType], isDistinct: Bool
  ) throws -> [[FetchedValue]] {
    SQLLog.note("cdgen: the values of '\(plan.name)' are read from objects")
    if ignoresChanges {
      // The objects of this context have the changed values.
      let other = ManagedObjectContext(context.persistentStoreCoordinator)
      return try withExtendedLifetime(other) {
        try FetchRun(request(), of: plan, in: other).evaluatedValues(names, types, isDistinct: isDistinct)
      }
    }
    let paths = zip(names, types).map { name, type in
      if case .object = type { return (path: ValueExpression.keyPath(name), isObject: true) }
      return (path: ValueExpression.keyPath(name), isObject: false)
    }
    func values(_ object: ManagedObject) throws(EvaluationError) -> [FetchedValue] {
      var values: [FetchedValue] = []
      for (path, isObject) in paths {
        let value = try evaluator.value(of: path, for: object)
        values.append(isObject && value.isNull ? .object(nil) : Self.fetched(value))
      }
      return values
    }
    guard isDistinct else { return try objects().map { try values($0) } }
    var all = self
    all.limit = nil
    all.offset = 0
    var distinct = DistinctRows(offset: offset, limit: limit)
    for object in try all.objects() where !distinct.isFull { distinct.add(try values(object)) }
    return distinct.rows
  }

  static func fetched(_ value: EvaluationValue) -> FetchedValue {
    switch value {
    case .value(let value): return .attribute(value)
    case .float(let number): return .attribute(.double(Double(number)))
    case .subject(let subject): return .object((subject as? ManagedObject)?.objectID)
    case .dictionary(let fields):
      return .attribute(
        .composite(
          fields.mapValues { field in
            if case .attribute(let value) = fetched(field) { return value }
            return .null
          }))
    // A checked key path leads to neither.
    case .collection, .reference: return .attribute(.null)
    }
  }

  // MARK: By SQL

  /// The values by SQL alone; nil where that is not enough.
  private func storedValues(
    _ names: [String], _ types: [ExpressionType], isDistinct: Bool
  ) throws -> [[FetchedValue]]? {
    guard pending.isEmpty, usesSQL, context.parent == nil else { return nil }
    let condition = try storeCondition()
    guard condition?.isExact ?? true, let order = try storeOrder(),
      let columns = try FetchedColumns(names, types, of: plan, in: context)
    else { return nil }
    // Equal values stand together where the order is one of them; where it is not, the first one is kept here.
    let isGrouped =
      isDistinct && !columns.hasOpaque
      && sortKeys.allSatisfy { names.contains($0.keyPath) && $0.options.isEmpty }
    var sql =
      "SELECT \(columns.sql) FROM \(SQLite.quoted(plan.table)) AS t0" + restriction(condition)
    if isGrouped {
      sql += " GROUP BY " + (1...columns.count).map(String.init).joined(separator: ", ")
      // The last term is the key's.
      let terms = try SQLPredicate.order(by: sortKeys, entity: plan, plan: context.model) ?? ""
      sql += " ORDER BY " + (terms.isEmpty ? "" : terms + ", ") + "min(t0._pk)"
    } else {
      sql += " ORDER BY " + order
    }
    if isGrouped || !isDistinct { sql += windowSQL(offset: offset, limit: limit) }
    let statement = try context.reader().statement(sql)
    defer {
      statement.reset()
      columns.report(to: context)
    }
    statement.bind(condition?.bindings ?? [])
    if isGrouped || !isDistinct {
      var rows: [[FetchedValue]] = []
      while try statement.step() { rows.append(columns.values(statement)) }
      return rows
    }
    var distinct = DistinctRows(offset: offset, limit: limit)
    while !distinct.isFull, try statement.step() { distinct.add(columns.values(statement)) }
    return distinct.rows
  }
}

/// Rows each of which comes once, where its first one stood.
private struct DistinctRows {
  let offset: Int
  let limit: Int?
  private(set) var rows: [[FetchedValue]] = []
  private var seen: Set<[FetchedValue]> = []

  init(offset: Int, limit: Int?) {
    self.offset = offset
    self.limit = limit
  }

  var isFull: Bool { limit.map { rows.count >= $0 } ?? false }

  mutating func add(_ row: [FetchedValue]) {
    if seen.insert(row.map(\.identity)).inserted, seen.count > offset { rows.append(row) }
  }
}
