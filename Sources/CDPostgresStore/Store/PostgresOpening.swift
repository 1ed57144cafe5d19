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
      } catch StoreError.needsMigration(_, let model, let from, let to)
        where settings.migrator != nil && migration == nil
      {
        rollBack()
        if server.features == .common {
          throw StoreError.notSupported(
            "the migration of '\(model)' from version \(from) to version \(to) with common features only")
        }
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
    if server.features == .common { return try openWithCommonFeatures() }
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
    let references = try connection.run(PostgresTables.countOfReferences, [.value(.string(server.schema))])
    _ = try connection.run("COMMIT")
    return store(
      storeID,
      hasForeignKeys: references.int(0, 0) == PostgresTables.referenceCount(of: model, store: storeIndex),
      after: migration)
  }

  private func store(_ storeID: UUID, hasForeignKeys: Bool, after migration: MigrationResult?)
    -> PostgresStore
  {
    PostgresStore(
      index: storeIndex, url: url, storeID: storeID, isReadOnly: settings.isReadOnly, schema: server.schema,
      dataHash: model.dataHash(ofStore: storeIndex).description, hasForeignKeys: hasForeignKeys,
      migration: migration)
  }

  // MARK: Common features

  /// Opens the store without changes of tables in transactions. A store exists when its metadata do, which are written
  /// after all tables.
  private func openWithCommonFeatures() throws -> PostgresStore {
    let names = try PostgresTransfer.existingTables(of: server, connection)
    var found: Found?
    if names.contains("_cdgen_metadata") { found = try inspect(names) }
    if found == nil {
      // The tables of an interrupted creation, and those that another program is creating, are the same ones.
      let own = Set(SQLSchema(model, store: storeIndex, PostgresDialect()).layouts.map(\.name))
      guard names.isSubset(of: own.union(PostgresTables.systemNames)) else {
        throw StoreError.foreignDatabase(url)
      }
      if settings.isReadOnly { throw StoreError.foreignDatabase(url) }
      try createWithCommonFeatures()
      found = try inspect(try PostgresTransfer.existingTables(of: server, connection))
    }
    guard let found else { throw StoreError.foreignDatabase(url) }
    if let wanted = found.wanted, !settings.isReadOnly { try updateWithCommonFeatures(to: wanted) }
    let references = try connection.run(PostgresTables.countOfReferences, [.value(.string(server.schema))])
    return store(
      found.storeID,
      hasForeignKeys: references.int(0, 0) == PostgresTables.referenceCount(of: model, store: storeIndex),
      after: nil)
  }

  private func createWithCommonFeatures() throws {
    try PostgresTransfer.checkNames(model, store: storeIndex)
    try PostgresTransfer.createSchema(of: server, connection)
    for text in PostgresTables.repeatableCreation(of: model, store: storeIndex, schema: server.schema) {
      _ = try connection.run([PostgresStatement(text, isKept: false)])
    }
    let metadata = StoreMetadata(model, storeID: UUID.random(), store: storeIndex)
    // Whoever writes the metadata first decides about the identifier of the store.
    let entries = metadata.entries.sorted { $0.key < $1.key }
    _ = try connection.run([
      PostgresStatement("BEGIN ISOLATION LEVEL READ COMMITTED, READ WRITE"),
      PostgresStatement(
        #"INSERT INTO \#(systemTable("_cdgen_keys")) ("entity", "next") VALUES (?, 1) ON CONFLICT DO NOTHING"#,
        [.value(.string(PostgresTables.historyKey))]),
      PostgresStatement(
        #"INSERT INTO \#(systemTable("_cdgen_metadata")) ("key", "value") "#
          + "SELECT k, v FROM unnest(CAST(? AS text[]), CAST(? AS text[])) AS u(k, v) "
          + #"WHERE NOT EXISTS (SELECT 1 FROM \#(systemTable("_cdgen_metadata")))"#,
        [
          .array(entries.map { .string($0.key) }, .text), .array(entries.map { .string($0.value) }, .text),
        ]),
      PostgresStatement("COMMIT"),
    ])
  }

  /// Creates and removes indexes, each by itself, and then updates the metadata.
  private func updateWithCommonFeatures(to metadata: StoreMetadata) throws {
    let wanted = PostgresTables.indexes(of: SQLSchema(model, store: storeIndex, PostgresDialect()))
    for name in try presentIndexes().sorted() where !wanted.contains(where: { $0.name == name }) {
      _ = try connection.run(
        "DROP INDEX IF EXISTS \(SQLText.quoted(server.schema)).\(SQLText.quoted(name))")
    }
    for index in wanted {
      _ = try connection.run([
        PostgresStatement(PostgresTables.repeatable(index.sql, schema: server.schema), isKept: false)
      ])
    }
    try PostgresTransfer.write(metadata.entries, of: server, connection)
  }

  private func presentIndexes() throws -> Set<String> {
    let found = try connection.run(
      // Indexes of primary keys and of constraints belong to their tables.
      "SELECT c.relname::text FROM pg_catalog.pg_index AS i JOIN pg_catalog.pg_class AS c ON c.oid = i.indexrelid "
        + "JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace WHERE n.nspname = ? "
        + "AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_constraint AS k WHERE k.conindid = c.oid AND k.contype <> 'f')",
      [.value(.string(server.schema))])
    return Set((0..<found.rowCount).compactMap { found.string($0, 0) })
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
    return names.isEmpty ? nil : try inspect(names)
  }

  /// - Returns: Nil if the creation of the store has not ended.
  private func inspect(_ names: Set<String>) throws -> Found? {
    let entries = PostgresSession.entries(
      try connection.run(#"SELECT "key", "value" FROM \#(systemTable("_cdgen_metadata"))"#))
    var names = names
    if server.features == .common {
      if entries.isEmpty { return nil }
      // Another program may have completed the creation after the tables were listed. The metadata come last.
      names = try PostgresTransfer.existingTables(of: server, connection)
    }
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
    let present = try presentIndexes()
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
