import CSQLite

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The opening of a SQLite file.
struct DatabaseOpening {
  /// The file itself, not a link to it.
  let url: URL
  let settings: StoreSettings
  let storeIndex: Int
  let model: ModelPlan
  /// The configurations of the coordinator's other stores.
  let others: [String?]

  private var path: String { url.path(percentEncoded: false) }

  /// - Parameter migration: The migration that has just changed the store; nil if there was none.
  func open(after migration: MigrationResult? = nil) throws -> OpenedStore {
    if !settings.isReadOnly { CopyClaim.removeList(of: url) }
    let opened = settings.isReadOnly ? try openToRead() : try openToWrite(after: migration)
    // The model may have no such attribute any more, and values of earlier versions are still on the list.
    if !settings.isReadOnly {
      // A long transaction of another program, or a full disk, only delays the removal until a later opening.
      opened.connection.wait(forOthers: 0)
      defer { opened.connection.wait(forOthers: settings.busyTimeout) }
      do {
        try ExternalFiles(store: url).collect(
          opened.connection, of: url, columns: model.fileColumns(ofStore: storeIndex))
      } catch StoreError.busy, StoreError.diskFull {}
    }
    return opened
  }

  /// Checks the names of the store's files before SQLite reads the database.
  private func checkNames() throws {
    try MigrationFiles(url).checkNames()
    if model.hasExternalSlots(ofStore: storeIndex) { try ExternalFiles(store: url).checkFolder() }
  }

  /// Opens a file of the current version for writing. SQLite then holds a lock, so that no migration can replace the
  /// file.
  private func openToWrite(after migration: MigrationResult?) throws -> OpenedStore {
    let isJustMigrated = migration != nil
    return try FolderLock.whileBusy(url, timeout: settings.busyTimeout) {
      if !isJustMigrated { try MigrationFiles(url).recover() }
      try checkNames()
      let connection = try connect()
      if connection.hasMoved { throw StoreError.replaced(url) }
      let opening = StoreOpening(
        connection: connection, url: url, model: model, storeIndex: storeIndex,
        configurations: isJustMigrated ? nil : (settings.configuration, others),
        isJustMigrated: isJustMigrated, firstKey: migration?.firstKey ?? 1)
      var storeID = try opening.open()
      // The opening does not change the journal of a foreign or unchecked file before this point.
      if try connection.scalar("PRAGMA journal_mode") != "wal" {
        _ = try connection.scalar("PRAGMA journal_mode = WAL")
        if connection.hasMoved { throw StoreError.replaced(url) }
        // Only the next read locks the file, and another program may have migrated it in place before that.
        storeID = try opening.open()
      }
      // From here on, the connection has a lock on the file as long as it is open.
      if connection.hasMoved { throw StoreError.replaced(url) }
      connection.wait(forOthers: settings.busyTimeout)
      return OpenedStore(
        store: SQLiteStore(
          index: storeIndex, url: url, storeID: storeID, path: path, isReadOnly: false,
          files: ExternalFiles(store: url), identity: FileIdentity(path), migration: migration),
        connection: connection)
    }
  }

  private func openToRead() throws -> OpenedStore {
    try FolderLock.whileBusy(url, timeout: settings.busyTimeout) {
      try DatabaseFile.checkHeader(of: url)
      try checkNames()
      let (connection, path) = try SQLiteConnection.openToRead(url, busyTimeout: 0)
      let storeID = try StoreOpening(
        connection: connection, url: url, model: model, storeIndex: storeIndex, isReadOnly: true,
        configurations: (settings.configuration, others)
      ).open()
      if connection.hasMoved { throw StoreError.replaced(url) }
      let isLocked = try connection.scalar("PRAGMA journal_mode") == "wal"
      let version = isLocked ? nil : try SQLiteStore.version(connection, schema: "main")
      connection.wait(forOthers: settings.busyTimeout)
      return OpenedStore(
        store: SQLiteStore(
          index: storeIndex, url: url, storeID: storeID, path: path, isReadOnly: true,
          files: ExternalFiles(store: url), identity: FileIdentity(self.path), unlockedVersion: version),
        connection: connection)
    }
  }

