// Properties by key, for objects with and without a generated class.
extension ManagedObject {
  /// Returns the value of an attribute, a relationship or a fetched property.
  ///
  /// - Throws: ``PropertyError/unknownKey(entity:key:suggestion:)``, and the errors of a fetched property's fetch.
  ///   ``StoreError`` if a large value that the object has not read yet cannot be read. The next call tries again.
  public final func value(forKey key: String) throws -> PropertyValue {
    if let slot = scope.plan.slot(key) {
      if scope.plan.isObservable { follow(slot.number) }
      if slot.isReadLater { try readLargeValueForCaller(slot.number) }
      return value(of: slot)
    }
    if let property = scope.context?.fetchedProperty(key, of: scope.plan) {
      return .objects(try scope.context?.fetch(property, for: self) ?? [])
    }
    throw unknownKey(key)
  }

  /// Returns the value of an attribute as a Swift type: `try book.value(forKey: "pages", as: Int?.self)`.
  ///
  /// The types are those of generated code: an attribute of type Int32 has the type `Int32` or, as each number that
  /// loses nothing, `Int`. An optional type accepts nil.
  ///
  /// - Throws: ``PropertyError/unknownKey(entity:key:suggestion:)``; ``PropertyError/wrongType(entity:key:expected:given:)`` if the
  ///   value does not have the type.
  public final func value<Value: AttributeValueConvertible>(
    forKey key: String, as type: Value.Type
  ) throws -> Value {
    let value = try self.value(forKey: key)
    if let found = value.attribute?.decodedNilOrValue(as: type) { return found }
    throw PropertyError.wrongType(
      entity: scope.plan.name, key: key, expected: "\(type)", given: value.typeName)
  }

  /// Returns the values of several properties by their keys.
  public final func values(forKeys keys: [String]) throws -> [String: PropertyValue] {
    // A large value that is read brings the object up to date, so these are read before the others.
    if !scope.plan.laterSlots.isEmpty {
      for key in keys {
        if let slot = scope.plan.slot(key), slot.isReadLater { try readLargeValueForCaller(slot.number) }
      }
    }
    var result: [String: PropertyValue] = [:]
    for key in keys { result[key] = try value(forKey: key) }
    return result
  }

  /// Sets a property. Setting one side of a relationship sets the other side.
  ///
  /// A floating-point or decimal attribute also accepts an integer. A raw value that no case of an enumeration has is
  /// refused at the save.
  ///
  /// - Throws: ``PropertyError``; the object is unchanged then. ``StoreError`` if the former value is a large one that
  ///   the object has not read yet, and that cannot be read.
  public final func setValue(_ value: PropertyValue, forKey key: String) throws {
    guard let slot = scope.plan.slot(key) else { throw unsettableKey(key) }
    _willRead()
    guard !isInaccessible else { throw PropertyError.inaccessible(entity: scope.plan.name, key: key) }
    if case .relationship(let relationship) = slot.kind {
      switch try fitted(value, relationship) {
      case .one(let object): setRelatedObject(object, relationship)
      case .many(let objects): setRelatedObjects(objects, relationship)
      }
    } else {
      try setAttribute(fitted(value, slot), slot)
    }
  }

  /// Throws the error with which `setValue(_:forKey:)` would refuse a value, unless the object is inaccessible. Sets nothing.
  @_optimize(none)
  final func checkValue(_ value: PropertyValue, forKey key: String) throws {
    guard let slot = scope.plan.slot(key) else { throw unsettableKey(key) }
    if case .relationship(let relationship) = slot.kind {
      _ = try fitted(value, relationship)
    } else {
      _ = try fitted(value, slot)
    }
  }

  /// Sets an attribute to a Swift value; an optional nil sets it to nil.
  public final func setValue(_ value: some AttributeValueConvertible, forKey key: String) throws {
    try setValue(.attribute(value.attributeValue), forKey: key)
  }

  /// Sets a to-one relationship.
  public final func setValue(_ object: ManagedObject, forKey key: String) throws {
    try setValue(.object(object), forKey: key)
  }

  /// Sets a to-many relationship, in this order if the relationship is ordered.
  public final func setValue(_ objects: [ManagedObject], forKey key: String) throws {
    try setValue(.objects(objects), forKey: key)
  }

  /// The properties that have been changed since the last save, with their values; all properties of a new object.
  public final var changedValues: [String: PropertyValue] {
    var result: [String: PropertyValue] = [:]
    for slot in scope.plan.slots
    where flags.contains(.inserted) || extras?.changed.contains(slot.number) == true {
      result[slot.name] = value(of: slot)
    }
    return result
  }

