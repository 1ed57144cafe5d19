/// One fetch: checked against the model, then answered by the store, or by it and the context together.
///
/// What is unsaved decides how:
/// - Nothing is: SQL chooses, sorts and counts. Where it cannot do so exactly it narrows the rows down, and
///   the evaluator does the rest.
/// - Something is, and the request reads nothing but the fetched objects themselves (``Reach``): SQL chooses
///   among the rows of objects without changes, the evaluator among those with changes.
/// - Something is, and the request reads related objects: the evaluator chooses from all of them.
struct FetchRun {
  let context: ManagedObjectContext
  let plan: EntityPlan
  private let predicate: FetchPredicate?
  private let variables: [String: EvaluationValue]
  private let sortKeys: [SortKey]
  private let limit: Int?
  private let offset: Int
  private let includesSubentities: Bool
  private let evaluator: PredicateEvaluator

  /// - Throws: ``FetchError`` where the predicate or the order does not fit the model, or a variable has no
  ///   value; ``StoreError/noStore(entity:)``.
  init(
    context: ManagedObjectContext, plan: EntityPlan, predicate: FetchPredicate?,
    variables: [String: ExpressionConstant], sortKeys: [SortKey], limit: Int?, offset: Int,
    includesSubentities: Bool, fetchSource: ManagedObject? = nil
  ) throws {
    guard plan.home != nil else { throw StoreError.noStore(entity: plan.name) }
    self.context = context
    self.plan = plan
    self.sortKeys = sortKeys
    self.limit = limit.map { max(0, $0) }
    self.offset = max(0, offset)
    self.includesSubentities = includesSubentities
    let checker = ExpressionChecker(graph: context.model.graph)
    var errors: [ExpressionDiagnostic] = []
    var values = variables.mapValues { EvaluationValue($0) }
    if let fetchSource { values["FETCH_SOURCE"] = .subject(fetchSource) }
    var checked: FetchPredicate?
    var missing: String?
    if let predicate {
      let result = checker.check(
        predicate, on: plan.name, fetchSource: fetchSource.map { $0.scope.plan.name })
      errors += result.diagnostics.filter { $0.severity == .error }
      missing = result.variables.first { values[$0.name] == nil }?.name
      checked = result.predicate
    }
    for key in sortKeys {
      let result = checker.check(ValueExpression.keyPath(key.keyPath), on: plan.name)
      errors += result.diagnostics.filter { $0.severity == .error }
    }
    guard errors.isEmpty else { throw FetchError.invalid(entity: plan.name, errors) }
    if let missing { throw FetchError.missingVariable(missing) }
    self.predicate = checked
    self.variables = values
    evaluator = PredicateEvaluator(variables: values)
  }

  // MARK: Answers

  func objects() throws -> [ManagedObject] {
    do {
      let pending = context.pending.filter(\.isPending)
      return pending.isEmpty ? try storedObjects() : try objects(with: pending)
    } catch let error as EvaluationError {
      throw FetchError(error)
    }
  }

  func count() throws -> Int {
    do {
      let condition = try storeCondition()
      guard condition?.isExact ?? true, !context.pending.contains(where: \.isPending) else {
        return try objects().count
      }
      let all = try storedCount(condition)
      return min(limit ?? Int.max, max(0, all - offset))
    } catch let error as EvaluationError {
      throw FetchError(error)
    }
  }

  /// The answer where nothing is unsaved.
  private func storedObjects() throws -> [ManagedObject] {
    let condition = try storeCondition()
    let order = try SQLPredicate.order(by: sortKeys, entity: plan, plan: context.model)
    guard condition?.isExact ?? true, let order else {
      return try chosen(from: rows(condition))
    }
    var window = ""
    if limit != nil || offset > 0 { window = " LIMIT \(limit ?? -1) OFFSET \(offset)" }
    return try rows(condition, order: order, window: window)
  }

  /// The answer where there are unsaved changes, of the entity's objects or of others.
  private func objects(with pending: [ManagedObject]) throws -> [ManagedObject] {
    let reach = Reach(plan: plan)
    let isOwn = predicate.map { reach.isOwn($0) } ?? true
    var candidates = try rows(isOwn ? storeCondition() : nil).filter { !isOwn || !$0.isPending }
    candidates.removeAll(where: \.isDeleted)
    // Those with changes: unsaved ones are in no table, and rows of the others may say anything.
    for object in pending where !object.isDeleted && (isOwn || object.isInserted) {
      let entity = object.scope.plan
      if includesSubentities ? entity.isKind(of: plan) : entity.index == plan.index {
        candidates.append(object)
      }
    }
    // The order of insertion, which is that of the keys.
    candidates.sort { $0.key < $1.key }
    return try chosen(from: candidates)
  }

  /// What the evaluator chooses and sorts, in the limits of the request.
  private func chosen(from candidates: [ManagedObject]) throws -> [ManagedObject] {
    var objects = candidates
    if let predicate {
      objects = try objects.filter { (object) throws(EvaluationError) in
        try evaluator.matches(predicate, object)
      }
    }
    let rest = try evaluator.sorted(objects, by: sortKeys).dropFirst(offset)
    return Array(limit.map { rest.prefix($0) } ?? rest)
  }

  // MARK: SQL

  private func storeCondition() throws(EvaluationError) -> SQLPredicate? {
    guard let predicate else { return nil }
    return try SQLPredicate.compile(predicate, entity: plan, plan: context.model, variables: variables)
  }

  private func storedCount(_ condition: SQLPredicate?) throws -> Int {
    let sql = "SELECT count(*) FROM \(SQLite.quoted(plan.table)) AS t0" + restriction(condition)
    let statement = try context.reader().statement(sql)
    defer { statement.reset() }
    statement.bind(condition?.bindings ?? [])
    return try statement.step() ? Int(statement.int64(0)) : 0
  }

  private func rows(
    _ condition: SQLPredicate?, order: String = "", window: String = ""
  ) throws -> [ManagedObject] {
    let select = context.model.selects[plan.index]
    let terms = order.isEmpty ? "t0._pk" : order + ", t0._pk"
    let rest = restriction(condition) + " ORDER BY " + terms + window
    let bindings = condition?.bindings ?? []
    return try context.objects(selecting: select, of: plan, rest, bindings)
  }

  /// The WHERE of the wanted entities and a condition.
  private func restriction(_ condition: SQLPredicate?) -> String {
    var parts: [String] = []
    if includesSubentities || !plan.isPolymorphic {
      if let kinds = context.model.selects[plan.index].condition { parts.append(kinds) }
    } else {
      parts.append("t0._entity = " + SQLite.literal(plan.name))
    }
    if let condition { parts.append(parts.isEmpty ? condition.sql : "(\(condition.sql))") }
    return parts.isEmpty ? "" : " WHERE " + parts.joined(separator: " AND ")
  }
}

extension FetchError {
  /// What an evaluation's error means for a fetch.
  init(_ error: EvaluationError) {
    switch error {
    case .unsupported(let construct): self = .unsupported(construct)
    case .unboundVariable(let name): self = .missingVariable(name)
    default: self = .evaluation("\(error)")
    }
  }
}
