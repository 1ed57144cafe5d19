import CDModel
import Dispatch
import Foundation
import Synchronization
import Testing

@testable import CDPostgresStore
@testable import CDRuntime

/// Stores on servers that have only what the databases with PostgreSQL's protocol have in common.
@Suite(.needsServer) struct CommonFeaturesTests {
  private let store: ServerStore
  private let proxy: TestProxy

  init() throws {
    store = try ServerStore { $0.features = .common }
    proxy = try TestProxy(to: store.server)
  }

  /// What no statement may contain.
  private static let forbidden = [
    "DEFERRABLE", "SET CONSTRAINTS", "LOCK TABLE", "advisory", "LISTEN", "NOTIFY", "PREPARE", "TRUNCATE",
    "search_path",
  ]

  /// Checks that the statements so far use no feature that is forbidden.
  static func check(_ trips: [[String]], _ location: SourceLocation = #_sourceLocation) {
    #expect(trips.count > 2, sourceLocation: location)
    for trip in trips {
      for statement in trip {
        for word in Self.forbidden {
          #expect(!statement.contains(word), "\(statement)", sourceLocation: location)
        }
        #expect(!statement.hasPrefix("ALTER TABLE"), "\(statement)", sourceLocation: location)
        if statement.hasPrefix("SET ") {
          #expect(statement.hasPrefix("SET LOCAL "), "\(statement)", sourceLocation: location)
        }
        if statement.hasPrefix("CREATE ") || statement.hasPrefix("DROP ") {
          #expect(trip.count == 1, "\(trip)", sourceLocation: location)
        }
      }
    }
  }

  private func context(_ change: (inout PostgresServer) -> Void = { _ in }) throws -> ManagedObjectContext {
    try store.context(through: proxy) {
      $0.features = .common
      change(&$0)
    }
  }

  private func shelf(_ name: String, _ context: ManagedObjectContext) throws -> ManagedObject {
    let shelf = try context.insert(entityNamed: "Shelf")
    try shelf.setValue(name, forKey: "name")
    return shelf
  }

  /// A program with all features migrates: it excludes writers first, and readers at the end. A writer with common features
  /// that waits for it keeps nothing that the migration needs.
  @Test func aWaitingWriterDoesNotKeepAMigrationWaiting() throws {
    let context = try context()
    try context.addBook("first")
    try context.save()
    try context.addBook("second")
    let migration = try PostgresConnection.open(store.server, toWrite: true)
    try migration.run("BEGIN")
    try migration.run(PostgresTables.migrationLock(schema: store.server.schema))
    let error = Mutex<(any Error)?>(nil)
    let isDone = DispatchSemaphore(value: 0)
    let saving = Saving(context)
    Thread.detachNewThread {
      do { try saving.context.save() } catch let found { error.withLock { $0 = found } }
      isDone.signal()
    }
    store.awaitWaiter(for: "_cdgen_history")
    // Shorter than the save waits.
    try migration.run("SET LOCAL lock_timeout = 500")
    try migration.run("LOCK TABLE \(store.table("_cdgen_metadata")) IN ACCESS EXCLUSIVE MODE")
    try migration.run("ROLLBACK")
    isDone.wait()
    #expect(error.withLock { $0 } == nil)
    #expect(try Set(store.context().titles()) == ["first", "second"])
  }

  /// Unchecked: one other thread uses the context, while this one waits for it.
  private final class Saving: @unchecked Sendable {
    let context: ManagedObjectContext
    init(_ context: ManagedObjectContext) { self.context = context }
  }

  @Test func noForbiddenStatementIsSent() throws {
    let context = try context()
    let shelves = try (0..<3).map { try shelf("\($0)", context) }
    for number in 0..<800 { try context.addBook("\(number)").setValue(shelves[number % 3], forKey: "shelf") }
    try context.save()
    for (number, book) in try context.objects(forEntityNamed: "Book").enumerated() where number % 2 == 0 {
      if number % 4 == 0 { context.delete(book) } else { try book.setValue("new", forKey: "title") }
    }
    context.delete(shelves[0])
    try context.save()
    try context.perform { _ = try context.titles("shelf.name == '1'") }
    try context.execute(
      BatchDeleteRequest(
        FetchRequest<ManagedObject>(entityName: "Shelf", where: FetchPredicate(format: "name == '1'"))))
    Self.check(proxy.takeRoundTrips())
    let keys = try store.sql(
      "SELECT count(*) FROM pg_constraint AS k JOIN pg_namespace AS n ON n.oid = k.connamespace "
        + "WHERE n.nspname = ? AND k.contype = 'f'", [.value(.string(store.server.schema))])
    #expect(keys.int(0, 0) == 0)
    #expect(try store.context { $0.features = .common }.titles("shelf == nil").count > 200)
    #expect(try store.coordinator { $0.features = .common }.verify() == [])
    // A program that may use all features checks the references of this store itself too.
    #expect(try store.coordinator { $0.features = .postgresql }.verify() == [])
  }

