#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A model and the stores that its objects are in, shared by any number of contexts.
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
/// ### What stores say of themselves
/// - ``metadata(forStoreAt:formats:)``
/// - ``metadata(forStore:)``
/// - ``setMetadata(_:forStore:)``
/// - ``storeIDs``
/// - ``migrations``
/// - ``managedObjectModel``
///
/// ### Care
/// - ``verify()``
/// - ``removePersistentStore(withID:)``
/// - ``destroyPersistentStore(at:formats:)``
/// - ``copyPersistentStore(at:to:formats:asReplica:)``
///
/// ### What is saved
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
  /// What has the stores open.
  let engine: any StoreEngine
  let plan: ModelPlan
  /// The generated classes; none where all objects are plain ones.
  let classes: ClassBindings

  /// The model.
  public var managedObjectModel: ManagedObjectModel { plan.model }

  /// The UUIDs of the stores, which they keep for good.
  public var storeIDs: [UUID] { engine.stores.all.map(\.storeID) }

  /// The migrations that opening the stores took, of each store one at most; none where all were current.
  public var migrations: [MigrationResult] { engine.stores.all.compactMap(\.migration) }

  /// A coordinator of stores that are open.
  init(plan: ModelPlan, classes: ClassBindings = .none, engine: any StoreEngine) {
    self.plan = plan
    self.classes = classes
    self.engine = engine
  }

  /// Lets go of one of the stores, while the others go on. Its file is left as it is;
  /// ``destroyPersistentStore(at:formats:)`` removes it, and another coordinator may open it.
  ///
  /// ```swift
  /// let id = try PersistentStoreCoordinator.metadata(forStoreAt: url).storeID
  /// try coordinator.removePersistentStore(withID: id)
  /// try PersistentStoreCoordinator.destroyPersistentStore(at: url)
  /// ```
  ///
  /// A context notices when it next reads, saves or inserts, outside of a ``ManagedObjectContext/perform(_:)``; a
  /// container's ``PersistentContainer/viewContext`` in the main actor's next turn. The store's objects are inaccessible
  /// from then on and keep their values, ``ManagedObjectContext/errors`` says so once for each entity, relationships
  /// from other stores lead nowhere, and fetches of its entities throw ``StoreError/noStore(entity:)``. Changes of its
  /// objects that were not saved make the save throw ``SaveError/validation(_:)`` until they are rolled back.
  ///
  /// A context that has read keeps the file open until it notices. A store cannot be added to a coordinator: what holds
  /// which entity is settled when it is made. Nothing is done where none of the stores has the identifier.
  ///
  /// - Throws: ``StoreError`` where the other stores cannot be opened anew; nothing has changed then.
  public func removePersistentStore(withID id: UUID) throws {
    _ = try engine.remove(id)
  }
}
