import CSQLite
import Synchronization

/// Reader connections that no context uses at the moment.
///
/// A context gets a connection with prepared statements. To open a new connection costs as much as to read some hundred
/// objects, and a background task is often shorter than that.
///
/// Unchecked: a connection is in the pool only while nothing else uses it, and the lock allows one caller at a time to
/// take or return one.
final class ReaderPool: @unchecked Sendable {
  /// The maximum number of kept connections, about the number of parallel tasks. Each connection has its own page
  /// cache.
  private static let capacity = 4

  private let lock = Mutex<Void>(())
  private var connections: [SQLiteConnection] = []

  func acquire() -> SQLiteConnection? {
    var taken: SQLiteConnection?
    // The lock's own result would have to be `sending`, so the closure sets a variable.
    lock.withLock { _ in taken = connections.popLast() }
    return taken
  }

  /// - Parameter connection: A connection that the caller does not use any more.
  func release(_ connection: SQLiteConnection) {
    guard connection.becomeIdle() else { return }
    // A connection without room in the pool is closed after the lock has been released.
    lock.withLock { _ in
      if connections.count < Self.capacity { connections.append(connection) }
    }
  }

  /// Closes all connections.
  func removeAll() {
    lock.withLock { _ in connections.removeAll() }
  }
}

extension SQLiteConnection {
  /// Ends all statements and transactions.
  ///
  /// - Returns: Whether the connection no longer holds an old state of the store.
  fileprivate func becomeIdle() -> Bool {
    var statement = sqlite3_next_stmt(handle, nil)
    while let current = statement {
      sqlite3_reset(current)
      statement = sqlite3_next_stmt(handle, current)
    }
    if sqlite3_get_autocommit(handle) == 0 { try? execute("ROLLBACK") }
    shrinkCache()
    return sqlite3_get_autocommit(handle) != 0
  }
}
