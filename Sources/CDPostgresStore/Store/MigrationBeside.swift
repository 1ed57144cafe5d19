import CDModel
import CDRuntime

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The migration of a store with common features: without changes of tables in transactions, and without locks of tables.
///
/// The tables of the new version are created in a schema beside the store's own one, such as `shop~2` beside `shop`. Then
/// one transaction writes all rows to them, and makes the entry of the metadata that names the schema name the new one.
/// The commit of this transaction is the switch: before it, the store is the old one, and after it the new one. The
/// metadata and the history stay in the store's own schema. A later migration leads from there to a third schema, so that
/// there is never a chain.
///
/// 1. A lease lets one program migrate, and the others wait. It only saves work.
/// 2. A transaction records the new schema and its tables. Whatever has been recorded before and is not in use must not end
///    any more. So no later step depends on the lease.
/// 3. The schema, the tables and the indexes are created, each by itself.
/// 4. The transaction of the switch locks the record, and the counter of saves in the old `_cdgen_keys`. Nothing is
///    committed without this counter, so that the rows do not change while they are read. At the end, it removes the
///    counter. Transactions of the old version wait for it, find none, and are rolled back: see ``StoreError/replaced(_:)``.
/// 5. The opening drops the old tables: see ``UnusedTables``. A reader whose snapshot is older can go on reading the tables
///    that it has read before. It gets the same error for others.
///
/// If the program is killed, what it has created is recorded, and the next migration drops it.
struct MigrationBeside {
  let opening: PostgresOpening
  let migrator: any StoreMigrator

  private var connection: PostgresConnection { opening.connection }
  private var server: PostgresServer { opening.server }
  private var model: ModelPlan { opening.model }
  private var record: ServerRecord {
    ServerRecord(connection: connection, own: server.schema, url: opening.url)
  }

  /// Migrates the store.
  ///
  /// - Returns: Nil if another program is migrating the store or has done it, so that the store must be opened again.
  func run() throws -> MigrationResult? {
    let lease = MigrationLease(server, process: nil)
    guard try lease.take() else {
      try migrator.checkCancelled(opening.url)
      Waiting.pause(5)
      return nil
    }
    defer { lease.release() }
    guard let attempt = try rollingBack(begin) else { return nil }
    var created: [String]?
    do {
      // Drops the tables of earlier migrations that were killed.
      UnusedTables(server: server).drop()
      try createTables(attempt, &created)
      if let result = try copyRows(attempt) { return result }
    } catch {
      opening.rollBack()
      UnusedTables(server: server).drop(attempt, created: created)
      throw error
    }
    // If the store was removed and created anew, it does not know of the tables.
    UnusedTables(server: server).drop(attempt, created: created)
    return nil
  }

  private func rollingBack<R>(_ body: () throws -> R) throws -> R {
    do { return try body() } catch {
      opening.rollBack()
      throw error
    }
  }

  private func beginTransaction() throws {
    _ = try connection.run(
      [PostgresStatement("BEGIN ISOLATION LEVEL READ COMMITTED, READ WRITE")] + PostgresTransfer.longLimits
        + [PostgresConnection.lockLimit(seconds: opening.settings.busyTimeout)])
  }

  // MARK: The new tables

  /// Records a new schema.
  ///
  /// - Returns: Nil if the store is not of an older version any more.
  private func begin() throws -> SchemaRecord.Attempt? {
    try beginTransaction()
    var found = try record.lock()
    do {
      _ = try opening.inspect()
      opening.rollBack()
      return nil
    } catch StoreError.needsMigration {}
    let (_, schemas, names) = try PostgresTransfer.inspect(server, connection)
    let stored = stored(schemas, names)
    try migrator.checkRefusal(stored)
    try opening.checkRowSecurity(stored.plan(), schema: schemas.tables)
    var schema = ""
    repeat {
      found.number += 1
      schema = StoreSchemas.beside(server.schema, number: found.number)
    } while try hasTables(schema)
    let layout = SQLSchema(model, store: opening.storeIndex, PostgresDialect())
    let attempt = SchemaRecord.Attempt(schema: schema, tables: ["_cdgen_keys"] + layout.layouts.map(\.name))
    found.begin(attempt)
    try MigrationFaults.reach("record \(schema)")
    try record.write(found)
    try PostgresTransfer.commit(connection)
    return attempt
  }

  /// Whether a schema has something already, which is another program's.
  private func hasTables(_ schema: String) throws -> Bool {
    try connection.run(
      "SELECT 1 FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace "
        + "WHERE n.nspname = ? LIMIT 1", [.value(.string(schema))]
    ).rowCount > 0
  }

  /// - Parameter created: The tables that have been created; nil while there is no schema for them.
  private func createTables(_ attempt: SchemaRecord.Attempt, _ created: inout [String]?) throws {
    try migrator.checkCancelled(opening.url)
    try MigrationFaults.reach("CREATE SCHEMA")
    let creation = PostgresTables.creationBeside(
      of: model, store: opening.storeIndex, schema: attempt.schema)
    do {
      try PostgresTransfer.createSchema(attempt.schema, connection)
      try create(creation.prefix(1))
      created = Array(attempt.tables.prefix(1))
    } catch let failure as PostgresFailure where failure.code == UnusedTables.insufficientPrivilege {
      try refuse(attempt)
    }
    // The first statements create the tables, in the order of the record.
    for (table, text) in zip(attempt.tables, creation).dropFirst() {
      try create([text])
      created?.append(table)
    }
    try create(creation.dropFirst(attempt.tables.count))
    try createRights(attempt)
  }

  private func create(_ list: ArraySlice<String>) throws {
    for text in list {
      try migrator.checkCancelled(opening.url)
      try MigrationFaults.reach(text)
      _ = try connection.run([PostgresStatement(text, isKept: false)])
    }
  }

