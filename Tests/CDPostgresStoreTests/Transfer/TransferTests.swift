import CDModel
import Foundation
import Synchronization
import Testing

@testable import CDPostgresStore
@testable import CDRuntime

/// Copies of stores from files to a server and back.
@Suite(.needsServer) struct TransferTests {
  private static let types: [(String, AttributeType)] = [
    ("text", .string), ("flag", .bool), ("small", .int16), ("medium", .int32), ("large", .int64),
    ("single", .float), ("double", .double), ("amount", .decimal), ("moment", .date), ("bytes", .data),
    ("uid", .uuid), ("link", .url),
  ]

  private static func version(
    _ extra: [AttributeDescription] = []
  ) -> ModelVersion {
    func many(_ name: String, _ destination: String, _ inverse: String, isOrdered: Bool = true)
      -> RelationshipDescription
    {
      RelationshipDescription(
        name: name, destination: destination, isToMany: true, inverse: inverse, isOrdered: isOrdered)
    }
    func one(_ name: String, _ destination: String, _ inverse: String) -> RelationshipDescription {
      RelationshipDescription(name: name, destination: destination, inverse: inverse)
    }
    let place = CompositeDescription(
      name: "Place",
      fields: [
        AttributeDescription(name: "street", type: .string, isOptional: true),
        AttributeDescription(name: "at", type: .date, isOptional: true),
      ])
    return ModelVersion(
      number: 1, composites: [place],
      entities: [
        EntityDescription(
          name: "Thing",
          attributes: types.map { AttributeDescription(name: $0.0, type: $0.1, isOptional: true) } + [
            AttributeDescription(name: "scan", type: .data, isOptional: true, storesExternally: true),
            AttributeDescription(name: "place", type: .composite("Place"), isOptional: true),
          ] + extra,
          relationships: [
            many("parts", "Part", "thing"), many("tags", "Tag", "things"), one("partner", "Thing", "partner"),
            many("friends", "Thing", "friends", isOrdered: false),
          ]),
        EntityDescription(
          name: "Special", parent: "Thing", attributes: [AttributeDescription(name: "more", type: .int64)]),
        EntityDescription(
          name: "Part", attributes: [AttributeDescription(name: "name", type: .string)],
          relationships: [one("thing", "Thing", "parts")]),
        EntityDescription(
          name: "Tag", attributes: [AttributeDescription(name: "name", type: .string)],
          relationships: [many("things", "Thing", "tags")], uniquenessConstraints: [["name"]]),
      ])
  }

  private static let model = ManagedObjectModel(
    name: "Things", id: UUID(uuidString: "3A6D2E10-5C4B-4A53-9E0F-0D2A8E3C7B11") ?? UUID(),
    versions: [version()],
    currentVersionNumber: 1)

  private static let values: [(String, [AttributeValue])] = [
    (
      "text",
      [
        .string(""), .string("\u{1}\u{FEFF}x\r\n\u{2028}\t\\N\\."), .string("e\u{301}"), .string("👩‍👩‍👧‍👦🏳️‍🌈"),
        .string(String(repeating: "ßİ", count: 300_000)),
      ]
    ), ("flag", [.bool(true), .bool(false)]), ("small", [.int(Int64(Int16.min)), .int(Int64(Int16.max))]),
    ("medium", [.int(Int64(Int32.min)), .int(Int64(Int32.max))]),
    ("large", [.int(.min), .int(.max), .int(0), .int(-1)]),
    (
      "single",
      [
        .double(Double(Float.greatestFiniteMagnitude)), .double(Double(Float.leastNonzeroMagnitude)),
        .double(-.infinity),
      ]
    ),
    (
      "double",
      [
        .double(.greatestFiniteMagnitude), .double(-.leastNonzeroMagnitude), .double(.infinity),
        .double(0.1 + 0.2), .double(-0.0),
      ]
    ),
    (
      "amount",
      [
        .decimal(.greatestFiniteMagnitude), .decimal(-.greatestFiniteMagnitude),
        .decimal(.leastNonzeroMagnitude),
        .decimal(Decimal(string: "-1234567890123456789012345678.901234567") ?? 0),
        .decimal(0), .decimal(Decimal(sign: .minus, exponent: -128, significand: 1)),
      ]
    ),
    (
      "moment",
      [
        .date(.distantPast), .date(.distantFuture), .date(Date(timeIntervalSinceReferenceDate: -1e300)),
        .date(Date(timeIntervalSinceReferenceDate: (0.1 + 0.2).nextUp)),
      ]
    ), ("bytes", [.data(Data()), .data(Data(0...255)), .data(Data(count: 3_000_000))]),
    ("uid", [.uuid(UUID())]),
    ("link", [.url(URL(string: "http://x/?q=%F0%9F%91%A9#a") ?? URL(filePath: "/"))]),
    (
      "scan",
      [.data(Data()), .data(Data(repeating: 7, count: 70_000)), .data(Data(repeating: 9, count: 5_000_000))]
    ),
  ]

