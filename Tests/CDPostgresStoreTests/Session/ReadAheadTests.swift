import CDModel
import Foundation
import Synchronization
import Testing

@testable import CDPostgresStore
@testable import CDRuntime

/// Rows that the server reads while the program uses others.
@Suite(.needsServer) struct ReadAheadTests {
  private let store: ServerStore
  private let proxy: TestProxy

  init() throws {
    store = try ServerStore()
    proxy = try TestProxy(to: store.server)
  }

  /// Books with a shelf of their own each: the book "7" has the shelf "shelf 7".
  private func fill(_ count: Int) throws {
    let context = try store.context()
    for number in 0..<count {
      let shelf = try context.insert(entityNamed: "Shelf")
      try shelf.setValue("shelf \(number)", forKey: "name")
      try context.addBook("\(number)", pages: Int64(number)).setValue(shelf, forKey: "shelf")
    }
    try context.save()
  }

  /// Whether a book has the name of its own shelf.
  private static func hasItsShelf(_ book: ManagedObject) throws -> Bool {
    guard case .object(let shelf) = try book.value(forKey: "shelf") else { return false }
    return try shelf?.text("name") == book.text("title").map { "shelf " + $0 }
  }

  private static func books(_ context: ManagedObjectContext) throws -> [ManagedObject] {
    try context.objects(forEntityNamed: "Book", format: "TRUEPREDICATE")
  }

  private enum Order: CaseIterable {
    case ofTheFetch, reversed, random, withHoles
  }

  @Test(arguments: Order.allCases) private func eachObjectGetsItsRow(order: Order) throws {
    try fill(2000)
    let context = try store.context(through: proxy)
    _ = proxy.takeRoundTrips()
    try context.perform {
      var books = try Self.books(context)
      switch order {
      case .ofTheFetch: break
      case .reversed: books.reverse()
      case .random: books.shuffle()
      case .withHoles: books.removeAll { _ in Bool.random() }
      }
      for book in books { #expect(try Self.hasItsShelf(book)) }
    }
    let trips = proxy.takeRoundTrips().filter { $0 != ["ROLLBACK"] }
    // One fetch, and 256 shelves at a time.
    #expect(trips.count <= 1 + 8 + (order == .ofTheFetch ? 0 : 4), "\(trips.count)")
  }

  /// The program needs the rows before it asks for others, so the statements of both do not mix.
  @Test func otherStatementsMayComeBetween() throws {
    try fill(1500)
    let context = try store.context()
    try context.perform {
      for (number, book) in try Self.books(context).enumerated() {
        #expect(try Self.hasItsShelf(book))
        switch number % 97 {
        case 11: #expect(try context.count(for: FetchRequest<ManagedObject>(entityName: "Book")) == 1500)
        case 50: #expect(try context.titles("pages == \(number)") == ["\(number)"])
        case 70:
          // A statement that fails for its rows leaves the snapshot as it is.
          #expect(throws: (any Error).self) {
            try context.objects(forEntityNamed: "Book", format: "pages / (pages - \(number)) > 0")
          }
        default: break
        }
      }
    }
  }

  /// A block ends while the server reads. The connection is used again at once.
  @Test func aBlockMayEndBefore() throws {
    try fill(1200)
    let container = PersistentContainer(try store.coordinator { $0.poolSize = 1 })
    for count in [257, 300, 512, 513, 600, 769, 1000, 1199] {
      let context = container.newContext()
      try context.perform {
        for book in try Self.books(context).prefix(count) { #expect(try Self.hasItsShelf(book)) }
      }
      #expect(try context.titles("pages == 5") == ["5"])
      try context.addBook("new \(count)")
      try context.save()
    }
    #expect(try store.count("Book") == 1208)
    #expect(try container.persistentStoreCoordinator.verify().isEmpty)
  }

  /// The connection is lost, or the server refuses a statement, at each round trip. No object gets the row of another one,
  /// and the next block works.
  @Test(arguments: [
    TestProxy.Action.cutBefore, .cutAfter, .fail(code: "40001", at: 0), .fail(code: "57P01", at: 0),
  ])
  func failuresAreNotMistakenForRows(action: TestProxy.Action) throws {
    try fill(1500)
    let container = PersistentContainer(try store.coordinator(through: proxy))
    for point in 1...8 {
      let count = Mutex(0)
      proxy.decide { _ in
        count.withLock {
          $0 += 1
          return $0 == point ? action : .forward
        }
      }
      let context = container.newContext()
      var found = 0
      do {
        try context.perform {
          for book in try Self.books(context) {
            guard case .object(let shelf?) = try book.value(forKey: "shelf") else { continue }
            guard let name = try shelf.text("name"), name != "" else { continue }
            #expect(try name == book.text("title").map { "shelf " + $0 })
            found += 1
          }
        }
      } catch { #expect(error is StoreError, "\(error)") }
      proxy.decide { _ in .forward }
      #expect(found <= 1500)
      let other = container.newContext()
      try other.perform {
        for book in try Self.books(other) { #expect(try Self.hasItsShelf(book)) }
      }
    }
  }

  /// A task is cancelled at any moment, also while the server reads rows that nobody waits for.
  @Test func tasksMayBeCancelled() async throws {
    try fill(1500)
    let container = PersistentContainer(try store.coordinator { $0.poolSize = 2 })
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<40 {
        group.addTask {
          let task = Task {
            try await container.performBackgroundTask { context in
              try context.perform {
                for (number, book) in try Self.books(context).enumerated() {
                  #expect(try Self.hasItsShelf(book))
                  if number % 100 == 99 { _ = try context.titles("pages == \(number)") }
                }
              }
            }
          }
          try? await Task.sleep(for: .microseconds(Int.random(in: 0...60_000)))
          task.cancel()
          do { try await task.value } catch {
            if !(error is CancellationError) { Issue.record(error) }
          }
        }
      }
    }
    #expect(try store.context().titles().count == 1500)
  }
}

@Suite struct KeyTableTests {
  /// Compared with a dictionary, with keys that are near to each other, and with any.
  @Test func itFindsWhatADictionaryFinds() {
    for range in [1...40, 1...5000, 1...Int64.max, -20...20] {
      var table = KeyTable()
      var dictionary: [Int64: Int] = [:]
      for number in 0..<3000 {
        let key = Int64.random(in: range)
        if key == 0 { continue }
        let isNew = dictionary[key] == nil
        if isNew { dictionary[key] = number }
        #expect(table.insert(key, number) == isNew)
        let other = Int64.random(in: range)
        if other != 0 { #expect(table[other] == dictionary[other]) }
      }
      #expect(table.count == dictionary.count)
      for (key, number) in dictionary { #expect(table[key] == number) }
    }
    #expect(KeyTable()[1] == nil)
  }
}
