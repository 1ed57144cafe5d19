/// A constant of an expression: a value that an attribute can have, a collection or a managed object.
///
/// Equality is that of the written constant, so that a predicate can be the key of a cache: strings are
/// the same when their code units are, and `1`, `1.0` and `YES` are three constants though they compare as
/// equal when they are evaluated.
public enum ExpressionConstant: Hashable, Sendable {
  /// A single value, or nil.
  case value(AttributeValue)
  /// Elements in an order.
  case array([ExpressionConstant])
  /// Elements without an order, each once.
  case set(Set<ExpressionConstant>)
  /// Values by keys, which paths lead to.
  case dictionary([String: ExpressionConstant])
  /// A managed object.
  case object(ObjectReference)

  /// `nil`.
  public static let null = ExpressionConstant.value(.null)

  /// The count of levels: 1 for all that is no collection.
  public var depth: Int {
    switch self {
    case .value, .object: 1
    case .array(let elements): 1 + elements.reduce(0) { max($0, $1.depth) }
    case .set(let elements): 1 + elements.reduce(0) { max($0, $1.depth) }
    case .dictionary(let elements): 1 + elements.values.reduce(0) { max($0, $1.depth) }
    }
  }
}
