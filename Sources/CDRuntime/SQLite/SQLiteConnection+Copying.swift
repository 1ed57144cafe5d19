import CSQLite

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension SQLiteConnection {
  /// A connection to a store that reads one state of it, whoever writes or migrates meanwhile.
  ///
  /// - Parameter rollsBack: Whether what a program that was killed has left of a transaction may be rolled back.
  static func reading(_ url: URL, rollsBack: Bool = true) throws -> SQLiteConnection {
    try FolderLock.whileBusy(url, timeout: 10) {
      try DatabaseFile.checkHeader(of: url)
      let connection = try SQLiteStore.openToRead(url, rollsBack: rollsBack, busyTimeout: 0).0
      try connection.execute("BEGIN")
      // The first read is what begins the transaction.
      _ = try connection.scalar("SELECT 1 FROM sqlite_master LIMIT 1")
      return connection
    }
  }

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
