import Foundation
import Synchronization
import Testing

@testable import CDRuntime

/// Listeners of stores that cannot always be read.
@Suite(.onceForAllKinds) struct HistoryWatcherTests {
  /// The number of reads so far.
  private final class Reads: Sendable {
    private let count = Atomic<Int>(0)

    func next() -> Int { count.add(1, ordering: .relaxed).newValue }
  }

  private let store: TemporaryStore

  init() throws { store = try TemporaryStore() }

  /// The first call reads the history, the second one is for the session that looks for changes, the third one reads the
  /// history again.
  @Test(.timeLimit(.minutes(1)), arguments: [[1, 2], [1, 3]] as [Set<Int>])
  func aListenerIsToldOfASaveAfterTheStoreWasBusy(_ busyCalls: Set<Int>) async throws {
    let container = try store.container()
    let coordinator = container.persistentStoreCoordinator
    let token = try coordinator.currentHistoryToken()
    let context = container.newContext()
    let tag = Tag(name: "a", in: context)
    try context.save()
    let (reads, stores) = (Reads(), coordinator.engine.stores.all.map(\.url))
    let watcher = HistoryWatcher(
      UnreadableEngine(coordinator.engine) {
        // Another connection is writing.
        if busyCalls.contains(reads.next()) { throw StoreError.busy(stores) }
      })
    let (stream, continuation) = AsyncThrowingStream<HistoryTransaction, any Error>.makeStream()
    let id = UUID()
    await watcher.add(id, continuation, after: token)
    for try await transaction in stream {
      #expect(transaction.changes.inserted == ManagedObjectIDs([tag.objectID]))
      break
    }
    await watcher.remove(id)
  }
}
