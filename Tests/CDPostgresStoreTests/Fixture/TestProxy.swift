import Foundation
import Synchronization

@testable import CDPostgresStore

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// Opens a socket that listens on a free port of the loopback address.
func listeningSocket() throws -> (descriptor: Int32, port: Int) {
  // Writing to a closed connection is an error like others.
  signal(SIGPIPE, SIG_IGN)
  let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
  var address = sockaddr_in()
  address.sin_family = sa_family_t(AF_INET)
  address.sin_addr.s_addr = inet_addr("127.0.0.1")
  var length = socklen_t(MemoryLayout<sockaddr_in>.size)
  let bound = withUnsafeMutablePointer(to: &address) { pointer in
    pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
      bind(listener, $0, length) == 0 && listen(listener, 100) == 0
        && getsockname(listener, $0, &length) == 0
    }
  }
  guard bound else { throw POSIXError(.EADDRINUSE) }
  return (listener, Int(UInt16(bigEndian: address.sin_port)))
}

/// Calls a function with each connection to a socket, on a thread of its own, until ``stopListening(_:)`` is called.
///
/// Only this thread closes the socket. Otherwise the system could give the number to the socket of another test while this
/// thread is about to wait for the next connection, and it would take a connection from that test.
func acceptConnections(on listener: Int32, _ serve: @escaping @Sendable (Int32) -> Void) {
  Thread.detachNewThread {
    while true {
      let client = accept(listener, nil, nil)
      if client >= 0 {
        serve(client)
      } else if errno != EINTR && errno != ECONNABORTED {
        close(listener)
        return
      }
    }
  }
}

/// Ends ``acceptConnections(on:_:)``.
func stopListening(_ listener: Int32) { shutdown(listener, Int32(SHUT_RDWR)) }

/// A proxy between a program and the server. It knows the statements that pass, counts round trips, and can cut the
/// connection at any of them.
///
/// Unchecked: only the mutex has state that changes.
final class TestProxy: @unchecked Sendable {
  /// What happens at a point at which the program waits for a reply.
  enum Action {
    case forward
    /// The server gets the statements later.
    case delay(milliseconds: UInt32)
    /// Closes both sides before the server gets the statements.
    case cutBefore
    /// The server gets the statements, and the program gets no reply but a closed connection.
    case cutAfter
    /// The server gets the statements, and the program gets no reply at all.
    case silence
    /// The server executes the statements before this one, and fails with an error of its own instead of executing the
    /// rest. The error ends the connection if its code is 57P01.
    case fail(code: String, at: Int)
  }

  let port: Int
  private let listener: Int32
  private let server: (host: String, port: Int)
  private let state = Mutex(State())

  private struct State {
    var decide: @Sendable (_ statements: [String]) -> Action = { _ in .forward }
    var roundTrips: [[String]] = []
    var receivedBytes = 0
    var sockets: [Int32] = []
  }

  init(to server: PostgresServer) throws {
    guard let host = server.hosts.first else { throw POSIXError(.EINVAL) }
    self.server = (host.name, host.port ?? 5432)
    (listener, port) = try listeningSocket()
    acceptConnections(on: listener) { [weak self] client in
      if let self { self.serve(client) } else { close(client) }
    }
  }

  deinit {
    stopListening(listener)
    cutAll()
  }

