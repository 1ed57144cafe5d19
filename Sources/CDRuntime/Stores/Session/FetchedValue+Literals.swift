// Values as they are written in code, for rows of a batch.
extension FetchedValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
  ExpressibleByBooleanLiteral, ExpressibleByNilLiteral
{
  /// A string.
  public init(stringLiteral value: String) { self = .attribute(.string(value)) }
  /// An integer, which a floating-point or decimal attribute takes too.
  public init(integerLiteral value: Int64) { self = .attribute(.int(value)) }
  /// A floating-point number.
  public init(floatLiteral value: Double) { self = .attribute(.double(value)) }
  /// A Boolean.
  public init(booleanLiteral value: Bool) { self = .attribute(.bool(value)) }
  /// Nil, for an attribute as for a to-one relationship.
  public init(nilLiteral: ()) { self = .attribute(.null) }

  /// The value of an attribute as Swift has it.
  public static func value(_ value: some AttributeValueConvertible) -> FetchedValue {
    .attribute(value.attributeValue)
  }
}
