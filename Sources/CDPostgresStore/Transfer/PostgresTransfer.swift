import CDModel
import CDRuntime

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension PostgresServer {
  /// The schema with the tables of the store; nil if they are in the store's own schema.
  package func schemaBeside() throws -> String? { try PostgresTransfer(server: self).schemaBeside() }
}

/// Reads and writes whole stores on a server, for copies.
struct PostgresTransfer: StoreTransfer {
  let server: PostgresServer

  /// How many seconds a statement on all rows of a table may take.
  static let longTimeout: Double = 24 * 3600

  private var url: URL { server.url }

  // MARK: Reading

  func exists() throws -> Bool {
    try withTransaction("READ ONLY", toWrite: false) { try !Self.tables(of: server, $0, url: url).isEmpty }
  }

  func read<R>(_ body: (StoredTables) throws -> R) throws -> R {
    var attempt = 0
    while true {
      attempt += 1
      let result = try withTransaction("ISOLATION LEVEL REPEATABLE READ, READ ONLY", toWrite: false) {
        connection -> R? in
        guard let found = try find(connection, .newest) else { throw Self.missing(url) }
        // A migration that has ended since the snapshot has truncated the metadata.
        if !found.hasMetadata, attempt < Self.mostAttempts { return nil }
        return try body(found.tables)
      }
      if let result { return result }
    }
  }

  /// The most attempts to read a store that others migrate, one after the other.
  private static let mostAttempts = 5

  fileprivate func schemaBeside() throws -> String? {
    try withTransaction("READ ONLY", toWrite: false) { connection in
      if try Self.tables(of: server, connection, url: url).isEmpty { return nil }
      let schemas = try Self.inspect(server, connection).schemas
      return schemas.areTwo ? schemas.tables : nil
    }
  }

  /// The rows of the store, its schemas and what its metadata record about others; nil if there is no store.
  private func find(
    _ connection: PostgresConnection, _ history: PostgresRows.History
  ) throws -> (tables: StoredTables, schemas: StoreSchemas, record: SchemaRecord, hasMetadata: Bool)? {
    if try Self.tables(of: server, connection, url: url).isEmpty { return nil }
    let (entries, schemas, names) = try Self.inspect(server, connection)
    let rows = PostgresRows(connection, schemas: schemas, history: history, url: url)
    return (
      StoredTables(rows, names: names, url: url), schemas,
      try SchemaRecord(entries[SchemaRecord.metadataKey], of: server.schema, url: url), !entries.isEmpty
    )
  }

  /// The error of a store that is only to be read, and does not exist.
  static func missing(_ url: URL) -> StoreError {
    .cannotCreate(url, reason: "the schema has no store, and the store is opened read-only")
  }

  // MARK: Writing

  func create(_ contents: StoreContents, of model: ModelPlan) throws {
    if server.features == .common { return try createWithCommonFeatures(contents, of: model) }
    try withTransaction("ISOLATION LEVEL READ COMMITTED, READ WRITE", toWrite: true) { connection in
      guard try Self.tables(of: server, connection, url: url).isEmpty else {
        throw StoreError.cannotCreate(url, reason: "the schema already has tables; it was not changed")
      }
      try Self.checkNames(model, store: 0)
      try Self.createSchema(of: server, connection)
      _ = try connection.run("SET LOCAL search_path TO \(SQLText.quoted(server.schema))")
      try run(PostgresTables.systemTables + PostgresTables.tables(of: model, store: 0), connection)
      let writer = PostgresRowWriter(connection: connection, schema: server.schema)
      let parts = StoreTables(model, store: 0).parts
      try writer.copyObjects(of: contents, parts)
      try writer.copyHistory(of: contents, parts)
      try run(PostgresTables.constraints(of: model, store: 0), connection)
      try writeSystem(contents, parts, writer, connection)
      try PostgresViews(model, store: 0, schemas: StoreSchemas(server.schema)).create(connection)
    }
  }

