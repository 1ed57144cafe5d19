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
