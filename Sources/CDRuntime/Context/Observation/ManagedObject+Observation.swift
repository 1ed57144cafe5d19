import Observation

// What the accessors of observable classes call, beside those of all classes.
extension ManagedObject {
  /// Called before an attribute or a reference of an observable class is read.
  @_spi(Generated) public final func _willRead(_ slot: Int) {
    follow(slot)
    if flags.rawValue & ObjectFlags.fault.rawValue != 0 { fireFault() }
  }

  /// Called before a relationship of an observable class is read whose data stand elsewhere.
  @_spi(Generated) public final func _willRead(related slot: Int) { follow(slot) }

  /// Called after an attribute of an observable class has been set.
  @_spi(Generated) public final func _didWrite(_ slot: Int) { didChange(slot) }
}

// Telling who follows a property. For an object that nobody does, each of these is the check of a flag.
extension ManagedObject {
  /// Notes that a property is read.
  @inline(__always) final func follow(_ slot: Int) {
    guard flags.contains(.observed), let observation = extras?.observation, observation.slots.contains(slot)
    else { return beginFollowing(slot) }
    scope.observedProperties[slot].access(self, observation.registrar)
  }

  private final func beginFollowing(_ slot: Int) {
    let properties = scope.observedProperties
    guard properties.indices.contains(slot) else { return }
    let extras = requireExtras()
    let observation = extras.observation ?? ObjectObservation()
    extras.observation = observation
    flags.insert(.observed)
    observation.slots.insert(slot)
    if let context = scope.context, let relationship = scope.plan.relationship(slot) {
      context.noteFollower(self, of: relationship)
    }
    properties[slot].access(self, observation.registrar)
  }

  /// Tells that a property is about to change.
  @inline(__always) final func willChange(_ slot: Int) {
    if flags.contains(.observed) { tell(slot) { $0.willSet($1, $2) } }
  }

  /// Tells that a property has changed.
  @inline(__always) final func didChange(_ slot: Int) {
    if flags.contains(.observed) { tell(slot) { $0.didSet($1, $2) } }
  }

  /// Tells that all properties may change that a condition holds for.
  final func willChange(where isMeant: (PropertyPlan) -> Bool) {
    guard flags.contains(.observed) else { return }
    for slot in scope.plan.slots where isMeant(slot) { willChange(slot.number) }
  }

  final func didChange(where isMeant: (PropertyPlan) -> Bool) {
    guard flags.contains(.observed) else { return }
    for slot in scope.plan.slots where isMeant(slot) { didChange(slot.number) }
  }

  private final func tell(
    _ slot: Int, _ event: (any ObservedProperty, ManagedObject, ObservationRegistrar) -> Void
  ) {
    // What an object sets while its values are read is read with them.
    guard let observation = extras?.observation, observation.slots.contains(slot),
      scope.context?.isAwakening != true
    else { return }
    event(scope.observedProperties[slot], self, observation.registrar)
  }
}
