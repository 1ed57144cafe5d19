import CSQLite

#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  package import Foundation
#endif

/// A connection to a store, or to a SQLite file of another program.
///
/// Only one isolation uses a connection at a time. A reader belongs to its context. The writer belongs to the
/// thread that holds its lock.
package final class SQLiteConnection {
  package let handle: OpaquePointer
  /// The stores that the connection reads and writes. Errors name them.
  var stores: [URL]
  private var statements: [String: SQLiteStatement] = [:]
  /// Statements by the index of their entity or join. To find one needs no comparison of SQL texts.
  private var numbered: [StatementKey: SQLiteStatement] = [:]
  /// The statements that look up single rows. An array by the index of the entity is enough for them.
  private var rowStatements: [SQLiteStatement?] = []
  private var faultStatements: [SQLiteStatement?] = []
  private var scanGuard: ScanGuard?
  /// Nil for a file of another program.
  private(set) var rowFeed: RowFeed?
  private var pageCache = PageCache()
  /// The records that sessions have read. A session may live for one lookup only, and the connection for all of them.
  var recentOrigins = RecentOrigins()

  /// The key of a statement that serves one entity or join.
  struct StatementKey: Hashable {
    enum Purpose { case insert, insertMany, update, delete, related }
    let purpose: Purpose
    let index: Int
    var detail = SlotSet()
  }

  /// - Parameters:
  ///   - path: A file's path, or a URI.
  ///   - stores: The stores that the connection will open. Errors name them.
  ///   - busyTimeout: How many seconds to wait for other writers.
  ///   - isDefensive: Whether SQLite refuses statements that can damage a file. False for the creation of a new file,
  ///     which needs no journal and may declare tables again.
  ///   - evaluatesPredicates: Whether statements can call the functions of predicates. False for a file of another
  ///     program, so that neither statements nor the file's schema can call them.
  package init(
    path: String, of stores: [URL], busyTimeout: Double = 10, isDefensive: Bool = true,
    evaluatesPredicates: Bool = true
  ) throws {
    self.stores = stores
    // SQLite needs no lock of its own, because no other thread uses the connection at the same time.
    let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX
    var opened: OpaquePointer?
    let code = sqlite3_open_v2(path, &opened, flags, nil)
    guard code == SQLITE_OK, let opened else {
      // A connection that failed to open knows the reason. It must be closed too.
      defer { sqlite3_close_v2(opened) }
      if opened == nil { throw StoreError.inputOutput(stores, reason: "no memory") }
      throw StoreError(opened, of: stores, during: "opening the store")
    }
    handle = opened
    sqlite3_extended_result_codes(handle, 1)
    csqlite_protect(handle)
    csqlite_defend(handle, isDefensive ? 1 : 0)
    wait(forOthers: busyTimeout)
    if evaluatesPredicates {
      PredicateFunctions.install(on: handle)
      rowFeed = RowFeed(handle)
    }
    StatementReports.install(on: handle)
    try execute("PRAGMA foreign_keys = ON")
  }

  /// Whether SQLite has opened a database only for reading, as it does without an error if writing is forbidden.
  func refusesWrites(to schema: String) -> Bool { sqlite3_db_readonly(handle, schema) == 1 }

  /// Protects statements against files that were prepared to be read without end.
  func limitScans(ofFiles paths: [String]) {
    guard !paths.isEmpty else { return }
    let scanGuard = ScanGuard(handle, paths: paths)
    scanGuard.watch()
    self.scanGuard = scanGuard
  }

  /// Runs a statement that counts all rows of a table, under the protection of ``limitScans(ofFiles:)``.
  func watchingCount<R>(_ count: () throws -> R) rethrows -> R {
    guard let scanGuard else { return try count() }
    return try scanGuard.watchingCount(count)
  }

  deinit {
    if scanGuard != nil { sqlite3_progress_handler(handle, 0, nil, nil) }
    // The callers may still hold statements. SQLite closes the connection when the last of them is finalized.
    sqlite3_close_v2(handle)
  }

  /// Returns a statement for a text. The connection keeps the statement for the next use of the same text.
  func statement(_ sql: String) throws -> SQLiteStatement {
    if let statement = statements[sql] { return statement }
    // The texts come from predicates, and a program can make any number of different predicates.
    if statements.count >= 500 { statements.removeAll() }
    let statement = try makeStatement(sql)
    statements[sql] = statement
    return statement
  }

  /// Returns a statement that serves one entity or join. The first use prepares it.
  func statement(_ key: StatementKey, _ sql: () -> String) throws -> SQLiteStatement {
    if let statement = numbered[key] { return statement }
    let statement = try makeStatement(sql())
    numbered[key] = statement
    return statement
  }

  /// Returns the statement that reads a row of an entity or its subentities by key.
  func rowStatement(_ index: Int, _ sql: () -> String) throws -> SQLiteStatement {
    try Self.statement(index, in: &rowStatements) { [handle, stores] in
      try SQLiteStatement(sql(), on: handle, of: stores)
    }
  }

  /// Returns the statement that reads a row of exactly one entity by key.
  func faultStatement(_ index: Int, _ sql: () -> String) throws -> SQLiteStatement {
    try Self.statement(index, in: &faultStatements) { [handle, stores] in
      try SQLiteStatement(sql(), on: handle, of: stores)
    }
  }

  /// Counts a lookup of a single row.
  @inline(__always) func countLookup() {
    if pageCache.countLookup() { pageCache.adapt(on: self) }
  }

  /// Gives the memory back that lookups needed.
  func shrinkCache() { pageCache.shrink(on: self) }

  private static func statement(
    _ index: Int, in list: inout [SQLiteStatement?], _ make: () throws -> SQLiteStatement
  ) throws -> SQLiteStatement {
    if index < list.count, let statement = list[index] { return statement }
    let statement = try make()
    while list.count <= index { list.append(nil) }
    list[index] = statement
    return statement
  }

  /// Prepares a statement that the caller keeps.
  package func makeStatement(_ sql: String) throws -> SQLiteStatement {
    try SQLiteStatement(sql, on: handle, of: stores)
  }

  /// Whether the open file was renamed, removed or replaced.
  var hasMoved: Bool {
    var result: Int32 = 0
    sqlite3_file_control(handle, "main", SQLITE_FCNTL_HAS_MOVED, &result)
    return result != 0
  }

  /// Sets how many seconds later statements wait for other writers.
  func wait(forOthers seconds: Double) {
    sqlite3_busy_timeout(handle, Int32(Self.bounded(seconds) * 1000))
  }

  /// A timeout within SQLite's range, which is a 32-bit number of milliseconds. NaN becomes 0.
  private static func bounded(_ seconds: Double) -> Double { seconds > 0 ? min(seconds, 1_000_000) : 0 }

  /// Runs a statement that returns no rows.
  package func execute(_ sql: String) throws {
    // The statement can be the first one that reads, or attach a file.
    let code = SeemingRollback.attempts(handle) { sqlite3_exec(handle, sql, nil, nil, nil) }
    guard code == SQLITE_OK else {
      throw StoreError(handle, of: stores, during: "running a statement")
    }
  }

  /// Returns the first column of the first row of a query; nil if there is no row.
  func scalar(_ sql: String) throws -> String? {
    let statement = try makeStatement(sql)
    return try statement.step() ? statement.string(0) : nil
  }

  /// Returns the rows of a query as strings.
  func rows(_ sql: String) throws -> [[String?]] {
    let statement = try makeStatement(sql)
    var rows: [[String?]] = []
    while try statement.step() {
      rows.append((0..<sqlite3_column_count(statement.handle)).map { statement.string($0) })
    }
    return rows
  }

  /// Runs a body in a read transaction, in which all reads see one state.
  func read<R>(_ body: () throws -> R) throws -> R {
    try execute("BEGIN")
    defer { if sqlite3_get_autocommit(handle) == 0 { try? execute("ROLLBACK") } }
    return try body()
  }

  /// Runs a body in a write transaction. If the body throws, nothing is changed.
  func write<R>(_ body: () throws -> R) throws -> R {
    try execute("BEGIN IMMEDIATE")
    do {
      let result = try body()
      try execute("COMMIT")
      return result
    } catch {
      // After some errors SQLite has already rolled back. A second rollback would only cause an irrelevant error.
      if sqlite3_get_autocommit(handle) == 0 { try? execute("ROLLBACK") }
      throw error
    }
  }
}
