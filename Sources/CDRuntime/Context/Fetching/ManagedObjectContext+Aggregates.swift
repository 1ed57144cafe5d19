extension ManagedObjectContext {
  /// The aggregates of each group of objects, by their names, with the group's values by their key paths. Groups come in
  /// the order of their first objects.
  ///
  /// Unsaved changes count as if they had been saved. Where there are none, SQL calculates what it has an exact form of.
  ///
  /// - Throws: As ``fetch(_:)``; ``FetchError/notAValue(entity:key:)`` for a key path that leads to many values;
  ///   ``FetchError/evaluation(_:)`` for a sum of integers beyond Int64, and for a sum or an order of values that have
  ///   none.
  public func aggregates<Object: ManagedObject>(
    for request: AggregateRequest<Object>
  ) throws -> [[String: FetchedValue]] {
    var fetch = FetchRequest<Object>(entityName: request.entityName, where: request.predicate)
    let plan = try entityPlan(of: fetch)
    fetch.variables = request.variables
    fetch.includesSubentities = request.includesSubentities
    fetch.includesPendingChanges = request.includesPendingChanges
    fetch.propertiesToFetch = request.groupBy + request.aggregates.compactMap(\.keyPath)
    try catchUpForFetch()
    let run = try FetchRun(fetch, of: plan, in: self)
    let rows = try run.aggregates(request.aggregates, by: request.groupBy)
    let names = request.groupBy + request.aggregates.map(\.name)
    let groups = rows.map { Dictionary(zip(names, $0), uniquingKeysWith: { _, last in last }) }
    guard let having = request.having else { return groups }
    let evaluator = PredicateEvaluator(variables: request.variables.mapValues { EvaluationValue($0) })
    do {
      return try MatchBudget.run(isCancellable: true) {
        try groups.filter { try evaluator.matches(having, Self.subject($0)) }
      }
    } catch EvaluationError.cancelled {
      throw CancellationError()
    } catch let error as EvaluationError {
      throw FetchError(error)
    }
  }

  /// A group as what a condition is held against: key paths lead on from key to key.
  private static func subject(_ group: [String: FetchedValue]) -> EvaluationValue {
    func inserted(_ value: EvaluationValue, _ keys: ArraySlice<Substring>, in whole: EvaluationValue?)
      -> EvaluationValue
    {
      guard let key = keys.first.map(String.init) else { return value }
      var values: [String: EvaluationValue] = [:]
      if case .dictionary(let known)? = whole { values = known }
      values[key] = inserted(value, keys.dropFirst(), in: values[key])
      return .dictionary(values)
    }
    var result: EvaluationValue = .dictionary([:])
    for (name, value) in group.sorted(by: { $0.key < $1.key }) {
      result = inserted(FetchRun.evaluationValue(value), name.split(separator: ".")[...], in: result)
    }
    return result
  }
}
