import CDModel
import Foundation
import Synchronization
import Testing

@testable import CDPostgresStore
@testable import CDRuntime

/// Batch inserts that keep or update existing rows. Rows that are sent together give the same result as single ones.
@Suite(.needsServer) struct UpsertTests {
  /// The `unique:` lists of the entity.
  enum Lists: CaseIterable {
    case one, two, ofParent

    var model: ManagedObjectModel {
      var item = EntityDescription(
        name: "Item",
        attributes: [
          AttributeDescription(name: "code", type: .string, isOptional: true),
          AttributeDescription(name: "part", type: .double, isOptional: true),
          AttributeDescription(name: "number", type: .int64, isOptional: true),
          AttributeDescription(name: "note", type: .string, defaultValue: .value(.string("none"))),
        ], uniquenessConstraints: [["code", "part"]] + (self == .two ? [["number"]] : []))
      var entities: [EntityDescription] = []
      if self == .ofParent {
        var parent = item
        parent.name = "Thing"
        parent.attributes.removeLast(2)
        item.attributes.removeFirst(2)
        item.uniquenessConstraints = []
        item.parent = "Thing"
        entities.append(parent)
      }
      return ManagedObjectModel(
        name: "Items", id: UUID(uuidString: "0B2D2D3E-9B07-4B1C-8C55-4B9C7C7B3A99") ?? UUID(),
        versions: [ModelVersion(number: 1, entities: entities + [item])], currentVersionNumber: 1)
    }
  }

  struct Row {
    var code: String?
    var part: Double?
    var number: Int64?
    var note: String?

    var values: [(String, AttributeValue)] {
      [
        ("code", code.map { .string($0) } ?? .null), ("part", part.map { .double($0) } ?? .null),
        ("number", number.map { .int($0) } ?? .null),
      ] + (note.map { [("note", .string($0))] } ?? [])
    }

    /// - Parameter numbers: The numbers of the rows, which no other rows have.
    static func random(
      _ numbers: Range<Int>, of codes: Int, _ random: inout some RandomNumberGenerator
    ) -> [Row] {
      numbers.map { number in
        Row(
          code: Int.random(in: 0..<10, using: &random) == 0
            ? nil : "code \(Int.random(in: 0..<codes, using: &random))",
          part: [nil, 0, -0.0, 1, 2.5].randomElement(using: &random) ?? nil, number: Int64(number),
          note: Bool.random(using: &random) ? "note \(number)" : nil)
      }
    }
  }

  private func context(_ lists: Lists, _ server: PostgresServer) throws -> (
    PersistentContainer, ManagedObjectContext
  ) {
    let container = PersistentContainer(
      try PersistentStoreCoordinator(model: lists.model, at: .server(server)))
    return (container, container.newContext())
  }

  /// Inserts rows, by their key paths or as dictionaries, each of which names its own.
  private func insert(
    _ rows: [Row], _ uniqueness: BatchUniqueness, byKeyPaths: Bool, _ context: ManagedObjectContext
  ) throws -> Int {
    guard byKeyPaths else {
      var request = BatchInsertRequest<ManagedObject>(
        entityName: "Item",
        rows: rows.map { Dictionary(uniqueKeysWithValues: $0.values.map { ($0.0, .attribute($0.1)) }) })
      request.uniqueness = uniqueness
      return try context.execute(request).count
    }
    let list = BatchRows(keyPaths: [["code"], ["part"], ["number"]], isRepeatable: true) {
      var next = 0
      return { writer in
        guard next < rows.count else { return false }
        writer.start()
        for (_, value) in rows[next].values.prefix(3) { try writer.write(.attribute(value)) }
        next += 1
        return true
      }
    }
    let engine = context.persistentStoreCoordinator.engine
    let entity = try #require(context.model.entity("Item"))
    return try engine.write { session in
      let run = BatchRun(context, session, entity, excludesOthers: false)
      return try run.run { try run.insert(list, uniqueness) }.count
    }
  }

  private func contents(_ store: ServerStore, _ lists: Lists) throws -> [String] {
    let table = store.table(lists == .ofParent ? "Thing" : "Item")
    let result = try store.sql(
      "SELECT concat_ws('|', coalesce(code, '-'), coalesce(CAST(part AS text), '-'), number, note, _version) "
        + "FROM \(table) ORDER BY 1")
    return (0..<result.rowCount).map { result.string($0, 0) ?? "" }
  }

