import CDModel
import Foundation
import Testing

@testable import CDPostgresStore
@testable import CDRuntime

/// Servers that do not let anybody in.
@Suite struct RefusalTests {
  private func error(of fake: FakeServer, _ change: (inout PostgresServer) -> Void = { _ in }) throws
    -> String
  {
    var server = PostgresServer(
      host: "127.0.0.1", port: fake.port, database: "db", user: "me", password: "secret")
    server.tls = .none
    server.connectTimeout = 3
    change(&server)
    let error = try #require(throws: StoreError.self) {
      try PersistentStoreCoordinator(model: ServerStore.model, at: .server(server))
    }
    guard case .engine(_, let reason) = error else {
      Issue.record("\(error)")
      return ""
    }
    #expect(reason.code == "08001" && reason.engine == "PostgreSQL")
    #expect(reason.isOfConnection && error.situation == .serverUnreachable)
    #expect(!"\(error)".contains("secret"))
    #expect("\(error)".contains("postgresql://127.0.0.1:\(fake.port)/db"))
    return reason.message
  }

  @Test func aWrongPassword() throws {
    let fake = try FakeServer(FakeServer.fatal("28P01", "password authentication failed for user \"me\""))
    #expect(try error(of: fake).contains("password authentication failed"))
  }

  @Test func aServerThatStarts() throws {
    let fake = try FakeServer(FakeServer.fatal("57P03", "the database system is starting up"))
    #expect(try error(of: fake).contains("starting up"))
  }

  @Test func silence() throws {
    let fake = try FakeServer(nil)
    let start = ContinuousClock.now
    #expect(try error(of: fake).contains("in time"))
    #expect(ContinuousClock.now - start < .seconds(9))
  }

  @Test func anotherProtocol() throws {
    let fake = try FakeServer(Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8))
    _ = try error(of: fake)
  }

  /// Nothing is sent without encryption that was asked for.
  @Test func noEncryption() throws {
    // `N` is the answer of a server without encryption.
    let fake = try FakeServer([UInt8(ascii: "N")])
    #expect(try error(of: fake) { $0.tls = .encrypt }.contains("SSL"))
  }

  @Test func noProof() throws {
    let fake = try FakeServer([UInt8(ascii: "N")])
    #expect(try error(of: fake) { $0.tls = .verifyFull() }.contains("SSL"))
  }
}