  /// Writes the metadata and the next keys.
  private func writeSystem(
    _ contents: StoreContents, _ parts: [StoreTables.Part], _ writer: PostgresRowWriter,
    _ connection: PostgresConnection
  ) throws {
    var keys = try writer.keys(of: contents, parts)
    if keys[PostgresTables.historyKey] == nil { keys[PostgresTables.historyKey] = 1 }
    try Self.write(keys, schema: server.schema, connection)
    try Self.write(contents.storedEntries, of: server, connection, replacing: false)
  }

  /// Creates the tables, each by itself, and then writes all rows in one transaction. The metadata are among them, without
  /// which there is no store.
  private func createWithCommonFeatures(_ contents: StoreContents, of model: ModelPlan) throws {
    try withoutTransaction(toWrite: true) { connection in
      guard try Self.existingTables(of: server, connection).isEmpty else {
        throw StoreError.cannotCreate(url, reason: "the schema already has tables; it was not changed")
      }
      try Self.checkNames(model, store: 0)
      try Self.createSchema(of: server, connection)
      let creation = PostgresTables.repeatableCreation(
        of: SQLSchema(model, store: 0, PostgresDialect()), schema: server.schema)
      for text in creation.tables + creation.indexes { try run([text], connection) }
    }
    do {
      try withTransaction("ISOLATION LEVEL READ COMMITTED, READ WRITE", toWrite: true) { connection in
        let writer = PostgresRowWriter(connection: connection, schema: server.schema)
        let parts = StoreTables(model, store: 0).parts
        // First, so that another creation of a store in these tables waits for this one.
        do { try writeSystem(contents, parts, writer, connection) } catch let failure as PostgresFailure
          where failure.isUniquenessViolation
        {
          throw StoreError.cannotCreate(
            url, reason: "another program has created a store in the schema meanwhile; it was not changed")
        }
        try writer.copyObjects(of: contents, parts)
        try writer.copyHistory(of: contents, parts)
      }
    } catch {
      try? withoutTransaction(toWrite: true) { try dropTables(of: model, $0) }
      throw error
    }
  }

  /// Drops the tables of a copy that has failed, unless another program has created its store in them.
  private func dropTables(of model: ModelPlan, _ connection: PostgresConnection) throws {
    // Empty tables without metadata are no store. The next creation would find them.
    let metadata = PostgresTables.systemTable("_cdgen_metadata", schema: server.schema)
    guard try connection.run("SELECT 1 FROM \(metadata) LIMIT 1").rowCount == 0 else { return }
    try run(
      [TableReplacement.drop(model, and: PostgresTables.systemNames, schema: server.schema)], connection)
  }

  func remove() throws { try remove(onlyIfEmpty: false) }

  func removeIfEmpty() throws {
    // Tables that are dropped one by one cannot all be locked until the end.
    if server.features != .common { try remove(onlyIfEmpty: true) }
  }

  private func remove(onlyIfEmpty: Bool) throws {
    var attempt = 0
    while true {
      do { return try removeOnce(onlyIfEmpty) } catch StoreError.engine(_, let reason)
        where reason.code == PostgresFailure.deadlock && attempt < 5
      {
        // A migration has read or written the same tables.
        attempt += 1
        Waiting.pause(attempt)
      }
    }
  }

  private func removeOnce(_ onlyIfEmpty: Bool) throws {
    if server.features == .common {
      let found = try withTransaction("READ ONLY", toWrite: true) { connection in
        try find(connection, .bounds).map { (try $0.tables.plan(), $0.schemas, $0.record) }
      }
      guard let (plan, schemas, record) = found else { return }
      try withoutTransaction(toWrite: true) { connection in
        try PostgresViews.drop(schema: server.schema, connection)
        for text in TableReplacement.drop(plan, schemas, record) { try run([text], connection) }
        try dropSchemas(schemas, record, connection)
      }
      return
    }
    let found = try withTransaction("ISOLATION LEVEL READ COMMITTED, READ WRITE", toWrite: true) {
      connection -> (StoreSchemas, SchemaRecord)? in
      if onlyIfEmpty {
        if try Self.tables(of: server, connection, url: url).isEmpty { return nil }
        // First, so that no migration replaces the tables that are looked at.
        try run([TableReplacement.lock("_cdgen_metadata", schema: server.schema)], connection)
      }
      guard let found = try find(connection, .bounds) else { return nil }
      let plan = try found.tables.plan()
      if onlyIfEmpty, try !lockIfEmpty(plan, found.schemas, connection) { return nil }
      try PostgresViews.drop(schema: server.schema, connection)
      try run(TableReplacement.drop(plan, found.schemas, found.record), connection)
      return (found.schemas, found.record)
    }
    guard let (schemas, record) = found, schemas.areTwo || !record.others.isEmpty else { return }
    // Another program may have put something into one of the schemas.
    try withoutTransaction(toWrite: true) { try dropSchemas(schemas, record, $0) }
  }

