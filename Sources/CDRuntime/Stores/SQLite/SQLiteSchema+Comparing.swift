extension SQLiteSchema {
  /// Whether a database has just these tables and indexes, whatever the order of the columns and the stand-ins for
  /// rows that are older than a column.
  func isSame(as connection: SQLiteConnection) throws -> Bool {
    let model = try SQLiteConnection(path: ":memory:", of: connection.stores)
    for sql in Self.systemTables + tables + indexes.map(\.sql) { try model.execute(sql) }
    for query in Self.queries {
      guard try Set(model.rows(query)) == Set(connection.rows(query)) else { return false }
    }
    // Checks have no table of their own to be asked.
    let definitions = try connection.rows("SELECT name, sql FROM sqlite_master WHERE type = 'table'")
    return layouts.allSatisfy { layout in
      let sql = definitions.first { $0[0] == layout.name }?[1] ?? ""
      let start = layout.constraints.isEmpty ? ") " : ", " + layout.constraints.joined(separator: ", ") + ") "
      return sql.hasSuffix(start + layout.options)
    }
  }

  /// What there is, but for what SQLite keeps for itself.
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
