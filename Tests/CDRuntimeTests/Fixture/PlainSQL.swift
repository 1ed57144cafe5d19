import Foundation

@testable import CDRuntime

/// A store's file, changed behind the runtime's back.
enum PlainSQL {
  static func run(_ sql: String, at url: URL) throws {
    try SQLiteConnection(path: url.path(percentEncoded: false), of: [url], isDefensive: false).execute(sql)
  }
}

extension PlainSQL {
  /// The tables of a store: where it is no SQLite file, those that are made of it.
  static func connection(to url: URL) throws -> SQLiteConnection {
    if StoreKind.ofEnvironment == .postgresql {
      let connection = try SQLiteConnection(path: ":memory:", of: [url])
      try TestServer.transfer(url).read { try StoreBuilder(connection, url: url).add($0.contents()) }
      return connection
    }
    let location = try StoreLocation(
      recognizing: url, formats: [JSONStoreFormat()])
    guard let format = location.format else {
      return try SQLiteConnection(path: url.path(percentEncoded: false), of: [url])
    }
    let connection = try SQLiteConnection(path: ":memory:", of: [url])
    try StoreFile(url, format, isReadOnly: true).read(into: StoreBuilder(connection, url: url))
    return connection
  }

  /// The first column of a query's rows.
  static func rows(_ sql: String, at url: URL) throws -> [String] {
    try connection(to: url).rows(sql).map { $0[0] ?? "NULL" }
  }
}
