public import CDModel

extension ManagedObjectContext {
  /// Returns the objects of a request. Unsaved changes of the context count as if they had been saved.
  ///
  /// - Throws: ``FetchError`` if the request does not match the model or cannot be answered; ``StoreError`` if the
  ///   store cannot be read.
  public func fetch<Object: ManagedObject>(_ request: FetchRequest<Object>) throws -> [Object] {
    let plan = try entityPlan(of: request)
    let measurement = FetchMeasurement(plan.name)
    defer { measurement.end() }
    let paths = try prefetchPaths(of: request, plan)
    try catchUpForFetch()
    let objects = try FetchRun(request, of: plan, in: self).objects()
    if !paths.isEmpty { try prefetch(paths, of: objects) }
    // The class was checked above.
    return ManagedObject.cast(objects)
  }

  /// Returns a collection that reads objects when they are accessed, ``FetchRequest/batchSize`` at a time, and
  /// releases objects that no other code holds. Iterating over a million objects needs the memory of a few hundred
  /// objects, plus eight to sixteen bytes for each key.
  ///
  /// This call decides which objects the collection has, and in which order, like ``ManagedObjectContext/fetch(_:)``.
  /// Unsaved changes count. Later changes do not change the collection: an object that is deleted later keeps its
  /// position and is inaccessible, at the latest once one of its values is read. If another context inserts its row again, the
  /// collection has the new object of the row as soon as the context has read it.
  ///
  /// - Throws: The errors of ``fetch(_:)``. If reading a batch fails later, ``errors`` reports the reason, and each object
  ///   reads its own row when one of its values is read.
  public func lazyFetch<Object: ManagedObject>(_ request: FetchRequest<Object>) throws -> LazyFetchResults<
    Object
  > {
    let plan = try entityPlan(of: request)
    let measurement = FetchMeasurement(plan.name)
    defer { measurement.end() }
    let paths = try prefetchPaths(of: request, plan)
    try catchUpForFetch()
    let keys = try FetchRun(request, of: plan, in: self).keys()
    return LazyFetchResults(
      LazyBatches(
        keys: keys, plan: plan, context: self,
        size: request.batchSize < 1 ? 100 : request.batchSize,
        paths: paths))
  }

  /// Returns the identifiers of the objects of a request, in its order. Only keys are read if SQL has an exact form
  /// of the request.
  ///
  /// - Throws: The errors of ``fetch(_:)``.
  public func objectIDs<Object: ManagedObject>(for request: FetchRequest<Object>) throws -> [ManagedObjectID]
  {
    let plan = try entityPlan(of: request)
    let measurement = FetchMeasurement(plan.name)
    defer { measurement.end() }
    try catchUpForFetch()
    return try FetchRun(request, of: plan, in: self).keys().map {
      registry.objectID($0.key, ofEntity: $0.entity)
    }
  }

  /// Returns values of the objects of a request, in its order: one dictionary for each object, with the values of
  /// ``FetchRequest/propertiesToFetch`` by key path. With ``FetchRequest/returnsDistinctResults`` each combination of
  /// values occurs once, at the position of its first object.
  ///
  /// No objects are created if SQL has an exact form of the request. Dictionaries are values: you can send them to
  /// other isolations, unlike objects.
  ///
  /// - Throws: The errors of ``fetch(_:)``, and ``FetchError/notAValue(entity:key:)`` for a key path that leads to
  ///   several values.
  public func dictionaries<Object: ManagedObject>(
    for request: FetchRequest<Object>
  ) throws -> [[String: FetchedValue]] {
    let plan = try entityPlan(of: request)
    var request = request
    if request.propertiesToFetch.isEmpty {
      request.propertiesToFetch = plan.slots.filter { $0.isStored && $0.attribute != nil }.map(\.name)
    }
    let measurement = FetchMeasurement(plan.name)
    defer { measurement.end() }
    try catchUpForFetch()
    return try FetchRun(request, of: plan, in: self).dictionaries(
      of: request.propertiesToFetch, isDistinct: request.returnsDistinctResults)
  }

