#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The type in which a column stores a value.
enum StorageType: Sendable {
  case string, bool, int16, int32, int64, float, double, decimal, date, data, uuid, url
  /// JSON as text.
  case codable

  /// The storage type of an attribute's type; nil for a composite and for an unknown enumeration.
  init?(_ type: AttributeType, in graph: EntityGraph) {
    switch type {
    case .string: self = .string
    case .bool: self = .bool
    case .int16: self = .int16
    case .int32: self = .int32
    case .int64: self = .int64
    case .float: self = .float
    case .double: self = .double
    case .decimal: self = .decimal
    case .date: self = .date
    case .data: self = .data
    case .uuid: self = .uuid
    case .url: self = .url
    case .codable: self = .codable
    case .enumeration(let name):
      guard let rawType = graph.enumeration(name)?.rawType else { return nil }
      if case .enumeration = rawType { return nil }
      self.init(rawType, in: graph)
    case .composite: return nil
    }
  }

  /// The value as the column stores it; nil for a value of another type. Integers are widened or narrowed if nothing is
  /// lost. Null fits every type. Zero has no sign: see ``AttributeValue/withPlainZero``.
  func fitted(_ value: AttributeValue) -> AttributeValue? {
    let value = value.withPlainZero
    return switch (self, value) {
    case (_, .null), (.string, .string), (.codable, .string), (.bool, .bool), (.int64, .int),
      (.double, .double), (.decimal, .decimal), (.date, .date), (.data, .data), (.uuid, .uuid),
      (.url, .url):
      value
    case (.int16, .int(let number)): Int16(exactly: number) == nil ? nil : value
    case (.int32, .int(let number)): Int32(exactly: number) == nil ? nil : value
    case (.float, .double(let number)): .double(Double(Float(number)))
    case (.float, .int(let number)): .double(Double(Float(number)))
    case (.double, .int(let number)): .double(Double(number))
    case (.decimal, .int(let number)): .decimal(Decimal(number))
    default: nil
    }
  }

  /// The value of a mandatory attribute before it is set.
  var empty: AttributeValue {
    switch self {
    case .string: .string("")
    case .bool: .bool(false)
    case .int16, .int32, .int64: .int(0)
    case .float, .double: .double(0)
    case .decimal: .decimal(EmptyValue.decimal)
    case .date: .date(EmptyValue.date)
    case .data: .data(EmptyValue.data)
    case .uuid: .uuid(EmptyValue.uuid)
    case .url: .url(EmptyValue.url)
    case .codable: .null
    }
  }
}

extension AttributeValue {
  /// The value with 0.0 instead of -0.0, as every store keeps it. SQLite writes a REAL that is an integer as an
  /// integer, which has no negative zero.
  var withPlainZero: AttributeValue {
    switch self {
    case .double(let number) where number == 0: .double(0)
    case .date(let date) where date.timeIntervalSinceReferenceDate == 0: .date(EmptyValue.date)
    default: self
    }
  }

  /// Whether the value is -0.0.
  var isMinusZero: Bool {
    switch self {
    case .double(let number): number == 0 && number.sign == .minus
    case .date(let date):
      date.timeIntervalSinceReferenceDate == 0 && date.timeIntervalSinceReferenceDate.sign == .minus
    default: false
    }
  }
}
