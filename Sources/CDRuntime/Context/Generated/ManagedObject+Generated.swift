// What the accessors of generated classes call.
extension ManagedObject {
  /// The object of a to-one relationship whose key the object has.
  @_optimize(speed)
  @_spi(Generated) public final func _toOne<T: ManagedObject>(_ key: ObjectKey, _ slot: Int) -> T? {
    if key == 0 { return nil }
    if let object = scope.target(key, slot) { return cast(object) }
    return found(key, slot).map(cast)
  }

  /// The object of a to-one relationship that may have to be read.
  @inline(never)
  private final func found(_ key: ObjectKey, _ slot: Int) -> ManagedObject? {
    guard let context = scope.context, let relationship = scope.plan.relationship(slot) else { return nil }
    // Before the object is looked for: reading it calls methods of the app, which may reset the context.
    context.registry.noteTarget(relationship, of: scope)
    return context.object(key, relationship)
  }

  /// The object of a to-one relationship whose reference stands in the other table.
  @_spi(Generated) public final func _toOneOfInverse<T: ManagedObject>(_ slot: Int) -> T? {
    guard let relationship = scope.plan.relationship(slot), let object = relatedObject(relationship)
    else { return nil }
    return cast(object)
  }

  @_spi(Generated) public final func _setToOne(_ object: ManagedObject?, _ slot: Int) {
    guard let relationship = scope.plan.relationship(slot) else { return }
    setRelatedObject(object, relationship)
  }

  @_optimize(speed)
  @_spi(Generated) public final func _toMany<T: ManagedObject>(_ slot: Int) -> [T] {
    guard let relationship = scope.plan.relationship(slot) else { return [] }
    return Self.cast(relatedObjects(relationship))
  }

  @_spi(Generated) public final func _setToMany(_ objects: [ManagedObject], _ slot: Int) {
    guard let relationship = scope.plan.relationship(slot) else { return }
    setRelatedObjects(objects, relationship)
  }

  @_spi(Generated) public final func _add(_ object: ManagedObject, _ slot: Int) {
    guard let relationship = scope.plan.relationship(slot) else { return }
    addRelated(object, relationship, at: nil)
  }

  @_spi(Generated) public final func _add(_ objects: [ManagedObject], _ slot: Int) {
    for object in objects { _add(object, slot) }
  }

  @_spi(Generated) public final func _remove(_ object: ManagedObject, _ slot: Int) {
    guard let relationship = scope.plan.relationship(slot) else { return }
    removeRelated(object, relationship)
  }

  @_spi(Generated) public final func _remove(_ objects: [ManagedObject], _ slot: Int) {
    for object in objects { _remove(object, slot) }
  }

  /// Inserts into an ordered to-many relationship; an index beyond it is its end.
  @_spi(Generated) public final func _insert(_ object: ManagedObject, at index: Int, _ slot: Int) {
    guard let relationship = scope.plan.relationship(slot) else { return }
    addRelated(object, relationship, at: index)
  }

  /// The objects of a fetched property; none, and a report, where its fetch fails.
  @_spi(Generated) public final func _fetched<T: ManagedObject>(_ name: String) -> [T] {
    guard let context = scope.context, let property = context.fetchedProperty(name, of: scope.plan)
    else { return [] }
    do {
      return Self.cast(try context.fetch(property, for: self))
    } catch {
      context.observe(
        ObservedError(
          reason: .fetchFailed("\(error)"), entity: scope.plan.name, property: name, objectID: objectID))
      return []
    }
  }

  /// The seed of the object that stands for one that a mandatory relationship has not.
  @_spi(Generated) public final func _missing(_ entity: String) -> ObjectSeed {
    report(.missingObject)
    let plan = scope.context?.model.entity(entity) ?? EntityPlan.unknown(entity)
    return ObjectSeed(detached: ObjectScope(plan: plan, context: nil))
  }

  /// What an enumeration reads as that has no case for the stored raw value.
  @_spi(Generated) public final func _unknown<T>(_ value: T, _ slot: Int) -> T {
    report(.unknownCase, slot: slot)
    return value
  }

  /// An object as its generated class.
  @inline(__always) private func cast<T: ManagedObject>(_ object: ManagedObject) -> T {
    // Sound because the classes were verified when the model was: each entity's is its own and descends from
    // its parent's, and `object(_:_:)` gives none but objects of the relationship's destination.
    unsafeDowncast(object, to: T.self)
  }

  /// Objects as their generated class, without a check for each: see `cast(_:)`.
  static func cast<T: ManagedObject>(_ objects: [ManagedObject]) -> [T] {
    unsafeBitCast(objects, to: [T].self)
  }
}
