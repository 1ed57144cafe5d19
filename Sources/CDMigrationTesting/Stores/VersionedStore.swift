@_spi(Generated) public import CDRuntime

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A store of any version of a model, created for a test: the store before a migration, or the store after it.
///
/// ```swift
/// let old = try VersionedStore(of: ToDoModel.self, version: 1)
/// try old.insert("ToDo", ["name": "Milk", "dueDate": .init(Date())])
/// let new = try old.migrated()
/// let toDos = try ToDo.objects(in: new.newContext())
/// assert(toDos.map(\.name) == ["Milk"])
/// ```
///
/// The store is a file in a folder of its own. The folder is removed with this object, so keep the object as long as
/// you use ``context``. If you have called ``newContext()``, the folder stays until the process ends. ``migrated(to:)``
/// does not change this store, so you can compare both.
///
/// The library depends on no testing library. It throws errors and returns differences.
///
/// ## Topics
///
/// ### Making a store
/// - ``init(of:version:)-(GeneratedModel.Type,_)``
/// - ``init(of:version:migrations:)``
/// - ``init(of:version:policies:)``
/// - ``everyReleasedVersion(of:)-(ModelDeclaration.Type)``
///
/// ### Objects of its version
/// - ``insert(_:_:)``
/// - ``insertSamples(_:)``
/// - ``context``
/// - ``objects(of:)``
/// - ``snapshots(_:)``
/// - ``count(of:)``
///
/// ### Migrating
/// - ``migrated(to:)``
/// - ``migratedStepByStep(to:)``
///
/// ### Checking the result
/// - ``newContext()``
/// - ``counterpart(of:from:)``
/// - ``differences(from:includingCustom:)``
public final class VersionedStore {
  /// The model with all its versions.
  public let model: ManagedObjectModel
  /// The version of the store.
  public let version: ModelVersion
  /// A context for the objects of the store's version. Each object is a `ManagedObject`, whose properties have the
  /// names of that version.
  public let context: ManagedObjectContext
  /// The location of the store.
  public let url: URL

  let graph: EntityGraph
  private let folder: TestFolder
  private let policies: MigrationPolicies
  /// Opens a store of the current version with generated classes; nil if there are none.
  private let open: OpenContainer?

  private typealias OpenContainer = @Sendable (URL) throws -> PersistentContainer

  /// Creates a store of a version of a model that needs no migration code of the app.
  ///
  /// - Parameters:
  ///   - model: The model's type in the generated code.
  ///   - version: The number of the version.
  /// - Throws: ``VersionedStoreError/unknownVersion(_:)``, and the errors of opening the store.
  public convenience init(of model: any GeneratedModel.Type, version: Int) throws {
    try self.init(
      model: model.model, version: version, policies: MigrationPolicies(),
      open: { try PersistentContainer(for: model, at: $0) })
  }

  /// Creates a store of a version of a model with custom migration steps.
  ///
  /// - Parameters:
  ///   - model: The model's type in the generated code.
  ///   - version: The number of the version.
  ///   - migrations: Creates the app's own code for each migration.
  /// - Throws: ``VersionedStoreError/unknownVersion(_:)``, and the errors of opening the store.
  public convenience init<Model: CustomMigratingModel>(
    of model: Model.Type, version: Int, migrations: @escaping @Sendable () -> Model.CustomMigrations
  ) throws {
    let open: OpenContainer = { try PersistentContainer(for: model, migrations: migrations, at: $0) }
    try self.init(
      model: model.model, version: version, policies: model._migrationPolicies(migrations), open: open)
  }

  /// Creates a store of a version of a model without generated classes.
  ///
  /// - Parameters:
  ///   - model: The model with all its versions.
  ///   - version: The number of the version.
  ///   - policies: The app's own code for custom entity mappings.
  /// - Throws: ``VersionedStoreError/unknownVersion(_:)``, and the errors of opening the store.
  public convenience init(
    of model: ManagedObjectModel, version: Int, policies: MigrationPolicies = MigrationPolicies()
  ) throws {
    try self.init(model: model, version: version, policies: policies, open: nil)
  }

