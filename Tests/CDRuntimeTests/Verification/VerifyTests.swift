import CSQLite
import Foundation
import Testing

@testable import CDRuntime

/// What a check of a whole store finds, after its tables were changed behind the runtime's back.
@Suite struct VerifyTests {
  private let store: TemporaryStore
  private let book: ManagedObjectID

  init() throws {
    store = try TemporaryStore()
    let context = try store.freshContext()
    let author = Author(name: "Thoreau", in: context)
    let book = Book(title: "Walden", isbn: "1-2", author: author, in: context)
    _ = Tag(name: "pond", in: context)
    try context.save()
    self.book = book.objectID
  }

  private func findings() throws -> [StoreFinding] {
    try store.container().persistentStoreCoordinator.verify()
  }

  @Test func aWholeStoreHasNone() throws { #expect(try findings() == []) }

  @Test func relationshipsThatLeadOneWayAreFound() throws {
    let context = try store.freshContext()
    let authors = ["a", "b", "c"].map { Author(name: $0, in: context) }
    authors[0].friends = authors
    authors[0].spouse = authors[1]
    authors[2].spouse = authors[2]
    try context.save()
    let keys = authors.map(\.key)
    #expect(try findings() == [])
    try store.run(
      #"DELETE FROM "Author.friends" WHERE _source = \#(keys[2]) AND _target = \#(keys[0])"#,
      #"UPDATE "Author" SET spouse = NULL WHERE _pk = \#(keys[0])"#)
    #expect(
      try findings() == [
        .oneDirection(entity: "Author", relationship: "friends", key: keys[0], other: keys[2]),
        .oneDirection(entity: "Author", relationship: "spouse", key: keys[1], other: keys[0]),
      ])
    #expect(
      try findings()[1].description
        == "'Author' p\(keys[1]) has p\(keys[0]) in 'spouse', but p\(keys[0]) does not have "
        + "p\(keys[1])")
  }

  @Test func whatLeadsToAnObjectOfAnotherEntityIsFound() throws {
    let context = try store.freshContext()
    let author = Author(name: "a", in: context)
    let magazine = Magazine(title: "m", issue: 1, author: author, in: context)
    let review = Review(stars: 1, in: context)
    let tag = try #require(try Tag.objects(in: context).first)
    try context.save()
    try store.run(
      #"UPDATE "Review" SET book = \#(magazine.key)"#,
      #"INSERT INTO "Book.tags" (_source, _target) VALUES (\#(magazine.key), \#(tag.key))"#)
    #expect(
      try findings() == [
        .danglingReference(entity: "Review", key: review.key, destination: "Book"),
        .danglingReference(entity: "Tag", key: tag.key, destination: "Book"),
      ])
  }

  @Test func brokenRulesAreFound() throws {
    try store.run(#"UPDATE "Publication" SET isbn = 'letters'"#)
    #expect(
      try findings() == [
        .invalid(
          ValidationError(reason: .patternMismatch, entity: "Book", property: "isbn", objectID: book))
      ])
  }

  /// Decimals that are none: texts that SQLite keeps, and numbers of a server that no `Decimal` has.
  private static let noDecimals =
    StoreKind.ofEnvironment == .postgresql
    ? [
      "NaN", "Infinity", "-Infinity", "1e200", "-1e-200", "1e100000",
      "0.1234567890123456789012345678901234567891",
      "1234567890123456789012345678901234567890.5",
    ]
    : ["much", "2500999 9.99abc", "2500999 ", "2500999 9.9.9", "2500999 9-9", "2500999 -"]

  @Test(arguments: noDecimals)
  func unreadableValuesAreFound(text: String) throws {
    try store.run(#"UPDATE "Publication" SET price = '\#(text)'"#)
    #expect(
      try findings() == [
        .unreadable(
          ObservedError(reason: .wrongType, entity: "Book", property: "price", objectID: book))
      ])
  }

  /// The model does not have the first entity, and the second one is abstract.
  @Test(.needs(.tables), arguments: ["Volume", "Publication"])
  func rowsThatNoObjectIsMadeOfAreFound(entity: String) throws {
    try store.run(
      #"UPDATE "Publication" SET _entity = '\#(entity)'"#, #"UPDATE "Author" SET _pk = -1"#,
      #"UPDATE "Publication" SET author = -1"#, checksReferences: false)
    #expect(
      try findings() == [
        .unknownEntity(entity: "Publication", key: 1, name: entity),
        .damaged("'Author' has a row -1, but keys begin at 1"),
      ])
  }

