public import CDModel

extension EntityClass {
  /// Returns all objects of the entity.
  public static func objects(in context: ManagedObjectContext) throws -> [Self] {
    try context.fetch(FetchRequest<Self>())
  }

  /// Returns the objects whose attribute has a value. Nil matches nil.
  ///
  /// The objects have the values of their newest rows. Unlike other fetches, the lookup does not read what other contexts
  /// have saved if the context holds no snapshot: relationships that were read before stay as they are until the next fetch
  /// or ``ManagedObjectContext/perform(_:)``.
  public static func objects<Value: AttributeValueConvertible>(
    matching path: KeyPath<Fields<Self>, Attribute<Value>>, _ value: Value, in context: ManagedObjectContext
  ) throws -> [Self] {
    if let found = try context.matches(path, value.attributeValue, isSingle: false) { return found }
    return try context.fetch(FetchRequest<Self>(where: Fields()[keyPath: path] == value))
  }

  /// Returns the object whose attribute has a value; nil if there is none. Reads what other contexts have saved in the same
  /// way as `objects(matching:_:in:)`.
  ///
  /// - Throws: ``FetchError/tooManyObjects(entity:)`` if several objects match. The fetch reads at most two rows.
  public static func object<Value: AttributeValueConvertible>(
    matching path: KeyPath<Fields<Self>, Attribute<Value>>, _ value: Value, in context: ManagedObjectContext
  ) throws -> Self? {
    if let found = try context.matches(path, value.attributeValue, isSingle: true) {
      guard found.count < 2 else { throw FetchError.tooManyObjects(entity: entityName) }
      return found.first
    }
    return try context.single(FetchRequest<Self>(where: Fields()[keyPath: path] == value))
  }

  /// Returns the objects whose to-one relationship leads to an object. Nil matches objects without a related object.
  public static func objects<Destination>(
    matching path: KeyPath<Fields<Self>, ToOne<Destination>>, _ object: Destination?,
    in context: ManagedObjectContext
  ) throws -> [Self] {
    try context.fetch(FetchRequest<Self>(where: Fields()[keyPath: path] == object))
  }

  /// Returns the object whose to-one relationship leads to an object; nil if there is none.
  ///
  /// - Throws: ``FetchError/tooManyObjects(entity:)`` if several objects match. The fetch reads at most two rows.
  public static func object<Destination>(
    matching path: KeyPath<Fields<Self>, ToOne<Destination>>, _ object: Destination?,
    in context: ManagedObjectContext
  ) throws -> Self? {
    try context.single(FetchRequest<Self>(where: Fields()[keyPath: path] == object))
  }

  /// Returns the objects that match all of these values, or with `.or`, at least one of them. Without values, returns
  /// all objects.
  ///
  /// An attribute can occur several times: `[.publisher: "A", .publisher: "B"]` with `.or`.
  ///
  /// - Throws: ``FetchError/wrongType(entity:key:expected:given:)`` if a value does not have the type of its attribute.
  public static func objects(
    matching values: KeyValuePairs<AttributeKey<Self>, (any AttributeValueConvertible)?>,
    using combination: MatchCombination = .and, in context: ManagedObjectContext
  ) throws -> [Self] {
    let pairs = values.map { ($0.key.name, $0.value) }
    return try context.fetch(
      FetchRequest<Self>(where: try context.predicate(matching: pairs, using: combination, of: entityName)))
  }

  /// Returns the objects that match all of these values, or with `.or`, at least one of them. Without values, returns
  /// all objects.
  @_disfavoredOverload
  public static func objects(
    matching values: [AttributeKey<Self>: (any AttributeValueConvertible)?],
    using combination: MatchCombination = .and, in context: ManagedObjectContext
  ) throws -> [Self] {
    let pairs = values.map { ($0.key.name, $0.value) }.ordered { $0.0 < $1.0 }
    return try context.fetch(
      FetchRequest<Self>(where: try context.predicate(matching: pairs, using: combination, of: entityName)))
  }

  /// Returns the object that matches all of these values, or with `.or`, at least one of them; nil if there is none.
  ///
  /// - Throws: ``FetchError/tooManyObjects(entity:)`` if several objects match. The fetch reads at most two rows.
  public static func object(
    matching values: KeyValuePairs<AttributeKey<Self>, (any AttributeValueConvertible)?>,
    using combination: MatchCombination = .and, in context: ManagedObjectContext
  ) throws -> Self? {
    let pairs = values.map { ($0.key.name, $0.value) }
    return try context.single(
      FetchRequest<Self>(where: try context.predicate(matching: pairs, using: combination, of: entityName)))
  }

