import CSQLite

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// An error of a connection that only reads: another program seems to have been killed in a transaction, so that the
/// transaction must be rolled back.
///
/// The error is wrong if a transaction of another program ends while SQLite looks for its journal: if SQLite cannot open
/// the journal that it has just seen, it takes the journal for one that must be rolled back. A connection that writes
/// finds out later that there is none. A connection that only reads reports the error at once. Therefore the call is
/// repeated. Nothing has been read by then, because SQLite looks for a journal only before a transaction's first read.
enum SeemingRollback {
  /// SQLITE_READONLY_ROLLBACK, a macro in the C header.
  private static let code: Int32 = SQLITE_READONLY | 3 << 8

  /// How often to try. Other programs may write all the time, but each attempt rarely meets the end of a transaction. The
  /// journal of a killed program stays for all attempts, which take about 60 milliseconds.
  private static let mostAttempts = 10

  /// Whether the last call of a connection reported the error.
  static func isReported(by connection: OpaquePointer?) -> Bool {
    sqlite3_extended_errcode(connection) == code
  }

  /// Calls SQLite until it does not report the error, but not endlessly.
  ///
  /// - Parameter first: The extended result code of the first attempt; nil if there was none.
  /// - Returns: The result code of the last attempt.
  @inline(__always)
  static func attempts(
    _ connection: OpaquePointer?, after first: Int32? = nil, _ call: () -> Int32
  ) -> Int32 {
    let result = first ?? call()
    guard result & 0xFF == SQLITE_READONLY, isReported(by: connection) else { return result }
    return repeated(connection, call)
  }

  @inline(never)
  private static func repeated(_ connection: OpaquePointer?, _ call: () -> Int32) -> Int32 {
    var pause: UInt32 = 100
    var attempt = 1
    while true {
      usleep(pause)
      let result = call()
      attempt += 1
      guard result & 0xFF == SQLITE_READONLY, isReported(by: connection), attempt < mostAttempts else {
        return result
      }
      pause *= 2
    }
  }
}
