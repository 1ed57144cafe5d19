import CSQLite

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A connection to a store.
///
/// One isolation at a time uses a connection: a reader belongs to its context, the writer to whoever holds
/// its lock.
final class SQLiteConnection {
  let handle: OpaquePointer
  /// The stores that the connection reads and writes, for errors to name.
  var stores: [URL]
  private var statements: [String: SQLiteStatement] = [:]
  /// Statements by the place of the entity or join that they serve, so that none is looked up by its text.
  private var numbered: [StatementKey: SQLiteStatement] = [:]
  /// The same for those that need no more than an entity, by its place: what looks single rows up.
  private var rowStatements: [SQLiteStatement?] = []
  private var faultStatements: [SQLiteStatement?] = []
  private var scanGuard: ScanGuard?

  /// A statement that serves a part of the model.
  struct StatementKey: Hashable {
    enum Purpose { case insert, update, delete, related }
    let purpose: Purpose
    let place: Int
    var detail = SlotSet()
  }

  /// - Parameters:
  ///   - path: A file's path, or a URI.
  ///   - stores: The stores that the connection will have open, for errors to name.
  ///   - busyTimeout: How many seconds to wait for others who write.
  ///   - isDefensive: Whether SQLite refuses statements that can damage a file. Who makes a new file goes without a
  ///     journal, and may declare tables anew.
  init(path: String, of stores: [URL], busyTimeout: Double = 10, isDefensive: Bool = true) throws {
    self.stores = stores
    // Without SQLite's own lock, for nobody else uses the connection at the time.
    let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX
    var opened: OpaquePointer?
    let code = sqlite3_open_v2(path, &opened, flags, nil)
    guard code == SQLITE_OK, let opened else {
      // A connection that could not be opened says why, and is to be closed all the same.
      defer { sqlite3_close_v2(opened) }
      if opened == nil { throw StoreError.inputOutput(stores, reason: "no memory") }
      throw StoreError(opened, of: stores, during: "opening the store")
    }
    handle = opened
    sqlite3_extended_result_codes(handle, 1)
    csqlite_protect(handle)
    csqlite_defend(handle, isDefensive ? 1 : 0)
    wait(forOthers: busyTimeout)
    PredicateFunctions.install(on: handle)
    SQLLog.install(on: handle)
    try execute("PRAGMA foreign_keys = ON")
  }

  /// Limits what statements may read of files that somebody has prepared.
  func limitScans(ofFiles paths: [String]) {
    guard !paths.isEmpty else { return }
    let scanGuard = ScanGuard(handle, paths: paths)
    scanGuard.watch()
    self.scanGuard = scanGuard
  }

  /// Runs a statement that counts all rows of a table.
  func watchingCount<R>(_ count: () throws -> R) rethrows -> R {
    guard let scanGuard else { return try count() }
    return try scanGuard.watchingCount(count)
  }

  deinit {
    if scanGuard != nil { sqlite3_progress_handler(handle, 0, nil, nil) }
    // Those that somebody keeps are finished with later, and the connection with the last of them.
    sqlite3_close_v2(handle)
  }

  /// A statement that is kept for the next use of the same text.
  func statement(_ sql: String) throws -> SQLiteStatement {
    if let statement = statements[sql] { return statement }
    // Texts are made of predicates, and a program may make any number of those.
    if statements.count >= 500 { statements.removeAll() }
    let statement = try makeStatement(sql)
    statements[sql] = statement
    return statement
  }

  /// A statement that serves a part of the model, prepared at its first use.
  func statement(_ key: StatementKey, _ sql: () -> String) throws -> SQLiteStatement {
    if let statement = numbered[key] { return statement }
    let statement = try makeStatement(sql())
    numbered[key] = statement
    return statement
  }

  /// The statement that looks up a row of an entity or of those below it by its key.
  func rowStatement(_ place: Int, _ sql: () -> String) throws -> SQLiteStatement {
    try Self.statement(place, in: &rowStatements) { [handle, stores] in
      try SQLiteStatement(sql(), on: handle, of: stores)
    }
  }

  /// The statement that reads a row of just one entity by its key.
  func faultStatement(_ place: Int, _ sql: () -> String) throws -> SQLiteStatement {
    try Self.statement(place, in: &faultStatements) { [handle, stores] in
      try SQLiteStatement(sql(), on: handle, of: stores)
    }
  }

  private static func statement(
    _ place: Int, in list: inout [SQLiteStatement?], _ make: () throws -> SQLiteStatement
  ) throws -> SQLiteStatement {
    if place < list.count, let statement = list[place] { return statement }
    let statement = try make()
    while list.count <= place { list.append(nil) }
    list[place] = statement
    return statement
  }

  /// A statement that the caller keeps.
  func makeStatement(_ sql: String) throws -> SQLiteStatement {
    try SQLiteStatement(sql, on: handle, of: stores)
  }

  /// Whether the file that is open has lost its name, or another file has it.
  var hasMoved: Bool {
    var result: Int32 = 0
    sqlite3_file_control(handle, "main", SQLITE_FCNTL_HAS_MOVED, &result)
    return result != 0
  }

  /// Waits this many seconds for others who write, from now on.
  func wait(forOthers seconds: Double) {
    sqlite3_busy_timeout(handle, Int32(Self.bounded(seconds) * 1000))
  }

  /// A time that SQLite can be told, which it counts in milliseconds of 32 bits. Not a number is no time.
  private static func bounded(_ seconds: Double) -> Double { seconds > 0 ? min(seconds, 1_000_000) : 0 }

  /// Runs statements that give no rows.
  func execute(_ sql: String) throws {
    guard sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else {
      throw StoreError(handle, of: stores, during: "running a statement")
    }
  }

  /// The first column of a text's first row; nil where there is none.
  func scalar(_ sql: String) throws -> String? {
    let statement = try makeStatement(sql)
    return try statement.step() ? statement.string(0) : nil
  }

  /// The rows of a text as strings.
  func rows(_ sql: String) throws -> [[String?]] {
    let statement = try makeStatement(sql)
    var rows: [[String?]] = []
    while try statement.step() {
      rows.append((0..<sqlite3_column_count(statement.handle)).map { statement.string($0) })
    }
    return rows
  }

  /// Runs a body in a transaction that reads one state.
  func read<R>(_ body: () throws -> R) throws -> R {
    try execute("BEGIN")
    defer { if sqlite3_get_autocommit(handle) == 0 { try? execute("ROLLBACK") } }
    return try body()
  }

  /// Runs a body in a transaction that writes: all of it or, where it throws, nothing.
  func write<R>(_ body: () throws -> R) throws -> R {
    try execute("BEGIN IMMEDIATE")
    do {
      let result = try body()
      try execute("COMMIT")
      return result
    } catch {
      // After some errors SQLite has rolled back by itself, and says so by an error that means nothing here.
      if sqlite3_get_autocommit(handle) == 0 { try? execute("ROLLBACK") }
      throw error
    }
  }
}
