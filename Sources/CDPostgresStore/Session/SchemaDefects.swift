import CDModel
import CDRuntime

// Checks that the tables of a store are those of its model. SQLite checks its own file instead.
extension PostgresSession {
  func schemaDefects(of store: any AttachedStore) throws -> [StoreFinding] {
    let schemas = link.tables.schemas(of: store)
    let schema = SQLSchema(model, store: store.index, PostgresDialect())
    let check = SchemaCheck(schema, schemas.tables) { [self] in try run($0, $1) }
    let lacksIndexes = try run(
      #"SELECT 1 FROM \#(systemTable("_cdgen_metadata", of: store)) WHERE "key" = ?"#,
      [.value(.string(PostgresTables.missingIndexesKey))])
    return try check.columnDefects() + check.indexDefects(onlyUnique: lacksIndexes.rowCount > 0)
      + check.referenceDefects()
      + foreignObjects(schema, schemas, of: store) + counterDefects(of: store)
  }

  private func rows(_ text: String, _ schema: String) throws -> [[String]] {
    SchemaCheck.rows(try run(text, [.value(.string(schema))]))
  }

  /// Finds tables and triggers of other programs.
  private func foreignObjects(
    _ schema: SQLSchema, _ schemas: StoreSchemas, of store: any AttachedStore
  ) throws -> [StoreFinding] {
    let own = schema.layouts.map(\.name) + PostgresTables.systemNames
    if !schemas.areTwo { return try foreignObjects(schemas.own, Set(own)) }
    // Tables of former versions may wait for their end.
    let record = try run(
      #"SELECT "value" FROM \#(schemas.table("_cdgen_metadata")) WHERE "key" = ?"#,
      [.value(.string(SchemaRecord.metadataKey))])
    let unused = try SchemaRecord(
      record.rowCount > 0 ? record.string(0, 0) : nil, of: schemas.own, url: store.url
    ).unused
    return try foreignObjects(schemas.tables, Set(own))
      + foreignObjects(schemas.own, Set(PostgresTables.systemNames + (unused[schemas.own] ?? [])))
  }

  private func foreignObjects(_ name: String, _ own: Set<String>) throws -> [StoreFinding] {
    let tables = try rows(PostgresTables.listing, name)
    let triggers = try rows(
      "SELECT CAST(t.tgname AS text) FROM pg_catalog.pg_trigger AS t "
        + "JOIN pg_catalog.pg_class AS c ON c.oid = t.tgrelid "
        + "JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace "
        + "WHERE n.nspname = ? AND NOT t.tgisinternal ORDER BY 1", name)
    return tables.filter { !own.contains($0[0]) }.map { .foreignObject("the table or view '\($0[0])'") }
      + triggers.map { .foreignObject("the trigger '\($0[0])'") }
  }

  /// Checks that the next number of the history is greater than all that are used.
  private func counterDefects(of store: any AttachedStore) throws -> [StoreFinding] {
    let result = try run(
      #"SELECT coalesce((SELECT "next" FROM \#(systemTable("_cdgen_keys", of: store)) WHERE "entity" = ?), 0) "#
        + #"BETWEEN 1 + greatest(0, coalesce(max("id"), 0)) AND \#(KeyRanges.largestKey) "#
        + #"FROM \#(systemTable("_cdgen_history", of: store))"#,
      [.value(.string(PostgresTables.historyKey))])
    return result.bool(0, 0) ? [] : [.damaged("the counter of _cdgen_history is not a valid number of saves")]
  }
}

/// Compares the tables of a schema with those of a model.
struct SchemaCheck {
  private let schema: SQLSchema
  private let name: String
  private let run: (String, [PostgresParameter]) throws -> PostgresResult

  /// - Parameters:
  ///   - schema: The tables and indexes that are expected.
  ///   - name: The name of the schema.
  ///   - run: Runs a statement.
  init(
    _ schema: SQLSchema, _ name: String,
    _ run: @escaping (String, [PostgresParameter]) throws -> PostgresResult
  ) {
    self.schema = schema
    self.name = name
    self.run = run
  }

