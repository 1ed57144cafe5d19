import CDRuntime

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Drops the tables of a store's former versions, and those of migrations that have not ended.
///
/// Each statement drops one table. If the program is interrupted, the next opening drops the rest. Only tables that the
/// metadata record are dropped, and no schema that still has others. A table that somebody is reading, or on which something of
/// another program depends, stays until a later opening.
struct UnusedTables {
  let server: PostgresServer

  /// How many seconds to wait for those who read a table of a former version.
  private static let patience: Double = 0.5

  /// Drops the tables, as far as possible now. A failure is no error for whoever opens the store.
  func drop() { try? withConnection { try dropRecorded($0) { _ in } } }

  /// Drops the tables of a migration that has failed, unless it has ended all the same.
  ///
  /// If the store was removed in the meantime, nothing records the tables. Then those go that the migration itself has
  /// created. Nobody else uses a schema that has tables already.
  ///
  /// - Parameter created: The tables that the migration has created; nil if it has created nothing.
  func drop(_ attempt: SchemaRecord.Attempt, created: [String]?) {
    try? withConnection { connection in
      if try isRecorded(attempt.schema, connection) {
        try dropRecorded(connection) { $0.abandon(attempt.schema) }
      } else if let created {
        try drop(created, in: attempt.schema, connection)
      }
    }
  }

  private func withConnection(_ body: (PostgresConnection) throws -> Void) throws {
    let connection = try PostgresConnection.open(server, toWrite: true)
    defer { connection.close() }
    try body(connection)
  }

  /// Whether there is a store, whose metadata name a schema.
  private func isRecorded(_ schema: String, _ connection: PostgresConnection) throws -> Bool {
    let names = try PostgresTransfer.existingTables(of: server, connection)
    guard names.contains("_cdgen_metadata") else { return false }
    let table = PostgresTables.systemTable("_cdgen_metadata", schema: server.schema)
    // One statement: the commit of the migration may be under way, which moves the name from one entry to the other.
    let entries = PostgresSession.entries(try connection.run(#"SELECT "key", "value" FROM \#(table)"#))
    // Another migration may have truncated the table.
    if entries.isEmpty || entries[StoreSchemas.metadataKey] == schema { return true }
    return try SchemaRecord(entries[SchemaRecord.metadataKey], of: server.schema, url: server.url)
      .others[schema] != nil
  }

  private func dropRecorded(
    _ connection: PostgresConnection, _ change: (inout SchemaRecord) -> Void
  ) throws {
    let stored = ServerRecord(connection: connection, own: server.schema, url: server.url)
    var unused: [String: [String]] = [:]
    // From now on, a migration that was given up cannot end any more.
    try stored.change {
      change(&$0)
      unused = $0.unused
    }
    for (schema, tables) in unused.sorted(by: { $0.key < $1.key }) {
      try drop(tables, in: schema, connection)
      try stored.change { $0.unused[schema] = nil }
    }
  }

  private func drop(_ tables: [String], in schema: String, _ connection: PostgresConnection) throws {
    var dependent: [String] = []
    for table in tables {
      let name = PostgresTables.systemTable(table, schema: schema)
      do { try run("DROP TABLE IF EXISTS \(name)", connection) } catch {
        guard error.code == Self.hasDependents else { throw error }
        dependent.append(name)
      }
    }
    if !dependent.isEmpty { try dropTogether(dependent, connection) }
    if schema == server.schema { return }
    try Self.dropSchema(schema, connection)
  }

  /// Drops tables whose foreign keys lead to each other, or that views of the store read.
  private func dropTogether(
    _ tables: [String], _ connection: PostgresConnection
  ) throws(PostgresFailure) {
    let drop = "DROP TABLE IF EXISTS \(tables.joined(separator: ", "))"
    do { try run(drop, connection) } catch {
      guard error.code == Self.hasDependents else { throw error }
      // A database without changes of tables within transactions has no views of the store.
      let views = try connection.run([PostgresViews.present(schema: server.schema)])
      if views[0].rowCount == 0 { throw error }
      _ = try connection.run("BEGIN")
      do {
        try PostgresViews.drop(schema: server.schema, connection)
        try run(drop, connection)
        _ = try connection.run("COMMIT")
      } catch {
        // Something of another program depends on the tables. The views of the store may already read its new ones.
        if connection.isOpen { _ = try? connection.run("ROLLBACK") }
        throw error
      }
    }
  }

  /// Drops an empty schema. A schema that has something else, or that belongs to another user, stays.
  static func dropSchema(_ schema: String, _ connection: PostgresConnection) throws(PostgresFailure) {
    do {
      _ = try connection.run([
        PostgresStatement("DROP SCHEMA IF EXISTS \(SQLText.quoted(schema))", isKept: false)
      ])
    } catch {
      guard connection.isOpen, [hasDependents, insufficientPrivilege].contains(error.code) else {
        throw error
      }
    }
  }

  private func run(_ text: String, _ connection: PostgresConnection) throws(PostgresFailure) {
    _ = try connection.run([PostgresStatement(text, isKept: false)], timeout: Self.patience)
  }

  private static let hasDependents = "2BP01"
  static let insufficientPrivilege = "42501"
}
