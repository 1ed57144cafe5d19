import CDModel
import CSQLite

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A prepared statement.
package final class SQLiteStatement {
  package let handle: OpaquePointer
  private let connection: OpaquePointer
  private let stores: [URL]
  /// Some keys of the rows that the last run returned. The next run uses them to estimate how many objects of its rows
  /// are already in memory.
  var sample: [ObjectKey] = []

  /// - Parameter stores: The stores that errors name.
  init(_ sql: String, on connection: OpaquePointer, of stores: [URL]) throws {
    var handle: OpaquePointer?
    // The preparation of a connection's first statement reads the schema.
    let code = SeemingRollback.attempts(connection) {
      sqlite3_prepare_v3(connection, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &handle, nil)
    }
    guard code == SQLITE_OK, let handle else {
      throw StoreError(connection, of: stores, during: "preparing a statement")
    }
    self.handle = handle
    self.connection = connection
    self.stores = stores
  }

  deinit { sqlite3_finalize(handle) }

  /// Moves to the next row. Returns false if there is none.
  @inline(__always) package func step() throws -> Bool {
    switch sqlite3_step(handle) {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    default: return try stepAfterFailure()
    }
  }

  /// Continues after a step that has failed.
  func stepAfterFailure() throws -> Bool {
    let code = SeemingRollback.attempts(connection, after: sqlite3_extended_errcode(connection)) {
      sqlite3_reset(handle)
      return sqlite3_step(handle)
    }
    switch code {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    default:
      let error = StoreError(connection, of: stores, during: "running a statement")
      sqlite3_reset(handle)
      throw error
    }
  }

  /// Makes the statement ready for another run.
  @inline(__always) package func reset() { sqlite3_reset(handle) }

  package func bind(_ value: Int64, at parameter: Int32) { sqlite3_bind_int64(handle, parameter, value) }

  func bind(_ value: String, at parameter: Int32) {
    var value = value
    value.withUTF8 { bytes in
      guard let source = bytes.baseAddress, !bytes.isEmpty else {
        sqlite3_bind_text(handle, parameter, "", 0, nil)
        return
      }
      source.withMemoryRebound(to: CChar.self, capacity: bytes.count) {
        _ = sqlite3_bind_text(handle, parameter, $0, Int32(clamping: bytes.count), SQLite.copied)
      }
    }
  }

  func int64(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }

  func double(_ column: Int32) -> Double { sqlite3_column_double(handle, column) }

  func isNull(_ column: Int32) -> Bool { sqlite3_column_type(handle, column) == SQLITE_NULL }

  var columnCount: Int32 { sqlite3_column_count(handle) }

  func string(_ column: Int32) -> String? {
    guard let bytes = sqlite3_column_text(handle, column) else { return nil }
    let count = Int(sqlite3_column_bytes(handle, column))
    return String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
  }

  /// The names of the columns, as the statement gives them.
  var columnNames: [String] {
    (0..<sqlite3_column_count(handle)).map { column in
      sqlite3_column_name(handle, column).map { String(cString: $0) } ?? ""
    }
  }

  /// Runs the statement, whose parameters are bound, to its end.
  func run() throws {
    defer { reset() }
    while try step() {}
  }
}

extension SQLiteStatement {
  /// Binds the values of ``SQLPredicate/bindings``, starting at a parameter number.
  func bind(_ values: [AttributeValue], from first: Int32 = 1) {
    for (index, value) in values.enumerated() {
      let parameter = first + Int32(clamping: index)
      switch value {
      case .int(let number): bind(number, at: parameter)
      case .string(let text): bind(text, at: parameter)
      case .double(let number): sqlite3_bind_double(handle, parameter, number)
      case .data(let data):
        let bytes = Array(data)
        // An empty array may have no address, and SQLite would bind NULL.
        if bytes.isEmpty {
          sqlite3_bind_zeroblob(handle, parameter, 0)
        } else {
          sqlite3_bind_blob(handle, parameter, bytes, Int32(clamping: bytes.count), SQLite.copied)
        }
      default: sqlite3_bind_null(handle, parameter)
      }
    }
  }
}
