#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A fetch that has been checked against the model and can be answered.
///
/// The unsaved changes decide how it is answered:
/// - There are none: SQL selects, sorts and counts. If SQL has no exact form of the predicate, it selects candidate
///   rows, and the evaluator does the rest.
/// - There are some, but the answer for objects without changes does not depend on them (``DependencyAnalysis``): SQL
///   selects among objects without changes, and the evaluator among objects with changes.
/// - The answer for other objects may depend on the changes too: the evaluator selects among all objects.
struct FetchRun {
  private let context: ManagedObjectContext
  let plan: EntityPlan
  private let predicate: FetchPredicate?
  private let sortKeys: [SortKey]
  /// The properties that are read of the objects, needed to find out whether a derived attribute is read.
  private let propertiesToFetch: [String]
  var limit: Int?
  var offset: Int
  private let includesSubentities: Bool
  private let evaluator: PredicateEvaluator
  private let constants: [String: any FormatArgument]
  private let variables: [String: EvaluationValue]
  /// The objects with changes that count, including deleted objects.
  private let pending: [ManagedObject]
  /// Whether SQL may evaluate the predicate and the order.
  private var usesSQL = true
  /// Whether the context has changes that must not count.
  private let ignoresChanges: Bool
  /// Whether changes count, if there are any.
  private let includesChanges: Bool

  /// - Parameters:
  ///   - fetchSource: The object whose fetched property is read.
  ///   - now: The result of `now()`, in all contexts and in the store.
  ///   - isFollowing: Whether the fetch learns of others' saves first. A fetch that belongs to another one need not.
  /// - Throws: ``FetchError`` if the predicate or the order does not match the model, or if a variable has no value;
  ///   ``StoreError/noStore(entity:)``.
  init<Object: ManagedObject>(
    _ request: FetchRequest<Object>, of plan: EntityPlan, in context: ManagedObjectContext,
    fetchSource: ManagedObject? = nil, now: Date = Date(), isFollowing: Bool = true
  ) throws {
    guard context.storeReader.hasStore(of: plan) else { throw StoreError.noStore(entity: plan.name) }
    self.context = context
    self.plan = plan
    sortKeys = request.sortKeys
    propertiesToFetch = request.propertiesToFetch
    limit = request.limit.map { max(0, $0) }
    offset = max(0, request.offset)
    includesSubentities = request.includesSubentities
    constants = request.variables
    var values = request.variables.mapValues { EvaluationValue($0.expressionConstant) }
    if let fetchSource { values["FETCH_SOURCE"] = .subject(fetchSource) }
    variables = values
    evaluator = PredicateEvaluator(variables: values, now: now, model: context.model)
    let check = FetchCheck(graph: context.model.graph, entity: plan.name)
    predicate = try check.checked(
      request.predicate, sortKeys: request.sortKeys, fetchSource: fetchSource?.scope.plan.name,
      boundNames: values.keys)
    // Objects of a child whose values were set back have the parent's values again.
    if context.parent != nil, !context.pending.isEmpty { context.forgetSetBackValues() }
    if isFollowing, context.hasPendingInLineage { try context.catchUpWithServer(of: plan) }
    if context.model.hasDerivedSlots, context.hasPendingInLineage {
      context.followWithDerivedChanges()
      // The last changed object may have no changes any more.
      if request.includesPendingChanges, context.hasPendingInLineage {
        let dependencies = DependencyAnalysis(plan: plan, model: context.model, variables: Set(values.keys))
        let keyPaths = request.sortKeys.map(\.keyPath) + request.propertiesToFetch
        if dependencies.mayRead(context.model.derivedNames, predicate, keyPaths) {
          let failures = context.readFailures.count
          context.deriveLineageForFetch()
          // An attribute has its former value if its derivation could not read the store.
          do throws(EvaluationError) {
            try context.checkReads(since: failures)
          } catch { throw FetchError(error) }
        }
      }
    }
    let changed = context.pending.isEmpty ? [] : context.pending.filter(\.isPending)
    pending = request.includesPendingChanges ? changed : []
    includesChanges = request.includesPendingChanges
    ignoresChanges = !request.includesPendingChanges && !changed.isEmpty
  }

  /// Returns the same request, for another context.
  private func request() -> FetchRequest<ManagedObject> {
    var request = FetchRequest<ManagedObject>(entityName: plan.name, where: predicate)
    request.variables = constants
    request.sortKeys = sortKeys
    request.propertiesToFetch = propertiesToFetch
    request.limit = limit
    request.offset = offset
    request.includesSubentities = includesSubentities
    return request
  }

