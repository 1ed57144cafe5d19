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

/// The files that a migration creates beside a store, and the switch from the old file to the new one.
///
/// At any moment the store's name leads to the complete old file or the complete new file. A file system without hard
/// links is the exception: for a moment no file has the store's name. The next opening then completes the switch.
struct MigrationFiles {
  let url: URL
  private var path: String { url.path(percentEncoded: false) }

  init(_ url: URL) { self.url = url }

  /// The path of the file that a step creates. Two paths alternate, because a step reads only the file of the step
  /// before it.
  func work(_ step: Int) -> String { path + "-migrating\(step % 2 + 1)" }

  /// Creates an empty file for a part of the migration. SQLite gives a new file the permissions of most new files. But the rows
  /// of a private store must stay private, and a group that shares the store must be able to write to the result.
  func makeWork(_ file: String) throws {
    unlink(file)
    try reporting { () throws(StoreError) in try Disk.makeFile(file, like: path, of: url) }
  }

  /// The path of the finished file, if it must wait until the old file has been renamed.
  private var finished: String { path + "-migrated" }

  // MARK: Recovery

  /// Whether only the finished file is left to become the store. The next opening completes the switch.
  var awaitsSwitch: Bool { !exists(path) && exists(finished) }

  /// Completes an interrupted switch, and removes the files of an interrupted migration.
  ///
  /// Does nothing if a migration of another process is still running.
  @_optimize(none)
  func recover() throws {
    guard try !completeSwitch(), exists(path) else { return }
    let isLinked = linkCount > 1
    let hasValues = NewExternalFiles.hasLeftovers(url)
    guard isLinked || hasValues || hasLeftovers else { return }
    // If there is nothing to recover, the caller checks the file when it opens it.
    try DatabaseFile.checkHeader(of: url)
    guard let connection = try? SQLiteConnection(path: path, of: [url], busyTimeout: 0),
      (try? connection.execute("BEGIN IMMEDIATE")) != nil
    else { return }
    removeLeftovers()
    if hasValues { try NewExternalFiles.recover(url, connection) }
    if isLinked { removeLinks() }
    try connection.execute("ROLLBACK")
  }

  /// Renames the finished file to the store's name, if the old file has already been renamed.
  ///
  /// - Returns: Whether there was such a file.
  @discardableResult func completeSwitch() throws -> Bool {
    guard awaitsSwitch else { return false }
    try rename(finished, path)
    try syncFolder()
    return true
  }

  /// The path of the temporary SQLite file in which the migration of a store of another format runs.
  var scratch: String { path + "-migrating" }

  /// Removes all files that an interrupted migration of a store of another format has left. The caller must hold the store's
  /// lock.
  ///
  /// A file whose name only begins like theirs can be another store, so it stays.
  @_optimize(none)
  func removeAllLeftovers() {
    let inner = MigrationFiles(URL(filePath: scratch))
    for suffix in Self.leftoverSuffixes { unlink(scratch + suffix) }
    for each in [url, inner.url] { NewExternalFiles.removeJournal(of: each) }
    removeLeftovers()
    for file in inner.leftovers { unlink(file) }
    // A backup that is still a link to the temporary file counts only after that file is gone.
    for backup in (try? BackupFiles.backups(of: inner.url)) ?? [] {
      unlink(backup.path(percentEncoded: false))
    }
  }

  private static let leftoverSuffixes = ["", "-journal", "-wal", "-shm", "-external"]

  private var leftovers: [String] {
    [work(0), work(1), finished].flatMap { file in Self.leftoverSuffixes.map { suffix in file + suffix } }
  }

  /// Whether one of ``leftovers`` exists.
  private var hasLeftovers: Bool {
    for file in [work(0), work(1), finished] {
      for suffix in Self.leftoverSuffixes where exists(file + suffix) { return true }
    }
    return false
  }

  /// Removes the files that a migration creates before the switch. The caller must hold the store's lock.
  func removeLeftovers() {
    let kept = awaitsSwitch ? finished : nil
    for file in leftovers where file != kept { unlink(file) }
  }

  private var linkCount: Int {
    var status = stat()
    return stat(path, &status) == 0 ? Int(status.st_nlink) : 0
  }

  /// The backups that are links to the store's own file: the switch is about to happen, or was interrupted.
  @_optimize(none)
  private var linkedBackups: [String] {
    let folder = url.deletingLastPathComponent().path(percentEncoded: false)
    let own = FileIdentity(path)
    let prefix = BackupFiles.prefix(of: url)
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return names.filter { $0.hasPrefix(prefix) }.map(sibling).filter { FileIdentity($0) == own }
  }

  /// Removes the backups that are links to the store's own file.
  func removeLinks() {
    guard linkCount > 1 else { return }
    for file in linkedBackups { unlink(file) }
  }

