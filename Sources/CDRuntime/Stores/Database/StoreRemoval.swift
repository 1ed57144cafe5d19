#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// The removal of a store with all its files. Large values that a kept backup needs stay.
struct StoreRemoval {
  /// The file itself, not a link to it.
  let url: URL
  /// The app's own formats, if the store or its backups may have one of them.
  var formats: [any StoreFormat] = []

  /// Gives the store its name, if a killed migration has left only its finished file. An opening does the same.
  ///
  /// - Throws: ``StoreError/inUse(_:)`` if other stores in the folder are being opened.
  @_optimize(none)
  func completeSwitch() throws {
    let migration = MigrationFiles(url)
    // The old file has become a backup before. Without a backup, the file with the name of a result can be another store.
    guard migration.awaitsSwitch, (try? BackupFiles.backups(of: url))?.isEmpty == false else { return }
    // A migration that is still running holds this lock until it has completed its switch.
    let lock: FolderLock
    do { lock = try FolderLock(.exclusive, of: url, timeout: 1) } catch { throw StoreError.inUse(url) }
    defer { withExtendedLifetime(lock) {} }
    do { try migration.completeSwitch() } catch {
      throw StoreError.cannotRemove(url, reason: "\(error)")
    }
  }

  /// Removes a SQLite store that is not open anywhere.
  ///
  /// - Parameter isIncluded: Returns whether to remove the store. Called when no other process can open or change the
  ///   store any more, with a connection that can read it.
  /// - Returns: Whether the store was removed.
  /// - Throws: ``StoreError/inUse(_:)`` if the store is open, and the errors of the parameter. Nothing was removed then.
  @_optimize(none)
  func removeDatabase(
    where isIncluded: (StoreMetadata, SQLiteConnection) throws -> Bool
  ) throws -> Bool {
    let shared = sharedValues()
    guard let values = try removeDatabaseFiles(where: isIncluded) else { return false }
    // Without the lock on the folder, because the backups are read.
    removeFiles(of: [values, shared])
    return true
  }

  /// Removes a store that is read as a whole.
  ///
  /// - Parameter file: The store's file. Its lock keeps others from opening the store until it is removed.
  @_optimize(none)
  func remove(_ file: StoreFile) throws {
    let shared = sharedValues()
    let builder = StoreBuilder(metadataOf: url)
    try file.read(into: builder)
    removeFiles(of: [try removeFiles(backups: builder.metadata?.pendingBackups ?? []), shared])
    withExtendedLifetime(file) {}
  }

  /// Removes the files of a SQLite store, except its large values. Waits for connections that are about to be closed.
  ///
  /// - Returns: The large values; nil if the store was not removed.
  @_optimize(none)
  private func removeDatabaseFiles(
    where isIncluded: (StoreMetadata, SQLiteConnection) throws -> Bool
  ) throws -> LargeValues? {
    let end = ContinuousClock.now + StoreFile.patience
    while true {
      do {
        return try removeUnusedDatabaseFiles(where: isIncluded)
      } catch StoreError.inUse where ContinuousClock.now < end {
        // Nothing is locked during the pause, so that others in the folder can go on.
        usleep(10_000)
      }
    }
  }

