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
      let connection = try openToRead(url, rollsBack: rollsBack, busyTimeout: 0).0
      try connection.execute("BEGIN")
      // The first read is what begins the transaction.
      _ = try connection.scalar("SELECT 1 FROM sqlite_master LIMIT 1")
      return connection
    }
  }

  /// A connection that only reads, and by what others open the same file so.
  ///
  /// - Parameter rollsBack: Whether what a program that was killed has left of a transaction may be rolled back, as
  ///   any writer does. Otherwise such a store is not opened.
  static func openToRead(_ url: URL, rollsBack: Bool = true, busyTimeout: Double = 10) throws
    -> (SQLiteConnection, path: String)
  {
    let path = url.path(percentEncoded: false)
    guard FileManager.default.fileExists(atPath: path) else {
      throw StoreError.cannotCreate(
        url, reason: Disk.hindrance(of: url, toWrite: false) ?? "it is to be read, and is not there")
    }
    let uri = url.absoluteURL.absoluteString
    do {
      let connection = try SQLiteConnection(path: uri + "?mode=ro", of: [url], busyTimeout: busyTimeout)
      connection.limitScans(ofFiles: [path])
      // The first read is what finds out whether the folder lets SQLite do its bookkeeping.
      _ = try connection.scalar("SELECT 1 FROM sqlite_master LIMIT 1")
      return (connection, uri + "?mode=ro")
    } catch let error as StoreError where error.isHinderedJournal {
      // What such a transaction has changed already is in the file, and only the journal says what it was.
      if (Disk.size(path + "-journal") ?? 0) > 0 {
        guard rollsBack, let writer = try? SQLiteConnection(path: path, of: [url]),
          (try? writer.scalar("SELECT 1 FROM sqlite_master LIMIT 1")) != nil
        else {
          throw StoreError.cannotCreate(
            url,
            reason: "a transaction that was interrupted is to be rolled back; open it once to be written to")
        }
        return try openToRead(url, rollsBack: false, busyTimeout: busyTimeout)
      }
      // Where nothing can be written beside the file, nobody else writes to it either. What a writer has left in
      // its journal could not be read this way, and an old state is worse than none.
      if (Disk.size(path + "-wal") ?? 0) > 0 {
        throw StoreError.cannotCreate(
          url,
          reason:
            "its journal cannot be read where nothing can be written; open it once in a folder that can be")
      }
      let connection = try SQLiteConnection(path: uri + "?immutable=1", of: [url])
      connection.limitScans(ofFiles: [path])
      return (connection, uri + "?immutable=1")
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

extension SQLiteConnection {
  /// The path of a database in memory that other connections open by the same name.
  static func memoryPath(_ name: String = UUID.random().uuidString) -> String {
    "file:/cdgen-\(name)?vfs=memdb"
  }

  /// A database in memory. Others open it by the same path.
  static func inMemory(_ path: String, of url: URL) throws -> SQLiteConnection {
    let connection = try SQLiteConnection(path: path, of: [url])
    // SQLite's own limit is a thousand million bytes; the machine has one of its own.
    var limit: Int64 = 1 << 40
    sqlite3_file_control(connection.handle, "main", SQLITE_FCNTL_SIZE_LIMIT, &limit)
    return connection
  }
}
