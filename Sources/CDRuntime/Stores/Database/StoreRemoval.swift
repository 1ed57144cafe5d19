#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The removal of a store with all that belongs to it.
struct StoreRemoval {
  /// The file itself, not a link to it.
  let url: URL

  /// Removes a SQLite store that nobody has open.
  ///
  /// - Parameter isMeant: Is asked when nobody else can open or change the store any more.
  /// - Returns: Whether it was meant.
  /// - Throws: ``StoreError/inUse(_:)`` where somebody has it open: nothing was removed then.
  func removeDatabase(where isMeant: (StoreMetadata) -> Bool) throws -> Bool {
    // Nobody may open the file, or put another one in its place, until it is gone.
    let lock: FolderLock
    do { lock = try FolderLock(.alone, of: url, timeout: 1) } catch { throw StoreError.inUse(url) }
    defer { withExtendedLifetime(lock) {} }
    var backups: [String] = []
    // This needs the file for itself: it fails while another connection is open, in any process.
    do {
      let connection = try SQLiteConnection(path: url.path(percentEncoded: false), of: [url], busyTimeout: 0)
      let mode = try connection.scalar("PRAGMA journal_mode = DELETE")
      guard mode == "delete" else { throw StoreError.inUse(url) }
      try connection.execute("BEGIN EXCLUSIVE")
      let found = try StoreMetadata(connection, url: url)
      guard isMeant(found) else { return false }
      backups = found.pendingBackups
      try connection.execute("ROLLBACK")
    } catch StoreError.busy {
      throw StoreError.inUse(url)
    }
    try removeFiles()
    for backup in backups { MigrationFiles(url).removeBackup(backup) }
    return true
  }

  /// Removes the files of a store that nobody else has.
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
