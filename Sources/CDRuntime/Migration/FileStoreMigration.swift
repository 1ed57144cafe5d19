import CDModel
import CSQLite

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

/// The opening of a store that is read whole: its rows go into a database in memory, which is then opened as a SQLite
/// store's file is, and migrated where it has to be.
struct FileStoreOpening {
  let file: StoreFile
  let description: PersistentStoreDescription
  let model: ModelPlan
  let place: Int
  let others: [PersistentStoreDescription]
  /// What SQLite is to open for the database in memory.
  let memory: String

  private var url: URL { file.url }

  struct Opened {
    let connection: SQLiteConnection
    let storeID: UUID
    let memory: String
    var migration: MigrationResult?
  }

  /// - Returns: The connection that keeps the database in memory, and by what others open it.
  func open() throws -> Opened {
    let connection = try SQLiteConnection.inMemory(memory, of: url)
    if file.isEmpty {
      if description.isReadOnly { throw StoreError.unreadable(url, StoreFormatError(.truncated)) }
      return try make(in: connection, memory)
    }
    try file.read(into: StoreBuilder(connection, url: url, current: (model, place)))
    let before = try metadata(connection)
    do {
      let id = try opening(connection).open()
      if !description.isReadOnly {
        if model.hasExternalSlots { try removeUnusedFiles(connection) }
        if try metadata(connection) != before { try write(connection) }
      }
      return Opened(connection: connection, storeID: id, memory: memory)
    } catch StoreError.needsMigration where description.migratesStoreAutomatically && !description.isReadOnly
    {
      do {
        return try migrate(connection)
      } catch {
        guard let draft = ChangedDraft(error, of: description, model.source(ofStore: place)) else {
          throw error
        }
        return try makeAnew(connection, draft)
      }
    }
  }

  /// Makes a new store.
  private func make(in connection: SQLiteConnection, _ memory: String) throws -> Opened {
    let id = try opening(connection).open()
    // The rest of the world is to see at once which store it is.
    try write(connection)
    return Opened(connection: connection, storeID: id, memory: memory)
  }

  /// Puts a new store in the place of one that was written with a draft of the model.
  private func makeAnew(_ old: SQLiteConnection, _ draft: ChangedDraft) throws -> Opened {
    let found = try StoreMetadata(old, url: url)
    guard draft.isIn(found) else { throw draft.reason }
    let memory = "file:/cdgen-\(UUID.random().uuidString)?vfs=memdb"
    let connection = try SQLiteConnection.inMemory(memory, of: url)
    var opened = try make(in: connection, memory)
    for backup in found.pendingBackups { MigrationFiles(URL(filePath: file.path)).removeBackup(backup) }
    try removeUnusedFiles(connection)
    opened.migration = draft.result
    return opened
  }

  private func opening(_ connection: SQLiteConnection, isJustMigrated: Bool = false) -> StoreOpening {
    StoreOpening(
      connection: connection, url: url, model: model, place: place, isReadOnly: description.isReadOnly,
      descriptions: (description, others), isJustMigrated: isJustMigrated)
  }

  private func metadata(_ connection: SQLiteConnection) throws -> [[String?]] {
    try connection.rows("SELECT \"key\", \"value\" FROM \"_cdgen_metadata\"")
  }

  private func contents(_ connection: SQLiteConnection) throws -> StoreContents {
    try StoreContents(StoreRows(model, store: place), connection, schema: "main")
  }

  private func write(_ connection: SQLiteConnection) throws {
    try file.put(file.prepare(contents(connection)))
  }

  // MARK: Large values

  /// Removes files of large values that no row refers to: nobody else can still come for them. Those of a backup that
  /// stays are left.
  private func removeUnusedFiles(_ connection: SQLiteConnection) throws {
    let files = ExternalFiles(store: url)
    let names = files.names
    // By a link the folder may be another store's too.
    guard !names.isEmpty, files.isOwn else { return }
    let siblings = try FileManager.default.contentsOfDirectory(
      atPath: url.deletingLastPathComponent().path(percentEncoded: false))
    guard !siblings.contains(where: { $0.hasPrefix(url.lastPathComponent + "-before-") }) else { return }
    var used: Set<String> = []
    for column in model.fileColumns(ofStore: place) {
      used.formUnion(try connection.rows(column.fileNames()).compactMap { $0[0] })
    }
    for name in names.subtracting(used) { files.remove(name) }
  }

  // MARK: Migration

