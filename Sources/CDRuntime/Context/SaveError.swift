#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// Why a save failed. Nothing was written, and the context's changes are as they were; one case tells of a save to
/// several stores that has reached some of them.
///
/// ```swift
/// do {
///   try context.save()
/// } catch SaveError.validation(let errors) {
///   for error in errors { print(error.entity, error.property ?? "", error.reason) }
/// } catch SaveError.conflict(let conflicts) {
///   for conflict in conflicts { print(conflict.objectID, conflict.keys) }
/// }
/// ```
public enum SaveError: Error, Hashable, Sendable {
  /// Objects break rules of the schema: every mistake of every object.
  case validation([ValidationError])
  /// Somebody else has changed, deleted or related rows since they were read: every row where that is so.
  case conflict([SaveConflict])
  /// Objects have the same values of a `unique:` list: every such list, with all of the objects. A save that meets
  /// conflicts too throws those, for the values may be other ones once they are resolved.
  case notUnique([UniquenessConflict])
  /// Objects' ``ManagedObjectLifecycle/willSave()`` brings more and more objects to the save: the last of them.
  case unsettled([ManagedObjectID])
  /// `save()` was called by code that the context itself had called: a save's own hook or merge policy, or a hook of
  /// reading or deleting. The name says which.
  case nested(in: String)
  /// Code that was called while rows were being written, the `encode(to:)` of a value or a format of stores, has changed
  /// the context's objects. Nothing was written.
  case changedWhileWriting
  /// Properties were set of objects that had been deleted, or of a context that has been reset since. Nothing was written;
  /// the next save writes everything else.
  case changesLost([LostChange])
  /// Objects refer to rows that are not there.
  case danglingReferences([ManagedObjectID])
  /// The objects of some stores have been saved, and then another store could not be written, for the reason given. The
  /// changes of the rest are still in the context: the next save writes them.
  case partlySaved(written: [URL], reason: StoreError)
}

/// A rule of the schema that an object breaks.
///
/// A form asks for the errors of its object before the save:
///
/// ```swift
/// book.price = -1
/// let errors = context.validationErrors(of: book)
/// if errors.contains(where: { $0.property == "price" && $0.reason == .outOfRange }) {
///   print("a price is at least 0")
/// }
/// ```
public struct ValidationError: Error, Hashable, Sendable {
  /// The rule.
  public enum Reason: Hashable, Sendable {
    /// A mandatory attribute or relationship is nil.
    case missingValue
    /// Less than the minimum, or more than the maximum.
    case outOfRange
    /// Shorter or longer than allowed: a string in characters as Swift counts them, a data value in bytes.
    case wrongLength
    /// The whole string does not match the pattern.
    case patternMismatch
    /// The pattern is no regular expression.
    case unusablePattern
    /// Whether the string matches takes more than ten million steps to find out, or the strings of all objects of the
    /// save take more than twenty million together, and a hundred for each of their characters: the pattern backtracks.
    case patternTooCostly
    /// Fewer or more objects than allowed.
    case wrongCount(Int)
    /// Not a number, or a date without end, which no store takes.
    case notANumber
    /// A raw value that no case of the enumeration has.
    case unknownCase
    /// A codable value that cannot be encoded, stored text that is no value of the type, or a text or bytes beyond
    /// SQLite's limit for one value, which is a thousand million bytes.
    case notEncodable
    /// More than SQLite takes in a row, 1,000,000,000 bytes.
    case tooLarge
    /// An object of another context, or one whose row is gone.
    case foreignObject
    /// The object was deleted, but objects are still related by a relationship whose rule is to deny that.
    case deleteDenied
    /// The object's row is gone.
    case inaccessible
    /// The object is of a store that was removed from the coordinator.
    case storeRemoved
    /// The object's own validation threw; its error's text.
    case refused(String)
    /// The derivation of a derived attribute fails.
    case notDerivable(String)
  }

  /// The rule.
  public let reason: Reason
  /// The name of the object's entity.
  public let entity: String
  /// The attribute, `composite.field` or relationship; nil where the rule is the object's.
  public let property: String?
  /// The object.
  public let objectID: ManagedObjectID

  /// An error of an object, for tests of code that shows errors.
  public init(reason: Reason, entity: String, property: String?, objectID: ManagedObjectID) {
    self.reason = reason
    self.entity = entity
    self.property = property
    self.objectID = objectID
  }
}

extension ValidationError: CustomStringConvertible {
  public var description: String {
    let subject = property.map { "'\(entity).\($0)'" } ?? "'\(entity)'"
    return "\(subject) of \(objectID) \(reason)"
  }
}

extension ValidationError.Reason: CustomStringConvertible {
  /// What is said of the property: `is mandatory and has no value`.
  public var description: String {
    switch self {
    case .missingValue: "is mandatory and has no value"
    case .outOfRange: "is below its minimum or above its maximum"
    case .wrongLength: "is shorter or longer than allowed"
    case .patternMismatch: "does not match its pattern"
    case .unusablePattern: "has a pattern that is no regular expression; correct the schema"
    case .patternTooCostly:
      "has a pattern that takes too many steps to match its value; rewrite it without nested repetition"
    case .wrongCount(let count): "has \(count) objects, fewer or more than allowed"
    case .notANumber: "is not a number"
    case .unknownCase: "has a raw value that no case has"
    case .notEncodable: "cannot be encoded"
    case .tooLarge: "is larger than a row takes; let the attribute be `external:`"
    case .foreignObject:
      "was given an object of another context, or one whose row is gone; fetch it by its objectID first"
    case .deleteDenied: "denies the deletion while it has objects"
    case .inaccessible: "has changes but no row any more; refresh or roll back"
    case .storeRemoved:
      "has changes, and its store was removed from the coordinator; roll back, or reset the context"
    case .refused(let text): "was refused: \(text)"
    case .notDerivable(let text): "cannot be derived: \(text)"
    }
  }
}

extension SaveError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .validation(let errors): errors.map(\.description).joined(separator: "\n")
    case .conflict(let conflicts): conflicts.map(\.description).joined(separator: "\n")
    case .notUnique(let conflicts): conflicts.map(\.description).joined(separator: "\n")
    case .unsettled(let objects):
      "willSave brings more and more objects to the save, the last of them "
        + "\(objects.map(\.description).joined(separator: ", "))"
    case .nested(let hook):
      "save() was called by \(hook) of the same context; what that changes is saved by the save that follows or is "
        + "running already, so leave the call out, or save when the method has returned"
    case .changedWhileWriting:
      "objects were changed while their rows were being written; nothing was written. Let methods that encode "
        + "values, and formats of stores, change no objects"
    case .changesLost(let changes):
      changes.map(\.description).joined(separator: "\n") + "\nthe next save writes everything else"
    case .danglingReferences(let objects):
      "these objects refer to rows that are gone: \(objects.map(\.description).joined(separator: ", "))"
    case .partlySaved(let written, let reason):
      "saved in \(written.map { $0.path(percentEncoded: false) }.joined(separator: ", ")), and not in the other stores; save again. "
        + "The reason: \(reason)"
    }
  }
}