  /// Gives up a migration whose user may not create anything. The next one takes the same schema, so that somebody else
  /// can create it for this user.
  private func refuse(_ attempt: SchemaRecord.Attempt) throws -> Never {
    try record.change {
      guard $0.attempt == attempt else { return }
      $0.attempt = nil
      $0.number -= 1
    }
    throw StoreError.cannotCreate(
      opening.url,
      reason:
        "the user may not create the schema '\(attempt.schema)', or no tables in it. The migration needs the "
        + "privilege CREATE on the database, or on this schema, which somebody else has created. The store was not "
        + "changed")
  }

  /// Gives the new schema and its tables the privileges, and the tables the owners, that the old ones have.
  private func createRights(_ attempt: SchemaRecord.Attempt) throws {
    let schemas = try PostgresTransfer.inspect(server, connection).schemas
    let present = PresentTables(connection: connection, schema: schemas.tables)
    let layout = SQLSchema(model, store: opening.storeIndex, PostgresDialect())
    do {
      // If somebody else has created the schema, the server may only warn that it grants nothing. What an owner can do there
      // is known afterwards.
      try create(present.rightsToSchema(attempt.schema)[...])
      try create(present.rights(in: attempt.schema, to: layout.layouts, and: ["_cdgen_keys"])[...])
    } catch let failure as PostgresFailure where failure.code == Self.unknownFunction {
      // Not every database has PostgreSQL's functions for privileges.
    }
  }

  private static let unknownFunction = "42883"

  // MARK: The rows

  /// Copies the rows and makes the new tables those of the store, in one transaction.
  ///
  /// - Returns: Nil if another program has begun a migration in the meantime.
  private func copyRows(_ attempt: SchemaRecord.Attempt) throws -> MigrationResult? {
    try MigrationFaults.reach("BEGIN")
    try beginTransaction()
    var found = try record.lock()
    guard found.attempt == attempt else {
      opening.rollBack()
      return nil
    }
    let (_, schemas, names) = try PostgresTransfer.inspect(server, connection)
    let next = try lockCounter(schemas)
    let stored = stored(schemas, names)
    found.attempt = nil
    found.unused[schemas.tables] =
      SQLSchema(try stored.plan(), store: 0, PostgresDialect()).layouts.map(\.name)
      + (schemas.areTwo ? ["_cdgen_keys"] : [])
    var result = try migrator.migrate(stored) { contents in
      var (entries, keys) = try write(contents, of: stored, to: attempt.schema)
      if contents != nil { keys[PostgresTables.historyKey] = next }
      entries[StoreSchemas.metadataKey] = attempt.schema
      entries[SchemaRecord.metadataKey] = try found.text()
      entries[PostgresTables.lastMigrationKey] = UUID.random().uuidString
      try PostgresTransfer.write(keys, schema: attempt.schema, connection)
      let metadata = schemas.table("_cdgen_metadata")
      for text in [
        #"DELETE FROM \#(schemas.table("_cdgen_keys")) WHERE "entity" = '\#(PostgresTables.historyKey)'"#,
        // Others wait for the lease.
        #"DELETE FROM \#(metadata) WHERE "key" <> '\#(PostgresTables.leaseKey)'"#,
      ] {
        try MigrationFaults.reach(text)
        _ = try connection.run(text)
      }
      try PostgresTransfer.write(entries, of: server, connection)
      try migrator.checkCancelled(opening.url)
      try MigrationFaults.reach("COMMIT")
      try PostgresTransfer.commit(connection)
    }
    result.schemaBeside = attempt.schema
    return result
  }

  /// The rows of the old version.
  private func stored(_ schemas: StoreSchemas, _ names: Set<String>) -> StoredTables {
    let rows = PostgresRows(connection, schemas: schemas, history: .bounds, url: opening.url)
    return StoredTables(rows, names: names, url: opening.url)
  }

  /// Excludes all who write rows, until the transaction ends.
  ///
  /// - Returns: The next number of a save.
  private func lockCounter(_ schemas: StoreSchemas) throws -> Int64 {
    do {
      let counter = try connection.run([PostgresStatement(PostgresTables.counterLock(schemas))])
      if let row = counter.last, row.rowCount == 1 { return row.int(0, 0) }
    } catch {
      guard error.code == PostgresFailure.lockNotAvailable else { throw error }
      throw MigrationError(opening.url, .inUse, table: "_cdgen_keys")
    }
    throw StoreError.damagedKeys(opening.url, entity: PostgresTables.historyKey)
  }

  /// Writes the rows to the new tables.
  ///
  /// - Parameters:
  ///   - contents: The rows; nil for a store that is created anew, without objects.
  ///   - stored: The rows of the old version.
  /// - Returns: The entries of the new metadata, and the next keys.
  private func write(
    _ contents: StoreContents?, of stored: StoredTables, to schema: String
  ) throws -> (entries: [String: String], keys: [String: Int64]) {
    guard let contents else {
      try MigrationFaults.reach("DELETE")
      let history = PostgresTables.systemTable("_cdgen_history", schema: server.schema)
      _ = try connection.run("DELETE FROM \(history)")
      let metadata = StoreMetadata.ofNewStore(model, storeID: UUID.random(), store: opening.storeIndex)
      var keys = try stored.nextKeysAfterErasure(for: model, store: opening.storeIndex)
      keys[PostgresTables.historyKey] = 1
      return (metadata.entries, keys)
    }
    let writer = PostgresRowWriter(connection: connection, schema: schema)
    let parts = StoreTables(model, store: opening.storeIndex).parts
    try MigrationFaults.reach("COPY")
    try writer.copyObjects(of: contents, parts)
    return (contents.storedEntries, try writer.keys(of: contents, parts))
  }
}
