import CDModel
import Foundation
import Synchronization
import Testing

@testable import CDPostgresStore
@testable import CDRuntime

/// What programs do while a migration with common features switches to the tables beside: see also `MigrationBesideTests`.
@Suite(.needsServer) struct SwitchTests {
  private let store: ServerStore

  init() throws {
    store = try ServerStore {
      $0.features = .common
      $0.leaseDuration = 0.5
    }
  }

  /// The small model with one attribute more in each later version. The second version converts the pages to texts.
  private static func model(_ number: Int) -> ManagedObjectModel {
    var versions = [ServerStore.version]
    for next in 2...max(2, number) where next <= number {
      var version = versions[next - 2]
      version.number = next
      version.basedOn = [next - 1]
      if next == 2 { version.entities[1].attributes[1].type = .string }
      version.entities[1].attributes.append(
        AttributeDescription(name: "note\(next)", type: .string, defaultValue: .value(.string("none"))))
      versions.append(version)
    }
    return ManagedObjectModel(
      name: ServerStore.model.name, id: ServerStore.model.id, versions: versions,
      currentVersionNumber: number)
  }

  private static func open(
    _ number: Int, _ server: PostgresServer, _ change: (inout PostgresServer) -> Void = { _ in }
  ) throws -> PersistentStoreCoordinator {
    var server = server
    change(&server)
    return try PersistentStoreCoordinator(model: model(number), at: .server(server))
  }

  private static func titles(_ coordinator: PersistentStoreCoordinator) throws -> [String] {
    try PersistentContainer(coordinator).newContext().titles().sorted()
  }

  private static func save(_ title: String, _ coordinator: PersistentStoreCoordinator) throws {
    let context = PersistentContainer(coordinator).newContext()
    try context.addBook(title)
    try context.save()
  }

  private static func isReplaced(_ error: any Error) -> Bool {
    if case StoreError.replaced = error { true } else { false }
  }

  /// The schemas whose names start with a text.
  private func schemas(_ start: String) throws -> [String] {
    let result = try store.sql(
      "SELECT CAST(nspname AS text) FROM pg_namespace WHERE starts_with(CAST(nspname AS text), ?) ORDER BY 1",
      [.value(.string(start))])
    return (0..<result.rowCount).compactMap { result.string($0, 0) }
  }

  // MARK: Names

  /// Names of schemas that need quotes, or that are so long that the name of the schema beside is cut.
  @Test(arguments: [
    "Quo\"ted \"\" ", "UPPER~2", "a'b\\c", "per%cent %I %s", "dot.", String(repeating: "x", count: 27),
    "ü" + String(repeating: "é", count: 12) + "x", "~", " ",
  ]) func anyNameOfASchema(start: String) throws {
    let name = start + UUID().uuidString
    #expect(name.utf8.count <= 63)
    var server = store.server
    server.schema = name
    let location = StoreLocation.server(server)
    try Self.save("a", Self.open(1, server))
    // A program that may only read tables goes on reading them.
    let reader = "reader_\(UUID().uuidString)"
    try store.sql("CREATE ROLE \(SQLText.quoted(reader)) LOGIN")
    try store.sql("GRANT USAGE ON SCHEMA \(SQLText.quoted(name)) TO \(SQLText.quoted(reader))")
    try store.sql(
      "GRANT SELECT ON ALL TABLES IN SCHEMA \(SQLText.quoted(name)) TO \(SQLText.quoted(reader))")
    for number in 2...4 {
      let coordinator = try Self.open(number, server) { if number == 3 { $0.features = .postgresql } }
      #expect(coordinator.migrations.count == 1)
      #expect(try coordinator.verify() == [])
      try Self.save("\(number)", coordinator)
      var other = server
      other.user = reader
      let readOnly = try PersistentStoreCoordinator(
        model: Self.model(number), stores: [PersistentStoreDescription(.server(other), isReadOnly: true)])
      #expect(try Self.titles(readOnly).count == number)
    }
    // The own schema, and one beside.
    #expect(try schemas(String(name.prefix(start.count + 8))).count == 2)
    try PersistentStoreCoordinator.destroyPersistentStore(at: location)
    try store.sql("DROP OWNED BY \(SQLText.quoted(reader))")
    try store.sql("DROP ROLE \(SQLText.quoted(reader))")
    #expect(try schemas(String(name.prefix(start.count + 8))) == [name])
    try store.sql("DROP SCHEMA \(SQLText.quoted(name))")
  }

  // MARK: Views

