import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// The one connection by which a coordinator writes to its stores.
///
/// Unchecked: the lock lets one caller at a time use the connection, and nobody keeps it beyond the call.
final class SQLiteWriter: @unchecked Sendable {
  private let lock = Mutex<Void>(())
  private var connection: SQLiteConnection
  /// The thread that has the lock; 0 for none. A thread that finds itself here has called the writer from within: the
  /// body ran code of the app, a batch's sequence or a format of stores, and waiting would never end.
  private let holder = Atomic<UInt>(0)

  /// - Parameter connection: One that nobody else has.
  init(_ connection: SQLiteConnection) { self.connection = connection }

  /// Whether the calling thread is in a body of ``use(_:)``.
  var isHeldByThisThread: Bool { holder.load(ordering: .relaxed) == Self.thisThread }

  /// Calls a body with the connection. A body keeps nothing of it.
  ///
  /// - Throws: ``StoreError/nestedWrite(_:)`` if the calling thread is in such a body already.
  func use<R>(_ body: (SQLiteConnection) throws -> R) throws -> R {
    try exclusively { try body(connection) }
  }

  /// Exchanges the connection, when nobody uses it, for the one that a body makes.
  ///
  /// - Returns: Whether the body made one.
  /// - Throws: ``StoreError/nestedWrite(_:)`` if the calling thread uses the connection.
  func replace(_ make: () throws -> SQLiteConnection?) throws -> Bool {
    try exclusively {
      guard let new = try make() else { return false }
      connection = new
      return true
    }
  }

  /// Runs a body with the lock held. It takes the connection at once and not for its whole length: code that the body
  /// calls comes here again.
  private func exclusively<R>(_ body: () throws -> R) throws -> R {
    let thread = Self.thisThread
    // Only this thread writes its own number there, so that no other thread's write can be mistaken for it.
    guard holder.load(ordering: .relaxed) != thread else { throw StoreError.nestedWrite(connection.stores) }
    var result: Result<R, any Error> = .failure(CancellationError())
    // By a variable, since the lock's own result would have to be free to go to another isolation.
    lock.withLock { _ in
      holder.store(thread, ordering: .relaxed)
      defer { holder.store(0, ordering: .relaxed) }
      result = Result { try body() }
    }
    return try result.get()
  }

  /// A number that no other living thread has, and that is not 0.
  private static var thisThread: UInt {
    #if canImport(Darwin)
      UInt(bitPattern: pthread_self())
    #else
      UInt(pthread_self())
    #endif
  }
}
