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
    if let transfer = StoreKind.ofEnvironment.transfer(url) {
      let connection = try SQLiteConnection(path: ":memory:", of: [url])
      try transfer.read { try StoreBuilder(connection, url: url).add($0.contents()) }
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

  /// Changes the rows of a plain store behind its engine's back. SQLite runs the statements, in tables that are made of the
  /// store and become its rows.
  ///
  /// - Parameter coordinator: Who has the store open, if anybody has.
  static func change(
    _ url: URL, _ sql: String, in coordinator: PersistentStoreCoordinator?
  ) throws {
    let connection = try connection(to: url)
    try connection.execute(sql)
    let address = PlainStores.address(url)
    guard let image = try PlainStores.image(at: address) else { throw PlainStores.missing(address) }
    PlainStores.replace(
      try image.replacingRows(by: SQLiteTableSource(connection: connection, schema: "main")), at: address)
    try (coordinator?.engine as? PlainEngine)?.reload()
  }

  /// The first column of a query's rows.
  static func rows(_ sql: String, at url: URL) throws -> [String] {
    try connection(to: url).rows(sql).map { $0[0] ?? "NULL" }
  }
}
