#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// An identifier of an object that is the same in a store and in all replicas of the store. It says where the object was
/// inserted first.
///
/// A ``ManagedObjectID`` identifies an object in one store. A replica has its own UUID, and each replica migrates at its
/// own time. A migration may give an object another key, or its entity another name. The global identifier never changes,
/// so programs can match the objects of two replicas by it.
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
/// Only compare global identifiers. Do not derive an object's present store, entity or key from one.
public struct GlobalObjectID: Hashable, Codable, Sendable {
  /// The UUID of the store in which the object was inserted.
  public let storeID: UUID
  /// The name that the object's root entity had at that time. The root entity is the ancestor that has no parent.
  ///
  /// If a migration created several objects from one source object, the text is longer for all of them but one. See
  /// <doc:FollowingChanges>.
  public let entityName: String
  /// The key that the object had at that time. It is unique within its root entity.
  public let key: Int64
}
