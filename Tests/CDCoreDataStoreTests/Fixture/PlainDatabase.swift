import CSQLite
import Foundation

/// A connection of a test's own, by which it makes files and looks into them.
final class PlainDatabase {
  private let handle: OpaquePointer

  struct Failure: Error { let message: String }

  init(_ url: URL, isReadOnly: Bool = false) throws {
    var opened: OpaquePointer?
    let flags = isReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
    guard sqlite3_open_v2(url.path(percentEncoded: false), &opened, flags, nil) == SQLITE_OK, let opened
    else {
      throw Failure(message: "cannot open \(url)")
    }
    handle = opened
  }

  deinit { sqlite3_close_v2(handle) }

  func run(_ sql: String) throws {
    guard sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else {
      throw Failure(message: String(cString: sqlite3_errmsg(handle)) + ": " + sql)
    }
  }

  /// The rows of a text, each value as SQLite's `quote` would write it.
  func rows(_ sql: String) throws -> [[String]] {
    var statement: OpaquePointer?
    guard sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK else {
      throw Failure(message: String(cString: sqlite3_errmsg(handle)) + ": " + sql)
    }
    defer { sqlite3_finalize(statement) }
    var result: [[String]] = []
    while sqlite3_step(statement) == SQLITE_ROW {
      result.append(
        (0..<sqlite3_column_count(statement)).map { column in
          switch sqlite3_column_type(statement, column) {
          case SQLITE_NULL: "NULL"
          case SQLITE_BLOB:
            sqlite3_column_blob(statement, column).map { start in
              Self.hex(Data(bytes: start, count: Int(sqlite3_column_bytes(statement, column))))
            } ?? "x''"
          default: String(cString: sqlite3_column_text(statement, column))
          }
        })
    }
    return result
  }

  func scalar(_ sql: String) throws -> String { try rows(sql).first?.first ?? "" }

  static func hex(_ data: Data) -> String { "x'" + data.map { String(format: "%02x", $0) }.joined() + "'" }
}
