/// Objects that have the same values of a `unique:` list, of which no two may.
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
  /// The properties of the list, `composite.field` among them; empty where the store does not say which.
  public let properties: [String]
  /// The objects that have the same values: those that were to be saved, in the order in which they would have been,
  /// and then the one of the store, if none of those has its row.
  public let objectIDs: [ManagedObjectID]

  /// A conflict of objects, for tests of code that resolves conflicts.
  public init(entity: String, properties: [String], objectIDs: [ManagedObjectID]) {
    self.entity = entity
    self.properties = properties
    self.objectIDs = objectIDs
  }
}

extension UniquenessConflict: CustomStringConvertible {
  public var description: String {
    let names = properties.isEmpty ? "values of a `unique:` list" : properties.joined(separator: ", ")
    return "objects of '\(entity)' have the same \(names): "
      + objectIDs.map(\.description).joined(separator: ", ")
  }
}