  /// Another program has changed the entity of a row, but not its values.
  @Test(.onceForAllKinds) func referencesThatAnEntityDoesNotHaveAreFound() throws {
    let context = try store.freshContext()
    let author = try #require(try Author.objects(in: context).first)
    let magazine = Magazine(title: "m", issue: 1, author: author, in: context)
    try context.save()
    try store.run(#"UPDATE "Publication" SET prequel = \#(book.key) WHERE _pk = \#(magazine.key)"#)
    #expect(
      try findings() == [
        .damaged("'Magazine' p\(magazine.key) has a reference in 'prequel', which its entity does not have")
      ])
  }

  @Test(.needs(.tables)) func rulesAreCheckedBehindABatchOfStrangeRows() throws {
    let uuid = store.kind == .postgresql ? "gen_random_uuid()" : "x'00'"
    try store.run(
      "WITH RECURSIVE n (i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 1500) "
        + #"INSERT INTO "Publication" (_pk, _version, _entity, title, uuid, author) "#
        + "SELECT i, 1, 'Volume', 't', \(uuid), 1 FROM n",
      #"UPDATE "Publication" SET _pk = 2000, isbn = 'letters' WHERE _pk = 1"#,
      "UPDATE _cdgen_keys SET next = 3000 WHERE entity = 'Publication'")
    let moved = ManagedObjectID(storeID: book.storeID, entityName: "Book", key: 2000)
    let mistake = ValidationError(reason: .patternMismatch, entity: "Book", property: "isbn", objectID: moved)
    #expect(try findings().contains(.invalid(mistake)))
  }

  @Test(.needs(.tables)) func allUnreadableValuesOfABatchAreFound() throws {
    let numbers = "WITH RECURSIVE n (i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 300) "
    if store.kind == .postgresql {
      // A server checks the bytes of texts itself.
      try store.run(
        numbers + #"INSERT INTO "Publication" (_pk, _version, _entity, title, uuid, author, isbn, priority, "#
          + "added, price) SELECT i, 1, 'Book', 't', gen_random_uuid(), 1, i, 1, 0, 'NaN' FROM n",
        "UPDATE _cdgen_keys SET next = 3000 WHERE entity = 'Publication'")
    } else {
      try store.run(
        numbers + #"INSERT INTO "Tag" (_pk, _version, name) SELECT i, 1, CAST(x'FF' AS TEXT) || i FROM n"#,
        "UPDATE _cdgen_keys SET next = 3000")
    }
    let found = try findings()
    #expect(found.count == 299)
    #expect(found.allSatisfy { if case .unreadable = $0 { true } else { false } })
  }

  @Test(arguments: ["dataHash", "layoutHash", "definitionHash"])
  func hashesOfAnotherModelAreFound(key: String) throws {
    let coordinator = try store.container().persistentStoreCoordinator
    try store.run("UPDATE _cdgen_metadata SET value = 'x' || value WHERE key = '\(key)'")
    if key == "dataHash", store.kind == .postgresql {
      // Each transaction compares this one.
      #expect(throws: StoreError.replaced(store.shownURL)) { try coordinator.verify() }
      return
    }
    #expect(try coordinator.verify() == [.wrongHash(key: key)])
  }

  @Test func hashesOfEntitiesAreCheckedToo() throws {
    try store.run("UPDATE _cdgen_metadata SET value = '{}' WHERE key = 'entityHashes'")
    #expect(try findings() == [.wrongHash(key: "entityHashes")])
  }

  @Test(arguments: [
    ("changes", "no JSON"), ("changes", "[]"), ("changes", "{\"Tag\":{\"inserted\":[[2,1]]}}"),
    ("origin", "me"),
  ])
  func aHistoryThatCannotBeReadIsFound(column: String, text: String) throws {
    try store.run("UPDATE _cdgen_history SET \(column) = '\(text)'")
    #expect(try findings() == [.unreadableHistory(id: 1)])
  }

  @Test(.onceForAllKinds, arguments: [-3, 0, 1 << 62] as [Int64])
  func aHistoryWithAnUnusableNumberIsFound(id: Int64) throws {
    try store.run("UPDATE _cdgen_history SET id = \(id)")
    #expect(try findings() == [.unreadableHistory(id: id)])
  }

