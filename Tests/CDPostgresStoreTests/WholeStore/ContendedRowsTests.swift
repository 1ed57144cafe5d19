import CDModel
import Foundation
import Synchronization
import Testing

@testable import CDPostgresStore
@testable import CDRuntime

/// Many writers change the same few rows, while the server refuses transactions with 40001 all the time. Each increment of
/// which a writer knows is in its counter once.
///
/// The environment variable `CDGEN_POSTGRES_CONTENTION` has the number of increments.
@Suite(.needsServer) struct ContendedRowsTests {
  private static let increments =
    ProcessInfo.processInfo.environment["CDGEN_POSTGRES_CONTENTION"].flatMap { Int($0) } ?? 320
  private static let writers = 16
  private static let rows = 10

  private struct Tally {
    var written = [Int](repeating: 0, count: ContendedRowsTests.rows)
    /// Saves of which nobody knows whether they were written, by row.
    var unknown = [Int](repeating: 0, count: ContendedRowsTests.rows)
    var conflicts = 0
    var refusals = 0
  }

  @Test func noIncrementIsLostOrDoneTwice() throws {
    let store = try ServerStore()
    let setUp = try store.context()
    let counters = try (0..<Self.rows).map { try setUp.addBook("\($0)", pages: 0) }
    try setUp.save()
    let ids = counters.map(\.objectID)
    let proxy = try TestProxy(to: store.server)
    let container = PersistentContainer(try store.coordinator(through: proxy) { $0.poolSize = Self.writers })
    let injected = Mutex(0)
    proxy.decide { statements in
      guard Int.random(in: 0..<5) == 0 else { return .forward }
      injected.withLock { $0 += 1 }
      return .fail(code: "40001", at: Int.random(in: 0...statements.count))
    }
    let tally = Mutex(Tally())
    inThreads(Self.writers) { _ in
      var own = Tally()
      var left = Self.increments / Self.writers
      var refusals = 0
      // A server that is gone would refuse for ever.
      while left > 0, refusals < 200 {
        let row = Int.random(in: 0..<Self.rows)
        let context = container.newContext()
        do {
          let counter = try context.existingObject(with: ids[row])
          guard case .attribute(.int(let count)) = try counter.value(forKey: "pages") else {
            Issue.record("counter \(row) has no number")
            break
          }
          try counter.setValue(count + 1, forKey: "pages")
          try context.save()
          own.written[row] += 1
          left -= 1
          refusals = 0
        } catch SaveError.conflict {
          own.conflicts += 1
        } catch StoreError.engine(_, let reason) where reason.code == PostgresFailure.unknownResult {
          own.unknown[row] += 1
          left -= 1
        } catch StoreError.engine(_, let reason) where reason.code == "40001" || reason.isOfConnection {
          // A read, a save that was refused as often as it is replayed, or a connection that could not be set up.
          own.refusals += 1
          refusals += 1
        } catch {
          Issue.record("\(error)")
          break
        }
      }
      tally.withLock { tally in
        for row in 0..<Self.rows {
          tally.written[row] += own.written[row]
          tally.unknown[row] += own.unknown[row]
        }
        tally.conflicts += own.conflicts
        tally.refusals += own.refusals
      }
    }
    proxy.decide { _ in .forward }
    let result = tally.withLock { $0 }
    var total = 0
    for row in 0..<Self.rows {
      let pages = try store.sql("SELECT pages FROM \(store.table("Book")) WHERE title = '\(row)'")
      let (count, written) = (Int(pages.int(0, 0)), result.written[row])
      #expect((written...written + result.unknown[row]).contains(count), "counter \(row) is \(count)")
      total += count
    }
    let unknown = result.unknown.reduce(0, +)
    #expect(result.written.reduce(unknown, +) == Self.increments / Self.writers * Self.writers)
    #expect(try store.count("_cdgen_history") == total + 1)
    #expect(try store.coordinator().verify().isEmpty)
    let failures = injected.withLock { $0 }
    #expect(failures > Self.increments / 10)
    print(
      "\(total) increments by \(Self.writers) writers, \(failures) failures, \(result.conflicts) conflicts, "
        + "\(result.refusals) refused, \(unknown) unknown")
  }
}
