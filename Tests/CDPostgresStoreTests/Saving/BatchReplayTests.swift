import CDModel
import Foundation
import Synchronization
import Testing

@testable import CDPostgresStore
@testable import CDRuntime

/// Batches over a connection that fails: each is written exactly once.
@Suite(.needsServer) struct BatchReplayTests {
  enum Failure: CaseIterable {
    case before, after, serialization, deadlock, shutdown

    func action(_ statements: [String]) -> TestProxy.Action {
      switch self {
      case .before: .cutBefore
      case .after: .cutAfter
      case .serialization: .fail(code: "40001", at: statements.count - 1)
      case .deadlock: .fail(code: "40P01", at: statements.count - 1)
      case .shutdown: .fail(code: "57P01", at: 0)
      }
    }
  }

  private let store: ServerStore
  private let proxy: TestProxy

  init() throws {
    store = try ServerStore()
    proxy = try TestProxy(to: store.server)
  }

  /// Runs a batch of which a round trip fails, at most until its commit.
  ///
  /// - Returns: Whether the batch has as many round trips.
  private func run(_ failure: Failure, at place: Int, _ batch: () throws -> Void) throws -> Bool {
    let state = Mutex((passed: 0, hasFailed: false, isOver: false))
    proxy.decide { statements in
      state.withLock { state in
        if state.isOver || state.hasFailed { return .forward }
        defer { state.passed += 1 }
        if state.passed == place {
          state.hasFailed = true
          return failure.action(statements)
        }
        state.isOver = statements.contains("COMMIT")
        return .forward
      }
    }
    defer { proxy.decide { _ in .forward } }
    try batch()
    return state.withLock(\.hasFailed)
  }

  private func shelves(_ range: Range<Int>) -> [[String: FetchedValue]] {
    range.map { ["name": .attribute(.string("shelf \($0)"))] }
  }

  /// Inserts of few rows and of many, with and without rows that are there; updates; and deletions.
  @Test(arguments: Failure.allCases) func aBatchIsWrittenOnce(failure: Failure) throws {
    let context = try store.context(through: proxy)
    var count = 0
    var place = 0
    while true {
      var isMore = false
      let first = count
      isMore =
        try run(failure, at: place) {
          let request = BatchInsertRequest<ManagedObject>(
            entityName: "Shelf", rows: shelves(first..<first + (place % 2 == 0 ? 3 : 600)))
          let result = try context.execute(request)
          #expect(result.count == result.changes.inserted.count)
          count += result.count
        } || isMore
      #expect(try store.count("Shelf") == count)
      isMore =
        try run(failure, at: place) {
          var request = BatchInsertRequest<ManagedObject>(
            entityName: "Shelf", rows: shelves(count - 3..<count + 3))
          request.uniqueness = place % 2 == 0 ? .keep : .update
          let result = try context.execute(request)
          #expect(result.count == (place % 2 == 0 ? 3 : 6))
          count += 3
        } || isMore
      #expect(try store.count("Shelf") == count)
      isMore =
        try run(failure, at: place) {
          let result = try context.execute(
            BatchUpdateRequest(
              FetchRequest<ManagedObject>(
                entityName: "Shelf", where: FetchPredicate(format: "name BEGINSWITH 'shelf '")),
              set: [.set("name", to: ValueExpression(format: "name"))]))
          #expect(result.count == count)
        } || isMore
      isMore =
        try run(failure, at: place) {
          let result = try context.execute(
            BatchDeleteRequest(
              FetchRequest<ManagedObject>(
                entityName: "Shelf", where: FetchPredicate(format: "name == %@", "shelf \(count - 1)"))))
          #expect(result.count == 1)
          count -= 1
        } || isMore
      #expect(try store.count("Shelf") == count)
      place += 1
      guard isMore else { break }
    }
    #expect(place > 3)
    let coordinator = try store.coordinator()
    #expect(try coordinator.verify() == [])
    // Each batch has one entry.
    #expect(try coordinator.history().count == 4 * place)
  }

  /// Another program saves and purges the history before anybody looks whether the batch was committed.
  @Test func aPurgeHidesWhetherABatchWasCommitted() throws {
    let context = try store.context(through: proxy)
    let others = try store.coordinator()
    let state = Mutex((hasCut: false, hasPurged: false))
    proxy.decide { statements in
      let isCommit = statements.contains("COMMIT")
      let isCheck = statements.contains {
        $0.contains("_cdgen_history") && $0.contains(#"WHERE "save" ="#)
      }
      let (cuts, purges) = state.withLock { state in
        let isFirstCommit = isCommit && !state.hasCut
        let isFirstCheck = isCheck && state.hasCut && !state.hasPurged
        if isFirstCommit { state.hasCut = true }
        if isFirstCheck { state.hasPurged = true }
        return (isFirstCommit, isFirstCheck)
      }
      if purges {
        do {
          let other = PersistentContainer(others).newContext()
          try other.insert(entityNamed: "Tag").setValue("theirs", forKey: "name")
          try other.save()
          try others.purgeHistory(before: Date(timeIntervalSinceNow: 60))
        } catch { Issue.record(error) }
      }
      return cuts ? .cutAfter : .forward
    }
    let rows: [[String: FetchedValue]] = [["name": .attribute(.string("ours"))]]
    let error = #expect(throws: StoreError.self) {
      try context.execute(BatchInsertRequest<ManagedObject>(entityName: "Tag", rows: rows))
    }
    proxy.decide { _ in .forward }
    guard case .engine(_, let reason)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(reason.code == PostgresFailure.unknownResult)
    #expect(state.withLock { $0.hasCut && $0.hasPurged })
    let found = try store.sql("SELECT 1 FROM \(store.table("Tag")) WHERE name = 'ours'")
    #expect(found.rowCount == 1)
  }

  /// Rows that can be read only once.
  @Test func rowsOfASequenceAreReadOnce() throws {
    let context = try store.context(through: proxy)
    func rows(_ range: Range<Int>) -> AnySequence<[String: FetchedValue]> { AnySequence(shelves(range)) }
    func insert(_ range: Range<Int>, failingAt word: String) throws {
      let isOver = Mutex(false)
      proxy.decide { statements in
        guard statements.contains(where: { $0.contains(word) }), !isOver.withLock({ $0 }) else {
          return .forward
        }
        isOver.withLock { $0 = true }
        return .fail(code: "40001", at: 0)
      }
      defer { proxy.decide { _ in .forward } }
      _ = try context.execute(BatchInsertRequest<ManagedObject>(entityName: "Shelf", rows: rows(range)))
      #expect(isOver.withLock { $0 })
    }
    // Before the first row is read.
    try insert(0..<10, failingAt: "FOR UPDATE")
    #expect(try store.count("Shelf") == 10)
    #expect(throws: StoreError.self) { try insert(10..<20, failingAt: "_cdgen_history\" (\"id\"") }
    #expect(try store.count("Shelf") == 10)
  }
}