  /// Returns the object that matches all of these values, or with `.or`, at least one of them; nil if there is none.
  @_disfavoredOverload
  public static func object(
    matching values: [AttributeKey<Self>: (any AttributeValueConvertible)?],
    using combination: MatchCombination = .and, in context: ManagedObjectContext
  ) throws -> Self? {
    let pairs = values.map { ($0.key.name, $0.value) }.ordered { $0.0 < $1.0 }
    return try context.single(
      FetchRequest<Self>(where: try context.predicate(matching: pairs, using: combination, of: entityName)))
  }

  // MARK: Conditions

  /// Returns the objects that meet a condition, in the given order.
  public static func fetch(
    where condition: TypedPredicate<Self>? = nil, sortedBy order: TypedSort<Self> = [], limit: Int? = nil,
    offset: Int = 0, in context: ManagedObjectContext
  ) throws -> [Self] {
    try context.fetch(
      FetchRequest(where: condition?.predicate, sortedBy: order, limit: limit, offset: offset))
  }

  /// Returns the objects that meet a condition, in ascending order of an attribute.
  public static func fetch<Value>(
    where condition: TypedPredicate<Self>? = nil, sortedBy path: KeyPath<Keys<Self>, Attribute<Value>>,
    limit: Int? = nil, offset: Int = 0, in context: ManagedObjectContext
  ) throws -> [Self] {
    try fetch(where: condition, sortedBy: .ascending(path), limit: limit, offset: offset, in: context)
  }

  /// Returns the objects that meet a condition, in the given order:
  /// `Book.fetch(where: { $0.title.hasPrefix("W") }, in: context)`.
  public static func fetch(
    where condition: (Fields<Self>) -> FetchPredicate, sortedBy order: TypedSort<Self> = [],
    limit: Int? = nil, offset: Int = 0, in context: ManagedObjectContext
  ) throws -> [Self] {
    try fetch(where: TypedPredicate(condition), sortedBy: order, limit: limit, offset: offset, in: context)
  }

  /// Returns the objects that meet a condition, in ascending order of an attribute.
  public static func fetch<Value>(
    where condition: (Fields<Self>) -> FetchPredicate, sortedBy path: KeyPath<Keys<Self>, Attribute<Value>>,
    limit: Int? = nil, offset: Int = 0, in context: ManagedObjectContext
  ) throws -> [Self] {
    try fetch(
      where: TypedPredicate(condition), sortedBy: .ascending(path), limit: limit, offset: offset, in: context)
  }

  /// Returns the objects whose attribute is true, in the given order: `ToDo.fetch(where: \.completed, in: context)`.
  public static func fetch(
    where path: KeyPath<Keys<Self>, Attribute<Bool>>, sortedBy order: TypedSort<Self> = [],
    limit: Int? = nil, offset: Int = 0, in context: ManagedObjectContext
  ) throws -> [Self] {
    try fetch(where: TypedPredicate(path), sortedBy: order, limit: limit, offset: offset, in: context)
  }

  /// Returns the objects whose attribute is true, in ascending order of another attribute.
  public static func fetch<Value>(
    where path: KeyPath<Keys<Self>, Attribute<Bool>>,
    sortedBy order: KeyPath<Keys<Self>, Attribute<Value>>,
    limit: Int? = nil, offset: Int = 0, in context: ManagedObjectContext
  ) throws -> [Self] {
    try fetch(
      where: TypedPredicate(path), sortedBy: .ascending(order), limit: limit, offset: offset, in: context)
  }

  /// Returns the first object, in the given order, that meets a condition; nil if there is none. At most one row is
  /// read.
  public static func first(
    where condition: TypedPredicate<Self>? = nil, sortedBy order: TypedSort<Self> = [],
    in context: ManagedObjectContext
  ) throws -> Self? {
    try fetch(where: condition, sortedBy: order, limit: 1, in: context).first
  }

  /// Returns the first object, in the given order, that meets a condition; nil if there is none. At most one row is
  /// read.
  public static func first(
    where condition: (Fields<Self>) -> FetchPredicate, sortedBy order: TypedSort<Self> = [],
    in context: ManagedObjectContext
  ) throws -> Self? {
    try first(where: TypedPredicate(condition), sortedBy: order, in: context)
  }

  /// Returns the first object, in the given order, whose attribute is true; nil if there is none.
  public static func first(
    where path: KeyPath<Keys<Self>, Attribute<Bool>>, sortedBy order: TypedSort<Self> = [],
    in context: ManagedObjectContext
  ) throws -> Self? {
    try first(where: TypedPredicate(path), sortedBy: order, in: context)
  }

  /// Returns the number of objects that meet a condition.
  public static func count(
    where condition: TypedPredicate<Self>? = nil, in context: ManagedObjectContext
  ) throws -> Int {
    try context.count(for: FetchRequest<Self>(where: condition?.predicate))
  }

  /// Returns the number of objects that meet a condition.
  public static func count(
    where condition: (Fields<Self>) -> FetchPredicate, in context: ManagedObjectContext
  ) throws -> Int {
    try count(where: TypedPredicate(condition), in: context)
  }

