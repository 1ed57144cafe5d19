import CSQLite
import Foundation

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

  static func install(on connection: OpaquePointer) {
    guard isOn else { return }
    sqlite3_trace_v2(
      connection, UInt32(SQLITE_TRACE_PROFILE),
      { _, _, statement, time in
        guard let statement, let time, let sql = sqlite3_sql(OpaquePointer(statement)) else { return 0 }
        let milliseconds = Double(time.load(as: Int64.self)) / 1_000_000
        let text = String(format: "cdgen: %.3f ms  ", milliseconds) + String(cString: sql) + "\n"
        SQLLog.write(text)
        return 0
      }, nil)
  }
}
