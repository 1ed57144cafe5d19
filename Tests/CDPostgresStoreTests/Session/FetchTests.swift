import CDModel
import Foundation
import Testing

@testable import CDPostgresStore
@testable import CDRuntime

/// Reads: how often the server is asked, and what it answers.
@Suite(.needsServer) struct FetchTests {
  private let store: ServerStore
  private let proxy: TestProxy

  init() throws {
    store = try ServerStore()
    proxy = try TestProxy(to: store.server)
  }

  /// Shelves with books, and tags of the books.
  private func fill(shelves: Int, booksOfEach: Int) throws {
    let context = try store.context()
    for number in 0..<shelves {
      let shelf = try context.insert(entityNamed: "Shelf")
      try shelf.setValue("shelf \(number)", forKey: "name")
      for place in 0..<booksOfEach {
        let book = try context.addBook("\(number).\(place)", pages: Int64(number))
        try book.setValue(shelf, forKey: "shelf")
      }
    }
    try context.save()
  }

  /// The round trips that somebody waits for.
  private func waits() -> [[String]] { proxy.takeRoundTrips().filter { $0 != ["ROLLBACK"] } }

  @Test func relatedObjectsComeTogether() throws {
    try fill(shelves: 1000, booksOfEach: 1)
    let context = try store.context(through: proxy)
    _ = waits()
    try context.perform {
      for book in try context.objects(forEntityNamed: "Book", format: "TRUEPREDICATE") {
        guard case .object(let shelf) = try book.value(forKey: "shelf") else {
          Issue.record("no object")
          return
        }
        let (title, name) = try (book.text("title"), shelf?.text("name"))
        #expect(title == name.map { String($0.dropFirst("shelf ".count)) + ".0" })
      }
    }
    let trips = waits()
    #expect(trips.count <= 6, "\(trips.map { $0.map { $0.prefix(80) } })")
  }

  @Test func listsComeTogether() throws {
    try fill(shelves: 200, booksOfEach: 3)
    let context = try store.context(through: proxy)
    _ = waits()
    try context.perform {
      for shelf in try context.objects(forEntityNamed: "Shelf", format: "TRUEPREDICATE") {
        guard case .objects(let books) = try shelf.value(forKey: "books") else {
          Issue.record("no objects")
          return
        }
        let name = try #require(try shelf.text("name")).dropFirst("shelf ".count)
        #expect(try books.map { try $0.text("title") } == (0..<3).map { "\(name).\($0)" })
      }
    }
    let trips = waits()
    #expect(trips.count <= 5, "\(trips.map { $0.map { $0.prefix(80) } })")
  }

  /// A list that has been read with others is that of the snapshot, and the next block has a new one.
  @Test func whatWasReadTogetherEndsWithTheSnapshot() throws {
    try fill(shelves: 3, booksOfEach: 1)
    let context = try store.context()
    let other = try store.context()
    func books() throws -> [ManagedObject] {
      try context.objects(forEntityNamed: "Book", format: "TRUEPREDICATE")
    }
    func names(_ books: [ManagedObject]) throws -> [String?] {
      try books.map { book in
        guard case .object(let shelf) = try book.value(forKey: "shelf") else { return nil }
        return try shelf?.text("name")
      }
    }
    try context.perform { () throws -> Void in
      let found = try books()
      let shelf = try other.objects(forEntityNamed: "Shelf", format: "name == 'shelf 2'")[0]
      try shelf.setValue("changed", forKey: "name")
      try other.save()
      #expect(try names(found) == ["shelf 0", "shelf 1", "shelf 2"])
    }
    #expect(try context.perform { try names(books()) } == ["shelf 0", "shelf 1", "changed"])
    // Without a block, each read sees the newest state.
    let shelf = try other.objects(forEntityNamed: "Shelf", format: "name == 'shelf 1'")[0]
    try shelf.setValue("changed too", forKey: "name")
    try other.save()
    #expect(try names(books()) == ["shelf 0", "changed too", "changed"])
  }

  @Test func aConnectionThatIsLostBetweenBlocksIsReplaced() throws {
    try fill(shelves: 1, booksOfEach: 2)
    let context = try store.context(through: proxy)
    #expect(try context.perform { try context.titles().count } == 2)
    proxy.cutAll()
    #expect(try context.perform { try context.titles().count } == 2)
    proxy.cutAll()
    try context.addBook("new")
    try context.save()
    #expect(try context.titles().count == 3)
  }

  /// A block whose connection is lost has lost its snapshot: it is told, and the next one works.
  @Test func aSnapshotThatIsLostIsAnError() throws {
    try fill(shelves: 1, booksOfEach: 2)
    let context = try store.context(through: proxy)
    let error = #expect(throws: StoreError.self) {
      try context.perform {
        _ = try context.titles()
        proxy.cutAll()
        _ = try context.titles("pages == 0")
      }
    }
    guard case .engine(_, let reason)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(reason.code.hasPrefix("08") || reason.code.hasPrefix("57"))
    #expect(try context.perform { try context.titles().count } == 2)
  }

  /// An object whose row cannot be read is not taken for a deleted one, and is read when the server answers again.
  @Test func anUnreadableObjectIsNotGone() throws {
    try fill(shelves: 1, booksOfEach: 1)
    let context = try store.context(through: proxy)
    let book = try context.objects(forEntityNamed: "Book")[0]
    let title = try book.text("title")
    context.refreshAllObjects()
    proxy.decide { _ in .cutBefore }
    let error = #expect(throws: StoreError.self) {
      try context.perform { _ = try context.existingObject(with: book.objectID) }
    }
    guard case .engine(_, let reason)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(reason.isOfConnection && book.isFault && !book.isInaccessible)
    proxy.decide { _ in .forward }
    #expect(try context.existingObject(with: book.objectID) === book)
    #expect(try book.text("title") == title)
  }

  /// A calculation that fails for a row leaves the snapshot as it is.
  @Test func aFailedCalculationEndsNothing() throws {
    let context = try store.context()
    try context.addBook("a", pages: 0)
    try context.addBook("b", pages: 2)
    try context.save()
    try context.perform { () throws -> Void in
      #expect(try context.titles().count == 2)
      #expect(throws: (any Error).self) { try context.titles("10 / pages == 5") }
      #expect(try context.titles("pages == 2") == ["b"])
      #expect(throws: (any Error).self) { try context.titles("pages * 9223372036854775807 > 1") }
      #expect(try context.titles("pages == 0") == ["a"])
    }
    #expect(throws: (any Error).self) { try context.perform { try context.titles("10 / pages == 5") } }
    #expect(try context.titles("pages != 0 AND 10 / pages == 5") == ["b"])
  }
}
