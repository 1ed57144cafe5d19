/// A row that somebody else has changed, deleted or related since it was read, or that has the unique values of
/// another object.
///
/// ``values`` has what differs, in three versions: the object's, that of the row when the object was read, and the
/// row's in the store. ``ManagedObjectContext/mergePolicy`` says what becomes of a conflict; where that is
/// ``MergePolicy/error`` the save throws all of them:
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
/// Two conflicts are equal where their reasons, objects and keys are: values may be anything, and are private.
public struct SaveConflict: Error, Hashable, Sendable {
  /// What somebody else has done.
  public enum Reason: Hashable, Sendable {
    /// The object's row has other values.
    case changed
    /// The object's row is gone.
    case deleted
    /// The object that a one-to-one relationship was set to has another partner in the store. Where that one's
    /// relationship is set to nil, the save succeeds; or else another object is to be chosen.
    case partnerTaken
    /// Another object has the same values of a `unique:` list. Merge policies are asked about it; without one the
    /// save throws ``SaveError/notUnique(_:)``.
    case notUnique
    /// The object was deleted in the context, and another one has been related to it since.
    case related
  }

  /// A property in three versions.
  public struct Value: Hashable, Sendable {
    /// The attribute or to-one relationship.
    public let key: String
    /// The object's value, which was to be saved.
    public let object: FetchedValue
    /// The value when the object was read or last saved.
    public let snapshot: FetchedValue
    /// The value in the store; nil where the row is gone.
    public let store: FetchedValue?

    /// A value, for tests of code that resolves conflicts.
    public init(key: String, object: FetchedValue, snapshot: FetchedValue, store: FetchedValue?) {
      self.key = key
      self.object = object
      self.snapshot = snapshot
      self.store = store
    }
  }

  /// What somebody else has done.
  public let reason: Reason
  /// The object that was to be saved.
  public let objectID: ManagedObjectID
  /// The attributes and to-one relationships that have other values in the store than when the object was read, in
  /// the order of the schema; none where the row is gone. With ``Reason/partnerTaken``, the relationship; with
  /// ``Reason/notUnique``, the properties of the list, as far as the store says which; with ``Reason/related``, the
  /// relationships of the deleted object that have others.
  public let keys: [String]
  /// The stored attributes and to-one relationships of which not all three versions are the same, in the order of the
  /// schema. Derived attributes are not among them. With ``Reason/notUnique`` the store's version is that of
  /// ``otherID``.
  public let values: [Value]
  /// The object that has the partner or the unique values, or the first one that was related; nil where it is not
  /// known.
  public let otherID: ManagedObjectID?

  /// A conflict of an object, for tests of code that resolves conflicts.
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

  /// The three versions of a property; nil where all are the same.
  public func value(forKey key: String) -> Value? { values.first { $0.key == key } }

  /// Whether two conflicts are of the same kind, object and keys.
  public static func == (left: SaveConflict, right: SaveConflict) -> Bool {
    left.reason == right.reason && left.objectID == right.objectID && left.keys == right.keys
  }

  /// Hashes what is compared.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(reason)
    hasher.combine(objectID)
    hasher.combine(keys)
  }
}

extension SaveConflict: CustomStringConvertible {
  /// What happened to which properties and what to do; no values, which may be private.
  public var description: String {
    let list = keys.joined(separator: ", ")
    return switch reason {
    case .changed:
      "\(objectID) has been changed by somebody else" + (keys.isEmpty ? "" : " (\(list))")
        + "; refresh it and save again"
    case .deleted: "\(objectID) has been deleted by somebody else; roll back or delete it"
    case .partnerTaken:
      "somebody else has given another partner to what \(objectID) refers to (\(list)); "
        + "take it from that one and save again, or choose another"
    case .notUnique:
      "another object" + (otherID.map { ", \($0)," } ?? "") + " has the same \(list) as \(objectID)"
    case .related:
      "somebody else has related " + (otherID.map { "\($0)" } ?? "an object")
        + " to \(objectID), which was deleted here (\(list)); roll back, or delete it again and save"
    }
  }
}
