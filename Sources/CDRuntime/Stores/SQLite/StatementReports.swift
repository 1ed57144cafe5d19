import CSQLite
import Synchronization

/// Reports the statements of a connection to ``StoreLog``.
enum StatementReports {
  /// The start times of the running statements, by the statements' addresses. SQLite itself measures only whole
  /// milliseconds.
  private static let beginnings = Mutex<[UInt: ContinuousClock.Instant]>([:])

  /// Begins to report, if the log is on.
  static func install(on connection: OpaquePointer) {
    guard StoreLog.isOn else { return }
    sqlite3_trace_v2(
      connection, UInt32(SQLITE_TRACE_STMT | SQLITE_TRACE_PROFILE),
      { event, _, statement, _ in
        guard let statement else { return 0 }
        let key = UInt(bitPattern: statement)
        if event == UInt32(SQLITE_TRACE_STMT) {
          // The statements of a trigger have the same address as the statement that fires it.
          StatementReports.beginnings.withLock { $0[key] = $0[key] ?? .now }
          return 0
        }
        let end = ContinuousClock.now
        let beginning = StatementReports.beginnings.withLock { $0.removeValue(forKey: key) }
        guard let beginning, let sql = sqlite3_sql(OpaquePointer(statement)) else { return 0 }
        StoreLog.report(.statement(text: String(cString: sql), duration: end - beginning))
        return 0
      }, nil)
  }
}
