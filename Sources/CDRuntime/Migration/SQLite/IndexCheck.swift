/// Removes the indexes of a store that lack rows of their tables, before a migration reads the store.
///
/// SQLite chooses rows by an index if that is faster, and does not notice that the index lacks some of them. A
/// migration would lose those rows. A damaged disk or another program, by mistake or on purpose, can leave such an
/// index. The model's missing indexes are created again when the store is opened or migrated.
///
/// Comparing the contents of each entry takes longer than the migration itself. Counting the entries takes only a few
/// hundredths of that time.
struct IndexCheck {
  /// A session that has the store's lock and an open transaction.
  let session: MigrationSession
  /// The tables that the migration reads.
  let tables: Set<String>
  /// The SQL texts of the model's indexes, by their names.
  let expected: [String: String]

  /// - Returns: Whether an index was removed. If so, the caller must commit the transaction and read the store again.
  @_optimize(none)
  func run() throws -> Bool {
    var isChanged = false
    for table in tables.ordered() {
      // Other programs may have created indexes too, and SQLite uses them for our statements.
      let indexes = try session.rows(
        "SELECT l.name, l.partial, m.sql FROM pragma_index_list(\(SQLText.literal(table))) AS l "
          + "JOIN main.sqlite_master AS m ON m.type = 'index' AND m.name = l.name WHERE l.origin = 'c' ORDER BY l.name"
      )
      guard !indexes.isEmpty else { continue }
      let rows = try count(table, "NOT INDEXED")
      for index in indexes {
        guard let name = index[0] else { continue }
        var condition: Substring?
        if index[1] == "1" { condition = self.condition(ofIndex: name, index[2]) }
        let isWhole =
          if let condition {
            try count(table, "INDEXED BY \(SQLText.quoted(name)) WHERE \(condition)")
              == count(table, "NOT INDEXED WHERE \(condition)")
          } else if index[1] == "0" {
            // Without a `WHERE` clause SQLite would count the entries of its smallest index instead.
            try count(table, "INDEXED BY \(SQLText.quoted(name)) WHERE 1") == rows
          } else {
            false
          }
        if isWhole { continue }
        try session.execute("DROP INDEX \(SQLText.quoted(name))")
        isChanged = true
      }
    }
    return isChanged
  }

  /// The condition of a partial index; nil if the index is not one of the model's, because its condition cannot be
  /// trusted.
  @_optimize(none)
  private func condition(ofIndex name: String, _ sql: String?) -> Substring? {
    guard let sql, expected[name] == sql, let range = sql.firstRange(of: ") WHERE ") else { return nil }
    return sql[range.upperBound...]
  }

  @_optimize(none)
  private func count(_ table: String, _ rest: String) throws -> Int64 {
    try session.number("SELECT count(*) FROM \(SQLText.quoted(table)) \(rest)")
  }
}

extension StoreMigration {
  /// Removes the indexes that lack rows of the tables that the migration reads.
  ///
  /// - Parameter session: A session with an open transaction.
  /// - Returns: Whether an index was removed.
  @_optimize(none)
  func checkIndexes(_ plans: [StepPlan], _ session: MigrationSession) throws -> Bool {
    guard let source = plans.first?.source else { return false }
    let schema = SQLSchema(source, store: 0)
    let names =
      inPlaceSteps(plans)?.flatMap { $0.changes.filter(\.isTouched).map(\.old.name) }
      ?? schema.layouts.map(\.name)
    let expected = Dictionary(schema.indexes.map { ($0.name, $0.sql) }) { first, _ in first }
    return try IndexCheck(session: session, tables: Set(names), expected: expected).run()
  }
}
