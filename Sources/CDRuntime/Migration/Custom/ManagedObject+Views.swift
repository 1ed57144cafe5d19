// Access for the typed views of a migration to more than plain values: to other views, and to composites as structs.
extension ManagedObject {
  /// The view of the object in a to-one relationship.
  @_spi(Generated) public final func _view<View: EntitySnapshot>(_ slot: Int) -> View? {
    relatedObject(at: slot).map(View.init(_object:))
  }

  /// The view of the object in a mandatory to-one relationship. If the store has no such object, the view has no
  /// values.
  @_spi(Generated) public final func _view<View: EntitySnapshot>(_ slot: Int, _ entity: String) -> View {
    View(_object: relatedObject(at: slot) ?? ManagedObject(_seed: _missing(entity)))
  }

  /// The views of the objects in a to-many relationship.
  @_spi(Generated) public final func _views<View: EntitySnapshot>(_ slot: Int) -> [View] {
    relatedObjects(at: slot).map(View.init(_object:))
  }

  @_spi(Generated) public final func _view<View: MigratedEntity>(_ slot: Int) -> View? {
    relatedObject(at: slot).map(View.init(_object:))
  }

  @_spi(Generated) public final func _views<View: MigratedEntity>(_ slot: Int) -> [View] {
    relatedObjects(at: slot).map(View.init(_object:))
  }

  private func relatedObject(at slot: Int) -> ManagedObject? {
    scope.plan.relationship(slot).flatMap(relatedObject)
  }

  private func relatedObjects(at slot: Int) -> [ManagedObject] {
    scope.plan.relationship(slot).map(relatedObjects) ?? []
  }

  /// The value of a composite attribute, for an object without a generated class.
  @_spi(Generated) public final func _fields<Composite: CompositeAttribute>(_ slot: Int) -> Composite? {
    _willRead()
    guard scope.plan.slots.indices.contains(slot), case .composite = storedValue(slot) else { return nil }
    let parts = Self.parts(of: storedValue(slot), scope.plan.slots[slot])
    return Composite(_row: RowReader(values: ValueRow(parts)), 0)
  }

  /// Sets a composite attribute, for an object without a generated class.
  @_spi(Generated) public final func _setFields<Composite: CompositeAttribute>(
    _ value: Composite?, _ slot: Int
  ) {
    guard scope.plan.slots.indices.contains(slot) else { return }
    _willWrite(slot)
    guard let value else { return setStoredValues([slot: .null]) }
    let writer = RowWriter()
    writer.startCapture()
    value._encode(writer)
    setStoredValues([slot: Self.combined(writer.values, scope.plan.slots[slot])])
  }
}
