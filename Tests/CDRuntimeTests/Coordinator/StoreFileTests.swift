import CDRuntime
import Foundation
import Testing

/// Operations on a whole store: its file, its schema on a server, or what another engine has of it.
@Suite(.needsReopening) struct StoreFileTests {
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
    let before = try store.kind.contents(store.url)
    let metadata = try store.kind.metadata(store.url)
    #expect(metadata.storeID == id.storeID)
    #expect(metadata.modelID == LibraryDescription.model.id && metadata.modelName == "Library")
    #expect(metadata.modelVersion == LibraryDescription.version)
    #expect(metadata.managedObjectModel == LibraryDescription.model)
    #expect(metadata.formatVersion == 1 && metadata.values.isEmpty)
    #expect(metadata.dataHash == LibraryDescription.version.hashes.data.description)
    #expect(try store.kind.contents(store.url) == before)
  }

  /// The error of a store that is only to be read, and is not there.
  private var missing: StoreError {
    let reason =
      switch store.kind {
      case .postgresql: "the schema has no store"
      case .plain: "there is no store"
      case .sqlite, .xml, .binary, .json, .memory: "the file does not exist"
      }
    return .cannotCreate(store.shownURL, reason: reason + ", and the store is opened read-only")
  }

  @Test func metadataOfWhatIsNoStoreAreAnError() throws {
    #expect(throws: missing) { try store.kind.metadata(store.url) }
    #expect(try !store.kind.exists(store.url))
    if store.kind.hasFiles {
      try Data("no database".utf8).write(to: store.url)
      #expect(throws: StoreError.notADatabase(store.url)) { try store.kind.metadata(store.url) }
      try FileManager.default.removeItem(at: store.url)
    }
    try store.kind.makeForeignDatabase(store.url)
    #expect(throws: StoreError.foreignDatabase(store.shownURL)) { try store.kind.metadata(store.url) }
  }

  @Test func anAppsOwnValuesAreKept() throws {
    let coordinator = try store.container().persistentStoreCoordinator
    let id = try #require(coordinator.storeIDs.first)
    try coordinator.setMetadata(["lastSync": "2030-01-01", "it's": "\"quoted\""], forStore: id)
    try coordinator.setMetadata(["lastSync": "2031-01-01"], forStore: id)
    #expect(try coordinator.metadata(forStore: id)?.values == ["lastSync": "2031-01-01"])
    #expect(try store.kind.metadata(store.url).values == ["lastSync": "2031-01-01"])
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
    #expect(throws: StoreError.readOnly(store.shownURL)) { try context.save() }
    #expect(throws: StoreError.readOnly(store.shownURL)) {
      try coordinator.setMetadata(["a": "b"], forStore: id.storeID)
    }
    context.rollback()
    #expect(try store.freshContext().existingObject(with: id) is Tag)
  }

  @Test func whatIsToBeReadHasToBeThere() throws {
    #expect(throws: missing) {
      try PersistentStoreCoordinator(
        for: LibraryModel.self, stores: [PersistentStoreDescription(store.location, isReadOnly: true)])
    }
    #expect(try !store.kind.exists(store.url))
  }

  @Test func aStoreIsDestroyedWithAllThatBelongsToIt() throws {
    try {
      let container = try store.container()
      let context = container.newContext()
      _ = Tag(name: "a", in: context)
      try context.save()
      guard store.kind != .postgresql else {
        // A server keeps nobody from it. Whoever uses the store learns of it.
        _ = Tag(name: "b", in: context)
        try store.kind.destroy(store.url)
        #expect(throws: StoreError.replaced(store.shownURL)) { try Tag.objects(in: context) }
        #expect(throws: StoreError.replaced(store.shownURL)) { try context.save() }
        return
      }
      #expect(throws: StoreError.inUse(store.shownURL)) { try store.kind.destroy(store.url) }
      #expect(try Tag.objects(in: context).count == 1)
    }()
    try store.kind.destroy(store.url)
    #expect(try FileManager.default.contentsOfDirectory(atPath: store.folder.path).isEmpty)
    #expect(try !store.kind.exists(store.url))
    try store.kind.destroy(store.url)
  }

  @Test func whatIsNoStoreIsNotDestroyed() throws {
    guard store.kind.hasFiles else {
      try store.kind.makeForeignDatabase(store.url)
      #expect(throws: StoreError.foreignDatabase(store.shownURL)) { try store.kind.destroy(store.url) }
      #expect(try store.kind.tables(store.url) == ["theirs"])
      return
    }
    try Data("a letter".utf8).write(to: store.url)
    #expect(throws: StoreError.notADatabase(store.url)) { try store.kind.destroy(store.url) }
    #expect(try Data(contentsOf: store.url) == Data("a letter".utf8))
  }

  @Test func aStoreThatWasReplacedIsNotWrittenTo() throws {
    let context = try store.freshContext()
    let tag = Tag(name: "a", in: context)
    try context.save()
    let other = store.folder.appending(path: "other.cdstore")
    try store.kind.move(store.url, to: other)
    tag.name = "b"
    #expect(throws: StoreError.replaced(store.shownURL)) { try context.save() }
    if store.kind.hasFiles {
      try FileManager.default.copyItem(at: other, to: store.url)
    } else {
      // The same objects of another store.
      try PersistentStoreCoordinator.copyPersistentStore(
        at: store.kind.location(other), to: store.location, asReplica: true)
    }
    #expect(throws: StoreError.replaced(store.shownURL)) { try context.save() }
    // A store that only one coordinator can open is not read again.
    guard store.kind == .postgresql else { return }
    #expect(throws: StoreError.replaced(store.shownURL)) { try Tag.objects(in: context) }
    #expect(try store.freshContext().objects(forEntityNamed: "Tag", format: "name == 'a'").count == 1)
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