  /// Migrates the rows as those of a SQLite file, and puts a file with the result in the place of the old one, which
  /// stays as the backup.
  private func migrate(_ old: SQLiteConnection) throws -> Opened {
    let own = MigrationFiles(URL(filePath: file.path))
    let scratch = URL(filePath: own.scratch)
    defer { own.removeAllLeftovers() }
    do {
      let copy = try SQLiteConnection(path: own.scratch, of: [url])
      try copy.execute("PRAGMA synchronous = OFF")
      try old.copy(to: copy)
    }
    // What a step writes there is to find the folder behind the link; one that stays empty goes again.
    let large = ExternalFiles(store: url)
    try? FileManager.default.createDirectory(at: large.folder, withIntermediateDirectories: true)
    defer { rmdir(large.folder.path(percentEncoded: false)) }
    let before = large.names
    var isDone = false
    // The result's own values go with a result that does not take the store's place.
    defer {
      if !isDone { for name in large.names.subtracting(before) { large.remove(name) } }
    }
    MigrationFiles(url).linkExternalFiles(own.scratch)
    var description = description
    description.location = .sqlite(scratch)
    // What is to be kept is this store's file, not that of the rows.
    description.keepsBackup = self.description.keepsBackup
    var result: MigrationResult
    do {
      result = try StoreMigration(
        url: scratch, description: description, model: model.source(ofStore: place).model, others: others
      ).run()
    } catch let error as MigrationError {
      throw error.naming(url, insteadOf: scratch)
    }
    let memory = "file:/cdgen-\(UUID.random().uuidString)?vfs=memdb"
    let connection = try SQLiteConnection.inMemory(memory, of: url)
    do {
      let copy = try SQLiteConnection(path: own.scratch, of: [url])
      _ = try copy.scalar("PRAGMA journal_mode = DELETE")
      try copy.copy(to: connection)
    }
    // The rows were on a disk meanwhile: what it did not give back as it was is to be found before it is the store.
    let check = try connection.scalar("PRAGMA quick_check(1)")
    guard check == "ok" else { throw MigrationError(url, .verificationFailed(check ?? "")) }
    let former = try StoreMetadata(old, url: url)
    let backup = own.backupName(former.versionNumber)
    try connection.execute("DELETE FROM \"_cdgen_metadata\" WHERE \"key\" = 'pendingBackup'")
    // Those of earlier migrations too, where nobody has opened the store in between.
    let pending = former.pendingBackups + (description.keepsBackup ? [] : [backup])
    if !pending.isEmpty {
      let names = SQLite.literal(StoreMetadata.text(ofBackups: pending))
      try connection.execute(
        "INSERT INTO \"_cdgen_metadata\" (\"key\", \"value\") VALUES ('pendingBackup', \(names))")
    }
    let id = try opening(connection, isJustMigrated: true).open()
    let target = own.scratch + "2"
    try MigrationFaults.reach("write \(target)")
    let prepared = try file.prepare(contents(connection), at: target)
    do {
      try file.checkIdentity()
      try own.put(target, backup: backup)
    } catch {
      file.discard(prepared)
      throw error
    }
    isDone = true
    file.adopt(prepared)
    result = MigrationResult(
      storeURL: url, steps: result.steps, isInPlace: false,
      backup: url.deletingLastPathComponent().appending(path: backup), duration: result.duration)
    return Opened(connection: connection, storeID: id, memory: memory, migration: result)
  }
}

extension SQLiteConnection {
  /// A database in memory that other connections open by the same name.
  static func inMemory(_ name: String, of url: URL) throws -> SQLiteConnection {
    let connection = try SQLiteConnection(path: name, of: [url])
    // SQLite's own limit is a thousand million bytes; the machine has one of its own.
    var limit: Int64 = 1 << 40
    sqlite3_file_control(connection.handle, "main", SQLITE_FCNTL_SIZE_LIMIT, &limit)
    return connection
  }
}

extension MigrationError {
  /// The error of a file that stood for another.
  func naming(_ url: URL, insteadOf other: URL) -> MigrationError {
    var reason = reason
    if case .store(let error) = reason { reason = .store(error.naming(url, insteadOf: other)) }
    return MigrationError(url, reason, step: step, entity: entity, objectKey: objectKey)
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
    case .sqlite(let urls, let code, let message, let operation):
      .sqlite(renamed(urls), code: code, message: message, during: operation)
    default: self
    }
  }
}
