import CDModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The server's numbers of types.
enum PostgresType: UInt32, Sendable {
  case bool = 16
  case bytes = 17
  case int64 = 20
  case int16 = 21
  case int32 = 23
  case text = 25
  case float = 700
  case double = 701
  case numeric = 1700
  case uuid = 2950

  /// The type of a column.
  init(_ type: StorageType) {
    self =
      switch type {
      case .string, .codable, .url: .text
      case .bool: .bool
      case .int16, .int32, .int64: .int64
      case .float, .double, .date: .double
      case .decimal: .numeric
      case .data: .bytes
      case .uuid: .uuid
      }
  }

  /// The number of the type of arrays.
  var array: UInt32 {
    switch self {
    case .bool: 1000
    case .bytes: 1001
    case .int16: 1005
    case .int32: 1007
    case .text: 1009
    case .int64: 1016
    case .float: 1021
    case .double: 1022
    case .numeric: 1231
    case .uuid: 2951
    }
  }

  /// The name of the type in statements.
  var name: String {
    switch self {
    case .bool: "boolean"
    case .bytes: "bytea"
    case .int16: "smallint"
    case .int32: "integer"
    case .int64: "bigint"
    case .text: "text"
    case .float: "real"
    case .double: "double precision"
    case .numeric: "numeric"
    case .uuid: "uuid"
    }
  }
}

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
    case .value(let value): Self.type(of: value)?.rawValue ?? 0
    case .typed(_, let type): type.rawValue
    case .array(_, let type): type.array
    case .keys: PostgresType.int64.array
    }
  }

  private static func type(of value: AttributeValue) -> PostgresType? {
    switch value {
    case .null, .composite: nil
    case .bool: .bool
    case .int: .int64
    case .double, .date: .double
    case .decimal: .numeric
    case .string, .url: .text
    case .data: .bytes
    case .uuid: .uuid
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
    case .date(let date): append(date.timeIntervalSinceReferenceDate.bitPattern)
    case .decimal(let number):
      guard let encoded = PostgresNumeric.encode(number) else { return false }
      bytes += encoded
    case .string(let text): bytes.append(contentsOf: text.utf8)
    case .url(let url): bytes.append(contentsOf: url.absoluteString.utf8)
    case .data(let data): bytes.append(contentsOf: data)
    case .uuid(let uuid): withUnsafeBytes(of: uuid.uuid) { bytes.append(contentsOf: $0) }
    }
    return true
  }
}
