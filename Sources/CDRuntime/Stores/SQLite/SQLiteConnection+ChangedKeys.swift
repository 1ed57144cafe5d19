import CSQLite

extension SQLiteConnection {
  /// The operation of a statement on rows.
  enum RowChange {
    case update, delete

    fileprivate var code: Int32 { self == .update ? SQLITE_UPDATE : SQLITE_DELETE }
  }

  /// The keys that SQLite's update hook collects.
  private struct Collected {
    let code: Int32
    let table: UnsafePointer<CChar>
    var keys = KeyRanges()
  }

  /// Runs a statement, whose parameters are bound, to its end. Returns the keys of the rows that it changes.
  ///
  /// SQLite calls the hook for each row. This costs a tenth of a RETURNING clause, which keeps all rows until the last
  /// one has been changed. The statement must have a condition, because SQLite empties a whole table without looking at
  /// its rows.
  ///
  /// - Parameter table: The statement's table. Rows of other tables that foreign keys change are not included.
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
