import CDModel
import Dispatch
import Foundation
import Synchronization
import Testing

@testable import CDPostgresStore
@testable import CDRuntime

/// Migrations of stores with common features: see also `MigrationTests`, which has what all ways have in common.
@Suite(.needsServer) struct MigrationBesideTests {
  private let store: ServerStore
  private var way: MovedShelves.Way { .beside }

  init() throws { store = try MovedShelves.Way.beside.store() }

  private func context(_ coordinator: PersistentStoreCoordinator) -> ManagedObjectContext {
    PersistentContainer(coordinator).newContext()
  }

  private func coordinator(
    _ model: ManagedObjectModel, through proxy: TestProxy? = nil,
    _ change: (inout PostgresServer) -> Void = { _ in }
  ) throws -> PersistentStoreCoordinator {
    var server = store.server
    if let proxy { server.hosts = [PostgresServer.Host("127.0.0.1", port: proxy.port)] }
    change(&server)
    return try PersistentStoreCoordinator(model: model, at: .server(server))
  }

  private func beside(_ number: Int) -> String { "\(store.server.schema)~\(number)" }

  private func isReplaced(_ error: (any Error)?) -> Bool {
    if case StoreError.replaced? = error { true } else { false }
  }

  /// The tables in the store's own schema after a migration.
  private static let fixed = ["_cdgen_history", "_cdgen_keys", "_cdgen_metadata"]

  // MARK: The result