  /// Another program's view keeps a table of the former version. The store's own views, which read the new tables, stay too.
  @Test func aViewOfAnotherProgramCostsNoOthers() throws {
    let own = store.server.schema
    for number in 1...2 { try Self.save("\(number)", Self.open(number, store.server)) }
    let table = PostgresTables.systemTable("Book", schema: StoreSchemas.beside(own, number: 2))
    let other = try ServerStore()
    let view = PostgresTables.systemTable("Book_view", schema: own)
    let report = PostgresTables.systemTable("report", schema: other.server.schema)
    try store.sql("CREATE SCHEMA \(SQLText.quoted(other.server.schema))")
    try store.sql("CREATE VIEW \(report) AS SELECT title FROM \(table)")

    let coordinator = try Self.open(3, store.server) { $0.features = .postgresql }
    #expect(coordinator.migrations.count == 1)
    #expect(try store.sql("SELECT count(*) FROM \(view)").int(0, 0) == 2)
    #expect(try store.sql("SELECT count(*) FROM \(report)").int(0, 0) == 2)
    // Without the other view, the next opening removes the former tables.
    try store.sql("DROP VIEW \(report)")
    _ = try Self.open(3, store.server) { $0.features = .postgresql }
    #expect(try store.besides() == [StoreSchemas.beside(own, number: 3)])
    #expect(try store.sql("SELECT count(*) FROM \(view)").int(0, 0) == 2)
  }

  // MARK: Privileges

  /// A user without the right to create schemas learns which one to ask for, and gets the same one later.
  @Test func aUserWhoMayCreateNothingIsToldWhatIsMissing() throws {
    let role = "user_\(UUID().uuidString)"
    let own = store.server.schema
    func quoted(_ name: String) -> String { SQLText.quoted(name) }
    try store.sql("CREATE ROLE \(quoted(role)) LOGIN")
    try store.sql("CREATE SCHEMA \(quoted(own)) AUTHORIZATION \(quoted(role))")
    defer {
      _ = try? store.sql("DROP OWNED BY \(quoted(role)) CASCADE")
      _ = try? store.sql("DROP ROLE \(quoted(role))")
    }
    var server = store.server
    server.user = role
    let old = try Self.open(1, server)
    try Self.save("a", old)
    let before = try store.sql("SELECT * FROM \(store.table("_cdgen_metadata")) ORDER BY 1")
    func checkRefusal() throws {
      let error = #expect(throws: StoreError.self) { try Self.open(2, server) }
      guard case .cannotCreate(_, let reason)? = error else {
        Issue.record("\(String(describing: error))")
        return
      }
      #expect(reason.contains("'\(own)~2'"), "\(reason)")
    }
    for _ in 0..<3 { try checkRefusal() }
    #expect(try store.besides() == [])
    let after = try store.sql(
      "SELECT * FROM \(store.table("_cdgen_metadata")) WHERE key <> 'tableSchemas' ORDER BY 1")
    #expect(after.rowCount == before.rowCount)
    try Self.save("b", old)
    // A schema in which the user may not create tables.
    try store.sql("CREATE SCHEMA \(quoted(own + "~2"))")
    for _ in 0..<2 { try checkRefusal() }
    try Self.save("c", old)
    try store.sql("GRANT USAGE, CREATE ON SCHEMA \(quoted(own + "~2")) TO \(quoted(role))")
    let new = try Self.open(2, server)
    #expect(new.migrations.count == 1)
    #expect(try Self.titles(new) == ["a", "b", "c"])
    #expect(try new.verify() == [])
    #expect(try store.schemas().tables == own + "~2")
  }

