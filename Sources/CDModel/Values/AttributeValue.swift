#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A value that an attribute can have, or a constant of an expression.
///
/// All integer types are one case here, as are `Float` and `Double`: the attribute's type says which.
public enum AttributeValue: Hashable, Sendable {
  case null
  case bool(Bool)
  case int(Int64)
  case double(Double)
  case decimal(Decimal)
  case string(String)
  case date(Date)
  case data(Data)
  case uuid(UUID)
  case url(URL)
  /// A composite's fields by name.
  case composite([String: AttributeValue])
}
