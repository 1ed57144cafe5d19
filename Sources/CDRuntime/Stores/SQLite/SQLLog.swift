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

/// A log of SQL statements, to find slow ones. If the environment variable `CDGEN_SQL_LOG` is 1, the log writes each
/// statement and its time to the standard error stream. It also writes the parts of a fetch that are evaluated in
/// memory. The log never shows values. It has no cost if the variable is not set.
enum SQLLog {
  private static let isOn = getenv("CDGEN_SQL_LOG").map { String(cString: $0) == "1" } ?? false

  /// Writes a line of the log.
  static func note(_ text: @autoclosure () -> String) {
    guard isOn else { return }
    write(text() + "\n")
  }

  /// Writes to the standard error stream. Output that the stream refuses is lost, because a log must not end the
  /// program.
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

  /// The start times of the running statements, by the statements' addresses. SQLite itself measures only whole
  /// milliseconds.
  private static let beginnings = Mutex<[UInt: ContinuousClock.Instant]>([:])

  static func install(on connection: OpaquePointer) {
    guard isOn else { return }
    sqlite3_trace_v2(
      connection, UInt32(SQLITE_TRACE_STMT | SQLITE_TRACE_PROFILE),
      { event, _, statement, _ in
        guard let statement else { return 0 }
        let key = UInt(bitPattern: statement)
        if event == UInt32(SQLITE_TRACE_STMT) {
          // The statements of a trigger have the same address as the statement that fires it.
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
