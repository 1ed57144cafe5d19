import CSQLite

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The complete contents of a store, for a ``StoreFormat`` to write: the metadata, and the rows of each table.
///
/// ```swift
/// func write(_ contents: StoreContents, to output: StoreOutput) throws {
///   for table in contents.tables {
///     try output.write("\(table.name)\n")
///     try contents.forEachRow(of: table) { row in try output.write("\(row.count) values\n") }
///   }
/// }
/// ```
public final class StoreContents {
  /// The store's metadata, with its model. A format must write all entries unchanged, and later pass them to
  /// ``StoreBuilder/begin(metadata:)``.
  public let metadata: [String: String]
  /// The tables. A table may have no rows.
  public let tables: [StoreTable]

  private let rows: StoreRows
  private let connection: SQLiteConnection
  private let schema: String

  /// - Parameters:
  ///   - isCopy: Whether the contents are for a store with another name, which has no backups.
  ///   - entries: Metadata entries that replace the ones in the rows.
  init(
    _ rows: StoreRows, _ connection: SQLiteConnection, schema: String, isCopy: Bool = false,
    replacing entries: [String: String] = [:]
  ) throws {
    self.rows = rows
    self.connection = connection
    self.schema = schema
    tables = rows.tables
    var metadata: [String: String] = [:]
    for row in try connection.rows("SELECT \"key\", \"value\" FROM \(schema).\"_cdgen_metadata\"") {
      if let key = row[0], let value = row[1] { metadata[key] = value }
    }
    if isCopy { metadata["pendingBackup"] = nil }
    metadata.merge(entries) { _, new in new }
    metadata[StoreBuilder.entitiesKey] = rows.roots.joined(separator: " ")
    self.metadata = metadata
  }

  /// Calls a body with the values of each row of a table, in the order of the table's columns. Objects are in the order
  /// of their keys.
  ///
  /// - Throws: An error of the body, or ``StoreError``.
  public func forEachRow(of table: StoreTable, _ body: ([StoreValue]) throws -> Void) throws {
    guard tables.indices.contains(table.index) else { return }
    let statement = try connection.makeStatement(rows.parts[table.index].select(schema))
    var row = [StoreValue](repeating: .null, count: table.columns.count)
    let decimals = table.columns.indices.filter { table.columns[$0].type == .decimal }
    while try statement.step() {
      for column in row.indices { row[column] = statement.storeValue(Int32(truncatingIfNeeded: column)) }
      for column in decimals {
        // SQLite stores a sort key before the digits of a decimal. A format must not see it.
        if case .text(let text) = row[column], let blank = text.utf8.lastIndex(of: UInt8(ascii: " ")) {
          row[column] = .text(String(text[text.utf8.index(after: blank)...]))
        }
      }
      try body(row)
    }
  }
}

extension SQLiteStatement {
  func storeValue(_ column: Int32) -> StoreValue {
    switch sqlite3_column_type(handle, column) {
    case SQLITE_INTEGER: return .integer(sqlite3_column_int64(handle, column))
    case SQLITE_FLOAT: return .real(sqlite3_column_double(handle, column))
    case SQLITE_TEXT: return .text(string(column) ?? "")
    case SQLITE_BLOB:
      let bytes = sqlite3_column_blob(handle, column)
      let count = Int(sqlite3_column_bytes(handle, column))
      return .bytes(bytes.map { Data(bytes: $0, count: count) } ?? Data())
    default: return .null
    }
  }

  func bind(_ value: StoreValue, at parameter: Int32) {
    switch value {
    case .null: sqlite3_bind_null(handle, parameter)
    case .integer(let number): sqlite3_bind_int64(handle, parameter, number)
    case .real(let number): sqlite3_bind_double(handle, parameter, number)
    case .text(let text): bind(text, at: parameter)
    case .bytes(let data):
      _ = data.withUnsafeBytes { bytes in
        if bytes.isEmpty {
          sqlite3_bind_zeroblob(handle, parameter, 0)
        } else {
          sqlite3_bind_blob64(handle, parameter, bytes.baseAddress, UInt64(bytes.count), SQLite.copied)
        }
      }
    }
  }
}
