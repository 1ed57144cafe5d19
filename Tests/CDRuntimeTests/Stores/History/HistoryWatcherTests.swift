import Foundation
import Synchronization
import Testing

@testable import CDRuntime

/// Listeners of stores that cannot always be read.
@Suite(.onceForAllKinds) struct HistoryWatcherTests {
  /// The reason why an engine gives no session.
  enum Failure {
    /// Another connection is writing.
    case busy
    /// The server cannot be reached.
    case away
    /// The store is gone.
    case replaced

    func error(_ stores: StoreSet) -> StoreError {
      let urls = stores.all.map(\.url)
      return switch self {
      case .busy: .busy(urls)
      case .away:
        .engine(
          urls,
          StoreEngineError(
            engine: "Test", code: "1", message: "the server is away", operation: "reading", isPassing: true))
      case .replaced: .replaced(urls[0])
      }
    }
  }

  /// The number of reads so far.
  private final class Reads: Sendable {
    private let count = Atomic<Int>(0)

    func next() -> Int { count.add(1, ordering: .relaxed).newValue }
  }

  private let store: TemporaryStore

  init() throws { store = try TemporaryStore() }

  /// What a listener gets of a save that was made before, if the engine gives no session at certain calls.
  private func firstTransaction(
    _ failure: Failure, failingCalls: Set<Int>
  ) async throws -> (transaction: HistoryTransaction?, tag: ManagedObjectID) {
    let container = try store.container()
    let coordinator = container.persistentStoreCoordinator
    let token = try coordinator.currentHistoryToken()
    let context = container.newContext()
    let tag = Tag(name: "a", in: context)
    try context.save()
    let (reads, stores) = (Reads(), coordinator.engine.stores)
    let watcher = HistoryWatcher(
      UnreadableEngine(coordinator.engine) {
        if failingCalls.contains(reads.next()) { throw failure.error(stores) }
      })
    let (stream, continuation) = AsyncThrowingStream<HistoryTransaction, any Error>.makeStream()
    let id = UUID()
    await watcher.add(id, continuation, after: token)
    var found: HistoryTransaction?
    do {
      for try await transaction in stream {
        found = transaction
        break
      }
    } catch {
      await watcher.remove(id)
      throw error
    }
    await watcher.remove(id)
    return (found, tag.objectID)
  }

  /// The first call reads the history, the second one is for the session that looks for changes, the third one reads the
  /// history again.
  @Test(
    .timeLimit(.minutes(10)), arguments: [Failure.busy, .away],
    [[1, 2], [1, 3], [1, 2, 3]] as [Set<Int>])
  func aListenerIsToldOfASaveAfterTheStoreCouldNotBeRead(
    _ failure: Failure, _ failingCalls: Set<Int>
  ) async throws {
    let (transaction, tag) = try await firstTransaction(failure, failingCalls: failingCalls)
    #expect(transaction?.changes.inserted == ManagedObjectIDs([tag]))
  }

  @Test(.timeLimit(.minutes(10))) func aStoreThatIsGoneEndsTheSequence() async throws {
    await #expect(throws: StoreError.self) {
      _ = try await firstTransaction(.replaced, failingCalls: [1])
    }
  }
}