  private func rows(_ text: String) throws -> [[String]] { Self.rows(try run(text, [.value(.string(name))])) }

  static func rows(_ result: PostgresResult) -> [[String]] {
    (0..<result.rowCount).map { row in
      (0..<result.columnCount).map { result.string(row, $0) ?? "" }
    }
  }

  func columnDefects() throws -> [StoreFinding] {
    let found = Set(
      try rows(
        """
        SELECT CAST(c.relname AS text), CAST(a.attname AS text), pg_catalog.format_type(a.atttypid, a.atttypmod),
          CASE WHEN a.attnotnull THEN 'NOT NULL' ELSE '' END, coalesce(CAST(l.collname AS text), '')
        FROM pg_catalog.pg_attribute AS a JOIN pg_catalog.pg_class AS c ON c.oid = a.attrelid
        JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
        LEFT JOIN pg_catalog.pg_collation AS l ON l.oid = a.attcollation
        WHERE n.nspname = ? AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped
        """))
    var expected: Set<[String]> = []
    for table in schema.layouts {
      for column in table.columns {
        let isText = column.type.hasPrefix("text")
        let isMandatory = column.isNotNull || !column.key.isEmpty
        expected.insert([
          table.name, column.name, isText ? "text" : column.type, isMandatory ? "NOT NULL" : "",
          isText ? "C" : "",
        ])
      }
    }
    let own = Set(schema.layouts.map(\.name))
    let missing = expected.subtracting(found).sorted { $0.lexicographicallyPrecedes($1) }
    let named = Set(expected.map { Array($0.prefix(2)) })
    let foreign = found.filter { own.contains($0[0]) && !named.contains(Array($0.prefix(2))) }
    return missing.map {
      .damaged("the column '\($0[0]).\($0[1])' is missing, or is not declared as the model wants")
    }
      + foreign.sorted { $0.lexicographicallyPrecedes($1) }.map {
        .foreignObject("the column '\($0[0]).\($0[1])'")
      }
  }

  /// - Parameter onlyUnique: Whether other indexes may still be missing.
  func indexDefects(onlyUnique: Bool) throws -> [StoreFinding] {
    let found = try rows(
      """
      SELECT CAST(c.relname AS text), CASE WHEN i.indisunique THEN 'unique' ELSE '' END
      FROM pg_catalog.pg_index AS i JOIN pg_catalog.pg_class AS c ON c.oid = i.indexrelid
      JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace WHERE n.nspname = ? AND i.indisvalid
      """)
    let kinds = Dictionary(found.map { ($0[0], $0[1]) }, uniquingKeysWith: { first, _ in first })
    return schema.indexes.filter { $0.isUnique || !onlyUnique }.compactMap { index in
      let name = PostgresTables.name(index.name)
      if kinds[name] == (index.isUnique ? "unique" : "") { return nil }
      return .damaged("the index '\(name)' is missing or not valid")
    }
  }

  func referenceDefects() throws -> [StoreFinding] {
    let found = Set(
      try rows(
        """
        SELECT CAST(c.relname AS text), CAST(a.attname AS text), CAST(d.relname AS text)
        FROM pg_catalog.pg_constraint AS k JOIN pg_catalog.pg_class AS c ON c.oid = k.conrelid
        JOIN pg_catalog.pg_class AS d ON d.oid = k.confrelid
        JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
        JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = k.conkey[1]
        WHERE n.nspname = ? AND k.contype = 'f' AND k.convalidated
        """))
    // The program checks the references of a store without foreign keys.
    if found.isEmpty { return [] }
    return schema.layouts.flatMap { table in
      table.columns.compactMap { column in
        guard let reference = column.reference, !found.contains([table.name, column.name, reference.table])
        else { return nil }
        return .damaged("the foreign key of '\(table.name).\(column.name)' is missing or not valid")
      }
    }
  }
}
