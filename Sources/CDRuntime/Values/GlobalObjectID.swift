#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// The identity of an object in a store and in all replicas of the store: where the object was inserted first.
///
/// A ``ManagedObjectID`` leads to an object in one store. A replica has a UUID of its own, and a migration may give an
/// object another key or its entity another name, in each replica at its own time. The global identifier stays what it
/// was when the object was inserted, so that programs can match the objects of two replicas.
///
/// ```swift
/// let file = url.appendingPathExtension("replica")
/// try PersistentStoreCoordinator.copyPersistentStore(at: url, to: .sqlite(file), asReplica: true)
/// let replica = try PersistentStoreCoordinator(for: LibraryModel.self, at: .sqlite(file))
/// if let id = try coordinator.globalID(of: book.objectID) {
///   print("the replica has the book as", try replica.managedObjectID(of: id) ?? "none")
/// }
/// ```
///
/// The identifier has no meaning beyond being equal or not: do not derive an object's present store, entity or key from
/// it.
public struct GlobalObjectID: Hashable, Codable, Sendable {
  /// The UUID of the store in which the object was inserted.
  public let storeID: UUID
  /// The name that the root entity of the object had then: the one of its ancestors, or itself, that has no parent.
  ///
  /// Of an object that a migration made beside the one that goes on as its source object, the text is longer: see
  /// <doc:FollowingChanges>.
  public let entityName: String
  /// The key that the object had then, within its root entity.
  public let key: Int64
}
