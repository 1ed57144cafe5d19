import CDRuntime
import CSQLite

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A connection that only reads the database of a Core Data store.
final class SourceDatabase {
  // Released before `files`, because Swift releases properties in the order of their declarations. SQLite must close its files
  // before a copy of them is removed.
  private let connection: SQLiteConnection
  let files: SourceFiles
  private let budget: StepBudget

  var url: URL { files.url }

  /// Opens the database.
  ///
  /// - Parameter ignoresJournal: Whether to read only the file itself, without the journals beside it.
  init(_ url: URL, ignoresJournal: Bool = false) throws(CoreDataStoreError) {
    files = try SourceFiles(url, ignoresJournal: ignoresJournal)
    budget = StepBudget(bytes: files.size)
    do {
      connection = try SQLiteConnection(path: files.uri, of: [url], evaluatesPredicates: false)
    } catch StoreError.inputOutput(_, let reason) {
      throw .unreadable(url, reason: reason)
    } catch { throw .unreadable(url, reason: "\(error)") }
    budget.watch(connection.handle)
    // `quick_check` would evaluate the constraints of all tables. One function in them can take any time and memory in a
    // single step, which the budget does not see. Core Data writes no such constraints.
    try execute("PRAGMA ignore_check_constraints = ON; PRAGMA cell_size_check = ON; PRAGMA query_only = ON")
    // The transaction reads one snapshot, as far as SQLite can guarantee it.
    try execute("BEGIN")
    _ = try rows("SELECT 1 FROM sqlite_master LIMIT 1") { _ in }
  }

  deinit { budget.leave(connection.handle) }

  private func execute(_ sql: String) throws(CoreDataStoreError) {
    do { try connection.execute(sql) } catch { throw lastError }
  }

  /// - Parameter values: The number of values that the statement reads from each row.
  func statement(_ sql: String, values: Int = 8) throws(CoreDataStoreError) -> SourceStatement {
    budget.renew(values: values)
    do { return SourceStatement(try connection.makeStatement(sql), of: self) } catch { throw lastError }
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

  /// The error of the last operation that has failed. The connection's own errors speak of the app's stores.
  var lastError: CoreDataStoreError {
    let code = sqlite3_extended_errcode(connection.handle)
    let message = String(cString: sqlite3_errmsg(connection.handle))
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
}
