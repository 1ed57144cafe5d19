#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A reason why a save failed. Nothing was written, and the context's changes are unchanged, except for
/// ``partlySaved(written:reason:)``: a save that has reached some of several stores.
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
  /// Objects break rules of the schema. The list has every broken rule of every object.
  case validation([ValidationError])
  /// Other contexts or processes have changed, deleted or related rows since they were read. The list has every
  /// conflicting row.
  case conflict([SaveConflict])
  /// Objects have the same values of a `unique:` list. The list has every `unique:` list with all of its objects. A
  /// save that meets row conflicts too throws these instead, because resolving them may change the values.
  case notUnique([UniquenessConflict])
  /// ``ManagedObjectLifecycle/willSave()`` of objects brings more and more objects to the save. The list has the last
  /// of them.
  case unstableObjects([ManagedObjectID])
  /// `save()` was called by a hook or merge policy of a running save, or by a hook of reading or deleting. The text
  /// names it.
  case nested(in: String)
  /// Code that was called while rows were being written has changed the context's objects: a value's `encode(to:)`,
  /// or a store format. Nothing was written.
  case changedWhileWriting
  /// Properties were set on objects that had been deleted, or whose context had been reset. Nothing was written; the
  /// next save writes all other changes.
  case changesLost([LostChange])
  /// Objects refer to rows that do not exist. At most 100 of the objects are listed.
  case danglingReferences([ManagedObjectID])
  /// The objects of some stores have been saved; then another store could not be written, for the given reason. The
  /// remaining changes are still in the context: the next save writes them.
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
  /// The broken rule.
  public enum Reason: Hashable, Sendable {
    /// A mandatory attribute or relationship is nil.
    case missingValue
    /// The value is less than the minimum or more than the maximum.
    case outOfRange
    /// The value is shorter or longer than allowed: a string in characters as Swift counts them, a data value in
    /// bytes.
    case wrongLength
    /// The string as a whole does not match the pattern.
    case patternMismatch
    /// The pattern is not a valid regular expression.
    case unusablePattern
    /// Matching the pattern takes too many steps, because it backtracks: more than ten million for one string, or,
    /// for the strings of all objects of the save together, more than twenty million plus a hundred for each of their
    /// characters.
    case patternTooCostly
    /// The relationship has fewer or more objects than allowed. The number is its count.
    case wrongCount(Int)
    /// The value is not a number, or is an infinite date. No store can hold it.
    case notANumber
    /// The raw value belongs to no case of the enumeration.
    case unknownCase
    /// A codable value cannot be encoded, stored text does not decode as the type, or a string or data exceeds
    /// SQLite's limit for one value, 1,000,000,000 bytes.
    case notEncodable
    /// The store cannot store the value. Examples are a text with U+0000 on PostgreSQL, a URL with an empty text in any
    /// store, and a value that could not be read from its file. The text says why.
    case notStorable(String)
    /// The row exceeds SQLite's limit for one row, 1,000,000,000 bytes.
    case tooLarge
    /// The relationship was given an object of another context, or an object whose row is gone.
    case foreignObject
    /// The object was deleted, but a relationship with a `deny` rule still has objects.
    case deleteDenied
    /// The object's row is gone.
    case inaccessible
    /// The object's store was removed from the coordinator.
    case storeRemoved
    /// The object's own validation threw an error. The text describes it.
    case refused(String)
    /// The derivation of a derived attribute failed.
    case notDerivable(String)
  }

  /// A minimum or maximum of the schema, and the value that is beyond it.
  public struct BrokenBound: Hashable, Sendable {
    /// Whether the bound is a minimum.
    public let isMinimum: Bool
    /// The bound: a value of the attribute, or a length.
    public let limit: AttributeValue
    /// The value of the object, or its length.
    public let found: AttributeValue
    /// What the length counts; nil if the bound is one of values.
    let unit: String?
  }

  /// The broken rule.
  public let reason: Reason
  /// The bound that the value is beyond, with ``Reason/outOfRange`` and ``Reason/wrongLength``; nil for other rules, and
  /// for an error that was created without it. Comparisons of errors ignore it.
  public let brokenBound: BrokenBound?
  /// The number of objects that the relationship still has, with ``Reason/deleteDenied``; nil for other rules, and for an
  /// error that was created without it. Comparisons of errors ignore it.
  ///
  /// ```swift
  /// do {
  ///   try context.save()
  /// } catch SaveError.validation(let errors) {
  ///   for case let count? in errors.map(\.denyingCount) { print(count, "other objects need what you have deleted") }
  /// }
  /// ```
  public let denyingCount: Int?
  /// The name of the object's entity.
  public let entity: String
  /// The attribute, `composite.field` or relationship; nil if the rule concerns the whole object.
  public let property: String?
  /// The object.
  public let objectID: ManagedObjectID

  /// Creates an error of an object, for tests of code that shows errors.
  public init(
    reason: Reason, entity: String, property: String?, objectID: ManagedObjectID, denyingCount: Int? = nil
  ) {
    self.init(
      reason: reason, brokenBound: nil, entity: entity, property: property, objectID: objectID,
      denyingCount: denyingCount)
  }

  init(
    reason: Reason, brokenBound: BrokenBound?, entity: String, property: String?, objectID: ManagedObjectID,
    denyingCount: Int? = nil
  ) {
    self.reason = reason
    self.brokenBound = brokenBound
    self.denyingCount = denyingCount
    self.entity = entity
    self.property = property
    self.objectID = objectID
  }

  @inline(never)
  init(
    _ reason: Reason, of object: ManagedObject, _ property: String? = nil, _ bound: BrokenBound? = nil,
    denyingCount: Int? = nil
  ) {
    self.init(
      reason: reason, brokenBound: bound, entity: object.scope.plan.name, property: property,
      objectID: object.objectID, denyingCount: denyingCount)
  }

  /// Returns whether two errors have the same reason, property and object.
  @_optimize(none)
  public static func == (left: ValidationError, right: ValidationError) -> Bool {
    left.reason == right.reason && left.entity == right.entity && left.property == right.property
      && left.objectID == right.objectID
  }

  /// Hashes the reason, the property and the object.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(reason)
    hasher.combine(entity)
    hasher.combine(property)
    hasher.combine(objectID)
  }
}