  @Test(.onceForAllKinds, arguments: [-5, 1 << 32] as [Int64])
  func versionsThatNoRowHasAreFound(version: Int64) throws {
    try store.run(#"UPDATE "Author" SET _version = \#(version)"#)
    #expect(
      try findings() == [.damaged("'Author' p1 has a version that is not a number of 32 bits")])
  }

  @Test func outdatedDerivedValuesAreFound() throws {
    try store.run(#"UPDATE "Publication" SET "reviewCount" = 7"#)
    let found = try findings()
    #expect(found == [.outdatedValue(entity: "Book", attribute: "reviewCount", key: book.key)])
    #expect(
      found.first?.description
        == "'Book' p\(book.key) has a value of 'reviewCount' that its derivation does not "
        + "give; change the object and save it")
    let context = try store.freshContext()
    try #require(try Book.objects(in: context).first).title = "Walden Pond"
    try context.save()
    #expect(try findings() == [])
  }

  @Test func outdatedValuesAreFoundInEachBatch() throws {
    let context = try store.freshContext()
    let author = Author(name: "a", in: context)
    for number in 0..<2100 { _ = Book(title: "t", isbn: "\(number)", author: author, in: context) }
    try context.save()
    try store.run(#"UPDATE "Publication" SET "reviewCount" = 7 WHERE _pk % 500 = 3"#)
    #expect(
      try findings()
        == [3, 503, 1003, 1503, 2003].map {
          .outdatedValue(entity: "Book", attribute: "reviewCount", key: $0)
        })
  }

  @Test func danglingReferencesAreFound() throws {
    try store.run(#"DELETE FROM "Author""#, checksReferences: false)
    #expect(
      try findings() == [.danglingReference(entity: "Publication", key: 1, destination: "Author")])
  }

  @Test func takenKeysAreFound() throws {
    try store.run("UPDATE _cdgen_keys SET next = 1 WHERE entity = 'Tag'")
    #expect(try findings() == [.keyTaken(entity: "Tag")])
  }

  /// Programs that repair a file leave out an index that they cannot create.
  @Test(.onceForAllKinds) func rowsThatAMissingUniqueIndexWouldRefuseAreFound() throws {
    try store.run(
      #"DROP INDEX "Tag.unique.name""#, #"INSERT INTO "Tag" (_pk, _version, name) VALUES (2, 1, 'pond')"#,
      #"DROP INDEX "Author.spouse""#,
      #"INSERT INTO "Author" (_pk, _version, name, spouse) VALUES (2, 1, 'b', 1), (3, 1, 'c', 1)"#,
      "UPDATE _cdgen_keys SET next = 10")
    let coordinator = try PersistentStoreCoordinator(
      for: LibraryModel.self, stores: [PersistentStoreDescription(store.location, isReadOnly: true)])
    let damaged = try coordinator.verify().filter { if case .damaged = $0 { true } else { false } }
    #expect(
      Set(damaged) == [
        .damaged(
          "'Tag' p1 and p2 have equal values for the unique index 'Tag.unique.name', which is missing"),
        .damaged(
          "'Author' p2 and p3 have equal values for the unique index 'Author.spouse', which is missing"),
      ])
    // An opening for writing names the row too, first that of one index and then that of the other.
    for (entity, property, key) in [("Author", "spouse", 3 as Int64), ("Tag", "name", 2 as Int64)] {
      #expect {
        try store.container()
      } throws: { error in
        guard let error = error as? MigrationError else { return false }
        return error.reason == .duplicate(properties: [property]) && error.entity == entity
          && error.objectKey == key
      }
      try store.run(#"DELETE FROM "\#(entity)" WHERE _pk = \#(key)"#)
    }
    _ = try store.container()
  }

  @Test(.onlyOnSQLite("its indexes")) func aDamagedIndexIsFound() throws {
    // A row that its index has not: what a bug in another program leaves.
    try store.run(
      "PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = 'CREATE UNIQUE INDEX \"Tag.unique.name\" "
        + "ON \"Tag\" (\"name\") WHERE 0' WHERE name = 'Tag.unique.name'; PRAGMA writable_schema = RESET;"
        + "INSERT INTO Tag (_pk, _version, name) VALUES (1000, 1, 'unindexed');"
        + "PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = 'CREATE UNIQUE INDEX \"Tag.unique.name\" "
        + "ON \"Tag\" (\"name\")' WHERE name = 'Tag.unique.name'; PRAGMA writable_schema = RESET")
    let damaged = try findings().filter { if case .damaged = $0 { true } else { false } }
    #expect(!damaged.isEmpty)
  }
}

