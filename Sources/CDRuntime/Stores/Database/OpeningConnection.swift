import Synchronization

/// The connection by which a coordinator has opened its only store. The first reader takes it, or the writer if the program
/// writes first. So a program that only reads has one connection instead of two, each of which reads the schema.
///
/// SQLite has a lock on the file as long as the process has a connection to it. Without the lock, another process could
/// replace the file by a migrated one. So this object keeps the connection open until the writer has one of its own, even
/// if the reader that has taken it ends before.
///
/// Unchecked: the connection is handed out only once, and this object does not use it.
final class OpeningConnection: @unchecked Sendable {
  private let lock = Mutex<Void>(())
  private var connection: SQLiteConnection?
  private var isTaken = false

  /// - Parameter connection: A connection that nothing else uses.
  init(_ connection: SQLiteConnection) { self.connection = connection }

  /// Returns the connection to the first caller; nil to all others, and after ``release()``.
  func take() -> SQLiteConnection? {
    var taken: SQLiteConnection?
    // The lock's own result would have to be `sending`, so the closure sets a variable.
    lock.withLock { _ in
      if !isTaken { taken = connection }
      isTaken = true
    }
    return taken
  }

  /// Keeps the connection open no longer.
  func release() {
    var released: SQLiteConnection?
    // If nothing else has the connection, it is closed after the lock has been released.
    lock.withLock { _ in
      released = connection
      connection = nil
    }
    withExtendedLifetime(released) {}
  }
}
