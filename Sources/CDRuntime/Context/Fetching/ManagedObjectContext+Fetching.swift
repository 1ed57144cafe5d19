public import CDModel

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

// Short ways to what requests say at length: by a format, by a template's name, by an object of another context,
// and new objects by their entity's name.
extension ManagedObjectContext {
  /// The objects of an entity that meet a format string's condition:
  /// `context.objects(forEntityNamed: "Book", format: "title BEGINSWITH %@", "W")`.
  ///
  /// - Throws: `FormatError` for a format that cannot be read; else as ``fetch(_:)``.
  public func objects(
    forEntityNamed name: String, format: String, _ arguments: (any FormatArgument)?...
  ) throws -> [ManagedObject] {
    try fetch(
      FetchRequest(entityName: name, where: try FetchPredicate(format: format, arguments: arguments)))
  }

  /// The object of an entity that meets a format string's condition; nil where there is none.
  ///
  /// - Throws: ``FetchError/tooManyObjects(entity:)`` where there are several; two rows are asked for, no more.
  public func object(
    forEntityNamed name: String, format: String, _ arguments: (any FormatArgument)?...
  ) throws -> ManagedObject? {
    try single(
      FetchRequest(entityName: name, where: try FetchPredicate(format: format, arguments: arguments)))
  }

  /// The request of a fetch template of the model, with the values of its variables. What of them is missing, a
  /// fetch says.
  ///
  /// - Throws: ``FetchError/unknownEntity(_:)`` and ``FetchError/unknownTemplate(entity:name:)``.
  public func fetchRequest(
    forEntityNamed name: String, template: String, variables: [String: any AttributeValueConvertible] = [:]
  ) throws -> FetchRequest<ManagedObject> {
    guard model.entity(name) != nil else { throw FetchError.unknownEntity(name) }
    guard let description = self.template(template, of: name) else {
      throw FetchError.unknownTemplate(entity: name, name: template)
    }
    var request = FetchRequest<ManagedObject>(entityName: name, where: description.predicate)
    request.variables = variables.mapValues { .value($0.attributeValue) }
    request.sortKeys = description.sort
    request.limit = description.limit
    return request
  }

  /// The objects of a fetch template of the model.
  ///
  /// - Throws: As ``fetchRequest(forEntityNamed:template:variables:)`` and ``fetch(_:)``.
  public func objects(
    forEntityNamed name: String, template: String, variables: [String: any AttributeValueConvertible] = [:]
  ) throws -> [ManagedObject] {
    try fetch(fetchRequest(forEntityNamed: name, template: template, variables: variables))
  }

  // MARK: Objects of other contexts

  /// This context's instance of an object of another context: the same row, with this context's changes.
  ///
  /// - Throws: ``FetchError/unknownObject(_:)`` for an object that has not been saved, that has been deleted, or
  ///   that is of another store. A child has its parent's unsaved objects too.
  public func localInstance<Object: ManagedObject>(of object: Object) throws -> Object {
    let found = try existingObject(with: object.objectID)
    guard let local = found as? Object else { throw FetchError.unknownObject(object.objectID) }
    return local
  }

  // MARK: New objects

  /// Makes a new object of an entity, with values of its attributes.
  ///
  /// - Throws: As ``insert(entityNamed:)``, and ``PropertyError`` for a key or a value that the entity has not;
  ///   there is no new object then.
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
  /// The object of an identifier, with its values.
  ///
  /// - Throws: ``FetchError/unknownObject(_:)`` where there is none of this class, or none any more.
  public static func object(with id: ManagedObjectID, in context: ManagedObjectContext) throws -> Self {
    guard let object = try context.existingObject(with: id) as? Self else {
      throw FetchError.unknownObject(id)
    }
    return object
  }
}

/// How several values are matched.
///
/// ```swift
/// let either = try Book.objects(matching: [.title: "Walden", .salesRank: 1], using: .or, in: context)
/// let both = try Book.objects(matching: [.title: "Walden", .salesRank: 1], using: .and, in: context)
/// ```
public enum MatchCombination: Hashable, Sendable {
  /// All of them.
  case and
  /// One of them at least.
  case or
}

extension ManagedObjectContext {
  /// The objects of an entity that have all of these values, or one of them; all objects where there are none.
  ///
  /// - Throws: ``FetchError``, for an unknown entity or key and for a value of a wrong type.
  public func objects(
    forEntityNamed name: String,
    matching values: KeyValuePairs<String, (any AttributeValueConvertible)?> = [:],
    using combination: MatchCombination = .and
  ) throws -> [ManagedObject] {
    let pairs = values.map { ($0.key, $0.value) }
    return try fetch(
      FetchRequest(entityName: name, where: try predicate(matching: pairs, using: combination, of: name)))
  }

