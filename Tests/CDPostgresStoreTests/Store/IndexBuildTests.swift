import CDModel
import Foundation
import Testing

@testable import CDPostgresStore
@testable import CDRuntime

/// Indexes of large tables, which are built while programs use the store.
@Suite(.needsServer) struct IndexBuildTests {
  private static let index = "Book.index.pages"

  /// A version with an index more, and perhaps an attribute.
  private static func model(adding attribute: Bool) -> ManagedObjectModel {
    MovedShelves.model {
      $0.entities[1].indexes = [IndexDescription(elements: [SortKey("pages")])]
      if attribute {
        $0.entities[1].attributes.append(
          AttributeDescription(name: "place", type: .string, isOptional: true))
      }
    }
  }

  private static func open(
    _ store: ServerStore, _ model: ManagedObjectModel, isPooled: Bool = false
  ) throws -> PersistentStoreCoordinator {
    var server = store.server
    if isPooled { server.isPooled = true }
    server.largeTableSize = 0
    return try PersistentStoreCoordinator(model: model, at: .server(server))
  }

  private func filled() throws -> ServerStore {
    let store = try ServerStore()
    let context = try store.context()
    for number in 0..<50 { try context.addBook("\(number)", pages: Int64(number)) }
    try context.save()
    return store
  }

  private func isValid(_ store: ServerStore) throws -> Bool? {
    let result = try store.sql(
      "SELECT i.indisvalid FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid "
        + "JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE n.nspname = ? AND c.relname = ?",
      [.value(.string(store.server.schema)), .value(.string(Self.index))])
    return result.rowCount == 0 ? nil : result.bool(0, 0)
  }

  private func isNoted(_ store: ServerStore) throws -> Bool {
    try store.sql(
      "SELECT 1 FROM \(store.table("_cdgen_metadata")) WHERE key = ?",
      [.value(.string(PostgresTables.missingIndexesKey))]
    ).rowCount > 0
  }

  /// Notes that indexes are missing.
  private func note(_ store: ServerStore, _ model: ManagedObjectModel) throws {
    let plan = try ModelPlan(ofAllEntitiesIn: model)
    let hash = StoreMetadata(plan, storeID: UUID(), store: 0).layoutHash
    try store.sql(
      "INSERT INTO \(store.table("_cdgen_metadata")) (key, value) VALUES (?, ?)",
      [.value(.string(PostgresTables.missingIndexesKey)), .value(.string(hash))])
  }

  /// Waits until no index is missing. The server builds one only after each older transaction of the database, those of
  /// other tests among them.
  private func waitForIndex(_ store: ServerStore) throws {
    let end = ContinuousClock.now + .seconds(300)
    while try isNoted(store), ContinuousClock.now < end { usleep(20_000) }
    #expect(try !isNoted(store))
    #expect(try isValid(store) == true)
  }

  private func waitUntilTheBuildBegins(_ store: ServerStore) throws {
    let end = ContinuousClock.now + .seconds(300)
    while try isValid(store) == nil, ContinuousClock.now < end { usleep(20_000) }
    #expect(try isValid(store) == false)
  }

  /// Ends the connections that build an index of the store.
  private func endBuilds(_ store: ServerStore) throws {
    try store.sql(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'CREATE INDEX CONCURRENTLY%' AND query LIKE ?",
      [.value(.string("%\(store.server.schema)%"))])
  }

  @Test(arguments: [false, true]) func theStoreIsUsableMeanwhile(isMigration: Bool) throws {
    let store = try filled()
    // The build waits for transactions that may still read the rows without the index.
    let reader = try PostgresConnection.open(store.server, toWrite: true)
    let other = try ServerStore()
    _ = try other.coordinator()
    _ = try reader.run("BEGIN ISOLATION LEVEL REPEATABLE READ")
    _ = try reader.run("SELECT count(*) FROM \(other.table("Book"))")

    let model = Self.model(adding: isMigration)
    let coordinator = try Self.open(store, model)
    #expect(coordinator.migrations.count == (isMigration ? 1 : 0))
    try waitUntilTheBuildBegins(store)
    #expect(try coordinator.verify().isEmpty)
    let context = PersistentContainer(coordinator).newContext()
    try context.addBook("new", pages: 7)
    try context.save()
    #expect(try context.titles("pages == 7").count == 2)
    // Nobody else begins the same build, nor waits for it.
    let second = PersistentContainer(try Self.open(store, model)).newContext()
    #expect(try second.titles().count == 51)
    #expect(try isValid(store) == false)

    _ = try reader.run("COMMIT")
    try waitForIndex(store)
    #expect(try coordinator.verify().isEmpty)
    #expect(try context.titles("pages == 7").count == 2)
  }

  /// The index of a smaller table is created while the store is opened, however long that takes.
  @Test func theCreationOfAnIndexHasNoTimeLimit() throws {
    let store = try filled()
    let proxy = try TestProxy(to: store.server)
    var server = store.server
    server.hosts = [PostgresServer.Host("127.0.0.1", port: proxy.port)]
    _ = try PersistentStoreCoordinator(model: Self.model(adding: false), at: .server(server))
    let statements = Array(proxy.takeRoundTrips().joined())
    let limit = try #require(statements.firstIndex(of: "SET LOCAL statement_timeout = 0"))
    let creation = try #require(statements.firstIndex { $0.hasPrefix("CREATE INDEX") })
    #expect(limit < creation && !statements[limit..<creation].contains("COMMIT"))
    #expect(try isValid(store) == true)
  }

