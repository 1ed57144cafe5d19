import CDModel
import CDRuntime

/// The tables of a coordinator's stores on a server.
struct PostgresTables: Sendable {
  /// The SQL of the stores' tables.
  let dialect: PostgresDialect
  /// The schemas of each store, by the store's index.
  private let schemas: [Int: StoreSchemas]
  /// The properties of each unique index, by its name in the database.
  private let uniqueProperties: [String: [String]]

  /// - Parameter schemas: The schemas of each store, by the store's index. The tables of entities in no store read as
  ///   empty.
  /// - Parameter others: The tables that are in stores of other engines.
  init(_ model: ModelPlan, schemas: [Int: StoreSchemas], others: Set<String>) {
    self.schemas = schemas
    var tables: [String: String] = [:]
    var properties: [String: [String]] = [:]
    for index in Set(model.entities.map(\.storeIndex)) {
      let layout = SQLSchema(model, store: index, PostgresDialect())
      let schema = index.flatMap { schemas[$0] }
      for table in layout.layouts {
        tables[table.name] =
          schema.map { $0.table(table.name) } ?? Self.empty(table)
      }
    }
    for entity in model.entities {
      for list in entity.description.uniquenessConstraints {
        properties[Self.name("\(entity.name).unique.\(list.joined(separator: "."))")] = list
      }
      let table = model.entities[entity.root].table
      for column in entity.columns where column.isReference {
        properties[Self.name("\(table).\(column.name)")] = [entity.slots[column.slot].name]
      }
    }
    dialect = PostgresDialect(tables: tables, others: others)
    uniqueProperties = properties
  }

  /// A table without rows.
  private static func empty(_ table: TableLayout) -> String {
    let columns = table.columns.map { column in
      // A cast has no collation.
      let type = column.type.prefix { $0 != " " } == "text" ? "text" : column.type
      return "CAST(NULL AS \(type)) AS \(SQLText.quoted(column.name))"
    }
    return "(SELECT \(columns.joined(separator: ", ")) LIMIT 0)"
  }

  // MARK: Names

  /// The greatest number of bytes of a name. PostgreSQL cuts what is longer.
  static let longestName = 63

  /// The name of an index in the database: a long name is cut, with a checksum at its end.
  static func name(_ name: String) -> String {
    guard name.utf8.count > longestName else { return name }
    var start = ""
    for character in name {
      guard start.utf8.count + character.utf8.count <= longestName - 17 else { break }
      start.append(character)
    }
    return start + "~" + checksum(name)
  }

  /// A text's checksum, of 16 characters.
  static func checksum(_ text: String) -> String {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    let digits = String(hash, radix: 16)
    return String(repeating: "0", count: 16 - digits.utf8.count) + digits
  }

  /// The properties of the unique index that refused a row; empty for another index.
  func properties(ofIndex name: String?) -> [String] { name.flatMap { uniqueProperties[$0] } ?? [] }

  /// The schemas of a store.
  func schemas(of store: any AttachedStore) -> StoreSchemas { schemas[store.index] ?? StoreSchemas("") }

  /// A table of the runtime in a store's schemas.
  func systemTable(_ name: String, of store: any AttachedStore) -> String {
    schemas(of: store).table(name)
  }

  static func systemTable(_ name: String, schema: String) -> String {
    SQLText.quoted(schema) + "." + SQLText.quoted(name)
  }

  // MARK: Locks

  // Whoever writes rows locks the history before anything else, in a mode that does not exclude other writers. So a
  // migration that locks it exclusively waits for all who write, and they wait for it without holding other locks.

  /// The statement that a transaction begins with if it writes rows.
  static func writeLock(schema: String) -> String {
    "LOCK TABLE \(systemTable("_cdgen_history", schema: schema)) IN ROW SHARE MODE"
  }

  /// The same for common features: PostgreSQL locks the table in the same mode, although no row is wanted. Without this
  /// statement, a writer would read the metadata first and then wait for the history. A migration that waits for all
  /// readers of the metadata would have to wait until the writer gives up.
  static func commonWriteLock(schema: String) -> String {
    #"SELECT "id" FROM \#(systemTable("_cdgen_history", schema: schema)) WHERE false FOR UPDATE"#
  }

  /// The statement that excludes all who write rows.
  static func migrationLock(schema: String) -> String {
    "LOCK TABLE \(systemTable("_cdgen_history", schema: schema)) IN EXCLUSIVE MODE"
  }