extension ValidationError.BrokenBound: CustomStringConvertible {
  /// The predicate of a sentence about the property: `is 0, below the minimum of 1`.
  @_optimize(none)
  public var description: String {
    let noun = isMinimum ? "minimum" : "maximum"
    guard let unit else {
      return "is \(found.excerpt), \(isMinimum ? "below" : "above") the \(noun) of \(limit.excerpt)"
    }
    let units = found == .int(1) ? unit : unit + "s"
    return
      "has \(found.excerpt) \(units), \(isMinimum ? "fewer" : "more") than the \(noun) of \(limit.excerpt)"
  }
}

extension ValidationError: CustomStringConvertible {
  @_optimize(none)
  public var description: String {
    let subject = property.map { "'\(entity).\($0)'" } ?? "'\(entity)'"
    let count = denyingCount.map {
      "denies the deletion, because the relationship still has \($0) object\($0 == 1 ? "" : "s")"
    }
    return "\(subject) of \(objectID) \(brokenBound?.description ?? count ?? reason.description)"
  }
}

extension ValidationError.Reason: CustomStringConvertible {
  /// The predicate of a sentence about the property: `is mandatory and has no value`.
  @_optimize(none)
  public var description: String {
    switch self {
    case .missingValue: "is mandatory and has no value"
    case .outOfRange: "is below its minimum or above its maximum"
    case .wrongLength: "is shorter or longer than allowed"
    case .patternMismatch: "does not match its pattern"
    case .unusablePattern: "has a pattern that is not a regular expression; correct the schema"
    case .patternTooCostly:
      "has a pattern that takes too many steps to match its value; rewrite it without nested repetition"
    case .wrongCount(let count): "has \(count) objects, which is fewer or more than allowed"
    case .notANumber: "is not a number"
    case .unknownCase: "has a raw value that is not a case of its enum"
    case .notEncodable: "cannot be encoded"
    case .notStorable(let reason): reason
    case .tooLarge: "is too large for a row; mark the attribute as `external:`"
    case .foreignObject:
      "was set to an object of another context, or to an object without a row; fetch the object by its objectID first"
    case .deleteDenied: "denies the deletion, because the relationship is not empty"
    case .inaccessible: "has changes, but its row no longer exists; refresh the object or roll back"
    case .storeRemoved:
      "has changes, but its store was removed from the coordinator; roll back, or reset the context"
    case .refused(let text): "was refused: \(text)"
    case .notDerivable(let text): "cannot be derived: \(text)"
    }
  }
}

extension SaveError: CustomStringConvertible {
  @_optimize(none)
  public var description: String {
    switch self {
    case .validation(let errors): errors.map(\.description).joined(separator: "\n")
    case .conflict(let conflicts): conflicts.map(\.description).joined(separator: "\n")
    case .notUnique(let conflicts): conflicts.map(\.description).joined(separator: "\n")
    case .unstableObjects(let objects):
      "each call of willSave() changes further objects, so the save never ends; set values in willSave() only if "
        + "they differ. "
        + "The objects changed last: "
        + "\(objects.map(\.description).joined(separator: ", "))"
    case .nested(let hook):
      "save() was called by \(hook) of the same context; the current save, or the next one, saves the changes of that "
        + "method, so remove the call, or save after the method has returned"
    case .changedWhileWriting:
      "objects were changed while their rows were being written; nothing was written. Do not change objects in "
        + "methods that encode values, or in store formats"
    case .changesLost(let changes):
      changes.map(\.description).joined(separator: "\n") + "\nthe next save writes everything else"
    case .danglingReferences(let objects):
      "these objects refer to rows that no longer exist: \(objects.map(\.description).joined(separator: ", "))"
    case .partlySaved(let written, let reason):
      "saved in \(written.map { $0.path(percentEncoded: false) }.joined(separator: ", ")), but not in the other "
        + "stores; save again. "
        + "The reason: \(reason)"
    }
  }
}

extension SaveError: PresentableError {
  public var situation: ErrorSituation {
    switch self {
    case .validation(let errors): errors.count == 1 ? errors[0].situation : .invalidValues
    case .conflict: .conflict
    case .notUnique: .notUnique
    case .changesLost, .danglingReferences: .objectGone
    case .partlySaved: .partlySaved
    case .unstableObjects, .nested, .changedWhileWriting: .mistakeOfApp
    }
  }

  @_optimize(none)
  public var situationNames: [String] {
    switch self {
    case .validation(let errors): errors.count == 1 ? errors[0].situationNames : []
    case .notUnique(let conflicts): conflicts.prefix(1).map { "entity." + $0.entity }
    default: []
    }
  }
}

extension ValidationError: PresentableError {
  public var situation: ErrorSituation {
    switch reason {
    case .missingValue: property == nil ? .invalidValues : .missingValue
    case .deleteDenied: .deletionDenied
    case .inaccessible, .foreignObject, .storeRemoved: .objectGone
    case .unusablePattern, .notEncodable: .mistakeOfApp
    default: property == nil ? .invalidValues : .invalidValue
    }
  }

  @_optimize(none)
  public var situationNames: [String] {
    let entity = "entity." + self.entity
    guard reason != .deleteDenied, let property else { return [entity] }
    return ["property." + self.entity + "." + property, entity]
  }
}
