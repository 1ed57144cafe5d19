/// What a class does at the turns of its objects' lives: Core Data's methods of these names.
///
/// Generated classes are made by the runtime, so that a subclass of one's own would not be asked. An extension is:
///
/// ```swift
/// extension Copy: ManagedObjectLifecycle {
///   struct Lent: Error {}
///   func willSave() { if changedValues["barcode"] != nil { barcode = barcode.uppercased() } }
///   func validateForDelete() throws { if loan != nil { throw Lent() } }
/// }
/// ```
///
/// Where the main actor is a module's default isolation, write `nonisolated extension`: objects belong to their
/// context's isolation, whichever that is. A class that inherits the conformance is asked by the same methods,
/// which can look at what `self` is. Classes without the conformance pay nothing for it.
///
/// The methods may do anything with the context, and with others of the same store. Three things to know:
/// - A save of the same context throws ``SaveError/nested(in:)``, except in ``didSave()``.
/// - ``ManagedObjectContext/rollback()`` and ``ManagedObjectContext/reset()`` end what was going on: the save then writes
///   what has been changed since, and the deletion deletes nothing.
/// - What a validation method changes is checked by the rules of the schema, and validated by no method again.
public protocol ManagedObjectLifecycle: ManagedObject {
  /// Called when an object has been inserted: its attributes have their defaults, and the values that its
  /// initialiser was given are set afterwards.
  func awakeFromInsert()

  /// Called when an object's values have been read from the store: at its first fetch, when a fault is fulfilled,
  /// and after a refresh. What it sets counts as read, and makes no change: for transient attributes.
  func awakeFromFetch()

  /// Called once before a save, for an object that was inserted, changed or deleted. It may change objects, itself
  /// too: those that come to the save by this are asked in their turn. ``SaveError/unsettled(_:)`` is thrown
  /// where that goes on for 1,000 rounds.
  func willSave()

  /// Called after a save that wrote the object. `isDeleted` is true where the save deleted it. It may change objects
  /// and save the context; such a save within a save is refused when there are 32 of them.
  func didSave()

  /// Called before the object is deleted, while its relationships still hold.
  func prepareForDeletion()

  /// Called at a save of a new object, after the rules of the schema. What it throws is among the save's errors,
  /// as ``ValidationError/Reason/refused(_:)``.
  func validateForInsert() throws

  /// The same for an object with changes.
  func validateForUpdate() throws

  /// The same for an object that is deleted.
  func validateForDelete() throws
}

extension ManagedObjectLifecycle {
  public func awakeFromInsert() {}
  public func awakeFromFetch() {}
  public func willSave() {}
  public func didSave() {}
  public func prepareForDeletion() {}
  public func validateForInsert() throws {}
  public func validateForUpdate() throws {}
  public func validateForDelete() throws {}
}

extension ManagedObject {
  /// The object as one whose class takes part; nil where it does not.
  final var lifecycle: (any ManagedObjectLifecycle)? {
    scope.plan.hasLifecycle ? self as? any ManagedObjectLifecycle : nil
  }
}
