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

/// The files beside a store that a migration makes, and the switch from the old one to the new one.
///
/// At any moment the store's name leads to the whole old file or the whole new one. Where the file system knows no
/// hard links it leads nowhere for a moment, and the next opening completes what was begun.
struct MigrationFiles {
  let url: URL
  private var path: String { url.path(percentEncoded: false) }

  init(_ url: URL) { self.url = url }

  /// The file that a step makes: two names take turns, for no step needs more than the one before.
  func work(_ step: Int) -> String { path + "-migrating\(step % 2 + 1)" }

  /// The finished file, where it has to wait for the old one to be moved away.
  private var finished: String { path + "-migrated" }

  // MARK: What was left behind

  /// Completes a switch that was begun, and removes what a migration has left that did not end.
  ///
  /// A migration of another process that is going on is left alone.
  func recover() throws {
    guard try !completeSwitch(), exists(path) else { return }
    try DatabaseFile.checkHeader(of: url)
    let isLinked = linkCount > 1
    let hasValues = NewExternalFiles.hasLeftovers(url)
    guard isLinked || hasValues || leftovers.contains(where: exists) else { return }
    guard let connection = try? SQLiteConnection(path: path, of: [url], busyTimeout: 0),
      (try? connection.execute("BEGIN IMMEDIATE")) != nil
    else { return }
    removeLeftovers()
    if hasValues { try NewExternalFiles.recover(url, connection) }
    if isLinked { removeLinks() }
    try connection.execute("ROLLBACK")
  }

  /// Puts a finished file in the place of the old one, which has been moved away.
  ///
  /// - Returns: Whether there was one.
  @discardableResult func completeSwitch() throws -> Bool {
    guard !exists(path), exists(finished) else { return false }
    try rename(finished, path)
    try syncFolder()
    return true
  }

  /// Where a store that is no SQLite file is migrated as one.
  var scratch: String { path + "-migrating" }

  /// Removes what a migration of a store that is no SQLite file has left, whatever its name.
  func removeAllLeftovers() {
    let folder = url.deletingLastPathComponent().path(percentEncoded: false)
    let prefix = url.lastPathComponent + "-migrating"
    for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    where name.hasPrefix(prefix) {
      unlink(sibling(name))
    }
    unlink(finished)
  }

  private var leftovers: [String] {
    [work(0), work(1), finished].flatMap {
      [$0, $0 + "-journal", $0 + "-wal", $0 + "-shm", $0 + "-external"]
    }
  }

  /// Removes what a migration makes before the switch. Only who holds the store's lock does so.
  func removeLeftovers() {
    for file in leftovers { unlink(file) }
  }

  private var linkCount: Int {
    var status = stat()
    return stat(path, &status) == 0 ? Int(status.st_nlink) : 0
  }

  /// The backups that are still the store itself: the switch did not follow, or is about to.
  private var linkedBackups: [String] {
    let folder = url.deletingLastPathComponent().path(percentEncoded: false)
    let own = FileIdentity(path)
    let prefix = url.lastPathComponent + "-before-"
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return names.filter { $0.hasPrefix(prefix) }.map(sibling).filter { FileIdentity($0) == own }
  }

  /// Removes the backups that are still the store itself.
  func removeLinks() {
    guard linkCount > 1 else { return }
    for file in linkedBackups { unlink(file) }
  }

  /// Refuses a file that has further names, but for backups of a migration that is going on.
  ///
  /// The journal of a SQLite file has the name by which the file was opened. Who opens the file by another name finds no
  /// journal, and reads and writes as if there were none.
  func checkNames() throws(StoreError) {
    // A migration of another process adds a name and takes it away again: only what holds still counts.
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

  /// The name of the backup of a version: one that is not taken.
  func backupName(_ version: Int) -> String {
    let name = url.lastPathComponent + "-before-\(version)"
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

  /// Puts a finished file in the place of the store, which goes on under the backup's name.
  ///
  /// The caller holds the old store's lock, and its journal is gone.
  ///
  /// - Parameter timeout: How many seconds to wait for those who are opening stores of the folder.
  func put(_ file: String, backup: String, timeout: Double = 10) throws {
    let backup = sibling(backup)
    try sync(file)
    try syncFolder()
    let lock: FolderLock
    do { lock = try FolderLock(.alone, of: url, timeout: timeout) } catch {
      throw MigrationError(url, .inUse)
    }
    defer { withExtendedLifetime(lock) {} }
    // A journal beside the new file would bring the old contents back.
    if (Disk.size(path + "-wal") ?? 0) > 0 || DatabaseFile.hasHotJournal(url) {
      throw MigrationError(url, .inUse)
    }
    // One that a program has begun and not synced, before it was killed, is nobody's: the store is locked.
    unlink(path + "-journal")
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
      try rename(finished, path)
    }
    try syncFolder()
  }

  /// Removes a backup that the store says may go.
  func removeBackup(_ name: String) {
    guard name.hasPrefix(url.lastPathComponent + "-before-"), !name.contains("/") else { return }
    unlink(sibling(name))
  }

  // MARK: The operating system

  /// Bytes that the file has, and those that its disk has free; nil where that cannot be told.
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

  /// What the disk refuses is a failure of the migration.
  private func reporting(_ operation: () throws(StoreError) -> Void) throws {
    do { try operation() } catch {
      if case .diskFull = error { throw MigrationError(url, .diskFull(needed: nil)) }
      throw MigrationError(url, .system("\(error)"))
    }
  }

  /// Lets a step's file find the large values of the store.
  func linkExternalFiles(_ file: String) {
    symlink(url.lastPathComponent + "-external", file + "-external")
  }
}