  /// The object of an entity that has all of these values, or one of them; nil where there is none.
  ///
  /// - Throws: ``FetchError/tooManyObjects(entity:)`` where there are several.
  public func object(
    forEntityNamed name: String, matching values: KeyValuePairs<String, (any AttributeValueConvertible)?>,
    using combination: MatchCombination = .and
  ) throws -> ManagedObject? {
    let pairs = values.map { ($0.key, $0.value) }
    return try single(
      FetchRequest(entityName: name, where: try predicate(matching: pairs, using: combination, of: name)))
  }

  /// The one object that a request fetches.
  func single<Object: ManagedObject>(_ request: FetchRequest<Object>) throws -> Object? {
    var request = request
    request.limit = 2
    let objects = try fetch(request)
    guard objects.count < 2 else { throw FetchError.tooManyObjects(entity: request.entityName) }
    return objects.first
  }

  func template(_ name: String, of entity: String) -> FetchTemplate? {
    // The nearest of the lineage counts.
    model.graph.lineage(of: entity).reversed().lazy
      .compactMap { $0.fetchTemplates.first { $0.name == name } }.first
  }

  /// The condition that attributes have values; nil where there are none, which all objects meet.
  func predicate(
    matching pairs: [(key: String, value: (any AttributeValueConvertible)?)],
    using combination: MatchCombination,
    of entity: String
  ) throws -> FetchPredicate? {
    guard let plan = model.entity(entity) else { throw FetchError.unknownEntity(entity) }
    let parts = try pairs.map { key, value in
      FetchPredicate(
        .keyPath([key]), .equalTo,
        .constant(try matched(value?.attributeValue ?? .null, key: key, of: plan)))
    }
    if parts.isEmpty { return nil }
    return combination == .and ? .and(parts) : .or(parts)
  }

  /// A value as its attribute has it.
  private func matched(_ value: AttributeValue, key: String, of plan: EntityPlan) throws -> AttributeValue {
    guard let slot = plan.slot(key) else { throw FetchError.unknownKey(entity: plan.name, key: key) }
    guard case .attribute(_, let cell) = slot.kind, let fitted = cell.fitted(value) else {
      throw FetchError.wrongType(
        entity: plan.name, key: key, expected: slot.attribute?.type.schemaName ?? "no value",
        given: value.typeName)
    }
    return fitted
  }
}

extension ManagedObjectContext {
  /// The aggregates of each group of objects, by their names, with the group's values by their key paths. Groups come in
  /// the order of their first objects.
  ///
  /// Unsaved changes count as if they had been saved. Where there are none, SQL calculates what it has an exact form of.
  ///
  /// - Throws: As ``fetch(_:)``; ``FetchError/notAValue(entity:key:)`` for a key path that leads to many values;
  ///   ``FetchError/evaluation(_:)`` for a sum of integers beyond Int64, and for a sum or an order of values that have
  ///   none.
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
    let rows = try run.aggregates(request.aggregates, by: request.groupBy)
    let names = request.groupBy + request.aggregates.map(\.name)
    let groups = rows.map { Dictionary(zip(names, $0), uniquingKeysWith: { _, last in last }) }
    guard let having = request.having else { return groups }
    let evaluator = PredicateEvaluator(variables: request.variables.mapValues { EvaluationValue($0) })
    do {
      return try MatchBudget.run(isCancellable: true) {
        try groups.filter { try evaluator.matches(having, Self.subject($0)) }
      }
    } catch EvaluationError.cancelled {
      throw CancellationError()
    } catch let error as EvaluationError {
      throw FetchError(error)
    }
  }

  /// A group as what a condition is held against: key paths lead on from key to key.
  private static func subject(_ group: [String: FetchedValue]) -> EvaluationValue {
    func inserted(_ value: EvaluationValue, _ keys: ArraySlice<Substring>, in whole: EvaluationValue?)
      -> EvaluationValue
    {
      guard let key = keys.first.map(String.init) else { return value }
      var values: [String: EvaluationValue] = [:]
      if case .dictionary(let known)? = whole { values = known }
      values[key] = inserted(value, keys.dropFirst(), in: values[key])
      return .dictionary(values)
    }
    var result: EvaluationValue = .dictionary([:])
    for (name, value) in group.sorted(by: { $0.key < $1.key }) {
      result = inserted(FetchRun.evaluationValue(value), name.split(separator: ".")[...], in: result)
    }
    return result
  }
}
