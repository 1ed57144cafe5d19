#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A Swift value that an attribute can have.
///
/// Your own type can be used in fetches, by the value that the attribute has:
///
/// ```swift
/// struct Money: AttributeValueConvertible {
///   typealias Comparand = NumberComparand
///   var cents: Int64
///   var attributeValue: AttributeValue { .decimal(Decimal(cents) / 100) }
/// }
/// ```
public protocol AttributeValueConvertible: Sendable {
  /// The type by which a query decides whether two attributes can be compared. Numbers of all types can be compared
  /// with each other; other values only with values of their own type, optional or not.
  associatedtype Comparand = Self
  /// The value as an attribute value. An enumeration returns its raw value, nil returns `AttributeValue.null`.
  var attributeValue: AttributeValue { get }
}

/// A Swift type of attributes, whose values can be made of attribute values.
protocol AttributeValueReadable: AttributeValueConvertible {
  /// Nil for a value of another type, and for nil.
  init?(attributeValue value: AttributeValue)
}

extension AttributeValue: AttributeValueConvertible {
  public var attributeValue: AttributeValue { self }
}
extension String: AttributeValueConvertible, AttributeValueReadable {
  public var attributeValue: AttributeValue { .string(self) }
  init?(attributeValue value: AttributeValue) {
    guard case .string(let text) = value else { return nil }
    self = text
  }
}
extension Bool: AttributeValueConvertible, AttributeValueReadable {
  public typealias Comparand = NumberComparand
  public var attributeValue: AttributeValue { .bool(self) }
  init?(attributeValue value: AttributeValue) {
    guard case .bool(let flag) = value else { return nil }
    self = flag
  }
}
extension AttributeValueReadable where Self: FixedWidthInteger {
  init?(attributeValue value: AttributeValue) {
    guard case .int(let number) = value else { return nil }
    self.init(exactly: number)
  }
}
extension Int: AttributeValueConvertible, AttributeValueReadable {
  public typealias Comparand = NumberComparand
  public var attributeValue: AttributeValue { .int(Int64(self)) }
}
extension Int16: AttributeValueConvertible, AttributeValueReadable {
  public typealias Comparand = NumberComparand
  public var attributeValue: AttributeValue { .int(Int64(self)) }
}
extension Int32: AttributeValueConvertible, AttributeValueReadable {
  public typealias Comparand = NumberComparand
  public var attributeValue: AttributeValue { .int(Int64(self)) }
}
extension Int64: AttributeValueConvertible, AttributeValueReadable {
  public typealias Comparand = NumberComparand
  public var attributeValue: AttributeValue { .int(self) }
}
extension Float: AttributeValueConvertible, AttributeValueReadable {
  public typealias Comparand = NumberComparand
  public var attributeValue: AttributeValue { .double(Double(self)) }
  init?(attributeValue value: AttributeValue) {
    guard case .double(let number) = value else { return nil }
    self = Float(number)
  }
}
extension Double: AttributeValueConvertible, AttributeValueReadable {
  public typealias Comparand = NumberComparand
  public var attributeValue: AttributeValue { .double(self) }
  init?(attributeValue value: AttributeValue) {
    switch value {
    case .double(let number): self = number
    case .int(let number): self = Double(number)
    case .decimal(let number): self = number.double
    default: return nil
    }
  }
}
extension Decimal {
  /// The double nearest to the decimal; NaN for NaN. The way by the text is exact on all platforms.
  var double: Double { Double(description) ?? .nan }
}
extension Decimal: AttributeValueConvertible, AttributeValueReadable {
  public typealias Comparand = NumberComparand
  public var attributeValue: AttributeValue { .decimal(self) }
  init?(attributeValue value: AttributeValue) {
    switch value {
    case .decimal(let number): self = number
    case .int(let number): self = Decimal(number)
    default: return nil
    }
  }
}
extension Date: AttributeValueConvertible, AttributeValueReadable {
  public var attributeValue: AttributeValue { .date(self) }
  init?(attributeValue value: AttributeValue) {
    guard case .date(let date) = value else { return nil }
    self = date
  }
}
extension Data: AttributeValueConvertible, AttributeValueReadable {
  public var attributeValue: AttributeValue { .data(self) }
  init?(attributeValue value: AttributeValue) {
    guard case .data(let data) = value else { return nil }
    self = data
  }
}
extension UUID: AttributeValueConvertible, AttributeValueReadable {
  public var attributeValue: AttributeValue { .uuid(self) }
  init?(attributeValue value: AttributeValue) {
    guard case .uuid(let uuid) = value else { return nil }
    self = uuid
  }
}
extension URL: AttributeValueConvertible, AttributeValueReadable {
  public var attributeValue: AttributeValue { .url(self) }
  init?(attributeValue value: AttributeValue) {
    guard case .url(let url) = value else { return nil }
    self = url
  }
}
extension Optional: AttributeValueConvertible where Wrapped: AttributeValueConvertible {
  public typealias Comparand = Wrapped.Comparand
  public var attributeValue: AttributeValue { self?.attributeValue ?? .null }
}

/// A marker for types whose values are numbers. Numbers of different types are compared by value.
///
/// It allows comparing an `Int16?` with an `Int`, but neither of them with a string:
///
/// ```swift
/// let books = try Book.fetch(where: { $0.pages > $0.reviews.count }, in: context)
/// ```
public enum NumberComparand {}

// MARK: Types that are known at run time only

extension AttributeValue {
  /// Returns the value as an attribute's type; nil if the value has another type.
  func decoded<T>(as type: T.Type = T.self) -> T? {
    if let type = type as? any EnumAttribute.Type { return Self.enumeration(type, self) as? T }
    return (T.self as? any AttributeValueReadable.Type).flatMap { $0.init(attributeValue: self) as? T }
  }

  /// For optional types. Returns `.none` if the value has another type, `.some(nil)` if it is nil.
  func decodedOptional<T>() -> T?? {
    if case .null = self { return .some(nil) }
    return decoded(as: T.self).map { .some($0) }
  }

  private static func enumeration<E: EnumAttribute>(_ type: E.Type, _ value: AttributeValue) -> E? {
    value.decoded(as: E.RawValue.self).flatMap { E(rawValue: $0) }
  }

  /// Returns the value as an attribute's type, which can be an optional type; nil if the value has another type.
  func decodedNilOrValue<T>(as type: T.Type) -> T? {
    if let value = decoded(as: type) { return value }
    return (type as? any OptionalDecoding.Type)?.decoded(self) as? T
  }
}

/// An optional of any wrapped type.
private protocol OptionalDecoding {
  static func decoded(_ value: AttributeValue) -> Any?
}

extension Optional: OptionalDecoding {
  fileprivate static func decoded(_ value: AttributeValue) -> Any? {
    if case .null = value { return Wrapped?.none as Any }
    return value.decoded(as: Wrapped.self).map { Wrapped?.some($0) as Any }
  }
}
