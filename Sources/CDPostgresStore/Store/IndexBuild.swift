import CDRuntime
import Dispatch

/// Builds indexes of large tables while programs read and write them.
///
/// A migration, or the opening with a version that has other indexes, leaves these indexes out and notes this in the metadata.
/// Without them, queries are slower, but correct. The next program that opens the store builds the missing indexes.
/// A program that is killed leaves an index that the server marks as not valid. It is dropped and built again.
struct IndexBuild: Sendable {
  private let server: PostgresServer
  /// The schema with the tables.
  private let schema: String
  private let indexes: [IndexLayout]
  private let layoutHash: String

  /// - Parameters:
  ///   - schema: The schema with the tables.
  ///   - indexes: The indexes of the store's version that refuse no rows.
  ///   - layoutHash: The hash of the version's layout.
  init(_ server: PostgresServer, schema: String, _ indexes: [IndexLayout], layoutHash: String) {
    self.server = server
    self.schema = schema
    self.indexes = indexes
    self.layoutHash = layoutHash
  }

  private static let mostAttempts = 5

  /// Builds the indexes on a thread of its own, with a connection of its own.
  func start() {
    DispatchQueue(label: "cdgen.indexes", qos: .utility).async { self.runRepeatedly() }
  }

  private func runRepeatedly() {
    for attempt in 1...Self.mostAttempts {
      do throws(PostgresFailure) {
        try run()
        return
      } catch {
        // The next opening tries again.
        guard error.isTransient else { return }
        Waiting.pause(attempt + 4)
      }
    }
  }

  private var metadata: String { PostgresTables.systemTable("_cdgen_metadata", schema: server.schema) }
  private static let key = SQLText.literal(PostgresTables.missingIndexesKey)

  private func run() throws(PostgresFailure) {
    let connection = try PostgresConnection.open(server, toWrite: true)
    defer { connection.close() }
    _ = try connection.run([
      PostgresStatement("SET statement_timeout = 0"), PostgresStatement("SET lock_timeout = 0"),
    ])
    // It ends with the connection. Without it, two programs would drop each other's indexes.
    let lock = try connection.run([Self.lock("pg_try_advisory_lock", schema: server.schema)])
    guard lock[0].rowCount == 1, lock[0].bool(0, 0) else { return }
    let present = PresentTables(connection: connection, schema: schema)
    for index in indexes {
      guard try isWanted(connection) else { return }
      let name = PostgresTables.name(index.name)
      let (complete, invalid) = try present.indexes(of: [index.table])
      if complete.contains(name) { continue }
      if invalid.contains(name) {
        try execute(
          "DROP INDEX CONCURRENTLY \(PostgresTables.systemTable(name, schema: schema))", connection)
      }
      try execute(PostgresTables.concurrentCreation(of: index, schema: schema), connection)
    }
    _ = try connection.run(
      #"DELETE FROM \#(metadata) WHERE "key" = \#(Self.key) AND "value" = ?"#,
      [.value(.string(layoutHash))])
  }

  /// The statement that takes the lock of whoever builds indexes, unless another program has it.
  ///
  /// - Parameter function: `pg_try_advisory_lock` keeps the lock until the connection ends, and
  ///   `pg_try_advisory_xact_lock` until the transaction ends.
  static func lock(_ function: String, schema: String) -> PostgresStatement {
    PostgresStatement(
      "SELECT pg_catalog.\(function)(7161108389060182016 + CAST(oid AS bigint)) "
        + "FROM pg_catalog.pg_namespace WHERE nspname = ?", [.value(.string(schema))])
  }

  /// Whether the indexes are still missing, and nobody has migrated the store meanwhile.
  private func isWanted(_ connection: PostgresConnection) throws(PostgresFailure) -> Bool {
    try connection.run(
      #"SELECT 1 FROM \#(metadata) WHERE "key" = \#(Self.key) AND "value" = ?"#,
      [.value(.string(layoutHash))]
    ).rowCount == 1
  }

  private func execute(_ text: String, _ connection: PostgresConnection) throws(PostgresFailure) {
    _ = try connection.run(
      [PostgresStatement(text, isKept: false)], timeout: PostgresTransfer.longTimeout)
  }
}
