#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension StorageType {
  /// The storage type of an attribute's type; nil for a composite and for an unknown enumeration.
  package init?(_ type: AttributeType, in graph: EntityGraph) {
    switch type {
    case .codable: self = .codable
    case .enumeration(let name):
      guard let rawType = graph.enumeration(name)?.rawType else { return nil }
      if case .enumeration = rawType { return nil }
      self.init(rawType, in: graph)
    default:
      guard let traits = type.traits else { return nil }
      self = traits.storageType
    }
  }

  /// The value as the column stores it; nil for a value of another type. Integers are widened or narrowed if nothing is
  /// lost. Null fits every type. Zero has no sign: see ``AttributeValue/withPlainZero``.
  package func fitted(_ value: AttributeValue) -> AttributeValue? {
    let value = value.withPlainZero
    switch (self, value) {
    case (_, .null), (.int64, .int), (.codable, .string): return value
    case (.float, .double(let number)): return .double(Double(Float(number)))
    case (.float, .int(let number)): return .double(Double(Float(number)))
    case (.double, .int(let number)): return .double(Double(number))
    case (.decimal, .int(let number)): return .decimal(Decimal(number))
    case (_, .int(let number)): return integerRange?.contains(number) == true ? value : nil
    default: return value.storageType == self ? value : nil
    }
  }

  /// The value of a mandatory attribute before it is set.
  package var empty: AttributeValue { traits?.empty ?? .null }

  /// Whether an attribute can be set to a value of the type that no store accepts.
  package var hasNotANumber: Bool { storageClass == .real || self == .decimal }
}

extension AttributeValue {
  /// Stands for the value of a codable attribute that cannot be encoded. The other values of such an attribute are
  /// strings or null.
  static let unencodable = AttributeValue.data(Data())

  /// The value with 0.0 instead of -0.0, as every store keeps it. SQLite writes a REAL that is an integer as an
  /// integer, which has no negative zero.
  package var withPlainZero: AttributeValue {
    switch self {
    case .double(let number) where number == 0: .double(0)
    case .date(let date) where date.timeIntervalSinceReferenceDate == 0: .date(EmptyValue.date)
    default: self
    }
  }

  /// Whether the value is a URL with an empty text, which `URLComponents` makes of an empty text. The stores keep the text of
  /// a URL, and Foundation makes no URL of an empty text that is read.
  var isEmptyURL: Bool {
    if case .url(let url) = self { url.absoluteString.isEmpty } else { false }
  }

  /// Whether the value is -0.0.
  package var isMinusZero: Bool {
    switch self {
    case .double(let number): number == 0 && number.sign == .minus
    case .date(let date):
      date.timeIntervalSinceReferenceDate == 0 && date.timeIntervalSinceReferenceDate.sign == .minus
    default: false
    }
  }
}
