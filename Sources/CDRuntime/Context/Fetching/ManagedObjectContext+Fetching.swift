extension ManagedObjectContext {
  /// Fetches objects. Unsaved changes of the context count as if they had been saved.
  ///
  /// - Throws: ``FetchError`` where the request does not fit the model or has no answer; ``StoreError``
  ///   where the store cannot be read.
  public func fetch<Object: ManagedObject>(_ request: FetchRequest<Object>) throws -> [Object] {
    let plan = try entityPlan(of: request)
    let paths = try prefetchPaths(of: request, plan)
    try catchUpForFetch()
    let objects = try FetchRun(request, of: plan, in: self).objects()
    if !paths.isEmpty { try prefetch(paths, of: objects) }
    // The class was compared above.
    return ManagedObject.cast(objects)
  }

  /// Fetches objects as a collection that reads them as they are touched, ``FetchRequest/fetchBatchSize`` at a
  /// time, and lets go of those that nobody holds: a walk over a million objects needs the memory of a few
  /// hundred, and eight to sixteen bytes a key.
  ///
  /// Which objects there are, and in which order, is settled by this call, as
  /// ``ManagedObjectContext/fetch(_:)`` would. Unsaved changes count. Later changes do not move anything; an
  /// object that is deleted meanwhile stays in its place, and says so.
  ///
  /// - Throws: As ``fetch(_:)``. What goes wrong later, when a batch is read, makes inaccessible objects of its
  ///   rows and an entry in ``errors``.
  public func lazyFetch<Object: ManagedObject>(_ request: FetchRequest<Object>) throws -> LazyFetchResults<
    Object
  > {
    let plan = try entityPlan(of: request)
    let paths = try prefetchPaths(of: request, plan)
    try catchUpForFetch()
    let keys = try FetchRun(request, of: plan, in: self).keys()
    return LazyFetchResults(
      LazyBatches(
        keys: keys, plan: plan, context: self,
        size: request.fetchBatchSize < 1 ? 100 : request.fetchBatchSize,
        paths: paths))
  }

  /// The identifiers of the objects that a request would fetch, in its order. No row is read beyond its key
  /// where SQL has an exact form of the request.
  ///
  /// - Throws: As ``fetch(_:)``.
  public func objectIDs<Object: ManagedObject>(for request: FetchRequest<Object>) throws -> [ManagedObjectID]
  {
    let plan = try entityPlan(of: request)
    try catchUpForFetch()
    return try FetchRun(request, of: plan, in: self).keys().map { key in
      let scope = scopes[key.entity]
      return ManagedObjectID(storeID: scope.storeID, entityName: scope.plan.name, key: key.key)
    }
  }

  /// Some values of the objects that a request would fetch, in its order: a dictionary an object, with the values
  /// of ``FetchRequest/propertiesToFetch`` by their key paths. With ``FetchRequest/returnsDistinctResults`` each
  /// combination of values comes once, where its first object stood.
  ///
  /// No objects are made where SQL has an exact form of the request. Dictionaries are values: they can go where
  /// objects cannot.
  ///
  /// - Throws: As ``fetch(_:)``, and ``FetchError/notAValue(entity:key:)`` for a key path that leads to many
  ///   values.
  public func dictionaries<Object: ManagedObject>(
    for request: FetchRequest<Object>
  ) throws -> [[String: FetchedValue]] {
    let plan = try entityPlan(of: request)
    var request = request
    if request.propertiesToFetch.isEmpty {
      request.propertiesToFetch = plan.slots.filter { $0.isStored && $0.attribute != nil }.map(\.name)
    }
    try catchUpForFetch()
    return try FetchRun(request, of: plan, in: self).dictionaries(
      of: request.propertiesToFetch, isDistinct: request.returnsDistinctResults)
  }

  /// The count of the objects that a request would fetch.
  ///
  /// - Throws: As ``fetch(_:)``.
  public func count<Object: ManagedObject>(for request: FetchRequest<Object>) throws -> Int {
    var request = request
    request.sortKeys = []
    let plan = try entityPlan(of: request)
    try catchUpForFetch()
    return try FetchRun(request, of: plan, in: self).count()
  }

  /// Learns what others have saved until now.
  func learnOfSaves() throws {
    endReading()
    try catchUpForFetch()
    tellObservers()
  }

  /// Learns what others have saved, where no snapshot is held.
  func catchUpForFetch() throws {
    if let parent {
      noticeRemovals()
      return try parent.catchUpForFetch()
    }
    let connection = try reader()
    if !reading.isOpen { try catchUp(connection) }
  }

  func entityPlan<Object: ManagedObject>(of request: FetchRequest<Object>) throws -> EntityPlan {
    guard let plan = model.entity(request.entityName) else {
      throw FetchError.unknownEntity(request.entityName)
    }
    if ObjectIdentifier(Object.self) == ObjectIdentifier(ManagedObject.self) { return plan }
    guard let type = classes.type(of: plan), type is Object.Type else {
      throw FetchError.wrongClass(
        entity: plan.name, expected: classes.type(of: plan).map { "\($0)" } ?? "ManagedObject")
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
    var request = FetchRequest<ManagedObject>(entityName: property.entity, where: property.predicate)
    request.sortKeys = property.sort
    request.limit = property.limit
    return try FetchRun(request, of: plan, in: self, fetchSource: object).objects()
  }
}
