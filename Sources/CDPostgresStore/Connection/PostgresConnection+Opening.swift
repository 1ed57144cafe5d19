import CDModel
import CPostgreSQL

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

extension PostgresConnection {
  /// Opens a connection to the first address of a server that accepts it.
  ///
  /// - Parameters:
  ///   - toWrite: Whether the server must accept writes. A server that only follows another does not.
  ///   - isCancellable: Whether the wait for the server ends if the task is cancelled.
  static func open(
    _ server: PostgresServer, toWrite: Bool, isCancellable: Bool = false
  ) throws(PostgresFailure) -> PostgresConnection {
    let attempts = ConnectionAttempts(server, toWrite: toWrite, isCancellable: isCancellable)
    while let handle = try attempts.next() {
      do {
        // Longer than the server's own limit, so that usually the server ends the statement and keeps the connection.
        let connection = try PostgresConnection(
          handle, replyTimeout: server.statementLimit + 2, lossTimeout: server.lossTimeout,
          keepsStatements: server.keepsSessions)
        if server.keepsSessions {
          _ = try connection.run(limits(of: server, isLocal: false), isCancellable: isCancellable)
        }
        return connection
      } catch {
        if error.isCancellation { throw error }
        attempts.add(error.message)
      }
    }
    throw attempts.failure
  }

  /// Begins to connect to an address. Nothing waits for a reply yet.
  static func begin(
    _ server: PostgresServer, _ host: PostgresServer.Host?, toWrite: Bool
  ) throws(PostgresFailure) -> OpaquePointer {
    var settings = settings(of: server, host, toWrite: toWrite)
    var handle = try begin(settings)
    if server.tls == .automatic, !isSafe(handle) {
      // Nothing but the address is known to the other side yet.
      PQfinish(handle)
      settings["sslmode"] = "verify-full"
      handle = try begin(settings)
    }
    if settings["sslmode"]?.hasPrefix("verify") == true, settings["sslrootcert"] == nil,
      let file = systemCertificates(handle)
    {
      PQfinish(handle)
      settings["sslrootcert"] = file
      handle = try begin(settings)
    }
    return handle
  }

  /// The statements that set the limits of a session or transaction.
  ///
  /// - Parameter isLocal: Whether they hold only until the transaction ends.
  static func limits(of server: PostgresServer, isLocal: Bool) -> [PostgresStatement] {
    let milliseconds = Int64(server.statementLimit * 1000)
    let set = isLocal ? "SET LOCAL" : "SET"
    return [
      PostgresStatement("\(set) statement_timeout = \(milliseconds)"),
      PostgresStatement("\(set) idle_in_transaction_session_timeout = \(milliseconds * 2)"),
    ]
  }

  /// The statement that limits how long a transaction waits for a lock. Zero seconds do not wait; the server's zero would
  /// be no limit.
  static func lockLimit(seconds: Double) -> PostgresStatement {
    PostgresStatement("SET LOCAL lock_timeout = \(lockMilliseconds(seconds))", isKept: false)
  }

  /// The same for statements that are sent together without BEGIN. The server would warn of `SET LOCAL` there.
  static func lockLimitWithoutBegin(seconds: Double) -> PostgresStatement {
    PostgresStatement(
      "SELECT pg_catalog.set_config('lock_timeout', ?, true)",
      [.value(.string(String(lockMilliseconds(seconds))))])
  }

  private static func lockMilliseconds(_ seconds: Double) -> Int64 {
    // NaN is not greater than 0.
    seconds > 0 ? max(1, Int64(min(seconds, 2_000_000) * 1000)) : 1
  }

  // MARK: Settings

  private static func settings(
    of server: PostgresServer, _ host: PostgresServer.Host?, toWrite: Bool
  ) -> [String: String] {
    var settings = [
      "client_encoding": "UTF8", "fallback_application_name": "cdgen",
      // The system asks a machine that is silent whether it is still there, and gives it up after `lossTimeout`. With a
      // `tcp_user_timeout`, it would also give up a server that lets data wait for a while.
      "keepalives": "1", "keepalives_idle": "\(Int(server.lossTimeout * 0.4))",
      "keepalives_interval": "\(Int(server.lossTimeout * 0.2))", "keepalives_count": "3",
    ]
    if toWrite { settings["target_session_attrs"] = "read-write" }
    settings["application_name"] = server.applicationName
    settings["host"] = host?.name
    settings["port"] = host?.port.map(String.init)
    settings["dbname"] = server.database
    settings["user"] = server.user
    settings["password"] = server.password
    settings["service"] = server.service
    switch server.tls {
    case .automatic: break
    case .verifyFull(let file):
      settings["sslmode"] = "verify-full"
      settings["sslrootcert"] = file
    case .verifyCertificate(let file):
      settings["sslmode"] = "verify-ca"
      settings["sslrootcert"] = file
    case .encrypt: settings["sslmode"] = "require"
    case .none: settings["sslmode"] = "disable"
    }
    return settings
  }

  /// The settings that libpq has found for a connection, in the environment and in files too.
  private static func found(_ handle: OpaquePointer) -> [String: String] {
    guard let options = PQconninfo(handle) else { return [:] }
    defer { PQconninfoFree(options) }
    var result: [String: String] = [:]
    var option = options
    while let keyword = option.pointee.keyword {
      if let value = option.pointee.val { result[String(cString: keyword)] = String(cString: value) }
      option = option.advanced(by: 1)
    }
    return result
  }

  /// Whether the settings say how the connection is protected, or the server is this machine.
  private static func isSafe(_ handle: OpaquePointer) -> Bool {
    let found = found(handle)
    // `prefer` is what libpq does if nothing says more. It accepts any server, with or without encryption.
    guard found["sslmode"] ?? "prefer" == "prefer" else { return true }
    return (found["host"] ?? "").split(separator: ",").allSatisfy { isLocal(String($0)) }
  }

  static func isLocal(_ host: String) -> Bool {
    host.isEmpty || host.hasPrefix("/") || host.hasPrefix("@") || host == "localhost" || host == "::1"
      || host.hasPrefix("127.") && host.split(separator: ".").count == 4
        && host.utf8.allSatisfy { $0 == UInt8(ascii: ".") || UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
  }

  /// The file of the authorities that the system trusts, if libpq would look for a file that does not exist.
  private static func systemCertificates(_ handle: OpaquePointer) -> String? {
    if found(handle)["sslrootcert"]?.isEmpty == false { return nil }
    let home = FileManager.default.homeDirectoryForCurrentUser.path(percentEncoded: false)
    if FileManager.default.fileExists(atPath: home + "/.postgresql/root.crt") { return nil }
    return [
      "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem",
    ].first { FileManager.default.fileExists(atPath: $0) }
  }

  private static func begin(_ settings: [String: String]) throws(PostgresFailure) -> OpaquePointer {
    let names = settings.keys.sorted()
    let keywords = names.map { strdup($0) }
    let values = names.map { strdup(settings[$0] ?? "") }
    defer { for text in keywords + values { free(text) } }
    let handle = PQconnectStartParams(
      keywords.map { UnsafePointer($0) } + [nil], values.map { UnsafePointer($0) } + [nil], 0)
    guard let handle else {
      throw PostgresFailure(code: PostgresFailure.cannotConnect, message: "there is no memory left")
    }
    if PQstatus(handle) == CONNECTION_BAD {
      defer { PQfinish(handle) }
      throw PostgresFailure(code: PostgresFailure.cannotConnect, message: message(of: handle))
    }
    return handle
  }
}