  private func fill(_ location: StoreLocation) throws {
    let coordinator = try PersistentStoreCoordinator(model: Self.model, at: location)
    let context = PersistentContainer(coordinator).newContext()
    var things: [ManagedObject] = []
    for (key, values) in Self.values {
      for value in values {
        let thing = try context.insert(entityNamed: things.count % 3 == 0 ? "Special" : "Thing")
        if things.count % 3 == 0 { try thing.setValue(.attribute(.int(3)), forKey: "more") }
        try thing.setValue(.attribute(value), forKey: key)
        things.append(thing)
      }
    }
    try context.save()
    let tags = try (0..<5).map { number in
      let tag = try context.insert(entityNamed: "Tag")
      try tag.setValue("tag \(number)", forKey: "name")
      return tag
    }
    for (number, thing) in things.enumerated() {
      try thing.setValue(.objects([tags[number % 5], tags[(number + 2) % 5]]), forKey: "tags")
      let parts = try (0..<3).map { _ in
        let part = try context.insert(entityNamed: "Part")
        try part.setValue("part", forKey: "name")
        return part
      }
      try thing.setValue(.objects(Array(parts.reversed())), forKey: "parts")
      if number % 2 == 1 { try thing.setValue(.object(things[number - 1]), forKey: "partner") }
      try thing.setValue(.objects([things[(number + 1) % things.count]]), forKey: "friends")
    }
    try context.save()
    context.delete(things[4])
    try context.save()
    try coordinator.setMetadata(
      ["origin": "a test \u{1F600}"], forStore: #require(coordinator.storeIDs.first))
  }

  @Test func everythingComesBack() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "cdgen-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let store = try ServerStore()
    let (first, second) = (folder.appending(path: "a"), folder.appending(path: "b"))
    let server = StoreLocation.server(store.server)
    try fill(.sqlite(first))
    let before = try StoreText.contents(.sqlite(first))
    try PersistentStoreCoordinator.copyPersistentStore(at: .sqlite(first), to: server)
    #expect(try StoreText.contents(server) == before)
    #expect(try PersistentStoreCoordinator(model: Self.model, at: server).verify().isEmpty)
    try PersistentStoreCoordinator.copyPersistentStore(at: server, to: .sqlite(second))
    let after = try StoreText.contents(.sqlite(second))
    #expect(after == before, "\(zip(after, before).first { $0 != $1 }.map { "\($0)" } ?? "")")
    #expect(try PersistentStoreCoordinator(model: Self.model, at: .sqlite(second)).verify().isEmpty)
    // From one schema to another, and to a file of another kind.
    let other = try ServerStore()
    try PersistentStoreCoordinator.copyPersistentStore(at: server, to: .server(other.server))
    #expect(try StoreText.contents(.server(other.server)) == before)
    let xml = StoreLocation.binary(folder.appending(path: "c"))
    try PersistentStoreCoordinator.copyPersistentStore(at: server, to: xml)
    try PersistentStoreCoordinator.destroyPersistentStore(at: .server(other.server))
    try PersistentStoreCoordinator.copyPersistentStore(at: xml, to: .server(other.server))
    #expect(try StoreText.contents(.server(other.server)) == before)
    // A save to the copy gets the number after the original's last save.
    let container = PersistentContainer(try PersistentStoreCoordinator(model: Self.model, at: server))
    let context = container.newContext()
    let tag = try context.insert(entityNamed: "Tag")
    try tag.setValue("new", forKey: "name")
    try context.save()
    #expect(tag.objectID.number > 5)
    #expect(try store.count("_cdgen_history") == 4)
  }

