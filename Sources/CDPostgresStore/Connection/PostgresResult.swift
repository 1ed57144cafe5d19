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
    let (row, column) = (Int32(clamping: row), Int32(clamping: column))
    return UnsafeRawBufferPointer(
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
    let bytes = bytes(row, column)
    switch (type(column), bytes.count) {
    case (.int64, 8): return Int64(bigEndian: bytes.loadUnaligned(as: Int64.self))
    case (.int32, 4): return Int64(Int32(bigEndian: bytes.loadUnaligned(as: Int32.self)))
    case (.int16, 2): return Int64(Int16(bigEndian: bytes.loadUnaligned(as: Int16.self)))
    case (.bool, 1): return bytes[0] == 0 ? 0 : 1
    default: return nil
    }
  }

  func bool(_ row: Int, _ column: Int) -> Bool { int(row, column) != 0 }

  private func number(_ row: Int, _ column: Int) -> Double? {
    let bytes = bytes(row, column)
    switch (type(column), bytes.count) {
    case (.double, 8):
      return Double(bitPattern: UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)))
    case (.float, 4):
      return Double(Float(bitPattern: UInt32(bigEndian: bytes.loadUnaligned(as: UInt32.self))))
    default: return optionalInt(row, column).map(Double.init)
    }
  }

  func double(_ row: Int, _ column: Int) -> Double? { isNull(row, column) ? nil : number(row, column) }

  /// A text; nil for nil. The server's texts are valid UTF-8.
  func string(_ row: Int, _ column: Int) -> String? {
    isNull(row, column) ? nil : text(row, column)
  }

  private func text(_ row: Int, _ column: Int) -> String {
    let bytes = bytes(row, column)
    // libpq ends each value with a zero byte. This initialiser is much quicker than the general one.
    if let start = bytes.baseAddress,
      let text = String(validatingCString: start.assumingMemoryBound(to: CChar.self)),
      text.utf8.count == bytes.count
    {
      return text
    }
    return String(decoding: bytes, as: UTF8.self)
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
    let bytes = bytes(row, column)
    guard type(column) == .uuid, bytes.count == 16 else { return nil }
    return UUID(uuid: bytes.loadUnaligned(as: uuid_t.self))
  }

  /// The value of a column of a type. A value that the type does not have is returned in another form, which the reader
  /// of the row then reports.
  func value(_ row: Int, _ column: Int, _ storageType: StorageType) -> AttributeValue {
    if isNull(row, column) { return .null }
    switch storageType {
    case .string, .codable:
      if type(column) == .text { return .string(text(row, column)) }
    case .bool: if let number = optionalInt(row, column) { return .bool(number != 0) }
    case .int16, .int32, .int64: if let number = optionalInt(row, column) { return .int(number) }
    case .float, .double: if let number = number(row, column) { return .double(number) }
    case .decimal:
      if type(column) == .numeric {
        if let number = PostgresNumeric.decode(bytes(row, column)) { return .decimal(number) }
      } else if let number = optionalInt(row, column) {
        return .decimal(Decimal(number))
      }
    case .date:
      if let seconds = number(row, column) {
        return seconds.isFinite ? .date(Date(timeIntervalSinceReferenceDate: seconds)) : .double(seconds)
      }
    case .data:
      if type(column) == .bytes { return .data(Data(bytes(row, column))) }
    case .uuid: if let uuid = uuid(row, column) { return .uuid(uuid) }
    case .url:
      let text = text(row, column)
      return URL(string: text).map { .url($0) } ?? .string(text)
    }
    // No attribute has such a value.
    return .composite([:])
  }
}
