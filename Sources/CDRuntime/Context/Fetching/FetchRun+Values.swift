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
    var distinct = DistinctRows(window)
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

  // MARK: By the store

  /// The values by the store alone; nil where that is not enough.
  private func storedValues(
    _ names: [String], _ types: [ExpressionType], isDistinct: Bool
  ) throws -> [[FetchedValue]]? {
    guard pending.isEmpty, usesSQL, context.parent == nil else { return nil }
    defer { reportUnreadable(names) }
    return try stored().values(of: names, types, isDistinct: isDistinct, window, context.rowReport)
  }
}
