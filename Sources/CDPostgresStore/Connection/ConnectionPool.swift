import Dispatch
import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// The connections of a coordinator. Code that needs a connection waits until one is free, first come, first served.
///
/// Unchecked: a connection is in the pool only while nothing else uses it, and the lock allows one caller at a time to
/// take or return one.
final class ConnectionPool: @unchecked Sendable {
  private let server: PostgresServer
  /// Whether the connections must accept writes.
  private let toWrite: Bool
  private let lock = Mutex<Void>(())
  private var idle: [PostgresConnection] = []
  /// The number of connections, those in use included.
  private var count = 0
  private var waiters: [Waiter] = []
  /// The numbers of connections that threads hold.
  private var holders: [UInt: Int] = [:]

  /// Somebody who waits for a connection.
  private final class Waiter {
    let semaphore = DispatchSemaphore(value: 0)
    /// The connection that the waiter was given; nil if the waiter may open one.
    var connection: PostgresConnection?
    var isServed = false
  }

  init(_ server: PostgresServer, toWrite: Bool) {
    self.server = server
    self.toWrite = toWrite
  }

  /// Takes a connection.
  ///
  /// A thread that already has one does not wait: it could wait for itself. So there may be more connections than the
  /// limit, if code that reads a context makes another context read.
  ///
  /// - Parameter isCancellable: Whether the wait for a connection ends if the task is cancelled: for a free one, or for the
  ///   server.
  func take(isCancellable: Bool = false) throws(PostgresFailure) -> PostgresConnection {
    let thread = Self.thisThread
    var waiter: Waiter?
    var found: PostgresConnection?
    lock.withLock { _ in
      let isNested = holders[thread] != nil
      if let connection = idle.popLast() {
        found = connection
      } else if count < max(1, server.poolSize) || isNested {
        count += 1
      } else {
        let new = Waiter()
        waiters.append(new)
        waiter = new
      }
      if waiter == nil { holders[thread, default: 0] += 1 }
    }
    if let waiter { found = try wait(waiter, thread, isCancellable: isCancellable) }
    if let connection = found {
      if connection.isOpen, !connection.hasEnded() {
        connection.holder = thread
        return connection
      }
      connection.close()
    }
    do {
      let connection = try PostgresConnection.open(server, toWrite: toWrite, isCancellable: isCancellable)
      connection.holder = thread
      return connection
    } catch {
      give(nil, heldBy: thread)
      throw error
    }
  }

  private func wait(
    _ waiter: Waiter, _ thread: UInt, isCancellable: Bool
  ) throws(PostgresFailure) -> PostgresConnection? {
    let deadline = Deadline(seconds: server.connectTimeout)
    let watchesTask = isCancellable && WaitingTask.exists
    var isSignaled = false
    var isCancelled = false
    repeat {
      let time = watchesTask ? min(deadline.milliseconds, WaitingTask.interval) : deadline.milliseconds
      isSignaled = waiter.semaphore.wait(timeout: .now() + .milliseconds(Int(time))) == .success
      isCancelled = watchesTask && WaitingTask.isCancelled
    } while !isSignaled && !isCancelled && !deadline.isOver
    var isServed = isSignaled
    lock.withLock { _ in
      // The connection may have come at the last moment.
      isServed = isSignaled || waiter.isServed
      if isServed { holders[thread, default: 0] += 1 } else { waiters.removeAll { $0 === waiter } }
    }
    if isServed { return waiter.connection }
    if isCancelled { throw PostgresFailure.cancelled(endsConnection: false) }
    throw PostgresFailure(
      code: PostgresFailure.tooManyConnections,
      message: "all \(server.poolSize) connections of the coordinator were in use for longer than "
        + "\(server.connectTimeout) s")
  }

  /// Gives a connection back. It must have no transaction, or be closed.
  func give(_ connection: PostgresConnection) { give(connection, heldBy: connection.holder) }

  private func give(_ connection: PostgresConnection?, heldBy thread: UInt) {
    var surplus: PostgresConnection?
    lock.withLock { _ in
      if let held = holders[thread] { holders[thread] = held > 1 ? held - 1 : nil }
      let usable = connection.flatMap { $0.isOpen ? $0 : nil }
      if !waiters.isEmpty, count <= max(1, server.poolSize) {
        let waiter = waiters.removeFirst()
        waiter.connection = usable
        waiter.isServed = true
        waiter.semaphore.signal()
      } else if let usable, count <= max(1, server.poolSize) {
        idle.append(usable)
      } else {
        count -= 1
        surplus = usable
      }
    }
    surplus?.close()
  }

  /// Closes the connections that nobody uses.
  func closeIdle() {
    var closed: [PostgresConnection] = []
    lock.withLock { _ in
      closed = idle
      count -= idle.count
      idle = []
    }
    for connection in closed { connection.close() }
  }

  /// A number other than 0 that no other living thread has.
  static var thisThread: UInt {
    #if canImport(Darwin)
      UInt(bitPattern: pthread_self())
    #else
      UInt(pthread_self())
    #endif
  }
}