  /// Returns the number of objects whose attribute is true.
  public static func count(
    where path: KeyPath<Keys<Self>, Attribute<Bool>>, in context: ManagedObjectContext
  ) throws -> Int {
    try count(where: TypedPredicate(path), in: context)
  }

  /// Returns whether an object meets a condition; without a condition, whether there is an object.
  public static func exists(
    where condition: TypedPredicate<Self>? = nil, in context: ManagedObjectContext
  ) throws -> Bool {
    var request = FetchRequest<Self>(where: condition?.predicate)
    request.limit = 1
    return try context.count(for: request) > 0
  }

  /// Returns whether an object meets a condition.
  public static func exists(
    where condition: (Fields<Self>) -> FetchPredicate, in context: ManagedObjectContext
  ) throws -> Bool {
    try exists(where: TypedPredicate(condition), in: context)
  }

  /// Returns whether the attribute of an object is true.
  public static func exists(
    where path: KeyPath<Keys<Self>, Attribute<Bool>>, in context: ManagedObjectContext
  ) throws -> Bool {
    try exists(where: TypedPredicate(path), in: context)
  }

  /// Deletes the objects that meet a condition, as ``ManagedObjectContext/delete(_:)`` does one after another: delete
  /// rules apply, and nothing is written before the save.
  ///
  /// The condition is mandatory, so that nothing deletes all objects by an omission. Objects that a delete rule deletes
  /// in addition are not counted. ``BatchDeleteRequest`` deletes many rows faster, without reading objects.
  ///
  /// - Returns: The number of objects that met the condition.
  @discardableResult
  public static func delete(
    where condition: TypedPredicate<Self>, in context: ManagedObjectContext
  ) throws -> Int {
    let objects = try fetch(where: condition, in: context)
    for object in objects { context.delete(object) }
    return objects.count
  }

  /// Deletes the objects that meet a condition.
  ///
  /// - Returns: The number of objects that met the condition.
  @discardableResult
  public static func delete(
    where condition: (Fields<Self>) -> FetchPredicate, in context: ManagedObjectContext
  ) throws -> Int {
    try delete(where: TypedPredicate(condition), in: context)
  }

  /// Deletes the objects whose attribute is true.
  ///
  /// - Returns: The number of these objects.
  @discardableResult
  public static func delete(
    where path: KeyPath<Keys<Self>, Attribute<Bool>>, in context: ManagedObjectContext
  ) throws -> Int {
    try delete(where: TypedPredicate(path), in: context)
  }

  // MARK: The contract with generated code

  /// Returns the object with the values of a `unique:` list.
  @_spi(Generated) public static func _object(
    unique keys: [String], _ values: [ExpressionConstant], in context: ManagedObjectContext
  ) throws -> Self? {
    let parts = zip(keys, values).map { FetchPredicate(.keyPath($0.0), .equalTo, .constant($0.1)) }
    return try context.single(FetchRequest<Self>(where: .and(parts)))
  }

  /// Returns the objects of a fetch template, with values for its variables.
  @_spi(Generated) public static func _fetch(
    template name: String, of entity: String, _ variables: [String: ExpressionConstant],
    in context: ManagedObjectContext
  ) throws -> [Self] {
    guard let template = context.template(name, of: entity) else {
      throw context.unknownTemplate(name, of: entity)
    }
    var request = FetchRequest<Self>(where: template.predicate)
    request.variables = variables
    request.sortKeys = template.sort
    request.limit = template.limit
    return try context.fetch(request)
  }
}

extension ManagedObjectContext {
  /// Returns the objects whose stored attribute has a value; nil if a fetch must decide.
  func matches<Object: EntityClass, Value>(
    _ path: KeyPath<Fields<Object>, Attribute<Value>>, _ value: AttributeValue, isSingle: Bool
  ) throws -> [Object]? {
    // Pending changes count too, but no statement knows them.
    guard pending.isEmpty, parent == nil else { return nil }
    // A removal of a store replaces the connection. So this comes first, because a statement belongs to its connection.
    noticeRemovals()
    guard let match = try valueMatch(path) else { return nil }
    guard let found = try match.objects(value, isSingle: isSingle, in: self) else { return nil }
    return ManagedObject.cast(found)
  }

  private func valueMatch<Object: EntityClass, Value>(
    _ path: KeyPath<Fields<Object>, Attribute<Value>>
  ) throws -> ValueMatch? {
    if let match = storeReader.match(path) { return match }
    guard let entity = model.entity(Object.entityName), storeReader.hasStore(of: entity),
      classes.type(of: entity) == Object.self,
      let match = ValueMatch(
        path: path, keys: Fields()[keyPath: path].keys, entity: entity, by: try reader())
    else { return nil }
    storeReader.keep(match)
    return match
  }
}
