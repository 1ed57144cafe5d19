import Foundation
import SeededRandom
import Testing

@testable import CDRuntime

/// Which comparisons SQLite answers by an index: its plans for the statements that fetches run.
@Suite(.onceForAllKinds) struct IndexUseTests {
  private static let version = ModelVersion(
    number: 1,
    entities: [
      EntityDescription(
        name: "Item",
        attributes: [
          AttributeDescription(name: "name", type: .string),
          AttributeDescription(name: "note", type: .string, isOptional: true),
          AttributeDescription(name: "number", type: .int64, defaultValue: .value(.int(0))),
          AttributeDescription(name: "price", type: .decimal, isOptional: true),
          AttributeDescription(name: "added", type: .date, isOptional: true),
          AttributeDescription(name: "code", type: .uuid, isOptional: true),
        ],
        relationships: [RelationshipDescription(name: "owner", destination: "Owner", inverse: "items")],
        indexes: ["name", "note", "number", "price", "added", "code"].map {
          IndexDescription(elements: [SortKey($0)])
        }),
      EntityDescription(
        name: "Owner", attributes: [AttributeDescription(name: "name", type: .string)],
        relationships: [
          RelationshipDescription(name: "items", destination: "Item", isToMany: true, inverse: "owner")
        ]),
    ])

  private let container: PersistentContainer
  private let context: ManagedObjectContext
  private let owner: ManagedObject

  init() throws {
    container = try PersistentContainer(
      inMemoryModel: ManagedObjectModel(
        name: "Items", id: UUID(), versions: [Self.version], currentVersionNumber: 1))
    context = container.newContext()
    owner = try context.insert(entityNamed: "Owner", values: ["name": "o"])
    for number in 0..<200 {
      let item = try context.insert(
        entityNamed: "Item", values: ["name": "item \(number)", "number": number, "price": Decimal(number)])
      if number < 3 { try item.setValue(owner, forKey: "owner") }
    }
    try context.save()
  }

  /// The steps of SQLite's plan for a fetch, without those of sorting.
  private func plan(
    _ format: String, _ arguments: [(any FormatArgument)?] = [], on entity: String = "Item",
    sortedBy sortKeys: [SortKey] = [], limit: Int? = nil
  ) throws -> [String] {
    var request = FetchRequest<ManagedObject>(
      entityName: entity, where: try FetchPredicate(format: format, arguments: arguments))
    request.sortKeys = sortKeys
    request.limit = limit
    let trace = try StatementTrace(context)
    _ = try context.objectIDs(for: request)
    let sql = try #require(trace.taken().last)
    return try context.connection().rows("EXPLAIN QUERY PLAN " + sql).compactMap { $0[3] }
      .filter { sortKeys.isEmpty ? !$0.hasPrefix("USE TEMP B-TREE") : true }
  }

