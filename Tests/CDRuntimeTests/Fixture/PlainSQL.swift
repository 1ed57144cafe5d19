import Foundation

@testable import CDRuntime

/// A store's file, changed behind the runtime's back.
enum PlainSQL {
  static func run(_ sql: String, at url: URL) throws {
    try SQLiteConnection(path: url.path(percentEncoded: false), of: [url]).execute(sql)
  }
}

extension PlainSQL {
  /// The first column of a query's rows.
  static func rows(_ sql: String, at url: URL) throws -> [String] {
    try SQLiteConnection(path: url.path(percentEncoded: false), of: [url]).rows(sql).map { $0[0] ?? "NULL" }
  }
}
