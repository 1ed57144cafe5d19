import CSQLite
import Foundation
import Testing

@testable import CDRuntime

/// Writes that the system refuses. The error says what to do, the old data are there, the context's changes too,
/// and the next attempt succeeds once the cause is gone.
@Suite(.onlyOnSQLite("its locks and pages; StoreKindTests has the other kinds")) struct RefusedWriteTests {
  private let store: TemporaryStore

  init() throws { store = try TemporaryStore() }

  private func coordinator(busyTimeout: Double = 10) throws -> PersistentStoreCoordinator {
    try PersistentStoreCoordinator(
      for: LibraryModel.self,
      stores: [PersistentStoreDescription(.sqlite(store.url), busyTimeout: busyTimeout)])
  }

  /// A store that nobody has open.
  private func fill() throws {
    let container = try store.container()
    let context = container.newContext()
    _ = Tag(name: "old", in: context)
    try context.save()
  }

  private func names() throws -> [String] { try Tag.objects(in: store.freshContext()).map(\.name).sorted() }

  @Test func aFullDiskCostsNothing() throws {
    let coordinator = try coordinator()
    let context = PersistentContainer(coordinator).newContext()
    let tag = Tag(name: "old", in: context)
    try context.save()
    // SQLite gives the same code for a file that may not grow as for a disk without room.
    try coordinator.database.writer.use {
      let pages = try $0.scalar("PRAGMA page_count") ?? ""
      try $0.execute("PRAGMA max_page_count = \(pages)")
    }
    tag.name = String(repeating: "much ", count: 100_000)
    let second = Tag(name: "second", in: context)
    #expect(throws: StoreError.diskFull([store.url])) { try context.save() }
    #expect(try names() == ["old"])
    #expect(context.hasChanges && second.isInserted && tag.name.count == 500_000)
    try coordinator.database.writer.use { try $0.execute("PRAGMA max_page_count = 1000000") }
    try context.save()
    #expect(try names().count == 2)
    #expect(try coordinator.verify() == [])
  }

  @Test func aLockThatDoesNotEndIsAnError() throws {
    let coordinator = try coordinator(busyTimeout: 0.05)
    let context = PersistentContainer(coordinator).newContext()
    let tag = Tag(name: "old", in: context)
    try context.save()
    let other = try SQLiteConnection(path: store.url.path(percentEncoded: false), of: [])
    try other.execute("BEGIN IMMEDIATE")
    tag.name = "new"
    #expect(throws: StoreError.busy([store.url])) { try context.save() }
    // Who reads is not kept waiting.
    #expect(try names() == ["old"])
    #expect(coordinator.managedObjectID(forURIRepresentation: tag.objectID.uriRepresentation) == tag.objectID)
    #expect(throws: StoreError.busy([store.url])) {
      try coordinator.setMetadata(["a": "b"], forStore: coordinator.storeIDs[0])
    }
    try other.execute("ROLLBACK")
    try context.save()
    #expect(try names() == ["new"])
  }

  @Test func aStoreThatSomebodyElseLocksWholeIsNotOpened() throws {
    _ = try coordinator()
    let other = try SQLiteConnection(path: store.url.path(percentEncoded: false), of: [])
    _ = try other.scalar("PRAGMA locking_mode = EXCLUSIVE")
    try other.execute("BEGIN EXCLUSIVE; CREATE TABLE theirs (x); COMMIT")
    #expect(throws: StoreError.busy([store.url])) { try self.coordinator(busyTimeout: 0) }
  }

  @Test(arguments: [Double.nan, -1, .infinity, 1e300])
  func aTimeoutOfAnySizeIsTaken(seconds: Double) throws {
    #expect(try coordinator(busyTimeout: seconds).verify() == [])
  }

  @Test func aValueThatNoRowTakesIsNamed() throws {
    let coordinator = try coordinator()
    let context = PersistentContainer(coordinator).newContext()
    let tag = Tag(name: "old", in: context)
    try context.save()
    let limit = try coordinator.database.writer.use { sqlite3_limit($0.handle, SQLITE_LIMIT_LENGTH, 10_000) }
    tag.name = String(repeating: "x", count: 10_001)
    let error = SaveError.validation([
      ValidationError(reason: .tooLarge, entity: "Tag", property: "name", objectID: tag.objectID)
    ])
    #expect(throws: error) { try context.save() }
    tag.name = "new"
    let second = Tag(name: String(repeating: "y", count: 100_000), in: context)
    #expect(
      throws: SaveError.validation([
        ValidationError(reason: .tooLarge, entity: "Tag", property: "name", objectID: second.objectID)
      ])
    ) { try context.save() }
    #expect(try names() == ["old"])
    try coordinator.database.writer.use { _ = sqlite3_limit($0.handle, SQLITE_LIMIT_LENGTH, limit) }
    try context.save()
    #expect(try names().count == 2)
  }

  #if os(Linux)
    @Test func aFolderOrFileWithoutRightsIsNamed() throws {
      try fill()
      let empty = store.folder.appending(path: "empty")
      try FileManager.default.createDirectory(at: empty, withIntermediateDirectories: true)
      for (path, rights) in [(empty.path, 0o555), (store.folder.path, 0o555), (store.url.path, 0o444)] {
        #expect(chmod(path, mode_t(rights)) == 0)
      }
      defer { for path in [empty.path, store.folder.path, store.url.path] { chmod(path, 0o777) } }
      let new = empty.appending(path: "new.cdstore")
      let urls = [new, store.url]
      let failures: [StoreError?] = try Unprivileged.run {
        urls.map { url in
          do {
            _ = try PersistentStoreCoordinator(for: LibraryModel.self, at: .sqlite(url))
            return nil
          } catch {
            return error as? StoreError
          }
        }
      }
      if case .cannotCreate(let url, let reason)? = failures[0] {
        #expect(url == new && reason.hasPrefix("this user has no permission to write to the folder /"))
      } else {
        Issue.record("\(String(describing: failures[0]))")
      }
      if case .notWritable(let found, let reason)? = failures[1] {
        #expect(found == [store.url] && reason != "unable to open database file")
      } else {
        Issue.record("\(String(describing: failures[1]))")
      }
      let readable = try Unprivileged.run {
        try PersistentStoreCoordinator(
          for: LibraryModel.self, stores: [PersistentStoreDescription(.sqlite(urls[1]), isReadOnly: true)]
        ).storeIDs.count
      }
      #expect(readable == 1)
    }

    /// Without files beside the store, SQLite does not notice what its owner changes.
    @Test func whoMayNotWriteBesideAStoreNoticesItsChanges() throws {
      try fill()
      let url = store.url
      #expect(chmod(url.path, 0o644) == 0 && chmod(store.folder.path, 0o555) == 0)
      defer { chmod(store.folder.path, 0o777) }
      struct Opened: Sendable {
        let coordinator: PersistentStoreCoordinator
        let count: Int
      }
      let open: @Sendable () throws -> Opened = {
        let coordinator = try PersistentStoreCoordinator(
          for: LibraryModel.self, stores: [PersistentStoreDescription(.sqlite(url), isReadOnly: true)])
        let context = ManagedObjectContext(coordinator)
        let count = try withExtendedLifetime(context) { try Tag.objects(in: context).count }
        return Opened(coordinator: coordinator, count: count)
      }
      let opened = try Unprivileged.run(open)
      let reader = opened.coordinator
      #expect(chmod(store.folder.path, 0o777) == 0)
      do {
        let owner = ManagedObjectContext(
          try PersistentStoreCoordinator(for: LibraryModel.self, at: .sqlite(url)))
        _ = Tag(name: "another", in: owner)
        try owner.save()
        // The change is in the log.
        #expect(throws: StoreError.replaced(url)) { try Tag.objects(in: ManagedObjectContext(reader)) }
      }
      // And then in the file.
      #expect(throws: StoreError.replaced(url)) { try Tag.objects(in: ManagedObjectContext(reader)) }
      #expect(chmod(store.folder.path, 0o555) == 0)
      #expect(try Unprivileged.run(open).count == opened.count + 1)
    }

    @Test func aFileThatMayNotBeReadIsNamed() throws {
      try fill()
      let url = store.url
      #expect(chmod(url.path, 0) == 0)
      defer { chmod(url.path, 0o777) }
      let failure: StoreError? = try Unprivileged.run {
        do {
          _ = try PersistentStoreCoordinator(for: LibraryModel.self, at: .sqlite(url))
          return nil
        } catch {
          return error as? StoreError
        }
      }
      #expect(failure == .inputOutput([url], reason: "this user has no permission to read the file"))
    }

    /// A program that has only read opens the file once more at its first write.
    @Test func aFileThatMayBeWrittenAgainIsWritten() throws {
      try fill()
      let url = store.url
      for path in [store.folder.path, url.path] { #expect(chmod(path, 0o777) == 0) }
      let coordinator = try Unprivileged.run {
        let coordinator = try PersistentStoreCoordinator(for: LibraryModel.self, at: .sqlite(url))
        let context = ManagedObjectContext(coordinator)
        _ = try withExtendedLifetime(context) { try Tag.objects(in: context).count }
        return coordinator
      }
      let rename: @Sendable () throws -> StoreError? = {
        let context = ManagedObjectContext(coordinator)
        for tag in try Tag.objects(in: context) { tag.name = "new" }
        do {
          try context.save()
          return nil
        } catch {
          return error as? StoreError
        }
      }
      #expect(chmod(url.path, 0o444) == 0)
      #expect(try Unprivileged.run(rename) == .notWritable([url], reason: "it is read-only"))
      #expect(chmod(url.path, 0o777) == 0)
      #expect(try Unprivileged.run(rename) == nil)
      #expect(try names() == ["new"])
    }
  #endif
}
