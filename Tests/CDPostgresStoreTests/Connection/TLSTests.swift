import CDModel
import Foundation
import Testing

@testable import CDPostgresStore
@testable import CDRuntime

/// Encrypted connections to a server whose certificate is signed by an authority of the test's own.
@Suite(.needsServer, .needsEncryption, .serialized) struct TLSTests {
  /// The authority, the certificates, and the server that has one of them.
  private final class Fixture {
    let folder: URL
    let own: OwnServer

    /// - Parameter name: The name of the host in the server's certificate.
    init(name: String = "localhost", days: Int = 2) throws {
      folder = FileManager.default.temporaryDirectory.appending(path: "cdgen-tls-\(UUID().uuidString)")
      let files = folder.appending(path: "files")
      try FileManager.default.createDirectory(at: files, withIntermediateDirectories: true)
      for authority in ["ca", "other"] {
        try Shell.run(
          "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 "
            + "-subj '/CN=\(authority)' -keyout \(authority).key -out \(authority).crt", in: folder)
      }
      try Shell.run(
        "openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=server "
          + "-keyout files/server.key -out server.csr && "
          + "openssl x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days \(days) "
          + "-extfile <(echo 'subjectAltName=DNS:\(name)') -out files/server.crt", in: folder)
      // Nobody gets in without encryption.
      try "hostssl all all 0.0.0.0/0 trust\nhostssl all all ::/0 trust\nlocal all all trust\n".write(
        to: files.appending(path: "pg_hba.conf"), atomically: true, encoding: .utf8)
      own = try OwnServer("ssl = on\nlisten_addresses = '*'\n", files: files)
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    func authority(_ name: String) -> String { folder.appending(path: "\(name).crt").path }

    func server(_ host: String, _ tls: PostgresServer.TLS) -> PostgresServer {
      var server = own.server
      server.hosts = [.init(host, port: own.server.hosts.first?.port)]
      server.tls = tls
      return server
    }

    func coordinator(_ host: String, _ tls: PostgresServer.TLS) throws -> PersistentStoreCoordinator {
      try PersistentStoreCoordinator(model: ServerStore.model, at: .server(server(host, tls)))
    }

    /// The message of the typed error with which opening a store fails.
    func refusal(_ host: String, _ tls: PostgresServer.TLS) throws -> String {
      let error = try #require(throws: StoreError.self) { try coordinator(host, tls) }
      guard case .engine(_, let reason) = error else {
        Issue.record("\(error)")
        return ""
      }
      #expect(reason.code == "08001" && reason.engine == "PostgreSQL" && reason.isOfConnection)
      #expect(error.situation == .serverUnreachable)
      return reason.message
    }
  }

  @Test func certificatesAreVerified() throws {
    let fixture = try Fixture()
    let (own, other) = (fixture.authority("ca"), fixture.authority("other"))

    // The right name and the right authority. Objects are saved and read.
    let coordinator = try fixture.coordinator("localhost", .verifyFull(rootCertificates: own))
    let container = PersistentContainer(coordinator)
    let context = container.newContext()
    try context.addBook("encrypted")
    try context.save()
    #expect(try container.newContext().titles() == ["encrypted"])
    let connection = try PostgresConnection.open(
      fixture.server("localhost", .verifyFull(rootCertificates: own)), toWrite: true)
    let state = try connection.run(
      "SELECT ssl, CAST(version AS text) FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
    #expect(state.bool(0, 0) && state.string(0, 1)?.hasPrefix("TLSv1.") == true)

    // Another name than the certificate's.
    #expect(try fixture.refusal("127.0.0.1", .verifyFull(rootCertificates: own)).contains("127.0.0.1"))
    _ = try fixture.coordinator("127.0.0.1", .verifyCertificate(rootCertificates: own))

    // An authority that has not signed the certificate, whatever the name.
    for host in ["localhost", "127.0.0.1"] {
      #expect(
        try fixture.refusal(host, .verifyFull(rootCertificates: other)).contains("certificate verify failed"))
      #expect(
        try fixture.refusal(host, .verifyCertificate(rootCertificates: other)).contains(
          "certificate verify failed"))
    }
    // The authorities of the system do not know the test's.
    #expect(try fixture.refusal("localhost", .verifyFull()).contains("certificate"))
    // A file of authorities that does not exist, and one that is none.
    _ = try fixture.refusal("localhost", .verifyFull(rootCertificates: "/nowhere/ca.crt"))
    let key = fixture.folder.appending(path: "ca.key").path
    _ = try fixture.refusal("localhost", .verifyFull(rootCertificates: key))

    // Encryption without a proof, and no encryption, which this server refuses.
    _ = try fixture.coordinator("127.0.0.1", .encrypt)
    #expect(try fixture.refusal("127.0.0.1", .none).contains("pg_hba.conf"))
  }

  /// Without a setting, a host that is not this machine must have a certificate of an authority that the system trusts.
  @Test func anotherHostMustProveItsName() throws {
    let name = try Shell.run("hostname").trimmingCharacters(in: .whitespacesAndNewlines)
    guard !PostgresConnection.isLocal(name) else { return }
    let fixture = try Fixture(name: name)
    #expect(try fixture.refusal(name, .automatic).contains("certificate"))
    _ = try fixture.coordinator(name, .verifyFull(rootCertificates: fixture.authority("ca")))
    // This machine needs no proof. libpq still encrypts if the server can.
    _ = try fixture.coordinator("127.0.0.1", .automatic)
  }

  @Test func anExpiredCertificateIsRefused() throws {
    let fixture = try Fixture(days: -1)
    let own = fixture.authority("ca")
    #expect(
      try fixture.refusal("localhost", .verifyFull(rootCertificates: own)).contains("certificate"))
    _ = try fixture.coordinator("localhost", .encrypt)
  }

  /// The URL has the same settings.
  @Test func theURLSaysWhomToTrust() throws {
    let fixture = try Fixture()
    let port = try #require(fixture.own.server.hosts.first?.port)
    func location(_ authority: String) throws -> StoreLocation {
      try .server(
        url: "postgresql://cd@localhost:\(port)/postgres?schema=test&sslmode=verify-full&sslrootcert="
          + fixture.authority(authority))
    }
    _ = try PersistentStoreCoordinator(model: ServerStore.model, at: location("ca"))
    #expect(throws: StoreError.self) {
      try PersistentStoreCoordinator(model: ServerStore.model, at: location("other"))
    }
  }
}
