import CDRuntime

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The record about schemas on the server, which one transaction at a time changes.
struct ServerRecord {
  let connection: PostgresConnection
  let own: String
  let url: URL

  private var table: String { PostgresTables.systemTable("_cdgen_metadata", schema: own) }

  /// Reads the record.
  func read() throws -> SchemaRecord {
    let result = try connection.run(
      #"SELECT "value" FROM \#(table) WHERE "key" = ?"#, [.value(.string(SchemaRecord.metadataKey))])
    return try SchemaRecord(result.rowCount > 0 ? result.string(0, 0) : nil, of: own, url: url)
  }

  /// Creates the record if there is none, and locks it until the transaction ends.
  func lock() throws -> SchemaRecord {
    let key = PostgresParameter.value(.string(SchemaRecord.metadataKey))
    while true {
      let results = try connection.run([
        PostgresStatement(
          #"INSERT INTO \#(table) ("key", "value") VALUES (?, ?) ON CONFLICT DO NOTHING"#,
          [key, .value(.string(try SchemaRecord.none.text()))]),
        PostgresStatement(#"SELECT "value" FROM \#(table) WHERE "key" = ? FOR UPDATE"#, [key]),
      ])
      // The statement may have waited for a migration, which replaces all rows of the metadata.
      guard let found = results.last, found.rowCount == 1 else { continue }
      return try SchemaRecord(found.string(0, 0), of: own, url: url)
    }
  }

  /// Writes the record, which ``lock()`` has returned.
  func write(_ record: SchemaRecord) throws {
    _ = try connection.run(
      #"UPDATE \#(table) SET "value" = ? WHERE "key" = ?"#,
      [.value(.string(try record.text())), .value(.string(SchemaRecord.metadataKey))])
  }

  /// Changes the record in a transaction of its own.
  func change(_ body: (inout SchemaRecord) -> Void) throws {
    _ = try connection.run([
      PostgresStatement("BEGIN ISOLATION LEVEL READ COMMITTED, READ WRITE"),
      PostgresConnection.lockLimit(seconds: 2),
    ])
    let found = try lock()
    var record = found
    body(&record)
    if record != found { try write(record) }
    _ = try connection.run("COMMIT")
  }
}