  /// The tables hold what a file holds after the same migration.
  @Test(arguments: TableChange.all)
  func theRowsAreThoseOfAMigratedFile(change: TableChange) throws {
    try Works.fill(.server(store.server))
    let folder = FileManager.default.temporaryDirectory.appending(path: "cdgen-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = StoreLocation.sqlite(folder.appending(path: "copy.cdstore"))
    try PersistentStoreCoordinator.copyPersistentStore(at: .server(store.server), to: file)

    let migrated = try coordinator(change.model)
    #expect(migrated.migrations.count == 1)
    #expect(try migrated.verify() == [])
    #expect(try store.schemas().tables == beside(2))
    #expect(try store.tables(in: store.server.schema) == Self.fixed)
    #expect(
      try store.tables(in: beside(2))
        == (["_cdgen_keys"]
        + SQLSchema(ModelPlan(ofAllEntitiesIn: change.model), store: 0, PostgresDialect())
        .layouts.map(\.name)).sorted())

    try withExtendedLifetime(PersistentStoreCoordinator(model: change.model, at: file)) {}
    func comparable(_ lines: [String]) -> [String] { lines.filter { !$0.hasPrefix("pendingBackup ") } }
    #expect(
      try comparable(StoreText.contents(.server(store.server))) == comparable(StoreText.contents(file)))
    // New objects get keys that no object has had.
    let context = context(migrated)
    let person = try context.insert(entityNamed: "Person")
    try person.setValue("new", forKey: "name")
    try context.save()
    #expect(try migrated.verify() == [])
    // Programs with all features find the tables too.
    let other = try coordinator(change.model) { $0.features = .postgresql }
    #expect(other.migrations.isEmpty)
    #expect(try other.verify() == [])
  }

  /// No statement needs more than the common features.
  @Test func noForbiddenStatementIsSent() throws {
    try Works.fill(.server(store.server))
    let proxy = try TestProxy(to: store.server)
    let migrated = try coordinator(TableChange.all[8].model, through: proxy)
    #expect(migrated.migrations.count == 1)
    CommonFeaturesTests.check(proxy.takeRoundTrips())
  }

  /// Each migration leads to a schema of its own, and the former one disappears.
  @Test func laterMigrationsLeaveOneSchema() throws {
    try Works.fill(.server(store.server))
    let changes = [TableChange.all[0].change, TableChange.all[8].change, TableChange.all[9].change]
    let before = try store.count("Book")
    for count in 1...3 {
      let model = Works.line(Array(changes[..<count]))
      let migrated = try coordinator(model)
      #expect(migrated.migrations.map(\.destination) == [count + 1])
      #expect(try migrated.verify() == [])
      #expect(try store.besides() == [beside(count + 1)])
      #expect(try store.schemas().tables == beside(count + 1))
      #expect(try store.tables(in: store.server.schema) == Self.fixed)
      let entity = try #require(model.currentVersion).entities[2].name
      #expect(try store.count(entity) == before + count - 1)
      let context = context(migrated)
      let book = try context.insert(entityNamed: entity)
      try book.setValue("new", forKey: "title")
      try context.save()
    }
    let history = try store.sql("SELECT count(*), max(id) FROM \(store.table("_cdgen_history"))")
    #expect(history.int(0, 0) == history.int(0, 1))
  }

  /// A store with foreign keys and views, which a program with all features has created.
  @Test func aStoreOfAProgramWithAllFeaturesIsMigrated() throws {
    var all = store.server
    all.features = .postgresql
    try Works.fill(.server(all))
    #expect(try store.tables(in: store.server.schema).contains("Book_view"))
    let old = PersistentContainer(try PersistentStoreCoordinator(model: Works.model, at: .server(all)))
    let oldContext = old.newContext()
    let tag = try oldContext.insert(entityNamed: "Tag")
    try tag.setValue("late", forKey: "name")
    let model = TableChange.all[0].model
    #expect(try coordinator(model).migrations.count == 1)
    // The locks of tables do not exclude this program. The counter does.
    #expect(isReplaced(#expect(throws: (any Error).self) { try oldContext.save() }))
    #expect(try store.tables(in: store.server.schema) == Self.fixed)
    // The next opening with all features creates the views, and the next migration is beside again.
    let next = Works.line([TableChange.all[0].change, TableChange.all[9].change])
    let reader = try PersistentStoreCoordinator(model: model, at: .server(all))
    #expect(try reader.verify() == [])
    #expect(try store.sql("SELECT count(*) FROM \(SQLText.quoted(all.schema)).\"Book_view\"").int(0, 0) > 0)
    let later = try PersistentStoreCoordinator(model: next, at: .server(all))
    #expect(later.migrations.count == 1)
    #expect(try later.verify() == [])
    #expect(try store.besides() == [beside(3)])
    let views = try store.tables(in: all.schema).filter { $0.hasSuffix("_view") }
    #expect(views.count == next.currentVersion?.entities.count)
  }

  // MARK: Others

  /// A program of the old version saves in the moment of the switch: it has written its rows, and waits for the counter.
  @Test func aSaveAtTheSwitchIsRefused() throws {
    let old = try store.context()
    try old.addBook("a")
    try old.save()
    let isReady = DispatchSemaphore(value: 0)
    let go = DispatchSemaphore(value: 0)
    let done = DispatchSemaphore(value: 0)
    let error = Mutex<(any Error)?>(nil)
    let reached = Mutex(false)
    Thread.detachNewThread {
      do {
        let late = try store.context()
        try late.addBook("late")
        isReady.signal()
        go.wait()
        try late.save()
      } catch let failure { error.withLock { $0 = failure } }
      done.signal()
    }
    isReady.wait()
    let hook: @Sendable (String) throws -> Void = { point in
      guard point == "COMMIT", !reached.withLock({ $0 }) else { return }
      reached.withLock { $0 = true }
      go.signal()
      usleep(200_000)
    }
    let migrated = try MigrationFaults.$hook.withValue(hook) { try coordinator(way.model) }
    done.wait()
    #expect(reached.withLock { $0 })
    #expect(isReplaced(error.withLock { $0 }))
    #expect("\(String(describing: error.withLock { $0 }))".contains("new version"))
    #expect(try context(migrated).titles() == ["a"])
    #expect(try migrated.verify() == [])
    #expect(try store.count("_cdgen_history") == 1)
  }

  /// Whoever saves or sets metadata waits as long as the busy timeout says.
  @Test func writersWaitForTheSwitch() throws {
    let old = try store.context()
    try old.addBook("a")
    try old.save()
    let reached = Mutex(0)
    let server = store.server
    let hook: @Sendable (String) throws -> Void = { point in
      guard point == "COPY" else { return }
      reached.withLock { $0 += 1 }
      let impatient = try PersistentStoreCoordinator(
        model: ServerStore.model, stores: [PersistentStoreDescription(.server(server), busyTimeout: 0.2)])
      let context = PersistentContainer(impatient).newContext()
      #expect(try context.titles() == ["a"])
      try context.addBook("b")
      let save = #expect(throws: StoreError.self) { try context.save() }
      if case .busy? = save {} else { Issue.record("\(String(describing: save))") }
      let metadata = #expect(throws: StoreError.self) {
        try impatient.setMetadata(["a": "b"], forStore: impatient.storeIDs[0])
      }
      if case .busy? = metadata {} else { Issue.record("\(String(describing: metadata))") }
    }
    let migrated = try MigrationFaults.$hook.withValue(hook) { try coordinator(way.model) }
    #expect(reached.withLock { $0 } == 1)
    #expect(try context(migrated).titles() == ["a"])
    // The old version can set no metadata any more.
    let late = #expect(throws: StoreError.self) {
      try old.persistentStoreCoordinator.setMetadata(
        ["a": "b"], forStore: old.persistentStoreCoordinator.storeIDs[0])
    }
    #expect(isReplaced(late))
    #expect(try migrated.verify() == [])
  }

  /// A reader whose snapshot is older than the migration keeps the tables that it has read. They are dropped later.
  @Test func anOldSnapshotKeepsItsTables() throws {
    let old = try store.context()
    try old.addBook("a")
    try old.save()
    try old.perform { () throws -> Void in
      #expect(try old.titles() == ["a"])
      let start = ContinuousClock.now
      let migrated = try coordinator(way.model)
      #expect(ContinuousClock.now - start < .seconds(5))
      #expect(try context(migrated).titles() == ["a"])
      try context(migrated).addBook("new")
      // What waits to be dropped is no defect.
      #expect(try migrated.verify() == [])
      #expect(try store.tables(in: store.server.schema).contains("Book"))
      #expect(try old.titles() == ["a"])
      // It has not read this table, which is gone or still has the old rows.
      do { #expect(try old.objects(forEntityNamed: "Tag", format: "TRUEPREDICATE").isEmpty) } catch {
        #expect(isReplaced(error))
      }
    }
    #expect(isReplaced(#expect(throws: (any Error).self) { try old.titles() }))
    _ = try coordinator(way.model)
    #expect(try store.tables(in: store.server.schema) == Self.fixed)
  }

  /// A schema with the name that a migration would take has something of another program.
  @Test func aSchemaOfAnotherProgramIsLeftAlone() throws {
    try store.context().addBook("a")
    try store.sql("CREATE SCHEMA \(SQLText.quoted(beside(2)))")
    try store.sql("CREATE TABLE \(SQLText.quoted(beside(2))).\"Book\" (x integer)")
    try store.sql("CREATE SCHEMA \(SQLText.quoted(beside(3)))")
    let migrated = try coordinator(way.model)
    #expect(try store.schemas().tables == beside(3))
    #expect(try migrated.verify() == [])
    try PersistentStoreCoordinator.destroyPersistentStore(at: .server(store.server))
    #expect(try store.besides() == [beside(2)])
    #expect(try store.tables(in: beside(2)) == ["Book"])
    #expect(try store.tables(in: store.server.schema) == [])
  }

  /// Another program has put a table and a view beside the store's tables. Both stay.
  @Test func whatOthersPutBesideStays() throws {
    try store.context().addBook("a")
    let first = try coordinator(way.model)
    try store.sql("CREATE TABLE \(SQLText.quoted(beside(2))).theirs (x integer)")
    try store.sql(
      "CREATE VIEW \(SQLText.quoted(beside(2))).books AS SELECT title FROM \(store.table("Book"))")
    #expect(try first.verify().count == 2)
    let next = try coordinator(third())
    #expect(next.migrations.count == 1)
    #expect(try next.verify() == [])
    #expect(try store.tables(in: beside(2)) == ["Book", "books", "theirs"])
    // The table that the view reads goes once the view is gone.
    try store.sql("DROP VIEW \(SQLText.quoted(beside(2))).books")
    _ = try coordinator(third())
    #expect(try store.tables(in: beside(2)) == ["theirs"])
  }

  private func third() throws -> ManagedObjectModel {
    var version = try #require(way.model.currentVersion)
    version.number = 3
    version.basedOn = [2]
    version.entities[1].attributes[4].isOptional = true
    version.entities[1].attributes[4].defaultValue = nil
    return ManagedObjectModel(
      name: ServerStore.model.name, id: ServerStore.model.id, versions: way.model.versions + [version],
      currentVersionNumber: 3)
  }

  // MARK: Interruptions

  /// A program is killed at each statement: whatever it was going to send is not sent. Programs of the old version go on,
  /// and the next one of the new version migrates the store and drops the tables of the killed one.
  @Test func anEndAtAnyStatementLeavesTheOldOrTheNewStore() throws {
    let last = Mutex(Int.max)
    let new = Mutex(0)
    let threads = 12
    inThreads(threads) { first in
      do {
        for position in stride(from: first, to: 150, by: threads) where position < last.withLock({ $0 }) {
          switch try Self.end(at: position) {
          case nil: last.withLock { $0 = min($0, position) }
          case true?: new.withLock { $0 += 1 }
          case false?: break
          }
        }
      } catch { Issue.record(error) }
    }
    let count = last.withLock { $0 }
    print("\(count) statements, \(new.withLock { $0 }) after the switch")
    #expect(count > 25 && count < 150 && new.withLock { $0 } > 1)
  }

  /// Ends a migration before or after it has sent a number of statements.
  ///
  /// - Returns: Whether the store was the new one then; nil if the migration has ended before.
  private static func end(at number: Int) throws -> Bool? {
    let model = MovedShelves.Way.beside.model
    let store = try MovedShelves.Way.beside.store()
    let old = try store.context()
    try old.addBook("a")
    try old.save()
    let proxy = try TestProxy(to: store.server)
    let count = Mutex(0)
    let begun = Mutex(false)
    proxy.decide { statements in
      // From the lease on.
      if statements.contains(where: { $0.contains("migrationLease") }) { begun.withLock { $0 = true } }
      guard begun.withLock({ $0 }) else { return .forward }
      return count.withLock {
        $0 += 1
        // By turns, the server executes the last statements or not.
        return $0 <= number ? .forward : $0 == number + 1 && number % 2 == 0 ? .cutAfter : .cutBefore
      }
    }
    var server = store.server
    server.hosts = [PostgresServer.Host("127.0.0.1", port: proxy.port)]
    server.connectTimeout = 1
    do {
      _ = try PersistentStoreCoordinator(model: model, at: .server(server))
      if count.withLock({ $0 <= number }) { return nil }
    } catch {}
    proxy.cutAll()
    let isNew = try store.schemas().areTwo
    func save() throws {
      try old.addBook("b")
      try old.save()
    }
    if isNew {
      let error = #expect(throws: StoreError.self) { try save() }
      if case .replaced? = error {} else { Issue.record("\(String(describing: error))") }
    } else {
      try save()
    }
    let coordinator = try PersistentStoreCoordinator(model: model, at: .server(store.server))
    #expect(coordinator.migrations.count == (isNew ? 0 : 1))
    #expect(
      try PersistentContainer(coordinator).newContext().titles().sorted() == (isNew ? ["a"] : ["a", "b"]))
    #expect(try coordinator.verify() == [])
    #expect(try store.besides() == [store.schemas().tables])
    #expect(try store.tables(in: store.server.schema) == fixed)
    return isNew
  }

  /// A migration that has lost its lease, because its machine slept, does not end after another one has begun.
  @Test func aMigrationThatWasGivenUpDoesNotEnd() throws {
    let old = try store.context()
    try old.addBook("a")
    try old.save()
    let server = store.server
    let model = way.model
    let sleeps = Mutex(true)
    let hook: @Sendable (String) throws -> Void = { point in
      guard point == "BEGIN", sleeps.withLock({ $0 }) else { return }
      sleeps.withLock { $0 = false }
      try store.sql(#"DELETE FROM \#(store.table("_cdgen_metadata")) WHERE "key" = 'migrationLease'"#)
      try MigrationFaults.$hook.withValue(nil) {
        let other = try PersistentStoreCoordinator(model: model, at: .server(server))
        #expect(other.migrations.count == 1)
        let context = PersistentContainer(other).newContext()
        try context.addBook("new").setValue("low", forKey: "place")
        try context.save()
      }
    }
    let late = try MigrationFaults.$hook.withValue(hook) { try coordinator(model) }
    #expect(late.migrations.isEmpty)
    #expect(try context(late).titles().sorted() == ["a", "new"])
    #expect(try late.verify() == [])
    #expect(try store.besides() == [beside(3)])
    #expect(try store.tables(in: store.server.schema) == Self.fixed)
  }

  /// The store is removed while it is migrated. Nothing of the migration stays, even if there is another store then.
  @Test(arguments: ["CREATE SCHEMA", "BEGIN"], [false, true])
  func aStoreThatIsRemovedLeavesNothing(point: String, isCreatedAnew: Bool) throws {
    try store.context().addBook("a")
    let isRemoved = Mutex(false)
    let server = store.server
    let hook: @Sendable (String) throws -> Void = { reached in
      guard reached == point, !isRemoved.withLock({ $0 }) else { return }
      isRemoved.withLock { $0 = true }
      try MigrationFaults.$hook.withValue(nil) {
        try PersistentStoreCoordinator.destroyPersistentStore(at: .server(server))
        if isCreatedAnew { _ = try PersistentStoreCoordinator(model: ServerStore.model, at: .server(server)) }
      }
    }
    let error = Mutex<(any Error)?>(nil)
    MigrationFaults.$hook.withValue(hook) {
      do { _ = try coordinator(way.model) } catch let found { error.withLock { $0 = found } }
    }
    #expect(isRemoved.withLock { $0 })
    // A new store is migrated as well.
    #expect(error.withLock { $0 == nil } == isCreatedAnew)
    let tables = try store.schemas().tables
    #expect(try store.besides() == (isCreatedAnew ? [tables] : []))
    #expect(try store.tables(in: server.schema).isEmpty == !isCreatedAnew)
    #expect(try coordinator(way.model).verify() == [])
  }

  // MARK: Names

  /// A migration tells where the tables are, and a schema with tables tells whose they are.
  @Test(arguments: ["", String(repeating: "ä", count: 11)])
  func theSchemasAreNamed(suffix: String) throws {
    let store = try ServerStore {
      $0.features = .common
      $0.schema += suffix
    }
    try store.context().addBook("a")
    #expect(try store.server.schemaBeside() == nil)
    let migrated = try PersistentStoreCoordinator(model: way.model, at: .server(store.server))
    let beside = StoreSchemas.beside(store.server.schema, number: 2)
    #expect(migrated.migrations.map(\.schemaBeside) == [beside])
    #expect(try store.server.schemaBeside() == beside)
    for features in [PostgresServer.Features.common, .postgresql] {
      var server = store.server
      server.schema = beside
      server.features = features
      let location = StoreLocation.server(server)
      let expected = StoreError.tablesOfOtherStore(server.url, schema: store.server.schema)
      #expect(throws: expected) { try PersistentStoreCoordinator(model: way.model, at: location) }
      #expect(throws: expected) { try PersistentStoreCoordinator.metadata(forStoreAt: location) }
    }
    #expect(try store.schemas().tables == beside)
  }

  // MARK: Copies

  @Test func aMigratedStoreIsCopiedAndRemoved() throws {
    try Works.fill(.server(store.server))
    let model = TableChange.all[8].model
    let migrated = try coordinator(model)
    let folder = FileManager.default.temporaryDirectory.appending(path: "cdgen-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = StoreLocation.sqlite(folder.appending(path: "copy.cdstore"))
    try PersistentStoreCoordinator.copyPersistentStore(at: .server(store.server), to: file)
    let copy = try PersistentStoreCoordinator(model: model, at: file)
    #expect(copy.migrations.isEmpty)
    #expect(try copy.verify() == [])
    #expect(try StoreText.contents(file) == StoreText.contents(.server(store.server)))
    let metadata = try PersistentStoreCoordinator.metadata(forStoreAt: .server(store.server))
    #expect(metadata.storeID == migrated.storeIDs.first)
    // A copy on a server is in one schema again.
    let other = try MovedShelves.Way.beside.store()
    try PersistentStoreCoordinator.copyPersistentStore(
      at: .server(store.server), to: .server(other.server), asReplica: true)
    #expect(try !other.schemas().areTwo)
    #expect(try PersistentStoreCoordinator(model: model, at: .server(other.server)).verify() == [])
    let next = Works.line([TableChange.all[8].change, TableChange.all[0].change])
    let report = try MigrationRehearsal(PersistentStoreDescription(.server(store.server)), model: next).run()
    #expect(report.succeeds)
    #expect(try store.besides() == [beside(2)])
    // A leftover of a killed migration goes with the store.
    try store.sql("CREATE SCHEMA \(SQLText.quoted(beside(3)))")
    try store.sql("CREATE TABLE \(SQLText.quoted(beside(3))).\"Tag\" (x integer)")
    let connection = try PostgresConnection.open(store.server, toWrite: true)
    try ServerRecord(connection: connection, own: store.server.schema, url: store.server.url).change {
      $0.begin(SchemaRecord.Attempt(schema: beside(3), tables: ["Tag", "Book"]))
    }
    connection.close()
    try PersistentStoreCoordinator.destroyPersistentStore(at: .server(store.server))
    #expect(try store.besides() == [])
    #expect(try store.tables(in: store.server.schema) == [])
    #expect(
      isReplaced(
        #expect(throws: (any Error).self) {
          try context(migrated).objects(forEntityNamed: "Tag", format: "TRUEPREDICATE")
        }))
  }

  /// An entry of the metadata that nobody can read is an error, not a trap.
  @Test func aDamagedRecordIsNamed() throws {
    try store.context().addBook("a")
    _ = try coordinator(way.model)
    try store.sql(
      #"UPDATE \#(store.table("_cdgen_metadata")) SET "value" = '{"number":' WHERE "key" = 'tableSchemas'"#)
    let error = #expect(throws: StoreError.self) { try coordinator(way.model) }
    #expect("\(String(describing: error))".contains("tableSchemas"))
    // A pointer to nowhere.
    try store.sql(#"DELETE FROM \#(store.table("_cdgen_metadata")) WHERE "key" = 'tableSchemas'"#)
    try store.sql(
      #"UPDATE \#(store.table("_cdgen_metadata")) SET "value" = 'nowhere' WHERE "key" = 'tableSchema'"#)
    #expect(throws: StoreError.self) { try coordinator(way.model) }
  }
}