  @Test func aReplicaIsAStoreOfItsOwn() throws {
    let store = try ServerStore()
    let other = try ServerStore()
    let context = try store.context()
    try context.addBook("a")
    try context.save()
    try PersistentStoreCoordinator.copyPersistentStore(
      at: .server(store.server), to: .server(other.server), asReplica: true)
    let (first, second) = (
      try PersistentStoreCoordinator.metadata(forStoreAt: .server(store.server)),
      try PersistentStoreCoordinator.metadata(forStoreAt: .server(other.server))
    )
    #expect(first.storeID != second.storeID && first.dataHash == second.dataHash)
    #expect(try other.context().titles() == ["a"])
    #expect(try other.coordinator().verify().isEmpty)
  }

  @Test func aTextThatNoServerStoresIsNamed() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "cdgen-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appending(path: "a")
    do {
      let context = PersistentContainer(try PersistentStoreCoordinator(model: Self.model, at: .sqlite(file)))
        .newContext()
      for text in ["a", "b\0c"] {
        try context.insert(entityNamed: "Thing").setValue(.attribute(.string(text)), forKey: "text")
      }
      try context.save()
    }
    let store = try ServerStore()
    let error = #expect(throws: StoreError.self) {
      try PersistentStoreCoordinator.copyPersistentStore(at: .sqlite(file), to: .server(store.server))
    }
    guard case .cannotCreate(_, let reason)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(reason.contains("'Thing.text' of the object 2") && reason.contains("U+0000"))
    #expect(
      try store.sql("SELECT 1 FROM pg_namespace WHERE nspname = ?", [.value(.string(store.server.schema))])
        .rowCount == 0)
  }

  @Test func whatIsThereIsNotOverwritten() throws {
    let store = try ServerStore()
    let context = try store.context()
    try context.addBook("a")
    try context.save()
    let other = try ServerStore()
    _ = try other.coordinator()
    #expect(throws: StoreError.self) {
      try PersistentStoreCoordinator.copyPersistentStore(at: .server(other.server), to: .server(store.server))
    }
    #expect(try context.titles() == ["a"])
    try PersistentStoreCoordinator.destroyPersistentStore(at: .server(store.server))
    #expect(throws: StoreError.replaced(store.server.url)) { try context.titles() }
    #expect(throws: StoreError.self) {
      try PersistentStoreCoordinator.metadata(forStoreAt: .server(store.server))
    }
    // Nothing is left to remove.
    try PersistentStoreCoordinator.destroyPersistentStore(at: .server(store.server))
    try store.sql("CREATE TABLE \(store.table("other")) (x int)")
    #expect(throws: StoreError.self) {
      try PersistentStoreCoordinator.destroyPersistentStore(at: .server(store.server))
    }
    #expect(try store.count("other") == 0)
  }

  /// Another program saves its first object while the removal is about to lock the tables.
  @Test func onlyAnEmptyStoreIsRemoved() throws {
    let store = try ServerStore { $0.features = .postgresql }
    _ = try store.coordinator()
    let proxy = try TestProxy(to: store.server)
    let isSaved = Mutex(false)
    proxy.decide { [store] statements in
      guard statements.contains(where: { $0.hasPrefix("LOCK TABLE") }), isSaved.withLock({ !$0 }) else {
        return .forward
      }
      isSaved.withLock { $0 = true }
      do { try store.context().addBook("kept").managedObjectContext?.save() } catch { Issue.record(error) }
      return .forward
    }
    var server = store.server
    server.hosts = [PostgresServer.Host("127.0.0.1", port: proxy.port)]
    try PostgresTransfer(server: server).removeIfEmpty()
    #expect(isSaved.withLock { $0 })
    #expect(try store.context().titles() == ["kept"])
    #expect(try store.coordinator().verify().isEmpty)

    let other = try ServerStore { $0.features = .postgresql }
    let transfer = PostgresTransfer(server: other.server)
    _ = try other.coordinator()
    #expect(try transfer.exists())
    try transfer.removeIfEmpty()
    #expect(try !transfer.exists())
    // There is nothing left to remove.
    try transfer.removeIfEmpty()
  }

  /// Another program creates its store in the tables that a copy has created.
  @Test func aCopyLeavesAStoreThatWasCreatedMeanwhile() throws {
    let source = try ServerStore()
    try source.context().addBook("copied").managedObjectContext?.save()
    let store = try ServerStore { $0.features = .common }
    let proxy = try TestProxy(to: store.server)
    let isCreated = Mutex(false)
    proxy.decide { [store] statements in
      guard statements.first == "BEGIN ISOLATION LEVEL READ COMMITTED, READ WRITE",
        isCreated.withLock({ !$0 })
      else { return .forward }
      isCreated.withLock { $0 = true }
      do { try store.context().addBook("kept").managedObjectContext?.save() } catch { Issue.record(error) }
      return .forward
    }
    var server = store.server
    server.hosts = [PostgresServer.Host("127.0.0.1", port: proxy.port)]
    let error = #expect(throws: StoreError.self) {
      try PersistentStoreCoordinator.copyPersistentStore(at: .server(source.server), to: .server(server))
    }
    guard case .cannotCreate? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(isCreated.withLock { $0 })
    #expect(try store.context().titles() == ["kept"])
  }

  /// A rehearsal reads the store, and changes nothing.
  @Test func aRehearsalChangesNothing() throws {
    let store = try ServerStore()
    let context = try store.context()
    for number in 0..<3 { try context.addBook("\(number)") }
    try context.save()
    let before = try StoreText.contents(.server(store.server))
    var report = try MigrationRehearsal(
      PersistentStoreDescription(.server(store.server)), model: MovedShelves.model()
    ).run()
    #expect(report.succeeds && report.storeURL == store.server.url)
    let mandatory = MovedShelves.model { $0.entities[1].attributes[1].isOptional = false }
    report = try MigrationRehearsal(PersistentStoreDescription(.server(store.server)), model: mandatory).run()
    #expect(!report.succeeds)
    #expect(try StoreText.contents(.server(store.server)) == before)
  }

  /// What `verify()` finds of a store that somebody has changed.
  @Test func defectsAreFound() throws {
    let changes = [
      #"DROP INDEX "Shelf.unique.name""#, #"ALTER TABLE "Book" DROP COLUMN "pages""#,
      #"ALTER TABLE "Book" ALTER COLUMN "title" DROP NOT NULL"#, #"CREATE TABLE "mine" (x int)"#,
      #"ALTER TABLE "Book" ADD COLUMN "mine" int"#, #"UPDATE "_cdgen_keys" SET "next" = 1"#,
      #"ALTER TABLE "Book" ALTER COLUMN "title" TYPE text COLLATE "POSIX""#,
      #"UPDATE "_cdgen_metadata" SET "value" = 'x' WHERE "key" = 'layoutHash'"#,
      #"UPDATE "_cdgen_history" SET "changes" = 'x'"#,
      #"DO $$ BEGIN EXECUTE (SELECT 'ALTER TABLE "Book" DROP CONSTRAINT ' || quote_ident(conname) FROM pg_constraint WHERE conrelid = '"Book"'::regclass AND contype = 'f' LIMIT 1); END $$"#,
    ]
    for change in changes {
      let store = try ServerStore()
      let context = try store.context()
      try context.addBook("a")
      try context.save()
      let coordinator = try store.coordinator()
      #expect(try coordinator.verify().isEmpty)
      let connection = try PostgresConnection.open(store.server, toWrite: true)
      _ = try connection.run("SET search_path TO \(SQLText.quoted(store.server.schema))")
      // The server keeps columns that a view has.
      _ = try connection.run(#"DROP VIEW "Book_view""#)
      #expect(try coordinator.verify().isEmpty)
      _ = try connection.run([PostgresStatement(change, isKept: false)])
      connection.close()
      let findings = try? coordinator.verify()
      #expect(findings?.isEmpty != true, "\(change)")
    }
  }
}