  /// What foreign keys refuse at the end of a transaction is refused without them, with the same error.
  @Test(arguments: [PostgresServer.Features.common, .postgresql])
  func aReferenceToADeletedRowIsRefused(features: PostgresServer.Features) throws {
    let store = try ServerStore { $0.features = features }
    let first = try store.context()
    let shelf = try shelf("a", first)
    try first.save()
    // A new row, and a row that is changed. Validation does not read the shelf, whose row is gone.
    let second = try store.context()
    let book = try second.addBook("b")
    try second.addBook("e")
    try second.save()
    let other = try second.existingObject(with: shelf.objectID)
    try second.addBook("f").setValue(other, forKey: "shelf")
    try book.setValue(other, forKey: "shelf")
    try store.sql("DELETE FROM \(store.table("Shelf"))")
    let error = #expect(throws: SaveError.self) { try second.save() }
    guard case .danglingReferences(let objects)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(objects.map(\.entityName) == ["Book", "Book"])
    second.rollback()
    // The other way round: a row is deleted, and its context does not know that another one refers to it by now.
    let third = try store.context()
    let again = try self.shelf("c", third)
    try third.save()
    let fourth = try store.context()
    let known = try fourth.existingObject(with: again.objectID)
    fourth.delete(known)
    try third.addBook("d").setValue(again, forKey: "shelf")
    try third.save()
    let conflict = #expect(throws: SaveError.self) { try fourth.save() }
    guard case .conflict(let conflicts)? = conflict else {
      Issue.record("\(String(describing: conflict))")
      return
    }
    #expect(conflicts.map(\.objectID) == [again.objectID])
    #expect(try store.count("Book") == 3 && store.count("Shelf") == 1)
  }

  /// Many delete shelves and put books on them at the same time: no book is ever on a shelf that is not there.
  @Test(arguments: [PostgresServer.Features.common, .postgresql])
  func noReferenceIsLeftBehind(features: PostgresServer.Features) throws {
    let store = try ServerStore { $0.features = features }
    let context = try store.context()
    for number in 0..<12 { _ = try shelf("\(number)", context) }
    try context.save()
    let saved = Mutex((0, 0))
    inThreads(6) { writer in
      do {
        let context = try store.context()
        var random = SystemRandomNumberGenerator()
        for number in 0..<25 {
          let shelves = try context.objects(forEntityNamed: "Shelf", format: "TRUEPREDICATE")
          guard let shelf = shelves.randomElement(using: &random) else { continue }
          usleep(UInt32.random(in: 0...3000))
          if writer % 3 == 0 {
            context.delete(shelf)
            _ = try self.shelf("\(writer) \(number)", context)
          } else {
            try context.addBook("\(writer) \(number)").setValue(shelf, forKey: "shelf")
          }
          do {
            try context.save()
            saved.withLock { $0.0 += 1 }
          } catch is SaveError {
            context.rollback()
            saved.withLock { $0.1 += 1 }
          }
        }
      } catch { Issue.record(error) }
    }
    #expect(saved.withLock { $0.0 } > 20, "\(saved.withLock { $0 })")
    let dangling = try store.sql(
      "SELECT count(*) FROM \(store.table("Book")) AS b WHERE shelf IS NOT NULL "
        + "AND NOT EXISTS (SELECT 1 FROM \(store.table("Shelf")) AS s WHERE s._pk = b.shelf)")
    #expect(dangling.int(0, 0) == 0)
    #expect(try store.coordinator().verify() == [])
  }

  /// Unique values and references that are exchanged, and replaced by new rows, in one save.
  @Test func valuesAndReferencesAreExchanged() throws {
    let context = try context()
    let shelves = try ["a", "b"].map { try shelf($0, context) }
    let books = try shelves.map { shelf in
      let book = try context.addBook("book")
      try book.setValue(shelf, forKey: "shelf")
      return book
    }
    try context.save()
    try shelves[0].setValue("b", forKey: "name")
    try shelves[1].setValue("a", forKey: "name")
    try context.save()
    let new = try shelf("a", context)
    try books[1].setValue(new, forKey: "shelf")
    context.delete(shelves[1])
    try context.save()
    let fresh = try self.context()
    #expect(try fresh.titles("shelf.name == 'a'").count == 1)
    #expect(try fresh.titles("shelf == nil").isEmpty)
    Self.check(proxy.takeRoundTrips())
  }

  @Test func manyCreateAStoreAtOnce() throws {
    #expect(storeIDs(ofOpenings: 8) { try store.coordinator() }.count == 1)
    try store.context().addBook("a")
    #expect(try store.coordinator().verify() == [])
  }

