import CDModel
import CDRuntime
import CSQLite

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A value as SQLite returns it.
enum SourceValue: Hashable, Sendable {
  case null
  case integer(Int64)
  case real(Double)
  case text(String)
  /// Text whose bytes are not UTF-8.
  case brokenText
  case bytes(Data)

  /// The type of the value, in words.
  var kind: String {
    switch self {
    case .null: "nothing"
    case .integer: "an integer"
    case .real: "a number"
    case .text: "text"
    case .brokenText: "text that is not UTF-8"
    case .bytes: "bytes"
    }
  }
}

/// A statement on the source database.
final class SourceStatement {
  private let statement: SQLiteStatement
  private let database: SourceDatabase

  init(_ statement: SQLiteStatement, of database: SourceDatabase) {
    self.statement = statement
    self.database = database
  }

  /// Moves to the next row. Returns false if there is none.
  func step() throws(CoreDataStoreError) -> Bool {
    do { return try statement.step() } catch { throw database.lastError }
  }

  /// Restarts the statement with a number as its parameter.
  func restart(_ number: Int64) {
    statement.reset()
    statement.bind(number, at: 1)
  }

  func integer(_ column: Int) -> Int64? {
    guard case .integer(let number) = value(column) else { return nil }
    return number
  }

  func text(_ column: Int) -> String? {
    guard case .text(let text) = value(column) else { return nil }
    return text
  }

  func value(_ column: Int) -> SourceValue {
    let handle = statement.handle
    let column = Int32(truncatingIfNeeded: column)
    switch sqlite3_column_type(handle, column) {
    case SQLITE_INTEGER: return .integer(sqlite3_column_int64(handle, column))
    case SQLITE_FLOAT: return .real(sqlite3_column_double(handle, column))
    case SQLITE_TEXT:
      guard let start = sqlite3_column_text(handle, column) else { return .brokenText }
      let count = Int(sqlite3_column_bytes(handle, column))
      let bytes = UnsafeBufferPointer(start: start, count: count)
      return String(validating: bytes, as: UTF8.self).map(SourceValue.text) ?? .brokenText
    case SQLITE_BLOB:
      guard let start = sqlite3_column_blob(handle, column) else { return .bytes(Data()) }
      return .bytes(Data(bytes: start, count: Int(sqlite3_column_bytes(handle, column))))
    default: return .null
    }
  }
}

extension SourceValue {
  /// The same value for a cdgen store.
  var stored: StoreValue {
    switch self {
    case .null, .brokenText: .null
    case .integer(let number): .integer(number)
    case .real(let number): .real(number)
    case .text(let text): .text(text)
    case .bytes(let data): .bytes(data)
    }
  }
}

extension StoreValue {
  /// The form in which a cdgen store stores a value; nil for null and for a composite.
  init?(storing value: AttributeValue) {
    if case .decimal(let number) = value {
      self = .text(number.description)
      return
    }
    switch value.stored {
    case .int(let number): self = .integer(number)
    case .double(let number): self = .real(number)
    case .string(let text): self = .text(text)
    case .data(let data): self = .bytes(data)
    default: return nil
    }
  }
}
