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

  /// The statement that excludes readers. Every reader locks the metadata before another table.
  var lock: String {
    "LOCK TABLE "
      + (PostgresTables.systemNames + Self.tables(old, 0)).map(own).joined(separator: ", ")
      + " IN ACCESS EXCLUSIVE MODE"
  }

  /// The statements that create the new tables, without rows.
  var creation: [String] {
    (isBeside ? ["CREATE SCHEMA \(SQLText.quoted(target))"] : [])
      + ["SET LOCAL search_path TO \(SQLText.quoted(target))"]
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
  var clearing: [String] {
    [
      "TRUNCATE \(own("_cdgen_metadata"))",
      #"DELETE FROM \#(own("_cdgen_keys")) WHERE "entity" <> "#
        + SQLText.literal(PostgresTables.historyKey),
    ]
  }

  /// All statements of a migration, for people. Those that write the metadata and the next keys are left out.
  private var all: [String] {
    [PostgresTables.migrationLock(schema: schema)] + creation + copies + constraints + [lock] + exchange
      + clearing
  }

  /// The statements of the migration of a store that holds all entities.
  fileprivate static func statements(_ old: ModelPlan, _ new: ModelPlan) -> [String] {
    TableReplacement(old: old, new: new, storeIndex: 0, schema: "store", target: "store_new").all
  }
}

extension PostgresServer {
  /// The statements with which a server executes the migration of a store, for `cdstore plan`.
  package static func migrationStatements(
    from old: ManagedObjectModel, to new: ManagedObjectModel
  ) throws -> [String] {
    TableReplacement.statements(
      try ModelPlan(ofAllEntitiesIn: old), try ModelPlan(ofAllEntitiesIn: new))
  }
}
