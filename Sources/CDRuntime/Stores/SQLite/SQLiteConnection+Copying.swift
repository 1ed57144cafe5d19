import CSQLite

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension SQLiteConnection {
  /// Opens a connection that reads one snapshot of a store, even if others write to the store or migrate it at the same
  /// time.
  ///
  /// - Parameter rollsBack: Whether an interrupted transaction of a killed program may be rolled back.
  /// - Throws: ``StoreError/severalNames(_:count:)``, because the log may be beside another name of the file.
  static func reading(_ url: URL, rollsBack: Bool = true) throws -> SQLiteConnection {
    try FolderLock.whileBusy(url, timeout: 10) {
      try DatabaseFile.checkHeader(of: url)
      try MigrationFiles(url).checkNames()
      let connection = try openToRead(url, rollsBack: rollsBack, busyTimeout: 0).0
      try connection.execute("BEGIN")
      // The transaction begins only with the first read.
      _ = try connection.scalar("SELECT 1 FROM sqlite_master LIMIT 1")
      return connection
    }
  }

  /// Opens a connection for reading only, and returns the path by which other connections can open the same file in
  /// this way.
  ///
  /// - Parameter rollsBack: Whether an interrupted transaction of a killed program may be rolled back, as any writer
  ///   does. Otherwise, such a store is not opened.
  @_optimize(none)
  static func openToRead(_ url: URL, rollsBack: Bool = true, busyTimeout: Double = 10) throws
    -> (SQLiteConnection, path: String)
  {
    let path = url.path(percentEncoded: false)
    guard FileManager.default.fileExists(atPath: path) else {
      throw StoreError.cannotCreate(
        url,
        reason: Disk.accessProblem(of: url, toWrite: false)
          ?? "the file does not exist, and the store is opened read-only")
    }
    let uri = url.absoluteURL.absoluteString
    do {
      let connection = try SQLiteConnection(path: uri + "?mode=ro", of: [url], busyTimeout: busyTimeout)
      connection.limitScans(ofFiles: [path])
      do {
        // Only the first read shows whether the folder allows the files that SQLite needs.
        _ = try connection.scalar("SELECT 1 FROM sqlite_master LIMIT 1")
      } catch StoreError.notWritable
        where SeemingRollback.isReported(by: connection.handle) && (Disk.size(path + "-journal") ?? 0) == 0
      {
        // The journal belonged to a transaction of another program, which has ended meanwhile.
        throw StoreError.busy([url])
      }
      return (connection, uri + "?mode=ro")
    } catch let error as StoreError where error.isUnwritableJournal {
      // The interrupted transaction has already changed the file. Only the journal has the old contents.
      if (Disk.size(path + "-journal") ?? 0) > 0 {
        guard rollsBack, let writer = try? SQLiteConnection(path: path, of: [url]),
          (try? writer.scalar("SELECT 1 FROM sqlite_master LIMIT 1")) != nil
        else {
          throw StoreError.cannotCreate(
            url,
            reason: "an interrupted transaction must be rolled back; open the store once for writing")
        }
        return try openToRead(url, rollsBack: false, busyTimeout: busyTimeout)
      }
      // Without files beside it, the file can only be read as one that nobody changes. The contents of a journal could not be
      // read in this way, and an outdated state is worse than an error.
      let query = ImmutableFile.query(path)
      if (Disk.size(path + "-wal") ?? 0) > 0 {
        throw StoreError.cannotCreate(
          url,
          reason:
            "its journal cannot be read in a read-only folder; open the store once in a writable folder")
      }
      let connection = try SQLiteConnection(path: uri + query, of: [url])
      connection.limitScans(ofFiles: [path])
      return (connection, uri + query)
    }
  }

  /// Copies the main database over the main database of another connection, page by page.
  ///
  /// The copy does not use the file itself. To open and close the file beside SQLite would release the locks that
  /// SQLite has on it.
  ///
  /// - Parameters:
  ///   - pages: How many pages to copy between two calls of `pause`; all pages by default. If another connection writes
  ///     during a pause, the copy starts again.
  ///   - pause: May throw an error to end the copy.
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
  /// A path of a database in memory that several connections can open.
  static func memoryPath(_ name: String = UUID.random().uuidString) -> String {
    "file:/cdgen-\(name)?vfs=memdb"
  }

  /// Opens a database in memory. Other connections open the same database by the same path.
  static func inMemory(_ path: String, of url: URL) throws -> SQLiteConnection {
    let connection = try SQLiteConnection(path: path, of: [url])
    // SQLite allows 1 GiB by default. Here, only the memory of the machine is a limit. All connections to the database
    // share this limit.
    var limit: Int64 = 1 << 40
    sqlite3_file_control(connection.handle, "main", SQLITE_FCNTL_SIZE_LIMIT, &limit)
    return connection
  }
}