  /// Removes the files of a SQLite store, except its large values, if the store is not open now.
  @_optimize(none)
  private func removeUnusedDatabaseFiles(
    where isIncluded: (StoreMetadata, SQLiteConnection) throws -> Bool
  ) throws -> LargeValues? {
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
      guard try isIncluded(found, connection) else { return nil }
      backups = found.pendingBackups
      try connection.execute("ROLLBACK")
    } catch StoreError.busy {
      throw StoreError.inUse(url)
    }
    return try removeFiles(backups: backups)
  }

  /// Removes the files of a store that nothing else uses, except its large values.
  ///
  /// - Parameter backups: The backups that are not kept.
  /// - Returns: The large values that are then unused.
  @_optimize(none)
  private func removeFiles(backups: [String]) throws -> LargeValues {
    let path = url.path(percentEncoded: false)
    // What an interrupted migration has left has the user's data, too. It can be another name of the store's file.
    let migration = MigrationFiles(url)
    migration.removeLinks()
    migration.removeLeftovers()
    NewExternalFiles.removeJournal(of: url)
    // As soon as the file is removed, another process can create a new store with values of its own.
    let names = ExternalFiles(store: url).names
    do {
      try FileManager.default.removeItem(atPath: path)
      try DatabaseFile.removeJournals(of: url)
    } catch {
      throw StoreError.cannotRemove(url, reason: "\(error)")
    }
    for backup in backups { MigrationFiles(url).removeBackup(backup) }
    // An unfinished copy has the user's data, too. The claim removes it.
    let claim = try? CopyClaim(of: url)
    return LargeValues(store: url, names: names, claim: names.isEmpty ? nil : claim)
  }

  /// Removes what a killed program has left, if the file of the store is gone: journals, an unfinished copy, and the large
  /// values of an unfinished copy or removal.
  ///
  /// - Throws: ``StoreError/inUse(_:)`` if other stores in the folder are being opened.
  @_optimize(none)
  func removeJournalsWithoutFile() throws {
    CopyClaim.removeLeftovers(of: url, formats: formats)
    guard DatabaseFile.hasJournals(url) else { return }
    let lock: FolderLock
    do { lock = try FolderLock(.exclusive, of: url, timeout: 1) } catch { throw StoreError.inUse(url) }
    defer { withExtendedLifetime(lock) {} }
    // Another process may have created a store in the meantime.
    guard FileIdentity(url.path(percentEncoded: false)) == nil else { return }
    try DatabaseFile.removeJournals(of: url)
  }

  // MARK: Large values

  /// Large values that the removed store does not need any more.
  private struct LargeValues {
    /// The store whose folder contains the files.
    let store: URL
    let names: Set<String>
    /// Prevents copies to the place until the values are removed, because a copy uses a file that is already there. Nil before
    /// the place is claimed, and if a copy is already running.
    var claim: CopyClaim?
  }

  /// The large values of a backup whose store was removed before. Nil for any other store: as long as a store exists, it
  /// removes the values that only its backups have used.
  @_optimize(none)
  private func sharedValues() -> LargeValues? {
    guard let store = BackupFiles.store(of: url), FileIdentity(store.path(percentEncoded: false)) == nil,
      ExternalFiles(store: store).isOwn,
      let names = try? ClosedStoreCopy(url: url, formats: formats, isReplica: false).fileNames()
    else { return nil }
    return LargeValues(store: store, names: names)
  }

  /// Removes the files of large values that no backup needs. If a backup cannot be read, all files stay.
  @_optimize(none)
  private func removeFiles(of values: [LargeValues?]) {
    for case let values? in values {
      let files = ExternalFiles(store: values.store)
      guard files.isOwn, let kept = StoreBackups(store: values.store, formats: formats).fileNames() else {
        continue
      }
      let unused = values.names.subtracting(kept)
      let claim = unused.isEmpty ? nil : values.claim ?? (try? CopyClaim(of: values.store))
      // If the process is killed, the next removal or the next copy to the place removes them.
      try? claim?.list(unused)
      try? MigrationFaults.reach("remove large values")
      UnusedFiles(files).write([:])
      withExtendedLifetime(claim) { files.removeAll(unused) }
    }
  }
}

extension StoreMetadata {
  /// Reads the metadata of a SQLite store that is not open, and does not wait for other connections.
  ///
  /// - Parameter url: The URL that errors show.
  @_optimize(none)
  init(ofDatabaseAt file: URL, _ url: URL) throws {
    let reader = try SQLiteConnection(path: file.path(percentEncoded: false), of: [url], busyTimeout: 0)
    self = try reader.read { try StoreMetadata(reader, url: url) }
  }
}
