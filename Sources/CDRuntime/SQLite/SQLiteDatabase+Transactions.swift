import CSQLite

// What writes, where stores may be files that are written whole.
extension SQLiteDatabase {
  private var hasFileStores: Bool { stores.contains { $0.file != nil } }

  /// Begins a transaction that writes.
  ///
  /// A file that is written whole takes its name before the transaction ends. So nothing may be left then that the
  /// end would have to wait for: nobody reads from memory in between.
  func begin(_ connection: SQLiteConnection) throws {
    try connection.execute(hasFileStores ? "BEGIN EXCLUSIVE" : "BEGIN IMMEDIATE")
  }

  /// Ends a transaction: what it has changed is in the stores' files then.
  ///
  /// - Throws: Before anything is written, or where nothing of it is.
  func commit(_ connection: SQLiteConnection, changed: [SQLiteStore]) throws {
    let files = changed.compactMap { store in store.file.map { (store, $0) } }
    guard !files.isEmpty else { return try connection.execute("COMMIT") }
    try connection.checkDeferredReferences()
    // All files are on the disk before the first of them takes its name: what can go wrong has gone wrong by then.
    var prepared: [(file: StoreFile, new: StoreFile.Prepared)] = []
    do {
      for (store, file) in files {
        try file.checkIdentity()
        let contents = try StoreContents(
          StoreRows(model, store: store.place), connection, schema: store.schema)
        prepared.append((file, try file.prepare(contents)))
      }
      while let next = prepared.first {
        prepared.removeFirst()
        try next.file.put(next.new)
      }
    } catch {
      for rest in prepared { rest.file.discard(rest.new) }
      throw error
    }
    try connection.execute("COMMIT")
  }

  /// Runs a body in a transaction that changes one store: all of it or, where it throws, nothing.
  func write<R>(_ connection: SQLiteConnection, to store: SQLiteStore, _ body: () throws -> R) throws -> R {
    try begin(connection)
    do {
      let result = try body()
      try commit(connection, changed: [store])
      return result
    } catch {
      if sqlite3_get_autocommit(connection.handle) == 0 { try? connection.execute("ROLLBACK") }
      throw error
    }
  }
}

extension SQLiteConnection {
  /// Throws what a `COMMIT` would where a reference leads nowhere.
  fileprivate func checkDeferredReferences() throws {
    var current: Int32 = 0
    var highest: Int32 = 0
    sqlite3_db_status(handle, SQLITE_DBSTATUS_DEFERRED_FKS, &current, &highest, 0)
    guard current == 0 else {
      // SQLITE_CONSTRAINT_FOREIGNKEY, which the C header composes by a macro.
      throw StoreError(
        code: SQLITE_CONSTRAINT | (3 << 8), message: "FOREIGN KEY constraint failed", of: stores,
        during: "ending a transaction")
    }
  }
}
