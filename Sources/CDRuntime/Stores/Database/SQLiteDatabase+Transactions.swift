import CSQLite

// What writes, where stores may be files that are written whole.
extension SQLiteDatabase {
  private var hasFileStores: Bool { attached.all.contains { $0.file != nil } }

  /// Begins a transaction that writes.
  ///
  /// A file that is written whole takes its name before the transaction ends. So nothing may be left then that the
  /// end would have to wait for: nobody reads from memory in between.
  func begin(_ connection: SQLiteConnection) throws {
    try connection.execute(hasFileStores ? "BEGIN EXCLUSIVE" : "BEGIN IMMEDIATE")
  }

  /// Ends a transaction: what it has changed is in the stores' files then.
  ///
  /// - Parameter check: Called before anything is final, and after all code of the app's: formats write their files.
  /// - Throws: Before anything is written, or where nothing of it is.
  func commit(
    _ connection: SQLiteConnection, changed: [SQLiteStore], check: () throws -> Void = {}
  ) throws {
    let files = changed.compactMap { store in store.file.map { (store, $0) } }
    guard !files.isEmpty else {
      try check()
      return try connection.execute("COMMIT")
    }
    try connection.checkDeferredReferences()
    let stores = attached
    func prepare(_ store: SQLiteStore, _ file: StoreFile) throws -> StoreFile.Prepared {
      try file.prepare(
        StoreContents(
          StoreRows(model, store: store.place), connection, schema: stores.schema(of: store)))
    }
    // All files are on the disk before the first of them takes its name: what can go wrong has mostly gone wrong by
    // then.
    var prepared: [StoreFile.Prepared] = []
    // The last one that may have its name.
    var taken = -1
    do {
      for (store, file) in files {
        try file.checkIdentity()
        prepared.append(try prepare(store, file))
      }
      try check()
      for (place, (_, file)) in files.enumerated() {
        taken = place
        try file.put(prepared[place])
      }
    } catch {
      for rest in prepared.indices where rest > taken || prepared.count < files.count {
        files[rest].1.discard(prepared[rest])
      }
      if prepared.count == files.count {
        // Those that may have their names by now are taken back, as far as the disk lets them.
        try? connection.execute("ROLLBACK")
        for (store, file) in files.prefix(taken + 1) { try? file.put(prepare(store, file)) }
      }
      throw error
    }
    try connection.execute("COMMIT")
  }

  /// Calls a body with what writes. A body keeps nothing of it.
  ///
  /// - Throws: ``StoreError/nestedWrite(_:)`` if the calling thread writes already.
  func write<R>(_ body: (any StoreWriteSession) throws -> R) throws -> R {
    try writer.use { connection in
      let session = SQLiteSession(connection, stores: attached, model: model, sql: sql)
      return try body(SQLiteWriteSession(session, of: self))
    }
  }

  /// Runs a body in a transaction that changes one store: all of it or, where it throws, nothing.
  func write<R>(_ connection: SQLiteConnection, to store: SQLiteStore, _ body: () throws -> R) throws -> R {
    try write(connection) { (try body(), [store]) }
  }

  /// Runs a body in a transaction: all of it or, where it throws, nothing.
  ///
  /// - Parameter body: Tells which stores it has changed.
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
