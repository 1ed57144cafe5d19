public import Observation

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