  @Test(arguments: Lists.allCases, [1, 2, 3] as [UInt64])
  func theResultIsThatOfSingleRows(lists: Lists, seed: UInt64) throws {
    for uniqueness in [BatchUniqueness.keep, .update] {
      for byKeyPaths in [true, false] {
        let (together, single) = (try ServerStore(), try ServerStore())
        var random = Numbers(state: seed)
        let (firstContainer, first) = try context(lists, together.server)
        let (secondContainer, second) = try context(lists, single.server)
        defer { withExtendedLifetime((firstContainer, secondContainer)) {} }
        for (round, codes) in [20, 200, 2000].enumerated() {
          let rows = Row.random(round * 150..<(round + 1) * 150, of: codes, &random)
          let count = try insert(rows, uniqueness, byKeyPaths: byKeyPaths, first)
          var sum = 0
          for row in rows { sum += try insert([row], uniqueness, byKeyPaths: byKeyPaths, second) }
          #expect(count == sum)
        }
        #expect(try contents(together, lists) == contents(single, lists))
        let keys = try together.sql(
          "SELECT count(*), min(_pk), max(_pk) FROM \(together.table(lists == .ofParent ? "Thing" : "Item"))")
        #expect(keys.int(0, 1) == 1 && keys.int(0, 2) == keys.int(0, 0))
        #expect(try firstContainer.persistentStoreCoordinator.verify() == [])
      }
    }
  }

  /// 5,000 rows of which half are there take few round trips.
  @Test(arguments: [BatchUniqueness.keep, .update], [true, false])
  func manyRowsAreSentTogether(uniqueness: BatchUniqueness, byKeyPaths: Bool) throws {
    let store = try ServerStore()
    let proxy = try TestProxy(to: store.server)
    var server = store.server
    server.hosts = [PostgresServer.Host("127.0.0.1", port: proxy.port)]
    let (container, context) = try context(.one, server)
    defer { withExtendedLifetime(container) {} }
    func rows(_ range: Range<Int>) -> [Row] {
      range.map { Row(code: "\($0)", part: 1, number: Int64($0), note: nil) }
    }
    _ = try insert(rows(0..<2500), .refuse, byKeyPaths: true, context)
    _ = proxy.takeRoundTrips()
    let count = try insert(rows(0..<5000), uniqueness, byKeyPaths: byKeyPaths, context)
    #expect(count == (uniqueness == .keep ? 2500 : 5000))
    let trips = proxy.takeRoundTrips().count
    print("\(uniqueness), \(byKeyPaths ? "key paths" : "dictionaries"): \(trips) round trips for 5,000 rows")
    // Dictionaries are updated 500 at a time.
    #expect(trips < (byKeyPaths || uniqueness == .keep ? 16 : 90))
    #expect(try contents(store, .one).count == 5000)
  }

  /// Another program inserts a row between the search and the insertion.
  @Test(arguments: [BatchUniqueness.keep, .update]) func anotherProgramIsFaster(uniqueness: BatchUniqueness)
    throws
  {
    let store = try ServerStore()
    let proxy = try TestProxy(to: store.server)
    var server = store.server
    server.hosts = [PostgresServer.Host("127.0.0.1", port: proxy.port)]
    let (container, context) = try context(.one, server)
    defer { withExtendedLifetime(container) {} }
    let isInserted = Mutex(false)
    proxy.decide { statements in
      guard statements.contains(where: { $0.contains("INSERT INTO") && $0.contains("\"code\"") }),
        !isInserted.withLock({ $0 })
      else { return .forward }
      isInserted.withLock { $0 = true }
      do {
        try store.sql(
          "INSERT INTO \(store.table("Item")) (_pk, _version, code, part, number, note) "
            + "VALUES (1000, 1, 'code 3', 1, 77, 'theirs')")
      } catch { Issue.record(error) }
      return .forward
    }
    let rows = (0..<10).map { Row(code: "code \($0)", part: 1, number: Int64($0), note: nil) }
    let count = try insert(rows, uniqueness, byKeyPaths: true, context)
    proxy.decide { _ in .forward }
    #expect(isInserted.withLock { $0 })
    #expect(count == (uniqueness == .keep ? 9 : 10))
    let found = try store.sql(
      "SELECT number, _version, note FROM \(store.table("Item")) WHERE code = 'code 3'")
    #expect(found.int(0, 0) == (uniqueness == .keep ? 77 : 3))
    #expect(found.int(0, 1) == (uniqueness == .keep ? 1 : 2) && found.string(0, 2) == "theirs")
    #expect(try contents(store, .one).count == 10)
  }

