import CSQLite

extension SQLiteConnection {
  /// What a statement does to rows.
  enum RowChange {
    case update, delete

    fileprivate var code: Int32 { self == .update ? SQLITE_UPDATE : SQLITE_DELETE }
  }

  /// What SQLite tells of every row that it changes.
  private struct Collected {
    let code: Int32
    let table: UnsafePointer<CChar>
    var keys = KeyRanges()
  }

  /// Runs a statement, whose parameters are bound, to its end, and gives the keys of the rows that it changes.
  ///
  /// SQLite calls for each row, which costs a tenth of what RETURNING does: that keeps all rows until the last one has
  /// been changed. The statement has a condition, for SQLite empties a table without a look at its rows.
  ///
  /// - Parameter table: The statement's table. What foreign keys do to rows of others is not among the keys.
  func keysChanged(
    by statement: SQLiteStatement, _ change: RowChange, inTable table: String
  ) throws -> KeyRanges {
    try table.withCString { table in
      var collected = Collected(code: change.code, table: table)
      try withUnsafeMutablePointer(to: &collected) { collected in
        sqlite3_update_hook(
          handle,
          { collected, code, _, table, key in
            guard let collected = collected?.assumingMemoryBound(to: Collected.self),
              code == collected.pointee.code, sqlite3_stricmp(table, collected.pointee.table) == 0
            else { return }
            collected.pointee.keys.append(key)
          }, collected)
        defer { sqlite3_update_hook(handle, nil, nil) }
        try statement.run()
      }
      return collected.keys
    }
  }
}
