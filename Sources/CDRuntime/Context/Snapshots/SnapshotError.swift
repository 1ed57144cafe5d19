/// A reason why the values of a snapshot cannot be given to an object. Nothing has changed then.
///
/// ```swift
/// let snapshot = book.snapshot
/// do {
///   try book.apply(snapshot)
/// } catch SnapshotError.missingObject(_, let property, let id) {
///   print("\(property) leads to \(id), which does not exist")
/// }
/// ```
public enum SnapshotError: Error, Hashable, Sendable {
  /// A relationship leads to an object that the context's stores do not have, or that has been deleted.
  case missingObject(entity: String, property: String, id: ManagedObjectID)
  /// A relationship leads to an object of an entity that the relationship does not allow.
  case wrongEntity(entity: String, property: String, id: ManagedObjectID, expected: String)
  /// The object that is to have the values has been deleted, or its context has been reset.
  case inaccessible(entity: String, id: ManagedObjectID)
}

extension SnapshotError: CustomStringConvertible {
  @_optimize(none)
  public var description: String {
    switch self {
    case .missingObject(let entity, let property, let id):
      "'\(entity).\(property)' of the snapshot leads to '\(id)', which does not exist in this context; nothing has "
        + "been changed"
    case .wrongEntity(let entity, let property, let id, let expected):
      "'\(entity).\(property)' of the snapshot leads to '\(id)', which is not of entity '\(expected)'; nothing has "
        + "been changed"
    case .inaccessible(let entity, let id):
      "no snapshot can be applied to '\(id)' of entity '\(entity)': the object has been deleted, or its context has "
        + "been reset"
    }
  }
}

extension SnapshotError: PresentableError {
  public var situation: ErrorSituation {
    switch self {
    case .missingObject, .inaccessible: .objectGone
    case .wrongEntity: .mistakeOfApp
    }
  }
}