  private convenience init(
    model: ManagedObjectModel, version: Int, policies: MigrationPolicies, open: OpenContainer?
  ) throws {
    try self.init(model: model, version: version, policies: policies, open: open, folder: TestFolder())
  }

  /// Opens the store in a folder, and migrates the store if the folder already has one of another version.
  private init(
    model: ManagedObjectModel, version number: Int, policies: MigrationPolicies, open: OpenContainer?,
    folder: TestFolder
  ) throws {
    guard let version = model.version(number) else { throw VersionedStoreError.unknownVersion(number) }
    self.model = model
    self.version = version
    self.policies = policies
    self.open = open
    self.folder = folder
    graph = EntityGraph(version)
    url = folder.url.appending(path: model.name + ".sqlite")
    // A copy of the model in which this version is the current one.
    var then = model
    then.currentVersionNumber = number
    var description = PersistentStoreDescription(.sqlite(url))
    description.migrationPolicies = policies
    context = PersistentContainer(try PersistentStoreCoordinator(model: then, stores: [description]))
      .newContext()
  }

  // MARK: Migrating

  /// Returns a store with the result of migrating a copy of this one. Inserted objects are saved first.
  ///
  /// - Parameter version: The number of the destination version. The default is the model's current version.
  /// - Throws: The errors of the migration, usually a `MigrationError`, and those of the save.
  public func migrated(to version: Int? = nil) throws -> VersionedStore {
    try context.save()
    let number = version ?? model.currentVersionNumber
    guard model.version(number) != nil else { throw VersionedStoreError.unknownVersion(number) }
    return try VersionedStore(
      model: model, version: number, policies: policies, open: open, folder: folder.copy())
  }

  /// Returns a store for each step of the migration, one after the other.
  ///
  /// - Parameter version: The number of the destination version. The default is the model's current version.
  /// - Throws: ``VersionedStoreError/noWay(from:to:)``, and the errors of ``migrated(to:)``.
  public func migratedStepByStep(to version: Int? = nil) throws -> [VersionedStore] {
    let number = version ?? model.currentVersionNumber
    guard let path = VersionPaths(model).path(from: self.version.number, to: number) else {
      throw VersionedStoreError.noWay(from: self.version.number, to: number)
    }
    var result: [VersionedStore] = []
    for next in path.dropFirst() { result.append(try (result.last ?? self).migrated(to: next)) }
    return result
  }

  // MARK: Generated classes

  /// Returns a context for objects of generated classes, for a store of the model's current version. You can use the
  /// context longer than this object.
  ///
  /// - Throws: ``VersionedStoreError/noClasses(version:current:)`` if the store has another version, or if the model
  ///   has no generated classes.
  public func newContext() throws -> ManagedObjectContext {
    guard version.number == model.currentVersionNumber, let open else {
      throw VersionedStoreError.noClasses(version: version.number, current: model.currentVersionNumber)
    }
    try context.save()
    folder.keepUntilExit()
    return try open(url).newContext()
  }

  // MARK: Versions

  /// Returns the numbers of all versions from which a store can be migrated to the current version, without the current
  /// one. Run a test over each of them:
  ///
  /// ```swift
  /// for version in VersionedStore.everyReleasedVersion(of: ToDoModel.self) {
  ///   let old = try VersionedStore(of: ToDoModel.self, version: version)
  ///   try old.insertSamples()
  ///   let differences = try old.migrated().differences(from: old)
  ///   assert(differences.isEmpty, "\(differences)")
  /// }
  /// ```
  public static func everyReleasedVersion(of model: any ModelDeclaration.Type) -> [Int] {
    everyReleasedVersion(of: model.model)
  }

  /// Returns the same numbers for a model without generated classes.
  public static func everyReleasedVersion(of model: ManagedObjectModel) -> [Int] {
    let paths = VersionPaths(model)
    return model.versions.map(\.number).filter {
      $0 != model.currentVersionNumber && paths.path(from: $0, to: model.currentVersionNumber) != nil
    }.sorted()
  }
}

@available(*, unavailable)
extension VersionedStore: Sendable {}
