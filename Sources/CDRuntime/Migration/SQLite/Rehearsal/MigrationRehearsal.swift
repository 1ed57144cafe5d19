public import CDModel

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A trial migration on a copy of a store. It reports what the migration would do, what it would lose, and why it would
/// fail.
///
/// The store is opened for reading only. No byte of it or of the files beside it changes, and it may be in use. The
/// copy is of a single moment. Large values are not copied. The steps are those of the real migration, with the app's
/// own code if the description has it. The only difference: a rehearsal finds all objects that a step cannot create,
/// not only the first one.
///
/// ```swift
/// let rehearsal = MigrationRehearsal(PersistentStoreDescription(.sqlite(url)), model: model)
/// let report = try rehearsal.run()
/// print(report.succeeds, report.duration, report.neededSpace)
/// for problem in report.brokenRules { print(problem) }
/// ```
///
/// Run a rehearsal in a test, with the store of a user or of an old release. Expect ``MigrationReport/succeeds``, and
/// check the losses.
public struct MigrationRehearsal: Sendable {
  /// The store: a SQLite file, a file of another format, or a store on a server. Its
  /// ``PersistentStoreDescription/migrationObserver`` follows the rehearsal and can cancel it.
  public var store: PersistentStoreDescription
  /// The model to whose current version the store would be migrated.
  public var model: ManagedObjectModel
  /// The other stores of the coordinator, which determine which entities this store does not hold. They are not opened. So
  /// the report does not tell whether relationships to their objects break a rule.
  public var otherStores: [PersistentStoreDescription] = []
  /// The folder in which the copy is made, in a folder of its own. It needs space for the store, and for the files that
  /// the migration creates.
  public var workFolder = FileManager.default.temporaryDirectory

  /// Creates a rehearsal of the migration of a store to the current version of a model.
  public init(_ store: PersistentStoreDescription, model: ManagedObjectModel) {
    self.store = store
    self.model = model
  }

  /// Migrates a copy of the store.
  ///
  /// - Returns: The report. A migration that would fail does not throw: see ``MigrationReport/refusal``.
  /// - Throws: ``StoreError`` if the store cannot be read or belongs to another model; ``ModelError``;
  ///   ``MigrationError`` if no path leads to the version, if the disk has no space for the copy, or if the rehearsal
  ///   was cancelled.
  @_optimize(none)
  public func run() throws -> MigrationReport {
    let location = try store.location.resolvingLink()
    var transfer: (any StoreTransfer)?
    if case .engine(let engine) = location { transfer = try engine.requiredTransfer }
    guard let url = location.url ?? location.engineURL else {
      throw StoreError.cannotCreate(
        EmptyValue.url, reason: "a store in memory has no version to migrate from")
    }
    let own = try ModelPlan(model, configurations: ([store] + otherStores).map(\.configuration)).source(
      ofStore: 0)
    let format = store.location.format
    let metadata =
      try transfer?.read { try PersistentStoreMetadata($0.metadata(), url: $0.url) }
      ?? format.map { try PersistentStoreMetadata(ofStoreAt: url, format: $0) }
      ?? PersistentStoreMetadata(ofStoreAt: url, rollsBack: false)
    guard metadata.modelID == own.model.id else {
      throw StoreError.otherModel(
        url, found: ModelIdentity(name: metadata.modelName, id: metadata.modelID),
        expected: ModelIdentity(own.model))
    }
    let copy = try RehearsalCopy(of: url, format, transfer, in: workFolder)
    defer { withExtendedLifetime(copy) {} }
    var description = store
    description.location = copy.location
    description.isReadOnly = false
    let migration = StoreMigration(
      url: copy.url, description: description, model: own.model, others: otherStores)
    do {
      var run = RehearsalRun(
        migration: migration, storeID: metadata.storeID,
        report: MigrationReport(url, source: metadata.modelVersion.number, destination: own.version.number),
        transfer: transfer)
      // A store on a server is migrated in a temporary file.
      run.report.freeSpace = Disk.freeSpace((url.isFileURL ? url : copy.url).path(percentEncoded: false))
      try run.run()
      return run.report
    } catch let error as MigrationError { throw error.at(url) }
  }
}

extension MigrationError {
  /// The same error for another file.
  func at(_ url: URL) -> MigrationError {
    MigrationError(url, reason, step: step, entity: entity, objectKey: objectKey, table: table)
  }
}