  /// Locks the tables of a store until the transaction ends, and returns whether they have no rows.
  ///
  /// The lock waits for transactions that have inserted rows. The rows are visible afterwards.
  private func lockIfEmpty(
    _ plan: ModelPlan, _ schemas: StoreSchemas, _ connection: PostgresConnection
  ) throws -> Bool {
    // Another program has migrated the store. So it is in use.
    if schemas.areTwo { return false }
    try run(
      TableReplacement.lockedTables(plan).map { TableReplacement.lock($0, schema: schemas.own) }, connection)
    return try connection.run(TableReplacement.anyRow(of: plan, schema: schemas.own)).rowCount == 0
  }

  /// Drops the empty schemas beside the store's own one.
  private func dropSchemas(
    _ schemas: StoreSchemas, _ record: SchemaRecord, _ connection: PostgresConnection
  ) throws {
    for schema in Set(record.others.keys).union([schemas.tables]).sorted() where schema != schemas.own {
      try UnusedTables.dropSchema(schema, connection)
    }
  }

  private func run(_ list: [String], _ connection: PostgresConnection) throws {
    _ = try connection.run(
      list.map { PostgresStatement($0, isKept: false) }, timeout: Self.longTimeout)
  }

  private func withTransaction<R>(
    _ mode: String, toWrite: Bool, _ body: (PostgresConnection) throws -> R
  ) throws -> R {
    try withoutTransaction(toWrite: toWrite) { connection in
      let limit = PostgresConnection.lockLimit(seconds: server.statementLimit)
      _ = try connection.run([PostgresStatement("BEGIN \(mode)"), limit] + Self.longLimits)
      let result = try body(connection)
      try Self.commit(connection)
      return result
    }
  }

  /// Runs a body with a connection, on which each group of statements is a transaction.
  private func withoutTransaction<R>(
    toWrite: Bool, _ body: (PostgresConnection) throws -> R
  ) throws -> R {
    try Self.checkSchema(of: server)
    do {
      let connection = try PostgresConnection.open(server, toWrite: toWrite)
      defer { connection.close() }
      return try body(connection)
    } catch let failure as PostgresFailure {
      throw failure.error(of: [url], during: "copying the store")
    } catch let value as PostgresRowWriter.Unstorable {
      let object = value.key.map { " of the object \($0)" } ?? ""
      throw StoreError.cannotCreate(
        url,
        reason: "the value of '\(value.entity).\(value.property)'\(object) cannot be written: \(value.reason)"
      )
    }
  }

  // MARK: Plans

  func statements(_ plan: (any SQLDialect) -> TableMigration?) throws -> [[String]]? {
    guard server.features != .common, let migration = plan(PostgresDialect()) else { return nil }
    return try withTransaction("ISOLATION LEVEL REPEATABLE READ, READ ONLY", toWrite: false) { connection in
      let present = PresentTables(connection: connection, schema: server.schema)
      guard let first = migration.steps.first, try present.isVersion(first.old) else { return nil }
      let alteration = TableAlteration(migration.steps, try present.names(of: first.old))
      var statements = alteration.statements
      let missing = try late(alteration.missingIndexes, migration, present)
      statements[statements.count - 1] +=
        missing.early.map(PostgresTables.creation)
        + missing.late.map { PostgresTables.concurrentCreation(of: $0, schema: server.schema) }
      return statements
    }
  }

  /// Divides the missing indexes by the size of their tables, which may still have other names.
  private func late(
    _ indexes: [IndexLayout], _ migration: TableMigration, _ present: PresentTables
  ) throws -> MissingIndexes {
    var large = server.keepsSessions ? try present.largeTables(server.largeTableSize) : []
    for step in migration.steps {
      large = Set(step.changed.filter { large.contains($0.old.name) }.map(\.new.name))
    }
    return MissingIndexes(indexes, large: large)
  }

