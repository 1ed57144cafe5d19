import CSQLite
import Foundation
import Synchronization
import Testing

@testable import CDRuntime

/// Stores that others have open while they are to be migrated, and journals that were left beside them.
@Suite(.needs(.migrations)) struct MigrationSharingTests {
  private func fixture() throws -> MigrationFixture {
    let fixture = try MigrationFixture()
    try fixture.create([MigrationChainTests.line[0]]) { try MigrationChainTests.fill($0) }
    return fixture
  }

  private func connection(_ fixture: MigrationFixture) throws -> SQLiteConnection {
    try SQLiteConnection(path: fixture.url.path(percentEncoded: false), of: [], busyTimeout: 0)
  }

  /// A program that was killed between beginning a journal and syncing it leaves one that starts with zeros.
  @Test(.onlyOnSQLite("its journals")) func aJournalThatWasNeverBegunIsNoHindrance() throws {
    let fixture = try fixture()
    do { _ = try connection(fixture).scalar("PRAGMA journal_mode = DELETE") }
    try (Data(count: 512) + Data(repeating: 7, count: 4108)).write(
      to: URL(filePath: fixture.url.path + "-journal"))
    try fixture.open(MigrationChainTests.model(MigrationChainTests.line[..<3]))
    try fixture.open(MigrationChainTests.model(MigrationChainTests.line[..<3]))
    #expect(fixture.files == ["store.cdstore"])
  }

  /// Without a log, a program that has looked at the store and is about to change its indexes has no lock.
  @Test(.onlyOnSQLite("its locks"))
  func anOpeningDoesNotOverwriteTheVersionThatAnotherHasMigratedTo() throws {
    func version(_ number: Int, isIndexed: Bool, _ more: [AttributeDescription] = []) -> ModelVersion {
      var note = entity("Note", [attribute("text", .string)] + more)
      if isIndexed { note.indexes = [IndexDescription(elements: [SortKey("text")])] }
      return MigrationFixture.version(number, [note])
    }
    let versions = [
      version(1, isIndexed: false), version(2, isIndexed: true),
      version(3, isIndexed: true, [attribute("rank", .int64, .int(5))]),
    ]
    let fixture = try MigrationFixture()
    try fixture.create([versions[0]]) { context in
      try context.insert(entityNamed: "Note").setValue("a", forKey: "text")
    }
    do { _ = try connection(fixture).scalar("PRAGMA journal_mode = DELETE") }
    let newest = MigrationFixture.model(versions)
    let location = fixture.location
    let hasMigrated = Mutex(false)
    let hook: @Sendable (String) throws -> Void = { point in
      guard point == "changes without a migration", !hasMigrated.withLock({ $0 }) else { return }
      hasMigrated.withLock { $0 = true }
      _ = try PersistentStoreCoordinator(model: newest, at: location)
    }
    #expect(throws: (any Error).self) {
      try MigrationFaults.$hook.withValue(hook) {
        try fixture.open(MigrationFixture.model(Array(versions[..<2])))
      }
    }
    #expect(hasMigrated.withLock { $0 })
    #expect(try fixture.column("SELECT value FROM _cdgen_metadata WHERE key = 'versionNumber'") == ["3"])
    #expect(try fixture.rows("SELECT text, rank FROM Note") == [["a", "5"]])
    try fixture.verify(newest)
  }

  /// A store that was just created is locked before anybody has read it.
  @Test(.onlyOnSQLite("its locks"), arguments: [2, 3]) func aNewStoreIsInUse(_ end: Int) throws {
    let fixture = try MigrationFixture()
    let owner = try PersistentStoreCoordinator(
      model: MigrationFixture.model([MigrationChainTests.line[0]]), at: fixture.location)
    let model = try MigrationChainTests.model(MigrationChainTests.line[..<end])
    #expect {
      try fixture.open(model) { $0.busyTimeout = 0.05 }
    } throws: { error in
      if case StoreError.busy = error { return true }
      return (error as? MigrationError)?.reason == .inUse
    }
    #expect(throws: StoreError.inUse(fixture.url)) {
      try PersistentStoreCoordinator.destroyPersistentStore(at: fixture.url)
    }
    withExtendedLifetime(owner) {}
  }

  /// Stores that are migrated again before anybody has opened them.
  @Test func theBackupsOfAllMigrationsGo() throws {
    let fixture = try fixture()
    for end in [3, 4, 5, 6] {
      try fixture.open(MigrationChainTests.model(MigrationChainTests.line[..<end]))
    }
    try fixture.open(MigrationChainTests.model(MigrationChainTests.line[..<6]))
    #expect(fixture.files == ["store.cdstore"])
  }

  private enum Holding: CaseIterable, Sendable { case read, write, exclusive }

  /// Somebody who reads or writes at the time: the migration waits, and then says so.
  @Test(.onlyOnSQLite("its transactions"), arguments: [2, 3], [0, 1, 2])
  func aTransactionOfOthersIsNotDisturbed(_ end: Int, _ place: Int) throws {
    let fixture = try fixture()
    let other = try connection(fixture)
    switch Holding.allCases[place] {
    case .read:
      try other.execute("BEGIN")
      _ = try other.rows("SELECT count(*) FROM Item")
    case .write:
      try other.execute("BEGIN IMMEDIATE; UPDATE Item SET text = 'mine' WHERE _pk = 1")
    case .exclusive:
      _ = try other.scalar("PRAGMA journal_mode = DELETE")
      try other.execute("BEGIN EXCLUSIVE; UPDATE Item SET text = 'mine' WHERE _pk = 1")
    }
    let model = try MigrationChainTests.model(MigrationChainTests.line[..<end])
    do {
      try fixture.open(model) { $0.busyTimeout = 0.05 }
      Issue.record("it was migrated")
    } catch let error as MigrationError {
      #expect(error.reason == .inUse)
    } catch let error as StoreError {
      guard case .busy = error else { throw error }
    }
    try other.execute("COMMIT")
    let text = Holding.allCases[place] == .read ? "I0" : "mine"
    #expect(try other.rows("SELECT text FROM Item ORDER BY _pk")[0] == [text])
    // What was held is let go, and the next attempt succeeds.
    _ = consume other
    try fixture.open(model)
    try fixture.open(model)
    #expect(try fixture.column("SELECT text FROM Item ORDER BY _pk") == [text, "I1", "I2"])
    #expect(fixture.files == ["store.cdstore"])
  }

  /// Another process has migrated the store after this one found the old version in it.
  @Test(.onceForAllKinds, arguments: [2, 3]) func aStoreThatOthersHaveMigratedIsLeftAlone(_ end: Int) throws {
    let fixture = try fixture()
    let model = try MigrationChainTests.model(MigrationChainTests.line[..<end])
    try fixture.open(model)
    let bytes = try fixture.bytes()
    let migration = StoreMigration(
      url: fixture.url, description: PersistentStoreDescription(fixture.location), model: model, others: [])
    let result = try migration.run()
    #expect(result == nil)
    // The journal is still the one of an open store.
    #expect(try fixture.bytes() == bytes)
  }

  /// Several at once: each has a store of the current version in the end, or was told that it is in use.
  @Test(arguments: [2, 3, 6]) func severalMigrateAtOnce(_ end: Int) async throws {
    let model = try MigrationChainTests.model(MigrationChainTests.line[..<end])
    for _ in 0..<5 {
      let fixture = try fixture()
      let location = fixture.location
      let opened = await withTaskGroup(of: Result<Int, any Error>.self) { group in
        for _ in 0..<4 {
          group.addTask {
            Result {
              var description = PersistentStoreDescription(location)
              description.busyTimeout = 5
              let coordinator = try PersistentStoreCoordinator(model: model, stores: [description])
              return try ManagedObjectContext(coordinator).count(
                for: FetchRequest<ManagedObject>(entityName: end == 6 ? "Thing" : "Item"))
            }
          }
        }
        return await group.reduce(into: []) { $0.append($1) }
      }
      for result in opened {
        switch result {
        case .success(let count): #expect(count == 3)
        case .failure(let error as MigrationError): #expect(error.reason == .inUse)
        case .failure(StoreError.busy), .failure(StoreError.replaced): break
        case .failure(StoreError.inUse): #expect(StoreKind.ofEnvironment != .sqlite)
        case .failure(let error): Issue.record("\(error)")
        }
      }
      try fixture.open(model)
      try fixture.open(model)
      try fixture.verify(model)
      #expect(fixture.files == ["store.cdstore"])
    }
  }

  /// A program that ended within a transaction has left its journal: the store is what it was before that.
  @Test(.onlyOnSQLite("its journal"), arguments: [2, 3])
  func aHotJournalIsRolledBackFirst(_ end: Int) throws {
    let fixture = try fixture()
    let other = try connection(fixture)
    _ = try other.scalar("PRAGMA journal_mode = DELETE")
    // So small a cache that the file is written to before the end.
    try other.execute("PRAGMA cache_size = 1; PRAGMA cache_spill = 1; BEGIN EXCLUSIVE")
    try other.execute(
      "WITH RECURSIVE n(i) AS (SELECT 10 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) "
        + "INSERT INTO Item (_pk, _version, text) SELECT i, 1, 'half' FROM n")
    let left = try MigrationFixture()
    try FileManager.default.removeItem(at: left.folder)
    try FileManager.default.copyItem(at: fixture.folder, to: left.folder)
    #expect(left.files.contains("store.cdstore-journal"))
    let model = try MigrationChainTests.model(MigrationChainTests.line[..<end])

    // What is only read is not rolled back, and must not be taken for what it was.
    let bytes = try left.bytes()
    #expect(throws: (any Error).self) {
      try MigrationRehearsal(PersistentStoreDescription(.sqlite(left.url)), model: model).run()
    }
    #expect(try left.bytes() == bytes)

    let metadata = try PersistentStoreCoordinator.metadata(forStoreAt: left.url)
    #expect(metadata.modelVersion.number == 1)
    try left.open(model)
    try left.open(model)
    #expect(try left.column("SELECT text FROM Item ORDER BY _pk") == ["I0", "I1", "I2"])
    #expect(left.files == ["store.cdstore"])
  }

  /// SQLite ignores an empty journal beside a store that has none, and leaves it there.
  @Test(.onlyOnSQLite("its journal"), arguments: [2, 3], ["-wal", "-journal"])
  func anEmptyJournalIsNoJournal(_ end: Int, _ name: String) throws {
    let fixture = try fixture()
    _ = try connection(fixture).scalar("PRAGMA journal_mode = DELETE")
    try Data().write(to: fixture.folder.appending(path: "store.cdstore" + name))
    try fixture.open(MigrationChainTests.model(MigrationChainTests.line[..<end]))
    #expect(try fixture.column("SELECT text FROM Item ORDER BY _pk") == ["I0", "I1", "I2"])
  }
}
