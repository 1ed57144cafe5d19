/// Methods that a class implements to take part in its objects' lifecycle, with the names of Core Data's methods.
///
/// The runtime creates instances of generated classes, so a subclass of your own would never be used. Extend the
/// generated class instead:
///
/// ```swift
/// extension Copy: ManagedObjectLifecycle {
///   struct Lent: Error {}
///   func willSave() { if changedValues["barcode"] != nil { barcode = barcode.uppercased() } }
///   func validateForDelete() throws { if loan != nil { throw Lent() } }
/// }
/// ```
///
/// If the main actor is a module's default isolation, write `nonisolated extension`: objects belong to their
/// context's isolation, whichever it is. A class that inherits the conformance uses the same methods, which can check
/// the type of `self`. Classes without the conformance pay nothing for it.
///
/// The methods may do anything with the context, and with other contexts of the same store. Three things to know:
/// - A save of the same context throws ``SaveError/nested(in:)``, except in ``didSave()``.
/// - ``ManagedObjectContext/rollback()`` and ``ManagedObjectContext/reset()`` end the running operation: a save then
///   writes only later changes, and a deletion deletes nothing.
/// - Changes that a validation method makes are checked by the schema's rules, but no validation method is called for
///   them again.
public protocol ManagedObjectLifecycle: ManagedObject {
  /// Called when an object has been inserted. Its attributes have their defaults; the arguments of its initialiser
  /// are set afterwards. An argument that is nil sets nothing, so that an optional attribute keeps the value that this
  /// method has set.
  func awakeFromInsert()

  /// Called when an object's values have been read from the store: at its first fetch, when a fault is fired, and
  /// after a refresh. Values that it sets count as read and are not changes: use it to set transient attributes. A
  /// deletion is a change, which the next save writes.
  func awakeFromFetch()

  /// Called once before a save, for an object that was inserted, changed or deleted. It may change objects, including
  /// this one. The method is then called for objects that join the save this way. If that goes on for 1,000 rounds,
  /// the save throws ``SaveError/unstableObjects(_:)``.
  func willSave()

  /// Called after a save that has written the object. `isDeleted` is true if the save deleted it. The method may
  /// change objects and save the context. At most 32 saves may be nested this way.
  func didSave()

  /// Called before the object is deleted, while its relationships still have their objects. If the deletion deletes other
  /// objects too, it calls the methods of all of them first. The methods may delete each other's objects: each object is
  /// deleted once.
  func prepareForDeletion()

  /// Called at the save of a new object. The save's errors include an error that it throws, as
  /// ``ValidationError/Reason/refused(_:)``, or as itself if it is a ``ValidationError``.
  func validateForInsert() throws

  /// Called at the save of a changed object, like ``validateForInsert()``.
  func validateForUpdate() throws

  /// Called at the save of a deleted object, like ``validateForInsert()``.
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
  /// The object as an instance of a class with lifecycle methods; nil if its class has none.
  final var lifecycle: (any ManagedObjectLifecycle)? {
    scope.plan.hasLifecycle ? self as? any ManagedObjectLifecycle : nil
  }
}
