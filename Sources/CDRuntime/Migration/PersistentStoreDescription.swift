/// A store that a coordinator is to open: where it is, and which of the model's entities it holds.
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
/// An entity, with all that inherit from its root, is in one store. A store without a configuration holds what
/// no other store's configuration names. Relationships may lead from one store to another: such a one has no
/// foreign key, so that its object may turn out to be missing, as with a delete rule of `noAction`.
public struct PersistentStoreDescription: Hashable, Sendable {
  /// Where the store is.
  public var location: StoreLocation
  /// The configuration of the model's version whose entities the store holds.
  public var configuration: String?
  /// Whether the store is opened to be read alone. It has to be there then; a save that would change it throws
  /// ``StoreError/readOnly(_:)``.
  public var isReadOnly: Bool
  /// How many seconds to wait while another coordinator or process writes to the store, before
  /// ``StoreError/busy(_:)`` is thrown: 10 unless set. 0 does not wait. Of several stores the longest counts.
  public var busyTimeout: Double
  /// Whether a store of an older version of the model is migrated when it is opened: true unless set. Otherwise
  /// ``StoreError/needsMigration(_:model:from:to:)`` is thrown. A store that is opened to be read alone is never
  /// migrated.
  public var migratesStoreAutomatically = true
  /// Whether steps between versions that no mapping speaks of are inferred: true unless set. Otherwise a step
  /// without a mapping that would touch data is refused with a ``MigrationError``.
  public var infersMappingModelAutomatically = true
  /// What becomes of a store of a draft that has changed so that something would be lost: it is refused unless set.
  public var changedDraftPolicy = ChangedDraftPolicy.refuse
  /// Whether the old file, `NAME-before-VERSION`, stays for good where a migration has made a new one. Otherwise
  /// it is removed when the new one is opened the next time.
  public var keepsBackup = false
  /// Who follows a migration and may end it.
  public var migrationObserver: MigrationObserver?
  /// The app's own code for steps with custom entity mappings. What generated code declares is given by
  /// ``PersistentContainer/init(for:migrations:at:)`` and comes after these.
  public var migrationPolicies = MigrationPolicies()

  /// A store at a location; without a configuration it holds what no other store's configuration names.
  public init(
    _ location: StoreLocation, configuration: String? = nil,
    isReadOnly: Bool = false, busyTimeout: Double = 10
  ) {
    self.busyTimeout = busyTimeout
    self.location = location
    self.configuration = configuration
    self.isReadOnly = isReadOnly
  }

  /// The description without what it says of migrations.
  var settings: StoreSettings {
    StoreSettings(
      location: location, configuration: configuration, isReadOnly: isReadOnly, busyTimeout: busyTimeout)
  }
}
