import CDModel
import Dispatch
import Foundation
import Synchronization
import Testing

@testable import CDPostgresStore
@testable import CDRuntime

/// Connections: values on their way, limits, and what goes wrong.
@Suite(.needsServer) struct ConnectionTests {
  private func connection(_ change: (inout PostgresServer) -> Void = { _ in }) throws -> PostgresConnection {
    var server = try TestServer.server("public")
    change(&server)
    return try PostgresConnection.open(server, toWrite: true)
  }

  // MARK: Values

  static let decimals = [
    "0", "1", "-1", "9.99", "-0.0001", "10000", "99999999.99999999", "12345678901234567890123456789012345678",
    "0.00000000000000000000000000000000000001", "100000000000000000000", "-1234.5678", "0.1", "1000.0001",
  ]

  @Test(arguments: decimals) func decimalsComeBack(_ text: String) throws {
    let number = try #require(Decimal(string: text))
    let result = try connection().run(
      "SELECT CAST(? AS numeric), CAST(? AS text)",
      [
        .value(.decimal(number)), .value(.string(text)),
      ])
    #expect(result.value(0, 0, .decimal) == .decimal(number))
    let parsed = try connection().run("SELECT CAST(CAST(? AS text) AS numeric)", [.value(.string(text))])
    #expect(parsed.value(0, 0, .decimal) == .decimal(number))
  }

  @Test func decimalsOfAnySizeComeBack() throws {
    let connection = try connection()
    var random = SystemRandomNumberGenerator()
    for _ in 0..<300 {
      var number = Decimal(Int64.random(in: .min ... .max, using: &random))
      number *= Decimal(sign: .plus, exponent: Int.random(in: -60...60, using: &random), significand: 1)
      let result = try connection.run("SELECT CAST(? AS numeric)", [.value(.decimal(number))])
      #expect(result.value(0, 0, .decimal) == .decimal(number))
    }
  }

