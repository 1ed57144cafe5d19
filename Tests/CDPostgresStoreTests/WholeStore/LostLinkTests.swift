import CDModel
import Foundation
import Synchronization
import Testing

@testable import CDPostgresStore
@testable import CDRuntime

/// The link to the server fails for good, or falls silent, at each round trip of an operation. The operation ends with a typed
/// error within the time limits, nothing is left half written, and the pool recovers with the link.
@Suite(.needsServer, .timeLimit(.minutes(5))) struct LostLinkTests {
  enum Manner: CaseIterable { case cutBefore, cutAfter, silence }

  enum Operation: CaseIterable {
    case fetch, getter, save
    /// A save of so many new objects that `COPY` writes their rows.
    case copy
  }

  /// The context has told of an error of a getter, which throws none.
  private struct UnreadableProperty: Error {}

  /// The limits of the program's URL, in seconds.
  private static let limits = (connect: 2.0, statement: 1.0, replay: 3.0)
  /// All attempts of an operation, and what a busy machine adds.
  private static let longest = Duration.seconds(20)

  private let store: ServerStore
  private let proxy: TestProxy
  private let container: PersistentContainer
  private let book: ManagedObjectID

  init() throws {
    store = try ServerStore()
    let context = try store.context()
    let book = try context.addBook("first")
    try context.save()
    self.book = book.objectID
    let proxy = try TestProxy(to: store.server)
    self.proxy = proxy
    container = PersistentContainer(
      try store.coordinator(through: proxy) {
        $0.connectTimeout = Self.limits.connect
        $0.statementTimeout = Self.limits.statement
        $0.replayTimeout = Self.limits.replay
        $0.poolSize = 2
      })
  }

  @Test(arguments: Operation.allCases, Manner.allCases)
  func everyWaitHasAnEnd(_ operation: Operation, _ manner: Manner) throws {
    var known: Set<String> = ["first"]
    // The round trips of the operation on a link that works.
    let context = container.newContext()
    _ = try prepare(operation, "whole", context)
    _ = proxy.takeRoundTrips()
    known.formUnion(try run(operation, "whole", context))
    let count = proxy.takeRoundTrips().count
    #expect(count > 0)
    for place in 0..<count {
      let context = container.newContext()
      let title = "\(place)"
      _ = try prepare(operation, title, context)
      let passed = Mutex(0)
      proxy.decide { _ in
        let current = passed.withLock { passed in
          defer { passed += 1 }
          return passed
        }
        if current < place { return .forward }
        switch manner {
        case .cutBefore: return .cutBefore
        case .cutAfter: return .cutAfter
        case .silence: return .silence
        }
      }
      let start = ContinuousClock.now
      var isUnknown = false
      do {
        known.formUnion(try run(operation, title, context))
        Issue.record("\(operation) succeeded although the link was lost at \(place)")
      } catch StoreError.engine(_, let reason) {
        isUnknown = reason.code == PostgresFailure.unknownResult
        #expect(reason.isOfConnection || isUnknown || reason.code == "57014", "\(place): \(reason)")
      } catch is UnreadableProperty {
      } catch { Issue.record("\(operation) at \(place): \(error)") }
      let time = ContinuousClock.now - start
      #expect(time < Self.longest, "\(operation) at \(place) took \(time)")
      // Only a commit has a result that nobody knows.
      #expect(!isUnknown || operation == .save || operation == .copy)
      proxy.decide { _ in .forward }
      // The same context and the same pool go on.
      context.rollback()
      let found = Set(try context.titles())
      if isUnknown {
        #expect(known.isSubset(of: found) && found.subtracting(known).allSatisfy { $0.hasPrefix(title) })
        let written = found.subtracting(known).count
        #expect(written == 0 || written == newTitles(operation, title).count, "\(written) of a save")
      } else {
        #expect(found == known, "\(operation) at \(place)")
      }
      known = found
      known.formUnion(try run(.save, "after \(title)", context))
      #expect(Set(try store.context().titles()) == known)
    }
    #expect(try store.coordinator().verify().isEmpty)
  }

  /// Does what comes before an operation: its round trips are not part of it.
  private func prepare(_ operation: Operation, _ title: String, _ context: ManagedObjectContext) throws {
    switch operation {
    case .fetch: break
    case .getter: _ = try context.object(with: book)
    case .save, .copy: for title in newTitles(operation, title) { try context.addBook(title) }
    }
  }

  private func newTitles(_ operation: Operation, _ title: String) -> [String] {
    switch operation {
    case .fetch, .getter: []
    case .save: [title]
    case .copy: (0..<600).map { "\(title) \($0)" }
    }
  }

  /// - Returns: The titles that the operation has written.
  private func run(_ operation: Operation, _ title: String, _ context: ManagedObjectContext) throws
    -> [String]
  {
    switch operation {
    case .fetch: _ = try context.titles()
    case .getter:
      // A getter throws nothing. The context tells of the error.
      let value = try context.object(with: book).committedValues["title"]?.attribute
      if value == .string("first") { return [] }
      guard case .readFailed? = context.recentErrors.last?.reason else {
        Issue.record("the getter gave \(String(describing: value)) without an error")
        return []
      }
      throw UnreadableProperty()
    case .save, .copy:
      if !context.hasChanges { try prepare(operation, title, context) }
      try context.save()
    }
    return newTitles(operation, title)
  }

  /// The state that a block has read is gone with the connection. No read of the block returns another state.
  @Test func aBlockThatHasLostItsConnectionReadsNothingElse() throws {
    let context = container.newContext()
    try context.perform { () throws -> Void in
      #expect(try context.titles() == ["first"])
      proxy.decide { _ in .cutBefore }
      let first = #expect(throws: StoreError.self) { try context.titles() }
      proxy.decide { _ in .forward }
      let other = try store.context()
      try other.addBook("second")
      try other.save()
      let second = #expect(throws: StoreError.self) { try context.titles() }
      #expect(first == second)
      #expect(throws: StoreError.self) {
        try context.count(for: FetchRequest<ManagedObject>(entityName: "Shelf"))
      }
    }
    #expect(try Set(context.perform { try context.titles() }) == ["first", "second"])
  }

  /// The connection is lost while the server reads rows for which the block has not waited yet.
  @Test func aBlockThatHasLostRowsReadAheadReadsNothingElse() throws {
    let count = 1000
    let setUp = try store.context()
    for number in 0..<count {
      let shelf = try setUp.insert(entityNamed: "Shelf")
      try shelf.setValue("shelf \(number)", forKey: "name")
      try setUp.addBook("\(number)", pages: 1).setValue(shelf, forKey: "shelf")
    }
    try setUp.save()
    let context = container.newContext()
    try context.perform { () throws -> Void in
      var isLost = false
      let books = try context.objects(forEntityNamed: "Book", format: "pages == 1")
      for (number, book) in books.enumerated() where !isLost {
        // The server reads ahead from the second group of shelves on.
        if number == 300 { proxy.cutAll() }
        // A getter throws nothing. The context tells of the error.
        if case .object(let shelf?)? = try? book.value(forKey: "shelf") { _ = try? shelf.text("name") }
        if case .readFailed? = context.recentErrors.last?.reason { isLost = true }
      }
      #expect(isLost)
      #expect(throws: StoreError.self) { try context.titles() }
    }
    #expect(try context.perform { try context.titles().count } == count + 1)
  }

  /// A sequence of saves goes on when the server is back.
  @Test func aSequenceOfSavesOutlivesTheConnection() async throws {
    let changes = try container.persistentStoreCoordinator.changes()
    proxy.decide { _ in .cutBefore }
    proxy.cutAll()
    // Some checks fail.
    try await Task.sleep(for: .seconds(1))
    let context = try store.context()
    try context.addBook("second")
    try context.save()
    proxy.decide { _ in .forward }
    for try await transaction in changes {
      #expect(transaction.changes.inserted.count == 1)
      break
    }
  }

  /// The first read of a block fails, and so does the return to the savepoint before it. The connection is not lost to others.
  @Test func aReadThatFailsTwiceGivesItsConnectionBack() throws {
    let store = try ServerStore { server in
      server.poolSize = 1
      server.connectTimeout = 3
    }
    let proxy = try TestProxy(to: store.server)
    let container = PersistentContainer(try store.coordinator(through: proxy))
    let context = container.newContext()
    try context.addBook("a", pages: 0)
    try context.save()
    let hasCut = Mutex(false)
    proxy.decide { statements in
      guard statements.contains(where: { $0.hasPrefix("ROLLBACK TO SAVEPOINT _cdgen_read") }) else {
        return .forward
      }
      hasCut.withLock { $0 = true }
      return .cutBefore
    }
    #expect(throws: (any Error).self) {
      try context.perform { try context.titles("10 / pages == 5") }
    }
    #expect(hasCut.withLock { $0 })
    proxy.decide { _ in .forward }
    inThreads(1) { _ in
      do {
        let titles = try container.newContext().titles()
        #expect(titles == ["a"])
      } catch { Issue.record(error) }
    }
  }
}
