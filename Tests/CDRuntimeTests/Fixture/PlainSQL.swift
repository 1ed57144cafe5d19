import Foundation

@testable import CDRuntime

/// A store's file, changed behind the runtime's back.
enum PlainSQL {
  static func run(_ sql: String, at url: URL) throws {
    try SQLiteConnection(path: url.path(percentEncoded: false)).execute(sql)
  }
}
