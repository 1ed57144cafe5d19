import CSQLite

@testable import CDRuntime

/// The statements that a context runs on its connection.
final class StatementTrace {
  private(set) var statements: [String] = []
  private let connection: SQLiteConnection

  init(_ context: ManagedObjectContext) throws {
    connection = try context.connection()
    sqlite3_trace_v2(
      connection.handle, UInt32(SQLITE_TRACE_STMT),
      { _, trace, statement, _ in
        guard let trace, let statement, let sql = sqlite3_sql(OpaquePointer(statement)) else { return 0 }
        Unmanaged<StatementTrace>.fromOpaque(trace).takeUnretainedValue().note(String(cString: sql))
        return 0
      }, Unmanaged.passUnretained(self).toOpaque())
  }

  deinit { sqlite3_trace_v2(connection.handle, 0, nil, nil) }

  /// Those that read objects, since the last time.
  func taken() -> [String] {
    defer { statements.removeAll() }
    return statements.filter { $0.hasPrefix("SELECT") && !$0.contains("_cdgen_") }
  }

  private func note(_ sql: String) { statements.append(sql) }
}