  /// Whether the store can answer for objects without changes.
  private var storeDecides: Bool {
    guard let predicate, !pending.isEmpty else { return true }
    return dependencies.isIndependent(predicate, of: pendingRoots)
  }

  /// Whether the store's order of objects without changes is right.
  private var storeSorts: Bool {
    sortKeys.isEmpty || pending.isEmpty || dependencies.isIndependent(sortKeys, of: pendingRoots)
  }

  private var dependencies: DependencyAnalysis {
    DependencyAnalysis(plan: plan, model: context.model, variables: Set(variables.keys))
  }
  private var pendingRoots: Set<Int> { Set(pending.map(\.scope.plan.root)) }

  /// Whether an object has one of the requested entities.
  private func isWanted(_ object: ManagedObject) -> Bool {
    let entity = object.scope.plan
    return includesSubentities ? entity.isKind(of: plan) : entity.index == plan.index
  }

  /// The objects of a list that meet the predicate.
  private func matching(_ objects: [ManagedObject]) throws(EvaluationError) -> [ManagedObject] {
    guard let predicate else { return objects }
    let failures = context.readFailures.count
    var matching: [ManagedObject] = []
    for object in objects where try evaluator.matches(predicate, object) { matching.append(object) }
    try context.checkReads(since: failures)
    return matching
  }

  /// The objects with changes that meet the predicate, in key order.
  private func matchingChanged() throws(EvaluationError) -> [ManagedObject] {
    let changed = pending.filter { !$0.isDeleted && isWanted($0) }
    return try matching(changed.sorted { $0.key < $1.key })
  }

  /// Objects in the order of the sort keys.
  private func sorted(_ objects: [ManagedObject]) throws(EvaluationError) -> [ManagedObject] {
    let failures = context.readFailures.count
    let sorted = try evaluator.sorted(objects, by: sortKeys)
    // A value that could not be read has been sorted as nil.
    try context.checkReads(since: failures)
    return sorted
  }

  /// The range of a list that the request asks for.
  private func window<Element>(_ elements: [Element]) -> [Element] {
    if offset == 0, limit.map({ $0 >= elements.count }) ?? true { return elements }
    let rest = elements.dropFirst(offset)
    return Array(limit.map { rest.prefix($0) } ?? rest)
  }

  /// Runs a body and converts evaluation errors to fetch errors.
  ///
  /// If SQLite refuses the statement or fails while running it, the evaluator answers the fetch instead: SQL may
  /// compute a sum or match a pattern that evaluation from left to right never reaches.
  ///
  /// - Throws: `CancellationError` if the task is cancelled while regular expressions are being matched.
  private func answer<Result>(_ body: (FetchRun) throws -> Result) throws -> Result {
    do {
      return try MatchBudget.run(isCancellable: true) {
        do {
          return try body(self)
        } catch let error as StoreError where error.isOfStatement && MatchBudget.current?.isCancelled == true
        {
          throw EvaluationError.cancelled
        }
      }
    } catch EvaluationError.cancelled {
      throw CancellationError()
    } catch let error as EvaluationError {
      throw FetchError(error)
    } catch let error as StoreError where usesSQL && error.isOfStatement {
      StoreLog.report(inMemory("the fetch of '\(plan.name)' is evaluated in memory: \(error)"))
      var other = self
      other.usesSQL = false
      // SQL may have spent its budget on rows that the evaluator leaves out.
      return try MatchBudget.run(isCancellable: true, isAnew: true) { try other.answer(body) }
    }
  }
}

extension FetchError {
  /// Converts an evaluation's error to a fetch error.
  init(_ error: EvaluationError) {
    switch error {
    case .unsupported(let construct): self = .unsupported(construct)
    case .unboundVariable(let name): self = .missingVariable(name)
    case .matchingTooCostly(let pattern): self = .patternTooCostly(pattern: pattern)
    default: self = .evaluation("\(error)")
    }
  }
}

// The queries that a fetch sends to the store.
extension FetchRun {
  /// The query for the store.
  var query: StoreQuery {
    StoreQuery(
      entity: plan, includesSubentities: includesSubentities, predicate: predicate, variables: variables,
      now: evaluator.now, sortKeys: sortKeys, storeDecides: usesSQL)
  }

  /// The prepared answer of the store.
  func stored() throws -> any StoreAnswer { try context.reader().prepare(query) }

  /// The range of the answer that the request asks for.
  private var window: StoreWindow { StoreWindow(offset: offset, limit: limit) }

