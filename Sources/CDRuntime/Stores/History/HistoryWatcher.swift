#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension StoreEngine {
  /// The watcher that reads the histories for all listeners. Makes one if there is none.
  func watcher() -> HistoryWatcher { watch.watcher { HistoryWatcher(self) } }
}

/// Reads the stores' histories for listeners, on a thread of its own.
actor HistoryWatcher: HistoryListener {
  /// The time between two checks whether another process has written to a store.
  static let interval = Duration.milliseconds(250)

  private struct Listener {
    let continuation: AsyncThrowingStream<HistoryTransaction, any Error>.Continuation
    var token: HistoryToken
  }

  private let executor = BackgroundExecutor()
  private let engine: any StoreEngine
  private var listeners: [UUID: Listener] = [:]
  /// The listeners that were removed before they were added.
  private var gone: Set<UUID> = []
  private var polling: Task<Void, Never>?
  /// The session is kept, because its change mark is only comparable with its own earlier marks.
  private var session: (any StoreSession)?
  private var lastMark: String?

  init(_ engine: any StoreEngine) { self.engine = engine }

  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  func add(
    _ id: UUID, _ continuation: AsyncThrowingStream<HistoryTransaction, any Error>.Continuation,
    after token: HistoryToken
  ) {
    if gone.remove(id) != nil { return }
    listeners[id] = Listener(continuation: continuation, token: token)
    if polling == nil, !engine.stores.isOnlyInMemory { startPolling() }
    notify()
  }

  private func startPolling() {
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
    session = nil
    lastMark = nil
  }

  private func poll() {
    guard !listeners.isEmpty else { return }
    do {
      // After the removal of a store, the old session would keep the store open.
      if session?.stores.removals != engine.stores.removals { (session, lastMark) = (nil, nil) }
      let session = try session ?? engine.takeSession()
      self.session = session
      let mark = try session.changeMark()
      guard mark != lastMark else { return }
      lastMark = mark
      notify()
    } catch StoreError.busy {
      // The next check will do.
    } catch {
      fail(error)
    }
  }

  /// Sends to each listener the transactions after its token.
  func notify() {
    for (id, listener) in listeners {
      do {
        let transactions = try HistoryReader.read(engine) {
          try $0.transactions(after: listener.token, author: nil, limit: nil)
        }
        guard let last = transactions.last else { continue }
        listeners[id]?.token = last.token
        for transaction in transactions { listener.continuation.yield(transaction) }
      } catch StoreError.busy where polling != nil {
        // The next check reads the history, even if nothing has been written until then.
        lastMark = nil
      } catch {
        // The end of the stream removes the listener.
        listener.continuation.finish(throwing: error)
      }
    }
  }

  private func fail(_ error: any Error) {
    for listener in listeners.values { listener.continuation.finish(throwing: error) }
  }
}
