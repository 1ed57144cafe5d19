public import CDModel

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A migration that is tried on a copy: what it would do, what it would lose, and why it would fail.
///
/// The store is opened to be read alone, and stays as it is to the byte, with all files beside it. It may be in use.
/// The copy is one of a single moment; large values are not copied. The steps are those of the real migration, with
/// the app's own code where the description has it, except that all objects that a step cannot make are found, and
/// not the first alone.
///
/// ```swift
/// let rehearsal = MigrationRehearsal(PersistentStoreDescription(.sqlite(url)), model: model)
/// let report = try rehearsal.run()
/// print(report.succeeds, report.duration, report.neededSpace)
/// for problem in report.brokenRules { print(problem) }
/// ```
///
/// A test that has a store of a user, or of an old release, expects ``MigrationReport/succeeds`` and looks at what is
/// lost.
public struct MigrationRehearsal: Sendable {
  /// The store, which is a SQLite file. Its ``PersistentStoreDescription/migrationObserver`` follows the rehearsal and
  /// may end it.
  public var store: PersistentStoreDescription
  /// The model, whose current version the store is to be of.
  public var model: ManagedObjectModel
  /// The other stores of the coordinator, which say what this one does not hold. They are not opened.
  public var otherStores: [PersistentStoreDescription] = []
  /// Where the copy is made, in a folder of its own. It needs room for the store, and for what the migration makes.
  public var workFolder = FileManager.default.temporaryDirectory

  /// A rehearsal of the migration of a store to the current version of a model.
  public init(_ store: PersistentStoreDescription, model: ManagedObjectModel) {
    self.store = store
    self.model = model
  }

  /// Migrates a copy.
  ///
  /// - Returns: What was found. A migration that would fail is no error, see ``MigrationReport/refusal``.
  /// - Throws: ``StoreError`` where the store cannot be read or is of another model, ``ModelError``, and
  ///   ``MigrationError`` where there is no way at all to the version, where the disk has no room for the copy, and
  ///   where the rehearsal was cancelled.
  public func run() throws -> MigrationReport {
    guard let url = try store.location.resolvingLink().url else {
      throw StoreError.cannotCreate(
        EmptyValue.url, reason: "a store in memory has no version to migrate from")
    }
    let own = try ModelPlan(model, configurations: ([store] + otherStores).map(\.configuration)).source(
      ofStore: 0)
    let format = store.location.format
    let metadata =
      try format.map { try PersistentStoreMetadata(ofStoreAt: url, format: $0) }
      ?? PersistentStoreMetadata(ofStoreAt: url, rollsBack: false)
    guard metadata.modelID == own.model.id else {
      throw StoreError.otherModel(
        url, found: ModelIdentity(name: metadata.modelName, id: metadata.modelID),
        expected: ModelIdentity(own.model))
    }
    let copy = try RehearsalCopy(of: url, format, in: workFolder)
    defer { withExtendedLifetime(copy) {} }
    var description = store
    description.location = .sqlite(copy.url)
    description.isReadOnly = false
    let migration = StoreMigration(
      url: copy.url, description: description, model: own.model, others: otherStores)
    do {
      var run = RehearsalRun(
        migration: migration, storeID: metadata.storeID,
        report: MigrationReport(url, source: metadata.modelVersion.number, destination: own.version.number))
      run.report.freeSpace = Disk.freeSpace(url.path(percentEncoded: false))
      try run.run()
      return run.report
    } catch let error as MigrationError { throw error.at(url) }
  }
}

extension MigrationError {
  /// The same error of another file.
  func at(_ url: URL) -> MigrationError {
    MigrationError(url, reason, step: step, entity: entity, objectKey: objectKey)
  }
}
