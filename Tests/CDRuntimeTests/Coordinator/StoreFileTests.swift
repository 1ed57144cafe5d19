import CDRuntime
import Foundation
import Testing

/// What is done to a store's file as a whole.
@Suite(.needsFile) struct StoreFileTests {
  private let store: TemporaryStore

  init() throws { store = try TemporaryStore() }

  private func fill() throws -> ManagedObjectID {
    let context = try store.freshContext()
    let tag = Tag(name: "a", in: context)
    try context.save()
    return tag.objectID
  }

  @Test func metadataAreReadWithoutOpening() throws {
    let id = try fill()
    let before = try Data(contentsOf: store.url)
    let metadata = try PersistentStoreCoordinator.metadata(
      forStoreAt: store.url, formats: [JSONStoreFormat()])
    #expect(metadata.storeID == id.storeID)
    #expect(metadata.modelID == LibraryDescription.model.id && metadata.modelName == "Library")
    #expect(metadata.modelVersion == LibraryDescription.version)
    #expect(metadata.managedObjectModel == LibraryDescription.model)
    #expect(metadata.formatVersion == 1 && metadata.values.isEmpty)
    #expect(metadata.dataHash == LibraryDescription.version.hashes.data.description)
    #expect(try Data(contentsOf: store.url) == before)
  }

  @Test func metadataOfWhatIsNoStoreAreAnError() throws {
    #expect(
      throws: StoreError.cannotCreate(
        store.url, reason: "the file does not exist, and the store is opened read-only")
    ) { try PersistentStoreCoordinator.metadata(forStoreAt: store.url, formats: [JSONStoreFormat()]) }
    try Data("no database".utf8).write(to: store.url)
    #expect(throws: StoreError.notADatabase(store.url)) {
      try PersistentStoreCoordinator.metadata(forStoreAt: store.url, formats: [JSONStoreFormat()])
    }
    try FileManager.default.removeItem(at: store.url)
    try PlainSQL.run("CREATE TABLE theirs (x)", at: store.url)
    #expect(throws: StoreError.foreignDatabase(store.url)) {
      try PersistentStoreCoordinator.metadata(forStoreAt: store.url, formats: [JSONStoreFormat()])
    }
  }

  @Test func anAppsOwnValuesAreKept() throws {
    let coordinator = try store.container().persistentStoreCoordinator
    let id = try #require(coordinator.storeIDs.first)
    try coordinator.setMetadata(["lastSync": "2030-01-01", "it's": "\"quoted\""], forStore: id)
    try coordinator.setMetadata(["lastSync": "2031-01-01"], forStore: id)
    #expect(try coordinator.metadata(forStore: id)?.values == ["lastSync": "2031-01-01"])
    #expect(
      try PersistentStoreCoordinator.metadata(forStoreAt: store.url, formats: [JSONStoreFormat()]).values == [
        "lastSync": "2031-01-01"
      ])
    #expect(try coordinator.metadata(forStore: UUID()) == nil)
  }

  @Test func aStoreCanBeReadAlone() throws {
    let id = try fill()
    let coordinator = try PersistentStoreCoordinator(
      for: LibraryModel.self, stores: [PersistentStoreDescription(store.location, isReadOnly: true)])
    let context = PersistentContainer(coordinator).newContext()
    let tag = try #require(try context.existingObject(with: id) as? Tag)
    #expect(tag.name == "a")
    tag.name = "b"
    #expect(throws: StoreError.readOnly(store.url)) { try context.save() }
    #expect(throws: StoreError.readOnly(store.url)) {
      try coordinator.setMetadata(["a": "b"], forStore: id.storeID)
    }
    context.rollback()
    #expect(try store.freshContext().existingObject(with: id) is Tag)
  }

  @Test func whatIsToBeReadHasToBeThere() throws {
    #expect(
      throws: StoreError.cannotCreate(
        store.url, reason: "the file does not exist, and the store is opened read-only")
    ) {
      try PersistentStoreCoordinator(
        for: LibraryModel.self, stores: [PersistentStoreDescription(store.location, isReadOnly: true)])
    }
    #expect(!FileManager.default.fileExists(atPath: store.url.path))
  }

  @Test func aStoreIsDestroyedWithAllThatBelongsToIt() throws {
    _ = try {
      let container = try store.container()
      let context = container.newContext()
      _ = Tag(name: "a", in: context)
      try context.save()
      #expect(throws: StoreError.inUse(store.url)) {
        try PersistentStoreCoordinator.destroyPersistentStore(at: store.url, formats: [JSONStoreFormat()])
      }
      #expect(try Tag.objects(in: context).count == 1)
    }()
    try PersistentStoreCoordinator.destroyPersistentStore(at: store.url, formats: [JSONStoreFormat()])
    #expect(try FileManager.default.contentsOfDirectory(atPath: store.folder.path).isEmpty)
    try PersistentStoreCoordinator.destroyPersistentStore(at: store.url, formats: [JSONStoreFormat()])
  }

  @Test func whatIsNoStoreIsNotDestroyed() throws {
    try Data("a letter".utf8).write(to: store.url)
    #expect(throws: StoreError.notADatabase(store.url)) {
      try PersistentStoreCoordinator.destroyPersistentStore(at: store.url, formats: [JSONStoreFormat()])
    }
    #expect(try Data(contentsOf: store.url) == Data("a letter".utf8))
  }

  @Test func aFileThatWasReplacedIsNotWrittenTo() throws {
    let context = try store.freshContext()
    let tag = Tag(name: "a", in: context)
    try context.save()
    let other = store.folder.appending(path: "other.cdstore")
    try FileManager.default.moveItem(at: store.url, to: other)
    tag.name = "b"
    #expect(throws: StoreError.replaced(store.url)) { try context.save() }
    try FileManager.default.copyItem(at: other, to: store.url)
    #expect(throws: StoreError.replaced(store.url)) { try context.save() }
  }

  @Test func theDefaultPlaceIsThePlatforms() {
    let url = PersistentContainer.defaultDirectoryURL(forApp: "Diary")
    #expect(url.lastPathComponent == "Diary" && url.path.hasPrefix("/"))
  }
}

/// Models from files.
@Suite(.onceForAllKinds) struct ModelFileTests {
  @Test func aCompiledModelIsReadFromItsFile() throws {
    let url = FileManager.default.temporaryDirectory.appending(path: "cdgen-\(UUID().uuidString).json")
    defer { try? FileManager.default.removeItem(at: url) }
    try Data(LibraryDescription.model.canonicalJSON.utf8).write(to: url)
    #expect(try ManagedObjectModel(contentsOf: url) == LibraryDescription.model)
    try Data("{}".utf8).write(to: url)
    #expect(throws: ModelDecodingError.self) { try ManagedObjectModel(contentsOf: url) }
    try FileManager.default.removeItem(at: url)
    #expect(throws: (any Error).self) { try ManagedObjectModel(contentsOf: url) }
  }
}
