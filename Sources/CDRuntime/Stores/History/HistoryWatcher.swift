#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension SQLiteDatabase {
  /// Who reads the histories for all that listen: the one that there is, or a new one.
  func watcher() -> HistoryWatcher { watch.watcher { HistoryWatcher(self) } }
}

/// Reads the stores' histories while somebody listens, on a thread of its own.
actor HistoryWatcher: HistoryListener {
  /// How often the store is asked whether somebody else has written to it.
  static let interval = Duration.milliseconds(250)

  private struct Listener {
    let continuation: AsyncThrowingStream<HistoryTransaction, any Error>.Continuation
    var token: HistoryToken
  }

  private let executor = BackgroundExecutor()
  private let database: SQLiteDatabase
  private var listeners: [UUID: Listener] = [:]
  /// Those that were let go of before they were added.
  private var gone: Set<UUID> = []
  private var polling: Task<Void, Never>?
  /// A connection that is kept, since its `data_version` is what tells of other connections' writing.
  private var session: SQLiteSession?
  private var lastVersions: [String] = []

  init(_ database: SQLiteDatabase) { self.database = database }

  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  func add(
    _ id: UUID, _ continuation: AsyncThrowingStream<HistoryTransaction, any Error>.Continuation,
    after token: HistoryToken
  ) {
    if gone.remove(id) != nil { return }
    listeners[id] = Listener(continuation: continuation, token: token)
    tell()
    guard polling == nil, !database.stores.isInMemory else { return }
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
    lastVersions = []
  }

  private func poll() {
    guard !listeners.isEmpty else { return }
    do {
      // A store that is removed is to be let go of.
      if session?.stores.removals != database.stores.removals { session = nil }
      let session = try session ?? database.session()
      self.session = session
      let versions = try session.attached.all.map {
        try session.connection.scalar("PRAGMA \(session.attached.schema(of: $0)).data_version") ?? ""
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
        let transactions = try HistoryReader(database).read {
          try $0.transactions(after: listener.token, author: nil, limit: nil)
        }
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
