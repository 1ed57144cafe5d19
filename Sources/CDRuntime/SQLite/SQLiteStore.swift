import CSQLite
import Foundation

/// One store of a ``SQLiteDatabase``: a SQLite file, memory, or memory with the rows of a file that is read and
/// written whole.
final class SQLiteStore: Sendable {
  /// The place among the coordinator's stores.
  let place: Int
  let url: URL
  let storeID: UUID
  let isReadOnly: Bool
  let isInMemory: Bool
  /// What SQLite is to open: a path, or a URI.
  let path: String
  /// Where large values are; nil for a store in memory alone, whose rows hold them all.
  let files: ExternalFiles?
  /// The file that each save writes whole; nil where SQLite has the file, or there is none.
  let file: StoreFile?
  /// The file that was opened, to notice when another has taken its name.
  private let identity: FileIdentity?
  /// The migration that opening took; nil where none was needed.
  let migration: MigrationResult?

  /// Opens a store, and makes it where there is none.
  ///
  /// - Parameter connection: Set to the connection that the store was opened by. One in memory goes when its last
  ///   connection does.
  /// - Throws: ``StoreError``; an existing store is then as it was.
  init(
    _ description: PersistentStoreDescription, place: Int, model: ModelPlan,
    others: [PersistentStoreDescription] = [], keeping connection: inout SQLiteConnection?
  ) throws {
    self.place = place
    var description = description
    // Everything beside the store has its name, which is that of the file and not of a link to it.
    description.location = try description.location.resolvingLink()
    if description.location.format?.isReadOnly == true { description.isReadOnly = true }
    isReadOnly = description.isReadOnly
    switch description.location {
    case .xml(let url), .binary(let url), .custom(let url, _):
      self.url = url
      let format = description.location.format ?? XMLStoreFormat()
      if model.hasExternalSlots(ofStore: place) { try ExternalFiles(store: url).checkFolder() }
      let file = try StoreFile(url, format, isReadOnly: description.isReadOnly)
      self.file = file
      let opening = FileStoreOpening(
        file: file, description: description, model: model, place: place, others: others,
        memory: "file:/cdgen-\(UUID.random().uuidString)?vfs=memdb")
      let opened = try opening.open()
      connection = opened.connection
      storeID = opened.storeID
      path = opened.memory
      migration = opened.migration
      isInMemory = true
      files = ExternalFiles(store: url)
      identity = nil
    case .inMemory:
      file = nil
      let name = UUID.random().uuidString
      url = URL(string: "memory:\(name)") ?? EmptyValue.url
      path = "file:/cdgen-\(name)?vfs=memdb"
      isInMemory = true
      files = nil
      let own = try SQLiteConnection(path: path, of: [url])
      connection = own
      storeID = try StoreOpening(connection: own, url: url, model: model, place: place).open()
      identity = nil
      migration = nil
    case .sqlite(let url):
      file = nil
      self.url = url
      isInMemory = false
      let files = ExternalFiles(store: url)
      self.files = files
      let opened: Opened
      if description.isReadOnly {
        opened = try Self.openToRead(description, url: url, place: place, model: model, others: others)
        migration = nil
      } else {
        var first: Opened?
        var migration: MigrationResult?
        do {
          first = try Self.openToWrite(description, url: url, place: place, model: model, others: others)
        } catch StoreError.needsMigration where description.migratesStoreAutomatically {
          let source = model.source(ofStore: place)
          do {
            migration = try StoreMigration(
              url: url, description: description, model: source.model, others: others
            ).run()
          } catch {
            guard let draft = ChangedDraft(error, of: description, source) else { throw error }
            try draft.erase(url)
            migration = draft.result
          }
        }
        opened =
          try first
          ?? Self.openToWrite(
            description, url: url, place: place, model: model, others: others, isJustMigrated: true)
        self.migration = migration
        if model.hasExternalSlots(ofStore: place) { try ExternalValues.collect(files, opened.connection) }
      }
      connection = opened.connection
      storeID = opened.storeID
      path = opened.path
      identity = opened.identity
    }
  }

  /// A store that is being made in the place of another.
  ///
  /// - Parameter url: The other one's, by which errors name it, and beside which large values are.
  init(making url: URL, storeID: UUID) {
    place = 0
    self.url = url
    self.storeID = storeID
    isReadOnly = false
    isInMemory = false
    path = ":memory:"
    files = ExternalFiles(store: url)
    file = nil
    identity = nil
    migration = nil
  }