  /// All objects of the requested entities.
  private func allRows() throws -> [ManagedObject] {
    let all = try context.reader().prepare(
      StoreQuery(
        entity: plan, includesSubentities: includesSubentities, predicate: nil, variables: [:],
        now: evaluator.now, sortKeys: [], storeDecides: true))
    return try context.objects(of: all)
  }

  func keys(
    _ query: any StoreAnswer, _ window: StoreWindow = StoreWindow(), without keys: [ObjectKey] = []
  ) throws -> [FetchedKey] {
    try query.keys(window, without: keys) { context.reportUnusableKey($0, plan) }
  }

  /// The keys of rows and of objects with changes, sorted together; nil if the store cannot sort them.
  func keys(
    _ query: any StoreAnswer, mergedWith changed: [ManagedObject], without keys: [ObjectKey]
  ) throws -> [FetchedKey]? {
    let failures = context.readFailures.count
    var others: [(key: FetchedKey, values: [EvaluationValue])] = []
    for object in changed {
      let values = try sortKeys.map { key throws(EvaluationError) in
        try evaluator.value(of: ValueExpression.keyPath(key.keyPath), for: object)
      }
      others.append((FetchedKey(key: object.key, entity: object.scope.plan.index), values))
    }
    try context.checkReads(since: failures)
    return try query.keys(window, mergedWith: others, without: keys) { context.reportUnusableKey($0, plan) }
  }

  /// The log message for a fetch that the store cannot answer alone.
  private func evaluationInMemory(_ query: any StoreAnswer) -> StoreLogEvent {
    let reasons = query.inexactParts.isEmpty ? ["the order"] : query.inexactParts
    return inMemory(
      "the fetch of '\(plan.name)' is evaluated in memory, because SQL has no exact form of: "
        + reasons.joined(separator: "; "))
  }

  private func inMemory(_ message: String) -> StoreLogEvent {
    .evaluationInMemory(entity: plan.name, message: message)
  }

  /// Reports values that could not be read to the context.
  ///
  /// - Parameter names: The names of the values, in the order of the columns.
  private func reportUnreadable(_ names: [String]) {
    let report = context.rowReport
    guard !report.isEmpty else { return }
    func observe(_ reason: ObservedError.Reason, _ column: Int) {
      context.observe(reason, plan.name, column < names.count ? names[column] : nil)
    }
    for column in report.columns { observe(.wrongType, column) }
    for (column, reason) in report.unreadable { observe(.unreadableFile(reason), column) }
    report.removeAll()
  }
}

extension FetchRun {
  func objects() throws -> [ManagedObject] {
    try answer { run in
      if let parent = context.parent { return try run.objects(by: parent) }
      if ignoresChanges, let keys = try run.keysRegardlessOfChanges() { return try run.objects(of: keys) }
      return pending.isEmpty ? try run.storedObjects() : try run.objectsWithChanges()
    }
  }

  func count() throws -> Int {
    try answer { run in
      if let parent = context.parent {
        return run.isParents ? try run.run(in: parent).count() : try run.objects(by: parent).count
      }
      if ignoresChanges, let keys = try run.keysRegardlessOfChanges() { return keys.count }
      guard storeDecides else { return try run.objectsWithChanges().count }
      let query = try run.stored()
      guard query.isExact else {
        return pending.isEmpty ? try run.storedObjects().count : try run.objectsWithChanges().count
      }
      let changed = try matchingChanged().count
      let all = try query.count(without: pendingKeys) + changed
      return min(limit ?? Int.max, max(0, all - offset))
    }
  }

  /// The keys of the fetched objects, with the indices of their entities.
  func keys() throws -> [FetchedKey] {
    try answer { run in
      if let parent = context.parent { return try run.keys(by: parent) }
      if ignoresChanges, let keys = try run.keysRegardlessOfChanges() { return keys }
      return try run.storedKeys()
        ?? run.objects().map { FetchedKey(key: $0.key, entity: $0.scope.plan.index) }
    }
  }

  // MARK: With nothing unsaved

  private func storedObjects() throws -> [ManagedObject] {
    let query = try stored()
    guard query.isSorted else {
      StoreLog.report(evaluationInMemory(query))
      let candidates = try context.objects(of: query, isSorted: false)
      try context.prefetchSeparateObjects(predicate, sortKeys, of: candidates, plan)
      return window(try sorted(try matching(candidates)))
    }
    return try context.objects(of: query, window)
  }

  // MARK: With unsaved changes

