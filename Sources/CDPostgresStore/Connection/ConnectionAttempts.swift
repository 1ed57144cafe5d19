import CPostgreSQL

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// The attempts to connect to the addresses of a server, in their order.
///
/// An address that does not answer does not keep the next one waiting for long: its attempt goes on while the next address
/// is tried. So a machine that is gone delays a connection to another machine by half a second, not by the whole limit. While
/// it is waited for, addresses that have refused are tried again: one of them may be about to take over.
final class ConnectionAttempts {
  private let server: PostgresServer
  private let toWrite: Bool
  /// Whether waits end if the task is cancelled.
  private let watchesTask: Bool
  /// The addresses that have not been tried yet.
  private var addresses: ArraySlice<PostgresServer.Host?>
  /// The addresses that have refused a connection.
  private var refused: [PostgresServer.Host?] = []
  private var attempts: [Attempt] = []
  /// When the next address is tried even if no attempt has failed.
  private var headStart = Deadline(seconds: 0)
  /// When no address is tried again any more.
  private let end: Deadline
  private var messages: [String] = []

  private struct Attempt {
    let handle: OpaquePointer
    let address: PostgresServer.Host?
    /// What the attempt waits for.
    var events = Int16(POLLOUT)
    let deadline: Deadline
  }

  /// How many seconds an address has before the next one is tried too.
  private static let headStart = 0.5

  /// - Parameters:
  ///   - toWrite: Whether the server must accept writes.
  ///   - isCancellable: Whether the wait for a connection ends if the task is cancelled.
  init(_ server: PostgresServer, toWrite: Bool, isCancellable: Bool) {
    self.server = server
    self.toWrite = toWrite
    watchesTask = isCancellable && WaitingTask.exists
    end = Deadline(seconds: server.connectTimeout)
    addresses = server.hosts.isEmpty ? [nil] : server.hosts[...].map(Optional.some)[...]
  }

  deinit { for attempt in attempts { PQfinish(attempt.handle) } }

  /// The error if no address can be used.
  var failure: PostgresFailure {
    PostgresFailure(
      code: PostgresFailure.cannotConnect, message: messages.joined(separator: "; "), endsConnection: true)
  }

  /// Adds the reason why an address cannot be used.
  func add(_ message: String) { if !messages.contains(message) { messages.append(message) } }

  /// Waits for a connection.
  ///
  /// - Returns: An open connection, which belongs to the caller; nil if no address is left.
  func next() throws(PostgresFailure) -> OpaquePointer? {
    while !attempts.isEmpty || !addresses.isEmpty {
      if attempts.isEmpty || headStart.isOver {
        if addresses.isEmpty, !end.isOver { (addresses, refused) = (refused[...], []) }
        if let address = addresses.popFirst() { begin(address) }
      }
      if !attempts.isEmpty, let handle = try wait() { return handle }
    }
    return nil
  }

  private func begin(_ address: PostgresServer.Host?) {
    headStart = Deadline(seconds: Self.headStart)
    let deadline = Deadline(seconds: server.connectTimeout)
    do throws(PostgresFailure) {
      let handle = try PostgresConnection.begin(server, address, toWrite: toWrite)
      attempts.append(Attempt(handle: handle, address: address, deadline: deadline))
    } catch { add(error.message) }
  }

  /// Waits until an attempt can go on, has no time left, or another address must be tried.
  ///
  /// - Returns: The connection, if it is open now.
  private func wait() throws(PostgresFailure) -> OpaquePointer? {
    var descriptors = attempts.map { pollfd(fd: PQsocket($0.handle), events: $0.events, revents: 0) }
    var limits = attempts.map(\.deadline.milliseconds)
    if !addresses.isEmpty || !refused.isEmpty && !end.isOver { limits.append(headStart.milliseconds) }
    if watchesTask { limits.append(WaitingTask.interval) }
    let count = poll(&descriptors, nfds_t(descriptors.count), limits.min() ?? 0)
    if count < 0, errno != EINTR {
      add("the connection cannot be waited for")
      for attempt in attempts { PQfinish(attempt.handle) }
      attempts = []
      return nil
    }
    if count == 0, watchesTask, WaitingTask.isCancelled {
      throw PostgresFailure.cancelled(endsConnection: false)
    }
    let old = attempts
    attempts = []
    var opened: OpaquePointer?
    for (var attempt, descriptor) in zip(old, descriptors) {
      if opened == nil, count > 0, descriptor.revents != 0 {
        switch PQconnectPoll(attempt.handle) {
        case PGRES_POLLING_OK:
          opened = attempt.handle
          continue
        case PGRES_POLLING_READING: attempt.events = Int16(POLLIN)
        case PGRES_POLLING_WRITING: attempt.events = Int16(POLLOUT)
        default:
          add(PostgresConnection.message(of: attempt.handle))
          PQfinish(attempt.handle)
          refused.append(attempt.address)
          // An answer, so that the next address need not wait.
          if !addresses.isEmpty { headStart = Deadline(seconds: 0) }
          continue
        }
      }
      if attempt.deadline.isOver {
        add("the server did not accept the connection in time")
        PQfinish(attempt.handle)
      } else {
        attempts.append(attempt)
      }
    }
    return opened
  }
}
