import CDModel
import Foundation
import Synchronization
import Testing

@testable import CDPostgresStore
@testable import CDRuntime

/// A model with all that tables can have: a hierarchy with checks and partial indexes, foreign keys with and without an
/// order, pairs, and values of each type.
enum Works {
  static let version = ModelVersion(
    number: 1,
    entities: [
      EntityDescription(
        name: "Person",
        attributes: [
          AttributeDescription(name: "name", type: .string),
          AttributeDescription(name: "rank", type: .int16, isOptional: true),
        ], uniquenessConstraints: [["name"]]),
      EntityDescription(
        name: "Author", parent: "Person",
        attributes: [
          AttributeDescription(name: "pen", type: .string),
          AttributeDescription(name: "prize", type: .string),
        ],
        relationships: [
          RelationshipDescription(
            name: "works", destination: "Book", isToMany: true, inverse: "author", isOrdered: true)
        ], indexes: [IndexDescription(elements: [SortKey("prize")])], uniquenessConstraints: [["pen"]]),
      EntityDescription(
        name: "Book",
        attributes: [
          AttributeDescription(name: "title", type: .string),
          AttributeDescription(name: "pages", type: .int64, isOptional: true),
          AttributeDescription(name: "cover", type: .data, isOptional: true, storesExternally: true),
        ],
        relationships: [
          RelationshipDescription(name: "author", destination: "Author", inverse: "works"),
          RelationshipDescription(
            name: "tags", destination: "Tag", isToMany: true, inverse: "books", isOrdered: true),
          RelationshipDescription(name: "jacket", destination: "Jacket", inverse: "book"),
          RelationshipDescription(name: "sequel", destination: "Book"),
        ],
        indexes: [
          IndexDescription(elements: [SortKey("title"), SortKey("pages", ascending: false)])
        ]),
      EntityDescription(
        name: "Tag", attributes: [AttributeDescription(name: "name", type: .string)],
        relationships: [
          RelationshipDescription(name: "books", destination: "Book", isToMany: true, inverse: "tags")
        ]),
      EntityDescription(
        name: "Jacket", attributes: [AttributeDescription(name: "colour", type: .string)],
        relationships: [
          RelationshipDescription(name: "book", destination: "Book", isOptional: false, inverse: "jacket")
        ]),
    ])

  private static let id = UUID(uuidString: "5E6B5B56-51F0-4B9E-8A35-6C5F8E1A9D02") ?? UUID()

  /// The model with further versions, each of which changes the one before.
  static func line(
    _ changes: [@Sendable (inout ModelVersion) -> Void], rules: [MappingRules] = []
  ) -> ManagedObjectModel {
    var versions = [version]
    for (index, change) in changes.enumerated() {
      var next = versions[index]
      next.number = index + 2
      next.basedOn = [index + 1]
      for entity in next.entities.indices {
        next.entities[entity].renamedFrom = nil
        for attribute in next.entities[entity].attributes.indices {
          next.entities[entity].attributes[attribute].renamedFrom = nil
        }
        for relationship in next.entities[entity].relationships.indices {
          next.entities[entity].relationships[relationship].renamedFrom = nil
        }
      }
      change(&next)
      versions.append(next)
    }
    return ManagedObjectModel(
      name: "Works", id: id, versions: versions, currentVersionNumber: versions.count, mappings: rules)
  }

  static let model = line([])

  /// Objects of all entities of the first version.
  static func fill(_ location: StoreLocation) throws {
    let context = PersistentContainer(try PersistentStoreCoordinator(model: model, at: location)).newContext()
    let authors = try (0..<3).map { number in
      let author = try context.insert(entityNamed: "Author")
      for name in ["name", "pen", "prize"] { try author.setValue("\(name) \(number)", forKey: name) }
      try author.setValue(.attribute(.int(Int64(number * 10_000))), forKey: "rank")
      return author
    }
    let person = try context.insert(entityNamed: "Person")
    try person.setValue("nobody", forKey: "name")
    let tags = try (0..<3).map { number in
      let tag = try context.insert(entityNamed: "Tag")
      try tag.setValue("tag \(number)", forKey: "name")
      return tag
    }
    var last: ManagedObject?
    for number in 0..<20 {
      let book = try context.insert(entityNamed: "Book")
      try book.setValue("title \(number)", forKey: "title")
      if number % 3 > 0 { try book.setValue(.attribute(.int(Int64(number))), forKey: "pages") }
      if number == 5 {
        try book.setValue(.attribute(.data(Data(repeating: 7, count: 100_000))), forKey: "cover")
      }
      try book.setValue(.object(authors[number % 3]), forKey: "author")
      try book.setValue(.objects([tags[number % 3], tags[(number + 2) % 3]]), forKey: "tags")
      if let last { try book.setValue(.object(last), forKey: "sequel") }
      if number % 4 == 0 {
        let jacket = try context.insert(entityNamed: "Jacket")
        try jacket.setValue("red", forKey: "colour")
        try jacket.setValue(.object(book), forKey: "book")
      }
      last = book
    }
    try context.save()
    if let last { context.delete(last) }
    try context.save()
  }
}

