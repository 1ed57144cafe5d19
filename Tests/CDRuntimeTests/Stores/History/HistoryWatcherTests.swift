import Foundation
import Synchronization
import Testing

@_spi(Generated) @testable import CDRuntime

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

  /// An engine that gives no session at certain calls.
  private final class FailingEngine: StoreEngine {
    private let engine: any StoreEngine
    private let failure: Failure
    private let failingCalls: Set<Int>
    private let calls = Atomic<Int>(0)

    init(_ engine: any StoreEngine, _ failure: Failure, failingCalls: Set<Int>) {
      self.engine = engine
      self.failure = failure
      self.failingCalls = failingCalls
    }

    var model: ModelPlan { engine.model }
    var stores: StoreSet { engine.stores }
    var removalCount: Int { engine.removalCount }
    var files: [ExternalFiles?] { engine.files }
    var origin: String { engine.origin }
    var watch: HistoryWatch { engine.watch }

    func takeSession() throws -> any StoreSession {
      let call = calls.add(1, ordering: .relaxed).newValue
      if failingCalls.contains(call) { throw failure.error(stores) }
      return try engine.takeSession()
    }

    func returnSession(_ session: any StoreSession) { engine.returnSession(session) }
    func checkIsReadable() throws { try engine.checkIsReadable() }

    func write<R>(_ body: (any StoreWriteSession) throws -> R) throws -> R { try engine.write(body) }

    func reserveKeys(of root: EntityPlan, count: Int64) throws -> Range<ObjectKey> {
      try engine.reserveKeys(of: root, count: count)
    }

    func returnKeys(_ keys: Range<ObjectKey>, of root: Int) { engine.returnKeys(keys, of: root) }
    func remove(_ id: UUID) throws -> Bool { try engine.remove(id) }

    func observeRemovals(_ observer: AnyObject, _ handler: @escaping @Sendable () -> Void) {
      engine.observeRemovals(observer, handler)
    }

    func stopObservingRemovals(_ id: ObjectIdentifier) { engine.stopObservingRemovals(id) }
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
    let watcher = HistoryWatcher(FailingEngine(coordinator.engine, failure, failingCalls: failingCalls))
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
    .timeLimit(.minutes(1)), arguments: [Failure.busy, .away],
    [[1, 2], [1, 3], [1, 2, 3]] as [Set<Int>])
  func aListenerIsToldOfASaveAfterTheStoreCouldNotBeRead(
    _ failure: Failure, _ failingCalls: Set<Int>
  ) async throws {
    let (transaction, tag) = try await firstTransaction(failure, failingCalls: failingCalls)
    #expect(transaction?.changes.inserted == ManagedObjectIDs([tag]))
  }

  @Test(.timeLimit(.minutes(1))) func aStoreThatIsGoneEndsTheSequence() async throws {
    await #expect(throws: StoreError.self) {
      _ = try await firstTransaction(.replaced, failingCalls: [1])
    }
  }
}
