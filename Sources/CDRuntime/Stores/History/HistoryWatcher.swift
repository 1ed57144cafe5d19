import Synchronization

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Who is told of what is saved.
final class HistoryWatch: Sendable {
  /// How many listen: a save that nobody listens for pays one look at this number.
  let listeners = Atomic<Int>(0)
  private let current = Mutex<WeakWatcher>(WeakWatcher())

  private struct WeakWatcher { weak var watcher: HistoryWatcher? }

  /// The watcher that there is, or a new one.
  func watcher(_ make: () -> HistoryWatcher) -> HistoryWatcher {
    current.withLock { current in
      if let watcher = current.watcher { return watcher }
      let watcher = make()
      current.watcher = watcher
      return watcher
    }
  }

  /// Lets listeners know that something has been saved.
  @inline(__always) func announce() {
    if listeners.load(ordering: .sequentiallyConsistent) > 0 { wake() }
  }

  private func wake() {
    guard let watcher = current.withLock({ $0.watcher }) else { return }
    Task { await watcher.tell() }
  }
}

extension SQLiteDatabase {
  func watcher(for coordinator: PersistentStoreCoordinator) -> HistoryWatcher {
    watch.watcher { HistoryWatcher(coordinator) }
  }
}

/// Reads the stores' histories while somebody listens, on a thread of its own.
actor HistoryWatcher {
  /// How often the store is asked whether somebody else has written to it.
  static let interval = Duration.milliseconds(250)

  private struct Listener {
    let continuation: AsyncThrowingStream<HistoryTransaction, any Error>.Continuation
    var token: HistoryToken
  }

  private let executor = BackgroundExecutor()
  private let coordinator: PersistentStoreCoordinator
  private var listeners: [UUID: Listener] = [:]
  /// Those that were let go of before they were added.
  private var gone: Set<UUID> = []
  private var polling: Task<Void, Never>?
  /// A connection that is kept, since its `data_version` is what tells of other connections' writing.
  private var connection: (connection: SQLiteConnection, stores: StoreSet)?
  private var lastVersions: [String] = []

  init(_ coordinator: PersistentStoreCoordinator) { self.coordinator = coordinator }

  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  func add(
    _ id: UUID, _ continuation: AsyncThrowingStream<HistoryTransaction, any Error>.Continuation,
    after token: HistoryToken
  ) {
    if gone.remove(id) != nil { return }
    listeners[id] = Listener(continuation: continuation, token: token)
    tell()
    guard polling == nil, !coordinator.database.stores.isInMemory else { return }
    polling = Task { [weak self] in
      while !Task.isCancelled {
        try? await Task.sleep(for: Self.interval)
        guard let self else { return }
        await self.poll()
      }
    }
  }

  func remove(_ id: UUID) {
    if listeners.removeValue(forKey: id) == nil { gone.insert(id) }
    guard listeners.isEmpty else { return }
    polling?.cancel()
    polling = nil
    connection = nil
    lastVersions = []
  }

  private func poll() {
    guard !listeners.isEmpty else { return }
    do {
      // A store that is removed is to be let go of.
      if connection?.stores.removals != coordinator.database.stores.removals { connection = nil }
      let (connection, stores) = try connection ?? coordinator.database.takeReader()
      self.connection = (connection, stores)
      let versions = try stores.all.map {
        try connection.scalar("PRAGMA \(stores.schema(of: $0)).data_version") ?? ""
      }
      guard versions != lastVersions else { return }
      lastVersions = versions
      tell()
    } catch {
      fail(error)
    }
  }

  /// Gives every listener what it has not been told.
  func tell() {
    for (id, listener) in listeners {
      do {
        let transactions = try coordinator.history(after: listener.token)
        guard let last = transactions.last else { continue }
        listeners[id]?.token = last.token
        for transaction in transactions { listener.continuation.yield(transaction) }
      } catch {
        // The listener is removed by the end of its stream.
        listener.continuation.finish(throwing: error)
      }
    }
  }

  private func fail(_ error: any Error) {
    for listener in listeners.values { listener.continuation.finish(throwing: error) }
  }
}