/// A change of the model that the server makes without moving rows.
struct TableChange: CustomTestStringConvertible, Sendable {
  let testDescription: String
  var rules: [EntityRule] = []
  var drops: [String] = []
  let change: @Sendable (inout ModelVersion) -> Void

  init(
    _ name: String, rules: [EntityRule] = [], drops: [String] = [],
    _ change: @escaping @Sendable (inout ModelVersion) -> Void
  ) {
    testDescription = name
    self.rules = rules
    self.drops = drops
    self.change = change
  }

  var model: ManagedObjectModel {
    Works.line(
      [change],
      rules: rules.isEmpty && drops.isEmpty
        ? [] : [MappingRules(source: 1, destination: 2, entities: rules, drops: drops)])
  }

  private static func defaulted(_ name: String, _ type: AttributeType, _ value: AttributeValue)
    -> AttributeDescription
  {
    AttributeDescription(name: name, type: type, defaultValue: .value(value))
  }

  private static let fixed = UUID(uuidString: "0F9E7C1B-7A0C-4C61-9E3B-2E7B8E0C5D11") ?? UUID()

  static let all: [TableChange] = [
    TableChange("an added optional attribute") {
      $0.entities[2].attributes.append(
        AttributeDescription(name: "note", type: .string, isOptional: true))
    },
    TableChange("added attributes with defaults of all types") {
      $0.entities[2].attributes += [
        defaulted("flag", .bool, .bool(true)), defaulted("off", .bool, .bool(false)),
        defaulted("small", .int16, .int(-5)), defaulted("least", .int64, .int(.min)),
        defaulted("single", .float, .double(Double(Float(0.1)))),
        defaulted("double", .double, .double(0.1 + 0.2)),
        defaulted("tiny", .double, .double(-.leastNonzeroMagnitude)),
        defaulted("infinite", .double, .double(-.infinity)),
        defaulted("amount", .decimal, .decimal(Decimal(string: "-12345678901234567890.0125") ?? 0)),
        defaulted("text", .string, .string("a'b\"c\\d ? $1 \\' é 👩‍👩‍👧‍👦\n;--")),
        defaulted("empty", .string, .string("")),
        defaulted("moment", .date, .date(Date(timeIntervalSinceReferenceDate: (0.1 + 0.2).nextUp))),
        defaulted("bytes", .data, .data(Data(0...255))), defaulted("none", .data, .data(Data())),
        defaulted("uid", .uuid, .uuid(fixed)),
        defaulted("link", .url, .url(URL(string: "http://x/?q=%F0%9F%91%A9#a") ?? URL(filePath: "/"))),
      ]
    },
    TableChange("a mandatory attribute of a subentity") {
      $0.entities[1].attributes.append(defaulted("grade", .int16, .int(3)))
    },
    TableChange("an added subentity") {
      $0.entities.append(
        EntityDescription(
          name: "Poet", parent: "Author", attributes: [AttributeDescription(name: "verse", type: .string)],
          indexes: [IndexDescription(elements: [SortKey("verse")])]))
    },
    TableChange("a removed attribute", rules: [EntityRule(destination: "Book", drops: ["pages"])]) {
      $0.entities[2].attributes.remove(at: 1)
      $0.entities[2].indexes = []
    },
    TableChange(
      "a removed attribute of a subentity", rules: [EntityRule(destination: "Author", drops: ["prize"])]
    ) {
      $0.entities[1].attributes.remove(at: 1)
      $0.entities[1].indexes = []
    },
    TableChange(
      "a removed attribute whose name another one gets",
      rules: [EntityRule(destination: "Book", drops: ["pages"])]
    ) {
      $0.entities[2].attributes[1] = AttributeDescription(
        name: "title", type: .string, defaultValue: .value(.string("new")))
      $0.entities[2].indexes = []
      $0.entities[2].attributes[0].name = "name"
      $0.entities[2].attributes[0].renamedFrom = "title"
    },
    TableChange("renamed attributes") {
      $0.entities[1].attributes[0].name = "alias"
      $0.entities[1].attributes[0].renamedFrom = "pen"
      $0.entities[1].uniquenessConstraints = [["alias"]]
      $0.entities[2].attributes[0].name = "heading"
      $0.entities[2].attributes[0].renamedFrom = "title"
      $0.entities[2].indexes = [
        IndexDescription(elements: [SortKey("heading"), SortKey("pages", ascending: false)])
      ]
    },
    TableChange("exchanged names of attributes") {
      $0.entities[1].attributes[0].name = "prize"
      $0.entities[1].attributes[0].renamedFrom = "pen"
      $0.entities[1].attributes[1].name = "pen"
      $0.entities[1].attributes[1].renamedFrom = "prize"
      $0.entities[1].uniquenessConstraints = [["prize"]]
    },
    TableChange("renamed relationships") {
      $0.entities[2].relationships[0].name = "writer"
      $0.entities[2].relationships[0].renamedFrom = "author"
      $0.entities[1].relationships[0].inverse = "writer"
      $0.entities[2].relationships[1].name = "labels"
      $0.entities[2].relationships[1].renamedFrom = "tags"
      $0.entities[3].relationships[0].inverse = "labels"
    },
    TableChange("a renamed entity") { rename(2, "Album", &$0) },
    TableChange("a renamed entity whose name a new one gets") {
      rename(2, "Album", &$0)
      $0.entities.append(
        EntityDescription(
          name: "Book", attributes: [AttributeDescription(name: "isbn", type: .string)],
          uniquenessConstraints: [["isbn"]]))
    },
    TableChange("exchanged names of entities") {
      rename(3, "Label", &$0)
      rename(4, "Tag", &$0)
      rename(3, "Jacket", &$0)
    },
    TableChange(
      "a removed entity", rules: [EntityRule(destination: "Book", drops: ["jacket"])], drops: ["Jacket"]
    ) {
      $0.entities[2].relationships.remove(at: 2)
      $0.entities.remove(at: 4)
    },
    TableChange("an added entity and relationships") {
      $0.entities.append(
        EntityDescription(
          name: "Shelf", attributes: [AttributeDescription(name: "name", type: .string)],
          relationships: [
            RelationshipDescription(
              name: "books", destination: "Book", isToMany: true, inverse: "shelf", isOrdered: true),
            RelationshipDescription(name: "tags", destination: "Tag", isToMany: true, inverse: "shelves"),
          ], uniquenessConstraints: [["name"]]))
      $0.entities[2].relationships.append(
        RelationshipDescription(name: "shelf", destination: "Shelf", inverse: "books"))
      $0.entities[3].relationships.append(
        RelationshipDescription(name: "shelves", destination: "Shelf", isToMany: true, inverse: "tags"))
    },
    TableChange("optional instead of mandatory") {
      $0.entities[0].attributes[0].isOptional = true
      $0.entities[1].attributes[0].isOptional = true
      $0.entities[2].attributes[0].isOptional = true
    },
    TableChange("wider numbers") {
      $0.entities[0].attributes[1].type = .int64
      $0.entities[2].attributes.append(AttributeDescription(name: "note", type: .url, isOptional: true))
    },
    TableChange("other indexes, and an attribute") {
      $0.entities[1].uniquenessConstraints = []
      $0.entities[1].indexes = [IndexDescription(elements: [SortKey("prize", ascending: false)])]
      $0.entities[2].indexes = [IndexDescription(elements: [SortKey("pages"), SortKey("title")])]
      $0.entities[2].attributes.append(AttributeDescription(name: "note", type: .string, isOptional: true))
    },
    TableChange("other hashes") { $0.entities[2].hashModifier = "2" },
    TableChange("inline values that get large") {
      $0.entities[3].attributes.append(
        AttributeDescription(name: "image", type: .data, isOptional: true, storesExternally: true))
    },
  ]

