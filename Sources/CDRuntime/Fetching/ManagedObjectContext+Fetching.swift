extension ManagedObjectContext {
  /// Fetches objects. Unsaved changes of the context count as if they had been saved.
  ///
  /// - Throws: ``FetchError`` where the request does not fit the model or has no answer; ``StoreError``
  ///   where the store cannot be read.
  public func fetch<Object: ManagedObject>(_ request: FetchRequest<Object>) throws -> [Object] {
    let plan = try entityPlan(of: request)
    let connection = try reader()
    if !reading.isOpen { try catchUp(connection) }
    let run = try FetchRun(
      context: self, plan: plan, predicate: request.predicate, variables: request.variables,
      sortKeys: request.sortKeys, limit: request.limit, offset: request.offset,
      includesSubentities: request.includesSubentities)
    // The class was compared above.
    return ManagedObject.cast(try run.objects())
  }

  /// The count of the objects that a request would fetch.
  public func count<Object: ManagedObject>(for request: FetchRequest<Object>) throws -> Int {
    let plan = try entityPlan(of: request)
    let run = try FetchRun(
      context: self, plan: plan, predicate: request.predicate, variables: request.variables,
      sortKeys: [], limit: request.limit, offset: request.offset,
      includesSubentities: request.includesSubentities)
    return try run.count()
  }

  private func entityPlan<Object: ManagedObject>(of request: FetchRequest<Object>) throws -> EntityPlan {
    guard let plan = model.entity(request.entityName) else {
      throw FetchError.unknownEntity(request.entityName)
    }
    if ObjectIdentifier(Object.self) == ObjectIdentifier(ManagedObject.self) { return plan }
    guard let type = plan.objectType, type is Object.Type else {
      throw FetchError.wrongClass(
        entity: plan.name, expected: plan.objectType.map { "\($0)" } ?? "ManagedObject")
    }
    return plan
  }

  // MARK: Fetched properties

  func fetchedProperty(_ name: String, of plan: EntityPlan) -> FetchedPropertyDescription? {
    if case .fetched(let property)? = model.graph.property(name, of: plan.name) { return property }
    return nil
  }

  func fetch(_ property: FetchedPropertyDescription, for object: ManagedObject) throws -> [ManagedObject] {
    guard let plan = model.entity(property.entity) else { throw FetchError.unknownEntity(property.entity) }
    let run = try FetchRun(
      context: self, plan: plan, predicate: property.predicate, variables: [:],
      sortKeys: property.sort, limit: property.limit, offset: 0, includesSubentities: true,
      fetchSource: object)
    return try run.objects()
  }
}