/// Values that a column of SQLite accepts, but not the attribute, and with which a store cannot be copied.
@Suite(.onceForAllKinds) struct UnfittingValueVerifyTests {
  @Test(arguments: [("weight", "1e300"), ("weight", "-1e39"), ("cover", "1"), ("cover", "1.5")])
  func numbersThatDoNotFitAreFound(_ property: String, _ value: String) throws {
    let cover = AttributeDescription(name: "cover", type: .data, isOptional: true, storesExternally: true)
    let version = MigrationFixture.version(1, [entity("Parcel", [attribute("weight", .float), cover])])
    let fixture = try MigrationFixture()
    try fixture.create([version]) { context in
      try context.insert(entityNamed: "Parcel").setValue(.attribute(.double(1)), forKey: "weight")
    }
    try PlainSQL.run("UPDATE Parcel SET \(property) = \(value)", at: fixture.url)
    let model = MigrationFixture.model([version])
    let coordinator = try PlannedModel.remembered(model).coordinator(at: fixture.location)
    let found: [String?] = try coordinator.verify().map { finding in
      if case .unreadable(let error) = finding {
        error.reason == .wrongType ? error.property : nil
      } else {
        nil
      }
    }
    #expect(found == [property])
    #expect {
      try PersistentStoreCoordinator.copyPersistentStore(
        at: fixture.url, to: .xml(fixture.folder.appending(path: "copy.xml")))
    } throws: { if case StoreError.unreadable = $0 { true } else { false } }
  }
}

/// Derived values that are computed again, of models of their own.
@Suite struct VerifiedDerivationTests {
  private static func container(_ attributes: [(String, AttributeType, String)]) throws -> PersistentContainer
  {
    try PersistentContainer(scratchOf: [
      EntityDescription(
        name: "Bill",
        attributes: try attributes.map { try .derived($0, $1, $2) },
        relationships: [
          RelationshipDescription(name: "lines", destination: "Line", isToMany: true, inverse: "bill")
        ]),
      EntityDescription(
        name: "Line", attributes: [AttributeDescription(name: "price", type: .double)],
        relationships: [RelationshipDescription(name: "bill", destination: "Bill", inverse: "lines")]),
    ])
  }

  @Test func valuesOfTimeAndChanceAreNotComputedAgain() throws {
    let container = try Self.container([
      ("saved", .date, "now()"), ("luck", .double, "random() + 1"), ("dice", .int64, "randomn:(1000000000)"),
      ("rest", .int64, "SUBQUERY(lines, $l, $l.price > random()).@count"),
    ])
    let context = container.newContext()
    for _ in 0..<20 {
      let bill = try context.insert(entityNamed: "Bill")
      let line = try context.insert(entityNamed: "Line")
      try line.setValue(0.5, forKey: "price")
      try line.setValue(bill, forKey: "bill")
    }
    try context.save()
    #expect(try container.persistentStoreCoordinator.verify() == [])
  }

  @Test func theOrderOfASumMakesNoDefect() throws {
    let container = try Self.container([
      ("total", .double, "lines.@sum.price"), ("float", .float, "lines.@avg.price"),
    ])
    let context = container.newContext()
    let bill = try context.insert(entityNamed: "Bill")
    let lines = try (0..<50).map { number in
      let line = try context.insert(entityNamed: "Line")
      try line.setValue(Double(number * 7919 % 50) / 10 + 0.1, forKey: "price")
      return line
    }
    try context.save()
    // The order of the rows is not that of the additions.
    for line in lines.reversed() { try line.setValue(bill, forKey: "bill") }
    try context.save()
    #expect(try container.persistentStoreCoordinator.verify() == [])
  }
}

/// Saves to several stores, in histories that were purged.
@Suite(.onceForAllKinds) struct PurgedSaveVerifyTests {
  private let stores: DiaryStores

  init() throws { stores = try DiaryStores() }

