/// A database server for whose limits a model can be checked, with ``LoadedModel/problems(for:)``.
///
/// `CDPostgresStore` keeps stores on servers. What a server refuses would otherwise be an error of the running program:
/// when it creates the store, or when it saves an object.
public enum StoreTarget: String, Hashable, Sendable, CaseIterable {
  /// PostgreSQL 13 or later.
  case postgresql
  /// PostgreSQL with the extension Citus, which keeps each schema on one of several servers.
  case citus
  /// CockroachDB, which speaks PostgreSQL's protocol.
  case cockroachdb
  /// YugabyteDB, which speaks PostgreSQL's protocol.
  case yugabytedb

  /// The evidence for the limits of a server.
  public enum Evidence: String, Hashable, Sendable {
    /// The tests of the store engine run on the server, and those of the checks compare their limits with it.
    case tested
    /// Single statements of the store engine were tried on the server, but no store was.
    case statements
    /// Everything comes from the server's documentation.
    case documentation
  }

  /// The server's name in messages.
  public var name: String {
    switch self {
    case .postgresql: "PostgreSQL"
    case .citus: "Citus"
    case .cockroachdb: "CockroachDB"
    case .yugabytedb: "YugabyteDB"
    }
  }

  /// The evidence for the limits of the server.
  public var evidence: Evidence {
    switch self {
    case .postgresql: .tested
    case .citus: .statements
    case .cockroachdb, .yugabytedb: .documentation
    }
  }

  /// A note about the gaps of the evidence; nil if there are none.
  var reservation: String? {
    switch evidence {
    case .tested: nil
    case .statements:
      "no store has been opened on \(name); only single statements of the store engine were tried there, and so this "
        + "check does not show that a store of the model works"
    case .documentation:
      "no store has been opened on \(name); the check follows the documentation of \(name), and does not show that a "
        + "store of the model works"
    }
  }

  // MARK: Limits

  /// Whether foreign keys can be checked at the end of a transaction.
  ///
  /// Citus has such keys, but reports a violation as an internal error, and does not pass `SET CONSTRAINTS` on.
  var defersForeignKeys: Bool {
    switch self {
    case .postgresql, .yugabytedb: true
    case .citus, .cockroachdb: false
    }
  }

  /// The names of the columns that the server adds to each table.
  var systemColumns: Set<String> {
    switch self {
    case .postgresql, .citus: ["tableoid", "xmin", "cmin", "xmax", "cmax", "ctid"]
    case .cockroachdb: ["tableoid"]
    case .yugabytedb: []
    }
  }

  /// The limits of tables and indexes; nil if the server's documentation names none.
  var tableLimits: TableLimits? {
    switch self {
    case .postgresql, .citus: TableLimits()
    case .cockroachdb, .yugabytedb: nil
    }
  }

  /// PostgreSQL's limits of tables and indexes.
  struct TableLimits {
    /// The maximum number of a table's columns.
    let columns = 1600
    /// The maximum number of an index's columns.
    let indexColumns = 32
    /// The maximum number of bytes of a row, without its large values, which are kept elsewhere.
    let rowBytes = 8160
    /// The maximum number of bytes of a row in an index.
    let indexRowBytes = 2704
  }

  /// The maximum number of bytes of a name. The store engine refuses longer names on each server: PostgreSQL would cut
  /// them.
  static let longestName = 63
}
