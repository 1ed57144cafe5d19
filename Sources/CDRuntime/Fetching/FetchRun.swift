/// One fetch: checked against the model, then answered by SQL alone, or by rows and pending objects together.
///
/// Rows are candidates: those of the entity, which the evaluator then chooses from and sorts, so that unsaved
/// changes, also those of related objects, count. Where there is nothing to choose or sort and nothing is
/// pending, the limit and the count are SQL's.
struct FetchRun {
  let context: ManagedObjectContext
  let plan: EntityPlan
  private let predicate: FetchPredicate?
  private let sortKeys: [SortKey]
  private let limit: Int?
  private let offset: Int
  private let includesSubentities: Bool
  private let evaluator: PredicateEvaluator

  /// - Throws: ``FetchError`` where the predicate or the order does not fit the model, or a variable has no
  ///   value.
  init(
    context: ManagedObjectContext, plan: EntityPlan, predicate: FetchPredicate?,
    variables: [String: ExpressionConstant], sortKeys: [SortKey], limit: Int?, offset: Int,
    includesSubentities: Bool, fetchSource: ManagedObject? = nil
  ) throws {
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
    evaluator = PredicateEvaluator(variables: values)
  }

  /// Whether unsaved changes may have a part in the answer.
  private var hasPending: Bool { context.pending.contains { $0.isPending } }

  func objects() throws -> [ManagedObject] {
    if predicate == nil, sortKeys.isEmpty, !hasPending {
      var window = ""
      if limit != nil || offset > 0 { window = " LIMIT \(limit ?? -1) OFFSET \(offset)" }
      return try rows(window: window)
    }
    var objects = try candidates()
    do {
      if let predicate {
        objects = try objects.filter { (object) throws(EvaluationError) in
          try evaluator.matches(predicate, object)
        }
      }
      objects = try evaluator.sorted(objects, by: sortKeys)
    } catch let error as EvaluationError {
      throw FetchError(error)
    }
    let rest = objects.dropFirst(offset)
    return Array(limit.map { rest.prefix($0) } ?? rest)
  }

  func count() throws -> Int {
    if predicate == nil, !hasPending {
      let condition = self.condition.map { " WHERE " + $0 } ?? ""
      let sql = "SELECT count(*) FROM \(SQLite.quoted(plan.table)) AS t0\(condition)"
      let statement = try context.reader().statement(sql)
      defer { statement.reset() }
      let all = try statement.step() ? Int(statement.int64(0)) : 0
      return min(limit ?? Int.max, max(0, all - offset))
    }
    return try objects().count
  }

  private var condition: String? {
    if includesSubentities || !plan.isPolymorphic { return context.model.selects[plan.index].condition }
    return "t0._entity = " + SQLite.literal(plan.name)
  }

  private func rows(window: String) throws -> [ManagedObject] {
    let select = context.model.selects[plan.index]
    let sql = select.sql + (condition.map { " WHERE " + $0 } ?? "") + " ORDER BY t0._pk" + window
    return try context.objects(from: context.reader().statement(sql), select, of: plan)
  }

  /// All objects of the entity, unsaved ones last and deleted ones left out.
  private func candidates() throws -> [ManagedObject] {
    var objects = try rows(window: "").filter { !$0.isDeleted }
    for object in context.pending where object.isInserted {
      let entity = object.scope.plan
      if includesSubentities ? entity.isKind(of: plan) : entity.index == plan.index { objects.append(object) }
    }
    return objects
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
