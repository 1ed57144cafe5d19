import CDMigrationTesting
import CDRuntime
import Foundation
import Testing

/// Stores of two generated models in one container: one migrates by the app's own code, the other by its model alone.
@Suite struct SeveralModelsMigrationTests {
  private let folder: URL
  private var media: URL { folder.appending(path: "media.cdstore") }
  private var list: URL { folder.appending(path: "list.cdstore") }

  init() throws {
    folder = FileManager.default.temporaryDirectory.appending(path: "cdgen-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  /// Stores of the first versions, by themselves.
  private func fill() throws {
    let novels = try VersionedStore(
      of: CustomMigrationManyModel.self, version: 1, migrations: { CustomMigrationManyMigrations() })
    let shelf = try novels.insert("MediaShelf", ["label": "A"])
    for (title, code) in [("Walden", "12"), ("Typee", "x")] {
      try novels.insert(
        "Novel", ["title": .init(title), "code": .init(code), "pages": 1, "shelf": .object(shelf)])
    }
    try novels.context.save()
    try copy(novels.url, to: media)
    let todos = try VersionedStore(of: ToDoModel.self, version: 1)
    try todos.insertSamples()
    try todos.context.save()
    try copy(todos.url, to: list)
  }

  private func copy(_ from: URL, to: URL) throws {
    for end in ["", "-wal"] {
      let source = from.path(percentEncoded: false) + end
      if FileManager.default.fileExists(atPath: source) {
        try FileManager.default.copyItem(atPath: source, toPath: to.path(percentEncoded: false) + end)
      }
    }
  }

  private var stores: [PersistentStoreDescription] {
    [
      PersistentStoreDescription(.sqlite(media), configuration: "CustomMigrationMany"),
      PersistentStoreDescription(.sqlite(list), configuration: "ToDo"),
    ]
  }

  @Test(arguments: [true, false]) func eachMigratesInItsOwnWay(isFirst: Bool) throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    try fill()
    let custom = ModelWithMigrations(
      CustomMigrationManyModel.self, migrations: { CustomMigrationManyMigrations() })
    let plain = ModelWithMigrations(ToDoModel.self)
    let container = try PersistentContainer(
      for: isFirst ? [custom, plain] : [plain, custom], stores: isFirst ? stores : stores.reversed())
    let context = container.newContext()
    let novels = try Novel.fetch(sortedBy: \.code, in: context)
    #expect(novels.map(\.title) == ["Typee", "Walden"] && novels.map(\.code) == [-1, 12])
    #expect(novels.map(\.chapters) == [2, 2] && novels[0].shelf === novels[1].shelf)
    let todo = try #require(try ToDo.objects(in: context).first)
    #expect(!todo.name.isEmpty)
    // Objects of both are saved together, and each store by itself is one of its model.
    novels[0].title = "Omoo"
    todo.name = "Read"
    try context.save()
    #expect(try container.persistentStoreCoordinator.verify() == [])
    withExtendedLifetime(container) {}
  }

  @Test func whatFailsInOneIsNamedWithItsStore() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    try fill()
    let error = #expect(throws: MigrationError.self) {
      try PersistentContainer(
        for: [
          ModelWithMigrations(CustomMigrationManyModel.self, migrations: { FailingMigrations() }),
          ModelWithMigrations(ToDoModel.self),
        ], stores: stores)
    }
    #expect(error?.url == media && error?.step?.source == 1 && error?.step?.destination == 2)
    // It is what it was.
    #expect(try PersistentStoreCoordinator.metadata(forStoreAt: media).modelVersion.number == 1)
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: folder.path).count { $0.contains("migrat") } == 0)
  }
}

/// Code of an app that makes nothing.
private struct FailingMigrations: CustomMigrationManyModel.Migrations {
  typealias Model = CustomMigrationManyModel
  struct Failure: Error {}

  func makeNovel(from source: Model.Version1.Novel, in manager: MigrationManager) throws -> Model.NewVersion2
    .Novel?
  {
    throw Failure()
  }

  func makeRecord(
    from source: Model.Version1.Record, in manager: MigrationManager
  ) throws -> Model.NewVersion2.Record? { nil }

  func makeRegulars(
    from source: Model.Version1.Visitor, in manager: MigrationManager
  ) throws -> Model.NewVersion2.Reader? { nil }

  func makeNewcomers(
    from source: Model.Version1.Visitor, in manager: MigrationManager
  ) throws -> Model.NewVersion2.Reader? { nil }

  func makeGuest(
    from source: Model.Version1.Visitor, in manager: MigrationManager
  ) throws -> Model.NewVersion2.Guest? { nil }

  func makeGuest(
    from source: Model.Version1.Keeper, in manager: MigrationManager
  ) throws -> Model.NewVersion2.Guest? { nil }

  func makeStatisticInStep1To2(in manager: MigrationManager) throws {}

  func makeNovel(from source: Model.Version2.Novel, in manager: MigrationManager) throws -> Model.NewVersion3
    .Novel?
  {
    nil
  }

  func makeReader(
    from source: Model.Version2.Reader, in manager: MigrationManager
  ) throws -> Model.NewVersion3.Reader? { nil }
}
