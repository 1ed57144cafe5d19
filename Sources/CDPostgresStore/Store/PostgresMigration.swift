import CDModel
import CDRuntime

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

// The migration of a store of an older version, in one transaction.
//
// If no step computes values of rows, the tables are changed where they are: see `TableAlteration`. Otherwise the program
// reads all rows, migrates them, and writes them to tables in a schema of their own, which nobody sees. Meanwhile nobody can
// write to the store, but programs of the old version can read it. Then the new tables take the place of the old ones. Only
// this moment excludes readers.
//
// With common features, the tables are written beside instead: see `MigrationBeside`.
extension PostgresOpening {
  /// Migrates the store.
  ///
  /// - Returns: Nil if another program is migrating the store or has done it, so that the store must be opened again.
  func migrate(by migrator: any StoreMigrator) throws -> MigrationResult? {
    do {
      try PostgresTransfer.checkNames(model, store: storeIndex)
      if try migratesBeside() { return try MigrationBeside(opening: self, migrator: migrator).run() }
      _ = try connection.run(
        [PostgresStatement("BEGIN ISOLATION LEVEL READ COMMITTED, READ WRITE")] + PostgresTransfer.longLimits)
      let process = try connection.run("SELECT pg_catalog.pg_backend_pid()").int(0, 0)
      let lease = MigrationLease(server, process: process)
      guard try lease.take() else {
        rollBack()
        try migrator.checkCancelled(url)
        Waiting.pause(5)
        return nil
      }
      // The lock of an unfinished migration would keep the lease from being given back.
      defer { lease.release() }
      do { return try migrateAlone(by: migrator) } catch {
        rollBack()
        throw error
      }
    } catch is LockedTables {
      return nil
    } catch let failure as PostgresFailure {
      rollBack()
      throw MigrationError(
        url,
        failure.code == PostgresFailure.lockNotAvailable
          ? .inUse : .store(failure.error(of: [url], during: "migrating the store")))
    } catch let value as PostgresRowWriter.Unstorable {
      throw MigrationError(
        url, .invalidValue(property: value.property, reason: value.reason), entity: value.entity,
        objectKey: value.key)
    } catch StoreError.busy { throw MigrationError(url, .inUse) } catch let error as StoreError {
      if case .engine = error { throw MigrationError(url, .store(error)) }
      throw error
    }
  }

  /// Whether the new tables are written to another schema. A store with a second schema always migrates like that.
  private func migratesBeside() throws -> Bool {
    if server.features == .common { return true }
    let (entries, schemas, _) = try unlessLocked {
      try PostgresTransfer.inspect(server, connection, lockLimit: lockLimit)
    }
    return try schemas.areTwo
      || !SchemaRecord(entries[SchemaRecord.metadataKey], of: server.schema, url: url).others.isEmpty
  }

  private func migrateAlone(by migrator: any StoreMigrator) throws -> MigrationResult? {
    let locks = MigrationLocks(opening: self, migrator: migrator)
    try locks.excludeWriters()
    // Another program may have migrated the store in the meantime.
    do {
      _ = try inspect()
      rollBack()
      return nil
    } catch StoreError.needsMigration {}
    let stored = StoredTables(
      PostgresRows(connection, schemas: StoreSchemas(server.schema), history: .bounds, url: url),
      names: try PostgresTransfer.tables(of: server, connection, url: url), url: url)
    let old = try stored.plan()
    if let result = try migrateTables(stored, old, by: migrator, locks) { return result }
    try checkRowSecurity(old, schema: server.schema)
    return try migrator.migrate(stored) { contents in
      let replacement = Replacement(opening: self, migrator: migrator, old: old, locks: locks)
      if let contents { try replacement.replace(contents) } else { try replacement.erase(stored) }
      try migrator.checkCancelled(url)
      try PostgresTransfer.commit(connection)
    }
  }

  /// Refuses to replace tables that have row level security: whoever may read the new ones could read all rows.
  func checkRowSecurity(_ old: ModelPlan, schema: String) throws {
    let names = SQLSchema(old, store: 0, PostgresDialect()).layouts.map(\.name)
    let present = PresentTables(connection: connection, schema: schema)
    guard let table = try present.tableWithRowSecurity(among: names) else { return }
    throw StoreError.cannotCreate(
      url,
      reason:
        "the table '\(table)' has row level security, and the migration would replace it by a table without. "
        + "Drop the policies and disable row level security before, and restore both afterwards. "
        + "The store was not changed")
  }

  /// The replacement of the old tables by new ones.
  private struct Replacement {
    let opening: PostgresOpening
    let migrator: any StoreMigrator
    let old: ModelPlan
    let locks: MigrationLocks

    private var connection: PostgresConnection { opening.connection }
    private var server: PostgresServer { opening.server }

    private func run(_ list: [String]) throws {
      // Between two statements, the migration can be cancelled.
      for text in list {
        try migrator.checkCancelled(opening.url)
        _ = try connection.run(
          [PostgresStatement(text, isKept: false)], timeout: PostgresTransfer.longTimeout)
      }
    }