  /// The statement that locks the counter of saves, without which nothing is committed. It finds one row.
  static func counterLock(_ schemas: StoreSchemas) -> String {
    #"SELECT "next" FROM \#(schemas.table("_cdgen_keys")) WHERE "entity" = \#(SQLText.literal(historyKey)) FOR UPDATE"#
  }

  // MARK: Creation

  /// The names of the runtime's own tables, which each store has.
  static let systemNames = ["_cdgen_metadata", "_cdgen_keys", "_cdgen_history"]

  /// The statement that lists the privileges of other users than the owner on relations of a schema, which is its parameter:
  /// the relation, the column if the privilege is only on one, and the statement that grants it.
  ///
  /// - Parameters:
  ///   - condition: A condition on the relations `c` of the server's catalog.
  ///   - target: The expression for the schema of the relations that get the privileges.
  static func grants(onRelations condition: String, in target: String = "n.nspname") -> String {
    """
    SELECT CAST(c.relname AS text), CAST(a.attname AS text), pg_catalog.format('GRANT %s%s ON %I.%I TO %s%s',
      a.privilege_type, CASE WHEN a.attname <> '' THEN pg_catalog.format(' (%I)', a.attname) END, \(target),
      c.relname, CASE a.grantee WHEN 0 THEN 'PUBLIC'
        ELSE pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(a.grantee)) END,
      CASE WHEN a.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END)
    FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace, LATERAL (
      SELECT '' AS attname, t.* FROM pg_catalog.aclexplode(c.relacl) AS t
      UNION ALL
      SELECT k.attname, t.* FROM pg_catalog.pg_attribute AS k, pg_catalog.aclexplode(k.attacl) AS t
      WHERE k.attrelid = c.oid AND NOT k.attisdropped) AS a
    WHERE n.nspname = ? AND \(condition) AND a.grantee <> c.relowner
    """
  }

  /// The statement that lists the names of all tables and views in a schema, which is its parameter. The store's own
  /// views are left out: see ``PostgresViews``.
  static let listing =
    "SELECT CAST(c.relname AS text) FROM pg_catalog.pg_class AS c "
    + "JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace "
    + "WHERE n.nspname = ? AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND (\(PostgresViews.isOwn)) IS NOT TRUE ORDER BY 1"

  /// The statements that create the runtime's own tables.
  static let systemTables = [
    #"CREATE TABLE "_cdgen_metadata" ("key" text COLLATE "C" PRIMARY KEY, "value" text NOT NULL)"#,
    keysTable,
    #"CREATE TABLE "_cdgen_history" ("id" bigint PRIMARY KEY, "save" uuid NOT NULL UNIQUE, "#
      + #""time" double precision NOT NULL, "origin" text NOT NULL, "author" text, "changes" text NOT NULL)"#,
  ]

  private static let keysTable =
    #"CREATE TABLE "_cdgen_keys" ("entity" text COLLATE "C" PRIMARY KEY, "next" bigint NOT NULL)"#

  /// The row of `_cdgen_keys` that counts the saves in the history.
  static let historyKey = "_cdgen_history"

  /// The key of the entry of the metadata that says that indexes are still missing. Its value is the hash of the layout that
  /// has them.
  static let missingIndexesKey = "missingIndexes"

  /// The key of the entry of the metadata that has the lease of a migration.
  static let leaseKey = "migrationLease"

  /// The key of the entry of the metadata that has an identifier of the last migration. Programs that have opened the store
  /// before find out by it that the store has been migrated.
  static let lastMigrationKey = "lastMigration"

  /// The keys of the entries of the metadata that only stores on a server have, and that belong to no other copy.
  static let ownMetadataKeys = [
    leaseKey, missingIndexesKey, lastMigrationKey, StoreSchemas.metadataKey, SchemaRecord.metadataKey,
  ]

  /// The statements that create a store's tables in the schema that is searched first.
  static func creation(of model: ModelPlan, store: Int) -> [String] {
    systemTables + tables(of: model, store: store) + constraints(of: model, store: store)
  }

  /// The statements that create the tables and then the indexes of a store without foreign keys, each by itself: it does
  /// nothing if the table or index exists.
  static func repeatableCreation(
    of layout: SQLSchema, schema: String
  ) -> (tables: [String], indexes: [String]) {
    (
      (systemTables + layout.layouts.map(table)).map { repeatable($0, schema: schema) },
      indexes(of: layout).map { repeatable($0.sql, schema: schema) }
    )
  }

