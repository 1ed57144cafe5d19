import CDRuntime

/// Finds the store that has its tables in a schema beside its own one.
struct SchemaOwner {
  let connection: PostgresConnection

  /// Returns the store's own schema; nil if the schema belongs to no store that the user may read.
  ///
  /// - Parameter schema: A schema without metadata.
  func owner(of schema: String) throws -> String? {
    // The end of a long name may be cut.
    let start = 40
    for own in try candidates()
    where own != schema && schema.utf8.starts(with: own.utf8.prefix(start))
      && StoreSchemas.isSchema(schema, of: own)
    {
      let table = PostgresTables.systemTable("_cdgen_metadata", schema: own)
      let entries = try connection.run(#"SELECT "key", "value" FROM \#(table)"#)
      let found = PostgresSession.entries(entries)
      if StoreSchemas(own, entries: found).tables == schema { return own }
      let record = try SchemaRecord(found[SchemaRecord.metadataKey], of: own, url: EmptyValue.url)
      if record.others[schema] != nil { return own }
    }
    return nil
  }

  /// The schemas of all stores whose metadata the user may read.
  private func candidates() throws -> [String] {
    let result = try connection.run(
      "SELECT CAST(n.nspname AS text) FROM pg_catalog.pg_class AS c "
        + "JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace WHERE c.relname = '_cdgen_metadata' "
        + "AND pg_catalog.has_schema_privilege(n.oid, 'USAGE') "
        + "AND pg_catalog.has_table_privilege(c.oid, 'SELECT') ORDER BY 1", [])
    return (0..<result.rowCount).compactMap { result.string($0, 0) }
  }
}
