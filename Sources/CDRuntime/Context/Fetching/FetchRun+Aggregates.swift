import CSQLite

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension FetchRun {
  /// The values of each group, and behind them its aggregates.
  func aggregates(_ aggregates: [Aggregate], by keyPaths: [String]) throws -> [[FetchedValue]] {
    if let parent = context.parent, isParents {
      return try run(in: parent).aggregates(aggregates, by: keyPaths)
    }
    let check = FetchCheck(graph: context.model.graph, entity: plan.name)
    let types = try keyPaths.map { try check.value(of: $0) }
    var aggregated: [ExpressionType?] = []
    for aggregate in aggregates { aggregated.append(try aggregate.keyPath.map { try check.value(of: $0) }) }
    return try answer { run in
      if run.usesSQL, !run.ignoresChanges,
        let rows = try run.storedAggregates(aggregates, aggregated, by: keyPaths, types)
      {
        return rows
      }
      return try run.calculatedAggregates(aggregates, by: keyPaths)
    }
  }

  // MARK: In memory

  /// Reads the values in the order of insertion, in which fractions are added.
  private func calculatedAggregates(
    _ aggregates: [Aggregate], by keyPaths: [String]
  ) throws -> [[FetchedValue]] {
    var groups: [[FetchedValue]: Int] = [:]
    var members: [(group: [FetchedValue], count: Int64, values: [[EvaluationValue]])] = []
    func group(_ key: [FetchedValue]) -> Int {
      let identity = key.map(\.identity)
      if let place = groups[identity] { return place }
      groups[identity] = members.count
      members.append((key, 0, aggregates.map { _ in [] }))
      return members.count - 1
    }
    let names = keyPaths + aggregates.compactMap(\.keyPath)
    if keyPaths.isEmpty { _ = group([]) }
    if names.isEmpty {
      members[0].count = Int64(try count())
    } else {
      for row in try dictionaries(of: names, isDistinct: false) {
        let place = group(keyPaths.map { row[$0] ?? .attribute(.null) })
        members[place].count += 1
        for (number, aggregate) in aggregates.enumerated() {
          guard let keyPath = aggregate.keyPath, let value = row[keyPath].map(Self.evaluationValue),
            !value.isNull
          else { continue }
          members[place].values[number].append(value)
        }
      }
    }
    return try members.map { member in
      var result = member.group
      for (aggregate, values) in zip(aggregates, member.values) {
        let value: EvaluationValue =
          switch aggregate.function {
          case .count: .int(aggregate.keyPath == nil ? member.count : Int64(values.count))
          case .sum: try Aggregation.aggregate(values, .sum)
          case .average: try Aggregation.aggregate(values, .avg)
          case .min: try Aggregation.aggregate(values, .min)
          case .max: try Aggregation.aggregate(values, .max)
          }
        result.append(Self.fetched(value))
      }
      return result
    }
  }

  static func evaluationValue(_ value: FetchedValue) -> EvaluationValue {
    switch value {
    case .attribute(let value): .value(value)
    case .object(let id): id.map { .reference($0.reference) } ?? .null
    }
  }

  // MARK: By SQL

  /// What SQL calculates; nil where it has no exact form of something.
  private func storedAggregates(
    _ aggregates: [Aggregate], _ aggregated: [ExpressionType?], by keyPaths: [String],
    _ types: [ExpressionType]
  ) throws -> [[FetchedValue]]? {
    guard pending.isEmpty, context.parent == nil else { return nil }
    let condition = try storeCondition()
    guard condition?.isExact ?? true,
      let columns = try FetchedColumns(keyPaths, types, of: plan, in: context),
      !columns.hasOpaque
    else { return nil }
    var terms: [String] = []
    var cells: [CellType] = []
    var compiler = SQLCompiler(
      entity: plan, model: context.model, variables: [:], now: Date(), key: SQLPredicate.noKey)
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
      "SELECT \(all.isEmpty ? "1" : all.joined(separator: ", ")) FROM \(SQLite.quoted(plan.table)) AS t0"
      + restriction(condition)
    if columns.count > 0 {
      sql +=
        " GROUP BY " + (1...columns.count).map(String.init).joined(separator: ", ") + " ORDER BY min(t0._pk)"
    } else if terms.isEmpty {
      return nil
    }
    let connection = try context.reader()
    let statement = try connection.statement(sql)
    // The one row of an aggregate over all rows may be counted in one instruction.
    func step() throws -> Bool {
      try columns.count > 0 ? statement.step() : connection.watchingCount { try statement.step() }
    }
    defer {
      statement.reset()
      columns.report(to: context)
    }
    statement.bind(condition?.bindings ?? [])
    let first = Int(statement.columnCount) - terms.count
    let row = RowReader(
      statement: statement.handle, map: cells.indices.map { Int32($0 + first) }, report: context.rowReport)
    var rows: [[FetchedValue]] = []
    while try step() {
      rows.append(
        columns.values(statement) + cells.enumerated().map { .attribute(row.value($0.offset, $0.element)) })
    }
    return rows
  }

  /// An aggregate in SQL, and how its result is read; nil where memory may come to another one.
  private func term(
    _ function: Aggregate.Function, _ value: SQLValue, _ type: ExpressionType?
  ) -> (String, CellType)? {
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
      guard case .attribute(let type)? = type, let cell = CellType(type, in: context.model.graph) else {
        return nil
      }
      return ("\(function.rawValue)(\(sql))", cell)
    default: return nil
    }
  }
}