  /// The statements that create the tables and indexes of a migration to a schema beside the store's own one.
  static func creationBeside(of model: ModelPlan, store: Int, schema: String) -> [String] {
    let layout = SQLSchema(model, store: store, PostgresDialect())
    return ([keysTable] + layout.layouts.map(table) + indexes(of: layout).map(\.sql)).map {
      // A table that is there already is another program's.
      qualified($0, schema: schema, unlessItExists: "")
    }
  }

  /// Makes a statement that creates a table or an index in a schema, unless it exists.
  static func repeatable(_ creation: String, schema: String) -> String {
    qualified(creation, schema: schema, unlessItExists: "IF NOT EXISTS ")
  }

  private static func qualified(
    _ creation: String, schema: String, unlessItExists condition: String
  ) -> String {
    let schema = SQLText.quoted(schema) + "."
    for start in ["CREATE TABLE ", "CREATE UNIQUE INDEX ", "CREATE INDEX "] where creation.hasPrefix(start) {
      let rest = creation.dropFirst(start.count)
      if start == "CREATE TABLE " { return start + condition + schema + rest }
      // An index is in the schema of its table, whose name is after the word ON.
      let name = rest.prefix(quotedEnd(rest))
      return start + condition + name + " ON " + schema + rest.dropFirst(name.count + " ON ".count)
    }
    return creation
  }

  /// The number of characters of the quoted name at the start of a text.
  private static func quotedEnd(_ text: Substring) -> Int {
    var isInside = false
    for (offset, character) in text.enumerated() {
      if character == "\"" { isInside.toggle() } else if !isInside { return offset }
    }
    return text.count
  }

  /// The number of foreign keys of a store.
  static func referenceCount(of model: ModelPlan, store: Int) -> Int {
    SQLSchema(model, store: store, PostgresDialect()).layouts.flatMap(references).count
  }

  /// The statement that counts the foreign keys of a schema, its parameter, that are checked at the end of transactions.
  static let countOfReferences =
    "SELECT count(*) FROM pg_catalog.pg_constraint AS k JOIN pg_catalog.pg_namespace AS n "
    + "ON n.oid = k.connamespace WHERE n.nspname = ? AND k.contype = 'f' AND k.condeferrable"

  /// The statements that create the tables of a model's entities and relationships.
  static func tables(of model: ModelPlan, store: Int) -> [String] {
    SQLSchema(model, store: store, PostgresDialect()).layouts.map(table)
  }

  /// The statements that add the references and indexes to the tables, which may already have rows.
  static func constraints(of model: ModelPlan, store: Int) -> [String] {
    let schema = SQLSchema(model, store: store, PostgresDialect())
    return indexes(of: schema).map(\.sql) + schema.layouts.flatMap(references)
  }

  static func table(_ layout: TableLayout) -> String {
    let columns = layout.columns.map { column in
      var column = column
      column.reference = nil
      return column.sql
    }
    return "CREATE TABLE \(SQLText.quoted(layout.name)) ("
      + (columns + layout.constraints).joined(separator: ", ") + ")"
  }

  /// The statements that add a table's references. Tables may refer to each other, so that all of them must exist.
  static func references(of layout: TableLayout) -> [String] {
    layout.columns.compactMap { column in
      column.reference.map {
        "ALTER TABLE \(SQLText.quoted(layout.name)) ADD FOREIGN KEY (\(SQLText.quoted(column.name))) "
          + "REFERENCES \(SQLText.quoted($0.table)) (\"_pk\")\($0.action) DEFERRABLE INITIALLY DEFERRED"
      }
    }
  }

  /// The indexes of a schema, with their names in the database.
  static func indexes(of schema: SQLSchema) -> [(name: String, sql: String)] {
    schema.indexes.map { (name($0.name), creation(of: $0)) }
  }

  /// The statement that creates an index, with its name in the database.
  static func creation(of index: IndexLayout) -> String {
    IndexLayout(
      name: name(index.name), table: index.table, columns: index.columns, isUnique: index.isUnique,
      condition: index.condition
    ).sql
  }

  /// The statement that creates an index of a schema while programs use its table.
  static func concurrentCreation(of index: IndexLayout, schema: String) -> String {
    let start = "CREATE INDEX "
    let rest = repeatable(creation(of: index), schema: schema).dropFirst((start + "IF NOT EXISTS ").count)
    return start + "CONCURRENTLY " + rest
  }

  /// The first name of tables or columns that PostgreSQL would cut; nil if there is none.
  static func tooLongName(in tables: [TableLayout]) -> String? {
    for table in tables {
      for name in [table.name] + table.columns.map(\.name) where name.utf8.count > longestName { return name }
    }
    return nil
  }
}
