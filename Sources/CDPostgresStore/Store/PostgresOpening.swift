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
    var locked: Deadline?
    while true {
      do {
        return try openOnce(after: migration)
      } catch StoreError.needsMigration where settings.migrator != nil && migration == nil {
        rollBack()
        locked = nil
        // Nil if another program is migrating the store, or has done it.
        if let migrator = settings.migrator { migration = try migrate(by: migrator) }
      } catch is LockedTables {
        rollBack()
        try settings.migrator?.checkCancelled(url)
        // A change of the tables ends sooner. Whatever else has the lock may never end.
        let limit = locked ?? Deadline(seconds: max(10 * server.statementLimit, settings.busyTimeout))
        guard !limit.isOver else { throw StoreError.busy([url]) }
        locked = limit
        Waiting.pause(5)
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
    if server.features == .common { return try openWithCommonFeatures(after: migration) }
    let isReadOnly = settings.isReadOnly
    let begin = "BEGIN ISOLATION LEVEL READ COMMITTED, " + (isReadOnly ? "READ ONLY" : "READ WRITE")
    _ = try connection.run([PostgresStatement(begin), PostgresConnection.lockLimit(seconds: lockLimit)])
    var found: Found
    if let present = try unlessLocked({ try inspect() }) {
      found = present
      if let wanted = found.wanted, !isReadOnly {
        try liftLockLimit()
        found.lacksIndexes =
          try found.isUpdateOptional ? updateIfPossible(to: wanted, found) : update(to: wanted, found)
      }
    } else {
      if isReadOnly { throw PostgresTransfer.missing(url) }
      try liftLockLimit()
      found = Found(storeID: try create(), schemas: StoreSchemas(server.schema))
    }
    let catalog = try connection.run([
      PostgresStatement(PostgresTables.countOfReferences, [.value(.string(found.schemas.tables))]),
      PostgresViews.present(schema: server.schema),
    ])
    if !isReadOnly { try views(found.schemas).update(from: catalog[1], connection) }
    _ = try connection.run("COMMIT")
    if !isReadOnly {
      if found.lacksIndexes, server.keepsSessions { buildIndexes(in: found.schemas.tables) }
      removeLeftovers(found)
    }
    return store(found, referenceCount: catalog[0].int(0, 0), after: migration)
  }

  /// A migration changes the tables, and the opening waits for its end.
  struct LockedTables: Error {}

  /// How many seconds one look at the store waits for a migration that changes the tables. Between two looks, an opening
  /// that may migrate can be cancelled.
  var lockLimit: Double {
    settings.migrator == nil ? server.statementLimit : min(1, server.statementLimit / 2)
  }

  /// Runs a body that looks at the store.
  ///
  /// - Throws: ``LockedTables`` if the body has met ``lockLimit`` and the opening may migrate.
  func unlessLocked<R>(_ body: () throws -> R) throws -> R {
    do { return try body() } catch let failure as PostgresFailure
      where failure.code == PostgresFailure.lockNotAvailable && settings.migrator != nil
    {
      throw LockedTables()
    }
  }

  /// Creating and updating wait for other programs that do the same, and take as long as those need.
  private func liftLockLimit() throws { _ = try connection.run("SET LOCAL lock_timeout TO DEFAULT") }

  /// Removes the leftovers of migrations: tables of former versions, and the lease of a program that was killed.
  private func removeLeftovers(_ found: Found) {
    if found.hasUnusedTables { UnusedTables(server: server).drop() }
    if found.hasLease { MigrationLease.removeInvalid(of: server, connection) }
  }

  /// Builds the indexes that were left out. Nobody waits for them.
  private func buildIndexes(in schema: String) {
    let indexes = SQLSchema(model, store: storeIndex, PostgresDialect()).indexes.filter { !$0.isUnique }
    let metadata = StoreMetadata(model, storeID: EmptyValue.uuid, store: storeIndex)
    IndexBuild(server, schema: schema, indexes, layoutHash: metadata.layoutHash).start()
  }

  /// - Parameter referenceCount: The number of foreign keys that the tables have.
  private func store(_ found: Found, referenceCount: Int64, after migration: MigrationResult?)
    -> PostgresStore
  {
    PostgresStore(
      index: storeIndex, url: url, storeID: found.storeID, isReadOnly: settings.isReadOnly,
      schemas: found.schemas, dataHash: model.dataHash(ofStore: storeIndex).description,
      lastMigration: found.lastMigration,
      hasForeignKeys: referenceCount == PostgresTables.referenceCount(of: model, store: storeIndex),
      migration: migration)
  }

  // MARK: Common features

  /// Opens the store without changes of tables in transactions. A store exists when its metadata do, which are written
  /// after all tables.
  private func openWithCommonFeatures(after migration: MigrationResult?) throws -> PostgresStore {
    let names = try PostgresTransfer.existingTables(of: server, connection)
    var found: Found?
    if names.contains("_cdgen_metadata") { found = try unlessLocked { try inspectTables() } }
    if found == nil {
      // The tables of another store look like those of an interrupted creation.
      if !names.isEmpty, let owner = try SchemaOwner(connection: connection).owner(of: server.schema) {
        throw StoreError.tablesOfOtherStore(url, schema: owner)
      }
      // The tables of an interrupted creation, and those that another program is creating, are the same ones.
      let own = Set(SQLSchema(model, store: storeIndex, PostgresDialect()).layouts.map(\.name))
      guard names.isSubset(of: own.union(PostgresTables.systemNames)) else {
        throw StoreError.foreignDatabase(url)
      }
      if settings.isReadOnly { throw PostgresTransfer.missing(url) }
      try createWithCommonFeatures(hasOldTables: !names.isEmpty)
      found = try inspectTables()
    }
    guard let found else { throw StoreError.foreignDatabase(url) }
    if !settings.isReadOnly {
      if let wanted = found.wanted { try updateWithCommonFeatures(to: wanted, found) }
      removeLeftovers(found)
    }
    let references = try connection.run(
      PostgresTables.countOfReferences, [.value(.string(found.schemas.tables))])
    return store(found, referenceCount: references.int(0, 0), after: migration)
  }

  /// - Parameter hasOldTables: Whether tables are there already, which an interrupted creation may have left.
  private func createWithCommonFeatures(hasOldTables: Bool) throws {
    try PostgresTransfer.checkNames(model, store: storeIndex)
    try PostgresTransfer.createSchema(of: server, connection)
    let layout = SQLSchema(model, store: storeIndex, PostgresDialect())
    let creation = PostgresTables.repeatableCreation(of: layout, schema: server.schema)
    func run(_ list: [String]) throws {
      for text in list { _ = try connection.run([PostgresStatement(text, isKept: false)]) }
    }
    try run(creation.tables)
    if hasOldTables {
      // The tables of another version may have the same names. Its metadata are still missing.
      let check = SchemaCheck(layout, server.schema) { try connection.run($0, $1) }
      let present = try PresentTables(connection: connection, schema: server.schema)
        .indexes(of: layout.layouts.map(\.name))
      let wanted = Set(PostgresTables.indexes(of: layout).map(\.name))
      guard try check.columnDefects().isEmpty, present.complete.union(present.invalid).isSubset(of: wanted)
      else {
        throw StoreError.cannotCreate(
          url,
          reason:
            "another version's creation of the store was interrupted or is under way; if it was interrupted, "
            + "remove the empty tables of the schema '\(server.schema)'")
      }
    }
    try run(creation.indexes)
    let metadata = StoreMetadata.ofNewStore(model, storeID: UUID.random(), store: storeIndex)
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
  private func updateWithCommonFeatures(to metadata: StoreMetadata, _ found: Found) throws {
    let layout = SQLSchema(model, store: storeIndex, PostgresDialect())
    let wanted = PostgresTables.indexes(of: layout)
    let schema = found.schemas.tables
    let present = try PresentTables(connection: connection, schema: schema)
      .indexes(of: layout.layouts.map(\.name))
    for name in present.complete.union(present.invalid).sorted()
    where !wanted.contains(where: { $0.name == name }) {
      _ = try connection.run(
        "DROP INDEX IF EXISTS \(SQLText.quoted(schema)).\(SQLText.quoted(name))")
    }
    for known in layout.indexes {
      let text = PostgresTables.repeatable(PostgresTables.creation(of: known), schema: schema)
      // No limit of the lock can be sent with the statement. Until the program gives up, those who write wait behind it.
      do { _ = try connection.run([PostgresStatement(text, isKept: false)]) } catch {
        throw try duplicate(known, error, metadata, found) ?? error
      }
    }
    let hash = model.dataHash(ofStore: storeIndex).description
    let mark = VersionMark([(found.schemas, hash, found.storeID, found.lastMigration, url)])
    do {
      // No migration ends between the check and the end of the transaction.
      _ = try connection.run(
        [
          PostgresStatement("BEGIN ISOLATION LEVEL READ COMMITTED, READ WRITE"),
          PostgresConnection.lockLimit(seconds: settings.busyTimeout),
          PostgresStatement(PostgresTables.counterLock(found.schemas)),
        ] + mark.statements)
    } catch {
      // The opening begins again, and finds the other version.
      guard mark.refusal(error, start: 3) != nil else { throw error }
      throw PostgresFailure(code: "40001", message: "the store has been migrated in the meantime")
    }
    try PostgresTransfer.write(metadata.entries, of: server, connection)
    _ = try connection.run("COMMIT")
  }

  func views(_ schemas: StoreSchemas) -> PostgresViews {
    PostgresViews(model, store: storeIndex, schemas: schemas)
  }

  func systemTable(_ name: String) -> String {
    PostgresTables.systemTable(name, schema: server.schema)
  }

  /// A store of the model.
  struct Found {
    let storeID: UUID
    let schemas: StoreSchemas
    /// The identifier of the last migration; nil if no migration has marked the store.
    var lastMigration: String?
    /// Whether tables of former versions are still there.
    var hasUnusedTables = false
    /// Whether there is a lease of a migration.
    var hasLease = false
    /// The metadata to write; nil if the metadata and the indexes are up to date.
    var wanted: StoreMetadata?
    /// Whether the update only creates indexes that refuse no rows.
    var isUpdateOptional = false
    /// The number of the version that the store was written with.
    var versionNumber = 0
    /// Whether indexes were left out, which are built later.
    var lacksIndexes = false
  }

  /// - Returns: Nil if the schema is empty or does not exist.
  func inspect() throws -> Found? {
    let names = try PostgresTransfer.tables(of: server, connection, url: url)
    return names.isEmpty ? nil : try inspectTables()
  }

  /// - Returns: Nil if the creation of the store has not ended.
  private func inspectTables() throws -> Found? {
    let (entries, schemas, names) = try PostgresTransfer.inspect(
      server, connection, lockLimit: connection.isInTransaction ? nil : lockLimit)
    if entries.isEmpty, server.features == .common { return nil }
    let found = try StoreMetadata(entries: entries, url: url)
    let wanted = try StoreVersionCheck(
      url: url, model: model, storeIndex: storeIndex, configurations: (settings.configuration, others)
    ).check(found, tables: names)
    let schema = SQLSchema(model, store: storeIndex, PostgresDialect())
    if let missing = schema.layouts.first(where: { !names.contains($0.name) }) {
      throw StoreError.damaged([url], reason: "the table '\(missing.name)' is missing")
    }
    var result = Found(storeID: found.storeID, schemas: schemas)
    result.lastMigration = entries[PostgresTables.lastMigrationKey]
    result.hasUnusedTables = try !SchemaRecord(entries[SchemaRecord.metadataKey], of: server.schema, url: url)
      .unused.isEmpty
    result.hasLease = entries[PostgresTables.leaseKey] != nil
    result.lacksIndexes = entries[PostgresTables.missingIndexesKey] != nil
    let isOld =
      try found.layoutHash != wanted.layoutHash || found.definitionHash != wanted.definitionHash
      || found.partVersions != wanted.partVersions || hasUselessIndex(schemas)
    result.isUpdateOptional = !isOld
    if try isOld || result.lacksIndexes && mustCreateIndexes() {
      result.wanted = wanted
      result.wanted?.createdBy = found.createdBy
      result.versionNumber = found.versionNumber
    }
    return result
  }

  /// Whether the opening creates indexes that were left out, because a pooler has no connection for a build. If another
  /// program builds them, the opening leaves that to it.
  private func mustCreateIndexes() throws -> Bool {
    guard server.isPooled, server.features == .postgresql, !settings.isReadOnly else { return false }
    let lock = try connection.run([IndexBuild.lock("pg_try_advisory_xact_lock", schema: server.schema)])
    return lock[0].rowCount == 1 && lock[0].bool(0, 0)
  }

  /// Whether there is an index for a `unique:` list that nothing can violate. Earlier releases created one over the other
  /// properties of the list, which refuses valid rows.
  private func hasUselessIndex(_ schemas: StoreSchemas) throws -> Bool {
    var (names, tables): ([String], [String]) = ([], [])
    for entity in model.entities where entity.storeIndex == storeIndex {
      for list in entity.description.uniquenessConstraints where entity.uniqueColumnNumbers(list).isEmpty {
        names.append(PostgresTables.name("\(entity.name).unique.\(list.joined(separator: "."))"))
        tables.append(entity.table)
      }
    }
    // Most models have no such list. Their stores are opened without a further query.
    if names.isEmpty { return false }
    let present = PresentTables(connection: connection, schema: schemas.tables)
    return try !present.indexes(of: tables).complete.isDisjoint(with: names)
  }

  func create() throws -> UUID {
    try PostgresTransfer.checkNames(model, store: storeIndex)
    let schema = SQLText.quoted(server.schema)
    try PostgresTransfer.createSchema(of: server, connection)
    _ = try connection.run("SET LOCAL search_path TO \(schema)")
    let storeID = UUID.random()
    let metadata = StoreMetadata.ofNewStore(model, storeID: storeID, store: storeIndex)
    let creation = PostgresTables.creation(of: model, store: storeIndex)
    _ = try connection.run(creation.map { PostgresStatement($0, isKept: false) })
    try PostgresTransfer.write(metadata.entries, of: server, connection)
    _ = try connection.run(
      #"INSERT INTO \#(systemTable("_cdgen_keys")) ("entity", "next") VALUES (?, 1)"#,
      [.value(.string(PostgresTables.historyKey))])
    return storeID
  }

  /// Creates and removes indexes to match the model, and updates the metadata.
  ///
  /// - Returns: Whether indexes of large tables were left out.
  private func update(to metadata: StoreMetadata, _ found: Found) throws -> Bool {
    let schema = SQLText.quoted(found.schemas.tables)
    let lock = #"SELECT 1 FROM \#(systemTable("_cdgen_metadata")) WHERE "key" = 'layoutHash' FOR UPDATE"#
    _ = try connection.run(
      [
        // An index takes as long as its table is large.
        PostgresTransfer.noStatementLimit,
        // Nobody else updates the store at the same time.
        PostgresStatement(lock),
        // While an index waits for a transaction that writes to its table, all others who write wait behind it.
        PostgresConnection.lockLimit(seconds: settings.busyTimeout),
      ], timeout: PostgresTransfer.longTimeout)
    // A migration to a schema beside may have ended before.
    _ = try inspect()
    let tables = PresentTables(connection: connection, schema: found.schemas.tables)
    let layout = SQLSchema(model, store: storeIndex, PostgresDialect())
    let wanted = PostgresTables.indexes(of: layout)
    let (present, invalid) = try tables.indexes(of: layout.layouts.map(\.name))
    _ = try connection.run("SET LOCAL search_path TO \(schema)")
    for name in present.union(invalid).sorted()
    where invalid.contains(name) || !wanted.contains(where: { $0.name == name }) {
      _ = try connection.run("DROP INDEX \(schema).\(SQLText.quoted(name))")
    }
    let missing = try MissingIndexes(
      layout.indexes.filter { !present.contains(PostgresTables.name($0.name)) }, tables, of: server)
    for known in missing.early {
      let index = (name: PostgresTables.name(known.name), sql: PostgresTables.creation(of: known))
      do {
        _ = try connection.run(
          [PostgresStatement("SAVEPOINT _cdgen_index"), PostgresStatement(index.sql)],
          timeout: PostgresTransfer.longTimeout)
      } catch {
        guard error.isUniquenessViolation else { throw error }
        _ = try connection.run("ROLLBACK TO SAVEPOINT _cdgen_index")
        throw try duplicate(known, error, metadata, found) ?? error
      }
    }
    _ = try connection.run(
      #"DELETE FROM \#(systemTable("_cdgen_metadata")) WHERE "key" = ?"#,
      [.value(.string(PostgresTables.missingIndexesKey))])
    var entries = metadata.entries
    if !missing.late.isEmpty { entries[PostgresTables.missingIndexesKey] = metadata.layoutHash }
    try PostgresTransfer.write(entries, of: server, connection)
    return !missing.late.isEmpty
  }

  /// Does the same if only indexes are missing that the store can do without: a user who may not create them, or who waits
  /// for a writer in vain, opens the store all the same.
  private func updateIfPossible(to metadata: StoreMetadata, _ found: Found) throws -> Bool {
    _ = try connection.run("SAVEPOINT _cdgen_late")
    do { return try update(to: metadata, found) } catch let failure as PostgresFailure
      where [UnusedTables.insufficientPrivilege, PostgresFailure.lockNotAvailable].contains(failure.code)
    {
      _ = try connection.run("ROLLBACK TO SAVEPOINT _cdgen_late")
      return true
    }
  }

  /// The error of rows that a new unique index refuses, with one of them; nil if the index was refused for another reason.
  private func duplicate(
    _ index: IndexLayout, _ failure: PostgresFailure, _ metadata: StoreMetadata, _ found: Found
  ) throws -> MigrationError? {
    guard failure.isUniquenessViolation,
      let (entity, properties) = model.uniqueConstraint(ofIndex: index.name)
    else { return nil }
    let key = try connection.run(
      model.equalRows(of: entity, properties, table: found.schemas.table(entity.table)))
    return MigrationError(
      url, .duplicate(properties: properties),
      step: MigrationError.Step(source: found.versionNumber, destination: metadata.versionNumber),
      entity: entity.name, objectKey: key.optionalInt(0, 0))
  }
}
