#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A value of an attribute, or a constant of an expression.
///
/// One case is used for all integer types, and one for `Float` and `Double`. The attribute's type distinguishes them.
public enum AttributeValue: Sendable {
  /// No value.
  case null
  /// True or false.
  case bool(Bool)
  /// An integer of any of the integer types.
  case int(Int64)
  /// A `Float` or a `Double`.
  case double(Double)
  /// A decimal number.
  case decimal(Decimal)
  /// Text.
  case string(String)
  /// A point in time.
  case date(Date)
  /// Bytes.
  case data(Data)
  /// A universally unique identifier.
  case uuid(UUID)
  /// A uniform resource locator.
  case url(URL)
  /// A composite's fields by name.
  case composite([String: AttributeValue])
}

/// Two values are equal if all their bits are equal. So equal models have the same canonical text, and a predicate can
/// be the key of a cache.
///
/// Swift's own equality differs: it treats `é` and `e` with a combining accent as the same string, and 0.0 and -0.0 as
/// the same number, and NaN is not even equal to itself. Predicates compare values in a third way, in which 1 and 1.0
/// are equal.
extension AttributeValue: Hashable {
  public static func == (lhs: AttributeValue, rhs: AttributeValue) -> Bool {
    switch (lhs, rhs) {
    case (.null, .null): true
    case (.bool(let left), .bool(let right)): left == right
    case (.int(let left), .int(let right)): left == right
    case (.double(let left), .double(let right)): left.bitPattern == right.bitPattern
    case (.decimal(let left), .decimal(let right)): left == right
    case (.string(let left), .string(let right)): left.utf8.elementsEqual(right.utf8)
    case (.date(let left), .date(let right)):
      left.timeIntervalSinceReferenceDate.bitPattern == right.timeIntervalSinceReferenceDate.bitPattern
    case (.data(let left), .data(let right)): left == right
    case (.uuid(let left), .uuid(let right)): left == right
    case (.url(let left), .url(let right)): left == right
    case (.composite(let left), .composite(let right)): left == right
    default: false
    }
  }

  public func hash(into hasher: inout Hasher) {
    switch self {
    case .null: hasher.combine(0)
    case .bool(let value): hasher.combine(value)
    case .int(let value): hasher.combine(value)
    case .double(let value): hasher.combine(value.bitPattern)
    case .decimal(let value): hasher.combine(value)
    // Swift gives canonically equivalent strings the same hash, so strings with the same code units have the same hash
    // too.
    case .string(let value): hasher.combine(value)
    case .date(let value): hasher.combine(value.timeIntervalSinceReferenceDate.bitPattern)
    case .data(let value): hasher.combine(value)
    case .uuid(let value): hasher.combine(value)
    case .url(let value): hasher.combine(value)
    case .composite(let fields): hasher.combine(fields)
    }
  }
}

extension AttributeValue {
  /// The value in the description of an object: long texts are cut, and data is shown by its size.
  package var excerpt: String {
    switch self {
    case .null: "nil"
    case .bool(let value): "\(value)"
    case .int(let number): "\(number)"
    case .double(let number): "\(number)"
    case .decimal(let number): "\(number)"
    case .string(let text): "\"\(text.prefix(40))\(text.dropFirst(40).isEmpty ? "" : "…")\""
    case .date(let date): "\(date)"
    case .data(let data): "\(data.count) bytes"
    case .uuid(let id): id.uuidString
    case .url(let url): url.absoluteString
    case .composite(let fields):
      "{" + fields.orderedByKey().map { "\($0.key): \($0.value.excerpt)" }.joined(separator: ", ")
        + "}"
    }
  }
}
