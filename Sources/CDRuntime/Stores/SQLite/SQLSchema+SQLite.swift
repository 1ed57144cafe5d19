// What only SQLite's stores have.
extension SQLSchema {
  /// The tables and indexes of a store of SQLite.
  init(_ model: ModelPlan, store: Int?) { self.init(model, store: store, .sqlite) }

  /// The tables that each store has.
  static let systemTables = [
    "CREATE TABLE \"_cdgen_metadata\" (\"key\" TEXT NOT NULL PRIMARY KEY, \"value\" TEXT NOT NULL) "
      + "STRICT, WITHOUT ROWID",
    "CREATE TABLE \"_cdgen_keys\" (\"entity\" TEXT NOT NULL PRIMARY KEY, \"next\" INTEGER NOT NULL) "
      + "STRICT, WITHOUT ROWID",
    "CREATE TABLE \"_cdgen_history\" (\"id\" INTEGER PRIMARY KEY AUTOINCREMENT, \"time\" REAL NOT NULL, "
      + "\"origin\" TEXT NOT NULL, \"author\" TEXT, \"changes\" TEXT NOT NULL) STRICT",
    "CREATE TABLE \"_cdgen_files\" (\"name\" TEXT NOT NULL PRIMARY KEY, \"time\" REAL NOT NULL) "
      + "STRICT, WITHOUT ROWID",
  ]

  /// Returns the statements that create a temporary table for each table of the model outside the given stores.
  static func tables(outside stores: Set<Int>, of model: ModelPlan) -> [String] {
    let storeIndices = Set(model.entities.map(\.storeIndex)).filter { index in
      index.map { !stores.contains($0) } ?? true
    }
    return storeIndices.flatMap { SQLSchema(model, store: $0).layouts.map { $0.sql(schema: "temp") } }
  }

  /// Returns whether a database has exactly these tables and indexes. The order of the columns does not matter, nor do
  /// defaults for rows that are older than a column.
  @_optimize(none)
  func isSame(as connection: SQLiteConnection) throws -> Bool {
    let model = try SQLiteConnection(path: ":memory:", of: connection.stores)
    for sql in Self.systemTables + tables + indexes.map(\.sql) { try model.execute(sql) }
    for query in Self.queries {
      guard try Set(model.rows(query)) == Set(connection.rows(query)) else { return false }
    }
    // SQLite has no table that lists CHECK constraints.
    let definitions = try connection.rows("SELECT name, sql FROM sqlite_master WHERE type = 'table'")
    return layouts.allSatisfy { layout in
      let sql = definitions.first { $0[0] == layout.name }?[1] ?? ""
      let start = layout.constraints.isEmpty ? ") " : ", " + layout.constraints.joined(separator: ", ") + ") "
      return sql.hasSuffix(start + layout.options)
    }
  }

  /// Queries for the contents of a schema, without SQLite's internal objects.
  private static let queries = [
    "SELECT name, sql FROM sqlite_master WHERE type <> 'table' AND sql IS NOT NULL",
    """
    SELECT m.name, c.name, c.type, c."notnull", c.pk, c.hidden
    FROM sqlite_master AS m, pragma_table_xinfo(m.name) AS c
    WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite|_%' ESCAPE '|'
    """,
    """
    SELECT m.name, k."from", k."table", k."to", k.on_update, k.on_delete, k."match"
    FROM sqlite_master AS m, pragma_foreign_key_list(m.name) AS k
    WHERE m.type = 'table'
    """,
  ]
}
