import CDModel
@_spi(Generated) import CDRuntime

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

// The migration that changes the tables where they are, in one transaction with the metadata.
extension PostgresOpening {
  /// Migrates the store if no step computes values of rows.
  ///
  /// - Returns: Nil if the rows must be written to new tables: because a step computes values, because the tables are not
  ///   exactly those of the old version, because the user may not change them, or because rows break a new rule. Writing
  ///   new tables finds out which rows.
  func migrateTables(
    _ stored: StoredTables, _ old: ModelPlan, by migrator: any StoreMigrator, _ locks: MigrationLocks
  ) throws -> MigrationResult? {
    let present = PresentTables(connection: connection, schema: server.schema)
    guard let migration = try migrator.tableMigration(stored, PostgresDialect()),
      let first = migration.steps.first, try present.isVersion(first.old)
    else { return nil }
    for step in migration.steps { try PostgresTransfer.checkNames(step.new.layouts) }
    do {
      return try migrator.make(migration, of: url) {
        _ = try connection.run("SAVEPOINT _cdgen_migration")
        let rights = try PostgresViews.rights(schema: server.schema, connection)
        try locks.excludeReaders(old)
        try change(migration, stored, present, migrator)
        try views(StoreSchemas(server.schema)).create(connection, rights: rights)
        try migrator.checkCancelled(url)
        try MigrationFaults.reach("COMMIT")
        try PostgresTransfer.commit(connection)
      }
    } catch is OtherTables {
    } catch let failure as PostgresFailure {
      guard connection.isOpen, failure.isAvoidedByNewTables else { throw failure }
    }
    // This also gives back the locks, so that others can read during the longer way.
    _ = try connection.run("ROLLBACK TO SAVEPOINT _cdgen_migration")
    return nil
  }

  /// The tables are not those of the new version after the migration.
  private struct OtherTables: Error {}

  private func change(
    _ migration: TableMigration, _ stored: StoredTables, _ present: PresentTables,
    _ migrator: any StoreMigrator
  ) throws {
    let entries = try stored.source.metadata()
    let found = try StoreMetadata(entries: entries, url: url)
    let record = migration.record(after: try keyRecord(migration, entries, found))
    let names = try migration.steps.first.map { try present.names(of: $0.old) }
    let alteration = TableAlteration(migration.steps, names ?? TableNames())
    let version = SQLSchema(model, store: storeIndex, PostgresDialect())

    _ = try connection.run(TableReplacement.search(server.schema))
    for (statements, step) in zip(alteration.statements, migration.steps) {
      try run(statements, step.step, migrator)
    }
    let missing = try MissingIndexes(alteration.missingIndexes, present, of: server)
    if let last = migration.steps.last {
      try run(missing.early.map(PostgresTables.creation), last.step, migrator)
    }
    guard try present.isVersion(version) else { throw OtherTables() }

    var metadata = StoreMetadata(model, storeID: found.storeID, store: storeIndex)
    metadata.createdBy = found.createdBy
    metadata.rowsVersions = migration.rowsVersions
    var written = entries.merging(metadata.entries) { $1 }
    written[InsertionOrigins.metadataKey] = record.origins.isEmpty ? nil : record.origins.text
    written[MovedKeys.metadataKey] = record.moved.isEmpty ? nil : MovedKeys.text(record.moved)
    if !missing.late.isEmpty { written[PostgresTables.missingIndexesKey] = metadata.layoutHash }
    written[PostgresTables.lastMigrationKey] = UUID.random().uuidString
    try run(TableReplacement.clearing(schema: server.schema), nil, migrator)
    try PostgresTransfer.write(written, of: server, connection)
    try PostgresTransfer.write(record.next, schema: server.schema, connection)
  }

  private func run(
    _ statements: [String], _ step: MigrationError.Step?, _ migrator: any StoreMigrator
  ) throws {
    for text in statements {
      try migrator.checkCancelled(url)
      try MigrationFaults.reach(text)
      do {
        _ = try connection.run(
          [PostgresStatement(text, isKept: false)], timeout: PostgresTransfer.longTimeout)
      } catch {
        if error.isAvoidedByNewTables { throw error }
        if error.code == PostgresFailure.lockNotAvailable { throw MigrationError(url, .inUse, step: step) }
        throw MigrationError(url, .store(error.error(of: [url], during: "migrating the store")), step: step)
      }
    }
  }

  /// What the store records about keys.
  private func keyRecord(
    _ migration: TableMigration, _ entries: [String: String], _ found: StoreMetadata
  ) throws -> KeyRecord {
    var next: [String: ObjectKey] = [:]
    let counters = try connection.run(#"SELECT "entity", "next" FROM \#(systemTable("_cdgen_keys"))"#)
    for row in 0..<counters.rowCount {
      guard let name = counters.string(row, 0), name != PostgresTables.historyKey else { continue }
      next[name] = counters.int(row, 1)
    }
    var greatest: [String: ObjectKey] = [:]
    for root in migration.roots {
      let table = PostgresTables.systemTable(root.table, schema: server.schema)
      let key = try connection.run(
        [PostgresStatement(#"SELECT coalesce(max("_pk"), 0) FROM \#(table)"#, isKept: false)]
      ).first?.int(0, 0)
      guard let key, key <= KeyRanges.largestKey, 1...KeyRanges.largestKey ~= next[root.entity] ?? 1 else {
        throw StoreError.damagedKeys(url, entity: root.entity)
      }
      if key > 0 { greatest[root.entity] = key }
    }
    let saves = try connection.run(
      #"SELECT coalesce(min("id"), 0), coalesce(max("id"), 0) FROM \#(systemTable("_cdgen_history"))"#)
    let (oldest, newest) = (saves.int(0, 0), saves.int(0, 1))
    return KeyRecord(
      next: next, greatest: greatest, saves: newest > 0 ? min(oldest, newest)...newest : nil,
      origins: try InsertionOrigins(
        text: entries[InsertionOrigins.metadataKey], storeID: found.storeID, url: url),
      moved: entries[MovedKeys.metadataKey].map(MovedKeys.list) ?? [])
  }
}

extension PostgresFailure {
  /// Whether new tables may be possible although a change of the tables is refused: a row breaks a rule, the user does not
  /// own a table, or something else has the same name.
  fileprivate var isAvoidedByNewTables: Bool { code.hasPrefix("23") || code.hasPrefix("42") }
}
