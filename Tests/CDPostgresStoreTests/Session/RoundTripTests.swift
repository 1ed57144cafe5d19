import CDModel
import Foundation
import Testing

@testable import CDPostgresStore
@testable import CDRuntime

/// How often a program waits for the server.
@Suite(.needsServer) struct RoundTripTests {
  private let store: ServerStore
  private let proxy: TestProxy

  init() throws {
    store = try ServerStore()
    proxy = try TestProxy(to: store.server)
  }

  private func fill(_ count: Int) throws {
    let context = try store.context()
    for number in 0..<count {
      let shelf = try context.insert(entityNamed: "Shelf")
      try shelf.setValue("shelf \(number)", forKey: "name")
      try context.addBook("book \(number)", pages: Int64(number)).setValue(shelf, forKey: "shelf")
    }
    try context.save()
  }

  /// The round trips of a body that somebody waits for.
  private func trips(_ body: () throws -> Void) throws -> [[String]] {
    _ = proxy.takeRoundTrips()
    try body()
    return proxy.takeRoundTrips().filter { $0 != ["ROLLBACK"] }
  }

  /// Runs a body, and checks how many round trips it has waited for.
  private func expect<R: Equatable>(
    _ result: R, _ count: Int, _ location: SourceLocation = #_sourceLocation, _ body: () throws -> R
  ) throws {
    var found: R?
    let trips = try trips { found = try body() }
    #expect(trips.count == count, "\(trips.map { $0.map { $0.prefix(60) } })", sourceLocation: location)
    #expect(found == result, sourceLocation: location)
  }

  @Test func aFetchIsOne() throws {
    try fill(3)
    let context = try store.context(through: proxy)
    for _ in 0..<3 {
      try expect(3, 1) { try context.titles().count }
      try expect(2, 1) { try context.perform { try context.titles("pages > 0").count } }
      try expect(3, 1) { try context.count(for: FetchRequest<ManagedObject>(entityName: "Book")) }
    }
    // Also if another one has saved in between: then the history is read too.
    let other = try store.context()
    try other.objects(forEntityNamed: "Book", format: "pages == 0")[0].setValue("new", forKey: "title")
    try other.save()
    try expect(["new"], 2) { try context.titles("pages == 0") }
    try expect(["new"], 1) { try context.titles("pages == 0") }
    // A block's first read begins its snapshot. Each further one is one round trip.
    let two = try trips {
      try context.perform {
        _ = try context.titles("pages == 0")
        _ = try context.titles("pages == 1")
      }
    }
    #expect(two.count == 2 && two[0].first?.hasPrefix("BEGIN") == true, "\(two)")
  }

  @Test func aLookupIsNoneIfTheObjectIsInMemory() throws {
    try fill(1)
    let context = try store.context(through: proxy)
    let id = try context.objects(forEntityNamed: "Book")[0].objectID
    let book = try context.existingObject(with: id)
    try expect(true, 0) { try context.existingObject(with: id) === book }
    try expect(true, 0) { try context.perform { try context.existingObject(with: id) === book } }
    context.refreshAllObjects()
    try expect(true, 1) { try context.existingObject(with: id) === book }
  }

  /// The rows of a fetch stay known, however many of the related rows are read after them.
  @Test(arguments: [1000, 3000]) func siblingsAreReadTogether(count: Int) throws {
    try fill(count)
    let context = try store.context(through: proxy)
    let found = try trips {
      try context.perform {
        for book in try context.objects(forEntityNamed: "Book") {
          guard case .object(let shelf?) = try book.value(forKey: "shelf") else {
            Issue.record("no shelf")
            return
          }
          _ = try shelf.value(forKey: "name")
        }
      }
    }
    // The books, and 256 shelves each time.
    #expect(found.count <= 1 + (count + 255) / 256, "\(found.map { $0.map { $0.prefix(60) } })")
  }

  /// The changes of others are seen with the rows that are read, in blocks and outside of them.
  @Test func theChangesOfOthersAreSeenWithTheNextRows() throws {
    try fill(2)
    let context = try store.context(through: proxy)
    let books = try context.objects(forEntityNamed: "Book", format: "TRUEPREDICATE")
    let other = try store.context()
    func change(_ title: String) throws {
      for book in try other.objects(forEntityNamed: "Book", format: "TRUEPREDICATE") {
        try book.setValue(title, forKey: "title")
      }
      try other.save()
    }
    func titles() throws -> [String] {
      try books.map {
        if case .attribute(.string(let text)) = try $0.value(forKey: "title") { text } else { "?" }
      }
    }
    try change("a")
    _ = try context.count(for: FetchRequest<ManagedObject>(entityName: "Shelf"))
    #expect(try titles() == ["a", "a"])
    try change("b")
    try context.perform {
      _ = try context.count(for: FetchRequest<ManagedObject>(entityName: "Shelf"))
      let before = try titles()
      try change("c")
      let after = try titles()
      #expect(before == ["b", "b"] && after == ["b", "b"])
    }
    _ = try context.titles()
    #expect(try titles() == ["c", "c"])
    // A deletion and an insertion.
    other.delete(try #require(try other.objects(forEntityNamed: "Book").first))
    try other.addBook("new")
    try other.save()
    let left = try context.perform { try context.titles().sorted() }
    #expect(left == ["c", "new"])
    let gone = books.filter(\.isInaccessible)
    #expect(gone.count == 1)
  }

  /// A statement that fails because of a row leaves the changes of others to the next one.
  @Test func aFailedStatementLosesNoChange() throws {
    try fill(2)
    let context = try store.context(through: proxy)
    let books = try context.objects(forEntityNamed: "Book", format: "TRUEPREDICATE")
    let other = try store.context()
    for book in try other.objects(forEntityNamed: "Book", format: "TRUEPREDICATE") {
      try book.setValue("new", forKey: "title")
    }
    try other.save()
    try context.perform {
      #expect(throws: (any Error).self) { try context.titles("10 / pages == 5") }
      _ = try context.titles("pages == 1")
      for book in books {
        let title = try book.value(forKey: "title")
        #expect(title == .attribute(.string("new")))
      }
    }
  }

  @Test func aSaveOfAThousandIsThree() throws {
    try fill(500)
    let context = try store.context(through: proxy)
    let books = try context.objects(forEntityNamed: "Book", format: "TRUEPREDICATE")
    let shelves = try context.objects(forEntityNamed: "Shelf", format: "TRUEPREDICATE")
    for (number, book) in books.enumerated() {
      if number % 2 == 0 { try book.setValue("changed", forKey: "title") } else { context.delete(book) }
    }
    for number in 0..<400 { try context.addBook("new \(number)").setValue(shelves[number], forKey: "shelf") }
    for shelf in shelves.prefix(100) { try shelf.setValue("s \(shelf.objectID)", forKey: "name") }
    let found = try trips { try context.save() }
    #expect(found.count <= 3, "\(found.map { $0.map { $0.prefix(60) } })")
    #expect(try store.count("Book") == 650)
  }
}
