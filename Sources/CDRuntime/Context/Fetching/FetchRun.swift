/// One fetch, checked against the model and ready to be answered.
///
/// How it is answered depends on the unsaved changes:
/// - There are none: SQL chooses, sorts and counts. Where SQL is not exact it narrows the rows down, and the evaluator
///   does the rest.
/// - There are some, and the answer for an object without changes does not depend on them (``DependencyAnalysis``): SQL
///   chooses among objects without changes, the evaluator among objects with changes.
/// - The answer for other objects may depend on the changes too: the evaluator chooses among all objects.
struct FetchRun {
  let context: ManagedObjectContext
  let plan: EntityPlan
  let predicate: FetchPredicate?
  let sortKeys: [SortKey]
  /// What is read of the objects, by which it is known whether something derived is.
  let propertiesToFetch: [String]
  var limit: Int?
  var offset: Int
  let includesSubentities: Bool
  let evaluator: PredicateEvaluator
  let constants: [String: ExpressionConstant]
  let variables: [String: EvaluationValue]
  /// The objects with changes that count, deleted ones among them.
  let pending: [ManagedObject]
  /// Whether SQL may decide more than which rows there are.
  var usesSQL = true
  /// Whether there are changes that are not to count.
  let ignoresChanges: Bool
  /// Whether changes are to count, where there are any.
  let includesChanges: Bool

  /// - Parameter fetchSource: The object whose fetched property is asked for.
  /// - Throws: ``FetchError`` where the predicate or the order does not fit the model, or a variable has no
  ///   value; ``StoreError/noStore(entity:)``.
  init<Object: ManagedObject>(
    _ request: FetchRequest<Object>, of plan: EntityPlan, in context: ManagedObjectContext,
    fetchSource: ManagedObject? = nil
  ) throws {
    guard context.stores.store(of: plan) != nil else { throw StoreError.noStore(entity: plan.name) }
    self.context = context
    self.plan = plan
    sortKeys = request.sortKeys
    propertiesToFetch = request.propertiesToFetch
    limit = request.limit.map { max(0, $0) }
    offset = max(0, request.offset)
    includesSubentities = request.includesSubentities
    constants = request.variables
    var values = request.variables.mapValues { EvaluationValue($0) }
    if let fetchSource { values["FETCH_SOURCE"] = .subject(fetchSource) }
    variables = values
    evaluator = PredicateEvaluator(variables: values)
    let check = FetchCheck(graph: context.model.graph, entity: plan.name)
    predicate = try check.checked(
      request.predicate, sortKeys: request.sortKeys, fetchSource: fetchSource?.scope.plan.name,
      boundNames: values.keys)
    if context.model.hasDerivedSlots, context.hasPendingInLineage {
      context.followWithDerivedChanges()
      // Following a change may have taken the last one back.
      if request.includesPendingChanges, context.hasPendingInLineage {
        let dependencies = DependencyAnalysis(plan: plan, model: context.model, variables: Set(values.keys))
        let keyPaths = request.sortKeys.map(\.keyPath) + request.propertiesToFetch
        if dependencies.mayRead(context.model.derivedNames, predicate, keyPaths) {
          context.deriveLineageForFetch()
        }
      }
    }
    let changed = context.pending.isEmpty ? [] : context.pending.filter(\.isPending)
    pending = request.includesPendingChanges ? changed : []
    includesChanges = request.includesPendingChanges
    ignoresChanges = !request.includesPendingChanges && !changed.isEmpty
  }

  /// The same request, for another context.
  func request() -> FetchRequest<ManagedObject> {
    var request = FetchRequest<ManagedObject>(entityName: plan.name, where: predicate)
    request.variables = constants
    request.sortKeys = sortKeys
    request.propertiesToFetch = propertiesToFetch
    request.limit = limit
    request.offset = offset
    request.includesSubentities = includesSubentities
    return request
  }

  /// Whether the answer for objects without changes can be had from the store.
  var storeDecides: Bool {
    guard let predicate, !pending.isEmpty else { return true }
    return dependencies.isIndependent(predicate, of: pendingRoots)
  }

  /// Whether the store's order of objects without changes is right.
  var storeSorts: Bool {
    sortKeys.isEmpty || pending.isEmpty || dependencies.isIndependent(sortKeys, of: pendingRoots)
  }

  private var dependencies: DependencyAnalysis {
    DependencyAnalysis(plan: plan, model: context.model, variables: Set(variables.keys))
  }
  private var pendingRoots: Set<Int> { Set(pending.map(\.scope.plan.root)) }

  /// Whether an object is of the wanted entities.
  func isWanted(_ object: ManagedObject) -> Bool {
    let entity = object.scope.plan
    return includesSubentities ? entity.isKind(of: plan) : entity.index == plan.index
  }

  /// The objects of a list that meet the predicate.
  func matching(_ objects: [ManagedObject]) throws(EvaluationError) -> [ManagedObject] {
    guard let predicate else { return objects }
    var matching: [ManagedObject] = []
    for object in objects where try evaluator.matches(predicate, object) { matching.append(object) }
    return matching
  }

  /// The objects with changes that meet the predicate, in the order of their keys.
  func matchingChanged() throws(EvaluationError) -> [ManagedObject] {
    let changed = pending.filter { !$0.isDeleted && isWanted($0) }
    return try matching(changed.sorted { $0.key < $1.key })
  }

  /// The part of a list that the request asks for.
  func window<Element>(_ elements: [Element]) -> [Element] {
    if offset == 0, limit.map({ $0 >= elements.count }) ?? true { return elements }
    let rest = elements.dropFirst(offset)
    return Array(limit.map { rest.prefix($0) } ?? rest)
  }

  /// Runs a body and turns what evaluation throws into a fetch's error.
  ///
  /// Where SQLite refuses the statement or fails within it, the evaluator has the last word: SQL may come to a sum
  /// or to a pattern that memory, going from left to right, never reaches.
  ///
  /// - Throws: `CancellationError` where the task is cancelled while regular expressions are matched.
  func answer<Result>(_ body: (FetchRun) throws -> Result) throws -> Result {
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
      SQLLog.note("cdgen: the fetch of '\(plan.name)' is evaluated in memory: \(error)")
      var other = self
      other.usesSQL = false
      // What SQL has spent may have been on rows that memory leaves out.
      return try MatchBudget.run(isCancellable: true, isAnew: true) { try other.answer(body) }
    }
  }
}

extension FetchError {
  /// What an evaluation's error means for a fetch.
  init(_ error: EvaluationError) {
    switch error {
    case .unsupported(let construct): self = .unsupported(construct)
    case .unboundVariable(let name): self = .missingVariable(name)
    case .matchingTooCostly(let pattern): self = .patternTooCostly(pattern: pattern)
    default: self = .evaluation("\(error)")
    }
  }
}