  /// Returns the number of objects that a request would fetch.
  ///
  /// - Throws: The errors of ``fetch(_:)``.
  public func count<Object: ManagedObject>(for request: FetchRequest<Object>) throws -> Int {
    var request = request
    request.sortKeys = []
    let plan = try entityPlan(of: request)
    let measurement = FetchMeasurement(plan.name)
    defer { measurement.end() }
    try catchUpForFetch()
    return try FetchRun(request, of: plan, in: self).count()
  }

  /// Updates the context to the changes that other contexts have saved until now.
  ///
  /// - Parameter isIncluded: Whether to do so for a store. The context learns of the others when it next reads.
  func learnOfSaves(in isIncluded: (any AttachedStore) -> Bool = { _ in true }) throws {
    endReading()
    try catchUpAtOnce(isIncluded)
    notifyObservers()
  }

  private func catchUpAtOnce(_ isIncluded: (any AttachedStore) -> Bool) throws {
    if let parent {
      noticeRemovals()
      return try parent.catchUpAtOnce(isIncluded)
    }
    // No other context writes to a store that a migration is creating.
    if importTarget != nil { return }
    let session = try reader()
    try catchUp(session, with: storeReader.stores.all.filter(isIncluded))
  }

  /// Learns at once of saves that would otherwise be read with the next rows, because some of the stores are on a server. A
  /// fetch compares objects with changes before it reads rows, and these saves may end the changes.
  func catchUpWithServer(of plan: EntityPlan) throws {
    if try reader().isPartlyRemote { try catchUpAtOnce { $0.index == plan.storeIndex } }
  }

  /// Updates the context to the changes that other contexts have saved, if no snapshot is held. For a server, this may happen
  /// with the next rows that are read.
  func catchUpForFetch() throws {
    if let parent {
      noticeRemovals()
      return try parent.catchUpForFetch()
    }
    // A context that takes its session is up to date with it.
    let isFirst = !storeReader.hasSession
    let session = try reader()
    if !isFirst && !storeReader.isSnapshotOpen { try catchUp(session) }
  }

  func entityPlan<Object: ManagedObject>(of request: FetchRequest<Object>) throws -> EntityPlan {
    guard let plan = model.entity(request.entityName) else {
      throw unknownEntity(request.entityName)
    }
    if ObjectIdentifier(Object.self) == ObjectIdentifier(ManagedObject.self) { return plan }
    guard let type = classes.type(of: plan), type is Object.Type else {
      throw FetchError.wrongClass(
        entity: plan.name, expected: classes.type(of: plan).map { "\($0)" } ?? "ManagedObject")
    }
    return plan
  }

  func unknownEntity(_ name: String) -> FetchError {
    .unknownEntity(name, suggestion: closestName(to: name, in: model.entities.map(\.name)))
  }

  func unknownTemplate(_ name: String, of entity: String) -> FetchError {
    .unknownTemplate(
      entity: entity, name: name,
      suggestion: closestName(
        to: name, in: model.graph.lineage(of: entity).flatMap { $0.fetchTemplates.map(\.name) }))
  }
}

// Shorter forms of requests: by a format, by a template's name, by an object of another context; and new objects by
// entity name.
extension ManagedObjectContext {
  /// Returns the objects of an entity that meet a format string's condition: `context.objects(forEntityNamed: "Book",
  /// format: "title BEGINSWITH %@", "W")`.
  ///
  /// - Throws: `FormatError` for a format that cannot be parsed, and the errors of ``fetch(_:)``.
  public func objects(
    forEntityNamed name: String, format: String, _ arguments: (any FormatArgument)?...
  ) throws -> [ManagedObject] {
    try fetch(
      FetchRequest(entityName: name, where: try FetchPredicate(format: format, arguments: arguments)))
  }

  /// Returns the object of an entity that meets a format string's condition; nil if there is none.
  ///
  /// - Throws: ``FetchError/tooManyObjects(entity:)`` if there are several; at most two rows are read.
  public func object(
    forEntityNamed name: String, format: String, _ arguments: (any FormatArgument)?...
  ) throws -> ManagedObject? {
    try single(
      FetchRequest(entityName: name, where: try FetchPredicate(format: format, arguments: arguments)))
  }

