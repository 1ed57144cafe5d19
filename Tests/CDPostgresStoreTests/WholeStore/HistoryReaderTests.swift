import CDModel
import Foundation
import Synchronization
import Testing

@testable import CDPostgresStore
@testable import CDRuntime

/// Several programs save, and several others follow the history meanwhile: each of these sees each save exactly once, and
/// the saves that change one row in the order of the row's versions.
///
/// The environment variable `CDGEN_POSTGRES_HISTORY` has the number of saves.
@Suite(.needsServer) struct HistoryReaderTests {
  private static let saves =
    ProcessInfo.processInfo.environment["CDGEN_POSTGRES_HISTORY"].flatMap { Int($0) } ?? 800
  private static let writers = 8
  private static let readers = 4
  /// The counters that all writers increase. Each writer also has one of its own.
  private static let sharedCounters = 10

  /// What a save says of itself in its author: who wrote it, and which counter got which value.
  private struct Mark {
    let writer: Int
    let number: Int
    let counter: Int
    let value: Int64

    var text: String { "\(writer) \(number) \(counter) \(value)" }

    init(writer: Int, number: Int, counter: Int, value: Int64) {
      (self.writer, self.number, self.counter, self.value) = (writer, number, counter, value)
    }

    init?(_ text: String) {
      let parts = text.split(separator: " ").compactMap { Int64($0) }
      guard parts.count == 4 else { return nil }
      self.init(writer: Int(parts[0]), number: Int(parts[1]), counter: Int(parts[2]), value: parts[3])
    }
  }

  /// What a reader has seen.
  private struct Sight {
    var isSeen: [[Bool]]
    var values: [Int64]
    var count = 0
    var batches = 0

    init(savesOfEach: Int) {
      isSeen = [[Bool]](repeating: [Bool](repeating: false, count: savesOfEach), count: writers)
      values = [Int64](repeating: 0, count: sharedCounters + writers)
    }

    /// - Returns: The mistake of a save. Nil if the save is the next one of its counter, and was not seen before.
    mutating func see(_ transaction: HistoryTransaction) -> String? {
      guard let mark = transaction.author.flatMap({ Mark($0) }) else { return "a save without a mark" }
      if isSeen[mark.writer][mark.number] { return "'\(mark.text)' was seen twice" }
      isSeen[mark.writer][mark.number] = true
      count += 1
      guard transaction.changes.updated.count == 1 else { return "'\(mark.text)' has \(transaction.changes)" }
      let last = values[mark.counter]
      values[mark.counter] = mark.value
      return mark.value == last + 1 ? nil : "'\(mark.text)' was seen after the value \(last)"
    }
  }

  @Test func eachReaderSeesEachSaveOnce() throws {
    let savesOfEach = Self.saves / Self.writers
    let all = savesOfEach * Self.writers
    let store = try ServerStore()
    let setUp = try store.context()
    let counters = try (0..<Self.sharedCounters + Self.writers).map {
      try setUp.addBook("counter \($0)", pages: 0)
    }
    try setUp.save()
    let ids = counters.map(\.objectID)
    let start = try store.coordinator().currentHistoryToken()
    let problems = Mutex<[String]>([])
    let conflicts = Mutex(0)
    let sights = Mutex<[Sight]>([])
    let begin = ContinuousClock.now

    inThreads(Self.writers + Self.readers) { index in
      do {
        if index < Self.writers {
          let failed = try Self.write(index, savesOfEach, ids, store)
          conflicts.withLock { $0 += failed }
        } else {
          let sight = try Self.read(from: start, until: all, store) { problems.withLock { !$0.isEmpty } }
          sights.withLock { $0.append(sight.sight) }
          if let problem = sight.problem { problems.withLock { $0.append(problem) } }
        }
      } catch {
        problems.withLock { $0.append("\(error)") }
      }
    }

    #expect(problems.withLock { $0 } == [])
    for sight in sights.withLock({ $0 }) {
      #expect(sight.count == all && sight.isSeen.allSatisfy { $0.allSatisfy { $0 } })
      #expect(sight.values.reduce(0, +) == Int64(all))
    }
    #expect(sights.withLock(\.count) == Self.readers)
    #expect(try store.count("_cdgen_history") == all + 1)
    let sum = try store.sql("SELECT CAST(sum(pages) AS bigint) FROM \(store.table("Book"))")
    #expect(sum.int(0, 0) == Int64(all))
    #expect(try store.coordinator().verify().isEmpty)
    let batches = sights.withLock { $0.map { "\($0.batches)" }.joined(separator: ", ") }
    print(
      "\(all) saves of \(Self.writers) writers in \(ContinuousClock.now - begin), \(conflicts.withLock { $0 }) "
        + "conflicts; \(Self.readers) readers saw them in \(batches) reads")
  }

  /// - Returns: The number of conflicts with other writers.
  private static func write(
    _ writer: Int, _ count: Int, _ ids: [ManagedObjectID], _ store: ServerStore
  ) throws -> Int {
    let context = PersistentContainer(try store.coordinator { $0.poolSize = 1 }).newContext()
    var conflicts = 0
    for number in 0..<count {
      while true {
        // Every fourth save is of a counter that others change too.
        let counter =
          Int.random(in: 0..<4) == 0 ? Int.random(in: 0..<Self.sharedCounters) : Self.sharedCounters + writer
        let object = try context.existingObject(with: ids[counter])
        guard case .attribute(.int(let value)) = try object.value(forKey: "pages") else {
          throw StoreError.notSupported("a counter without a number")
        }
        try object.setValue(value + 1, forKey: "pages")
        let mark = Mark(writer: writer, number: number, counter: counter, value: value + 1)
        context.transactionAuthor = mark.text
        do {
          try context.save()
          break
        } catch is SaveError {
          conflicts += 1
          context.rollback()
          context.refreshAllObjects()
        }
      }
    }
    return conflicts
  }

  private static func read(
    from start: HistoryToken, until count: Int, _ store: ServerStore, isOver: () -> Bool
  ) throws -> (sight: Sight, problem: String?) {
    let coordinator = try store.coordinator { $0.poolSize = 1 }
    var sight = Sight(savesOfEach: count / Self.writers)
    var token = start
    var last = ContinuousClock.now
    while sight.count < count {
      let transactions = try coordinator.history(after: token, limit: 1000)
      sight.batches += 1
      for transaction in transactions {
        if let problem = sight.see(transaction) { return (sight, problem) }
        token = transaction.token
      }
      if !transactions.isEmpty {
        last = ContinuousClock.now
      } else if isOver() {
        return (sight, nil)
      } else if ContinuousClock.now - last > .seconds(60) {
        return (sight, "no save for a minute, after \(sight.count) of \(count)")
      } else {
        usleep(UInt32.random(in: 0..<5000))
      }
    }
    return (sight, nil)
  }
}
