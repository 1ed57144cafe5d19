// Fetched properties, which objects read through their context.
extension ManagedObjectContext {
  func fetchedProperty(_ name: String, of plan: EntityPlan) -> FetchedPropertyDescription? {
    if case .fetched(let property)? = model.graph.property(name, of: plan.name) { return property }
    return nil
  }

  func fetch(_ property: FetchedPropertyDescription, for object: ManagedObject) throws -> [ManagedObject] {
    guard let plan = model.entity(property.entity) else { throw unknownEntity(property.entity) }
    var request = FetchRequest<ManagedObject>(entityName: property.entity, where: property.predicate)
    request.sortKeys = property.sort
    request.limit = property.limit
    return try FetchRun(request, of: plan, in: self, fetchSource: object).objects()
  }
}