  private func objectsWithChanges() throws -> [ManagedObject] {
    var objects: [ManagedObject]
    if storeDecides {
      let query = try self.stored()
      let stored: [ManagedObject]
      if query.isSorted, let limit, storeSorts {
        // The request needs no more rows than this, even if all changed objects are among them.
        let (most, isTooLarge) = limit.addingReportingOverflow(pending.count)
        let (end, isTooFar) = most.addingReportingOverflow(offset)
        stored = try context.objects(of: query, StoreWindow(limit: isTooLarge || isTooFar ? nil : end))
      } else {
        stored = try context.objects(of: query, isSorted: false)
      }
      objects = stored.filter { !$0.isPending && !$0.isDeleted }
      if !query.isExact {
        StoreLog.report(evaluationInMemory(query))
        try context.prefetchSeparateObjects(predicate, [], of: objects, plan)
        objects = try matching(objects)
      }
      objects += try matchingChanged()
    } else {
      StoreLog.report(
        inMemory("the fetch of '\(plan.name)' is evaluated in memory: it reads objects with unsaved changes"))
      // The answer for rows depends on the changes. Objects with changes may have no rows: they are new, or another
      // context has deleted the rows.
      objects = try matching(allRows().filter { !$0.isPending && !$0.isDeleted }) + matchingChanged()
    }
    // The order of keys is the order of insertion.
    objects.sort { $0.key < $1.key }
    return window(try sorted(objects))
  }

  // MARK: Keys

  /// The keys from SQL alone; nil if the store cannot answer alone.
  private func storedKeys() throws -> [FetchedKey]? {
    guard storeDecides, storeSorts else { return nil }
    let query = try stored()
    guard query.isSorted else { return nil }
    if pending.isEmpty { return try keys(query, window) }
    let changed = try matchingChanged()
    if changed.isEmpty { return window(try keys(query, without: pendingKeys)) }
    if !sortKeys.isEmpty { return try keys(query, mergedWith: changed, without: pendingKeys) }
    var keys = try keys(query, without: pendingKeys)
    keys += changed.map { FetchedKey(key: $0.key, entity: $0.scope.plan.index) }
    keys.sort { $0.key < $1.key }
    return window(keys)
  }

  /// The keys that the store would answer if the context had no changes.
  private func keysRegardlessOfChanges() throws -> [FetchedKey]? {
    if let keys = try storedKeys() { return keys }
    // The evaluator would read the changed values.
    let other = try contextWithoutChanges()
    return try withExtendedLifetime(other) {
      try FetchRun(request(), of: plan, in: other, now: evaluator.now).objects().map {
        FetchedKey(key: $0.key, entity: $0.scope.plan.index)
      }
    }
  }

  /// A new context, which reads the same state of the store: the snapshot that the context holds, if it holds one.
  private func contextWithoutChanges() throws -> ManagedObjectContext {
    let session: (any StoreSession)? = try context.storeReader.isSnapshotOpen ? context.reader() : nil
    return ManagedObjectContext(context.persistentStoreCoordinator, readingBy: session)
  }

  private func objects(of keys: [FetchedKey]) throws -> [ManagedObject] {
    try context.objects(of: keys[...], plan)
  }

  /// The keys of the table's objects whose rows do not count.
  private var pendingKeys: [ObjectKey] {
    // An object that undo has brought back has a key here too, because another context may have inserted its row
    // again.
    pending.filter { $0.scope.plan.root == plan.root && (!$0.isInserted || $0.version != 0) }.map(\.key)
  }
}

// Values of objects, as dictionaries.
extension FetchRun {
  /// Returns the values of key paths for each object.
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
    StoreLog.report(inMemory("the values of '\(plan.name)' are read from objects"))
    if ignoresChanges {
      // The objects of this context have changed values.
      let other = try contextWithoutChanges()
      return try withExtendedLifetime(other) {
        try FetchRun(request(), of: plan, in: other, now: evaluator.now)
          .evaluatedValues(names, types, isDistinct: isDistinct)
      }
    }
    let paths = zip(names, types).map { name, type in
      if case .object = type { return (path: ValueExpression.keyPath(name), isObject: true) }
      return (path: ValueExpression.keyPath(name), isObject: false)
    }
    func values(_ object: ManagedObject) throws(EvaluationError) -> [FetchedValue] {
      let failures = context.readFailures.count
      var values: [FetchedValue] = []
      for (path, isObject) in paths {
        let value = try evaluator.value(of: path, for: object)
        values.append(isObject && value.isNull ? .object(nil) : Self.fetched(value))
      }
      // A path through an object that could not be read gives nil.
      try context.checkReads(since: failures)
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
    // A checked key path leads to neither of these.
    case .collection, .reference: return .attribute(.null)
    }
  }

  // MARK: By the store

  /// The values from the store alone; nil if the store cannot answer alone.
  private func storedValues(
    _ names: [String], _ types: [ExpressionType], isDistinct: Bool
  ) throws -> [[FetchedValue]]? {
    guard pending.isEmpty, usesSQL, context.parent == nil else { return nil }
    defer { reportUnreadable(names) }
    return try stored().values(of: names, types, isDistinct: isDistinct, window, context.rowReport)
  }
}

