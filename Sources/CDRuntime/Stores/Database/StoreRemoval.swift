#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The removal of a store with all its files.
struct StoreRemoval {
  /// The file itself, not a link to it.
  let url: URL

  /// Removes a SQLite store that is not open anywhere.
  ///
  /// - Parameter isIncluded: Returns whether to remove the store. Called when no other process can open or change the
  ///   store any more.
  /// - Returns: Whether the store was removed.
  /// - Throws: ``StoreError/inUse(_:)`` if the store is open. Nothing was removed then.
  @_optimize(none)
  func removeDatabase(where isIncluded: (StoreMetadata) -> Bool) throws -> Bool {
    // No other process may open or replace the file until it is removed.
    let lock: FolderLock
    do { lock = try FolderLock(.exclusive, of: url, timeout: 1) } catch { throw StoreError.inUse(url) }
    defer { withExtendedLifetime(lock) {} }
    var backups: [String] = []
    // This requires exclusive use of the file. It fails if any process has another connection open.
    do {
      let connection = try SQLiteConnection(path: url.path(percentEncoded: false), of: [url], busyTimeout: 0)
      let mode = try connection.scalar("PRAGMA journal_mode = DELETE")
      guard mode == "delete" else { throw StoreError.inUse(url) }
      try connection.execute("BEGIN EXCLUSIVE")
      let found = try StoreMetadata(connection, url: url)
      guard isIncluded(found) else { return false }
      backups = found.pendingBackups
      try connection.execute("ROLLBACK")
    } catch StoreError.busy {
      throw StoreError.inUse(url)
    }
    try removeFiles()
    for backup in backups { MigrationFiles(url).removeBackup(backup) }
    return true
  }

  /// Removes the files of a store that nothing else uses.
  func removeFiles() throws {
    let path = url.path(percentEncoded: false)
    do {
      try FileManager.default.removeItem(atPath: path)
      for end in ["-wal", "-shm", "-journal"] where FileManager.default.fileExists(atPath: path + end) {
        try FileManager.default.removeItem(atPath: path + end)
      }
      let files = ExternalFiles(store: url)
      if files.isOwn { files.removeAll(files.names) }
    } catch {
      throw StoreError.cannotRemove(url, reason: "\(error)")
    }
  }
}

extension StoreMetadata {
  /// Reads the metadata of a SQLite store that is not open, and does not wait for other connections.
  ///
  /// - Parameter url: The URL that errors show.
  init(ofDatabaseAt file: URL, _ url: URL) throws {
    let reader = try SQLiteConnection(path: file.path(percentEncoded: false), of: [url], busyTimeout: 0)
    self = try reader.read { try StoreMetadata(reader, url: url) }
  }
}