  /// Opens the file, and checks its header before SQLite reads it.
  private func connect() throws -> SQLiteConnection {
    // Opening a pipe could wait forever.
    let isThere = try DatabaseFile.checkIsFile(url)
    let connection: SQLiteConnection
    do {
      connection = try SQLiteConnection(path: path, of: [url], busyTimeout: 0)
    } catch StoreError.inputOutput(_, let reason) {
      // Opening the file only for reading shows whether reading is forbidden, too.
      try DatabaseFile.checkHeader(of: url)
      throw failure(reason, isThere: isThere)
    }
    if isThere { try DatabaseFile.checkHeader(of: url, openedBy: connection) }
    connection.limitScans(ofFiles: [path])
    do {
      // Only the first read really opens the file and its journal.
      _ = try connection.scalar("SELECT 1 FROM sqlite_master LIMIT 1")
    } catch StoreError.inputOutput(_, let reason) {
      throw failure(reason, isThere: isThere)
    }
    // SQLite opens a file without write permission too, and fails only at the first write.
    if connection.refusesWrites(to: "main") {
      throw StoreError.notWritable([url], reason: "it is read-only")
    }
    return connection
  }

  /// The error for a file that SQLite cannot open.
  private func failure(_ reason: String, isThere: Bool) -> StoreError {
    let reason = Disk.accessProblem(of: url, toWrite: true) ?? reason
    // If the file exists, only the journal beside it can fail to open.
    return isThere ? .notWritable([url], reason: reason) : .cannotCreate(url, reason: reason)
  }
}

extension ExternalFiles {
  /// Removes the files that have been on the list of unused files for long enough and that no backup needs.
  ///
  /// - Parameter columns: The columns of the store that may name files.
  fileprivate func collect(
    _ connection: SQLiteConnection, of url: URL, columns: [FileColumn], now: Date = Date()
  ) throws {
    // The folder can be a link to the folder of another store.
    guard isOwn else { return }
    let now = now.timeIntervalSinceReferenceDate
    let limit = now - Self.grace
    let names = try connection.rows("SELECT \"name\" FROM \"_cdgen_files\" WHERE \"time\" < \(limit)")
      .compactMap { $0[0] }
    guard !names.isEmpty, let kept = StoreBackups(store: url).fileNames() else { return }
    // Two rows can name the same file, because a migration that copies a large value copies only the name. When one of the
    // rows changes, the file gets on the list although the other row still needs it.
    var used: Set<String> = []
    do {
      for column in columns {
        let rows = try connection.rows(
          "SELECT \"name\" FROM \"_cdgen_files\" WHERE \"time\" < \(limit) AND \"name\" IN (\(column.fileNames()))"
        )
        used.formUnion(rows.compactMap { $0[0] })
      }
    } catch StoreError.damaged {
      // Rows that cannot be read may need any file.
      return
    }
    try connection.write {
      // Another connection may have listed the file again or used it again. Then the entry is newer or gone.
      let removal = try connection.statement(
        "DELETE FROM \"_cdgen_files\" WHERE \"name\" = ?1 AND \"time\" < ?2")
      // With a new time, the next opening does not read the backups again.
      let renewal = try connection.statement(
        "UPDATE \"_cdgen_files\" SET \"time\" = ?3 WHERE \"name\" = ?1 AND \"time\" < ?2")
      for name in names {
        // A file that a row needs leaves the list.
        let isUsed = used.contains(name)
        let isKept = !isUsed && kept.contains(name)
        let statement = isKept ? renewal : removal
        statement.bind(name, at: 1)
        sqlite3_bind_double(statement.handle, 2, limit)
        if isKept { sqlite3_bind_double(statement.handle, 3, now) }
        try statement.run()
        if !isKept, !isUsed, sqlite3_changes(connection.handle) == 1 { remove(name) }
      }
    }
  }
}
