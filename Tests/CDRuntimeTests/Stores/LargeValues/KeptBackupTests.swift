import Foundation
import Testing

@testable import CDRuntime

/// The large values of a backup that is kept. Their files are in the folder of the store.
@Suite(.onceForAllKinds) struct KeptBackupTests {
  private let fixture: MigrationFixture
  private var backup: URL { fixture.folder.appending(path: "store.cdstore-before-1") }
  /// The names of the files in the store's folder.
  private var values: Set<String> { ExternalFiles(store: fixture.url).names }

  /// The second version differs in a way that takes a new file.
  private static func version(_ number: Int, isExternal: Bool = true) -> ModelVersion {
    MigrationFixture.version(
      number,
      [
        entity(
          "Doc",
          [
            attribute("name", .string, isOptional: number > 1),
            AttributeDescription(name: "body", type: .data, isOptional: true, storesExternally: isExternal),
          ])
      ])
  }
  private static let old = MigrationFixture.model([version(1)])
  private static let new = MigrationFixture.model([version(1), version(2)])
  /// The new version has all values in its rows.
  private static let inline = MigrationFixture.model([version(1), version(2, isExternal: false)])

  init() throws { fixture = try MigrationFixture() }

  private func large(_ byte: UInt8) -> Data { Data(repeating: byte, count: 100_000) }

  private func use(
    _ kind: StoreKind, _ model: ManagedObjectModel, keepsBackup: Bool = true,
    _ body: (ManagedObjectContext) throws -> Void = { _ in }
  ) throws {
    try fixture.using(model) {
      $0.location = kind.location(fixture.url)
      $0.keepsBackup = keepsBackup
    } body: { context in
      try body(context)
    }
  }

  /// Opens the store when its unused files have been listed for more than an hour.
  private func openLater(_ kind: StoreKind, _ model: ManagedObjectModel) throws {
    try kind.ageUnusedFiles(of: fixture.url)
    try use(kind, model)
  }

  private func destroy(_ url: URL) throws {
    try PersistentStoreCoordinator.destroyPersistentStore(at: url, formats: [JSONStoreFormat()])
  }

  private func copyBackup(to location: StoreLocation) throws {
    try PersistentStoreCoordinator.copyPersistentStore(at: backup, to: location, formats: [JSONStoreFormat()])
  }

  /// Creates a store of the old version with two documents.
  private func create(_ kind: StoreKind) throws {
    try use(kind, Self.old) { context in
      for number in 1...2 {
        let doc = try context.insert(entityNamed: "Doc")
        try doc.setValue(.attribute(.string("\(number)")), forKey: "name")
        try doc.setValue(.attribute(.data(large(UInt8(number)))), forKey: "body")
      }
    }
    #expect(values.count == 2)
  }

  /// Checks that a store of the old version has the documents with their values.
  private func checkDocuments(_ location: StoreLocation) throws {
    let context = ManagedObjectContext(
      try PersistentStoreCoordinator(
        model: Self.old, stores: [PersistentStoreDescription(location, isReadOnly: true)]))
    let docs = try context.fetch(FetchRequest<ManagedObject>(entityName: "Doc"))
    let bodies = try docs.map { try $0.value(forKey: "body").attribute }
    #expect(bodies.count == 2)
    #expect(bodies.contains(.data(large(1))) && bodies.contains(.data(large(2))))
    #expect(context.recentErrors.isEmpty)
  }

  @Test(arguments: StoreKind.files) func valuesStayAsLongAsTheBackupNeedsThem(_ kind: StoreKind) throws {
    try create(kind)
    let all = values
    try use(kind, Self.new) { context in
      context.delete(try context.fetch(FetchRequest<ManagedObject>(entityName: "Doc"))[0])
    }
    // Two more openings: a store that is read as a whole lists the file only at the first of them.
    for _ in 0..<3 {
      try openLater(kind, Self.new)
      #expect(values == all)
    }
    try FileManager.default.removeItem(at: backup)
    try openLater(kind, Self.new)
    #expect(values.count == 1 && values.isSubset(of: all))
    try use(kind, Self.new) { (context) throws in
      #expect(try context.persistentStoreCoordinator.verify().isEmpty)
    }
  }

