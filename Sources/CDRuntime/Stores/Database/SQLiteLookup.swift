import CSQLite

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A statement that finds objects by the value of one attribute. The caller keeps it for repeated use, so that a lookup
/// costs little more than SQLite's own search.
///
/// It supports only the types for which SQLite's `=` has the same result as a predicate's.
private final class SQLiteLookup: ValueLookup {
  private let session: SQLiteSession
  private let select: EntitySelect
  private let storageType: StorageType
  private let isInteger: Bool
  private let sql: String
  /// The statements without and with a limit of two rows.
  private var statements: [SQLiteStatement?] = [nil, nil]

  /// Returns nil for an attribute that `=` cannot compare like a predicate.
  init?(_ session: SQLiteSession, _ entity: EntityPlan, _ slot: PropertyPlan) {
    guard slot.isStored, case .attribute(_, let storageType) = slot.kind else { return nil }
    isInteger = storageType.integerRange != nil
    guard isInteger || storageType == .string || storageType == .bool || storageType == .uuid else {
      return nil
    }
    self.session = session
    self.storageType = storageType
    select = session.sql.selects[entity.index]
    let column = SQLText.quoted(entity.columns[slot.columns.lowerBound].name)
    sql =
      select.sql + " WHERE " + (select.condition.map { $0 + " AND " } ?? "")
      + "t0.\(column) = ?1 ORDER BY t0._pk"
  }

  @_optimize(speed)
  func withRows(
    of value: AttributeValue, isSingle: Bool, _ body: (RowCursor) throws -> Void
  ) throws -> Bool {
    if storageType == .string {
      // The text is copied once. A pair of value and type would be a second copy.
      guard case .string(var text) = value else { return false }
      let statement = try statement(isSingle)
      try text.withUTF8 { bytes in
        // SQLite uses the bytes without a copy. The statement has ended before the bytes become invalid.
        bytes.withMemoryRebound(to: CChar.self) {
          // SQLite would bind a nil address as NULL.
          let empty = $0.isEmpty || $0.baseAddress == nil
          _ =
            empty
            ? sqlite3_bind_text(statement.handle, 1, "", 0, SQLite.copied)
            : sqlite3_bind_text(statement.handle, 1, $0.baseAddress, Int32(clamping: $0.count), nil)
        }
        defer { sqlite3_bind_null(statement.handle, 1) }
        try body(RowCursor(statement, select))
      }
      return true
    }
    switch value {
    case .bool(let isTrue) where storageType == .bool: try withRows(isTrue ? 1 : 0, isSingle, body)
    case .int(let number) where isInteger: try withRows(number, isSingle, body)
    case .uuid(let uuid) where storageType == .uuid:
      let statement = try statement(isSingle)
      withUnsafeBytes(of: uuid.uuid) {
        _ = sqlite3_bind_blob(statement.handle, 1, $0.baseAddress, 16, SQLite.copied)
      }
      try body(RowCursor(statement, select))
    default: return false
    }
    return true
  }

  private func withRows(_ number: Int64, _ isSingle: Bool, _ body: (RowCursor) throws -> Void) throws {
    let statement = try statement(isSingle)
    statement.bind(number, at: 1)
    try body(RowCursor(statement, select))
  }

  private func statement(_ isSingle: Bool) throws -> SQLiteStatement {
    session.connection.countLookup()
    if let statement = statements[isSingle ? 1 : 0] { return statement }
    let statement = try session.connection.makeStatement(sql + (isSingle ? " LIMIT 2" : ""))
    statements[isSingle ? 1 : 0] = statement
    return statement
  }
}

extension SQLiteSession {
  func lookup(_ entity: EntityPlan, _ slot: PropertyPlan) -> (any ValueLookup)? {
    SQLiteLookup(self, entity, slot)
  }
}
