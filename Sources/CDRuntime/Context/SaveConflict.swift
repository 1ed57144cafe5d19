/// A conflict that a save has met: another context or process has changed, deleted or related the row since it was
/// read, or another object has the same unique values.
///
/// ``values`` has the properties that differ, in three versions: the value of the object, the value of the row when
/// the object was read, and the value of the row in the store. ``ManagedObjectContext/mergePolicy`` decides how a
/// conflict is resolved. If it is ``MergePolicy/error``, the save throws all conflicts:
///
/// ```swift
/// do {
///   try context.save()
/// } catch SaveError.conflict(let conflicts) {
///   for conflict in conflicts where conflict.reason == .changed {
///     for value in conflict.values { print(value.key, value.object, value.snapshot) }
///     guard let object = context.registeredObject(for: conflict.objectID) else { continue }
///     context.refresh(object, mergeChanges: true)
///   }
///   try context.save()
/// }
/// ```
///
/// Two conflicts are equal if their reasons, objects and keys are equal. Their values are not compared.
public struct SaveConflict: Error, Hashable, Sendable {
  /// The cause of the conflict.
  public enum Reason: Hashable, Sendable {
    /// The object's row has other values.
    case changed
    /// The object's row is gone. A refresh that keeps the object's changes does not settle this conflict: delete the object,
    /// or refresh it without its changes.
    case deleted
    /// The object that a one-to-one relationship was set to has another partner in the store. To save, set that
    /// partner's relationship to nil, or choose another object.
    case partnerTaken
    /// Another object has the same values of a `unique:` list. Merge policies decide it too; under
    /// ``MergePolicy/error`` the save throws ``SaveError/notUnique(_:)``.
    case notUnique
    /// The object was deleted in the context, and another context has related an object to it since.
    case related
  }

  /// A property in three versions.
  public struct Value: Hashable, Sendable {
    /// The attribute or to-one relationship.
    public let key: String
    /// The object's value, which the save was to write.
    public let object: FetchedValue
    /// The value when the object was read or last saved.
    public let snapshot: FetchedValue
    /// The value in the store; nil if the row is gone.
    public let store: FetchedValue?

    /// Creates a value, for tests of code that resolves conflicts.
    public init(key: String, object: FetchedValue, snapshot: FetchedValue, store: FetchedValue?) {
      self.key = key
      self.object = object
      self.snapshot = snapshot
      self.store = store
    }
  }

  /// The cause of the conflict.
  public let reason: Reason
  /// The object that the save was to write.
  public let objectID: ManagedObjectID
  /// The attributes and to-one relationships whose values in the store differ from those when the object was read, in
  /// the order of the schema; empty if the row is gone. With ``Reason/partnerTaken``, the relationship. With
  /// ``Reason/notUnique``, the properties of the list, if the store names them. With ``Reason/related``, the
  /// relationships of the deleted object to which another context has added objects.
  public let keys: [String]
  /// The stored attributes and to-one relationships whose three versions are not all equal, in the order of the
  /// schema. Derived attributes are not included. With ``Reason/notUnique`` the store's version is the value of
  /// ``otherID``.
  public let values: [Value]
  /// The object that has the partner or the unique values, or the first object that was related; nil if it is not
  /// known.
  public let otherID: ManagedObjectID?

  /// Creates a conflict of an object, for tests of code that resolves conflicts.
  public init(
    reason: Reason, objectID: ManagedObjectID, keys: [String] = [], values: [Value] = [],
    otherID: ManagedObjectID? = nil
  ) {
    self.reason = reason
    self.objectID = objectID
    self.keys = keys
    self.values = values
    self.otherID = otherID
  }

  /// Returns the three versions of a property; nil if all are equal.
  public func value(forKey key: String) -> Value? { values.first { $0.key == key } }

  /// Returns whether two conflicts have the same reason, object and keys.
  public static func == (left: SaveConflict, right: SaveConflict) -> Bool {
    left.reason == right.reason && left.objectID == right.objectID && left.keys == right.keys
  }

  /// Hashes the reason, the object and the keys.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(reason)
    hasher.combine(objectID)
    hasher.combine(keys)
  }
}

extension SaveConflict: CustomStringConvertible {
  /// The cause, the names of the properties, and what to do. Values may be private and are left out.
  @_optimize(none)
  public var description: String {
    let list = keys.joined(separator: ", ")
    return switch reason {
    case .changed:
      "another context or process has changed \(objectID)" + (keys.isEmpty ? "" : " (\(list))")
        + "; refresh it and save again"
    case .deleted: "another context or process has deleted \(objectID); roll back or delete it"
    case .partnerTaken:
      "another context or process has related another object to the one that \(objectID) refers to (\(list)); "
        + "remove it from that object and save again, or choose another partner"
    case .notUnique:
      "another object" + (otherID.map { ", \($0)," } ?? "") + " has the same \(list) as \(objectID)"
    case .related:
      "another context or process has related " + (otherID.map { "\($0)" } ?? "an object")
        + " to \(objectID), which was deleted here (\(list)); roll back, or delete it again and save"
    }
  }
}