  // MARK: Shared with opening and migration

  /// The statement that lifts the limit of single statements until the transaction ends.
  static let noStatementLimit = PostgresStatement("SET LOCAL statement_timeout = 0")

  /// The statements that lift the limits of the session until the transaction ends.
  static let longLimits = [
    noStatementLimit,
    PostgresStatement("SET LOCAL idle_in_transaction_session_timeout = 0"),
  ]

  static func commit(_ connection: PostgresConnection) throws {
    let result = try connection.run([PostgresStatement("COMMIT")], timeout: longTimeout).last
    // A failed transaction is rolled back instead.
    guard result?.command == "COMMIT" else {
      throw PostgresFailure(code: "25P02", message: "the server rolled the transaction back")
    }
  }

  /// The names of the tables in a schema; none if the schema is empty or does not exist.
  ///
  /// - Throws: ``StoreError/foreignDatabase(_:)`` if they are no store.
  static func tables(
    of server: PostgresServer, _ connection: PostgresConnection, url: URL
  ) throws -> Set<String> {
    let names = try existingTables(of: server, connection)
    if names.isEmpty { return [] }
    guard names.isSuperset(of: PostgresTables.systemNames) else {
      throw try foreign(server, connection, url)
    }
    return names
  }

  /// The error of a schema whose tables are no store.
  static func foreign(
    _ server: PostgresServer, _ connection: PostgresConnection, _ url: URL
  ) throws -> StoreError {
    guard let owner = try SchemaOwner(connection: connection).owner(of: server.schema) else {
      return .foreignDatabase(url)
    }
    return .tablesOfOtherStore(url, schema: owner)
  }

  /// The names of all tables and views in a schema.
  static func existingTables(
    of server: PostgresServer, _ connection: PostgresConnection
  ) throws -> Set<String> {
    let tables = try connection.run(PostgresTables.listing, [.value(.string(server.schema))])
    return Set((0..<tables.rowCount).compactMap { tables.string($0, 0) })
  }

  static func createSchema(of server: PostgresServer, _ connection: PostgresConnection) throws {
    try createSchema(server.schema, connection)
  }

  static func createSchema(_ name: String, _ connection: PostgresConnection) throws {
    let exists = try connection.run(
      "SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = ?", [.value(.string(name))])
    // Without the check, a user who may not create schemas could not use one that exists.
    if exists.rowCount == 0 {
      _ = try connection.run("CREATE SCHEMA IF NOT EXISTS \(SQLText.quoted(name))")
    }
  }