  /// Renames an entity and what refers to it.
  private static func rename(_ index: Int, _ name: String, _ version: inout ModelVersion) {
    let old = version.entities[index].name
    version.entities[index].name = name
    version.entities[index].renamedFrom = version.entities[index].renamedFrom ?? old
    for entity in version.entities.indices {
      for relationship in version.entities[entity].relationships.indices
      where version.entities[entity].relationships[relationship].destination == old {
        version.entities[entity].relationships[relationship].destination = name
      }
    }
  }
}

/// Migrations that change the tables where they are.
@Suite(.needsServer) struct TableMigrationTests {
  private func folder() throws -> URL {
    let folder = FileManager.default.temporaryDirectory.appending(path: "cdgen-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    return folder
  }

  /// A program that opens the store waits for a change of the tables that takes longer than a statement may take.
  @Test func openingsOutlastTheLimitOfStatements() throws {
    let store = try ServerStore()
    try store.context().addBook("a")
    let proxy = try TestProxy(to: store.server)
    var server = store.server
    server.hosts = [PostgresServer.Host("127.0.0.1", port: proxy.port)]
    server.statementTimeout = 0.8
    let waiting = server
    let model = MovedShelves.Way.inPlace.model
    // Signalled when the other program begins to look at the store, and when it ends.
    let step = DispatchSemaphore(value: 0)
    let hasEnded = DispatchSemaphore(value: 0)
    proxy.decide { statements in
      if statements.first?.hasPrefix("BEGIN ISOLATION LEVEL READ COMMITTED") == true { step.signal() }
      return .forward
    }
    let hook: @Sendable (String) throws -> Void = { point in
      guard point == "COMMIT" else { return }
      Thread.detachNewThread {
        do { _ = try PersistentStoreCoordinator(model: model, at: .server(waiting)) } catch {
          Issue.record(error)
        }
        step.signal()
        hasEnded.signal()
      }
      for _ in 0..<2 { step.wait() }
    }
    let coordinator = try MigrationFaults.$hook.withValue(hook) {
      try PersistentStoreCoordinator(model: model, at: .server(store.server))
    }
    hasEnded.wait()
    #expect(coordinator.migrations.count == 1)
  }

  /// Whoever finds the metadata locked does not take the lease: a migration changes the tables.
  @Test func nobodyTakesTheLeaseDuringTheChangeOfTables() throws {
    let store = try ServerStore()
    _ = try store.coordinator()
    let migration = try PostgresConnection.open(store.server, toWrite: true)
    defer { migration.close() }
    try migration.run("BEGIN")
    try migration.run(TableReplacement.lock("_cdgen_metadata", schema: store.server.schema))
    var server = store.server
    server.statementTimeout = 1
    let isTaken = try MigrationLease(server, process: nil).take()
    #expect(!isTaken)
  }

  private static func connectionWithLock(_ server: PostgresServer) throws -> PostgresConnection {
    let connection = try PostgresConnection.open(server, toWrite: true)
    try connection.run("BEGIN")
    try connection.run(TableReplacement.lock("_cdgen_metadata", schema: server.schema))
    return connection
  }

  /// Another migration changes the tables just when an opening has found out that they are of an older version.
  @Test func aLockAfterTheFirstLookIsWaitedFor() throws {
    let store = try ServerStore()
    _ = try store.coordinator()
    let proxy = try TestProxy(to: store.server)
    let direct = store.server
    var server = store.server
    server.hosts = [PostgresServer.Host("127.0.0.1", port: proxy.port)]
    server.statementTimeout = 1.5
    let step = Mutex(0)
    let lock = Mutex<PostgresConnection?>(nil)
    defer { lock.withLock { $0 = nil } }
    proxy.decide { statements in
      let isLook = statements.contains { $0.hasPrefix(#"SELECT "key", "value""#) }
      let isOpening = statements.first?.hasPrefix("BEGIN ISOLATION LEVEL READ COMMITTED") == true
      switch step.withLock({ $0 }) {
      case 0 where statements.contains("ROLLBACK"): step.withLock { $0 = 1 }
      case 1 where isLook:
        step.withLock { $0 = 2 }
        do { try lock.withLock { $0 = try Self.connectionWithLock(direct) } } catch { Issue.record(error) }
      case 2 where isOpening:
        // The opening has begun again.
        step.withLock { $0 = 3 }
        lock.withLock { $0 = nil }
      default: break
      }
      return .forward
    }
    let coordinator = try PersistentStoreCoordinator(
      model: MovedShelves.Way.inPlace.model, at: .server(server))
    #expect(coordinator.migrations.count == 1)
    #expect(step.withLock { $0 } == 3)
  }

  /// Whoever reads a store without opening it waits for the migration, and then reads the new version.
  @Test func readersOfTheWholeStoreWaitForTheMigration() throws {
    let store = try ServerStore()
    let old = try store.context()
    try old.addBook("a")
    try old.save()
    let folder = try folder()
    defer { try? FileManager.default.removeItem(at: folder) }
    let server = store.server
    let file = StoreLocation.sqlite(folder.appending(path: "copy.cdstore"))
    let number = Mutex<Int?>(nil)
    let readers = DispatchGroup()
    let hook: @Sendable (String) throws -> Void = { point in
      guard point == "COMMIT" else { return }
      readers.enter()
      Thread.detachNewThread {
        do {
          let metadata = try PersistentStoreCoordinator.metadata(forStoreAt: .server(server))
          let found = metadata.modelVersion.number
          number.withLock { $0 = found }
        } catch { Issue.record(error) }
        readers.leave()
      }
      readers.enter()
      Thread.detachNewThread {
        do { try PersistentStoreCoordinator.copyPersistentStore(at: .server(server), to: file) } catch {
          Issue.record(error)
        }
        readers.leave()
      }
      store.awaitWaiter(for: "_cdgen_metadata", count: 2)
    }
    let model = MovedShelves.Way.inPlace.model
    let coordinator = try MigrationFaults.$hook.withValue(hook) {
      try PersistentStoreCoordinator(model: model, at: .server(server))
    }
    readers.wait()
    #expect(coordinator.migrations.count == 1)
    #expect(number.withLock { $0 } == 2)
    let copy = PersistentContainer(try PersistentStoreCoordinator(model: model, at: file)).newContext()
    #expect(try copy.titles() == ["a"])
  }

  /// The tables are those of a new store, and they hold what a file holds after the same migration.
  @Test(arguments: TableChange.all)
  func theResultIsThatOfANewStore(change: TableChange) throws {
    let store = try ServerStore()
    try Works.fill(.server(store.server))
    let folder = try folder()
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = StoreLocation.sqlite(folder.appending(path: "copy.cdstore"))
    try PersistentStoreCoordinator.copyPersistentStore(at: .server(store.server), to: file)
    let identity = try StoreText.identity(of: "Person", store)

    let coordinator = try PersistentStoreCoordinator(model: change.model, at: .server(store.server))
    #expect(coordinator.migrations.map(\.isInPlace) == [true])
    #expect(try StoreText.identity(of: "Person", store) == identity, "the rows were moved")
    let new = try ServerStore()
    _ = try PersistentStoreCoordinator(model: change.model, at: .server(new.server))
    #expect(try StoreText.catalog(store) == StoreText.catalog(new))
    #expect(try coordinator.verify().isEmpty)

    try withExtendedLifetime(PersistentStoreCoordinator(model: change.model, at: file)) {}
    func comparable(_ lines: [String]) -> [String] { lines.filter { !$0.hasPrefix("pendingBackup ") } }
    #expect(
      try comparable(StoreText.contents(.server(store.server))) == comparable(StoreText.contents(file)))
    // New objects get keys that no object has had.
    let context = PersistentContainer(coordinator).newContext()
    let person = try context.insert(entityNamed: "Person")
    try person.setValue("new", forKey: "name")
    try context.save()
    #expect(try coordinator.verify().isEmpty)
    #expect(try PersistentStoreCoordinator(model: change.model, at: .server(store.server)).migrations.isEmpty)
  }

  /// All changes one after the other, and what `cdstore plan` shows of them.
  @Test func aChainIsOneTransaction() throws {
    let store = try ServerStore()
    try Works.fill(.server(store.server))
    let model = Works.line(
      [
        TableChange.all[0].change, TableChange.all[2].change, TableChange.all[7].change,
        TableChange.all[11].change,
        {
          $0.entities[1].attributes[0].isOptional = true
          $0.entities[2].attributes.removeLast()
        },
      ],
      rules: [
        MappingRules(
          source: 5, destination: 6, entities: [EntityRule(destination: "Album", drops: ["note"])])
      ])
    let proxy = try TestProxy(to: store.server)
    var server = store.server
    server.hosts = [PostgresServer.Host("127.0.0.1", port: proxy.port)]
    let report = try MigrationRehearsal(PersistentStoreDescription(.server(server)), model: model).run()
    #expect(report.succeeds)
    _ = proxy.takeRoundTrips()
    let coordinator = try PersistentStoreCoordinator(model: model, at: .server(server))
    #expect(coordinator.migrations.map(\.destination) == [6])
    let new = try ServerStore()
    _ = try PersistentStoreCoordinator(model: model, at: .server(new.server))
    #expect(try StoreText.catalog(store) == StoreText.catalog(new))
    #expect(try coordinator.verify().isEmpty)

    // The server executes the statements that the plan and the rehearsal show.
    let starts = ["LOCK ", "ALTER ", "CREATE ", "DROP ", "TRUNCATE ", "DELETE ", "SET LOCAL search_path"]
    func shown(_ list: [String]) -> [String] {
      list.filter { text in starts.contains { text.hasPrefix($0) } }.map {
        $0.split(separator: SQLText.quoted(store.server.schema), omittingEmptySubsequences: false).joined(
          separator: "\"store\"")
      }
    }
    let trips = proxy.takeRoundTrips()
    let executed = shown(
      trips.flatMap(\.self).filter {
        !$0.contains("migrationLease") && !$0.hasPrefix("DROP VIEW ") && !$0.hasPrefix("CREATE VIEW ")
          && !$0.hasPrefix("LOCK TABLE \"\(store.server.schema)\".\"_cdgen_history\" IN ROW")
      })
    let planned = try PostgresServer.migrationStatements(from: Works.model, to: model)
    #expect(executed == planned)
    #expect(
      report.steps.flatMap(\.statements).map(\.sql)
        == planned.filter { text in ["ALTER ", "CREATE ", "DROP "].contains { text.hasPrefix($0) } })
    // One transaction has all of them.
    let all = trips.flatMap(\.self)
    let first = try #require(all.firstIndex { $0.hasPrefix("ALTER ") })
    let last = try #require(all.lastIndex { $0.hasPrefix("TRUNCATE ") })
    #expect(
      !all[first...last].contains { $0.hasPrefix("COMMIT") || $0.hasPrefix("BEGIN") && $0.contains("WRITE") })
  }