  /// Returns the request of a fetch template of the model, with the values of its variables. If a variable has no
  /// value, the fetch throws.
  ///
  /// - Throws: ``FetchError/unknownEntity(_:suggestion:)`` and ``FetchError/unknownTemplate(entity:name:suggestion:)``.
  public func fetchRequest(
    forEntityNamed name: String, template: String, variables: [String: any FormatArgument] = [:]
  ) throws -> FetchRequest<ManagedObject> {
    guard model.entity(name) != nil else { throw unknownEntity(name) }
    guard let description = self.template(template, of: name) else {
      throw unknownTemplate(template, of: name)
    }
    var request = FetchRequest<ManagedObject>(entityName: name, where: description.predicate)
    request.variables = variables
    request.sortKeys = description.sort
    request.limit = description.limit
    return request
  }

  /// Returns the objects of a fetch template of the model.
  ///
  /// - Throws: The errors of ``fetchRequest(forEntityNamed:template:variables:)`` and ``fetch(_:)``.
  public func objects(
    forEntityNamed name: String, template: String, variables: [String: any FormatArgument] = [:]
  ) throws -> [ManagedObject] {
    try fetch(fetchRequest(forEntityNamed: name, template: template, variables: variables))
  }

  // MARK: Objects of other contexts

  /// Returns this context's instance of another context's object: the same row, with this context's changes.
  ///
  /// - Throws: ``FetchError/unknownObject(_:)`` for an object that has not been saved, that has been deleted, or that
  ///   belongs to another store. A child also has its parent's unsaved objects.
  public func localInstance<Object: ManagedObject>(of object: Object) throws -> Object {
    let found = try existingObject(with: object.objectID)
    guard let local = found as? Object else { throw FetchError.unknownObject(object.objectID) }
    return local
  }

  // MARK: New objects

  /// Inserts a new object of an entity and sets the given attributes.
  ///
  /// - Throws: The errors of ``insert(entityNamed:)``, and ``PropertyError`` for a key or a value that does not match
  ///   the entity; no object is inserted then.
  @discardableResult
  public func insert(
    entityNamed name: String, values: KeyValuePairs<String, (any AttributeValueConvertible)?>
  ) throws -> ManagedObject {
    let object = try insert(entityNamed: name)
    do {
      for (key, value) in values {
        try object.setValue(.attribute(value?.attributeValue ?? .null), forKey: key)
      }
    } catch {
      delete(object)
      throw error
    }
    return object
  }
}

extension EntityClass {
  /// Returns the object of an identifier, with its values.
  ///
  /// - Throws: ``FetchError/unknownObject(_:)`` if there is no such object of this class, or if it has been deleted.
  public static func object(with id: ManagedObjectID, in context: ManagedObjectContext) throws -> Self {
    guard let object = try context.existingObject(with: id) as? Self else {
      throw FetchError.unknownObject(id)
    }
    return object
  }
}

/// A way to combine several values that objects have to match.
///
/// ```swift
/// let either = try Book.objects(matching: [.title: "Walden", .salesRank: 1], using: .or, in: context)
/// let both = try Book.objects(matching: [.title: "Walden", .salesRank: 1], using: .and, in: context)
/// ```
public enum MatchCombination: Hashable, Sendable {
  /// An object has all of the values.
  case and
  /// An object has at least one of the values.
  case or
}

extension ManagedObjectContext {
  /// Returns the objects of an entity that have all of these values, or one of them; all objects if there are no
  /// values.
  ///
  /// - Throws: ``FetchError`` for an unknown entity or key, and for a value of a wrong type.
  public func objects(
    forEntityNamed name: String,
    matching values: KeyValuePairs<String, (any AttributeValueConvertible)?> = [:],
    using combination: MatchCombination = .and
  ) throws -> [ManagedObject] {
    let pairs = values.map { ($0.key, $0.value) }
    return try fetch(
      FetchRequest(entityName: name, where: try predicate(matching: pairs, using: combination, of: name)))
  }

  /// Returns the object of an entity that has all of these values, or one of them; nil if there is none.
  ///
  /// - Throws: ``FetchError/tooManyObjects(entity:)`` if there are several.
  public func object(
    forEntityNamed name: String, matching values: KeyValuePairs<String, (any AttributeValueConvertible)?>,
    using combination: MatchCombination = .and
  ) throws -> ManagedObject? {
    let pairs = values.map { ($0.key, $0.value) }
    return try single(
      FetchRequest(entityName: name, where: try predicate(matching: pairs, using: combination, of: name)))
  }

