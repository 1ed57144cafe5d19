/// One fetch: checked against the model, then answered by SQL alone, or by rows and pending objects together.
struct FetchRun {
  let context: ManagedObjectContext
  let plan: EntityPlan
  let limit: Int?
  let offset: Int
  let includesSubentities: Bool

  init(
    context: ManagedObjectContext, plan: EntityPlan, predicate: FetchPredicate?,
    variables: [String: ExpressionConstant], sortKeys: [SortKey], limit: Int?, offset: Int,
    includesSubentities: Bool, fetchSource: ManagedObject? = nil
  ) throws {
    self.context = context
    self.plan = plan
    self.limit = limit
    self.offset = max(0, offset)
    self.includesSubentities = includesSubentities
  }

  mutating func objects() throws -> [ManagedObject] {
    let select = context.model.selects[plan.index]
    let sql = select.sql + (select.condition.map { " WHERE " + $0 } ?? "") + " ORDER BY t0._pk"
    var objects = try context.objects(from: context.reader().statement(sql), select, of: plan)
    objects.removeAll { $0.isDeleted }
    for object in context.pending where object.isInserted && object.scope.plan.isKind(of: plan) {
      objects.append(object)
    }
    return objects
  }

  mutating func count() throws -> Int { try objects().count }
}
