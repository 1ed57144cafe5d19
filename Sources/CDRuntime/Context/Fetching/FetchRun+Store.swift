// What a fetch asks the store.
extension FetchRun {
  /// The question to the store.
  var query: StoreQuery {
    StoreQuery(
      entity: plan, includesSubentities: includesSubentities, predicate: predicate, variables: variables,
      sortKeys: sortKeys, storeDecides: usesSQL)
  }

  /// What the store knows of the answer.
  func stored() throws -> any StoreAnswer { try context.reader().prepare(query) }

  /// The part of the answer that the request asks for.
  var window: StoreWindow { StoreWindow(offset: offset, limit: limit) }

  /// All objects of the wanted entities.
  func allRows() throws -> [ManagedObject] {
    let all = try context.reader().prepare(
      StoreQuery(
        entity: plan, includesSubentities: includesSubentities, predicate: nil, variables: [:], sortKeys: [],
        storeDecides: true))
    return try context.objects(of: all)
  }

  func keys(
    _ query: any StoreAnswer, _ window: StoreWindow = StoreWindow(), without keys: [ObjectKey] = []
  ) throws -> [FetchedKey] {
    try query.keys(window, without: keys) { context.reportUnusableKey($0, plan) }
  }

  /// The keys of rows and of objects with changes, sorted together; nil where the store cannot sort those.
  func keys(
    _ query: any StoreAnswer, beside changed: [ManagedObject], without keys: [ObjectKey]
  ) throws -> [FetchedKey]? {
    var others: [(key: FetchedKey, values: [EvaluationValue])] = []
    for object in changed {
      let values = try sortKeys.map { key throws(EvaluationError) in
        try evaluator.value(of: ValueExpression.keyPath(key.keyPath), for: object)
      }
      others.append((FetchedKey(key: object.key, entity: object.scope.plan.index), values))
    }
    return try query.keys(window, beside: others, without: keys) { context.reportUnusableKey($0, plan) }
  }

  /// What a debug log says where the store is not enough.
  func evaluationInMemory(_ query: any StoreAnswer) -> String {
    let reasons = query.inexactParts.isEmpty ? ["the order"] : query.inexactParts
    return "cdgen: the fetch of '\(plan.name)' is evaluated in memory for what SQL has no exact form of: "
      + reasons.joined(separator: "; ")
  }

  /// Tells the context of values that could not be read.
  ///
  /// - Parameter names: Those of the values, in the order of the columns.
  func reportUnreadable(_ names: [String]) {
    let report = context.rowReport
    guard !report.isEmpty else { return }
    func observe(_ reason: ObservedError.Reason, _ column: Int) {
      context.observe(
        ObservedError(
          reason: reason, entity: plan.name, property: column < names.count ? names[column] : nil,
          objectID: nil))
    }
    for column in report.columns { observe(.wrongType, column) }
    for (column, reason) in report.unreadable { observe(.unreadableFile(reason), column) }
    report.removeAll()
  }
}
