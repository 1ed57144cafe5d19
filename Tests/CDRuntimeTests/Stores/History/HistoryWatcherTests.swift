import Foundation
import Synchronization
import Testing

@_spi(Generated) @testable import CDRuntime

/// Listeners of stores that cannot always be read.
@Suite(.onceForAllKinds) struct HistoryWatcherTests {
  /// An engine that gives no session at certain calls, because another connection is writing.
  private final class BusyEngine: StoreEngine {
    private let engine: any StoreEngine
    private let busyCalls: Set<Int>
    private let calls = Atomic<Int>(0)

    init(_ engine: any StoreEngine, busyCalls: Set<Int>) {
      self.engine = engine
      self.busyCalls = busyCalls
    }

    var model: ModelPlan { engine.model }
    var stores: StoreSet { engine.stores }
    var removalCount: Int { engine.removalCount }
    var files: [ExternalFiles?] { engine.files }
    var origin: String { engine.origin }
    var watch: HistoryWatch { engine.watch }

    func takeSession() throws -> any StoreSession {
      let call = calls.add(1, ordering: .relaxed).newValue
      if busyCalls.contains(call) { throw StoreError.busy(stores.all.map(\.url)) }
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
    let watcher = HistoryWatcher(BusyEngine(coordinator.engine, busyCalls: busyCalls))
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
