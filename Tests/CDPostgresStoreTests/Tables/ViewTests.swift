import CDModel
import Foundation
import Testing

@testable import CDPostgresStore
@testable import CDRuntime

/// The views of a store, for people and for other programs.
@Suite(.needsServer) struct ViewTests {
  private func views(_ store: ServerStore) throws -> [String] {
    let result = try store.sql(
      "SELECT CAST(viewname AS text) FROM pg_catalog.pg_views WHERE schemaname = ? ORDER BY 1",
      [.value(.string(store.server.schema))])
    return (0..<result.rowCount).compactMap { result.string($0, 0) }
  }

  /// All rows of a view, as text, in the order of their keys.
  private func rows(_ view: String, _ columns: String, _ store: ServerStore) throws -> [[String?]] {
    let result = try store.sql("SELECT \(columns) FROM \(store.table(view)) ORDER BY _pk")
    return (0..<result.rowCount).map { row in (0..<result.columnCount).map { result.string(row, $0) } }
  }

  private static let all = ["Book_view", "Shelf_view", "Tag_view"]

  // MARK: What they show

  private static func attribute(_ name: String, _ type: AttributeType) -> AttributeDescription {
    AttributeDescription(name: name, type: type, isOptional: true)
  }

  /// A person with a passport, and with a subentity; a note whose name is the one of a view.
  private static let model: ManagedObjectModel = {
    let place = CompositeDescription(
      name: "Place", fields: [attribute("town", .string), attribute("since", .date)])
    let mood = EnumDescription(
      name: "Mood", rawType: .int16,
      cases: [.init(name: "it's good", rawValue: .int(1)), .init(name: "bad", rawValue: .int(2))])
    let colour = EnumDescription(
      name: "Colour", rawType: .string, cases: [.init(name: "red", rawValue: .string("R"))])
    let version = ModelVersion(
      number: 1, enums: [mood, colour], composites: [place],
      entities: [
        EntityDescription(
          name: "Person",
          attributes: [
            AttributeDescription(name: "name", type: .string), attribute("born", .date),
            attribute("mood", .enumeration("Mood")), attribute("colour", .enumeration("Colour")),
            attribute("home", .composite("Place")), attribute("uid", .uuid), attribute("price", .decimal),
            attribute("isOld", .bool),
          ],
          relationships: [
            RelationshipDescription(name: "passport", destination: "Passport", inverse: "holder"),
            RelationshipDescription(name: "friend", destination: "Person"),
            RelationshipDescription(
              name: "notes", destination: "Person_view", isToMany: true, inverse: "author"),
          ]),
        EntityDescription(name: "Clerk", parent: "Person", attributes: [attribute("rank", .int32)]),
        EntityDescription(
          name: "Passport", attributes: [attribute("number", .string)],
          relationships: [
            RelationshipDescription(
              name: "holder", destination: "Person", isOptional: false, inverse: "passport")
          ]),
        EntityDescription(
          name: "Person_view", attributes: [attribute("text", .string)],
          relationships: [RelationshipDescription(name: "author", destination: "Person", inverse: "notes")]),
      ])
    return ManagedObjectModel(name: "People", id: UUID(), versions: [version], currentVersionNumber: 1)
  }()

  @Test func theyShowObjectsAsPeopleReadThem() throws {
    let store = try ServerStore()
    let coordinator = try PersistentStoreCoordinator(model: Self.model, at: .server(store.server))
    let context = PersistentContainer(coordinator).newContext()
    // The first one's view would have the name of a table.
    #expect(try views(store) == ["Clerk_view", "Passport_view", "Person_view_view"])
    let clerk = try context.insert(entityNamed: "Clerk")
    let values: [(String, AttributeValue)] = [
      ("name", .string("Ada")), ("born", .date(Date(timeIntervalSince1970: 86_400.5))), ("mood", .int(1)),
      ("colour", .string("R")), ("rank", .int(3)),
      ("home", .composite(["town": .string("London"), "since": .date(Date(timeIntervalSince1970: 0))])),
      ("price", .decimal(Decimal(string: "9.90") ?? 0)),
      ("uid", .uuid(UUID(uuidString: "0E7C6B44-5B0B-4F2E-9C4F-52B8E6B6F7A1") ?? UUID())),
      ("isOld", .bool(true)),
    ]
    for (key, value) in values { try clerk.setValue(.attribute(value), forKey: key) }
    let passport = try context.insert(entityNamed: "Passport")
    try passport.setValue(.object(clerk), forKey: "holder")
    let other = try context.insert(entityNamed: "Clerk")
    try other.setValue("Bob", forKey: "name")
    try other.setValue(.object(clerk), forKey: "friend")
    try context.save()
    let columns =
      #"_pk::text, _entity, name, to_char(born AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.MS'), mood, colour, "#
      + #""home.town", to_char("home.since" AT TIME ZONE 'UTC', 'YYYY-MM-DD'), uid::text, price::text, "#
      + #""isOld"::text, passport::text, friend::text, rank::text"#
    #expect(
      try rows("Clerk_view", columns, store) == [
        [
          "1", "Clerk", "Ada", "1970-01-02 00:00:00.500", "it's good", "R", "London", "1970-01-01",
          "0e7c6b44-5b0b-4f2e-9c4f-52b8e6b6f7a1", "9.9", "true", "1", nil, "3",
        ], ["2", "Clerk", "Bob", nil, nil, nil, nil, nil, nil, nil, nil, nil, "1", nil],
      ])
    #expect(try rows("Passport_view", "holder::text", store) == [["1"]])
    #expect(try coordinator.verify() == [])
    // A number without a case, and numbers that are no dates.
    try store.sql(#"UPDATE \#(store.table("Person")) SET mood = 7, born = 'NaN' WHERE _pk = 1"#)
    try store.sql(#"UPDATE \#(store.table("Person")) SET born = -1e300 WHERE _pk = 2"#)
    #expect(
      try rows("Clerk_view", "mood, born::text", store) == [["7", "infinity"], [nil, "-infinity"]])
  }

