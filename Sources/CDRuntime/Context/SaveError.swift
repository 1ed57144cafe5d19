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

extension ValidationError {
  @inline(never)
  init(
    _ reason: Reason, of object: ManagedObject, _ property: String? = nil, _ bound: BrokenBound? = nil,
    denyingCount: Int? = nil
  ) {
    self.init(
      reason: reason, brokenBound: bound, entity: object.scope.plan.name, property: property,
      objectID: object.objectID, denyingCount: denyingCount)
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
