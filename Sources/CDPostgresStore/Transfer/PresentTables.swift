import CDRuntime

/// The indexes that a migration leaves out, because they are built later.
struct MissingIndexes {
  /// The indexes that are created at once.
  let early: [IndexLayout]
  /// The indexes that are built while programs use their tables.
  let late: [IndexLayout]

  /// - Parameter large: The tables that are large.
  init(_ indexes: [IndexLayout], large: Set<String>) {
    late = indexes.filter { !$0.isUnique && large.contains($0.table) }
    early = indexes.filter { $0.isUnique || !large.contains($0.table) }
  }

  init(_ indexes: [IndexLayout], _ present: PresentTables, of server: PostgresServer) throws(PostgresFailure)
  {
    // A pooler has no connection of its own for a build.
    let large = server.keepsSessions && !indexes.isEmpty ? try present.largeTables(server.largeTableSize) : []
    self.init(indexes, large: large)
  }
}

/// What the database's catalog says of the tables of a store.
struct PresentTables {
  let connection: PostgresConnection
  /// The name of the schema.
  let schema: String

  private func rows(_ text: String) throws(PostgresFailure) -> [[String]] {
    SchemaCheck.rows(try connection.run(text, [.value(.string(schema))]))
  }

  /// Whether the tables have exactly the columns and references of a version.
  func isVersion(_ version: SQLSchema) throws -> Bool {
    let check = SchemaCheck(version, schema) { try connection.run($0, $1) }
    guard try check.columnDefects().isEmpty, try check.referenceDefects().isEmpty else { return false }
    let count = try connection.run(PostgresTables.countOfReferences, [.value(.string(schema))]).int(0, 0)
    return count == version.layouts.flatMap(PostgresTables.references).count
  }

  /// The names of indexes and constraints of a version's tables.
  func names(of version: SQLSchema) throws(PostgresFailure) -> TableNames {
    var names = TableNames()
    (names.indexes, names.invalidIndexes) = try indexes(of: version.layouts.map(\.name))
    let constraints = try rows(
      """
      SELECT CAST(c.relname AS text), CAST(k.conname AS text), CAST(k.contype AS text)
      FROM pg_catalog.pg_constraint AS k JOIN pg_catalog.pg_class AS c ON c.oid = k.conrelid
      JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
      WHERE n.nspname = ? AND k.contype IN ('p', 'f', 'c') ORDER BY 1, 2
      """)
    for row in constraints { names.add(row[1], isCheck: row[2] == "c", of: row[0]) }
    return names
  }

  /// The indexes of tables, without those of primary keys and constraints, which belong to their tables. The schema may have
  /// tables of other programs, whose indexes are their own.
  ///
  /// - Returns: Those that are complete, and those whose creation was interrupted.
  func indexes(
    of tables: [String]
  ) throws(PostgresFailure) -> (complete: Set<String>, invalid: Set<String>) {
    // An empty list would be an error of syntax.
    if tables.isEmpty { return ([], []) }
    let list = tables.map { SQLText.literal($0) }.joined(separator: ", ")
    let found = try rows(
      """
      SELECT CAST(c.relname AS text), CAST(i.indisvalid AS text) FROM pg_catalog.pg_index AS i
      JOIN pg_catalog.pg_class AS c ON c.oid = i.indexrelid
      JOIN pg_catalog.pg_class AS t ON t.oid = i.indrelid
      JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
      WHERE n.nspname = ? AND t.relname IN (\(list)) AND NOT EXISTS (
        SELECT 1 FROM pg_catalog.pg_constraint AS k WHERE k.conindid = c.oid AND k.contype <> 'f')
      """)
    return (
      Set(found.filter { $0[1] == "true" }.map { $0[0] }), Set(found.filter { $0[1] != "true" }.map { $0[0] })
    )
  }

  /// The statements that give new tables of the same names the owners and the privileges that the tables have now. An
  /// owner to whom the user may not give a table gets all privileges instead. So does one whose rights the user lacks, because
  /// the user could not grant the privileges afterwards.
  ///
  /// - Parameters:
  ///   - target: The schema of the new tables, which exists. Its privileges decide who can own them.
  ///   - tables: The new tables. Privileges on columns that they lack are left out.
  ///   - others: The names of new tables of the runtime.
  func rights(
    in target: String, to tables: [TableLayout], and others: [String] = []
  ) throws(PostgresFailure) -> [String] {
    let name = "CAST(\(SQLText.literal(target)) AS text)"
    // Before version 16, each member of a role may give it a table.
    let membership = connection.serverVersion >= 160_000 ? "SET" : "MEMBER"
    let found = SchemaCheck.rows(
      try connection.run(
        """
        SELECT CAST(c.relname AS text), '', pg_catalog.format(CASE WHEN r.rolsuper
            OR pg_catalog.pg_has_role(c.relowner, 'USAGE')
            AND pg_catalog.pg_has_role(c.relowner, '\(membership)')
            AND pg_catalog.has_schema_privilege(c.relowner, \(name), 'CREATE')
          THEN 'ALTER TABLE %I.%I OWNER TO %I' ELSE 'GRANT ALL ON %I.%I TO %I' END,
          \(name), c.relname, pg_catalog.pg_get_userbyid(c.relowner))
        FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
        JOIN pg_catalog.pg_roles AS r ON r.rolname = current_user
        WHERE n.nspname = ? AND c.relkind = 'r' AND pg_catalog.pg_get_userbyid(c.relowner) <> current_user
        UNION ALL
        \(PostgresTables.grants(onRelations: "c.relkind = 'r'", in: name))
        """, [.value(.string(schema)), .value(.string(schema))]))
    return found.filter { right in
      if others.contains(right[0]) { return true }
      guard let table = tables.first(where: { $0.name == right[0] }) else { return false }
      return right[1].isEmpty || table.columns.contains { $0.name == right[1] }
    }.map { $0[2] }
  }

  /// The first table that has row level security, in alphabetical order; nil if there is none.
  ///
  /// - Parameter tables: The names of the store's tables. The schema may have tables of other programs.
  func tableWithRowSecurity(among tables: [String]) throws(PostgresFailure) -> String? {
    let found = try rows(
      """
      SELECT CAST(c.relname AS text) FROM pg_catalog.pg_class AS c
      JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
      WHERE n.nspname = ? AND c.relrowsecurity ORDER BY 1
      """)
    return found.map { $0[0] }.first { tables.contains($0) }
  }

  /// The statements that give others the privileges to another schema that they have to this one.
  func rightsToSchema(_ target: String) throws(PostgresFailure) -> [String] {
    let found = try rows(
      """
      SELECT pg_catalog.format('GRANT %s ON SCHEMA %I TO %s', a.privilege_type,
        CAST(\(SQLText.literal(target)) AS text),
        CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(a.grantee)) END)
      FROM pg_catalog.pg_namespace AS n,
        pg_catalog.aclexplode(coalesce(n.nspacl, pg_catalog.acldefault('n', n.nspowner))) AS a
      WHERE n.nspname = ? AND pg_catalog.pg_get_userbyid(a.grantee) <> current_user
      """)
    return found.map { $0[0] }
  }

  /// The tables that have at least a number of bytes.
  func largeTables(_ size: Int64) throws(PostgresFailure) -> Set<String> {
    let found = try rows(
      """
      SELECT CAST(c.relname AS text) FROM pg_catalog.pg_class AS c
      JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
      WHERE n.nspname = ? AND c.relkind = 'r' AND pg_catalog.pg_relation_size(c.oid) >= \(size)
      """)
    return Set(found.map { $0[0] })
  }
}
