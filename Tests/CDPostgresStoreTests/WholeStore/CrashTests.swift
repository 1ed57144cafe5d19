import CDModel
import Foundation
import Synchronization
import Testing

@testable import CDPostgresStore
@testable import CDRuntime

/// The command that ends the server without warning and starts it again.
private let crashCommand = ProcessInfo.processInfo.environment["CDGEN_POSTGRES_CRASH"]

/// A server, or a pooler before it, that crashes again and again while several programs save. The environment variable
/// `CDGEN_POSTGRES_CRASH` has the command that ends the server without warning and starts it again; no other test may
/// run at the same time. `CDGEN_POSTGRES_CRASHES` has the number of crashes.
@Suite(.enabled(if: crashCommand != nil, "CDGEN_POSTGRES_CRASH is not set: run .ci/postgresql"))
struct CrashTests {
  private static let crashes =
    ProcessInfo.processInfo.environment["CDGEN_POSTGRES_CRASHES"].flatMap { Int($0) } ?? 6

  @Test func whatIsAcknowledgedIsThere() throws {
    let command = try #require(crashCommand)
    let store = try ServerStore()
    _ = try store.context().titles()
    let isDone = Mutex(false)
    // The titles of saves by their result: written, refused, or unknown.
    let written = Mutex<Set<String>>([])
    let unknown = Mutex<Set<String>>([])
    let refused = Mutex<Set<String>>([])
    let writers = Thread {
      inThreads(4) { writer in
        var number = 0
        while !isDone.withLock({ $0 }) {
          do {
            let container = PersistentContainer(try store.coordinator { $0.replayTimeout = 30 })
            let context = container.newContext()
            while !isDone.withLock({ $0 }) {
              number += 1
              let title = "\(writer) \(number)"
              do {
                try context.addBook(title)
                try context.save()
                _ = written.withLock { $0.insert(title) }
              } catch StoreError.engine(_, let error) where error.code == PostgresFailure.unknownResult {
                _ = unknown.withLock { $0.insert(title) }
                context.rollback()
              } catch {
                _ = refused.withLock { $0.insert(title) }
                context.rollback()
              }
            }
          } catch {
            // The server does not accept connections yet.
            usleep(50_000)
          }
        }
      }
    }
    writers.start()
    for crash in 1...Self.crashes {
      // A few crashes come after many saves. Many crashes come at any moment, also while programs connect again.
      usleep(Self.crashes < 20 ? 700_000 : UInt32.random(in: 20_000..<300_000))
      let shell = Process()
      shell.executableURL = URL(filePath: "/bin/sh")
      shell.arguments = ["-c", command]
      try shell.run()
      shell.waitUntilExit()
      #expect(shell.terminationStatus == 0)
      if crash % 100 == 0 { #expect(try store.coordinator { $0.replayTimeout = 30 }.verify().isEmpty) }
    }
    usleep(500_000)
    isDone.withLock { $0 = true }
    while !writers.isFinished { usleep(10_000) }
    let found = try store.context().titles()
    let there = Set(found)
    #expect(found.count == there.count, "a save was written twice")
    #expect(written.withLock { $0.subtracting(there) }.isEmpty, "a save that succeeded is lost")
    #expect(refused.withLock { $0.intersection(there) }.isEmpty, "a save that failed was written")
    #expect(there.subtracting(written.withLock { $0 }).isSubset(of: unknown.withLock { $0 }))
    #expect(written.withLock(\.count) > 50)
    #expect(try store.count("_cdgen_history") == found.count)
    #expect(try store.coordinator().verify().isEmpty)
    print(
      "\(written.withLock(\.count)) saves written, \(refused.withLock(\.count)) refused, "
        + "\(unknown.withLock(\.count)) unknown, \(Self.crashes) crashes")
  }
}
