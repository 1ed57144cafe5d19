import CDModel
import CPostgreSQL

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The rows that a statement returned, in the server's binary form.
final class PostgresResult {
  private let handle: OpaquePointer
  let rowCount: Int
  /// The types of the columns; nil for a type that no attribute has.
  private let types: [PostgresType?]

  /// - Parameter handle: A result of libpq, which this object frees.
  init(_ handle: OpaquePointer) {
    self.handle = handle
    rowCount = Int(PQntuples(handle))
    types = (0..<PQnfields(handle)).map { PostgresType(rawValue: PQftype(handle, $0)) }
  }

  deinit { PQclear(handle) }

  var columnCount: Int { types.count }

  /// The number of rows that the statement inserted, updated or deleted.
  var affectedCount: Int { Int(String(cString: PQcmdTuples(handle))) ?? 0 }

  /// The name of the command that was executed, such as `COMMIT`.
  var command: String { String(cString: PQcmdStatus(handle)) }

  // MARK: Values

  private func bytes(_ row: Int, _ column: Int) -> UnsafeRawBufferPointer {
    bytes(Int32(clamping: row), Int32(clamping: column))
  }

  private func bytes(_ row: Int32, _ column: Int32) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(
      start: PQgetvalue(handle, row, column), count: Int(PQgetlength(handle, row, column)))
  }

  private func type(_ column: Int) -> PostgresType? {
    types.indices.contains(column) ? types[column] : nil
  }

  func isNull(_ row: Int, _ column: Int) -> Bool {
    guard types.indices.contains(column), row < rowCount else { return true }
    return PQgetisnull(handle, Int32(clamping: row), Int32(clamping: column)) == 1
  }

  /// An integer; 0 for nil and for a value of another type.
  func int(_ row: Int, _ column: Int) -> Int64 { optionalInt(row, column) ?? 0 }

  /// An integer; nil for nil and for a value of another type.
  func optionalInt(_ row: Int, _ column: Int) -> Int64? {
    if isNull(row, column) { return nil }
    return Self.int(bytes(row, column), type(column))
  }

  func bool(_ row: Int, _ column: Int) -> Bool { int(row, column) != 0 }

  func double(_ row: Int, _ column: Int) -> Double? {
    isNull(row, column) ? nil : Self.number(bytes(row, column), type(column))
  }

  /// A text; nil for nil. The server's texts are valid UTF-8.
  func string(_ row: Int, _ column: Int) -> String? {
    isNull(row, column) ? nil : Self.text(bytes(row, column))
  }

  func decimal(_ row: Int, _ column: Int) -> Decimal? {
    if isNull(row, column) || type(column) != .numeric { return nil }
    return PostgresNumeric.decode(bytes(row, column))
  }

  /// The bytes of a value, whatever its type is.
  func data(_ row: Int, _ column: Int) -> Data { isNull(row, column) ? Data() : Data(bytes(row, column)) }

  /// The number of bytes of a value.
  func size(_ row: Int, _ column: Int) -> Int { bytes(row, column).count }

  func uuid(_ row: Int, _ column: Int) -> UUID? {
    if isNull(row, column) { return nil }
    return Self.uuid(bytes(row, column), type(column))
  }

  /// The value of a column of a type. A value that the type does not have is returned in another form, which the reader
  /// of the row then reports.
  func value(_ row: Int, _ column: Int, _ storageType: StorageType) -> AttributeValue {
    guard row < rowCount else { return .null }
    return value(Int32(clamping: row), self.column(column, storageType))
  }
}

/// A column of a result, as an attribute reads it.
struct ResultColumn {
  /// The number of the column; negative if the result does not have it.
  fileprivate let number: Int32
  fileprivate let type: PostgresType?
  fileprivate let storageType: StorageType
}

// Columns that are looked up once, and then read in many rows.
extension PostgresResult {
  /// A column by its number, which the result may not have.
  func column(_ number: Int, _ storageType: StorageType) -> ResultColumn {
    let exists = types.indices.contains(number)
    return ResultColumn(
      number: exists ? Int32(clamping: number) : -1, type: exists ? types[number] : nil,
      storageType: storageType)
  }

  // libpq says of a row that does not exist that its values are NULL.
  func isNull(_ row: Int32, _ column: ResultColumn) -> Bool {
    column.number < 0 || PQgetisnull(handle, row, column.number) == 1
  }

