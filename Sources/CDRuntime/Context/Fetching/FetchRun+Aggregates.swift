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

  /// What the store calculates; nil where it has no exact form of something.
  private func storedAggregates(
    _ aggregates: [Aggregate], _ aggregated: [ExpressionType?], by keyPaths: [String],
    _ types: [ExpressionType]
  ) throws -> [[FetchedValue]]? {
    guard pending.isEmpty, context.parent == nil else { return nil }
    defer { reportUnreadable(keyPaths) }
    return try stored().aggregates(aggregates, aggregated, by: keyPaths, types, context.rowReport)
  }
}
