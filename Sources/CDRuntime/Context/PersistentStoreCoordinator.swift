#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A model and the stores that hold its objects, shared by any number of contexts.
///
/// ```swift
/// let coordinator = try PersistentStoreCoordinator(for: LibraryModel.self, at: .sqlite(url))
/// for finding in try coordinator.verify() { print(finding) }
/// let container = PersistentContainer(coordinator)
/// ```
///
/// ## Topics
///
/// ### Opening stores
/// - ``init(for:at:)``
/// - ``init(for:stores:)-(GeneratedModel.Type,_)``
/// - ``init(for:stores:)-3w0hq``
/// - ``init(model:at:)``
/// - ``init(model:stores:)``
/// - ``init(for:migrations:at:)``
/// - ``init(for:migrations:stores:)``
/// - ``StoreLocation``
///
/// ### Information about stores
/// - ``metadata(forStoreAt:formats:)``
/// - ``metadata(forStoreAt:)``
/// - ``metadata(forStore:)``
/// - ``setMetadata(_:forStore:)``
/// - ``storeIDs``
/// - ``migrations``
/// - ``managedObjectModel``
///
/// ### Maintenance
/// - ``verify()``
/// - ``removePersistentStore(withID:)``
/// - ``destroyPersistentStore(at:formats:)``
/// - ``destroyPersistentStore(at:)``
/// - ``copyPersistentStore(at:to:formats:asReplica:)``
/// - ``copyPersistentStore(at:to:asReplica:)``
///
/// ### Saved changes
/// - ``changes(after:)``
/// - ``history(after:author:limit:)``
/// - ``currentHistoryToken()``
/// - ``purgeHistory(before:)``
/// - ``purgeHistory(upTo:)``
///
/// ### Identifiers
/// - ``managedObjectID(forURIRepresentation:)``
/// - ``globalID(of:)``
/// - ``managedObjectID(of:)``
public final class PersistentStoreCoordinator: Sendable {
  /// The engine that has the stores open.
  let engine: any StoreEngine
  let plan: ModelPlan
  /// The generated classes; none if all objects are plain ``ManagedObject`` instances.
  let classes: ClassBindings

  /// The model.
  public var managedObjectModel: ManagedObjectModel { plan.model }

  /// The UUIDs of the stores. A store keeps its UUID for good.
  public var storeIDs: [UUID] { engine.stores.all.map(\.storeID) }

  /// The migrations that ran when the stores were opened, at most one for each store; empty if all stores were
  /// current.
  public var migrations: [MigrationResult] { engine.stores.all.compactMap(\.migration) }

  /// Creates a coordinator of open stores.
  init(plan: ModelPlan, classes: ClassBindings = .none, engine: any StoreEngine) {
    self.plan = plan
    self.classes = classes
    self.engine = engine
  }

  /// Removes a store from the coordinator, while the other stores stay in use. The store's file is left as it is:
  /// ``destroyPersistentStore(at:formats:)`` removes it, and another coordinator may open it.
  ///
  /// ```swift
  /// let id = try PersistentStoreCoordinator.metadata(forStoreAt: url).storeID
  /// try coordinator.removePersistentStore(withID: id)
  /// try PersistentStoreCoordinator.destroyPersistentStore(at: url)
  /// ```
  ///
  /// A context notices the removal when it next reads, saves or inserts outside of a
  /// ``ManagedObjectContext/perform(_:)``; a container's ``PersistentContainer/viewContext`` notices it in the main
  /// actor's next turn. From then on:
  /// - The store's objects are inaccessible and keep their values. ``ManagedObjectContext/errors`` reports this once
  ///   for each inheritance root.
  /// - Relationships from other stores to these objects read as empty.
  /// - Fetches of the store's entities throw ``StoreError/noStore(entity:)``.
  /// - Unsaved changes of the store's objects make the save throw ``SaveError/validation(_:)`` until they are rolled
  ///   back.
  ///
  /// A context that has read keeps the file open until it notices the removal. So a store that the main actor's context has
  /// read can be destroyed in the next turn at the earliest. A sequence of ``changes(after:)`` closes the file by itself, and
  /// ``destroyPersistentStore(at:formats:)`` waits for this.
  ///
  /// You cannot add a store to a coordinator: when a coordinator is created, it is settled which store holds which entity. If
  /// no store has the identifier, nothing happens.
  ///
  /// - Throws: ``StoreError`` if the remaining stores cannot be opened again; nothing has changed then.
  public func removePersistentStore(withID id: UUID) throws {
    _ = try engine.remove(id)
  }
}
