import Foundation
import Testing

@testable import CDPostgresStore
@testable import CDRuntime

/// URLs of servers.
@Suite struct ServerURLTests {
  @Test func allParts() throws {
    let server = try PostgresServer(
      url:
        "postgresql://me:p%40ss@db1.example.com:5433,[::1]:5434,db2/library?schema=tenant%207&sslmode=verify-ca"
        + "&sslrootcert=/ca.crt&pool_size=3&pooled=true&connect_timeout=2&statement_timeout=1.5&replay_timeout=4"
        + "&service=main&features=common")
    #expect(
      server.hosts == [
        .init("db1.example.com", port: 5433), .init("::1", port: 5434), .init("db2"),
      ])
    #expect(server.user == "me" && server.password == "p@ss" && server.database == "library")
    #expect(server.schema == "tenant 7" && server.service == "main")
    #expect(server.tls == .verifyCertificate(rootCertificates: "/ca.crt"))
    #expect(server.poolSize == 3 && server.isPooled && server.features == .common)
    #expect(server.connectTimeout == 2 && server.statementTimeout == 1.5 && server.replayTimeout == 4)
  }

  @Test func nothingButTheScheme() throws {
    let server = try PostgresServer(url: "postgres://")
    #expect(server == PostgresServer())
    #expect(server.hosts.isEmpty && server.schema == "public" && server.tls == .automatic)
  }

  @Test func theLongestSchema() throws {
    let name = String(repeating: "x", count: 63)
    #expect(try PostgresServer(url: "postgresql://host/db?schema=\(name)").schema == name)
  }

  @Test func aSocketInTheQuery() throws {
    let server = try PostgresServer(url: "postgresql:///library?host=/var/run/postgresql&user=me&password=x")
    #expect(server.hosts == [.init("/var/run/postgresql")] && server.user == "me" && server.password == "x")
  }

  static let wrong = [
    "http://host/db", "postgresql://host:0/db", "postgresql://host:x/db", "postgresql://[::1/db",
    "postgresql://[::1]x/db", "postgresql://,/db", "postgresql://host/db?schema",
    "postgresql://host/db?schema=",
    "postgresql://host/db?other=1", "postgresql://host/db?sslmode=prefer", "postgresql://host/db?pool_size=0",
    "postgresql://host/db?pooled=perhaps", "postgresql://host/db?features=some", "postgresql://host/d%2",
    "postgresql://host/d%00b",
    "postgresql://host/d%+1b", "postgresql://host/d%FF", "postgresql://host/db?statement_timeout=-1",
    "postgresql://host/db?connect_timeout=nan", "postgresql://host/db?schema=a%00b",
    "postgresql://host/db?schema=" + String(repeating: "x", count: 64),
  ]

  @Test(arguments: wrong) func mistakesAreErrors(_ url: String) {
    #expect(throws: ServerURLError.self) { try PostgresServer(url: url) }
  }

  @Test func mistakesArePresentable() {
    let url = Self.wrong[0]
    let error: (any Error)? = #expect(throws: ServerURLError.self) { try PostgresServer(url: url) }
    #expect((error as? any PresentableError)?.situation == .unreadableText)
  }

  /// What is shown of a server, in errors too, has neither the user nor the password.
  @Test func thePasswordIsNotShown() throws {
    let server = try PostgresServer(url: "postgresql://somebody:secret@host:1/db?schema=s")
    var dumped = ""
    dump(server, to: &dumped)
    for text in ["\(server)", server.debugDescription, dumped, "\(StoreLocation.server(server))"] {
      #expect(!text.contains("secret") && !text.contains("somebody"), "\(text)")
    }
    #expect(server.description == "postgresql://host:1/db?schema=s")
    do {
      _ = try PostgresServer(url: "postgresql://me:secret%@host/db")
    } catch { #expect(!"\(error)".contains("secret")) }
  }

  /// The rest of a password after a character that ends the host.
  @Test(
    arguments: [
      "me:Xk9/sEcReT@host/db", "me:Xk9?sEcReT@host/db", "me:123/sEcReT@host/db", "me:123?sEcReT@host/db",
      "me:123?a=sEcReT@host/db", "me:Xk9@/sEcReT@host/db", "m/e:Xk9sEcReT@host/db",
    ])
  func anUnescapedPasswordIsNotShown(_ rest: String) {
    let error = #expect(throws: ServerURLError.self) { try PostgresServer(url: "postgresql://" + rest) }
    #expect(error?.reason.contains("%2F") == true, "\(String(describing: error))")
    #expect(error.map { !"\($0)".contains("Xk9") && !"\($0)".contains("sEcReT") } == true)
  }

  @Test func anAtSignMayFollowALogin() throws {
    let server = try PostgresServer(url: "postgresql://me:Xk9@host:1/db?application_name=a@b")
    #expect(server.password == "Xk9" && server.applicationName == "a@b" && server.database == "db")
    #expect(try PostgresServer(url: "postgresql://host/db?user=me@work").user == "me@work")
    #expect(try PostgresServer(url: "postgresql:///db?password=a:b@c").password == "a:b@c")
    #expect(try PostgresServer(url: "postgresql://host:1/a%40b").database == "a@b")
  }

  @Test func theSchemeHasNoCase() throws {
    #expect(try PostgresServer(url: "POSTGRESQL://me:x@host/db").user == "me")
    #expect(try PostgresServer(url: "Postgres://host/db").database == "db")
  }

  @Test func locationsAreCompared() throws {
    let one = try StoreLocation.server(url: "postgresql://host/db?schema=a")
    #expect(try one == .server(url: "postgresql://host/db?schema=a"))
    #expect(try one != .server(url: "postgresql://host/db?schema=b"))
    #expect(one.url == nil && one != .inMemory)
  }

  /// The server accepts no greater number than that of two million seconds, and zero is no limit.
  @Test(
    arguments: [
      (.infinity, 1_000_000_000), (.nan, 1_000_000_000), (1e300, 1_000_000_000), (60, 60_000), (0.001, 1),
      (0.0001, 1), (0, 1), (-1, 1),
    ] as [(Double, Int)])
  func theLimitOfStatementsFitsTheServer(seconds: Double, milliseconds: Int) {
    var server = PostgresServer()
    server.statementTimeout = seconds
    #expect(server.isSameDatabase(as: server))
    #expect(
      PostgresConnection.limits(of: server, isLocal: false).map(\.text) == [
        "SET statement_timeout = \(milliseconds)",
        "SET idle_in_transaction_session_timeout = \(milliseconds * 2)",
      ])
  }

  @Test func whichHostsAreLocal() {
    for host in ["", "/var/run", "localhost", "127.0.0.1", "127.1.2.3", "::1", "@socket"] {
      #expect(PostgresConnection.isLocal(host))
    }
    for host in [
      "example.com", "127.evil.example.com", "127.0.0.1.example.com", "10.0.0.1", "localhost.example.com",
    ] {
      #expect(!PostgresConnection.isLocal(host))
    }
  }
}
