/// A store that a coordinator opens: its location, and the entities of the model that it holds.
///
/// ```swift
/// let container = try PersistentContainer(
///   for: LibraryModel.self,
///   stores: [
///     PersistentStoreDescription(.sqlite(url), configuration: "Public"),
///     PersistentStoreDescription(.inMemory),
///   ])
/// ```
///
/// All entities of one inheritance hierarchy are in the same store. A store without a configuration holds the entities
/// that no other store's configuration names. A relationship may lead from one store to another. It has no foreign key
/// then, so its object may turn out to be missing, as with a delete rule of `noAction`.
public struct PersistentStoreDescription: Hashable, Sendable {
  /// The location of the store.
  public var location: StoreLocation
  /// The name of the configuration, in the model's version, whose entities the store holds.
  public var configuration: String?
  /// Whether the store is opened for reading only. The store must exist then, and a save that would change it throws
  /// ``StoreError/readOnly(_:)``.
  public var isReadOnly: Bool
  /// The number of seconds to wait while another coordinator or process writes to the store, before
  /// ``StoreError/busy(_:)`` is thrown. The default is 10; 0 does not wait. If several stores have different values,
  /// the longest one counts.
  public var busyTimeout: Double
  /// Whether a store of an older version of the model is migrated when it is opened. The default is true. If it is
  /// false, ``StoreError/needsMigration(_:model:from:to:)`` is thrown. A store that is opened for reading only is never
  /// migrated.
  public var migratesStoreAutomatically = true
  /// Whether migration steps without a mapping are inferred from the two versions. The default is true. If it is false,
  /// a step that has no mapping and would change data is refused with a ``MigrationError``.
  public var infersMappingModelAutomatically = true
  /// The policy for a store of a changed draft that cannot be migrated without a loss. The default is to refuse the
  /// store.
  public var changedDraftPolicy = ChangedDraftPolicy.refuse
  /// Whether the old file, `NAME-before-VERSION`, is kept after a migration that has created a new file. If it is
  /// false, the old file is removed when the new one is opened the next time.
  ///
  /// The large values of a kept file stay in the folder `NAME-external`, which belongs to the store. To return to the old
  /// version, copy the kept file: see <doc:BackupAndRestore>.
  public var keepsBackup = false
  /// The observer that follows a migration and can cancel it.
  public var migrationObserver: MigrationObserver?
  /// The app's own code for steps with custom entity mappings. These policies take precedence over the ones that
  /// ``PersistentContainer/init(for:migrations:stores:)`` adds from generated code.
  public var migrationPolicies = MigrationPolicies()

  /// Creates the description of a store at a location. A store without a configuration holds the entities that no other
  /// store's configuration names.
  public init(
    _ location: StoreLocation, configuration: String? = nil,
    isReadOnly: Bool = false, busyTimeout: Double = 10
  ) {
    self.busyTimeout = busyTimeout
    self.location = location
    self.configuration = configuration
    self.isReadOnly = isReadOnly
  }

  /// The part of the description that does not concern migrations.
  var settings: StoreSettings {
    StoreSettings(
      location: location, configuration: configuration, isReadOnly: isReadOnly, busyTimeout: busyTimeout)
  }
}