  @Test func aReadOnlyProgramChangesNothing() throws {
    try Self.save("a", Self.open(1, store.server))
    for features in [PostgresServer.Features.common, .postgresql] {
      var server = store.server
      server.features = features
      let description = PersistentStoreDescription(.server(server), isReadOnly: true)
      #expect(throws: (any Error).self) {
        try PersistentStoreCoordinator(model: Self.model(2), stores: [description])
      }
      #expect(try store.besides() == [])
      #expect(
        try store.sql(
          "SELECT 1 FROM \(store.table("_cdgen_metadata")) WHERE key IN ('tableSchemas', 'migrationLease')"
        )
        .rowCount == 0)
    }
    let old = try PersistentStoreCoordinator(
      model: Self.model(1), stores: [PersistentStoreDescription(.server(store.server), isReadOnly: true)])
    _ = try Self.open(2, store.server)
    let error = #expect(throws: (any Error).self) { try Self.titles(old) }
    #expect(error.map(Self.isReplaced) == true)
    let new = try PersistentStoreCoordinator(
      model: Self.model(2), stores: [PersistentStoreDescription(.server(store.server), isReadOnly: true)])
    #expect(try Self.titles(new) == ["a"])
  }

  // MARK: Many at once

  /// Tries again, as the error advises, if other programs kept the store busy. On a machine with much to do, they can take
  /// longer than the timeout.
  private static func patiently<R>(_ body: () throws -> R) throws -> R {
    for _ in 0..<20 {
      do { return try body() } catch StoreError.busy {
      } catch let error as MigrationError where error.reason == .inUse {}
    }
    return try body()
  }

  /// Programs of the old version with all and with common features save, and others migrate. What a program was told to have
  /// saved is there once, and nothing else.
  @Test(arguments: 0..<6) func manyProgramsAtTheSwitch(round: Int) throws {
    let server = store.server
    try Self.save("first", Self.open(1, server) { if round % 2 == 1 { $0.features = .postgresql } })
    let saved = Mutex<[String]>(["first"])
    let migrations = Mutex(0)
    let errors = Mutex<[String]>([])
    inThreads(8) { index in
      let change: (inout PostgresServer) -> Void = {
        $0.features = index % 2 == 0 ? .common : .postgresql
        $0.leaseDuration = 0.3
        $0.poolSize = 2
      }
      do {
        if index < 4 {
          let old = try Self.open(1, server, change)
          for number in 0..<10_000 {
            let count = number % 3 == 2 ? 600 : 1
            let names = (0..<count).map { "\(index) \(number) \($0)" }
            try Self.patiently {
              let context = PersistentContainer(old).newContext()
              if count == 1 {
                try context.addBook(names[0])
                try context.save()
              } else {
                _ = try context.execute(
                  BatchInsertRequest<ManagedObject>(
                    entityName: "Book", rows: names.map { ["title": .attribute(.string($0))] }))
              }
            }
            saved.withLock { $0 += names }
          }
        } else {
          usleep(UInt32(150_000 + 20_000 * round + 3000 * index))
          let new = try Self.patiently { try Self.open(2, server, change) }
          migrations.withLock { $0 += new.migrations.count }
          for number in 0..<5 {
            let name = "new \(index) \(number)"
            try Self.patiently { try Self.save(name, new) }
            saved.withLock { $0.append(name) }
          }
        }
      } catch {
        // Programs of the old version that open the store after the switch find a newer one.
        if index >= 4 || !(Self.isReplaced(error) || error is MigrationError) {
          errors.withLock { $0.append("\(index): \(error)") }
        }
      }
    }
    #expect(errors.withLock { $0 } == [])
    #expect(migrations.withLock { $0 } == 1)
    let last = try Self.open(2, server)
    #expect(try Self.titles(last) == saved.withLock { $0.sorted() })
    #expect(try last.verify() == [])
    #expect(try store.besides() == [store.schemas().tables].filter { $0 != server.schema })
  }

  /// Whoever waits for the record of schemas during the switch gets the new one.
  @Test func theRecordIsTheNewOneAfterTheSwitch() throws {
    let server = store.server
    try Self.save("a", Self.open(1, server))
    let found = Mutex<[SchemaRecord]>([])
    let begun = Mutex(false)
    let done = DispatchSemaphore(value: 0)
    // The record is locked from here on.
    let hook: @Sendable (String) throws -> Void = { point in
      guard point == "COPY", !begun.withLock({ $0 }) else { return }
      begun.withLock { $0 = true }
      Thread.detachNewThread {
        do {
          let connection = try PostgresConnection.open(server, toWrite: true)
          defer { connection.close() }
          try ServerRecord(connection: connection, own: server.schema, url: server.url).change { record in
            found.withLock { $0.append(record) }
          }
        } catch { Issue.record(error) }
        done.signal()
      }
      usleep(300_000)
    }
    let new = try MigrationFaults.$hook.withValue(hook) { try Self.open(2, server) }
    #expect(done.wait(timeout: .now() + 10) == .success)
    #expect(found.withLock { $0.map(\.number) } == [2])
    #expect(try new.verify() == [])
  }

  // MARK: History

  /// Tokens stay valid across the switch, whoever reads, and followers of the old version end with an error.
  @Test(.timeLimit(.minutes(10))) func theHistoryGoesOn() async throws {
    let old = try Self.open(1, store.server)
    try Self.save("a", old)
    let token = try JSONEncoder().encode(old.currentHistoryToken())
    let follower = try Self.open(1, store.server)
    let changes = try follower.changes()
    try Self.save("b", old)
    let new = try Self.open(2, store.server)
    let start = try JSONDecoder().decode(HistoryToken.self, from: token)
    let later = try new.changes(after: start)
    try Self.save("c", new)
    let other = try Self.open(2, store.server) { $0.features = .postgresql }
    try Self.save("d", other)

    let all = try new.history(after: start)
    #expect(all.map(\.changes.inserted.count) == [1, 1, 1])
    #expect(all.map(\.isOwn) == [false, true, false])
    #expect(Set(all.map(\.token)).count == 3)
    var found: [HistoryToken] = []
    for try await transaction in later {
      found.append(transaction.token)
      if found.count == 3 { break }
    }
    #expect(found == all.map(\.token))
    var seen = 0
    var end: (any Error)?
    do { for try await _ in changes { seen += 1 } } catch { end = error }
    #expect(seen <= 1)
    #expect(end.map(Self.isReplaced) == true, "\(String(describing: end))")
    // Programs of the old version cannot remove history that the new one needs.
    #expect(throws: StoreError.self) { try old.purgeHistory(upTo: new.currentHistoryToken()) }
    #expect(try new.history(after: start).count == 3)
  }

  // MARK: Copies and removals

  /// A copy that is made during migrations is a whole store of one version, or there is none.
  @Test func copiesDuringMigrations() throws {
    let server = store.server
    let first = try Self.open(1, server)
    for number in 0..<50 { try Self.save("\(number)", first) }
    let folder = FileManager.default.temporaryDirectory.appending(path: "cdgen-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let isOver = Mutex(false)
    let copies = Mutex(0)
    let failures = Mutex<[String]>([])
    inThreads(4) { index in
      do {
        if index == 0 {
          defer { isOver.withLock { $0 = true } }
          for number in 2...5 {
            #expect(try Self.open(number, server).migrations.count == 1)
            usleep(50_000)
          }
          return
        }
        for number in 0... {
          if isOver.withLock({ $0 }) { break }
          let file = StoreLocation.sqlite(folder.appending(path: "\(index)-\(number).cdstore"))
          var source = server
          source.features = index == 1 ? .postgresql : .common
          do { try PersistentStoreCoordinator.copyPersistentStore(at: .server(source), to: file) } catch {
            failures.withLock { $0.append("\(error)") }
            continue
          }
          copies.withLock { $0 += 1 }
          let copy = try PersistentStoreCoordinator(model: Self.model(5), at: file)
          #expect(try Self.titles(copy).count == 50)
        }
      } catch { Issue.record(error) }
    }
    // A copy that began before a switch may find that an old table has been dropped.
    #expect(failures.withLock(\.count) < copies.withLock { $0 }, "\(failures.withLock { $0 })")
  }

  /// The store is removed while it is migrated: neither waits for ever, and no object stays anywhere.
  @Test(arguments: ["record", "CREATE SCHEMA", "CREATE TABLE", "BEGIN", "COPY", "COMMIT"], [true, false])
  func aRemovalDuringAMigration(point: String, isCommon: Bool) throws {
    let server = store.server
    let first = try Self.open(1, server)
    for number in 0..<50 { try Self.save("\(number)", first) }
    var remover = server
    remover.features = isCommon ? .common : .postgresql
    let location = StoreLocation.server(remover)
    let done = DispatchSemaphore(value: 0)
    let begun = Mutex(false)
    let hook: @Sendable (String) throws -> Void = { text in
      guard text.hasPrefix(point), !begun.withLock({ $0 }) else { return }
      begun.withLock { $0 = true }
      Thread.detachNewThread {
        do { try PersistentStoreCoordinator.destroyPersistentStore(at: location) } catch {
          Issue.record(error)
        }
        done.signal()
      }
      usleep(300_000)
    }
    // The migration fails, or ends before the removal.
    _ = try? MigrationFaults.$hook.withValue(hook) { try Self.open(2, server) }
    #expect(begun.withLock { $0 })
    #expect(done.wait(timeout: .now() + 30) == .success)
    let again = try Self.open(2, server)
    #expect(try Self.titles(again).isEmpty)
    #expect(try again.verify() == [])
    try PersistentStoreCoordinator.destroyPersistentStore(at: location)
    for schema in try store.besides() {
      for table in try store.tables(in: schema) {
        let name = PostgresTables.systemTable(table, schema: schema)
        #expect(try store.sql("SELECT 1 FROM \(name) LIMIT 1").rowCount == 0, "\(name)")
      }
    }
  }
}
