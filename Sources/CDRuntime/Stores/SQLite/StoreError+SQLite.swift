import CSQLite

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// What SQLite's result codes mean to whoever uses a store.
extension StoreError {
  /// The error that a connection has just had.
  init(_ connection: OpaquePointer?, of stores: [URL], during operation: String) {
    if sqlite3_errcode(connection) == SQLITE_INTERRUPT, ScanGuard.hasEnded(connection) {
      self = .damaged(stores, reason: "some of its pages belong to several tables or lead in circles")
      return
    }
    self.init(
      code: sqlite3_extended_errcode(connection), message: String(cString: sqlite3_errmsg(connection)),
      of: stores, during: operation)
  }

  /// - Parameters:
  ///   - code: SQLite's extended result code, whose lowest byte is the primary one.
  ///   - stores: The stores that the connection has open.
  init(code: Int32, message: String, of stores: [URL], during operation: String) {
    let reason = "\(message), SQLite's code \(code), while \(operation)"
    self =
      switch code & 0xFF {
      // A journal has gone between a look at it and its removal: another connection is at the same store.
      case SQLITE_IOERR where code == Self.journalTakenAway: .busy(stores)
      // A memory store that several connections share is locked where a file is busy.
      case SQLITE_BUSY, SQLITE_LOCKED: .busy(stores)
      case SQLITE_FULL: .diskFull(stores)
      case SQLITE_NOTADB where stores.count == 1: .notADatabase(stores[0])
      case SQLITE_CORRUPT, SQLITE_NOTADB: .damaged(stores, reason: reason)
      // The file that was opened has another name by now, or none.
      case SQLITE_READONLY where code == Self.movedAway && !stores.isEmpty: .replaced(stores[0])
      case SQLITE_READONLY: .notWritable(stores, reason: reason)
      case SQLITE_IOERR, SQLITE_CANTOPEN: .inputOutput(stores, reason: reason)
      // A table or a column of the model, which the hashes say the store has.
      case SQLITE_ERROR where message.hasPrefix("no such "): .damaged(stores, reason: reason)
      default: .sqlite(stores, code: code, message: message, during: operation)
      }
  }

  /// `SQLITE_IOERR_DELETE_NOENT`, a macro that Swift does not see.
  private static let journalTakenAway: Int32 = SQLITE_IOERR | 23 << 8

  /// `SQLITE_READONLY_DBMOVED`, a macro that Swift does not see.
  private static let movedAway: Int32 = SQLITE_READONLY | 4 << 8

  /// Whether a file could not be read for want of the right to keep a journal beside it.
  var isHinderedJournal: Bool {
    switch self {
    case .notWritable, .inputOutput: true
    default: false
    }
  }

  /// Whether a unique index or a primary key refused a row.
  var isUniquenessViolation: Bool {
    guard case .sqlite(_, let code, _, _) = self else { return false }
    // SQLITE_CONSTRAINT_UNIQUE and SQLITE_CONSTRAINT_PRIMARYKEY, which the C header composes by macros.
    return code == SQLITE_CONSTRAINT | (8 << 8) || code == SQLITE_CONSTRAINT | (6 << 8)
  }

  /// Whether a reference would lead to no object.
  var isReferenceViolation: Bool {
    guard case .sqlite(_, let code, _, _) = self else { return false }
    return code == SQLITE_CONSTRAINT | (3 << 8)
  }
}

extension StoreError {
  /// Whether a statement is at fault, and not the store.
  var isOfStatement: Bool {
    // SQLITE_ERROR and SQLITE_TOOBIG, whatever further their codes say.
    if case .sqlite(_, let code, _, _) = self { return code & 0xFF == 1 || code & 0xFF == 18 }
    return false
  }
}
