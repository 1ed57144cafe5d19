import CSQLite

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A connection that only reads the database of a Core Data store.
final class SourceDatabase {
  let files: SourceFiles
  private let handle: OpaquePointer
  private let budget: StepBudget

  var url: URL { files.url }

  /// Opens the database.
  ///
  /// - Parameter ignoresJournal: Whether to read only the file itself, without the journals beside it.
  init(_ url: URL, ignoresJournal: Bool = false) throws(CoreDataStoreError) {
    files = try SourceFiles(url, ignoresJournal: ignoresJournal)
    budget = StepBudget(bytes: files.size)
    let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX
    var opened: OpaquePointer?
    guard sqlite3_open_v2(files.uri, &opened, flags, nil) == SQLITE_OK, let opened else {
      defer { sqlite3_close_v2(opened) }
      throw Self.error(opened, url)
    }
    handle = opened
    sqlite3_extended_result_codes(handle, 1)
    csqlite_protect(handle)
    csqlite_defend(handle, 1)
    budget.watch(handle)
    sqlite3_busy_timeout(handle, 10_000)
    // The transaction reads one snapshot, as far as SQLite can guarantee it.
    try execute("PRAGMA cell_size_check = ON; PRAGMA query_only = ON; BEGIN")
    _ = try rows("SELECT 1 FROM sqlite_master LIMIT 1") { _ in }
  }

  deinit {
    budget.leave(handle)
    sqlite3_close_v2(handle)
  }

  private func execute(_ sql: String) throws(CoreDataStoreError) {
    guard sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else { throw Self.error(handle, url) }
  }

  /// - Parameter values: The number of values that the statement reads from each row.
  func statement(_ sql: String, values: Int = 8) throws(CoreDataStoreError) -> SourceStatement {
    var statement: OpaquePointer?
    budget.renew(values: values)
    guard sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK, let statement else {
      throw Self.error(handle, url)
    }
    return SourceStatement(statement, of: self)
  }

  /// The results of calling a function with each row of a statement.
  func rows<R>(_ sql: String, _ body: (SourceStatement) -> R) throws(CoreDataStoreError) -> [R] {
    let statement = try statement(sql)
    var result: [R] = []
    while try statement.step() { result.append(body(statement)) }
    return result
  }

  func number(_ sql: String) throws(CoreDataStoreError) -> Int64 {
    try rows(sql) { $0.integer(0) ?? 0 }.first ?? 0
  }

  var lastError: CoreDataStoreError { Self.error(handle, url) }

  private static func error(_ handle: OpaquePointer?, _ url: URL) -> CoreDataStoreError {
    guard let handle else { return .unreadable(url, reason: "no memory") }
    let code = sqlite3_extended_errcode(handle)
    let message = String(cString: sqlite3_errmsg(handle))
    return switch code & 0xFF {
    case SQLITE_NOTADB: .notADatabase(url)
    case SQLITE_CORRUPT: .damaged(url, reason: message)
    case SQLITE_INTERRUPT:
      .damaged(
        url, reason: "reading it takes more steps than a file of its size can need; its pages form circles")
    case SQLITE_BUSY, SQLITE_LOCKED: .changing(url)
    case SQLITE_CANTOPEN, SQLITE_IOERR, SQLITE_PERM, SQLITE_FULL: .unreadable(url, reason: message)
    default: .sqlite(url, code: code, message: message)
    }
  }

  /// A name in double quotes. Quotes are doubled by bytes, as SQLite reads them.
  static func quoted(_ name: String) -> String {
    let quote = UInt8(ascii: "\"")
    return "\"" + String(decoding: name.utf8.flatMap { $0 == quote ? [$0, $0] : [$0] }, as: UTF8.self) + "\""
  }

  /// A text in single quotes.
  static func literal(_ text: String) -> String {
    let quote = UInt8(ascii: "'")
    return "'" + String(decoding: text.utf8.flatMap { $0 == quote ? [$0, $0] : [$0] }, as: UTF8.self) + "'"
  }
}