    func replace(_ contents: StoreContents) throws {
      let permission = try connection.run(
        "SELECT pg_catalog.has_database_privilege(pg_catalog.current_database(), 'CREATE')")
      // A user who may not create a schema creates the tables after the old ones have been dropped.
      let isBeside = permission.bool(0, 0)
      let rights = try rights()
      let rightsOfViews = try PostgresViews.rights(schema: server.schema, connection)
      let tables = tables(target: isBeside ? "_cdgen_\(UUID.random().uuidString)" : server.schema)
      if !isBeside {
        try locks.excludeReaders(old)
        try run([tables.drop])
      }
      try run(tables.creation)
      let writer = PostgresRowWriter(connection: connection, schema: tables.target)
      let parts = StoreTables(opening.model, store: opening.storeIndex).parts
      try writer.copyObjects(of: contents, parts)
      try run(tables.constraints)
      let keys = try writer.keys(of: contents, parts).filter { $0.key != PostgresTables.historyKey }
      if isBeside { try locks.excludeReaders(old) }
      try run(tables.exchange + rights + TableReplacement.clearing(schema: server.schema))
      try opening.views(StoreSchemas(server.schema)).create(connection, rights: rightsOfViews)
      var entries = contents.storedEntries
      entries[PostgresTables.lastMigrationKey] = UUID.random().uuidString
      try PostgresTransfer.write(entries, of: server, connection)
      try PostgresTransfer.write(keys, schema: server.schema, connection)
    }

    private func tables(target: String) -> TableReplacement {
      TableReplacement(
        old: old, new: opening.model, storeIndex: opening.storeIndex, schema: server.schema, target: target)
    }

    /// Creates the store anew, without objects.
    func erase(_ stored: StoredTables) throws {
      let rights = try rights(and: PostgresTables.systemNames)
      let rightsOfViews = try PostgresViews.rights(schema: server.schema, connection)
      try locks.excludeReaders(old)
      let keys = try stored.nextKeysAfterErasure(for: opening.model, store: opening.storeIndex)
      try run([
        TableReplacement.drop(old, and: PostgresTables.systemNames, schema: server.schema)
      ])
      _ = try opening.create()
      if !keys.isEmpty { try PostgresTransfer.write(keys, schema: server.schema, connection) }
      try run(rights)
      try opening.views(StoreSchemas(server.schema)).create(connection, rights: rightsOfViews)
    }

    /// The statements that give the new tables, and others of the runtime, the owners and the privileges of the old ones.
    private func rights(and others: [String] = []) throws -> [String] {
      let layout = SQLSchema(opening.model, store: opening.storeIndex, PostgresDialect())
      return try PresentTables(connection: connection, schema: server.schema).rights(
        in: server.schema, to: layout.layouts, and: others)
    }
  }
}

/// The locks of a migration.
struct MigrationLocks {
  let opening: PostgresOpening
  let migrator: any StoreMigrator
  private let beginning = ContinuousClock.now

  private var connection: PostgresConnection { opening.connection }
  private var schema: String { opening.server.schema }

  init(opening: PostgresOpening, migrator: any StoreMigrator) {
    self.opening = opening
    self.migrator = migrator
  }

  /// Excludes all who write rows.
  func excludeWriters() throws {
    do {
      _ = try connection.run([
        PostgresConnection.lockLimit(seconds: opening.settings.busyTimeout),
        PostgresStatement(PostgresTables.migrationLock(schema: schema)),
      ])
    } catch {
      guard error.code == PostgresFailure.lockNotAvailable else { throw error }
      throw MigrationError(opening.url, .inUse, table: "_cdgen_history")
    }
  }

  /// Drops the views, and excludes readers. Waits for those who are reading as long as others wait for the store, and
  /// besides as long as the migration has taken so far.
  ///
  /// Every reader has a lock on the metadata before it has one on another table. So whoever waits for this migration
  /// keeps nothing that the migration waits for.
  ///
  /// - Parameter old: The version of the tables.
  func excludeReaders(_ old: ModelPlan) throws {
    let taken = (ContinuousClock.now - beginning).components.seconds
    let limit = Deadline(seconds: opening.settings.busyTimeout + Double(taken))
    let tables = TableReplacement.lockedTables(old)
    var attempt = 0
    while true {
      try migrator.checkCancelled(opening.url)
      let start = [
        PostgresStatement("SAVEPOINT _cdgen_lock"),
        // Shorter than the time after which the server looks for deadlocks. New readers wait behind this lock.
        PostgresConnection.lockLimit(seconds: min(0.5, limit.seconds)),
      ]
      var isLocking = false
      do {
        _ = try connection.run(start)
        // Whoever reads a view locks it before the tables. No view is created once the tables are locked.
        try PostgresViews.drop(schema: schema, connection)
        isLocking = true
        _ = try connection.run(
          tables.map { PostgresStatement(TableReplacement.lock($0, schema: schema), isKept: false) })
        isLocking = false
        try PostgresViews.drop(schema: schema, connection)
        _ = try connection.run("RELEASE SAVEPOINT _cdgen_lock")
        return
      } catch {
        let isLock = [PostgresFailure.lockNotAvailable, PostgresFailure.deadlock].contains(error.code)
        guard isLock else { throw error }
        guard !limit.isOver else {
          throw MigrationError(
            opening.url, .inUse,
            table: isLocking && tables.indices.contains(error.statement) ? tables[error.statement] : nil)
        }
        _ = try connection.run("ROLLBACK TO SAVEPOINT _cdgen_lock")
        attempt += 1
        Waiting.pause(attempt)
      }
    }
  }
}
