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

/// The migration of a store whose format is read and written as a whole file.
struct FileStoreMigration {
  let opening: FileStoreOpening
  private let description: PersistentStoreDescription
  private let others: [PersistentStoreDescription]
  /// The rows of the file.
  private let old: SQLiteConnection

  private var url: URL { opening.url }
  private var file: StoreFile { opening.file }

  /// - Parameter old: The rows of the file, from ``FileStoreOpening/rows``.
  init(
    _ opening: FileStoreOpening, rows old: SQLiteConnection, _ description: PersistentStoreDescription,
    others: [PersistentStoreDescription]
  ) {
    self.opening = opening
    self.old = old
    self.description = description
    self.others = others
  }

  /// Migrates the store and opens it.
  func open() throws -> OpenedStore {
    do { return try migrated() } catch {
      let source = opening.model.source(ofStore: opening.storeIndex)
      guard let draft = ChangedDraft(error, of: description, source) else { throw error }
      return try recreated(draft)
    }
  }

  /// Replaces a store of a changed draft by a new, empty one.
  @_optimize(none)
  private func recreated(_ draft: ChangedDraft) throws -> OpenedStore {
    let found = try StoreMetadata(old, url: url)
    guard draft.isIn(found) else { throw draft.reason }
    var result = draft.result
    result.firstKey = try old.unusedKey()
    let opened = try opening.make(after: result)
    for backup in found.pendingBackups { MigrationFiles(URL(filePath: file.path)).removeBackup(backup) }
    try opening.removeUnusedFiles(opened.connection)
    return opened
  }

  /// Migrates the rows in a temporary SQLite file, and replaces the store's file by one with the result. The old file
  /// stays as the backup.
  @_optimize(none)
  private func migrated() throws -> OpenedStore {
    let own = MigrationFiles(URL(filePath: file.path))
    let scratch = URL(filePath: own.scratch)
    defer { own.removeAllLeftovers() }
    do {
      try own.makeWork(own.scratch)
      let copy = try SQLiteConnection(path: own.scratch, of: [url])
      try copy.execute("PRAGMA synchronous = OFF")
      try old.copy(to: copy)
    }
    // The temporary file finds the folder of large values through a link, so that steps can write to it. The folder is
    // removed again if it stays empty.
    let large = ExternalFiles(store: url)
    try? large.makeFolder()
    defer { rmdir(large.folder.path(percentEncoded: false)) }
    let before = large.names
    var isDone = false
    // If the result does not become the store, the large values that it has written are removed.
    defer {
      if !isDone, !own.awaitsSwitch { for name in large.names.subtracting(before) { large.remove(name) } }
    }
    MigrationFiles(url).linkExternalFiles(own.scratch)
    var description = description
    description.location = .sqlite(scratch)
    let made: MigrationResult?
    do {
      made = try StoreMigration(
        url: scratch, description: description,
        model: opening.model.source(ofStore: opening.storeIndex).model,
        others: others
      ).run()
    } catch let error as MigrationError {
      throw error.naming(url, insteadOf: scratch)
    }
    let memory = SQLiteConnection.memoryPath()
    let connection = try SQLiteConnection.inMemory(memory, of: url)
    do {
      let copy = try SQLiteConnection(path: own.scratch, of: [url])
      _ = try copy.scalar("PRAGMA journal_mode = DELETE")
      try copy.copy(to: connection)
    }
    // The rows were on the disk in between. Damage must be found before they become the store.
    let check = try connection.scalar("PRAGMA quick_check(1)")
    guard check == "ok" else { throw MigrationError(url, .verificationFailed(check ?? "")) }
    let former = try StoreMetadata(old, url: url)
    let backup = own.backupName(former.versionNumber)
    try connection.execute("DELETE FROM \"_cdgen_metadata\" WHERE \"key\" = 'pendingBackup'")
    // Backups of earlier migrations too, if the store was not opened in between.
    let pending = former.pendingBackups + (description.keepsBackup ? [] : [backup])
    if !pending.isEmpty {
      let names = SQLText.literal(StoreMetadata.text(ofBackups: pending))
      try connection.execute(
        "INSERT INTO \"_cdgen_metadata\" (\"key\", \"value\") VALUES ('pendingBackup', \(names))")
    }
    let id = try opening.opening(connection, isJustMigrated: true).open()
    let target = own.scratch + "2"
    try MigrationFaults.reach("write \(target)")
    let prepared = try file.prepare(opening.contents(connection), at: target)
    do {
      try file.checkIdentity()
      try own.replaceStore(with: target, backup: backup, isDatabase: false)
    } catch {
      file.discard(prepared)
      throw error
    }
    isDone = true
    file.adopt(prepared)
    let result = MigrationResult(
      storeURL: url, steps: made?.steps ?? [], isInPlace: false,
      backup: url.deletingLastPathComponent().appending(path: backup), duration: made?.duration ?? .zero)
    return opening.opened(connection, memory, id, result)
  }
}

extension MigrationError {
  /// The same error for the store, instead of the temporary file that stood for it.
  func naming(_ url: URL, insteadOf other: URL) -> MigrationError {
    var reason = reason
    if case .store(let error) = reason { reason = .store(error.naming(url, insteadOf: other)) }
    return MigrationError(url, reason, step: step, entity: entity, objectKey: objectKey, table: table)
  }
}

extension StoreError {
  fileprivate func naming(_ url: URL, insteadOf other: URL) -> StoreError {
    func renamed(_ urls: [URL]) -> [URL] { urls.map { $0 == other ? url : $0 } }
    return switch self {
    case .busy(let urls): .busy(renamed(urls))
    case .nestedWrite(let urls): .nestedWrite(renamed(urls))
    case .diskFull(let urls): .diskFull(renamed(urls))
    case .damaged(let urls, let reason): .damaged(renamed(urls), reason: reason)
    case .notWritable(let urls, let reason): .notWritable(renamed(urls), reason: reason)
    case .inputOutput(let urls, let reason): .inputOutput(renamed(urls), reason: reason)
    case .engine(let urls, let error): .engine(renamed(urls), error)
    default: self
    }
  }
}
