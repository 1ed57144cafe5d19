import CSQLite

@testable import CDPostgresStore
@testable import CDRuntime

/// The statements by which a context reads, or which a connection to SQLite runs.
final class StatementTrace {
  private(set) var statements: [String] = []
  /// SQLite's connection; nil on a server.
  private var connection: SQLiteConnection?
  private var link: SessionLink?

  init(_ context: ManagedObjectContext) throws {
    if let session = try context.reader() as? PostgresSession {
      link = session.link
      session.link.observer = { [weak self] in self?.note($0.replacing(#/"test_\w+"\./#, with: "")) }
      return
    }
    follow(try context.connection())
  }

  init(_ connection: SQLiteConnection) { follow(connection) }

  private func follow(_ connection: SQLiteConnection) {
    self.connection = connection
    sqlite3_trace_v2(
      connection.handle, UInt32(SQLITE_TRACE_STMT),
      { _, trace, statement, _ in
        guard let trace, let statement, let sql = sqlite3_sql(OpaquePointer(statement)) else { return 0 }
        Unmanaged<StatementTrace>.fromOpaque(trace).takeUnretainedValue().note(String(cString: sql))
        return 0
      }, Unmanaged.passUnretained(self).toOpaque())
  }

  deinit {
    if let connection { sqlite3_trace_v2(connection.handle, 0, nil, nil) }
    link?.observer = nil
  }

  /// Those that read objects, since the last time. The schemas of a server are left out of their texts.
  func taken() -> [String] {
    defer { statements.removeAll() }
    return statements.filter { $0.hasPrefix("SELECT") && !$0.contains("_cdgen_") }
  }

  private func note(_ sql: String) { statements.append(sql) }
}
