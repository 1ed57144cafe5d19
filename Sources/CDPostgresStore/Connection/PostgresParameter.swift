import CDModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The value of a statement's parameter.
enum PostgresParameter: Sendable {
  /// A value of the type that it has by itself. Nil has the type that the statement gives it.
  case value(AttributeValue)
  /// A value of a column's type, or nil.
  case typed(AttributeValue, PostgresType)
  /// Many values of one type.
  case array([AttributeValue], PostgresType)
  case keys([Int64])

  /// The number of the type; 0 if the server finds it.
  var type: UInt32 {
    switch self {
    case .value(let value): value.storageType.map { PostgresType($0).rawValue } ?? 0
    case .typed(_, let type): type.rawValue
    case .array(_, let type): type.array
    case .keys: PostgresType.int64.array
    }
  }
}

/// The bytes of values in the server's binary form.
struct PostgresBytes {
  private(set) var bytes: [UInt8] = []

  var count: Int { bytes.count }

  mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }

  mutating func append(_ word: some FixedWidthInteger) {
    withUnsafeBytes(of: word.bigEndian) { bytes.append(contentsOf: $0) }
  }

  /// Appends what stands before the rows of a COPY.
  mutating func appendCopyHeader() {
    bytes += [0x50, 0x47, 0x43, 0x4F, 0x50, 0x59, 0x0A, 0xFF, 0x0D, 0x0A, 0x00]
    append(Int32(0))
    append(Int32(0))
  }

  /// Appends a parameter.
  ///
  /// - Returns: Whether there is a value. Otherwise, nothing was appended.
  mutating func append(_ parameter: PostgresParameter) -> Bool {
    switch parameter {
    case .value(let value), .typed(let value, _): return append(value)
    case .array(let values, let type):
      beginArray(count: values.count, type)
      for value in values { appendField(value) }
    case .keys(let keys):
      beginArray(count: keys.count, .int64)
      for key in keys {
        append(Int32(8))
        append(key)
      }
    }
    return true
  }

  private mutating func beginArray(count: Int, _ type: PostgresType) {
    append(Int32(count == 0 ? 0 : 1))
    // Whether there may be NULL among the values.
    append(Int32(1))
    append(type.rawValue)
    if count == 0 { return }
    append(Int32(clamping: count))
    append(Int32(1))
  }

  /// Appends a value after its length, as arrays and COPY have them.
  mutating func appendField(_ value: AttributeValue) {
    let start = bytes.count
    append(Int32(-1))
    guard append(value) else { return }
    let count = Int32(clamping: bytes.count - start - 4)
    withUnsafeBytes(of: count.bigEndian) { source in
      for (index, byte) in source.enumerated() { bytes[start + index] = byte }
    }
  }

  private mutating func append(_ value: AttributeValue) -> Bool {
    switch value {
    case .null, .composite: return false
    case .bool(let value): bytes.append(value ? 1 : 0)
    case .int(let number): append(number)
    case .double(let number): append(number.bitPattern)
    case .decimal(let number):
      guard let encoded = PostgresNumeric.encode(number) else { return false }
      bytes += encoded
    case .string(let text): bytes.append(contentsOf: text.utf8)
    case .data(let data): bytes.append(contentsOf: data)
    case .uuid(let uuid): withUnsafeBytes(of: uuid.uuid) { bytes.append(contentsOf: $0) }
    default: return append(value.stored)
    }
    return true
  }
}
