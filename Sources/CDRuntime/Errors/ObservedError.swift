/// An error of code that cannot throw, such as a getter. ``ManagedObjectContext/errors`` reports these errors.
///
/// ```swift
/// for await error in context.errors {
///   print(error)
///   if error.reason == .objectGone { context.refreshAllObjects() }
/// }
/// ```
public struct ObservedError: Error, Hashable, Sendable {
  /// The cause of the error, and the value that the getter returned.
  public enum Reason: Hashable, Sendable {
    /// The object's row is gone: it was deleted elsewhere, or it never existed. The object keeps its last values.
    case objectGone
    /// The object's context has been reset.
    case contextGone
    /// A property was set on an object that has been deleted. No save writes the value, and the next save throws
    /// ``SaveError/changesLost(_:)``.
    case changeLost
    /// The store could not be read.
    case readFailed(String)
    /// No case of an enumeration has the stored raw value. The attribute reads as the default or the first case.
    case unknownCase
    /// The stored JSON does not decode as the codable attribute's type. The attribute reads as nil.
    case undecodableValue
    /// The stored value has another type than the attribute. The attribute reads as its type's empty value.
    case wrongType
    /// The file with an external attribute's value cannot be read. The attribute reads as nil or as no bytes. Its
    /// file is kept until the attribute is set or the object is deleted. No merge policy writes the empty value, and a save
    /// refuses to insert the row again after an undo of its deletion.
    case unreadableFile(String)
    /// A mandatory relationship has no object.
    case missingObject
    /// An object could not be inserted, because its entity is not in the context's model, is abstract, or has another
    /// class there.
    case uninsertableEntity
    /// No key could be reserved for a new object.
    case noKey(String)
    /// A row has a key below 1, which no object can have. Fetches skip the row; counts that SQL computes include it.
    case unusableKey(Int64)
    /// The entity's store was removed from the coordinator. The entity's objects are inaccessible and keep their
    /// values.
    case storeRemoved
    /// A fetched property's fetch failed.
    case fetchFailed(String)
  }

  /// The cause of the error, and the value that the getter returned.
  public let reason: Reason
  /// The name of the object's entity.
  public let entity: String
  /// The name of the property; nil if the error concerns the whole object.
  public let property: String?
  /// The object; nil if it never had an identifier.
  public let objectID: ManagedObjectID?
}

extension ObservedError: CustomStringConvertible {
  @_optimize(none)
  public var description: String {
    let subject = property.map { "'\(entity).\($0)'" } ?? "an object of '\(entity)'"
    return switch reason {
    case .objectGone: "the row of an object of '\(entity)' no longer exists; the object keeps its last values"
    case .contextGone: "\(subject) was used after its context had been reset; fetch it again"
    case .changeLost: "\(subject) was set after the object had been deleted; no save writes it"
    case .readFailed(let text): "\(subject) could not be read: \(text)"
    case .unknownCase:
      "\(subject) has a stored raw value that is not a case of its enum; it reads as its default"
    case .undecodableValue: "\(subject) has stored JSON that does not decode as its type; it reads as nil"
    case .wrongType: "\(subject) has a stored value of the wrong type; it reads as the type's empty value"
    case .unreadableFile(let text): "\(subject) has a file that cannot be read: \(text)"
    case .missingObject: "mandatory relationship \(subject) has no object; set it before saving"
    case .uninsertableEntity:
      "'\(entity)' cannot be inserted: the entity is abstract, or the context's model does not have it, or has "
        + "another class for it"
    case .noKey(let text): "no key could be reserved for \(subject): \(text)"
    case .unusableKey(let key): "a row of '\(entity)' was skipped: its key is \(key), but keys begin at 1"
    case .storeRemoved:
      "the store of '\(entity)' was removed from the coordinator; its objects are inaccessible and keep their last values"
    case .fetchFailed(let text): "fetched property \(subject) could not be fetched: \(text)"
    }
  }
}

extension ObservedError: PresentableError {
  public var situation: ErrorSituation {
    switch reason {
    case .objectGone, .changeLost, .missingObject, .storeRemoved: .objectGone
    case .readFailed, .noKey: .inputOutput
    case .undecodableValue, .wrongType, .unknownCase, .unreadableFile, .unusableKey: .storeDamaged
    case .contextGone, .uninsertableEntity, .fetchFailed: .mistakeOfApp
    }
  }
}
