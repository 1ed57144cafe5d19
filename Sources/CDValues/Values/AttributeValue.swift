#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A value that an attribute can have, or a constant of an expression.
///
/// All integer types are one case here, as are `Float` and `Double`: the attribute's type says which.
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
  /// A moment.
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
