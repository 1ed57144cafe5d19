import CSQLite

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

// Write transactions, also for stores whose files are written as a whole.
extension SQLiteDatabase {
  private var hasFileStores: Bool { attached.all.contains { $0.file != nil } }

  /// Begins a write transaction.
  ///
  /// If a store's file is written as a whole, the new file gets its final name before the transaction ends. After that,
  /// the COMMIT must not wait for readers. So the transaction is exclusive, and no connection reads from memory in the
  /// meantime.
  func begin(_ connection: SQLiteConnection) throws {
    try connection.execute(hasFileStores ? "BEGIN EXCLUSIVE" : "BEGIN IMMEDIATE")
  }

  /// Ends a transaction. The stores' files then have all its changes.
  ///
  /// - Parameter check: Called after all code of the app, such as formats that write their files, and before the
  ///   transaction becomes final.
  /// - Throws: An error; nothing has been written then. There are two exceptions: with ``StoreError/notRestored(_:reason:)``,
  ///   files may have changes that their stores do not have. And if the transaction has changed several stores, the COMMIT
  ///   may have reached some of them, whose histories then have the save.
  func commit(_ connection: SQLiteConnection, changed: [SQLiteStore], check: () throws -> Void) throws {
    // Another engine may commit in the check, after which nothing may be refused here.
    try connection.checkDeferredReferences()
    var files = attached.all.compactMap { store in
      FileWrite(of: store, isChanged: changed.contains { $0 === store })
    }
    guard !files.isEmpty else {
      try check()
      return try connection.execute("COMMIT")
    }
    let isOfSeveral = changed.count > 1
    do {
      // Writes all files to the disk before the first file gets its final name. Most errors have occurred by then.
      for index in files.indices { try files[index].prepare(contents(of: files[index].store, connection)) }
      try check()
      for index in files.indices { try files[index].replaceFile(keepingOld: isOfSeveral) }
      // Every transaction that changes several stores adds a save to the history of each. SQLite either commits all changes
      // of a single store or none.
      if isOfSeveral {
        for index in files.indices {
          files[index].newestSave = try newestSave(of: files[index].store, connection)
        }
      }
      try connection.execute("COMMIT")
    } catch {
      throw restore(files, connection, after: error)
    }
    for file in files { file.release() }
  }

  private func contents(of store: SQLiteStore, _ connection: SQLiteConnection) throws -> StoreContents {
    try StoreContents(
      StoreTables(model, store: store.index), connection, schema: attached.schema(of: store))
  }

  private func newestSave(of store: SQLiteStore, _ connection: SQLiteConnection) throws -> String? {
    try connection.scalar("SELECT max(\"id\") FROM \(attached.schema(of: store)).\"_cdgen_history\"")
  }

  /// Gives files their old contents back after a transaction has failed. The files of stores that the COMMIT has reached
  /// stay.
  ///
  /// - Returns: The error to throw.
  private func restore(
    _ files: [FileWrite], _ connection: SQLiteConnection, after failure: any Error
  ) -> any Error {
    for file in files { file.discardPrepared() }
    // The caller rolls back, and may first ask why the transaction has failed.
    guard files.contains(where: { $0.former != nil }) else { return failure }
    // Without hard links, the old contents come from the stores in memory.
    if sqlite3_get_autocommit(connection.handle) == 0 { try? connection.execute("ROLLBACK") }
    var urls: [URL] = []
    var reasons = ["\(failure)"]
    for file in files {
      var isReached = false
      if let newest = file.newestSave {
        isReached = newest == (try? newestSave(of: file.store, connection))
      }
      do {
        if isReached || !file.isChanged {
          file.release()
        } else {
          try file.restore { try contents(of: file.store, connection) }
        }
      } catch {
        urls.append(file.store.url)
        reasons.append("\(error)")
      }
    }
    return urls.isEmpty ? failure : StoreError.notRestored(urls, reason: reasons.joined(separator: "; "))
  }

  /// Runs a body with a session for writing. The body must not keep the session.
  ///
  /// - Throws: ``StoreError/nestedWrite(_:)`` if the calling thread is already writing.
  func write<R>(_ body: (any StoreWriteSession) throws -> R) throws -> R {
    try writer.use { connection in
      let session = SQLiteSession(connection, stores: attached, model: model, sql: sql)
      return try body(SQLiteWriteSession(session, of: self))
    }
  }
}

/// The file that a transaction writes for a store in memory.
private struct FileWrite {
  let store: SQLiteStore
  private let file: StoreFile
  /// Whether the transaction changes the store.
  let isChanged: Bool
  /// The complete new file, until it gets its final name.
  private var prepared: StoreFile.Prepared?
  /// The old file, from the moment at which the new one has its final name.
  private(set) var former: StoreFile.Former?
  /// The newest save in the store's history, including that of the transaction; nil for a transaction that adds none.
  var newestSave: String?

  /// Nil if the store has no file of its own, or if its file need not be written.
  init?(of store: SQLiteStore, isChanged: Bool) {
    guard let file = store.file, isChanged || file.mustBeWritten else { return nil }
    self.store = store
    self.file = file
    self.isChanged = isChanged
  }

  mutating func prepare(_ contents: StoreContents) throws {
    try file.checkIdentity()
    prepared = try file.prepare(contents)
  }

  mutating func replaceFile(keepingOld: Bool) throws {
    guard let prepared else { return }
    self.prepared = nil
    former = try file.exchange(for: prepared, keepingOld: keepingOld)
    try file.syncFolder()
  }

  func discardPrepared() { if let prepared { file.discard(prepared) } }

  func release() { if let former { file.release(former) } }

  func restore(_ contents: () throws -> StoreContents) throws {
    if let former { try file.restore(former, writing: contents) }
  }
}

extension SQLiteConnection {
  /// Throws the same error as a `COMMIT` if a reference leads to a missing row.
  fileprivate func checkDeferredReferences() throws {
    var current: Int32 = 0
    var highest: Int32 = 0
    sqlite3_db_status(handle, SQLITE_DBSTATUS_DEFERRED_FKS, &current, &highest, 0)
    guard current == 0 else {
      // SQLITE_CONSTRAINT_FOREIGNKEY, which is a macro in the C header.
      throw StoreError(
        code: SQLITE_CONSTRAINT | (3 << 8), message: "FOREIGN KEY constraint failed", of: stores,
        during: "ending a transaction")
    }
  }
}