  /// The attributes and to-one relationships, with their values from when the object was fetched or last saved. A new
  /// object has its current values. A to-one relationship has its former object.
  public final var committedValues: [String: PropertyValue] {
    _willRead()
    readLargeValues()
    var result: [String: PropertyValue] = [:]
    for slot in scope.plan.slots where slot.relationship?.isToMany != true {
      guard let old = extras?.oldValue(slot.number) else {
        result[slot.name] = value(of: slot)
        continue
      }
      guard let relationship = slot.relationship else {
        result[slot.name] = .attribute(old)
        continue
      }
      var object: ManagedObject?
      if case .int(let key) = old { object = scope.context?.object(key, relationship) }
      result[slot.name] = .object(object)
    }
    return result
  }

  private func unknownKey(_ key: String) -> PropertyError {
    let fetched = scope.context?.model.graph.fetchedProperties(of: scope.plan.name).map(\.name) ?? []
    return .unknownKey(
      entity: scope.plan.name, key: key,
      suggestion: scope.plan.closestKey(to: key, or: fetched))
  }

  private func unsettableKey(_ key: String) -> PropertyError {
    scope.context?.fetchedProperty(key, of: scope.plan) == nil
      ? unknownKey(key) : .readOnly(entity: scope.plan.name, key: key)
  }

  final func value(of slot: PropertyPlan) -> PropertyValue {
    switch slot.kind {
    case .attribute, .composite:
      _willRead()
      let value = storedValue(slot.number)
      return .attribute(slot.isUnencodable(value) ? .null : value)
    case .relationship(let relationship):
      if relationship.isToMany { return .objects(relatedObjects(relationship)) }
      return .object(relatedObject(relationship))
    }
  }

  /// Returns a value as the attribute or composite of a slot stores it.
  private func fitted(_ value: PropertyValue, _ slot: PropertyPlan) throws -> AttributeValue {
    guard let attribute = slot.attribute, attribute.derivation == nil else {
      throw PropertyError.readOnly(entity: scope.plan.name, key: slot.name)
    }
    var fitted: AttributeValue?
    switch slot.kind {
    case .attribute(_, let storageType): fitted = value.attribute.flatMap(storageType.fitted)
    case .composite(_, let fields):
      fitted = value.attribute.flatMap(fields.fitted)
      // The columns are equal for nil and for a composite whose fields are all nil. A value must read the same before
      // the save and after it.
      if attribute.isOptional || !scope.plan.isTyped, case .composite(let values)? = fitted,
        values.values.allSatisfy({ $0 == .null })
      {
        fitted = .null
      }
    case .relationship: break
    }
    // A mandatory property of a generated class cannot be nil. An object without a generated class is validated at
    // the save.
    let isImpossible = fitted == .null && scope.plan.isTyped && !attribute.isOptional
    guard let fitted, !isImpossible else {
      throw PropertyError.wrongType(
        entity: scope.plan.name, key: slot.name, expected: attribute.type.schemaName, given: value.typeName)
    }
    return fitted
  }

  private func setAttribute(_ fitted: AttributeValue, _ slot: PropertyPlan) throws {
    if slot.isReadLater { try readLargeValueForCaller(slot.number) }
    _willWrite(slot.number)
    setStoredValues([slot.number: fitted])
    didChange(slot.number)
  }

  /// The objects that a relationship can be set to.
  private enum RelatedObjects {
    case one(ManagedObject?)
    case many([ManagedObject])
  }

  /// Returns the objects of a value. Throws an error if the relationship cannot be set to them.
  private func fitted(_ value: PropertyValue, _ relationship: RelationshipPlan) throws -> RelatedObjects {
    let destination = relationship.description.destination
    func mistake() -> PropertyError {
      .wrongType(
        entity: scope.plan.name, key: relationship.name,
        expected: relationship.isToMany ? "objects of '\(destination)'" : "an object of '\(destination)'",
        given: value.typeName)
    }
    func fits(_ object: ManagedObject) -> Bool { object.scope.plan.lineageNames.contains(destination) }
    switch value {
    case .object(let object) where !relationship.isToMany:
      guard object.map(fits) ?? true else { throw mistake() }
      return .one(object)
    case .attribute(.null) where !relationship.isToMany: return .one(nil)
    case .objects(let objects) where relationship.isToMany:
      guard objects.allSatisfy(fits) else { throw mistake() }
      return .many(objects)
    default: throw mistake()
    }
  }
}

extension PropertyValue {
  /// A description of the value's type, for messages: never the value itself.
  var typeName: String {
    switch self {
    case .attribute(let value): value.typeName
    case .object(let object): object.map { "an object of '\($0.scope.plan.name)'" } ?? "nil"
    case .objects: "objects"
    }
  }
}

extension AttributeValue {
  /// The type of the value, for messages.
  var typeName: String {
    // One case of values is for integers of all sizes.
    if case .int = self { return "Int" }
    return type?.schemaName ?? noun
  }
}
