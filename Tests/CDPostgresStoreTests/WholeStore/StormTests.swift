import CDModel
import Foundation
import Synchronization
import Testing

@testable import CDPostgresStore
@testable import CDRuntime

/// Many saves over connections that fail at random: slow ones, ones that are cut before and after the server executes
/// statements, and ones that the server's own errors end at any statement. Each save that succeeds is written once and as a
/// whole, and each save that fails is not written.
///
/// The environment variable `CDGEN_POSTGRES_STORM` has the number of saves.
@Suite(.needsServer) struct StormTests {
  private static let saves =
    ProcessInfo.processInfo.environment["CDGEN_POSTGRES_STORM"].flatMap { Int($0) } ?? 400
  private static let writers = 4

  /// What became of the saves of one writer. Each save inserts a book with a tag, increases the writer's counter, and puts a
  /// new mark in the place of the writer's last one.
  private struct Outcome {
    var written: Set<String> = []
    var unknown: Set<String> = []
    /// Saves that threw an error that the engine should have replayed.
    var refused: [String: String] = [:]
  }

  /// Decides at random what happens to a round trip.
  private static func action(_ statements: [String]) -> TestProxy.Action {
    switch Int.random(in: 0..<60) {
    case 0: .cutBefore
    case 1: .cutAfter
    case 2: .fail(code: "40001", at: Int.random(in: 0...statements.count))
    case 3: .fail(code: "40P01", at: Int.random(in: 0...statements.count))
    case 4: .fail(code: "57P01", at: Int.random(in: 0...statements.count))
    // The server has become a standby.
    case 5: .fail(code: "25006", at: Int.random(in: 0...statements.count))
    case 6: .delay(milliseconds: UInt32.random(in: 1...150))
    default: .forward
    }
  }

  private static func change(
    _ context: ManagedObjectContext, _ counter: ManagedObject, _ count: Int64, _ marks: [ManagedObject],
    _ title: String
  ) throws {
    let tag = try context.insert(entityNamed: "Tag")
    try tag.setValue("tag of \(title)", forKey: "name")
    try context.addBook(title).setValue([tag], forKey: "tags")
    try counter.setValue(count + 1, forKey: "pages")
    for mark in marks { context.delete(mark) }
    try context.insert(entityNamed: "Shelf").setValue(title, forKey: "name")
  }

  /// Each book has its own tag, and each writer one mark, which is of its last book.
  private static func checkWholeSaves(_ store: ServerStore) throws {
    let context = try store.context()
    var last: [String: Int] = [:]
    for book in try context.objects(forEntityNamed: "Book", format: "TRUEPREDICATE") {
      let title = try book.text("title") ?? ""
      guard !title.hasPrefix("counter") else { continue }
      guard case .objects(let tags) = try book.value(forKey: "tags") else { continue }
      #expect(try tags.map { try $0.text("name") } == ["tag of \(title)"])
      let parts = title.split(separator: " ")
      last[String(parts[0])] = max(last[String(parts[0])] ?? 0, Int(parts[1]) ?? 0)
    }
    let marks = try context.objects(forEntityNamed: "Shelf", format: "TRUEPREDICATE")
      .compactMap { try $0.text("name") }
    #expect(marks.sorted() == last.map { "\($0) \($1)" }.sorted())
  }

  @Test func eachSaveIsWrittenOnce() throws {
    let store = try ServerStore()
    let proxy = try TestProxy(to: store.server)
    let outcomes = Mutex([Outcome](repeating: Outcome(), count: Self.writers))
    let injected = Mutex(0)
    // Counters exist before anything fails.
    let setUp = try store.context()
    let counters = try (0..<Self.writers).map { writer in
      let counter = try setUp.addBook("counter \(writer)", pages: 0)
      return counter
    }
    try setUp.save()
    let ids = counters.map(\.objectID)
    proxy.decide { statements in
      let action = Self.action(statements)
      switch action {
      case .forward, .delay: return action
      default: break
      }
      injected.withLock { $0 += 1 }
      return action
    }
    inThreads(Self.writers) { writer in
      var outcome = Outcome()
      var container: PersistentContainer?
      for number in 0..<Self.saves / Self.writers {
        let title = "\(writer) \(number)"
        // Opening and reading may fail, which is no matter of saves: they are tried again.
        while true {
          do {
            let open =
              try container ?? PersistentContainer(store.coordinator(through: proxy) { $0.poolSize = 2 })
            container = open
            let context = open.newContext()
            let counter = try context.existingObject(with: ids[writer])
            guard case .attribute(.int(let count)) = try counter.value(forKey: "pages") else {
              Issue.record("the counter has no number")
              return
            }
            let marks = try context.objects(
              forEntityNamed: "Shelf", format: "name BEGINSWITH %@", "\(writer) ")
            try Self.change(context, counter, count, marks, title)
            do {
              try context.save()
              outcome.written.insert(title)
            } catch StoreError.engine(_, let error) where error.code == PostgresFailure.unknownResult {
              outcome.unknown.insert(title)
            } catch {
              outcome.refused[title] = "\(error)"
            }
            break
          } catch { continue }
        }
      }
      outcomes.withLock { $0[writer] = outcome }
    }
    proxy.decide { _ in .forward }
    let found = try store.context().titles().filter { !$0.hasPrefix("counter") }
    let there = Set(found)
    #expect(found.count == there.count, "a save was written twice")
    var count = 0
    for (writer, outcome) in outcomes.withLock({ $0 }).enumerated() {
      let own = there.filter { $0.hasPrefix("\(writer) ") }
      #expect(outcome.written.isSubset(of: own), "a save that succeeded is lost")
      #expect(own.isSubset(of: outcome.written.union(outcome.unknown)), "a save that failed was written")
      #expect(outcome.refused.isEmpty, "\(outcome.refused)")
      // The counter was increased as often as saves were written: no increase is lost or done twice.
      let counter = try store.sql(
        "SELECT pages FROM \(store.table("Book")) WHERE title = 'counter \(writer)'")
      #expect(Int(counter.int(0, 0)) == own.count)
      count += own.count
    }
    #expect(try store.count("_cdgen_history") == count + 1)
    #expect(try store.count("Tag") == count)
    try Self.checkWholeSaves(store)
    #expect(try store.coordinator().verify().isEmpty)
    #expect(injected.withLock { $0 } > Self.saves / 10)
    let unknown = outcomes.withLock { $0.map(\.unknown.count).reduce(0, +) }
    print("\(count) saves written, \(unknown) unknown, \(injected.withLock { $0 }) failures")
  }
}
