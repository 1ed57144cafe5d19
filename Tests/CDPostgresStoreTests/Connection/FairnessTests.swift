import CDModel
import Foundation
import Synchronization
import Testing

@testable import CDPostgresStore
@testable import CDRuntime

/// Many tasks over few connections.
@Suite(.needsServer, .serialized) struct FairnessTests {
  private final class Record: Sendable {
    let isDone = Atomic<Bool>(false)
    let times = Mutex<[Duration]>([])
    let ends = Mutex<[Duration]>([])
  }

  /// 64 tasks over 8 connections: none waits much longer than the others, and Swift's own threads stay free.
  @Test func manyTasksProgressTogether() async throws {
    let store = try ServerStore()
    let container = PersistentContainer(try store.coordinator { $0.poolSize = 8 })
    try await container.performBackgroundTask { context in
      for number in 0..<200 { try context.addBook("\(number)", pages: Int64(number)) }
      try context.save()
    }
    let record = Record()
    // The cooperative threads answer all the time.
    let longestGap = Task {
      var longest = Duration.zero
      while !record.isDone.load(ordering: .acquiring) {
        let beginning = ContinuousClock.now
        try? await Task.sleep(for: .milliseconds(5))
        await Task.yield()
        longest = max(longest, .now - beginning)
      }
      return longest
    }
    let rounds = 12
    let beginning = ContinuousClock.now
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<64 {
        group.addTask {
          for round in 0..<rounds {
            let start = ContinuousClock.now
            try await container.performBackgroundTask { context in
              if round % 4 == 3 {
                try context.addBook("new \(number) \(round)")
                try context.save()
              } else {
                _ = try context.perform { try context.titles("pages >= \(number)") }
              }
            }
            record.times.withLock { $0.append(.now - start) }
          }
          record.ends.withLock { $0.append(.now - beginning) }
        }
      }
      try await group.waitForAll()
    }
    record.isDone.store(true, ordering: .releasing)
    let gap = await longestGap.value
    let sorted = record.times.withLock { $0.sorted() }
    let (first, last) = record.ends.withLock { ($0.min() ?? .zero, $0.max() ?? .zero) }
    print(
      "64 tasks over 8 connections: median \(sorted[sorted.count / 2]), 99 % \(sorted[sorted.count * 99 / 100]), "
        + "longest \(sorted[sorted.count - 1]), first task after \(first), last after \(last), "
        + "longest gap of the cooperative threads \(gap)")
    #expect(sorted.count == 64 * rounds)
    #expect(try store.count("Book") == 200 + 64 * rounds / 4)
    // First come, first served: all tasks end at about the same time.
    #expect(first > last / 3)
    // Tasks that wait keep no cooperative thread.
    #expect(gap < last / 4, "\(gap) of \(last)")
  }

  /// More tasks than the machine has processors wait for a lock, which a task of the cooperative threads gives back.
  @Test func waitingTasksLeaveTheCooperativeThreadsFree() async throws {
    let store = try ServerStore()
    let container = PersistentContainer(try store.coordinator { $0.poolSize = 3 })
    try await container.performBackgroundTask { context in
      try context.addBook("a")
      try context.save()
    }
    let begun = DispatchSemaphore(value: 0)
    let blocker = Thread {
      // Ends with a message of another connection.
      _ = try? store.sql(
        "DO $$ BEGIN LOCK TABLE \(store.table("Book")) IN ACCESS EXCLUSIVE MODE; "
          + "FOR i IN 1..3000 LOOP PERFORM pg_sleep(0.01); "
          + "IF EXISTS (SELECT 1 FROM \(store.table("Tag"))) THEN EXIT; END IF; END LOOP; END $$")
    }
    blocker.start()
    usleep(200_000)
    let waiting = (0..<ProcessInfo.processInfo.activeProcessorCount * 4).map { _ in
      Task {
        try await container.performBackgroundTask { context in
          begun.signal()
          return try context.titles().count
        }
      }
    }
    // All of them run on threads of their own, and wait.
    let release = Task {
      try await Task.sleep(for: .milliseconds(100))
      try store.sql("INSERT INTO \(store.table("Tag")) (_pk, _version, name) VALUES (1, 1, 'end')")
    }
    _ = try await release.value
    for task in waiting { #expect(try await task.value == 1) }
  }
}