  /// The migration itself makes all files unused. The new model has no attribute with files any more.
  @Test(arguments: StoreKind.files) func valuesThatTheMigrationMovesStayToo(_ kind: StoreKind) throws {
    try create(kind)
    let all = values
    for _ in 0..<3 {
      try use(kind, Self.inline)
      try openLater(kind, Self.inline)
      #expect(values == all)
    }
    try checkDocuments(kind.location(backup))
    try FileManager.default.removeItem(at: backup)
    try openLater(kind, Self.inline)
    #expect(values.isEmpty)
  }

  @Test(arguments: StoreKind.files, [StoreKind.sqlite, .xml])
  func aCopyOfTheBackupHasItsValues(_ kind: StoreKind, _ target: StoreKind) throws {
    try create(kind)
    try use(kind, Self.new) { context in
      for doc in try context.fetch(FetchRequest<ManagedObject>(entityName: "Doc")) { context.delete(doc) }
    }
    for _ in 0..<2 { try openLater(kind, Self.new) }
    try checkDocuments(kind.location(backup))
    let copy = fixture.folder.appending(path: "copy")
    try copyBackup(to: target.location(copy))
    #expect(ExternalFiles(store: copy).names.count == 2)
    try checkDocuments(target.location(copy))
  }

  /// As the article "Backing up and restoring a store" does it.
  @Test(arguments: StoreKind.files) func aBackupIsRestoredAfterItsStoreIsDestroyed(_ kind: StoreKind) throws {
    try create(kind)
    let all = values
    try use(kind, Self.new) { context in
      let doc = try context.insert(entityNamed: "Doc")
      try doc.setValue(.attribute(.data(large(3))), forKey: "body")
    }
    #expect(values.count == 3)
    try destroy(fixture.url)
    #expect(values == all)
    try copyBackup(to: kind.location(fixture.url))
    try checkDocuments(kind.location(fixture.url))
    // With the last of them, the values go too.
    try destroy(fixture.url)
    #expect(values == all)
    try destroy(backup)
    #expect(fixture.files.isEmpty)
  }

  /// The second step reads the values, and its source is a working file of the migration.
  @Test(arguments: StoreKind.files) func aBackupIsMigratedWithItsValues(_ kind: StoreKind) throws {
    try create(kind)
    let all = values
    try use(kind, Self.new)
    let model = MigrationFixture.model([
      Self.version(1), Self.version(2), Self.version(3, isExternal: false),
    ])
    let description = PersistentStoreDescription(kind.location(backup))
    let report = try MigrationRehearsal(description, model: model).run()
    #expect(report.succeeds && report.steps.count == 2, "\(String(describing: report.refusal))")
    let context = ManagedObjectContext(try PersistentStoreCoordinator(model: model, stores: [description]))
    let docs = try context.fetch(FetchRequest<ManagedObject>(entityName: "Doc"))
    let bodies = try docs.map { try $0.value(forKey: "body").attribute }
    #expect(bodies.count == 2)
    #expect(bodies.contains(.data(large(1))) && bodies.contains(.data(large(2))))
    #expect(values == all)
  }

  @Test(arguments: StoreKind.files) func aBackupIsDestroyedWithoutTheValuesOfItsStore(_ kind: StoreKind)
    throws
  {
    try create(kind)
    let all = values
    try use(kind, Self.new)
    try destroy(backup)
    #expect(values == all)
    try use(kind, Self.new) { (context) throws in
      #expect(try context.persistentStoreCoordinator.verify().isEmpty)
    }
    try destroy(fixture.url)
    #expect(fixture.files.isEmpty)
  }

  @Test(arguments: StoreKind.files) func aBackupThatIsNotKeptGoesWithItsStore(_ kind: StoreKind) throws {
    try create(kind)
    try use(kind, Self.new, keepsBackup: false)
    #expect(FileManager.default.fileExists(atPath: backup.path))
    try destroy(fixture.url)
    #expect(fixture.files.isEmpty)
  }

  @Test(arguments: StoreKind.files) func aBackupThatCannotBeReadMayNeedAnyValue(_ kind: StoreKind) throws {
    try create(kind)
    let all = values
    let strange = fixture.folder.appending(path: "store.cdstore-before-7")
    try Data("not a store".utf8).write(to: strange)
    try use(kind, Self.old) { context in
      context.delete(try context.fetch(FetchRequest<ManagedObject>(entityName: "Doc"))[0])
    }
    for _ in 0..<3 {
      try openLater(kind, Self.old)
      #expect(values == all)
    }
    try FileManager.default.removeItem(at: strange)
    try openLater(kind, Self.old)
    #expect(values.count == 1)
  }
}
