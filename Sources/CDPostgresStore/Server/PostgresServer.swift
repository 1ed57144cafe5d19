#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A PostgreSQL server, and the schema in one of its databases that is a store.
///
/// ```swift
/// var server = PostgresServer(host: "db.example.com", database: "library", schema: "tenant_7")
/// server.user = "library"
/// server.password = password
/// let coordinator = try PersistentStoreCoordinator(for: LibraryModel.self, at: .server(server))
/// ```
///
/// What is not set here comes from libpq's environment variables, such as `PGHOST` and `PGPASSFILE`, and from its
/// service file. <doc:StoresOnAServer> describes all settings.
public struct PostgresServer: Hashable, Sendable {
  /// An address of the server. Several addresses are tried in order, until one of them accepts writes.
  public struct Host: Hashable, Sendable {
    /// The name or address, or the folder of a Unix socket.
    public var name: String
    /// The port; nil for the environment's, or else 5432.
    public var port: Int?

    /// Creates an address.
    public init(_ name: String, port: Int? = nil) {
      self.name = name
      self.port = port
    }
  }

  /// How a connection is protected.
  public enum TLS: Hashable, Sendable {
    /// As ``verifyFull(rootCertificates:)`` for a host that is not this machine, unless the environment or the service
    /// file say otherwise.
    case automatic
    /// The server must prove by a certificate that it has the host's name.
    ///
    /// - Parameter rootCertificates: A file of the trusted authorities; nil for `~/.postgresql/root.crt`, or else the
    ///   system's.
    case verifyFull(rootCertificates: String? = nil)
    /// An authority must have signed the server's certificate, which may have any name.
    case verifyCertificate(rootCertificates: String? = nil)
    /// The connection is encrypted, but anybody may be the server.
    case encrypt
    /// The connection is not encrypted.
    case none
  }

  /// What the program may use of the server.
  public enum Features: String, Hashable, Sendable {
    /// All that PostgreSQL has.
    case postgresql
    /// Only what the databases with PostgreSQL's protocol have in common: no foreign keys that are checked at the end of a
    /// transaction, no locks of tables, no changes of tables within transactions, and no state of a session. The program
    /// checks references itself. A migration writes new tables beside the old ones. <doc:StoresOnAServer> describes the
    /// differences.
    case common
  }

  /// The addresses; empty for the environment's.
  public var hosts: [Host]
  /// The database; nil for the environment's, or else the one with the user's name.
  public var database: String?
  /// The schema that is the store. It is created if it does not exist, and must contain nothing else.
  public var schema: String
  /// The user; nil for the environment's.
  public var user: String?
  /// The password; nil for the environment's, or the one in libpq's password file.
  public var password: String?
  /// The section of libpq's service file that has further settings; nil for the environment's.
  public var service: String?
  /// How connections are protected.
  public var tls = TLS.automatic
  /// The greatest number of connections of a coordinator. Code that needs one more waits for it.
  public var poolSize = 8
  /// How many seconds to wait for one address of the server, and for a free connection. A machine whose system does not
  /// answer for as long, but for at least 5 seconds, counts as lost.
  public var connectTimeout: Double = 10 {
    didSet { if connectTimeout.isNaN { connectTimeout = 10 } }
  }
  /// How many seconds one statement may take: at least a millisecond, and at most 1,000,000 s.
  public var statementTimeout: Double = 60 {
    didSet {
      // NaN is not equal to itself, so the server would not be equal to itself either. The longest time replaces it.
      if statementTimeout.isNaN { statementTimeout = Self.longestStatement }
    }
  }
  /// How many seconds a save that the server interrupts is tried again, for example while another server takes over.
  public var replayTimeout: Double = 15 {
    didSet { if replayTimeout.isNaN { replayTimeout = 15 } }
  }
  /// The name of the program in the server's list of connections.
  public var applicationName: String?
  /// Whether a pooler that lends connections for single transactions, such as pgbouncer, is between the program and the
  /// server. No statement then depends on an earlier transaction.
  public var isPooled = false
  /// What the program may use of the server.
  public var features = Features.postgresql

  /// The number of bytes from which on a table is large, so that its new indexes are built while programs use it.
  var largeTableSize: Int64 = 16 << 20

  /// How many seconds the right to migrate a store by several transactions is valid, unless it is renewed.
  var leaseDuration: Double = 10

  /// Whether a statement may depend on an earlier transaction of its connection.
  var keepsSessions: Bool { !isPooled && features == .postgresql }

  /// Creates a description of a server.
  public init(
    host: String? = nil, port: Int? = nil, database: String? = nil, schema: String = "public",
    user: String? = nil, password: String? = nil
  ) {
    hosts = host.map { [Host($0, port: port)] } ?? []
    self.database = database
    self.schema = schema
    self.user = user
    self.password = password
  }

  /// The time in seconds after which a machine counts as lost if its system does not answer. It never depends on how long
  /// statements take.
  var lossTimeout: Double { max(5, min(connectTimeout, 1000)) }

  /// The time in seconds that one statement may take, in the bounds that the server accepts. Zero milliseconds would be no
  /// limit.
  var statementLimit: Double { min(max(statementTimeout, 0.001), Self.longestStatement) }

  /// The longest time in seconds that one statement may take.
  private static let longestStatement: Double = 1_000_000

  /// Whether two stores can be reached by the same connections.
  func isSameDatabase(as other: PostgresServer) -> Bool {
    var other = other
    other.schema = schema
    return self == other
  }

  /// The address without the user and the password.
  var address: String {
    let hosts = hosts.map { host in
      let name = host.name.contains(":") ? "[\(host.name)]" : Self.percentEncoded(host.name)
      return name + (host.port.map { ":\($0)" } ?? "")
    }
    var query = ["schema=\(Self.percentEncoded(schema))"]
    if let service { query.append("service=\(Self.percentEncoded(service))") }
    return "postgresql://\(hosts.joined(separator: ","))/\(database.map(Self.percentEncoded) ?? "")?"
      + query.joined(separator: "&")
  }

  /// The address as the URL that errors show.
  var url: URL { URL(string: address) ?? URL(filePath: "/postgresql") }

  private static func percentEncoded(_ text: String) -> String {
    var result = ""
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
        UInt8(ascii: "~"):
        result.unicodeScalars.append(Unicode.Scalar(byte))
      default:
        let digits = String(byte, radix: 16, uppercase: true)
        result += "%" + (digits.utf8.count == 1 ? "0" : "") + digits
      }
    }
    return result
  }
}

// No log shows the password.
extension PostgresServer: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The address without the user and the password.
  public var description: String { address }
  /// The address without the user and the password.
  public var debugDescription: String { address }
  /// The address without the user and the password.
  public var customMirror: Mirror { Mirror(self, children: ["address": address]) }
}
