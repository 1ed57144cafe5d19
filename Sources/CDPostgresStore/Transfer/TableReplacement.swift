package import CDModel
import CDRuntime

/// The statements that replace the tables of a store's old version by those of a new one.
struct TableReplacement {
  let old: ModelPlan
  let new: ModelPlan
  /// The index of the store among those of the new version's plan.
  let storeIndex: Int
  /// The schema of the store.
  let schema: String
  /// The schema in which the new tables are created; the store's own if the old ones are dropped before.
  let target: String

  private var isBeside: Bool { target != schema }

  private func own(_ name: String) -> String { PostgresTables.systemTable(name, schema: schema) }

  private static func tables(_ model: ModelPlan, _ store: Int) -> [String] {
    SQLSchema(model, store: store, PostgresDialect()).layouts.map(\.name)
  }

  /// The names of the new tables.
  var names: [String] { Self.tables(new, storeIndex) }

  /// The statement that drops the old tables.
  var drop: String { Self.drop(old, schema: schema) }

  /// The statement that drops a version's tables.
  static func drop(_ model: ModelPlan, and others: [String] = [], schema: String) -> String {
    "DROP TABLE "
      + (tables(model, 0) + others).map { PostgresTables.systemTable($0, schema: schema) }.joined(
        separator: ", ")
  }

  /// The statements that drop a whole store, with the tables that are not in use.
  ///
  /// - Parameter record: What the metadata record about schemas beside.
  static func drop(_ model: ModelPlan, _ schemas: StoreSchemas, _ record: SchemaRecord) -> [String] {
    func all(_ names: [String], _ schema: String) -> [String] {
      names.map { PostgresTables.systemTable($0, schema: schema) }
    }
    let unused = record.others.sorted { $0.key < $1.key }.flatMap { all($0.value, $0.key) }
    var tables = all(tables(model, 0), schemas.tables) + all(PostgresTables.systemNames, schemas.own)
    if schemas.areTwo { tables.append(schemas.table("_cdgen_keys")) }
    return (unused.isEmpty ? [] : ["DROP TABLE IF EXISTS " + unused.joined(separator: ", ")])
      + ["DROP TABLE " + tables.joined(separator: ", ")]
  }

  /// The tables of a version that a migration locks. Every reader locks the metadata before another table.
  static func lockedTables(_ model: ModelPlan) -> [String] { PostgresTables.systemNames + tables(model, 0) }

  /// The statement that excludes readers of a table.
  static func lock(_ table: String, schema: String) -> String {
    "LOCK TABLE \(PostgresTables.systemTable(table, schema: schema)) IN ACCESS EXCLUSIVE MODE"
  }

  /// The query that has a row if a table of a version has one.
  static func anyRow(of model: ModelPlan, schema: String) -> String {
    tables(model, 0).map { "SELECT 1 FROM \(PostgresTables.systemTable($0, schema: schema))" }
      .joined(separator: " UNION ALL ") + " LIMIT 1"
  }

  /// The statements that create the new tables, without rows.
  var creation: [String] {
    (isBeside ? ["CREATE SCHEMA \(SQLText.quoted(target))"] : [])
      + [Self.search(target)]
      + PostgresTables.tables(of: new, store: storeIndex)
  }

  /// The statements that copy rows to the new tables.
  var copies: [String] {
    StoreTables(new, store: storeIndex).parts.compactMap {
      PostgresRowWriter.Table($0)?.copy(schema: target)
    }
  }

  /// The statements that add references and indexes to the new tables.
  var constraints: [String] { PostgresTables.constraints(of: new, store: storeIndex) }

  /// The statements that move the new tables to the store's schema.
  var exchange: [String] {
    if !isBeside { return [] }
    return [drop]
      + names.map {
        "ALTER TABLE \(PostgresTables.systemTable($0, schema: target)) SET SCHEMA \(SQLText.quoted(schema))"
      } + ["DROP SCHEMA \(SQLText.quoted(target))"]
  }

  /// The statements that remove the old version's entries. Transactions that have an older snapshot see an empty table of
  /// metadata after this, and not the former rows.
  static func clearing(schema: String) -> [String] {
    [
      "TRUNCATE \(PostgresTables.systemTable("_cdgen_metadata", schema: schema))",
      #"DELETE FROM \#(PostgresTables.systemTable("_cdgen_keys", schema: schema)) WHERE "entity" <> "#
        + SQLText.literal(PostgresTables.historyKey),
    ]
  }

  /// The statement that makes the schema of the store the first one in which names are looked up.
  static func search(_ schema: String) -> String { "SET LOCAL search_path TO \(SQLText.quoted(schema))" }

  private var locks: [String] { Self.lockedTables(old).map { Self.lock($0, schema: schema) } }

  /// All statements of a migration, for people. Those that write the metadata and the next keys are left out.
  private var all: [String] {
    [PostgresTables.migrationLock(schema: schema)] + creation + copies + constraints + locks + exchange
      + Self.clearing(schema: schema)
  }

  /// The schema of the store in statements for people.
  private static let exampleSchema = "store"

  /// The statements of a migration that leaves the rows in the tables of a store that holds all entities.
  fileprivate static func statements(_ migration: TableMigration, _ old: ModelPlan) -> [String] {
    let alteration = TableAlteration(
      migration.steps, migration.steps.first.map { TableNames(of: $0.old) } ?? TableNames())
    return [PostgresTables.migrationLock(schema: exampleSchema)]
      + lockedTables(old).map { lock($0, schema: exampleSchema) } + [search(exampleSchema)]
      + alteration.statements.flatMap(\.self) + alteration.missingIndexes.map(PostgresTables.creation)
      + clearing(schema: exampleSchema)
  }

  /// The statements of the migration of a store that holds all entities.
  fileprivate static func statements(_ old: ModelPlan, _ new: ModelPlan) -> [String] {
    TableReplacement(old: old, new: new, storeIndex: 0, schema: exampleSchema, target: "store_new").all
  }
}

extension PostgresServer {
  /// The statements with which a server executes the migration of a store, for `cdstore plan`.
  package static func migrationStatements(
    from old: ManagedObjectModel, to new: ManagedObjectModel
  ) throws -> [String] {
    let plan = try ModelPlan(ofAllEntitiesIn: old)
    if let migration = try TableMigration(from: old, to: new, PostgresDialect()) {
      return TableReplacement.statements(migration, plan)
    }
    return TableReplacement.statements(plan, try ModelPlan(ofAllEntitiesIn: new))
  }
}
