/// A constant of an expression: an attribute value, a collection or a managed object.
///
/// Two constants are equal if they are written alike, so that a predicate can be the key of a cache. Strings are equal
/// if their code units are. `1`, `1.0` and `YES` are three different constants, although evaluation compares them as
/// equal.
public enum ExpressionConstant: Hashable, Sendable {
  /// A single value, or nil.
  case value(AttributeValue)
  /// Elements in a fixed order.
  case array([ExpressionConstant])
  /// Elements without an order or duplicates.
  case set(Set<ExpressionConstant>)
  /// Values by key. A key path can lead to them.
  case dictionary([String: ExpressionConstant])
  /// A managed object.
  case object(ObjectReference)

  /// `nil`.
  public static let null = ExpressionConstant.value(.null)

  /// The number of levels: 1 for a constant that is not a collection.
  public var depth: Int {
    switch self {
    case .value, .object: 1
    case .array(let elements): 1 + elements.reduce(0) { max($0, $1.depth) }
    case .set(let elements): 1 + elements.reduce(0) { max($0, $1.depth) }
    case .dictionary(let elements): 1 + elements.values.reduce(0) { max($0, $1.depth) }
    }
  }
}
