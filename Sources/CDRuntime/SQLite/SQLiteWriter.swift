import Synchronization

/// The one connection by which a coordinator writes to its stores.
///
/// Unchecked: the lock lets one caller at a time use the connection, and nobody keeps it beyond the call.
final class SQLiteWriter: @unchecked Sendable {
  private let lock = Mutex<Void>(())
  private var connection: SQLiteConnection

  /// - Parameter connection: One that nobody else has.
  init(_ connection: SQLiteConnection) { self.connection = connection }

  /// Calls a body with the connection. A body never calls what may use the writer again, and keeps nothing of it.
  func use<R>(_ body: (SQLiteConnection) throws -> R) throws -> R {
    var result: Result<R, any Error> = .failure(CancellationError())
    // By a variable, since the lock's own result would have to be free to go to another isolation.
    lock.withLock { _ in result = Result { try body(connection) } }
    return try result.get()
  }

  /// Exchanges the connection, when nobody uses it, for the one that a body makes.
  ///
  /// - Returns: Whether the body made one.
  func replace(_ make: () throws -> SQLiteConnection?) throws -> Bool {
    var result: Result<Bool, any Error> = .failure(CancellationError())
    lock.withLock { _ in
      result = Result {
        guard let new = try make() else { return false }
        connection = new
        return true
      }
    }
    return try result.get()
  }
}