  private static func address(_ host: String, _ port: Int) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(port).bigEndian
    address.sin_addr.s_addr = inet_addr(host)
    return address
  }

  // MARK: Control

  /// Sets what happens at each point at which the program waits for a reply.
  func decide(_ body: @escaping @Sendable (_ statements: [String]) -> Action) {
    state.withLock { $0.decide = body }
  }

  /// The statements of each round trip since the last call.
  func takeRoundTrips() -> [[String]] {
    state.withLock { state in
      defer { state.roundTrips = [] }
      return state.roundTrips
    }
  }

  /// The number of bytes that the server has sent since the last call.
  func takeReceivedBytes() -> Int {
    state.withLock { state in
      defer { state.receivedBytes = 0 }
      return state.receivedBytes
    }
  }

  /// Closes all connections.
  func cutAll() {
    state.withLock { state in
      for socket in state.sockets { shutdown(socket, Int32(SHUT_RDWR)) }
    }
  }

  // MARK: Connections

  private func serve(_ client: Int32) {
    let upstream = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = Self.address(server.host, server.port)
    let isConnected = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(upstream, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
    guard isConnected else {
      close(client)
      close(upstream)
      return
    }
    state.withLock { $0.sockets += [client, upstream] }
    let link = Link(client: client, server: upstream)
    Thread.detachNewThread { [self] in pumpFromClient(link) }
    Thread.detachNewThread { [self] in pumpFromServer(link) }
  }

  /// The two sockets of a connection.
  private final class Link: Sendable {
    let client: Int32
    let server: Int32
    /// Whether the program gets no more replies.
    let isSilent = Atomic<Bool>(false)
    private let running = Atomic<Int>(2)

    init(client: Int32, server: Int32) {
      self.client = client
      self.server = server
    }

    /// Ends one direction.
    ///
    /// - Returns: Whether the other one has ended too, so that the sockets can be closed.
    func end() -> Bool {
      shutdown(client, Int32(SHUT_RDWR))
      shutdown(server, Int32(SHUT_RDWR))
      return running.subtract(1, ordering: .acquiringAndReleasing).newValue == 0
    }
  }

  /// Ends one direction of a connection.
  private func end(_ link: Link) {
    guard link.end() else { return }
    // The system gives their numbers to other connections.
    state.withLock { state in
      state.sockets.removeAll { $0 == link.client || $0 == link.server }
      close(link.client)
      close(link.server)
    }
  }

  private func pumpFromServer(_ link: Link) {
    var buffer = [UInt8](repeating: 0, count: 65536)
    while true {
      let count = read(link.server, &buffer, buffer.count)
      guard count > 0 else { break }
      state.withLock { $0.receivedBytes += count }
      if link.isSilent.load(ordering: .acquiring) { continue }
      guard Self.send(buffer[..<count], to: link.client) else { break }
    }
    end(link)
  }

  private func pumpFromClient(_ link: Link) {
    defer { end(link) }
    var pending: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65536)
    var isStarted = false
    var names: [String: String] = [:]
    var statements: [String] = []
    // The messages of statements that the server has not got yet, and where each statement begins in them, after its
    // preparation. libpq would take the reply to another statement before it for that to the preparation.
    var held: [UInt8] = []
    var starts: [Int] = []
    while true {
      let count = read(link.client, &buffer, buffer.count)
      guard count > 0 else { return }
      pending += buffer[..<count]
      var start = 0
      while true {
        // The first message has no type.
        let header = isStarted ? 1 : 0
        guard pending.count - start >= header + 4 else { break }
        let length = pending[(start + header)..<(start + header + 4)].reduce(0) { $0 << 8 | Int($1) }
        guard pending.count - start >= header + length else { break }
        let message = pending[start..<(start + header + length)]
        start += header + length
        let body = message.dropFirst(header + 4)
        guard isStarted else {
          // A request for encryption is answered by one byte, and then comes the real first message.
          isStarted = !(length == 8 && body.starts(with: [0x04, 0xD2, 0x16, 0x2F]))
          guard Self.send(message, to: link.server) else { return }
          continue
        }
        switch message.first {
        case UInt8(ascii: "P"):
          let parts = Self.texts(body, 2)
          names[parts[0]] = parts[1]
          held += message
        case UInt8(ascii: "B"):
          statements.append(names[Self.texts(body, 2)[1]] ?? "")
          starts.append(held.count)
          held += message
        case UInt8(ascii: "D"), UInt8(ascii: "E"): held += message
        case UInt8(ascii: "Q"), UInt8(ascii: "S"):
          if message.first == UInt8(ascii: "Q") { statements.append(Self.texts(body, 1)[0]) }
          guard deliver(held, starts, message, statements, to: link) else { return }
          (held, starts, statements) = ([], [], [])
        default:
          // The program waits for replies without ending the round trip, or copies rows.
          guard Self.send(held + message, to: link.server) else { return }
          (held, starts) = ([], [])
        }
      }
      pending.removeFirst(start)
    }
  }

  /// Passes on the statements of a round trip, whose last message ends it.
  ///
  /// - Parameters:
  ///   - held: The messages of the statements.
  ///   - starts: Where each statement begins in `held`.
  /// - Returns: Whether the connection goes on.
  private func deliver(
    _ held: [UInt8], _ starts: [Int], _ last: ArraySlice<UInt8>, _ statements: [String], to link: Link
  ) -> Bool {
    let decide = state.withLock { state in
      state.roundTrips.append(statements)
      return state.decide
    }
    switch decide(statements) {
    case .forward: return Self.send(held + last, to: link.server)
    case .delay(let time):
      usleep(time * 1000)
      return Self.send(held + last, to: link.server)
    case .cutBefore: return false
    case .cutAfter:
      link.isSilent.store(true, ordering: .releasing)
      guard Self.send(held + last, to: link.server) else { return false }
      // The server must have the time to execute the statements.
      usleep(200_000)
      return false
    case .silence:
      link.isSilent.store(true, ordering: .releasing)
      return Self.send(held + last, to: link.server)
    case .fail(let code, let index):
      let statement =
        code == "57P01"
        ? "SELECT pg_terminate_backend(pg_backend_pid())"
        : "DO $$ BEGIN RAISE EXCEPTION 'injected' USING ERRCODE = '\(code)'; END $$"
      if last.first == UInt8(ascii: "Q") {
        return Self.send(held + Self.message("Q", Array(statement.utf8) + [0]), to: link.server)
      }
      // The server skips the other statements until the round trip ends, as after errors of their own.
      let kept = index < starts.count ? starts[index] : held.count
      let poison =
        Self.message("P", [0] + Array(statement.utf8) + [0, 0, 0])
        + Self.message("B", [0, 0, 0, 0, 0, 0, 0, 0]) + Self.message("E", [0, 0, 0, 0, 0])
      return Self.send(held[..<kept] + poison + held[kept...] + last, to: link.server)
    }
  }

  private static func message(_ type: Character, _ body: [UInt8]) -> [UInt8] {
    let length = UInt32(body.count + 4)
    return [type.asciiValue ?? 0] + (0..<4).map { UInt8(truncatingIfNeeded: length >> (24 - 8 * $0)) } + body
  }

  /// The first texts of a message, each of which ends with a zero.
  private static func texts(_ body: ArraySlice<UInt8>, _ count: Int) -> [String] {
    let parts = body.split(separator: 0, maxSplits: count, omittingEmptySubsequences: false)
    return (0..<count).map { $0 < parts.count ? String(decoding: parts[$0], as: UTF8.self) : "" }
  }

  private static func send(_ bytes: some Collection<UInt8>, to socket: Int32) -> Bool {
    var rest = Array(bytes)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { write(socket, $0.baseAddress, $0.count) }
      guard count > 0 else { return false }
      rest = rest.dropFirst(count)
    }
    return true
  }
}