  /// Another program inserts a row before the insertion, and deletes it before the update.
  @Test func anotherProgramDeletesTheRowThatIsInTheWay() throws {
    let store = try ServerStore()
    let proxy = try TestProxy(to: store.server)
    var server = store.server
    server.hosts = [PostgresServer.Host("127.0.0.1", port: proxy.port)]
    let (container, context) = try context(.one, server)
    defer { withExtendedLifetime(container) {} }
    let table = store.table("Item")
    let done = Mutex((isInserted: false, isDeleted: false))
    proxy.decide { statements in
      let isInsertion = statements.contains { $0.contains("INSERT INTO") && $0.contains("\"code\"") }
      let isUpdate = statements.contains { $0.hasPrefix("UPDATE") && $0.contains("RETURNING") }
      let change = done.withLock { done -> String? in
        if isInsertion, !done.isInserted {
          done.isInserted = true
          return "INSERT INTO \(table) (_pk, _version, code, part, number, note) "
            + "VALUES (1000, 1, 'code 3', 1, 77, 'theirs')"
        }
        if isUpdate, done.isInserted, !done.isDeleted {
          done.isDeleted = true
          return "DELETE FROM \(table) WHERE _pk = 1000"
        }
        return nil
      }
      do { if let change { try store.sql(change) } } catch { Issue.record(error) }
      return .forward
    }
    let rows = (0..<10).map { Row(code: "code \($0)", part: 1, number: Int64($0), note: nil) }
    let count = try insert(rows, .update, byKeyPaths: true, context)
    proxy.decide { _ in .forward }
    #expect(done.withLock { $0.isInserted && $0.isDeleted })
    #expect(count == 10)
    let found = try store.sql("SELECT number, _version, note FROM \(table) WHERE code = 'code 3'")
    #expect(found.rowCount == 1)
    #expect(found.int(0, 0) == 3 && found.int(0, 1) == 1 && found.string(0, 2) == "none")
    #expect(try contents(store, .one).count == 10)
  }

  /// A row that another index refuses is named.
  @Test func theRefusedRowIsNamed() throws {
    let store = try ServerStore()
    let model = ManagedObjectModel(
      name: "Ends", id: UUID(uuidString: "0B2D2D3E-9B07-4B1C-8C55-4B9C7C7B3A98") ?? UUID(),
      versions: [
        ModelVersion(
          number: 1,
          entities: [
            EntityDescription(
              name: "Item", attributes: [AttributeDescription(name: "code", type: .string)],
              relationships: [RelationshipDescription(name: "end", destination: "End", inverse: "item")],
              uniquenessConstraints: [["code"]]),
            EntityDescription(
              name: "End", attributes: [AttributeDescription(name: "name", type: .string)],
              relationships: [RelationshipDescription(name: "item", destination: "Item", inverse: "end")]),
          ])
      ], currentVersionNumber: 1)
    let container = PersistentContainer(
      try PersistentStoreCoordinator(model: model, at: .server(store.server)))
    let context = container.newContext()
    // The reference may be in either table. One of the two refuses a row.
    let owner = try #require(
      ["Item", "End"].first { name in
        context.model.entity(name)?.columns.contains { $0.name == "end" || $0.name == "item" } == true
      })
    guard owner == "Item" else { return }
    let end = try context.insert(entityNamed: "End")
    try end.setValue("a", forKey: "name")
    try context.save()
    let rows: [[String: FetchedValue]] = (0..<20).map { number in
      [
        "code": .attribute(.string("\(number)")),
        "end": .object(number == 7 || number == 12 ? end.objectID : nil),
      ]
    }
    var request = BatchInsertRequest<ManagedObject>(entityName: "Item", rows: rows)
    request.uniqueness = .keep
    let error = #expect(throws: BatchError.self) { try context.execute(request) }
    guard case .notUnique(_, _, row: 12)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(try store.count("Item") == 0)
  }
}

/// Random numbers that a seed determines.
private struct Numbers: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return (state ^ state >> 29) &* 0x9E37_79B9_7F4A_7C15
  }
}
