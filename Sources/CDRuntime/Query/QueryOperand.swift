public import CDModel

/// A side of a comparison in the typed query language: an attribute, what is calculated from some, or the values
/// of many objects of which one or all have to meet a condition.
///
/// A condition of one's own is a function of operands:
///
/// ```swift
/// func isUnset<Operand: QueryOperand, Wrapped: AttributeValueConvertible>(
///   _ operand: Operand
/// ) -> FetchPredicate where Operand.Value == Wrapped? {
///   operand == nil
/// }
/// let unranked = try Book.fetch(where: { isUnset($0.salesRank) || isUnset($0.pages) }, in: context)
/// ```
public protocol QueryOperand: Sendable {
  /// The type of the values.
  associatedtype Value
  /// The value as a tree.
  var expression: ValueExpression { get }
  /// How many of the values must meet a condition.
  var quantifier: QueryQuantifier { get }
}

/// How many of a path's values must meet a condition.
///
/// ```swift
/// try Book.fetch(where: { $0.reviews.weight.any > 0.9 }, in: context)
/// try Book.fetch(where: { $0.reviews.weight.all > 0.1 && !$0.reviews.isEmpty }, in: context)
/// try Book.fetch(where: { $0.reviews.weight.none == 0 }, in: context)
/// ```
public enum QueryQuantifier: Hashable, Sendable {
  /// There is one value.
  case one
  /// One of them at least. Never true of no values.
  case any
  /// All of them. True of no values.
  case all
  /// None of them. True of no values.
  case none
}

extension QueryOperand {
  /// One value, where nothing else is said.
  public var quantifier: QueryQuantifier { .one }

  /// The operand held against a value.
  func compared(
    _ comparisonOperator: ComparisonOperator, _ right: ValueExpression, _ options: ComparisonOptions = []
  ) -> FetchPredicate {
    let modifier: ComparisonModifier =
      switch quantifier {
      case .one: .direct
      case .any, .none: .any
      case .all: .all
      }
    let comparison = FetchPredicate(
      expression, comparisonOperator, right, modifier: modifier, options: options)
    return quantifier == .none ? .not(comparison) : comparison
  }
}

/// Values of many objects, as a condition asks for them: `\.books.title.any == "Walden"`.
///
/// ```swift
/// let books = try Book.fetch(where: \.authors.name.any == "Thoreau", sortedBy: \.title, in: context)
/// ```
public struct Quantified<Value: Sendable>: QueryOperand {
  let keys: [String]
  /// How many of the values have to meet the condition.
  public let quantifier: QueryQuantifier
  /// The values as an expression: the path to them.
  public var expression: ValueExpression { .keyPath(keys.joined(separator: ".")) }
}

/// What is calculated from attributes: `$0.price * 2`.
///
/// ```swift
/// let thin = try Book.fetch(where: { ($0.pages ?? 0) + 10 < 100 }, in: context)
/// let busy = try Book.fetch(where: { $0.reviewCount * 2 > $0.pages }, in: context)
/// ```
public struct Calculated<Value: Sendable>: QueryOperand {
  /// The calculation.
  public let expression: ValueExpression
}

extension Attribute: QueryOperand {}

/// An attribute of many objects, which a path through to-many relationships leads to.
///
/// ```swift
/// let known = try Book.fetch(where: { $0.reviews.weight.sum > 100 }, in: context)
/// let praised = try Book.fetch(where: { $0.reviews.weight.average > 0.8 }, in: context)
/// let hers = try Book.fetch(where: { $0.authors.name.any == "Grace" }, in: context)
/// ```
public struct ManyAttribute<Value: Sendable>: FieldPath {
  /// The keys on the way, as a key path has them.
  public let keys: [String]

  /// One of the values at least meets the condition. Never true of no values.
  public var any: Quantified<Value> { Quantified(keys: keys, quantifier: .any) }
  /// All values meet the condition. True of no values.
  public var all: Quantified<Value> { Quantified(keys: keys, quantifier: .all) }
  /// None of the values meets the condition. True of no values.
  public var none: Quantified<Value> { Quantified(keys: keys, quantifier: .none) }

  /// The sum of the numbers; 0 of none.
  public var sum: Attribute<Value> { aggregate("@sum") }
  /// The average of the numbers; nil of none.
  public var average: Attribute<Double?> { aggregate("@avg") }
  /// The least value; nil of none.
  public var min: Attribute<Value?> { aggregate("@min") }
  /// The greatest value; nil of none.
  public var max: Attribute<Value?> { aggregate("@max") }

  /// The operator stands before the attribute: `reviews.@sum.stars`.
  private func aggregate<Result>(_ name: String) -> Attribute<Result> {
    Attribute(keys: keys.dropLast() + [name] + keys.suffix(1))
  }
}
