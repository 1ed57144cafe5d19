@_spi(Generated) public import CDRuntime

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A store of any version of a model, made for a test: the one that a migration starts from, and the one that it gives.
///
/// ```swift
/// let old = try VersionedStore(of: ToDoModel.self, version: 1)
/// try old.insert("ToDo", ["name": "Milk", "dueDate": .init(Date())])
/// let new = try old.migrated()
/// let toDos = try ToDo.objects(in: new.newContext())
/// assert(toDos.map(\.name) == ["Milk"])
/// ```
///
/// The store is a file in a folder of its own. It goes with the value, or, where contexts of generated classes were
/// made, with the process: keep the value as long as ``context`` is used. ``migrated(to:)`` leaves it as it is, so that both sides can be held against each other.
///
/// The library is bound to no testing library. What goes wrong is thrown, and what differs is returned.
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
/// ### Looking at what came of it
/// - ``newContext()``
/// - ``counterpart(of:from:)``
/// - ``differences(from:includingCustom:)``
public final class VersionedStore {
  /// The model with all its versions.
  public let model: ManagedObjectModel
  /// The version that the store is of.
  public let version: ModelVersion
  /// A context of the version's objects: each is a `ManagedObject`, whose properties have the names of that version.
  public let context: ManagedObjectContext
  /// The store's file.
  public let url: URL

  let graph: EntityGraph
  private let folder: TestFolder
  private let policies: MigrationPolicies
  /// Opens a store of the current version with generated classes; nil where there are none.
  private let open: OpenContainer?

  private typealias OpenContainer = @Sendable (URL) throws -> PersistentContainer

  /// A new store of a version of a model whose migrations take no code of the app's.
  ///
  /// - Parameters:
  ///   - model: The type of the generated code.
  ///   - version: The version's number.
  /// - Throws: ``VersionedStoreError/unknownVersion(_:)``, and what the store's opening throws.
  public convenience init(of model: any GeneratedModel.Type, version: Int) throws {
    try self.init(
      model: model.model, version: version, policies: MigrationPolicies(),
      open: { try PersistentContainer(for: model, at: $0) })
  }

  /// A new store of a version of a model with custom steps.
  ///
  /// - Parameters:
  ///   - model: The type of the generated code.
  ///   - version: The version's number.
  ///   - migrations: Makes the app's own code, anew for each migration.
  /// - Throws: ``VersionedStoreError/unknownVersion(_:)``, and what the store's opening throws.
  public convenience init<Model: CustomMigratingModel>(
    of model: Model.Type, version: Int, migrations: @escaping @Sendable () -> Model.CustomMigrations
  ) throws {
    let open: OpenContainer = { try PersistentContainer(for: model, migrations: migrations, at: $0) }
    try self.init(
      model: model.model, version: version, policies: model._migrationPolicies(migrations), open: open)
  }

  /// A new store of a version of a model without generated classes.
  ///
  /// - Parameters:
  ///   - model: The model with all its versions.
  ///   - version: The version's number.
  ///   - policies: The app's own code for custom entity mappings.
  /// - Throws: ``VersionedStoreError/unknownVersion(_:)``, and what the store's opening throws.
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

  /// Opens the store in a folder, and migrates what is there.
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
    // The version is the current one of a model that is otherwise the same.
    var then = model
    then.currentVersionNumber = number
    var description = PersistentStoreDescription(.sqlite(url))
    description.migrationPolicies = policies
    context = PersistentContainer(try PersistentStoreCoordinator(model: then, stores: [description]))
      .newContext()
  }

  // MARK: Migrating

  /// The store as a migration makes it of a copy of this one. Objects that were inserted are saved before.
  ///
  /// - Parameter version: The number of the version to go to; the model's current one by default.
  /// - Throws: What the migration throws, a `MigrationError` for the most part, or the save.
  public func migrated(to version: Int? = nil) throws -> VersionedStore {
    try context.save()
    let number = version ?? model.currentVersionNumber
    guard model.version(number) != nil else { throw VersionedStoreError.unknownVersion(number) }
    return try VersionedStore(
      model: model, version: number, policies: policies, open: open, folder: folder.copy())
  }

  /// The store after each step of its way, one after the other.
  ///
  /// - Parameter version: The number of the version to go to; the model's current one by default.
  /// - Throws: ``VersionedStoreError/noWay(from:to:)``, and as ``migrated(to:)``.
  public func migratedStepByStep(to version: Int? = nil) throws -> [VersionedStore] {
    let number = version ?? model.currentVersionNumber
    guard let path = VersionLine(model).path(from: self.version.number, to: number) else {
      throw VersionedStoreError.noWay(from: self.version.number, to: number)
    }
    var result: [VersionedStore] = []
    for next in path.dropFirst() { result.append(try (result.last ?? self).migrated(to: next)) }
    return result
  }

  // MARK: Generated classes

  /// A context of the objects of generated classes, for a store of the model's current version. It may be used for
  /// longer than the store.
  ///
  /// - Throws: ``VersionedStoreError/noClasses(version:current:)`` for a store of another version, or of a model
  ///   without generated classes.
  public func newContext() throws -> ManagedObjectContext {
    guard version.number == model.currentVersionNumber, let open else {
      throw VersionedStoreError.noClasses(version: version.number, current: model.currentVersionNumber)
    }
    try context.save()
    folder.keepUntilExit()
    return try open(url).newContext()
  }

  // MARK: Versions

  /// The numbers of the versions that stores may be of and that lead to the current one, which is not among them: what
  /// a test runs over.
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

  /// The same for a model without generated classes.
  public static func everyReleasedVersion(of model: ManagedObjectModel) -> [Int] {
    let line = VersionLine(model)
    return model.versions.map(\.number).filter {
      $0 != model.currentVersionNumber && line.path(from: $0, to: model.currentVersionNumber) != nil
    }.sorted()
  }
}

@available(*, unavailable)
extension VersionedStore: Sendable {}