  @Test func equality() throws {
    #expect(try plan("name == 'a'") == ["SEARCH t0 USING COVERING INDEX Item.index.name (name=?)"])
    #expect(try plan("'a' == name") == ["SEARCH t0 USING COVERING INDEX Item.index.name (name=?)"])
    #expect(try plan("note == nil") == ["SEARCH t0 USING COVERING INDEX Item.index.note (note=?)"])
    #expect(try plan("number == 3.0") == ["SEARCH t0 USING COVERING INDEX Item.index.number (number=?)"])
    #expect(try plan("price == 9.99") == ["SEARCH t0 USING COVERING INDEX Item.index.price (price=?)"])
    #expect(try plan("code == %@", [UUID()]) == ["SEARCH t0 USING COVERING INDEX Item.index.code (code=?)"])
    #expect(try plan("name == 'a' AND number > 3") == ["SEARCH t0 USING INDEX Item.index.name (name=?)"])
    #expect(
      try plan("owner == %@", [owner.reference]) == ["SEARCH t0 USING COVERING INDEX Item.owner (owner=?)"])
    #expect(
      try plan("SELF == %@", [owner.reference], on: "Owner") == [
        "SEARCH t0 USING INTEGER PRIMARY KEY (rowid=?)"
      ])
  }

  @Test func ranges() throws {
    #expect(try plan("number > 3") == ["SEARCH t0 USING COVERING INDEX Item.index.number (number>?)"])
    #expect(
      try plan("number BETWEEN {3, 5}") == [
        "SEARCH t0 USING COVERING INDEX Item.index.number (number>? AND number<?)"
      ])
    #expect(try plan("price <= 9.99") == ["SEARCH t0 USING COVERING INDEX Item.index.price (price<?)"])
    #expect(
      try plan("added >= %@ AND added < %@", [Date(), Date()]) == [
        "SEARCH t0 USING COVERING INDEX Item.index.added (added>? AND added<?)"
      ])
    #expect(
      try plan("name BEGINSWITH 'item 1'") == [
        "SEARCH t0 USING COVERING INDEX Item.index.name (name>? AND name<?)"
      ])
    // An order by the index needs no sorting.
    #expect(
      try plan("number > 3", sortedBy: [SortKey("number")], limit: 5) == [
        "SEARCH t0 USING COVERING INDEX Item.index.number (number>?)"
      ])
  }

  @Test func lists() throws {
    #expect(try plan("name IN {'a', 'b'}") == ["SEARCH t0 USING COVERING INDEX Item.index.name (name=?)"])
    #expect(
      try plan("number == 1 OR number == 2 OR number == 7") == [
        "SEARCH t0 USING COVERING INDEX Item.index.number (number=?)"
      ])
    #expect(
      try plan("number IN %@", [Array(0..<100_000)]).first
        == "SEARCH t0 USING COVERING INDEX Item.index.number (number=?)")
    #expect(
      try plan("name == 'a' OR number == 3").first == "MULTI-INDEX OR")
  }

  @Test func paths() throws {
    // By the index of one of the two.
    #expect(
      try plan("ANY items.number == 3", on: "Owner").last?.hasPrefix("SEARCH r1 USING INDEX Item.") == true)
    #expect(
      try plan("ANY items.note != 'x'", on: "Owner") == [
        "SCAN t0", "CORRELATED SCALAR SUBQUERY 1", "SEARCH r1 USING INDEX Item.owner (owner=?)",
      ])
    #expect(
      try plan("items.@count > 2", on: "Owner") == [
        "SCAN t0", "CORRELATED SCALAR SUBQUERY 1", "SEARCH r1 USING COVERING INDEX Item.owner (owner=?)",
      ])
    #expect(
      try plan("owner.name == 'o'") == [
        "SCAN t0", "CORRELATED SCALAR SUBQUERY 1", "SEARCH r1 USING INTEGER PRIMARY KEY (rowid=?)",
      ])
  }

  /// What folds, and what other comparisons of memory than the column's order decide, looks at every row.
  @Test(arguments: [
    "name ==[c] 'a'", "name CONTAINS 'a'", "name ENDSWITH 'a'", "name BEGINSWITH 'é'", "name LIKE 'a*'",
  ])
  func scans(format: String) throws {
    #expect(try plan(format).first?.hasPrefix("SCAN t0") == true)
  }

  // Each row held against each element would take hours.
  @Test(.timeLimit(.minutes(10))) func longListsOfAllKindsAnswerInTime() throws {
    let length = isThorough ? 100_000 : 30_000
    let numbers: [(any FormatArgument)?] = [Array(0..<length)]
    let names: [(any FormatArgument)?] = [(0..<length).map { "item \($0)" }]
    let decimals: [(any FormatArgument)?] = [(0..<length).map { Decimal($0) }]
    let dates: [(any FormatArgument)?] = [
      (0..<10_000).map { Date(timeIntervalSinceReferenceDate: Double($0)) }
    ]
    for hasChanges in [false, true] {
      if hasChanges {
        // Every item is held against the list in memory.
        for item in try context.objects(forEntityNamed: "Item") { try item.setValue(owner, forKey: "owner") }
      }
      for (format, arguments, count) in [
        ("number IN %@", numbers, 200), ("NOT number IN %@", numbers, 0), ("name IN %@", names, 200),
        ("price IN %@", decimals, 200), ("added IN %@", dates, 0), ("name IN %@", numbers, 0),
      ] where !hasChanges || format.contains("number") || format.contains("name") {
        let request = FetchRequest<ManagedObject>(
          entityName: "Item", where: try FetchPredicate(format: format, arguments: arguments))
        #expect(try context.count(for: request) == count, "\(format)")
        #expect(try context.fetch(request).count == count, "\(format)")
      }
    }
  }
}