  @Test func valuesComeBack() throws {
    let uuid = UUID()
    let data = Data((0...255).map { UInt8($0) })
    let date = Date(timeIntervalSinceReferenceDate: 0.1 + 1e9)
    let values: [(AttributeValue, StorageType)] = [
      (.string("it's \"日本\" \\ e\u{301}\u{1F600}"), .string), (.string(""), .string), (.int(.min), .int64),
      (.int(.max), .int64), (.double(.greatestFiniteMagnitude), .double),
      (.double(.leastNonzeroMagnitude), .double),
      (.double(.infinity), .double), (.bool(true), .bool), (.bool(false), .bool), (.uuid(uuid), .uuid),
      (.data(data), .data), (.data(Data()), .data), (.date(date), .date), (.null, .string),
      (.url(try #require(URL(string: "https://example.com/ä?x=1"))), .url),
    ]
    let parameters = values.map { PostgresParameter.typed($0.0, PostgresType($0.1)) }
    let marks = values.map { "CAST(? AS \(PostgresType($0.1).name))" }.joined(separator: ", ")
    let connection = try connection()
    // The second time, the server has kept the statement.
    for _ in 0..<3 {
      let result = try connection.run("SELECT \(marks)", parameters)
      for (column, (value, type)) in values.enumerated() { #expect(result.value(0, column, type) == value) }
    }
    for (value, type) in values {
      let many = try connection.run(
        "SELECT v FROM unnest(CAST(? AS \(PostgresType(type).name)[])) AS u(v)",
        [.array([value, .null, value], PostgresType(type))])
      #expect(many.rowCount == 3 && many.value(0, 0, type) == value && many.value(2, 0, type) == value)
      #expect(many.isNull(1, 0))
    }
    let none = try connection.run("SELECT v FROM unnest(CAST(? AS bigint[])) AS u(v)", [.keys([])])
    #expect(none.rowCount == 0)
  }

  // MARK: Errors

  @Test func anErrorLeavesTheConnectionUsable() throws {
    let connection = try connection()
    #expect(throws: PostgresFailure.self) { try connection.run("SELECT 1/0") }
    #expect(throws: PostgresFailure.self) { try connection.run("SELEC") }
    // A statement that the server does not keep because of an error is prepared again.
    for _ in 0..<4 {
      #expect(throws: PostgresFailure.self) { try connection.run("SELECT 1/?", [.value(.int(0))]) }
      #expect(throws: PostgresFailure.self) { try connection.run("SELECT nothing FROM nowhere") }
    }
    #expect(try connection.run("SELECT 1/?", [.value(.int(1))]).int(0, 0) == 1)
    #expect(!connection.isInTransaction)
  }

  @Test func theFailedStatementIsNamed() throws {
    let connection = try connection()
    do {
      _ = try connection.run([
        PostgresStatement("BEGIN"), PostgresStatement("SELECT 1"), PostgresStatement("SELECT 1/0"),
        PostgresStatement("COMMIT"),
      ])
      Issue.record("no error")
    } catch {
      #expect(error.code == "22012" && error.statement == 2 && !error.endsConnection)
    }
    #expect(connection.isInTransaction)
    try connection.run("ROLLBACK")
    #expect(!connection.isInTransaction)
  }

  @Test func aSlowStatementEnds() throws {
    let connection = try connection { $0.statementTimeout = 1.5 }
    let start = ContinuousClock.now
    do {
      try connection.run("SELECT pg_sleep(30)")
      Issue.record("no error")
    } catch {
      #expect(error.code == "57014" && !error.endsConnection)
    }
    #expect(ContinuousClock.now - start < .seconds(20))
    #expect(try connection.run("SELECT 1").int(0, 0) == 1)
  }

  /// A server that is silent does not keep anybody waiting.
  @Test func silenceHasAnEnd() throws {
    let proxy = try TestProxy(to: TestServer.server())
    let connection = try connection {
      $0.hosts = [.init("127.0.0.1", port: proxy.port)]
      $0.statementTimeout = 1
    }
    proxy.decide { _ in .silence }
    let start = ContinuousClock.now
    do {
      try connection.run("SELECT 1")
      Issue.record("no error")
    } catch {
      #expect(error.code == "57014" && error.endsConnection)
    }
    #expect(ContinuousClock.now - start < .seconds(20))
    #expect(!connection.isOpen)
    #expect(throws: PostgresFailure.self) { try connection.run("SELECT 1") }
  }

  @Test func aBackendThatEndsIsAnError() throws {
    let connection = try connection()
    let id = try connection.run("SELECT pg_backend_pid()").int(0, 0)
    try self.connection().run("SELECT pg_terminate_backend(CAST(? AS integer))", [.value(.int(id))])
    usleep(100_000)
    do {
      try connection.run("SELECT 1")
      Issue.record("no error")
    } catch {
      #expect(error.endsConnection && error.isTransient, "\(error)")
    }
  }

  @Test func nobodyListens() throws {
    // The port was free a moment ago.
    let port = try TestProxy(to: TestServer.server()).port
    var server = try TestServer.server()
    server.hosts = [.init("127.0.0.1", port: port)]
    let error = #expect(throws: StoreError.self) {
      try PersistentStoreCoordinator(model: ServerStore.model, at: .server(server))
    }
    guard case .engine(_, let reason)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(reason.code == "08001" && reason.engine == "PostgreSQL")
  }

  /// The second address is used if the first does not answer.
  @Test func theNextHostIsTried() throws {
    let dead = try TestProxy(to: TestServer.server()).port
    let connection = try connection { $0.hosts.insert(.init("127.0.0.1", port: dead), at: 0) }
    #expect(try connection.run("SELECT 1").int(0, 0) == 1)
  }

  /// An address that accepts connections, but does not answer, does not keep the others waiting for its whole limit.
  @Test func aSilentHostDoesNotDelayTheNextOnes() throws {
    let silent = try (0..<3).map { _ in try FakeServer(nil) }
    let hosts = silent.map { PostgresServer.Host("127.0.0.1", port: $0.port) }
    var start = ContinuousClock.now
    let connection = try connection { $0.hosts.insert(contentsOf: hosts, at: 0) }
    #expect(try connection.run("SELECT 1").int(0, 0) == 1)
    #expect(ContinuousClock.now - start < .seconds(9))
    // If none answers, the limits of all addresses end at nearly the same time.
    start = .now
    let error = #expect(throws: PostgresFailure.self) {
      try self.connection {
        $0.hosts = hosts
        $0.connectTimeout = 5
      }
    }
    #expect(error?.code == "08001" && error?.message == "the server did not accept the connection in time")
    #expect(ContinuousClock.now - start > .seconds(5.9) && ContinuousClock.now - start < .seconds(14))
  }

  /// Writers pass over a server that refuses writes. Readers take the first one.
  @Test func aHostThatRefusesWritesIsPassedOver() throws {
    let own = try OwnServer("default_transaction_read_only = on\n")
    let port = try #require(own.server.hosts.first?.port)
    var server = try TestServer.server("public")
    server.hosts = own.server.hosts + server.hosts
    let text = "SELECT CAST(current_setting('port') AS bigint)"
    let writer = try PostgresConnection.open(server, toWrite: true).run(text).int(0, 0)
    let reader = try PostgresConnection.open(server, toWrite: false).run(text).int(0, 0)
    #expect(writer != Int64(port) && reader == Int64(port))
  }

  // MARK: Copying

  @Test func manyRowsAreCopied() throws {
    let connection = try connection()
    try connection.run("CREATE TEMPORARY TABLE copied (k bigint, t text)")
    var next: Int64 = 0
    try connection.copy("COPY copied (k, t) FROM STDIN (FORMAT binary)") { bytes in
      for _ in 0..<1000 {
        next += 1
        bytes.append(Int16(2))
        bytes.appendField(.int(next))
        bytes.appendField(next % 7 == 0 ? .null : .string(String(repeating: "ä", count: 50)))
      }
      return next < 100_000
    }
    let result = try connection.run("SELECT count(*), sum(k)::bigint, count(t) FROM copied")
    #expect(result.int(0, 0) == 100_000 && result.int(0, 1) == 5_000_050_000 && result.int(0, 2) == 85_715)
    #expect(throws: PostgresFailure.self) {
      try connection.copy("COPY copied (nothing) FROM STDIN (FORMAT binary)") { _ in false }
    }
    #expect(try connection.run("SELECT 1").int(0, 0) == 1)
  }
}

