#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A Swift value that an attribute can have.
///
/// A type of one's own takes part in fetches by the value that the attribute has:
///
/// ```swift
/// struct Money: AttributeValueConvertible {
///   typealias Comparand = NumberComparand
///   var cents: Int64
///   var attributeValue: AttributeValue { .decimal(Decimal(cents) / 100) }
/// }
/// ```
public protocol AttributeValueConvertible: Sendable {
  /// What two attributes that a query compares with each other must have in common: numbers of all types are
  /// comparable, other values with those of their own type, optional or not.
  associatedtype Comparand = Self
  /// The value as the model knows it. An enumeration gives its raw value, nil gives `AttributeValue.null`.
  var attributeValue: AttributeValue { get }
}

extension AttributeValue: AttributeValueConvertible {
  public var attributeValue: AttributeValue { self }
}
extension String: AttributeValueConvertible {
  public var attributeValue: AttributeValue { .string(self) }
}
extension Bool: AttributeValueConvertible {
  public typealias Comparand = NumberComparand
  public var attributeValue: AttributeValue { .bool(self) }
}
extension Int: AttributeValueConvertible {
  public typealias Comparand = NumberComparand
  public var attributeValue: AttributeValue { .int(Int64(self)) }
}
extension Int16: AttributeValueConvertible {
  public typealias Comparand = NumberComparand
  public var attributeValue: AttributeValue { .int(Int64(self)) }
}
extension Int32: AttributeValueConvertible {
  public typealias Comparand = NumberComparand
  public var attributeValue: AttributeValue { .int(Int64(self)) }
}
extension Int64: AttributeValueConvertible {
  public typealias Comparand = NumberComparand
  public var attributeValue: AttributeValue { .int(self) }
}
extension Float: AttributeValueConvertible {
  public typealias Comparand = NumberComparand
  public var attributeValue: AttributeValue { .double(Double(self)) }
}
extension Double: AttributeValueConvertible {
  public typealias Comparand = NumberComparand
  public var attributeValue: AttributeValue { .double(self) }
}
extension Decimal: AttributeValueConvertible {
  public typealias Comparand = NumberComparand
  public var attributeValue: AttributeValue { .decimal(self) }
}
extension Date: AttributeValueConvertible {
  public var attributeValue: AttributeValue { .date(self) }
}
extension Data: AttributeValueConvertible {
  public var attributeValue: AttributeValue { .data(self) }
}
extension UUID: AttributeValueConvertible {
  public var attributeValue: AttributeValue { .uuid(self) }
}
extension URL: AttributeValueConvertible {
  public var attributeValue: AttributeValue { .url(self) }
}
extension Optional: AttributeValueConvertible where Wrapped: AttributeValueConvertible {
  public typealias Comparand = Wrapped.Comparand
  public var attributeValue: AttributeValue { self?.attributeValue ?? .null }
}

/// Says of a type that its values are numbers, which are compared by value whatever their type.
///
/// It lets an `Int16?` be held against an `Int`, and neither against a string:
///
/// ```swift
/// let books = try Book.fetch(where: { $0.pages > $0.reviews.count }, in: context)
/// ```
public enum NumberComparand {}
