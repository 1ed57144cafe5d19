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
  /// The longest time between two checks while a server cannot be read.
  private static let longestInterval = Duration.seconds(4)

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
  /// The time until the next check. It grows while a server cannot be read.
  private var pause = HistoryWatcher.interval

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
      var pause = Self.interval
      while !Task.isCancelled {
        try? await Task.sleep(for: pause)
        guard let self else { return }
        pause = await self.poll()
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
    pause = Self.interval
  }

  /// Looks for changes.
  ///
  /// - Returns: The time until the next check.
  private func poll() -> Duration {
    guard !listeners.isEmpty else { return Self.interval }
    do {
      // After the removal of a store, the old session would keep the store open.
      if session?.stores.removals != engine.stores.removals { (session, lastMark) = (nil, nil) }
      let session = try session ?? engine.takeSession()
      self.session = session
      let mark = try session.changeMark()
      if mark != lastMark {
        lastMark = mark
        notify()
      }
      // Without a mark, the history could not be read.
      if lastMark != nil { pause = Self.interval }
    } catch let error as StoreError where error.isPassing {
      waitLonger(after: error)
    } catch {
      fail(error)
    }
    return pause
  }

  /// Puts off the next check after a failure that can pass. Another writer is ready soon, a server may be away for long.
  private func waitLonger(after error: StoreError) {
    if case .busy = error { return }
    pause = min(pause * 2, Self.longestInterval)
  }

  /// Sends to each listener the transactions after its token.
  @_optimize(none)
  func notify() {
    for (id, listener) in listeners {
      do {
        let transactions = try HistoryReader.read(engine) {
          try $0.transactions(after: listener.token, author: nil, limit: nil)
        }
        guard let last = transactions.last else { continue }
        listeners[id]?.token = last.token
        for transaction in transactions { listener.continuation.yield(transaction) }
      } catch let error as StoreError where polling != nil && error.isPassing {
        // The next check reads the history, even if nothing has been written until then. The other listeners would wait for
        // the same failure.
        lastMark = nil
        return waitLonger(after: error)
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