  /// Two stores with a common save, which is purged from one of them, and another common save.
  private func fill() throws -> (coordinator: PersistentStoreCoordinator, people: UUID, notes: UUID) {
    let container = try stores.container()
    let coordinator = container.persistentStoreCoordinator
    let context = container.newContext()
    let (grace, note) = try DiaryStores.fill(context)
    try context.save()
    try grace.setValue("Ada", forKey: "name")
    try context.save()
    try coordinator.purgeHistory(before: .distantFuture)
    #expect(try coordinator.verify() == [])
    try grace.setValue("Grace", forKey: "name")
    try note.setValue("Link it", forKey: "text")
    try context.save()
    return (coordinator, grace.objectID.storeID, note.objectID.storeID)
  }

  @Test func aPurgedSaveIsNotMissing() throws {
    let coordinator = try fill().coordinator
    #expect(try coordinator.verify() == [])
    #expect(try coordinator.history().count == 4)
  }

  @Test(arguments: [true, false]) func aSaveAfterThePurgeIsMissing(inNotes: Bool) throws {
    let (coordinator, people, notes) = try fill()
    try stores.run(
      "DELETE FROM _cdgen_history WHERE id = (SELECT max(id) FROM _cdgen_history)",
      at: inNotes ? stores.notes : stores.people)
    let finding: StoreFinding =
      inNotes
      ? .incompleteSave(id: 3, store: people, missing: [notes])
      : .incompleteSave(id: 2, store: notes, missing: [people])
    #expect(try coordinator.verify() == [finding])
  }
}

/// Each engine checks what it stores.
@Suite(.onceForAllKinds) struct EngineVerifyTests {
  @Test func theDefectsOfAnEngineWithoutSQLAreFound() throws {
    let coordinator = try PersistentStoreCoordinator(
      for: LibraryModel.self, at: ScratchStore(.plain).location)
    let engine = try #require(coordinator.engine as? PlainEngine)
    let context = ManagedObjectContext(coordinator)
    let author = Author(name: "Thoreau", in: context)
    let book = Book(title: "Walden", isbn: "1-2", author: author, in: context)
    try context.save()
    #expect(try coordinator.verify() == [])
    var state = engine.state
    state.tables[try #require(coordinator.plan.entity("Author")).root] = [:]
    state.nextKeys[try #require(coordinator.plan.entity("Book")).root] = book.objectID.key
    engine.put(state)
    #expect(
      try coordinator.verify() == [
        .danglingReference(entity: "Publication", key: book.objectID.key, destination: "Author"),
        .keyTaken(entity: "Publication"),
      ])
  }
}

/// What others save while the histories are read, one after the other.
@Suite(.onlyOnSQLite("its trace of statements")) struct ConcurrentVerifyTests {
  /// Calls a body once, before the statement that reads the second history.
  private final class Interposition {
    private let connection: SQLiteConnection
    private let body: () throws -> Void
    private var count = 0
    private(set) var result: Result<Void, any Error>?

    init(_ connection: SQLiteConnection, _ body: @escaping () throws -> Void) {
      self.connection = connection
      self.body = body
      sqlite3_trace_v2(
        connection.handle, UInt32(SQLITE_TRACE_STMT),
        { _, trace, statement, _ in
          guard let trace, let statement, let sql = sqlite3_sql(OpaquePointer(statement)) else { return 0 }
          Unmanaged<Interposition>.fromOpaque(trace).takeUnretainedValue().note(String(cString: sql))
          return 0
        }, Unmanaged.passUnretained(self).toOpaque())
    }

    deinit { sqlite3_trace_v2(connection.handle, 0, nil, nil) }

    private func note(_ sql: String) {
      guard sql.contains("_cdgen_history") else { return }
      count += 1
      if count == 2 { result = Result { try body() } }
    }
  }

  @Test func aSaveBetweenTwoHistoriesIsNotIncomplete() throws {
    let stores = try DiaryStores()
    let coordinator = try stores.container().persistentStoreCoordinator
    let context = ManagedObjectContext(coordinator)
    let (grace, note) = try DiaryStores.fill(context)
    try context.save()
    let session = try #require(try coordinator.engine.takeSession() as? SQLiteSession)
    defer { coordinator.engine.returnSession(session) }
    let interposition = Interposition(session.connection) {
      try grace.setValue("Ada", forKey: "name")
      try note.setValue("Link it", forKey: "text")
      try context.save()
    }
    #expect(try coordinator.incompleteSaves(session) == [])
    try #require(interposition.result).get()
    withExtendedLifetime((interposition, stores)) {}
  }
}
