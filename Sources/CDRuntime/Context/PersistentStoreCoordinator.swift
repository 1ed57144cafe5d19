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
/// - ``copyPersistentStore(at:to:formats:)``
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
public final class PersistentStoreCoordinator: Sendable {
  /// Where a coordinator's objects are.
  ///
  /// <doc:StoreTypes> says when to take which.
  public enum StoreLocation: Sendable {
    /// A SQLite file, which is made where there is none.
    case sqlite(URL)
    /// An XML file, which is made where there is none. It is read whole, and each save writes it whole.
    case xml(URL)
    /// A binary file, compact and with checksums, which is made where there is none. It is read whole, and each save
    /// writes it whole.
    case binary(URL)
    /// A file of an app's own format, which is made where there is none. It is read whole, and each save writes it
    /// whole.
    case custom(URL, any StoreFormat)
    /// Memory, for as long as the coordinator lives.
    case inMemory
  }

  let database: SQLiteDatabase
  let plan: ModelPlan

  /// The model.
  public var managedObjectModel: ManagedObjectModel { plan.model }

  /// The UUIDs of the stores, which they keep for good.
  public var storeIDs: [UUID] { database.stores.all.map(\.storeID) }

  /// The migrations that opening the stores took, of each store one at most; none where all were current.
  public var migrations: [MigrationResult] { database.stores.all.compactMap(\.migration) }

  /// Opens a store for a model of generated code.
  ///
  /// - Throws: ``ModelError``, or ``StoreError``; an existing store is then as it was.
  public convenience init(for model: any GeneratedModel.Type, at location: StoreLocation) throws {
    try self.init(for: model, stores: [PersistentStoreDescription(location)])
  }

  /// Opens several stores, each for a configuration of a generated code's model.
  ///
  /// - Throws: ``ModelError``, or ``StoreError``; existing stores are then as they were.
  public convenience init(
    for model: any GeneratedModel.Type, stores: [PersistentStoreDescription]
  ) throws {
    try self.init(for: [model], stores: stores)
  }

  /// Opens stores for several models of generated code: see `ManagedObjectModel.init(merging:)`.
  ///
  /// ```swift
  /// let coordinator = try PersistentStoreCoordinator(
  ///   for: [LibraryModel.self, ToDoModel.self],
  ///   stores: [
  ///     PersistentStoreDescription(.sqlite(url), configuration: "Catalogue"),
  ///     PersistentStoreDescription(.inMemory),
  ///   ])
  /// ```
  ///
  /// - Throws: `ModelMergeError`, ``ModelError``, or ``StoreError``; existing stores are then as they were.
  public convenience init(
    for models: [any GeneratedModel.Type], stores: [PersistentStoreDescription]
  ) throws {
    try self.init(for: models.map { ModelWithMigrations($0) }, stores: stores)
  }

  /// Opens a store for a model without generated classes: all objects are ``ManagedObject``s.
  ///
  /// - Throws: ``ModelError``, or ``StoreError``; an existing store is then as it was.
  public convenience init(model: ManagedObjectModel, at location: StoreLocation) throws {
    try self.init(model: model, stores: [PersistentStoreDescription(location)])
  }

  /// Opens several stores, each for a configuration of a model without generated classes.
  ///
  /// - Throws: ``ModelError``, or ``StoreError``; existing stores are then as they were.
  public convenience init(model: ManagedObjectModel, stores: [PersistentStoreDescription]) throws {
    try self.init(plan: ModelPlan(model, stores: stores), stores: stores)
  }

  init(plan: ModelPlan, stores: [PersistentStoreDescription]) throws {
    self.plan = plan
    database = try SQLiteDatabase(stores, model: plan)
  }

  /// A coordinator for a store that is being made: nobody but the context that makes it reads or writes it.
  init(plan: ModelPlan, making store: SQLiteStore) throws {
    self.plan = plan
    database = try SQLiteDatabase(making: store, model: plan)
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
    _ = try database.remove(id)
  }

  /// The identifier of a URI that an identifier of one of the stores gave, before a migration too; nil for any
  /// other. An entity that was renamed since is followed by its `renamedFrom`.
  public func managedObjectID(forURIRepresentation uri: URL) -> ManagedObjectID? {
    ManagedObjectID(uri: uri).flatMap(currentID)
  }
}
