import CSQLite

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Conversion of SQLite's result codes to errors of a store.
extension StoreError {
  /// The last error of a connection.
  init(_ connection: OpaquePointer?, of stores: [URL], during operation: String) {
    if sqlite3_errcode(connection) == SQLITE_INTERRUPT, ScanGuard.hasEnded(connection) {
      self = .damaged(stores, reason: "some of its pages belong to several tables or form circles")
      return
    }
    let code = sqlite3_extended_errcode(connection)
    // Pages of two states do not fit together.
    if [SQLITE_CORRUPT, SQLITE_NOTADB].contains(code & 0xFF), let store = stores.first,
      ImmutableFile.hasChanged(connection)
    {
      self = .replaced(store)
      return
    }
    self.init(
      code: code, message: String(cString: sqlite3_errmsg(connection)),
      of: stores, during: operation)
  }

  /// - Parameters:
  /// - code: SQLite's extended result code. Its lowest byte is the primary code.
  /// - stores: The stores that the connection has open.
  @_optimize(none)
  init(code: Int32, message: String, of stores: [URL], during operation: String) {
    let reason = "\(message), SQLite's code \(code), while \(operation)"
    self =
      switch code & 0xFF {
      // Another connection removed the journal between SQLite's check and its own removal. So another connection uses
      // the same store.
      case SQLITE_IOERR where code == Self.journalRemoved: .busy(stores)
      // The file of shared memory beside the store could not grow.
      case SQLITE_IOERR where code == Self.memoryNotGrown: .diskFull(stores)
      // A store in memory that several connections share is locked in cases in which a file would be busy.
      case SQLITE_BUSY, SQLITE_LOCKED: .busy(stores)
      case SQLITE_FULL: .diskFull(stores)
      case SQLITE_NOTADB where stores.count == 1: .notADatabase(stores[0])
      case SQLITE_CORRUPT, SQLITE_NOTADB: .damaged(stores, reason: reason)
      // The open file was renamed, removed or replaced.
      case SQLITE_READONLY where code == Self.fileMoved && !stores.isEmpty: .replaced(stores[0])
      case SQLITE_READONLY: .notWritable(stores, reason: reason)
      case SQLITE_IOERR, SQLITE_CANTOPEN: .inputOutput(stores, reason: reason)
      // A table or column of the model is missing, although the store's hashes say that it exists.
      case SQLITE_ERROR where message.hasPrefix("no such "): .damaged(stores, reason: reason)
      default:
        .engine(
          stores,
          StoreEngineError(
            engine: Self.engineName, code: "\(code)", message: message, operation: operation,
            // With any extended code.
            isOfQuery: code & 0xFF == SQLITE_ERROR || code & 0xFF == SQLITE_TOOBIG))
      }
  }

  /// `SQLITE_IOERR_DELETE_NOENT`, a macro that Swift does not import.
  private static let journalRemoved: Int32 = SQLITE_IOERR | 23 << 8

  /// `SQLITE_IOERR_SHMSIZE`, a macro that Swift does not import.
  private static let memoryNotGrown: Int32 = SQLITE_IOERR | 19 << 8

  /// `SQLITE_READONLY_DBMOVED`, a macro that Swift does not import.
  private static let fileMoved: Int32 = SQLITE_READONLY | 4 << 8

  /// Whether reading may have failed because SQLite cannot create a journal or shared memory beside the file.
  var isUnwritableJournal: Bool {
    switch self {
    case .notWritable, .inputOutput, .diskFull: true
    default: false
    }
  }

  private static let engineName = "SQLite"

  /// SQLite's extended result code; nil for an error that has a case of its own, or that another engine has thrown.
  @_optimize(none)
  var sqliteCode: Int32? {
    if case .engine(_, let error) = self, error.engine == Self.engineName { Int32(error.code) } else { nil }
  }

  /// Whether a unique index or a primary key refused a row.
  var isUniquenessViolation: Bool {
    let code = sqliteCode
    // SQLITE_CONSTRAINT_UNIQUE and SQLITE_CONSTRAINT_PRIMARYKEY, which are macros in the C header.
    return code == SQLITE_CONSTRAINT | (8 << 8) || code == SQLITE_CONSTRAINT | (6 << 8)
  }

  /// Whether any constraint refused a row.
  var isConstraintViolation: Bool { sqliteCode.map { $0 & 0xFF == SQLITE_CONSTRAINT } ?? false }

  /// Whether another thread ended the statement.
  var isInterruption: Bool { sqliteCode.map { $0 & 0xFF == SQLITE_INTERRUPT } ?? false }

  /// Whether a foreign key refused a reference to a missing row.
  var isReferenceViolation: Bool {
    sqliteCode == SQLITE_CONSTRAINT | (3 << 8)
  }
}
