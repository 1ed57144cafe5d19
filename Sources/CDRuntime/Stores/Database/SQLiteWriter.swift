import Synchronization

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// The only connection by which a coordinator writes to its stores.
///
/// Unchecked: the lock allows one caller at a time to use the connection, and no caller keeps it after the call.
final class SQLiteWriter: @unchecked Sendable {
  private enum State {
    case open(SQLiteConnection)
    /// Nothing has used the connection yet. The stores are those of errors.
    case waiting(stores: [URL], open: () throws -> SQLiteConnection)
  }

  private let lock = Mutex<Void>(())
  private var state: State
  /// The thread that holds the lock; 0 for none. A thread can call the writer again from within its own body, because
  /// the body runs code of the app, such as the sequence of a batch or a store format. Without a check, that
  /// thread would wait forever.
  private let holdingThread = Atomic<UInt>(0)

  /// - Parameter connection: A connection that nothing else uses.
  init(_ connection: SQLiteConnection) { state = .open(connection) }

  /// A writer that opens its connection when it is first used.
  ///
  /// - Parameters:
  ///   - stores: The stores that the connection will have open. Errors name them.
  ///   - open: Returns a connection that nothing else uses. If it throws an error, the next use calls it again.
  init(of stores: [URL], open: @escaping () throws -> SQLiteConnection) {
    state = .waiting(stores: stores, open: open)
  }

  /// Whether the calling thread is inside a body of ``use(_:)``.
  var isHeldByThisThread: Bool { holdingThread.load(ordering: .relaxed) == Self.thisThread }

  /// Runs a body with the connection. The body must not keep the connection.
  ///
  /// - Throws: ``StoreError/nestedWrite(_:)`` if the calling thread is already inside such a body.
  func use<R>(_ body: (SQLiteConnection) throws -> R) throws -> R {
    try exclusively { try body(connection()) }
  }

  /// Returns the connection, and opens it at the first use. Called with the lock held.
  private func connection() throws -> SQLiteConnection {
    switch state {
    case .open(let connection): return connection
    case .waiting(_, let open):
      let connection = try open()
      state = .open(connection)
      return connection
    }
  }

  private var stores: [URL] {
    switch state {
    case .open(let connection): connection.stores
    case .waiting(let stores, _): stores
    }
  }

  /// Replaces the connection, when it is not in use, by the connection that a closure returns.
  ///
  /// - Returns: Whether the closure returned a connection.
  /// - Throws: ``StoreError/nestedWrite(_:)`` if the calling thread uses the connection.
  func replace(_ make: () throws -> SQLiteConnection?) throws -> Bool {
    try exclusively {
      guard let new = try make() else { return false }
      state = .open(new)
      return true
    }
  }

  /// Runs a body with the lock held. This method has no exclusive access to the connection for the whole call, because
  /// code that the body calls may enter here again.
  private func exclusively<R>(_ body: () throws -> R) throws -> R {
    let thread = Self.thisThread
    // Only this thread stores its own number here, so a relaxed read is enough to recognize it.
    guard holdingThread.load(ordering: .relaxed) != thread else {
      throw StoreError.nestedWrite(stores)
    }
    var result: Result<R, any Error> = .failure(CancellationError())
    // The lock's own result would have to be `sending`, so the closure sets a variable.
    lock.withLock { _ in
      holdingThread.store(thread, ordering: .relaxed)
      defer { holdingThread.store(0, ordering: .relaxed) }
      result = Result { try body() }
    }
    return try result.get()
  }

  /// A number other than 0 that no other living thread has.
  private static var thisThread: UInt {
    #if canImport(Darwin)
      UInt(bitPattern: pthread_self())
    #else
      UInt(pthread_self())
    #endif
  }
}
