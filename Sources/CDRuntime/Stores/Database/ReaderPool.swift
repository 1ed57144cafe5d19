import CSQLite
import Synchronization

/// Connections to read by that no context uses now.
///
/// A context gets one of them with its statements prepared: opening a connection costs as much as reading some
/// hundred objects, and a background task is over with less.
///
/// Unchecked: a connection is here when nobody else has it, and the lock lets one caller at a time take or give one.
final class ReaderPool: @unchecked Sendable {
  /// How many are kept: as many as there may be tasks at work, for each has its own cache of pages.
  private static let capacity = 4

  private let lock = Mutex<Void>(())
  private var connections: [SQLiteConnection] = []

  func take() -> SQLiteConnection? {
    var taken: SQLiteConnection?
    // By a variable, since the lock's own result would have to be free to go to another isolation.
    lock.withLock { _ in taken = connections.popLast() }
    return taken
  }

  /// - Parameter connection: One that the caller uses no more.
  func give(_ connection: SQLiteConnection) {
    guard connection.becomeIdle() else { return }
    // What does not find room is closed when the lock is free again.
    lock.withLock { _ in
      if connections.count < Self.capacity { connections.append(connection) }
    }
  }

  /// Closes all of them.
  func removeAll() {
    lock.withLock { _ in connections.removeAll() }
  }
}

extension SQLiteConnection {
  /// Ends what is still being read.
  ///
  /// - Returns: Whether nothing is left that would hold an old state of the store.
  fileprivate func becomeIdle() -> Bool {
    var statement = sqlite3_next_stmt(handle, nil)
    while let current = statement {
      sqlite3_reset(current)
      statement = sqlite3_next_stmt(handle, current)
    }
    if sqlite3_get_autocommit(handle) == 0 { try? execute("ROLLBACK") }
    return sqlite3_get_autocommit(handle) != 0
  }
}
