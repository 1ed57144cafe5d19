public import Observation

/// The observation of an object's properties. It is created when the first property is observed, because creating it
/// takes longer than creating the object.
final class ObjectObservation {
  let registrar = ObservationRegistrar()
  /// The slots that have been read. The other properties have no observers.
  var slots = SlotSet()
}

/// An object that a change may concern, as long as the object is alive.
struct FollowedObject {
  weak var object: ManagedObject?
}

/// A property of an observable class in the form that observers know: a key path.
protocol ObservedProperty {
  /// - Parameter object: An instance of the key path's root class or of a subclass.
  func access(_ object: ManagedObject, _ registrar: ObservationRegistrar)
  func willSet(_ object: ManagedObject, _ registrar: ObservationRegistrar)
  func didSet(_ object: ManagedObject, _ registrar: ObservationRegistrar)
}

extension KeyPath: ObservedProperty where Root: ObservableEntityClass {
  // Sound, because an object's class is the class of its plan or a subclass: ManagedObject's initialiser checks it.
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
  /// The observed properties by slot; empty if the class is not observable.
  func makeObservedProperties() -> [any ObservedProperty] {
    guard plan.isObservable, let objectType else { return [] }
    let properties = objectType._keyPaths.paths.compactMap { $0 as? any ObservedProperty }
    return properties.count == plan.slots.count ? properties : []
  }
}

/// A generated class whose properties SwiftUI and `withObservationTracking` can observe. To generate such classes,
/// set `observable: true` in `model.yaml`.
///
/// Attributes and relationships can be observed; fetched properties and the object's state cannot. Observers are
/// notified of every change: by setters, by the other side of a relationship, by delete rules, by
/// ``ManagedObjectContext/rollback()`` and ``ManagedObjectContext/refresh(_:mergeChanges:)``, by a resolved conflict,
/// and by the saves of other contexts. Reading an object's row for the first time is not a change.
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
/// When a context learns of other contexts' saves in a `perform` block or in the main actor's turn, it notifies
/// observers at the end of the block or turn, for every type of store. Elsewhere it notifies them as soon as a fetch
/// learns of the saves. If a tracked body there reads a property and then fetches, the property is not observed yet
/// at that moment, and the observer has the old value until the next change. To avoid this, put
/// ``ManagedObjectContext/perform(_:)`` around the body.
///
/// An object is observed as long as other code holds it: a context releases unused objects, and creates new ones from
/// their rows later.
public protocol ObservableEntityClass: EntityClass, Observable {}

// The methods that accessors of observable classes call, in addition to those of all classes.
extension ManagedObject {
  /// Called before an attribute or a reference of an observable class is read.
  @_spi(Generated) public final func _willRead(_ slot: Int) {
    follow(slot)
    if flags.rawValue & ObjectFlags.fault.rawValue != 0 { fireFault() }
  }

  /// Called before the class reads a relationship that is stored outside the object's row.
  @_spi(Generated) public final func _willRead(related slot: Int) { follow(slot) }

  /// Called after an attribute of an observable class has been set.
  @_spi(Generated) public final func _didWrite(_ slot: Int) { didChange(slot) }
}

// Notifying observers of a property. For an object without observers, each method only checks a flag.
extension ManagedObject {
  /// Records that a property is read.
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
      context.noteObserver(self, of: relationship)
    }
    properties[slot].access(self, observation.registrar)
  }

  /// Notifies observers that a property is about to change.
  @inline(__always) final func willChange(_ slot: Int) {
    if flags.contains(.observed) { notify(slot) { $0.willSet($1, $2) } }
  }

  /// Notifies observers that a property has changed.
  @inline(__always) final func didChange(_ slot: Int) {
    if flags.contains(.observed) { notify(slot) { $0.didSet($1, $2) } }
  }

  /// Notifies observers that all properties that meet a condition are about to change.
  final func willChange(where isIncluded: (PropertyPlan) -> Bool) {
    guard flags.contains(.observed) else { return }
    for slot in scope.plan.slots where isIncluded(slot) { willChange(slot.number) }
  }

  final func didChange(where isIncluded: (PropertyPlan) -> Bool) {
    guard flags.contains(.observed) else { return }
    for slot in scope.plan.slots where isIncluded(slot) { didChange(slot.number) }
  }

  private final func notify(
    _ slot: Int, _ event: (any ObservedProperty, ManagedObject, ObservationRegistrar) -> Void
  ) {
    // Values that an object sets in `awakeFromFetch()` are part of reading it.
    guard let observation = extras?.observation, observation.slots.contains(slot),
      scope.context?.activity.isAwakening != true
    else { return }
    if let notices = scope.context?.changeNotices, notices.isHeld { return notices.hold(self, slot) }
    event(scope.observedProperties[slot], self, observation.registrar)
  }
}
