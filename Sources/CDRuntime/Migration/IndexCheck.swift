/// Removes the indexes of a store that do not have all rows of their tables, before a migration reads it.
///
/// SQLite chooses rows by an index wherever that is faster, and does not notice it if the index lacks some of them: a
/// migration would leave those rows behind. A damaged disk, another program or somebody's intention makes such an index.
/// Whoever opens or migrates the store makes the model's indexes anew where they are missing.
///
/// To compare what each entry says takes longer than to migrate. To count the entries takes some hundredths of that.
struct IndexCheck {
  /// Has the store's lock, and its transaction.
  let session: MigrationSession
  /// The tables whose rows are read.
  let tables: Set<String>
  /// The texts of the indexes that the model has, by their names.
  let expected: [String: String]

  /// - Returns: Whether an index was removed. The transaction is to be committed then, and the store read again.
  func run() throws -> Bool {
    var isChanged = false
    for table in tables.sorted() {
      // Others may have made indexes too, and SQLite uses them for our statements.
      let indexes = try session.rows(
        "SELECT l.name, l.partial, m.sql FROM pragma_index_list(\(SQLite.literal(table))) AS l "
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
            try count(table, "INDEXED BY \(SQLite.quoted(name)) WHERE \(condition)")
              == count(table, "NOT INDEXED WHERE \(condition)")
          } else if index[1] == "0" {
            // Without a condition SQLite would count the entries of whatever index is the smallest.
            try count(table, "INDEXED BY \(SQLite.quoted(name)) WHERE 1") == rows
          } else {
            false
          }
        if isWhole { continue }
        try session.execute("DROP INDEX \(SQLite.quoted(name))")
        isChanged = true
      }
    }
    return isChanged
  }

  /// The condition of an index that has some rows only; nil for one that is not the model's: its condition is not to be
  /// trusted.
  private func condition(ofIndex name: String, _ sql: String?) -> Substring? {
    guard let sql, expected[name] == sql, let range = sql.firstRange(of: ") WHERE ") else { return nil }
    return sql[range.upperBound...]
  }

  private func count(_ table: String, _ rest: String) throws -> Int64 {
    try session.number("SELECT count(*) FROM \(SQLite.quoted(table)) \(rest)")
  }
}