  /// Reads the metadata of a store, and finds its tables.
  ///
  /// - Parameter lockLimit: How many seconds to wait for a migration that changes the tables; nil within a transaction, which
  ///   has a limit of its own.
  /// - Returns: The entries, the schemas, and the names of the tables, without those of former versions in the store's own
  ///   schema.
  static func inspect(
    _ server: PostgresServer, _ connection: PostgresConnection, lockLimit: Double? = nil
  ) throws -> (entries: [String: String], schemas: StoreSchemas, names: Set<String>) {
    func names(_ result: PostgresResult) -> Set<String> {
      Set((0..<result.rowCount).compactMap { result.string($0, 0) })
    }
    let metadata = PostgresTables.systemTable("_cdgen_metadata", schema: server.schema)
    let limit = lockLimit.map { [PostgresConnection.lockLimitWithoutBegin(seconds: $0)] } ?? []
    let statements = [
      PostgresStatement(#"SELECT "key", "value" FROM \#(metadata)"#),
      // The first statement may have waited for a migration, which has replaced the tables.
      PostgresStatement(PostgresTables.listing, [.value(.string(server.schema))]),
    ]
    while true {
      let results: [PostgresResult]
      do { results = try Array(connection.run(limit + statements).suffix(2)) } catch {
        guard error.isOfStatementLimit, error.statement == limit.count else { throw error }
        throw StoreError.busy([server.url])
      }
      let entries = PostgresSession.entries(results[0])
      let schemas = StoreSchemas(server.schema, entries: entries)
      if server.features == .postgresql, !schemas.areTwo { return (entries, schemas, names(results[1])) }
      // A migration to a schema beside locks no tables. It may have ended before the tables were listed.
      let second = try connection.run([
        PostgresStatement(PostgresTables.listing, [.value(.string(schemas.tables))]),
        PostgresStatement(StoreSchemas.pointer(of: server.schema)),
      ])
      guard (second[1].rowCount > 0 ? second[1].string(0, 0) : nil) == entries[StoreSchemas.metadataKey]
      else { continue }
      return (entries, schemas, names(second[0]).union(schemas.areTwo ? PostgresTables.systemNames : []))
    }
  }

  /// Refuses a schema whose name PostgreSQL would cut: it would be created, and never found again.
  static func checkSchema(of server: PostgresServer) throws {
    guard server.schema.utf8.count > PostgresTables.longestName else { return }
    throw StoreError.notSupported(
      "the schema '\(server.schema)', whose name has more than \(PostgresTables.longestName) bytes")
  }

  /// Refuses names that PostgreSQL would cut.
  static func checkNames(_ model: ModelPlan, store: Int) throws {
    try checkNames(SQLSchema(model, store: store, PostgresDialect()).layouts)
  }

  static func checkNames(_ tables: [TableLayout]) throws {
    guard let name = PostgresTables.tooLongName(in: tables) else { return }
    throw StoreError.notSupported(
      "the name '\(name)', which has more than \(PostgresTables.longestName) bytes")
  }

  /// Refuses defaults of other types than the columns have. A model made in Swift can have them, and the server would take
  /// the bytes of one number for those of another.
  static func checkDefaults(_ model: ModelPlan, store: Int) throws {
    for entity in model.entities where entity.storeIndex == store {
      for slot in entity.slots where slot.isStored {
        guard case .value(let value)? = slot.attribute?.defaultValue else { continue }
        var values = [value]
        if case .composite(_, let fields) = slot.kind, case .composite(let parts) = value {
          values = fields.map { parts[$0.description.name] ?? .null }
        }
        for (value, column) in zip(values, slot.columns) {
          guard let type = value.storageType,
            PostgresType(type) != PostgresType(entity.columns[column].storageType)
          else { continue }
          throw StoreError.notSupported(
            "the default of '\(entity.name).\(slot.name)', which has another type than the attribute")
        }
      }
    }
  }

  /// Writes entries of the metadata.
  ///
  /// - Parameter replacing: Whether existing entries with these keys are replaced. Otherwise they are an error.
  static func write(
    _ entries: [String: String], of server: PostgresServer, _ connection: PostgresConnection,
    replacing: Bool = true
  ) throws {
    let entries = entries.sorted { $0.key < $1.key }
    let table = PostgresTables.systemTable("_cdgen_metadata", schema: server.schema)
    _ = try connection.run(
      #"INSERT INTO \#(table) ("key", "value") "#
        + "SELECT k, v FROM unnest(CAST(? AS text[]), CAST(? AS text[])) AS u(k, v)"
        + (replacing ? #" ON CONFLICT ("key") DO UPDATE SET "value" = excluded."value""# : ""),
      [.array(entries.map { .string($0.key) }, .text), .array(entries.map { .string($0.value) }, .text)])
  }

  /// Writes next keys.
  static func write(
    _ keys: [String: Int64], schema: String, _ connection: PostgresConnection
  ) throws {
    let keys = keys.sorted { $0.key < $1.key }
    let table = PostgresTables.systemTable("_cdgen_keys", schema: schema)
    _ = try connection.run(
      #"INSERT INTO \#(table) ("entity", "next") "#
        + "SELECT k, n FROM unnest(CAST(? AS text[]), CAST(? AS bigint[])) AS u(k, n)",
      [.array(keys.map { .string($0.key) }, .text), .keys(keys.map(\.value))])
  }
}

extension StoreContents {
  /// The metadata's entries that a store on a server keeps.
  var storedEntries: [String: String] {
    metadata.filter { $0.key != StoreBuilder.entitiesKey && $0.key != "pendingBackup" }
  }
}
