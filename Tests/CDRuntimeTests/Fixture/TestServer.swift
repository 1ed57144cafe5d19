import Foundation
import Synchronization

@testable import CDPostgresStore
@testable import CDRuntime

/// The PostgreSQL server that the environment variable `CDGEN_POSTGRES_URL` names.
///
/// Each store is a schema of its own, named after the file that a store of SQLite would have.
enum TestServer {
  private static let url = ProcessInfo.processInfo.environment["CDGEN_POSTGRES_URL"]
  /// The schemas that are still there.
  private static let schemas = Mutex<Set<String>>([])

  static var isConfigured: Bool { url != nil }

  /// The server of a store that would have a file.
  static func location(_ file: URL) -> StoreLocation {
    do {
      return .server(try server(schema: schema(of: file)))
    } catch { fatalError("CDGEN_POSTGRES_URL is of no use: \(error)") }
  }

  /// The name of a store's file, and what migrations have left behind on the server.
  static func files(_ file: URL) throws -> [String] {
    let own = schema(of: file)
    return try withConnection { connection in
      let result = try connection.run(
        "SELECT CAST(nspname AS text) FROM pg_namespace WHERE nspname LIKE '\\_cdgen\\_%' OR nspname = ?",
        [.value(.string(own))])
      let found = (0..<result.rowCount).compactMap { result.string($0, 0) }
      let tables = found.contains(own) ? try schemas(of: file, connection).tables : own
      return found.map { $0 == own ? file.lastPathComponent : $0 }
        + (try besides(own, connection)).filter { $0 != tables }
    }
  }

  /// The schemas that migrations have made beside a store's own one.
  private static func besides(_ own: String, _ connection: PostgresConnection) throws -> [String] {
    let result = try connection.run(
      "SELECT CAST(nspname AS text) FROM pg_namespace WHERE starts_with(CAST(nspname AS text), ?)",
      [.value(.string(own + "~"))])
    return (0..<result.rowCount).compactMap { result.string($0, 0) }
  }

  /// The schemas of a store.
  private static func schemas(of file: URL, _ connection: PostgresConnection) throws -> StoreSchemas {
    let server = try server(schema: schema(of: file))
    guard try PostgresTransfer.existingTables(of: server, connection).contains("_cdgen_metadata") else {
      return StoreSchemas(server.schema)
    }
    return try PostgresTransfer.inspect(server, connection).schemas
  }

  // MARK: Behind the runtime's back

  private static func withConnection<R>(_ body: (PostgresConnection) throws -> R) throws -> R {
    let connection = try PostgresConnection.open(server(schema: "public"), toWrite: true)
    defer { connection.close() }
    return try body(connection)
  }

  /// Runs statements on a store's tables, in one transaction.
  ///
  /// - Parameter checksReferences: Whether foreign keys hold.
  static func run(_ statements: [String], at file: URL, checksReferences: Bool) throws {
    try withConnection { connection in
      let schemas = try schemas(of: file, connection)
      let path = [schemas.tables, schemas.own].map(SQLText.quoted).joined(separator: ", ")
      var list = ["BEGIN", "SET LOCAL search_path TO \(path)"]
      if !checksReferences { list.append("SET LOCAL session_replication_role = replica") }
      _ = try connection.run((list + statements + ["COMMIT"]).map { PostgresStatement($0, isKept: false) })
    }
  }

  /// How the server executes a query on a table if it may use indexes only.
  static func plan(_ query: String, on table: String) throws -> String {
    try withConnection { connection in
      let results = try connection.run(
        [
          "BEGIN", "ANALYZE \(table)", "SET LOCAL enable_seqscan = off", "SET LOCAL enable_bitmapscan = off",
          "EXPLAIN " + query,
        ].map { PostgresStatement($0, isKept: false) })
      let lines = (0..<results[4].rowCount).compactMap { results[4].string($0, 0) }
      return lines.joined(separator: "\n")
    }
  }

  /// Lets the server end all connections with a name, and waits until it has.
  ///
  /// - Returns: Whether there was any.
  static func endConnections(named name: String) throws -> Bool {
    try withConnection { connection in
      var isAny = false
      for _ in 0..<1000 {
        let result = try connection.run(
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = ?",
          [.value(.string(name))])
        if result.rowCount == 0 { return isAny }
        isAny = true
        Thread.sleep(forTimeInterval: 0.01)
      }
      return false
    }
  }

  /// Gives a store's schema the name of another one.
  static func move(_ file: URL, to other: URL) throws {
    try withConnection { connection in
      _ = try connection.run(
        "ALTER SCHEMA \(SQLText.quoted(schema(of: file))) RENAME TO \(SQLText.quoted(schema(of: other)))")
    }
  }

  /// Makes a schema with another program's table.
  static func makeForeignSchema(_ file: URL) throws {
    let schema = SQLText.quoted(schema(of: file))
    try withConnection { connection in
      _ = try connection.run("CREATE SCHEMA \(schema)")
      _ = try connection.run("CREATE TABLE \(schema).theirs (x bigint)")
    }
  }

  /// The names of all tables and views of a store.
  static func tables(_ file: URL) throws -> [String] {
    try withConnection { connection in
      var server = try server(schema: schema(of: file))
      server.schema = try schemas(of: file, connection).tables
      return try PostgresTransfer.existingTables(of: server, connection).sorted()
    }
  }

  /// The names of all indexes of a store.
  static func indexes(_ file: URL) throws -> [String] {
    try withConnection { connection in
      let result = try connection.run(
        "SELECT CAST(indexname AS text) FROM pg_catalog.pg_indexes WHERE schemaname = ?",
        [.value(.string(try schemas(of: file, connection).tables))])
      return (0..<result.rowCount).compactMap { result.string($0, 0) }.sorted()
    }
  }

  /// What errors show of a store that would have a file.
  static func shownURL(_ file: URL) -> URL {
    (try? server(schema: schema(of: file))).flatMap { URL(string: $0.address) } ?? file
  }

  static func server(schema: String) throws -> PostgresServer {
    var server = try PostgresServer(url: url ?? "")
    server.schema = schema
    server.poolSize = 4
    return server
  }

  private static func schema(of file: URL) -> String {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in file.path(percentEncoded: false).utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    let schema = "test_\(ProcessInfo.processInfo.processIdentifier)_\(String(hash, radix: 16))"
    if schemas.withLock({ $0.insert(schema).inserted }) { _ = dropsAtExit }
    return schema
  }

  /// Removes a store.
  static func drop(_ file: URL) { drop([schema(of: file)]) }

  private static func drop(_ names: [String]) {
    do {
      let connection = try PostgresConnection.open(server(schema: "public"), toWrite: true)
      for name in names {
        _ = schemas.withLock { $0.remove(name) }
        try connection.run("SET client_min_messages = warning")
        for schema in try [name] + besides(name, connection) {
          try connection.run("DROP SCHEMA IF EXISTS \(SQLText.quoted(schema)) CASCADE")
        }
      }
      connection.close()
    } catch { print("schemas are left on the server: \(error)") }
  }

  private static let dropsAtExit: Void = {
    atexit { TestServer.drop(TestServer.schemas.withLock { Array($0) }) }
  }()
}