  /// Throws an error if a file has more than one name. The backup links of a running migration are allowed.
  ///
  /// SQLite names the journal after the name by which the file was opened. A program that opens the file by another
  /// name does not find the journal, and reads and writes as if there were none.
  func checkNames() throws(StoreError) {
    // A migration of another process adds a link and removes it again, so only a stable state counts.
    for _ in 0..<10 {
      let count = linkCount
      guard count > 1 else { return }
      let identity = FileIdentity(path)
      let others = linkedBackups.count
      guard identity == FileIdentity(path), count == linkCount else { continue }
      if count - others > 1 { throw .severalNames(url, count: count - others) }
      return
    }
  }

  // MARK: The switch

  /// Returns an unused name for the backup of a version.
  func backupName(_ version: Int) -> String {
    let name = BackupFiles.prefix(of: url) + "\(version)"
    var result = name
    var number = 1
    while exists(sibling(result)) {
      number += 1
      result = "\(name)-\(number)"
    }
    return result
  }

  private func sibling(_ name: String) -> String {
    url.deletingLastPathComponent().appending(path: name).path(percentEncoded: false)
  }

  /// Replaces the store's file by a finished file. The old file becomes the backup.
  ///
  /// The caller must hold the lock of the old store and must have removed the store's journal.
  ///
  /// - Parameters:
  ///   - timeout: How many seconds to wait while others open stores in the same folder.
  ///   - isDatabase: Whether the store is a SQLite file. A log or a journal beside another file says nothing about it.
  @_optimize(none)
  func replaceStore(
    with file: String, backup: String, timeout: Double = 10, isDatabase: Bool = true
  ) throws {
    let backup = sibling(backup)
    try sync(file)
    try syncFolder()
    let lock: FolderLock
    do { lock = try FolderLock(.exclusive, of: url, timeout: timeout) } catch {
      throw MigrationError(url, .inUse)
    }
    defer { withExtendedLifetime(lock) {} }
    if isDatabase {
      // With a journal beside it, the new file would get its old contents back.
      if (Disk.size(path + "-wal") ?? 0) > 0 || DatabaseFile.hasHotJournal(url) {
        throw MigrationError(url, .inUse)
      }
      // This journal belongs to no running transaction, because this process holds the store's lock. A killed program has
      // left it, and it was never synced.
      unlink(path + "-journal")
    }
    try MigrationFaults.reach("link")
    if link(path, backup) == 0 {
      do {
        try syncFolder()
        try MigrationFaults.reach("rename")
        try rename(file, path)
      } catch {
        unlink(backup)
        throw error
      }
    } else {
      try rename(file, finished)
      do {
        try MigrationFaults.reach("rename")
        try rename(path, backup)
      } catch {
        unlink(finished)
        throw error
      }
      do {
        try MigrationFaults.reach("rename finished")
        try rename(finished, path)
      } catch {
        restore(backup)
        throw error
      }
    }
    // The store is the new file now, so an error would be wrong: it means that the old store is unchanged. The next save
    // syncs the folder too. After a power failure before it, the name may lead to the old file, which is complete.
    do {
      try MigrationFaults.reach("sync")
      try syncFolder()
    } catch {}
  }

  /// Gives the old file its name back, after the finished file could not get it. If this fails too, the finished file stays,
  /// because it is then all that the next opening finds.
  private func restore(_ backup: String) {
    do {
      try MigrationFaults.reach("rename back")
      try rename(backup, path)
    } catch { return }
    unlink(finished)
  }

  /// Removes a backup that the store's metadata lists for removal.
  func removeBackup(_ name: String) {
    guard name.hasPrefix(BackupFiles.prefix(of: url)), !name.contains("/") else { return }
    unlink(sibling(name))
  }

  // MARK: The operating system

  /// The size of the file and the free space of its disk, in bytes; nil if one of them is unknown.
  var sizes: (file: Int64, free: Int64)? {
    guard let file = Disk.size(path), let free = Disk.freeSpace(path) else { return nil }
    return (file, free)
  }

  private func exists(_ path: String) -> Bool { Disk.kind(of: path) != nil }

  private func rename(_ from: String, _ to: String) throws {
    try reporting { () throws(StoreError) in try Disk.rename(from, to, of: url) }
  }

  private func syncFolder() throws {
    try sync(url.deletingLastPathComponent().path(percentEncoded: false))
  }

  private func sync(_ path: String) throws {
    try reporting { () throws(StoreError) in try Disk.sync(path, of: url) }
  }

  /// Turns an error of the disk into an error of the migration.
  private func reporting(_ operation: () throws(StoreError) -> Void) throws {
    do { try operation() } catch {
      if case .diskFull = error { throw MigrationError(url, .diskFull(needed: nil)) }
      throw MigrationError(url, .system("\(error)"))
    }
  }

  /// Links the folder of the store's large values to the file of a step.
  func linkExternalFiles(_ file: String) {
    symlink(url.lastPathComponent + "-external", file + "-external")
  }
}
