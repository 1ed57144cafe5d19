import CDModel
import CDRuntime

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The opening of a store on a server: checks its contents, creates it if it does not exist, migrates it if it is of an
/// older version, and updates its indexes.
struct PostgresOpening {
  let connection: PostgresConnection
  let server: PostgresServer
  let url: URL
  let model: ModelPlan
  /// The index of the store in the coordinator.
  let storeIndex: Int
  let settings: StoreSettings
  /// The configurations of the coordinator's other stores.
  let others: [String?]

  /// The most attempts to open a store that other processes create or change at the same time.
  private static let mostAttempts = 20

  func open() throws -> PostgresStore {
    var attempt = 1
    var migration: MigrationResult?
    while true {
      do {
        return try openOnce(after: migration)
      } catch StoreError.needsMigration where settings.migrator != nil && migration == nil {
        rollBack()
        // Nil if another program is migrating the store, or has done it.
        if let migrator = settings.migrator { migration = try migrate(by: migrator) }
      } catch let failure as PostgresFailure {
        rollBack()
        guard connection.isOpen, failure.isConcurrentCreation, attempt < Self.mostAttempts else {
          throw failure.error(of: [url], during: "opening the store")
        }
        attempt += 1
        Waiting.pause(attempt)
      } catch {
        rollBack()
        throw error
      }
    }
  }

  func rollBack() {
    if connection.isOpen, connection.isInTransaction { _ = try? connection.run("ROLLBACK") }
  }

  private func openOnce(after migration: MigrationResult?) throws -> PostgresStore {
    let isReadOnly = settings.isReadOnly
    _ = try connection.run(
      "BEGIN ISOLATION LEVEL READ COMMITTED, " + (isReadOnly ? "READ ONLY" : "READ WRITE"))
    let storeID: UUID
    if let found = try inspect() {
      storeID = found.storeID
      if let wanted = found.wanted, !isReadOnly { try update(to: wanted, from: found.versionNumber) }
    } else {
      if isReadOnly { throw StoreError.foreignDatabase(url) }
      storeID = try create()
    }
    _ = try connection.run("COMMIT")
    return PostgresStore(
      index: storeIndex, url: url, storeID: storeID, isReadOnly: isReadOnly, schema: server.schema,
      dataHash: model.dataHash(ofStore: storeIndex).description, migration: migration)
  }

  func systemTable(_ name: String) -> String {
    PostgresTables.systemTable(name, schema: server.schema)
  }

  /// A store of the model.
  struct Found {
    let storeID: UUID
    /// The metadata to write; nil if the metadata and the indexes are up to date.
    var wanted: StoreMetadata?
    /// The number of the version that the store was written with.
    var versionNumber = 0
  }

  /// - Returns: Nil if the schema is empty or does not exist.
  func inspect() throws -> Found? {
    let names = try PostgresTransfer.tables(of: server, connection, url: url)
    if names.isEmpty { return nil }
    let entries = PostgresSession.entries(
      try connection.run(#"SELECT "key", "value" FROM \#(systemTable("_cdgen_metadata"))"#))
    let found = try StoreMetadata(entries: entries, url: url)
    let wanted = try StoreVersionCheck(
      url: url, model: model, storeIndex: storeIndex, configurations: (settings.configuration, others)
    ).check(found, tables: names)
    let schema = SQLSchema(model, store: storeIndex, PostgresDialect())
    if let missing = schema.layouts.first(where: { !names.contains($0.name) }) {
      throw StoreError.damaged([url], reason: "the table '\(missing.name)' is missing")
    }
    var result = Found(storeID: found.storeID)
    if found.layoutHash != wanted.layoutHash || found.definitionHash != wanted.definitionHash
      || found.partVersions != wanted.partVersions
    {
      result.wanted = wanted
      result.wanted?.createdBy = found.createdBy
      result.versionNumber = found.versionNumber
    }
    return result
  }

  func create() throws -> UUID {
    try PostgresTransfer.checkNames(model, store: storeIndex)
    let schema = SQLText.quoted(server.schema)
    try PostgresTransfer.createSchema(of: server, connection)
    _ = try connection.run("SET LOCAL search_path TO \(schema)")
    let storeID = UUID.random()
    let metadata = StoreMetadata(model, storeID: storeID, store: storeIndex)
    let creation = PostgresTables.creation(of: model, store: storeIndex)
    _ = try connection.run(creation.map { PostgresStatement($0, isKept: false) })
    try PostgresTransfer.write(metadata.entries, of: server, connection)
    _ = try connection.run(
      #"INSERT INTO \#(systemTable("_cdgen_keys")) ("entity", "next") VALUES (?, 1)"#,
      [.value(.string(PostgresTables.historyKey))])
    return storeID
  }

  /// Creates and removes indexes to match the model, and updates the metadata.
  private func update(to metadata: StoreMetadata, from version: Int) throws {
    let schema = SQLText.quoted(server.schema)
    // Nobody else updates the store at the same time.
    _ = try connection.run(
      #"SELECT 1 FROM \#(systemTable("_cdgen_metadata")) WHERE "key" = 'layoutHash' FOR UPDATE"#)
    let layout = SQLSchema(model, store: storeIndex, PostgresDialect())
    let wanted = PostgresTables.indexes(of: layout)
    let found = try connection.run(
      // Indexes of primary keys and of constraints belong to their tables.
      "SELECT c.relname::text FROM pg_catalog.pg_index AS i JOIN pg_catalog.pg_class AS c ON c.oid = i.indexrelid "
        + "JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace WHERE n.nspname = ? "
        + "AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_constraint AS k WHERE k.conindid = c.oid AND k.contype <> 'f')",
      [.value(.string(server.schema))])
    let present = Set((0..<found.rowCount).compactMap { found.string($0, 0) })
    _ = try connection.run("SET LOCAL search_path TO \(schema)")
    for name in present.sorted() where !wanted.contains(where: { $0.name == name }) {
      _ = try connection.run("DROP INDEX \(schema).\(SQLText.quoted(name))")
    }
    for (index, known) in zip(wanted, layout.indexes) where !present.contains(index.name) {
      do {
        _ = try connection.run([PostgresStatement("SAVEPOINT _cdgen_index"), PostgresStatement(index.sql)])
      } catch {
        guard error.isUniquenessViolation,
          let (entity, properties) = model.uniqueConstraint(ofIndex: known.name)
        else { throw error }
        _ = try connection.run("ROLLBACK TO SAVEPOINT _cdgen_index")
        let key = try connection.run(
          model.equalRows(of: entity, properties, table: systemTable(entity.table)))
        throw MigrationError(
          url, .duplicate(properties: properties),
          step: MigrationError.Step(source: version, destination: metadata.versionNumber),
          entity: entity.name, objectKey: key.optionalInt(0, 0))
      }
    }
    try PostgresTransfer.write(metadata.entries, of: server, connection)
  }
}
