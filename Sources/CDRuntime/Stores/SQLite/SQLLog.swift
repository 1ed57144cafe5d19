import CSQLite
import Foundation
import Synchronization

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The statements that are run, for whoever looks for a slow one: set the environment variable `CDGEN_SQL_LOG` to 1,
/// and each goes to the standard error stream with its time, as does what of a fetch is evaluated in memory.
/// Values are never shown. Nothing is spent where the variable is not set.
enum SQLLog {
  private static let isOn = getenv("CDGEN_SQL_LOG").map { String(cString: $0) == "1" } ?? false

  /// Writes a line of the log.
  static func note(_ text: @autoclosure () -> String) {
    guard isOn else { return }
    write(text() + "\n")
  }

  /// Writes to the error stream. What that does not take is lost: a log is no reason for a program to end.
  private static func write(_ text: String) {
    var text = text
    text.withUTF8 { bytes in
      var rest = UnsafeRawBufferPointer(bytes)[...]
      while !rest.isEmpty {
        let piece = UnsafeRawBufferPointer(rebasing: rest)
        #if canImport(Darwin)
          let count = Darwin.write(STDERR_FILENO, piece.baseAddress, piece.count)
        #elseif canImport(Glibc)
          let count = Glibc.write(STDERR_FILENO, piece.baseAddress, piece.count)
        #elseif canImport(Musl)
          let count = Musl.write(STDERR_FILENO, piece.baseAddress, piece.count)
        #endif
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { return }
        rest = rest.dropFirst(count)
      }
    }
  }

  /// When the statements that are running began, by their addresses. SQLite's own times are whole milliseconds.
  private static let beginnings = Mutex<[UInt: ContinuousClock.Instant]>([:])

  static func install(on connection: OpaquePointer) {
    guard isOn else { return }
    sqlite3_trace_v2(
      connection, UInt32(SQLITE_TRACE_STMT | SQLITE_TRACE_PROFILE),
      { event, _, statement, _ in
        guard let statement else { return 0 }
        let key = UInt(bitPattern: statement)
        if event == UInt32(SQLITE_TRACE_STMT) {
          // The statements of a trigger come with the one that fires it.
          SQLLog.beginnings.withLock { $0[key] = $0[key] ?? .now }
          return 0
        }
        let end = ContinuousClock.now
        let beginning = SQLLog.beginnings.withLock { $0.removeValue(forKey: key) }
        guard let beginning, let sql = sqlite3_sql(OpaquePointer(statement)) else { return 0 }
        let (seconds, attoseconds) = (end - beginning).components
        let milliseconds = Double(seconds) * 1000 + Double(attoseconds) / 1e15
        SQLLog.write(String(format: "cdgen: %.3f ms  ", milliseconds) + String(cString: sql) + "\n")
        return 0
      }, nil)
  }
}
