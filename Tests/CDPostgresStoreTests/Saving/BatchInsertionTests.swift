import CDModel
import Foundation
import Testing

@testable import CDPostgresStore
@testable import CDRuntime

/// Batch inserts, whose rows are sent together.
@Suite(.needsServer) struct BatchInsertionTests {
  private let store: ServerStore

  init() throws { store = try ServerStore() }

  private func insert(
    _ names: [String?], into context: ManagedObjectContext, _ uniqueness: BatchUniqueness = .refuse
  ) throws -> BatchResult {
    var request = BatchInsertRequest<ManagedObject>(
      entityName: "Shelf", rows: names.map { ["name": .attribute($0.map { .string($0) } ?? .null)] })
    request.uniqueness = uniqueness
    return try context.execute(request)
  }

  @Test(arguments: [1, 500, 501, 5000, 5001, 12_345]) func allRowsArrive(count: Int) throws {
    let proxy = try TestProxy(to: store.server)
    let context = try store.context(through: proxy)
    _ = proxy.takeRoundTrips()
    let result = try insert((0..<count).map { "shelf \($0)" }, into: context)
    #expect(result.count == count)
    let trips = proxy.takeRoundTrips()
    #expect(trips.count < 16 + count / 5000 * 4, "\(trips.count)")
    #expect(try store.count("Shelf") == count)
    let bounds = try store.sql("SELECT min(_pk), max(_pk), count(DISTINCT name) FROM \(store.table("Shelf"))")
    #expect(bounds.int(0, 0) == 1 && bounds.int(0, 1) == Int64(count) && bounds.int(0, 2) == Int64(count))
    // The next object has the next key.
    let next = try context.insert(entityNamed: "Shelf")
    try next.setValue("next", forKey: "name")
    try context.save()
    #expect(try store.count("Shelf") == count + 1)
    #expect(try store.coordinator().verify() == [])
  }

  /// The row that an index refuses is named, wherever it is among those that were sent together, and nothing is written.
  @Test(arguments: [(3, 1), (400, 399), (800, 700), (6000, 0), (6000, 5500), (6000, 5999)])
  func theRefusedRowIsNamed(count: Int, place: Int) throws {
    let context = try store.context()
    let old = try context.insert(entityNamed: "Shelf")
    try old.setValue("taken", forKey: "name")
    try context.save()
    let names = (0..<count).map { $0 == place ? "taken" : "shelf \($0)" }
    let error = #expect(throws: BatchError.self) { try insert(names, into: context) }
    guard case .notUnique("Shelf", let properties, let row)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(properties == ["name"] && row == place)
    #expect(try store.count("Shelf") == 1)
    #expect(try insert(names, into: context, .keep).count == count - 1)
    #expect(try store.count("Shelf") == count)
  }

  @Test func twoEqualRowsAreRefusedAtTheSecond() throws {
    let context = try store.context()
    var names = (0..<2000).map { "shelf \($0)" }
    names[1500] = names[3]
    let error = #expect(throws: BatchError.self) { try insert(names, into: context) }
    guard case .notUnique(_, _, let row)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(row == 1500)
    #expect(try store.count("Shelf") == 0)
  }

  @Test func aMistakeStopsAll() throws {
    let context = try store.context()
    var names: [String?] = (0..<6000).map { "shelf \($0)" }
    names[5900] = nil
    let error = #expect(throws: BatchError.self) { try insert(names, into: context) }
    guard case .invalid(let mistakes)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(mistakes.map(\.row) == [5900])
    #expect(try store.count("Shelf") == 0)
    #expect(throws: StoreError.self) { try insert(["a", "b\0c"], into: context) }
    #expect(try store.count("Shelf") == 0)
  }

  @Test(arguments: [PostgresServer.Features.common, .postgresql])
  func aReferenceToNothingIsRefused(features: PostgresServer.Features) throws {
    let store = try ServerStore { $0.features = features }
    let context = try store.context()
    let shelf = try context.insert(entityNamed: "Shelf")
    try shelf.setValue("a", forKey: "name")
    try context.save()
    func rows(_ id: ManagedObjectID) -> [[String: FetchedValue]] {
      (0..<700).map {
        ["title": .attribute(.string("\($0)")), "shelf": .object($0 == 650 ? id : shelf.objectID)]
      }
    }
    let other = try context.insert(entityNamed: "Shelf")
    try other.setValue("b", forKey: "name")
    try context.save()
    let id = other.objectID
    context.delete(other)
    try context.save()
    #expect(throws: BatchError.danglingReferences(entity: "Book")) {
      try context.execute(BatchInsertRequest<ManagedObject>(entityName: "Book", rows: rows(id)))
    }
    #expect(try store.count("Book") == 0)
    let result = try context.execute(
      BatchInsertRequest<ManagedObject>(entityName: "Book", rows: rows(shelf.objectID)))
    #expect(result.count == 700)
    #expect(try context.titles("shelf.name == 'a'").count == 700)
  }

  /// The rows come so slowly that the server would end the transaction before they are enough to be sent.
  @Test(arguments: [BatchUniqueness.refuse, .keep, .update])
  func rowsThatComeSlowlyArrive(_ uniqueness: BatchUniqueness) throws {
    let count = 60
    let context = try store.context { $0.statementTimeout = 1.5 }
    // A server ends the transaction after twice this time.
    let rows = (0..<count).lazy.map { number -> [String: FetchedValue] in
      usleep(100_000)
      return ["name": .attribute(.string("shelf \(number)"))]
    }
    var request = BatchInsertRequest<ManagedObject>(entityName: "Shelf", rows: rows)
    request.uniqueness = uniqueness
    #expect(try context.execute(request).count == count)
    #expect(try store.count("Shelf") == count)
  }

  @Test func largeValuesAreSentInParts() throws {
    let context = try store.context()
    let text = String(repeating: "x", count: 200_000)
    let result = try context.execute(
      BatchInsertRequest<ManagedObject>(
        entityName: "Book", rows: (0..<60).map { ["title": .attribute(.string("\($0)" + text))] }))
    #expect(result.count == 60)
    #expect(try store.sql("SELECT min(length(title)) FROM \(store.table("Book"))").int(0, 0) == 200_001)
  }
}
