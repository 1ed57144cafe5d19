import Foundation
import Testing

@testable import CDRuntime

/// The connection by which a store is opened: the first reader or the writer uses it, and it keeps others from the file.
@Suite(.onlyOnSQLite("its connections and its locks on files")) struct OpeningConnectionTests {
  private let store: TemporaryStore

  init() throws {
    store = try TemporaryStore()
    let coordinator = try open()
    let context = ManagedObjectContext(coordinator)
    _ = Tag(name: "a", in: context)
    try context.save()
  }

  private func open() throws -> PersistentStoreCoordinator {
    try PersistentStoreCoordinator(for: LibraryModel.self, at: .sqlite(store.url))
  }

  private func names(_ coordinator: PersistentStoreCoordinator) throws -> [String] {
    let context = ManagedObjectContext(coordinator)
    return try withExtendedLifetime(context) { try Tag.objects(in: context).map(\.name).sorted() }
  }

  #if os(Linux)
    /// The number of connections of this process to the file: SQLite has a descriptor of the file for each.
    private func connections() throws -> Int {
      let own = try #require(FileIdentity(store.url.path))
      let descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
      return descriptors.filter { FileIdentity("/proc/self/fd/\($0)") == own }.count
    }

    @Test func aProgramThatOnlyReadsHasOneConnection() throws {
      #expect(try connections() == 0)
      let coordinator = try open()
      #expect(try connections() == 1)
      let context = ManagedObjectContext(coordinator)
      let tag = try #require(try Tag.objects(in: context).first)
      #expect(try names(coordinator) == ["a"])
      // A second context reads while the first one keeps its connection.
      #expect(try connections() == 2)
      tag.name = "b"
      try context.save()
      #expect(try connections() == 3)
      #expect(try names(coordinator) == ["b"])
      #expect(try connections() == 3)
    }

    @Test func aProgramThatOnlyWritesHasOneConnection() throws {
      let coordinator = try open()
      let id = try #require(coordinator.storeIDs.first)
      try coordinator.setMetadata(["a": "b"], forStore: id)
      #expect(try connections() == 1)
      #expect(try names(coordinator) == ["a"])
      #expect(try connections() == 2)
    }

    @Test func aStoreThatMayOnlyBeReadHasOneConnection() throws {
      let coordinator = try PersistentStoreCoordinator(
        for: LibraryModel.self, stores: [PersistentStoreDescription(.sqlite(store.url), isReadOnly: true)])
      for _ in 0..<2 { #expect(try names(coordinator) == ["a"]) }
      #expect(try connections() == 1)
      #expect(try coordinator.metadata(forStore: coordinator.storeIDs[0])?.modelName == "Library")
      #expect(try connections() == 2)
    }
  #endif

  /// SQLite would create the file anew, and remove the log beside it, which alone has the last save.
  @Test func aReaderDoesNotCreateAFileThatWasMovedAway() throws {
    let coordinator = try open()
    let context = ManagedObjectContext(coordinator)
    _ = Tag(name: "b", in: context)
    try context.save()
    #expect(try Tag.objects(in: context).count == 2)
    let folder = store.url.deletingLastPathComponent()
    let other = folder.appending(path: "elsewhere")
    try FileManager.default.moveItem(at: store.url, to: other)
    let files = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    #expect(throws: StoreError.replaced(store.url)) { try names(coordinator) }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == files)
    try FileManager.default.moveItem(at: other, to: store.url)
    #expect(try names(open()) == ["a", "b"])
    #expect(try names(coordinator) == ["a", "b"])
    withExtendedLifetime(context) {}
  }

  /// Whatever a program does with the store, others cannot replace its file until it is closed.
  @Test func anOpenStoreIsAlwaysLocked() throws {
    let coordinator = try open()
    func expectLocked() {
      #expect(throws: StoreError.inUse(store.url)) {
        try PersistentStoreCoordinator.destroyPersistentStore(at: store.url)
      }
    }
    expectLocked()
    #expect(try names(coordinator) == ["a"])
    expectLocked()
    do {
      // More readers than the pool keeps, which are closed again.
      let contexts = (0..<8).map { _ in ManagedObjectContext(coordinator) }
      for context in contexts { #expect(try Tag.objects(in: context).count == 1) }
    }
    expectLocked()
    do {
      let context = ManagedObjectContext(coordinator)
      _ = Tag(name: "b", in: context)
      try context.save()
    }
    expectLocked()
    #expect(try names(coordinator) == ["a", "b"])
  }

  /// The connection is closed together with the store, also if nothing has used it yet.
  @Test(arguments: [false, true]) func aRemovedStoreIsNotLocked(isRead: Bool) throws {
    let coordinator = try open()
    if isRead { #expect(try names(coordinator) == ["a"]) }
    try coordinator.removePersistentStore(withID: try #require(coordinator.storeIDs.first))
    try PersistentStoreCoordinator.destroyPersistentStore(at: store.url)
    #expect(!FileManager.default.fileExists(atPath: store.url.path))
    #expect(coordinator.storeIDs.isEmpty)
  }

  /// The file is moved after the store has been read, and before the writer opens it. Another file may have its name.
  @Test(arguments: [false, true]) func aFileThatWasReplacedIsNotWrittenTo(isCopied: Bool) throws {
    let coordinator = try open()
    let context = ManagedObjectContext(coordinator)
    let tag = try #require(try Tag.objects(in: context).first)
    let other = store.folder.appending(path: "other.cdstore")
    try FileManager.default.moveItem(at: store.url, to: other)
    if isCopied { try FileManager.default.copyItem(at: other, to: store.url) }
    let files = try FileManager.default.contentsOfDirectory(atPath: store.folder.path).sorted()
    let bytes = try? Data(contentsOf: store.url)
    tag.name = "b"
    #expect(throws: StoreError.replaced(store.url)) { try context.save() }
    #expect(try FileManager.default.contentsOfDirectory(atPath: store.folder.path).sorted() == files)
    #expect((try? Data(contentsOf: store.url)) == bytes)
    // The store can be written as soon as its file is back.
    try? FileManager.default.removeItem(at: store.url)
    try FileManager.default.moveItem(at: other, to: store.url)
    try context.save()
    #expect(try names(coordinator) == ["b"])
  }

  @Test func theConnectionStaysOpenUntilItIsReleased() throws {
    weak var connection: SQLiteConnection?
    let opening = try {
      let new = try SQLiteConnection(path: store.url.path(percentEncoded: false), of: [store.url])
      connection = new
      return OpeningConnection(new)
    }()
    do {
      let taken = opening.take()
      #expect(taken != nil && taken === connection)
    }
    do {
      let taken = opening.take()
      #expect(taken == nil)
    }
    #expect(connection != nil)
    opening.release()
    #expect(connection == nil)
  }
}