  /// Refuses to go on where the file has been removed, or another one has taken its place: what is written would
  /// be lost, or would hit what was never read.
  func checkIdentity() throws(StoreError) {
    if let file { return try file.checkIdentity() }
    guard let identity else { return }
    if FileIdentity(url.path(percentEncoded: false)) != identity { throw .replaced(url) }
  }

  /// Whether a URL leads to the store's file, by whatever name.
  func isFile(at url: URL) -> Bool {
    (identity ?? file?.identity).map { $0 == FileIdentity(url.path(percentEncoded: false)) } ?? false
  }

  // MARK: Opening

  private struct Opened {
    let connection: SQLiteConnection
    let storeID: UUID
    let path: String
    let identity: FileIdentity?
  }

  /// What is to be right before SQLite opens the file.
  private static func checkFiles(_ url: URL, place: Int, model: ModelPlan) throws {
    try DatabaseFile.checkHeader(of: url)
    try MigrationFiles(url).checkNames()
    if model.hasExternalSlots(ofStore: place) { try ExternalFiles(store: url).checkFolder() }
  }

  /// Opens a file that is current, and leaves it with a lock of SQLite's that keeps it where it is.
  private static func openToWrite(
    _ description: PersistentStoreDescription, url: URL, place: Int, model: ModelPlan,
    others: [PersistentStoreDescription], isJustMigrated: Bool = false
  ) throws -> Opened {
    let path = url.path(percentEncoded: false)
    return try FolderLock.whileBusy(url, timeout: description.busyTimeout) {
      if !isJustMigrated { try MigrationFiles(url).recover() }
      try checkFiles(url, place: place, model: model)
      let connection = try open(path, url: url, busyTimeout: 0)
      if connection.hasMoved { throw StoreError.replaced(url) }
      let storeID = try StoreOpening(
        connection: connection, url: url, model: model, place: place,
        descriptions: isJustMigrated ? nil : (description, others), isJustMigrated: isJustMigrated
      ).open()
      // The journal of a store that is not ours, or not yet, is left alone until here. From here on the connection has a
      // lock on the file as long as it is open.
      _ = try connection.scalar("PRAGMA journal_mode = WAL")
      if connection.hasMoved { throw StoreError.replaced(url) }
      connection.wait(forOthers: description.busyTimeout)
      return Opened(connection: connection, storeID: storeID, path: path, identity: FileIdentity(path))
    }
  }

  private static func openToRead(
    _ description: PersistentStoreDescription, url: URL, place: Int, model: ModelPlan,
    others: [PersistentStoreDescription]
  ) throws -> Opened {
    try FolderLock.whileBusy(url, timeout: description.busyTimeout) {
      try checkFiles(url, place: place, model: model)
      let (connection, path) = try openToRead(url, busyTimeout: 0)
      let storeID = try StoreOpening(
        connection: connection, url: url, model: model, place: place, isReadOnly: true,
        descriptions: (description, others)
      ).open()
      if connection.hasMoved { throw StoreError.replaced(url) }
      connection.wait(forOthers: description.busyTimeout)
      return Opened(
        connection: connection, storeID: storeID, path: path,
        identity: FileIdentity(url.path(percentEncoded: false)))
    }
  }

  private static func open(_ path: String, url: URL, busyTimeout: Double) throws -> SQLiteConnection {
    let isThere = FileManager.default.fileExists(atPath: path)
    do {
      let connection = try SQLiteConnection(path: path, of: [url], busyTimeout: busyTimeout)
      connection.limitScans(ofFiles: [path])
      // The first read is what opens the file and its journal.
      _ = try connection.scalar("SELECT 1 FROM sqlite_master LIMIT 1")
      // SQLite opens a file that it may not write to all the same, and fails at the first write.
      if sqlite3_db_readonly(connection.handle, "main") == 1 {
        throw StoreError.notWritable([url], reason: "it may only be read")
      }
      return connection
    } catch StoreError.inputOutput(_, let reason) {
      let reason = Disk.hindrance(of: url, toWrite: true) ?? reason
      // The one thing that cannot be opened of a file that is there is the journal beside it.
      throw isThere
        ? StoreError.notWritable([url], reason: reason) : StoreError.cannotCreate(url, reason: reason)
    }
  }

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
      if (MigrationFiles.size(path + "-journal") ?? 0) > 0 {
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
      if (MigrationFiles.size(path + "-wal") ?? 0) > 0 {
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
}
