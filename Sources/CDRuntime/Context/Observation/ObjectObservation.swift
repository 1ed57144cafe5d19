public import Observation

/// Who follows an object's properties. An object has one from the first time that one of them is read: making it takes
/// longer than making the object.
final class ObjectObservation {
  let registrar = ObservationRegistrar()
  /// The slots that have been read: nobody follows the others.
  var slots = SlotSet()
}

/// An object that a change may concern, as long as there is one.
struct FollowedObject {
  weak var object: ManagedObject?
}

/// A property of an observable class, as observers know it: its key path.
protocol ObservedProperty {
  /// - Parameter object: One of the path's class, or of one below it.
  func access(_ object: ManagedObject, _ registrar: ObservationRegistrar)
  func willSet(_ object: ManagedObject, _ registrar: ObservationRegistrar)
  func didSet(_ object: ManagedObject, _ registrar: ObservationRegistrar)
}

extension KeyPath: ObservedProperty where Root: ObservableEntityClass {
  // Sound because an object's class is that of its plan or one below it: ManagedObject's initialiser sees to it.
  private func subject(_ object: ManagedObject) -> Root { unsafeDowncast(object, to: Root.self) }

  func access(_ object: ManagedObject, _ registrar: ObservationRegistrar) {
    registrar.access(subject(object), keyPath: self)
  }

  func willSet(_ object: ManagedObject, _ registrar: ObservationRegistrar) {
    registrar.willSet(subject(object), keyPath: self)
  }

  func didSet(_ object: ManagedObject, _ registrar: ObservationRegistrar) {
    registrar.didSet(subject(object), keyPath: self)
  }
}

extension ObjectScope {
  /// The properties by slot; none where the class is not observable.
  func makeObservedProperties() -> [any ObservedProperty] {
    guard plan.isObservable, let objectType else { return [] }
    let properties = objectType._keyPaths.paths.compactMap { $0 as? any ObservedProperty }
    return properties.count == plan.slots.count ? properties : []
  }
}

/// A generated class whose properties SwiftUI and `withObservationTracking` follow: `observable: true` in `model.yaml`
/// makes a model's classes so.
///
/// Attributes and relationships are followed, fetched properties and the object's state are not. Whatever changes one
/// tells of it: setters, the other side of a relationship, delete rules, ``ManagedObjectContext/rollback()``,
/// ``ManagedObjectContext/refresh(_:mergeChanges:)``, a resolved conflict, what others have saved. To read an object's
/// row for the first time changes nothing.
///
/// ```swift
/// import CDRuntime
/// import Observation
///
/// func follow<Object: ObservableEntityClass, Value>(_ object: Object, _ path: KeyPath<Object, Value>) {
///   withObservationTracking {
///     print(object[keyPath: path])
///   } onChange: {
///     print("it is about to change")
///   }
/// }
/// ```
///
/// What others have saved is told when the `perform` block, or the main actor's turn, ends in which the context has learnt
/// of it, whatever the kind of the store. Elsewhere nothing marks an end, and it is told as soon as a fetch learns of it:
/// who reads a property there and then fetches, in one tracked body, is not yet followed at that moment, and has the
/// property's old value until the next change. ``ManagedObjectContext/perform(_:)`` around the body keeps that from
/// happening.
///
/// An object is followed as long as somebody holds it: a context lets go of objects that nobody uses, and makes new ones
/// of their rows later.
public protocol ObservableEntityClass: EntityClass, Observable {}

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