  /// Whether the value of a column in a row has no bytes, and is not NULL.
  func isEmpty(_ row: Int32, _ column: ResultColumn) -> Bool {
    !isNull(row, column) && PQgetlength(handle, row, column.number) == 0
  }

  /// An integer in a row; 0 for nil and for a value of another type.
  func int(_ row: Int32, _ column: ResultColumn) -> Int64 {
    column.number < 0 ? 0 : Self.int(bytes(row, column.number), column.type) ?? 0
  }

  /// The value of a column in a row, as the attribute of a storage type reads it.
  @inline(__always)
  func value(_ row: Int32, _ column: ResultColumn) -> AttributeValue {
    if column.number < 0 { return .null }
    let bytes = bytes(row, column.number)
    // Only a value without bytes may be NULL.
    if bytes.isEmpty, PQgetisnull(handle, row, column.number) == 1 { return .null }
    switch column.storageType {
    case .string, .codable:
      if column.type == .text { return .string(Self.text(bytes)) }
    case .bool: if let number = Self.int(bytes, column.type) { return .bool(number != 0) }
    case .int16, .int32, .int64: if let number = Self.int(bytes, column.type) { return .int(number) }
    case .float, .double: if let number = Self.number(bytes, column.type) { return .double(number) }
    case .decimal:
      if column.type == .numeric {
        if let number = PostgresNumeric.decode(bytes) { return .decimal(number) }
      } else if let number = Self.int(bytes, column.type) {
        return .decimal(Decimal(number))
      }
    case .date:
      if let seconds = Self.number(bytes, column.type) {
        return seconds.isFinite ? .date(Date(timeIntervalSinceReferenceDate: seconds)) : .double(seconds)
      }
    case .data:
      if column.type == .bytes { return .data(Data(bytes)) }
    case .uuid: if let uuid = Self.uuid(bytes, column.type) { return .uuid(uuid) }
    default:
      let stored = Self.stored(bytes, column)
      return AttributeValue(stored: stored, of: column.storageType) ?? stored
    }
    // No attribute has such a value.
    return .composite([:])
  }
}

// Values in the server's binary form.
extension PostgresResult {
  /// The stored form of a value whose type the server does not have.
  private static func stored(_ bytes: UnsafeRawBufferPointer, _ column: ResultColumn) -> AttributeValue {
    switch column.storageType.storageClass {
    case .integer: Self.int(bytes, column.type).map { .int($0) } ?? .composite([:])
    case .real: Self.number(bytes, column.type).map { .double($0) } ?? .composite([:])
    case .text: .string(Self.text(bytes))
    case .bytes: .data(Data(bytes))
    }
  }

  @inline(__always) private static func int(_ bytes: UnsafeRawBufferPointer, _ type: PostgresType?) -> Int64?
  {
    switch (type, bytes.count) {
    case (.int64, 8): return Int64(bigEndian: bytes.loadUnaligned(as: Int64.self))
    case (.int32, 4): return Int64(Int32(bigEndian: bytes.loadUnaligned(as: Int32.self)))
    case (.int16, 2): return Int64(Int16(bigEndian: bytes.loadUnaligned(as: Int16.self)))
    case (.bool, 1): return bytes[0] == 0 ? 0 : 1
    default: return nil
    }
  }

  private static func number(_ bytes: UnsafeRawBufferPointer, _ type: PostgresType?) -> Double? {
    switch (type, bytes.count) {
    case (.double, 8):
      return Double(bitPattern: UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)))
    case (.float, 4):
      return Double(Float(bitPattern: UInt32(bigEndian: bytes.loadUnaligned(as: UInt32.self))))
    default: return int(bytes, type).map(Double.init)
    }
  }

  private static func text(_ bytes: UnsafeRawBufferPointer) -> String {
    // libpq ends each value with a zero byte. This initialiser is much quicker than the general one.
    if let start = bytes.baseAddress,
      let text = String(validatingCString: start.assumingMemoryBound(to: CChar.self)),
      text.utf8.count == bytes.count
    {
      return text
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  private static func uuid(_ bytes: UnsafeRawBufferPointer, _ type: PostgresType?) -> UUID? {
    guard type == .uuid, bytes.count == 16 else { return nil }
    return UUID(uuid: bytes.loadUnaligned(as: uuid_t.self))
  }
}