  /// Returns the only object of a request; throws if there are several.
  func single<Object: ManagedObject>(_ request: FetchRequest<Object>) throws -> Object? {
    var request = request
    request.limit = 2
    let objects = try fetch(request)
    guard objects.count < 2 else { throw FetchError.tooManyObjects(entity: request.entityName) }
    return objects.first
  }

  func template(_ name: String, of entity: String) -> FetchTemplate? {
    // A subentity's template hides one of the same name of its parent entities.
    model.graph.lineage(of: entity).reversed().lazy
      .compactMap { $0.fetchTemplates.first { $0.name == name } }.first
  }

  /// Returns a condition that attributes have values; nil for no values, which selects all objects.
  func predicate(
    matching pairs: [(key: String, value: (any AttributeValueConvertible)?)],
    using combination: MatchCombination,
    of entity: String
  ) throws -> FetchPredicate? {
    guard let plan = model.entity(entity) else { throw unknownEntity(entity) }
    let parts = try pairs.map { key, value in
      FetchPredicate(
        .keyPath([key]), .equalTo,
        .constant(try matched(value?.attributeValue ?? .null, key: key, of: plan)))
    }
    if parts.isEmpty { return nil }
    return combination == .and ? .and(parts) : .or(parts)
  }

  /// Converts a value to its attribute's type.
  private func matched(_ value: AttributeValue, key: String, of plan: EntityPlan) throws -> AttributeValue {
    guard let slot = plan.slot(key) else {
      throw FetchError.unknownKey(
        entity: plan.name, key: key, suggestion: plan.closestKey(to: key))
    }
    guard case .attribute(_, let storageType) = slot.kind, let fitted = storageType.fitted(value) else {
      throw FetchError.wrongType(
        entity: plan.name, key: key, expected: slot.attribute?.type.schemaName ?? "no value",
        given: value.typeName)
    }
    return fitted
  }
}

extension ManagedObjectContext {
  /// Returns the aggregates of each group of objects, by name, together with the group's values by key path. Groups
  /// have the order of their first objects.
  ///
  /// Unsaved changes count as if they had been saved. If there are none, SQL calculates the aggregates for which it
  /// has an exact form.
  ///
  /// - Throws: The errors of ``fetch(_:)``; ``FetchError/notAValue(entity:key:)`` for a key path that leads to
  ///   several values; ``FetchError/unknownKey(entity:key:suggestion:)`` for a key of ``AggregateRequest/having`` that
  ///   no value of a group has; ``FetchError/evaluation(_:)`` for a sum of integers that exceeds Int64, and for values that
  ///   cannot be added or compared.
  @_optimize(none)
  public func aggregates<Object: ManagedObject>(
    for request: AggregateRequest<Object>
  ) throws -> [[String: FetchedValue]] {
    var fetch = FetchRequest<Object>(entityName: request.entityName, where: request.predicate)
    let plan = try entityPlan(of: fetch)
    fetch.variables = request.variables
    fetch.includesSubentities = request.includesSubentities
    fetch.includesPendingChanges = request.includesPendingChanges
    fetch.propertiesToFetch = request.groupBy + request.aggregates.compactMap(\.keyPath)
    try catchUpForFetch()
    let run = try FetchRun(fetch, of: plan, in: self)
    let condition = try request.having.map { having in
      try GroupCondition(having, of: request, FetchCheck(graph: model.graph, entity: plan.name), model)
    }
    let rows = try run.aggregates(request.aggregates, by: request.groupBy)
    let names = request.groupBy + request.aggregates.map(\.name)
    let groups = rows.map { Dictionary(zip(names, $0), uniquingKeysWith: { _, last in last }) }
    guard let condition else { return groups }
    do {
      return try MatchBudget.run(isCancellable: true) { try groups.filter { try condition.isMet(by: $0) } }
    } catch EvaluationError.cancelled {
      throw CancellationError()
    } catch let error as EvaluationError {
      throw FetchError(error)
    }
  }
}
