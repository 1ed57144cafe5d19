import CSQLite
import Foundation

/// The statements that are run, for whoever looks for a slow one: set the environment variable `CDGEN_SQL_LOG` to 1,
/// and each goes to the standard error stream with its time, as does what of a fetch is evaluated in memory.
/// Values are never shown. Nothing is spent where the variable is not set.
enum SQLLog {
  private static let isOn = getenv("CDGEN_SQL_LOG").map { String(cString: $0) == "1" } ?? false

  /// Writes a line of the log.
  static func note(_ text: @autoclosure () -> String) {
    guard isOn else { return }
    FileHandle.standardError.write(Data((text() + "\n").utf8))
  }

  static func install(on connection: OpaquePointer) {
    guard isOn else { return }
    sqlite3_trace_v2(
      connection, UInt32(SQLITE_TRACE_PROFILE),
      { _, _, statement, time in
        guard let statement, let time, let sql = sqlite3_sql(OpaquePointer(statement)) else { return 0 }
        let milliseconds = Double(time.load(as: Int64.self)) / 1_000_000
        let text = String(format: "cdgen: %.3f ms  ", milliseconds) + String(cString: sql) + "\n"
        FileHandle.standardError.write(Data(text.utf8))
        return 0
      }, nil)
  }
}