  /// A step in the middle of a chain that the rows refuse.
  @Test func aRefusedStepLeavesTheOldStore() throws {
    let store = try ServerStore()
    try Works.fill(.server(store.server))
    // An author lacks a value that is mandatory, which the server finds out in the second step.
    try store.sql("ALTER TABLE \(store.table("Person")) DROP CONSTRAINT \"Person_check\"")
    try store.sql("UPDATE \(store.table("Person")) SET pen = NULL WHERE name = 'name 1'")
    let before = try StoreText.catalog(store)
    let contents = try StoreText.contents(.server(store.server))
    let model = Works.line([
      TableChange.all[0].change, TableChange.all[7].change, TableChange.all[10].change,
    ])
    let error = #expect(throws: StoreError.self) {
      try PersistentStoreCoordinator(model: model, at: .server(store.server))
    }
    // Writing new tables finds the row.
    #expect("\(try #require(error))".contains("'Author' p2"))
    #expect(try StoreText.catalog(store) == before)
    #expect(try StoreText.contents(.server(store.server)) == contents)
    try store.sql("UPDATE \(store.table("Person")) SET pen = 'found' WHERE pen IS NULL")
    let coordinator = try PersistentStoreCoordinator(model: model, at: .server(store.server))
    #expect(coordinator.migrations.map(\.destination) == [4])
    #expect(try coordinator.verify().isEmpty)
  }

  /// Somebody else reads one of the tables for a long time.
  @Test func theErrorNamesTheTable() throws {
    let store = try ServerStore()
    try Works.fill(.server(store.server))
    let reader = try PostgresConnection.open(store.server, toWrite: false)
    _ = try reader.run("BEGIN")
    _ = try reader.run("SELECT count(*) FROM \(store.table("Tag"))")
    let description = PersistentStoreDescription(.server(store.server), busyTimeout: 1.5)
    let start = ContinuousClock.now
    let error = #expect(throws: MigrationError.self) {
      try PersistentStoreCoordinator(model: TableChange.all[0].model, stores: [description])
    }
    #expect(error?.reason == .inUse && error?.table == "Tag")
    #expect(ContinuousClock.now - start > .seconds(1))
    // The old version goes on in the meantime.
    let old = PersistentContainer(
      try PersistentStoreCoordinator(model: Works.model, at: .server(store.server)))
    let context = old.newContext()
    let tag = try context.insert(entityNamed: "Tag")
    try tag.setValue("late", forKey: "name")
    try context.save()
    _ = try reader.run("COMMIT")
    let coordinator = try PersistentStoreCoordinator(
      model: TableChange.all[0].model, stores: [description])
    #expect(try coordinator.verify().isEmpty)
  }

  /// Tables that somebody has changed are written anew, so that they are those of the model.
  @Test func otherTablesAreWrittenAnew() throws {
    let store = try ServerStore()
    try Works.fill(.server(store.server))
    try store.sql("ALTER TABLE \(store.table("Tag")) ADD COLUMN mine bigint")
    let identity = try StoreText.identity(of: "Person", store)
    let model = TableChange.all[0].model
    let coordinator = try PersistentStoreCoordinator(model: model, at: .server(store.server))
    #expect(try StoreText.identity(of: "Person", store) != identity)
    #expect(try coordinator.verify().isEmpty)
    let new = try ServerStore()
    _ = try PersistentStoreCoordinator(model: model, at: .server(new.server))
    #expect(try StoreText.catalog(store) == StoreText.catalog(new))
  }

  /// A view of another program prevents a migration in the tables only if it shows a removed column.
  @Test func aViewMayShowWhatStays() throws {
    let store = try ServerStore()
    try Works.fill(.server(store.server))
    let view = SQLText.quoted(store.server.schema + "_view")
    try store.sql("CREATE SCHEMA \(view)")
    defer { _ = try? store.sql("DROP SCHEMA \(view) CASCADE") }
    try store.sql("CREATE VIEW \(view).books AS SELECT pages FROM \(store.table("Book"))")
    let removing = Works.line(
      [TableChange.all[0].change, TableChange.all[4].change],
      rules: [MappingRules(source: 2, destination: 3, entities: TableChange.all[4].rules)])
    let before = try StoreText.catalog(store)
    let error = #expect(throws: MigrationError.self) {
      try PersistentStoreCoordinator(model: removing, at: .server(store.server))
    }
    #expect(try StoreText.catalog(store) == before)
    #expect("\(try #require(error))".contains("books") && error?.step?.destination == 3)
    _ = try PersistentStoreCoordinator(model: TableChange.all[0].model, at: .server(store.server))
    #expect(try store.sql("SELECT count(*) FROM \(view).books").int(0, 0) == 19)
  }

  /// Programs are killed while they migrate, which the server notices at any statement.
  @Test func anEndAtAnyStatementLeavesTheOldOrTheNewStore() throws {
    let model = Works.line([TableChange.all[2].change, TableChange.all[11].change])
    var position = 0
    var isOver = false
    while !isOver {
      let store = try ServerStore()
      try Works.fill(.server(store.server))
      let before = try StoreText.catalog(store)
      let proxy = try TestProxy(to: store.server)
      let number = position
      let count = Mutex(0)
      proxy.decide { statements in
        guard
          statements.contains(where: {
            $0.hasPrefix("ALTER ") || $0.hasPrefix("CREATE ") || $0.hasPrefix("TRUNCATE ")
              || $0.hasPrefix("COMMIT")
          })
        else { return count.withLock { $0 } > number ? .cutBefore : .forward }
        return count.withLock { count in
          count += 1
          return count > number ? .cutAfter : .forward
        }
      }
      var server = store.server
      server.hosts = [PostgresServer.Host("127.0.0.1", port: proxy.port)]
      server.connectTimeout = 1
      do {
        _ = try PersistentStoreCoordinator(model: model, at: .server(server))
        isOver = true
      } catch {}
      proxy.cutAll()
      let stopped = try StoreText.catalog(store)
      let coordinator = try PersistentStoreCoordinator(model: model, at: .server(store.server))
      if !isOver, coordinator.migrations.count == 1 { #expect(stopped == before) }
      #expect(try coordinator.verify().isEmpty)
      position += 4
      if position > 40 { isOver = true }
    }
    #expect(position > 8)
  }
}
