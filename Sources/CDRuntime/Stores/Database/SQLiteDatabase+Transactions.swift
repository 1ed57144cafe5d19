import CSQLite

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
  /// - Throws: An error; nothing has been written then.
  func commit(
    _ connection: SQLiteConnection, changed: [SQLiteStore], check: () throws -> Void = {}
  ) throws {
    let files = changed.compactMap { store in store.file.map { (store, $0) } }
    // Another engine may commit in the check, after which nothing may be refused here.
    try connection.checkDeferredReferences()
    guard !files.isEmpty else {
      try check()
      return try connection.execute("COMMIT")
    }
    let stores = attached
    func prepare(_ store: SQLiteStore, _ file: StoreFile) throws -> StoreFile.Prepared {
      try file.prepare(
        StoreContents(
          StoreTables(model, store: store.index), connection, schema: stores.schema(of: store)))
    }
    // Writes all files to the disk before the first file gets its final name. Most errors have occurred by then.
    var prepared: [StoreFile.Prepared] = []
    // The index of the last file that may have its final name.
    var taken = -1
    do {
      for (store, file) in files {
        try file.checkIdentity()
        prepared.append(try prepare(store, file))
      }
      try check()
      for (index, (_, file)) in files.enumerated() {
        taken = index
        try file.replaceStore(with: prepared[index])
      }
    } catch {
      for rest in prepared.indices where rest > taken || prepared.count < files.count {
        files[rest].1.discard(prepared[rest])
      }
      if prepared.count == files.count {
        // Files that may have their final names by now get their old contents back, if the disk allows it.
        try? connection.execute("ROLLBACK")
        for (store, file) in files.prefix(taken + 1) { try? file.replaceStore(with: prepare(store, file)) }
      }
      throw error
    }
    try connection.execute("COMMIT")
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

  /// Runs a body in a transaction that changes one store. If the body throws, nothing is changed.
  func write<R>(_ connection: SQLiteConnection, to store: SQLiteStore, _ body: () throws -> R) throws -> R {
    try write(connection) { (try body(), [store]) }
  }

  /// Runs a body in a transaction. If the body throws, nothing is changed.
  ///
  /// - Parameter body: Returns the stores that it has changed, too.
  func write<R>(
    _ connection: SQLiteConnection, _ body: () throws -> (result: R, changed: [SQLiteStore])
  ) throws -> R {
    try begin(connection)
    do {
      let (result, changed) = try body()
      try commit(connection, changed: changed)
      return result
    } catch {
      if sqlite3_get_autocommit(connection.handle) == 0 { try? connection.execute("ROLLBACK") }
      throw error
    }
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