  /// Another program completes the creation of the store between two statements of its opening.
  @Test func aCreationThatEndsMeanwhileIsSeen() throws {
    let id = Mutex<[UUID]>(try store.coordinator().storeIDs)
    // As after an interrupted creation: only one table, and no metadata.
    try store.sql(
      """
      DO $$ DECLARE t text; BEGIN
      FOR t IN SELECT tablename FROM pg_tables WHERE schemaname = '\(store.server.schema)'
        AND tablename <> '_cdgen_metadata' LOOP
        EXECUTE format('DROP TABLE %I.%I CASCADE', '\(store.server.schema)', t);
      END LOOP;
      DELETE FROM \(store.table("_cdgen_metadata"));
      END $$
      """)
    let isCompleted = Mutex(false)
    proxy.decide { [store] statements in
      guard statements.contains(where: { $0.hasPrefix(#"SELECT "key", "value""#) }),
        isCompleted.withLock({ !$0 })
      else { return .forward }
      isCompleted.withLock { $0 = true }
      do {
        let ids = try store.coordinator().storeIDs
        id.withLock { $0 = ids }
      } catch { Issue.record(error) }
      return .forward
    }
    #expect(try store.coordinator(through: proxy).storeIDs == id.withLock { $0 })
    #expect(isCompleted.withLock { $0 })
  }

  /// A creation that was interrupted after any number of tables goes on.
  @Test func anInterruptedCreationGoesOn() throws {
    for place in 0..<9 {
      let store = try ServerStore { $0.features = .common }
      let proxy = try TestProxy(to: store.server)
      let passed = Mutex(0)
      proxy.decide { statements in
        guard statements.contains(where: { $0.hasPrefix("CREATE") || $0.hasPrefix("INSERT") }) else {
          return .forward
        }
        let number = passed.withLock { passed in
          defer { passed += 1 }
          return passed
        }
        return number >= place ? .cutBefore : .forward
      }
      #expect(throws: StoreError.self) { try store.coordinator(through: proxy) }
      let context = try store.context()
      try context.addBook("a")
      try context.save()
      #expect(try store.coordinator().verify() == [])
    }
  }

  /// Its tables have the same names, but other columns.
  @Test func anInterruptedCreationOfAnotherVersionDoesNotGoOn() throws {
    let model = MovedShelves.model()
    let layout = SQLSchema(try ModelPlan(ofAllEntitiesIn: model), store: 0, PostgresDialect())
    try store.sql("CREATE SCHEMA \(SQLText.quoted(store.server.schema))")
    for text in PostgresTables.repeatableCreation(of: layout, schema: store.server.schema).tables {
      try store.sql(text)
    }
    let error = #expect(throws: StoreError.self) { try store.coordinator() }
    guard case .cannotCreate(_, let reason)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(reason.contains("interrupted") && reason.contains("'\(store.server.schema)'"))
    #expect(try store.count("_cdgen_metadata") == 0)
    // The version itself completes its creation.
    #expect(try PersistentStoreCoordinator(model: model, at: .server(store.server)).verify() == [])
  }

  @Test func aSchemaOfAnotherProgramIsLeftAlone() throws {
    try store.sql("CREATE SCHEMA \(SQLText.quoted(store.server.schema))")
    try store.sql("CREATE TABLE \(store.table("theirs")) (x integer)")
    #expect(throws: StoreError.self) { try store.coordinator() }
    #expect(
      try store.sql(
        "SELECT count(*) FROM pg_tables WHERE schemaname = ?", [.value(.string(store.server.schema))]
      ).int(0, 0) == 1)
  }

  @Test func aCopyNeedsNoMoreFeatures() throws {
    let context = try store.context()
    let shelf = try shelf("a", context)
    for number in 0..<20 { try context.addBook("\(number)").setValue(shelf, forKey: "shelf") }
    try context.save()
    let file = FileManager.default.temporaryDirectory.appending(path: "cdgen-\(UUID().uuidString).sqlite")
    defer { try? FileManager.default.removeItem(at: file) }
    try PersistentStoreCoordinator.copyPersistentStore(at: .server(store.server), to: .sqlite(file))
    let other = try ServerStore { $0.features = .common }
    let proxy = try TestProxy(to: other.server)
    var server = other.server
    server.hosts = [PostgresServer.Host("127.0.0.1", port: proxy.port)]
    try PersistentStoreCoordinator.copyPersistentStore(at: .sqlite(file), to: .server(server))
    Self.check(proxy.takeRoundTrips())
    #expect(try other.context().titles("shelf.name == 'a'").count == 20)
    #expect(try other.coordinator().verify() == [])
    try PersistentStoreCoordinator.destroyPersistentStore(at: .server(server))
    #expect(
      try other.sql(
        "SELECT count(*) FROM pg_tables WHERE schemaname = ?", [.value(.string(other.server.schema))]
      ).int(0, 0) == 0)
  }
}
