/// A conflict of objects that have the same values of a `unique:` list.
///
/// ```swift
/// do {
///   try context.save()
/// } catch SaveError.notUnique(let conflicts) {
///   for conflict in conflicts {
///     for id in conflict.objectIDs { print(id, try context.object(with: id).isInserted) }
///   }
/// }
/// ```
public struct UniquenessConflict: Error, Hashable, Sendable {
  /// The name of the entity that has the `unique:` list.
  public let entity: String
  /// The properties of the list, including `composite.field`; empty if the store does not name them.
  public let properties: [String]
  /// The objects with the same values: first the objects of the save, in the order in which it would write them, then
  /// the object in the store, unless its row belongs to one of the former.
  public let objectIDs: [ManagedObjectID]

  /// Creates a conflict of objects, for tests of code that resolves conflicts.
  public init(entity: String, properties: [String], objectIDs: [ManagedObjectID]) {
    self.entity = entity
    self.properties = properties
    self.objectIDs = objectIDs
  }
}

extension UniquenessConflict: CustomStringConvertible {
  @_optimize(none)
  public var description: String {
    let names = properties.isEmpty ? "values of a `unique:` list" : properties.joined(separator: ", ")
    return "objects of '\(entity)' have the same \(names): "
      + objectIDs.map(\.description).joined(separator: ", ")
      + "; change all but one of them, or use the stored object"
  }
}
