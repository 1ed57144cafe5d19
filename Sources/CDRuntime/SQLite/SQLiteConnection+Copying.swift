import CSQLite

extension SQLiteConnection {
  /// Copies the main database over that of another connection, page by page.
  ///
  /// Not by the file: to close a file that was opened beside SQLite gives up the locks that SQLite has on it.
  ///
  /// - Parameters:
  ///   - pages: How many pages are copied between two calls of `pause`; all by default. Where others may write in
  ///     between, a pause makes the copy begin anew.
  ///   - pause: May throw to end the copy.
  func copy(to target: SQLiteConnection, pages: Int32 = -1, pause: () throws -> Void = {}) throws {
    guard let backup = sqlite3_backup_init(target.handle, "main", handle, "main") else {
      throw StoreError(target.handle, of: stores, during: "copying the store")
    }
    defer { sqlite3_backup_finish(backup) }
    while true {
      let code = sqlite3_backup_step(backup, pages)
      if code == SQLITE_DONE { return }
      guard code == SQLITE_OK else {
        throw StoreError(
          code: code, message: String(cString: sqlite3_errstr(code)), of: stores,
          during: "copying the store")
      }
      try pause()
    }
  }
}