  /// The view of a parent entity has the objects of its subentities. It has no objects of entities that the model lacks.
  @Test func aParentsViewIsAFetchOfTheParent() throws {
    let store = try ServerStore()
    var version = Self.model.versions[0]
    version.entities.removeLast()
    version.entities[0].relationships.removeLast()
    let model = ManagedObjectModel(
      name: "People", id: UUID(), versions: [version], currentVersionNumber: 1)
    let context = PersistentContainer(
      try PersistentStoreCoordinator(model: model, at: .server(store.server))
    ).newContext()
    for (number, entity) in ["Person", "Clerk", "Person"].enumerated() {
      try context.insert(entityNamed: entity).setValue("\(number)", forKey: "name")
      try context.save()
    }
    try store.sql(#"UPDATE \#(store.table("Person")) SET _entity = 'Ghost' WHERE _pk = 3"#)
    #expect(try rows("Person_view", "name, _entity", store) == [["0", "Person"], ["1", "Clerk"]])
    #expect(try rows("Clerk_view", "name", store) == [["1"]])
  }

  // MARK: Where they come from and go to

  @Test func aMigrationReplacesThemAndKeepsTheirRights() throws {
    let store = try ServerStore()
    let old = try store.context()
    try old.addBook("a")
    try old.save()
    #expect(try views(store) == Self.all)
    let reader = "reader_\(UInt32.random(in: 0 ... .max))"
    let schema = SQLText.quoted(store.server.schema)
    for sql in [
      "CREATE ROLE \(reader) LOGIN", "GRANT USAGE ON SCHEMA \(schema) TO \(reader)",
      "GRANT SELECT ON \(store.table("Book_view")) TO \(reader) WITH GRANT OPTION",
    ] { try store.sql(sql) }
    defer {
      _ = try? store.sql("DROP OWNED BY \(reader)")
      _ = try? store.sql("DROP ROLE \(reader)")
    }
    let new = try PersistentStoreCoordinator(model: MovedShelves.model(), at: .server(store.server))
    #expect(new.migrations.count == 1)
    #expect(try rows("Book_view", "title, place", store) == [["a", "top"]])
    #expect(try views(store) == Self.all)
    #expect(try new.verify() == [])
    var server = store.server
    server.user = reader
    let connection = try PostgresConnection.open(server, toWrite: false)
    #expect(try connection.run("SELECT count(*) FROM \(store.table("Book_view"))").int(0, 0) == 1)
    // The tables themselves are not the reader's.
    #expect(throws: PostgresFailure.self) { try connection.run("SELECT 1 FROM \(store.table("Book"))") }
    connection.close()
  }

  /// A report that is being read makes a migration wait, and nothing of it waits for the migration for ever.
  @Test func aReportIsWaitedFor() throws {
    let store = try ServerStore()
    let old = try store.context()
    try old.addBook("a")
    try old.save()
    let report = try PostgresConnection.open(store.server, toWrite: false)
    _ = try report.run("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")
    #expect(try report.run("SELECT count(*) FROM \(store.table("Book_view"))").int(0, 0) == 1)
    let description = PersistentStoreDescription(.server(store.server), busyTimeout: 0.5)
    let error = #expect(throws: MigrationError.self) {
      try PersistentStoreCoordinator(model: MovedShelves.model(), stores: [description])
    }
    #expect(error?.reason == .inUse)
    #expect(try report.run("SELECT count(*) FROM \(store.table("Book_view"))").int(0, 0) == 1)
    _ = try report.run("ROLLBACK")
    #expect(
      try PersistentStoreCoordinator(model: MovedShelves.model(), stores: [description]).migrations.count == 1
    )
    #expect(try report.run("SELECT place FROM \(store.table("Book_view"))").string(0, 0) == "top")
    report.close()
  }

  @Test func aStoreThatLacksThemGetsThem() throws {
    let store = try ServerStore()
    _ = try store.context()
    try store.sql("DROP VIEW \(store.table("Book_view"))")
    try store.sql(#"COMMENT ON VIEW \#(store.table("Tag_view")) IS 'A view of a cdgen store, of long ago'"#)
    let description = PersistentStoreDescription(.server(store.server), isReadOnly: true)
    _ = try PersistentStoreCoordinator(model: ServerStore.model, stores: [description])
    #expect(try views(store) == ["Shelf_view", "Tag_view"])
    let context = try store.context()
    #expect(try views(store) == Self.all)
    try context.addBook("a")
    try context.save()
    #expect(try context.persistentStoreCoordinator.verify() == [])
    // Nobody waits for a report that reads a view which is not up to date.
    try store.sql(#"COMMENT ON VIEW \#(store.table("Book_view")) IS 'A view of a cdgen store, of long ago'"#)
    let report = try PostgresConnection.open(store.server, toWrite: false)
    _ = try report.run("BEGIN READ ONLY")
    _ = try report.run("SELECT count(*) FROM \(store.table("Book_view"))")
    let start = ContinuousClock.now
    #expect(try store.context().titles() == ["a"])
    #expect(ContinuousClock.now - start < .seconds(40))
    report.close()
    _ = try store.context()
    // Nothing is done where all is as it should be.
    func newestView() throws -> Int64 {
      try store.sql(
        "SELECT max(oid::bigint) FROM pg_class WHERE relkind = 'v' "
          + "AND relnamespace = \(SQLText.literal(SQLText.quoted(store.server.schema)))::regnamespace"
      ).int(0, 0)
    }
    let before = try newestView()
    _ = try store.context()
    #expect(try newestView() == before)
  }

  /// Whatever prevents the views prevents nothing else.
  @Test func nothingNeedsThem() throws {
    let store = try ServerStore()
    let first = try store.context()
    try first.addBook("a")
    try first.save()
    for name in Self.all { try store.sql("DROP VIEW \(store.table(name))") }
    try store.sql("CREATE VIEW \(store.table("Book_view")) AS SELECT 1 AS theirs")
    let context = try store.context()
    #expect(try views(store) == ["Book_view"])
    #expect(try context.titles() == ["a"])
    #expect(
      try context.persistentStoreCoordinator.verify() == [.foreignObject("the table or view 'Book_view'")])
    let new = try PersistentStoreCoordinator(model: MovedShelves.model(), at: .server(store.server))
    #expect(new.migrations.count == 1)
    #expect(try views(store) == ["Book_view"])
  }

  /// A user who may write rows and nothing else.
  @Test func aUserWithoutTheRightOpensTheStore() throws {
    let store = try ServerStore()
    _ = try store.context()
    try store.sql("DROP VIEW \(store.table("Book_view"))")
    let role = try store.createWriter()
    defer { store.drop(role) }
    do {
      let context = try store.context { $0.user = role }
      try context.addBook("a")
      try context.save()
      #expect(try context.titles() == ["a"])
    }
    #expect(try views(store) == ["Shelf_view", "Tag_view"])
  }

  @Test func copiesHaveThemAndNothingIsLeftOfARemovedStore() throws {
    let store = try ServerStore()
    let context = try store.context()
    try context.addBook("a")
    try context.save()
    let copy = try ServerStore()
    try PersistentStoreCoordinator.copyPersistentStore(at: .server(store.server), to: .server(copy.server))
    #expect(try rows("Book_view", "title", copy) == [["a"]])
    try PersistentStoreCoordinator.destroyPersistentStore(at: .server(copy.server))
    #expect(try views(copy).isEmpty)
    #expect(try views(store) == Self.all)
  }

  /// Programs that open a store at the same time make its views once.
  @Test func severalProgramsMakeThemAtOnce() throws {
    let store = try ServerStore()
    _ = try store.context()
    for round in 0..<5 {
      for name in Self.all where round % 2 == 0 || name != "Tag_view" {
        try store.sql("DROP VIEW IF EXISTS \(store.table(name))")
      }
      DispatchQueue.concurrentPerform(iterations: 6) { _ in
        do { _ = try store.context() } catch { Issue.record(error) }
      }
      #expect(try views(store) == Self.all)
    }
  }
}
