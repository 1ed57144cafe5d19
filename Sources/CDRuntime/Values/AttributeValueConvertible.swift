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

/// A marker for types whose values are numbers. Numbers of different types are compared by value.
///
/// It allows comparing an `Int16?` with an `Int`, but neither of them with a string:
///
/// ```swift
/// let books = try Book.fetch(where: { $0.pages > $0.reviews.count }, in: context)
/// ```
public enum NumberComparand {}