extension FetchRun {
  /// Returns the values of each group, followed by its aggregates.
  @_optimize(none)
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

  /// Reads the values in the order of insertion, which is the order in which floating-point values are added.
  @_optimize(none)
  private func calculatedAggregates(
    _ aggregates: [Aggregate], by keyPaths: [String]
  ) throws -> [[FetchedValue]] {
    var groups: [[FetchedValue]: Int] = [:]
    var members: [(group: [FetchedValue], count: Int64, values: [[EvaluationValue]])] = []
    func group(_ key: [FetchedValue]) -> Int {
      let identity = key.map(\.identity)
      if let index = groups[identity] { return index }
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
        let index = group(keyPaths.map { row[$0] ?? .attribute(.null) })
        members[index].count += 1
        for (number, aggregate) in aggregates.enumerated() {
          guard let keyPath = aggregate.keyPath, let value = row[keyPath].map(Self.evaluationValue),
            !value.isNull
          else { continue }
          members[index].values[number].append(value)
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

  /// The aggregates that the store calculates; nil if it has no exact form of one of them.
  private func storedAggregates(
    _ aggregates: [Aggregate], _ aggregated: [ExpressionType?], by keyPaths: [String],
    _ types: [ExpressionType]
  ) throws -> [[FetchedValue]]? {
    guard pending.isEmpty, context.parent == nil else { return nil }
    defer { reportUnreadable(keyPaths) }
    return try stored().aggregates(aggregates, aggregated, by: keyPaths, types, context.rowReport)
  }
}

// A child's fetch: the parent answers it, and the child's own changes are applied.
extension FetchRun {
  /// Whether the parent's answer is the child's answer.
  private var isParents: Bool { (pending.isEmpty || !includesChanges) && variables["FETCH_SOURCE"] == nil }

  /// Returns the same fetch in the parent.
  func run(in parent: ManagedObjectContext) throws -> FetchRun {
    context.noticeDeletions()
    return try FetchRun(parentRequest(), of: plan, in: parent, now: evaluator.now, isFollowing: false)
  }

  private func parentRequest() -> FetchRequest<ManagedObject> {
    var request = request()
    request.includesPendingChanges = includesChanges
    return request
  }

  func objects(by parent: ManagedObjectContext) throws -> [ManagedObject] {
    context.noticeDeletions()
    // The child's objects with changes are among them, even if the changes do not count.
    if isParents { return context.childInstances(of: try run(in: parent).objects()) }
    guard storeDecides, variables["FETCH_SOURCE"] == nil else {
      return try objects(by: parent, parentDecides: false)
    }
    do {
      return try objects(by: parent, parentDecides: true)
    } catch FetchError.evaluation, FetchError.patternTooCostly {
      // The parent also evaluates objects that the child has changed or deleted. Their values in the parent do not count.
      return try MatchBudget.run(isCancellable: true, isAnew: true) {
        try objects(by: parent, parentDecides: false)
      }
    }
  }

  /// - Parameter parentDecides: Whether the parent evaluates the predicate for objects that the child has not changed.
  private func objects(by parent: ManagedObjectContext, parentDecides: Bool) throws -> [ManagedObject] {
    var request = parentRequest()
    (request.limit, request.offset, request.sortKeys) = (nil, 0, [])
    if !parentDecides { request.predicate = nil }
    let parentObjects = try FetchRun(
      request, of: plan, in: parent, now: evaluator.now, isFollowing: false
    ).objects()
    var objects = context.childInstances(of: parentObjects)
    objects = objects.filter { !$0.isPending && !$0.isDeleted }
    if !parentDecides { objects = try matching(objects) }
    objects += try matchingChanged()
    objects.sort { $0.key < $1.key }
    return window(try sorted(objects))
  }

  func keys(by parent: ManagedObjectContext) throws -> [FetchedKey] {
    if isParents { return try run(in: parent).keys() }
    return try objects(by: parent).map { FetchedKey(key: $0.key, entity: $0.scope.plan.index) }
  }
}