  /// Whoever writes to the table waits behind the index, and so the index must not wait for long.
  @Test func anIndexDoesNotWaitForLongForAWriter() throws {
    let store = try filled()
    let writer = try PostgresConnection.open(store.server, toWrite: true)
    _ = try writer.run("BEGIN")
    _ = try writer.run(#"UPDATE \#(store.table("Book")) SET "pages" = 1"#)
    let model = Self.model(adding: false)
    let description = PersistentStoreDescription(.server(store.server), busyTimeout: 0.2)
    #expect(throws: StoreError.busy([store.server.url])) {
      try PersistentStoreCoordinator(model: model, stores: [description])
    }
    #expect(try isValid(store) == nil)
    _ = try writer.run("ROLLBACK")
    _ = try PersistentStoreCoordinator(model: model, stores: [description])
    #expect(try isValid(store) == true)
  }

  @Test(arguments: [false, true]) func anInterruptedBuildIsMadeAgain(isPooled: Bool) throws {
    let store = try filled()
    let model = Self.model(adding: true)
    _ = try Self.open(store, model)
    try waitForIndex(store)
    // What a program leaves that is killed.
    let reader = try PostgresConnection.open(store.server, toWrite: true)
    _ = try reader.run("BEGIN ISOLATION LEVEL REPEATABLE READ")
    _ = try reader.run("SELECT count(*) FROM \(store.table("Tag"))")
    try store.sql("DROP INDEX \(store.table(Self.index))")
    let server = store.server
    let text = "CREATE INDEX CONCURRENTLY \(SQLText.quoted(Self.index)) ON \(store.table("Book")) (pages)"
    let builder = Thread {
      guard let build = try? PostgresConnection.open(server, toWrite: true) else { return }
      _ = try? build.run([PostgresStatement(text, isKept: false)])
    }
    builder.start()
    try waitUntilTheBuildBegins(store)
    try endBuilds(store)
    while !builder.isFinished { usleep(10_000) }
    _ = try reader.run("COMMIT")
    #expect(try isValid(store) == false)
    try note(store, model)

    let coordinators = try (0..<4).map { _ in try Self.open(store, model, isPooled: isPooled) }
    // Through a pooler, the first opening creates the index.
    if isPooled { try #require(try !isNoted(store)) }
    try waitForIndex(store)
    for coordinator in coordinators { #expect(try coordinator.verify().isEmpty) }
    let new = try ServerStore()
    _ = try PersistentStoreCoordinator(model: model, at: .server(new.server))
    #expect(try StoreText.catalog(store) == StoreText.catalog(new))
  }

  /// Through a pooler, an opening creates an index that was left out. But the store can do without.
  @Test func theStoreOpensWithoutAnIndexThatCannotBeCreated() throws {
    let store = try filled()
    let model = Self.model(adding: false)
    _ = try PersistentStoreCoordinator(model: model, at: .server(store.server))
    try store.sql("DROP INDEX \(store.table(Self.index))")
    try note(store, model)
    let role = try store.createWriter()
    defer { store.drop(role) }
    var server = store.server
    server.isPooled = true
    // A user who does not own the table.
    server.user = role
    do {
      let context = PersistentContainer(
        try PersistentStoreCoordinator(model: model, at: .server(server))
      ).newContext()
      #expect(try context.titles("pages == 7") == ["7"])
      try context.addBook("new")
      try context.save()
    }
    #expect(try isNoted(store))
    // The owner, while somebody writes to the table.
    server.user = store.server.user
    let description = PersistentStoreDescription(.server(server), busyTimeout: 0.2)
    let writer = try PostgresConnection.open(store.server, toWrite: true)
    _ = try writer.run("BEGIN")
    _ = try writer.run(#"UPDATE \#(store.table("Book")) SET "pages" = 1"#)
    _ = try PersistentStoreCoordinator(model: model, stores: [description])
    #expect(try isNoted(store))
    #expect(try isValid(store) == nil)
    _ = try writer.run("ROLLBACK")
    _ = try PersistentStoreCoordinator(model: model, stores: [description])
    #expect(try !isNoted(store))
    #expect(try isValid(store) == true)
  }

  /// A migration does not wait for an index that nobody builds, and gives up if somebody does.
  @Test func theNextMigrationGoesOn() throws {
    let store = try filled()
    let reader = try PostgresConnection.open(store.server, toWrite: true)
    _ = try reader.run("BEGIN ISOLATION LEVEL REPEATABLE READ")
    _ = try reader.run("SELECT 1 FROM pg_class")
    _ = try Self.open(store, Self.model(adding: true))
    try waitUntilTheBuildBegins(store)
    var version = try #require(Self.model(adding: true).version(2))
    version.number = 3
    version.basedOn = [2]
    version.entities[1].attributes.append(AttributeDescription(name: "row", type: .string, isOptional: true))
    let next = ManagedObjectModel(
      name: ServerStore.model.name, id: ServerStore.model.id,
      versions: Self.model(adding: true).versions + [version], currentVersionNumber: 3)
    let description = PersistentStoreDescription(.server(store.server), busyTimeout: 3)
    let error = #expect(throws: MigrationError.self) {
      try PersistentStoreCoordinator(model: next, stores: [description])
    }
    #expect(error?.reason == .inUse && error?.table == "Book")
    // The program that builds is killed.
    try endBuilds(store)
    _ = try reader.run("COMMIT")
    let coordinator = try Self.open(store, next)
    #expect(coordinator.migrations.count == 1)
    try waitForIndex(store)
    #expect(try coordinator.verify().isEmpty)
  }
}