/// The pool: its bound, its order and its limit of time.
@Suite(.needsServer) struct ConnectionPoolTests {
  @Test func noMoreConnectionsThanAllowed() throws {
    var server = try TestServer.server()
    server.poolSize = 3
    let pool = ConnectionPool(server, toWrite: true)
    let most = Mutex((now: 0, most: 0))
    inThreads(64) { _ in
      do {
        let connection = try pool.take()
        most.withLock {
          $0.now += 1
          $0.most = max($0.most, $0.now)
        }
        try connection.run("SELECT pg_sleep(0.005)")
        most.withLock { $0.now -= 1 }
        pool.give(connection)
      } catch { Issue.record(error) }
    }
    #expect(most.withLock(\.most) <= 3)
  }

  @Test func whoWaitsTooLongIsTold() throws {
    var server = try TestServer.server()
    server.poolSize = 1
    server.connectTimeout = 2
    let pool = ConnectionPool(server, toWrite: true)
    let held = try pool.take()
    let failure = Mutex<PostgresFailure?>(nil)
    let thread = Thread {
      do { pool.give(try pool.take()) } catch let error as PostgresFailure {
        failure.withLock { $0 = error }
      } catch {}
    }
    thread.start()
    while !thread.isFinished { usleep(10_000) }
    #expect(failure.withLock { $0?.code } == PostgresFailure.tooManyConnections)
    pool.give(held)
    pool.give(try pool.take())
  }

  /// A thread that holds the only connection does not wait for itself.
  @Test func aThreadDoesNotWaitForItself() throws {
    var server = try TestServer.server()
    server.poolSize = 1
    server.connectTimeout = 5
    let pool = ConnectionPool(server, toWrite: true)
    let first = try pool.take()
    let second = try pool.take()
    #expect(try second.run("SELECT 1").int(0, 0) == 1)
    pool.give(second)
    pool.give(first)
    pool.give(try pool.take())
  }

  @Test func endedConnectionsAreReplaced() throws {
    var server = try TestServer.server()
    server.poolSize = 1
    let pool = ConnectionPool(server, toWrite: true)
    let connection = try pool.take()
    let id = try connection.run("SELECT pg_backend_pid()").int(0, 0)
    pool.give(connection)
    let other = try PostgresConnection.open(server, toWrite: true)
    try other.run("SELECT pg_terminate_backend(CAST(? AS integer))", [.value(.int(id))])
    usleep(200_000)
    let next = try pool.take()
    #expect(try next.run("SELECT pg_backend_pid()").int(0, 0) != id)
    pool.give(next)
  }
}
