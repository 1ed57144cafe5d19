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

// Comparisons within a closure: `{ $0.publisher == "BookCo" }`.

/// Equal; nil is equal to nil.
public func == <Operand: QueryOperand>(operand: Operand, value: Operand.Value) -> FetchPredicate
where Operand.Value: AttributeValueConvertible {
  operand.compared(.equalTo, .constant(value.attributeValue))
}

/// Not equal; nil is not equal to any value.
public func != <Operand: QueryOperand>(operand: Operand, value: Operand.Value) -> FetchPredicate
where Operand.Value: AttributeValueConvertible {
  operand.compared(.notEqualTo, .constant(value.attributeValue))
}

/// Less; nil is not less than anything.
public func < <Operand: QueryOperand>(operand: Operand, value: Operand.Value) -> FetchPredicate
where Operand.Value: AttributeValueConvertible {
  operand.compared(.lessThan, .constant(value.attributeValue))
}

/// Less or equal; of nils, nil alone is.
public func <= <Operand: QueryOperand>(operand: Operand, value: Operand.Value) -> FetchPredicate
where Operand.Value: AttributeValueConvertible {
  operand.compared(.lessThanOrEqualTo, .constant(value.attributeValue))
}

/// Greater; nil is not greater than anything.
public func > <Operand: QueryOperand>(operand: Operand, value: Operand.Value) -> FetchPredicate
where Operand.Value: AttributeValueConvertible {
  operand.compared(.greaterThan, .constant(value.attributeValue))
}

/// Greater or equal; of nils, nil alone is.
public func >= <Operand: QueryOperand>(operand: Operand, value: Operand.Value) -> FetchPredicate
where Operand.Value: AttributeValueConvertible {
  operand.compared(.greaterThanOrEqualTo, .constant(value.attributeValue))
}

// MARK: Two operands

/// Equal; nil is equal to nil.
public func == <Operand: QueryOperand, Other: QueryOperand>(operand: Operand, other: Other) -> FetchPredicate
where
  Operand.Value: AttributeValueConvertible, Other.Value: AttributeValueConvertible,
  Operand.Value.Comparand == Other.Value.Comparand
{
  operand.compared(.equalTo, other.expression)
}

/// Not equal; nil is not equal to any value.
public func != <Operand: QueryOperand, Other: QueryOperand>(operand: Operand, other: Other) -> FetchPredicate
where
  Operand.Value: AttributeValueConvertible, Other.Value: AttributeValueConvertible,
  Operand.Value.Comparand == Other.Value.Comparand
{
  operand.compared(.notEqualTo, other.expression)
}

/// Less; nil is not less than anything.
public func < <Operand: QueryOperand, Other: QueryOperand>(operand: Operand, other: Other) -> FetchPredicate
where
  Operand.Value: AttributeValueConvertible, Other.Value: AttributeValueConvertible,
  Operand.Value.Comparand == Other.Value.Comparand
{
  operand.compared(.lessThan, other.expression)
}

/// Less or equal; of nils, nil alone is.
public func <= <Operand: QueryOperand, Other: QueryOperand>(operand: Operand, other: Other) -> FetchPredicate
where
  Operand.Value: AttributeValueConvertible, Other.Value: AttributeValueConvertible,
  Operand.Value.Comparand == Other.Value.Comparand
{
  operand.compared(.lessThanOrEqualTo, other.expression)
}

/// Greater; nil is not greater than anything.
public func > <Operand: QueryOperand, Other: QueryOperand>(operand: Operand, other: Other) -> FetchPredicate
where
  Operand.Value: AttributeValueConvertible, Other.Value: AttributeValueConvertible,
  Operand.Value.Comparand == Other.Value.Comparand
{
  operand.compared(.greaterThan, other.expression)
}

/// Greater or equal; of nils, nil alone is.
public func >= <Operand: QueryOperand, Other: QueryOperand>(operand: Operand, other: Other) -> FetchPredicate
where
  Operand.Value: AttributeValueConvertible, Other.Value: AttributeValueConvertible,
  Operand.Value.Comparand == Other.Value.Comparand
{
  operand.compared(.greaterThanOrEqualTo, other.expression)
}

// Strings, and membership of any value.
extension QueryOperand where Value: StringAttributeValue {
  /// The strings are the same under the options: `==[c]`.
  public func equals(_ text: String, options: ComparisonOptions) -> FetchPredicate {
    compared(.equalTo, .constant(.string(text)), options)
  }

  /// The string begins with a text. The empty text is at the beginning of none.
  public func hasPrefix(_ text: String, options: ComparisonOptions = []) -> FetchPredicate {
    compared(.beginsWith, .constant(.string(text)), options)
  }

  /// The string ends with a text.
  public func hasSuffix(_ text: String, options: ComparisonOptions = []) -> FetchPredicate {
    compared(.endsWith, .constant(.string(text)), options)
  }

  /// The string has a text in it.
  public func contains(_ text: String, options: ComparisonOptions = []) -> FetchPredicate {
    compared(.contains, .constant(.string(text)), options)
  }

  /// The whole string is the pattern's, in which `*` is any text and `?` one character.
  public func like(_ pattern: String, options: ComparisonOptions = []) -> FetchPredicate {
    compared(.like, .constant(.string(pattern)), options)
  }

  /// The whole string matches a regular expression. A fetch throws where that is malformed, or takes too many
  /// steps.
  public func matches(_ pattern: String, options: ComparisonOptions = []) -> FetchPredicate {
    compared(.matches, .constant(.string(pattern)), options)
  }

  /// The string is one of these under the options.
  public func isIn(_ texts: [Value], options: ComparisonOptions) -> FetchPredicate {
    compared(.in, .constant(.array(texts.map { .value($0.attributeValue) })), options)
  }
}

extension QueryOperand where Value: AttributeValueConvertible {
  /// The value is one of these; nil is where nil is among them.
  public func isIn(_ values: [Value]) -> FetchPredicate {
    compared(.in, .constant(.array(values.map { .value($0.attributeValue) })))
  }

  /// The value lies between two others or is one of them. Reversed bounds have nothing between them.
  public func isBetween(_ lower: Value, _ upper: Value) -> FetchPredicate {
    compared(
      .between, .constant(.array([.value(lower.attributeValue), .value(upper.attributeValue)])))
  }

  /// The value lies in a range.
  public func isIn<Bound: AttributeValueConvertible>(_ range: ClosedRange<Bound>) -> FetchPredicate
  where Bound.Comparand == Value.Comparand {
    compared(
      .between,
      .constant(.array([.value(range.lowerBound.attributeValue), .value(range.upperBound.attributeValue)])))
  }
}

// The same on key paths. A literal needs its root to be called on: `(\Fields<Book>.title).hasPrefix("W")`; the
// closure's form has no such need.
extension KeyPath where Value: QueryOperand {
  private func operand<Object>() -> Value where Root == Fields<Object> { Fields()[keyPath: self] }

  /// The value is one of these.
  public func isIn<Object>(_ values: [Value.Value]) -> TypedPredicate<Object>
  where Root == Fields<Object>, Value.Value: AttributeValueConvertible {
    TypedPredicate(operand().isIn(values))
  }

  /// The string begins with a text.
  public func hasPrefix<Object>(_ text: String, options: ComparisonOptions = []) -> TypedPredicate<Object>
  where Root == Fields<Object>, Value.Value: StringAttributeValue {
    TypedPredicate(operand().hasPrefix(text, options: options))
  }

  /// The string ends with a text.
  public func hasSuffix<Object>(_ text: String, options: ComparisonOptions = []) -> TypedPredicate<Object>
  where Root == Fields<Object>, Value.Value: StringAttributeValue {
    TypedPredicate(operand().hasSuffix(text, options: options))
  }

  /// The string has a text in it.
  public func contains<Object>(_ text: String, options: ComparisonOptions = []) -> TypedPredicate<Object>
  where Root == Fields<Object>, Value.Value: StringAttributeValue {
    TypedPredicate(operand().contains(text, options: options))
  }
}

// Arithmetic within a closure: `{ $0.pages * 2 > $0.limit }`. It has the checker's rules: integers divided by
// integers give integers, a nil makes the result nil, and an overflow makes the fetch throw.

/// The sum, or of two strings the one joined to the other.
public func + <Operand: QueryOperand>(operand: Operand, value: Operand.Value) -> Calculated<Operand.Value>
where Operand.Value: AttributeValueConvertible {
  Calculated(expression: .operation(operand.expression, .add, .constant(value.attributeValue)))
}

/// The sum, or of two strings the one joined to the other.
public func + <Operand: QueryOperand, Other: QueryOperand>(
  operand: Operand, other: Other
) -> Calculated<Operand.Value>
where
  Operand.Value: AttributeValueConvertible, Other.Value: AttributeValueConvertible,
  Operand.Value.Comparand == Other.Value.Comparand
{
  Calculated(expression: .operation(operand.expression, .add, other.expression))
}

/// The difference.
public func - <Operand: QueryOperand>(operand: Operand, value: Operand.Value) -> Calculated<Operand.Value>
where Operand.Value: AttributeValueConvertible {
  Calculated(expression: .operation(operand.expression, .subtract, .constant(value.attributeValue)))
}

/// The difference.
public func - <Operand: QueryOperand, Other: QueryOperand>(
  operand: Operand, other: Other
) -> Calculated<Operand.Value>
where
  Operand.Value: AttributeValueConvertible, Other.Value: AttributeValueConvertible,
  Operand.Value.Comparand == Other.Value.Comparand
{
  Calculated(expression: .operation(operand.expression, .subtract, other.expression))
}

/// The product.
public func * <Operand: QueryOperand>(operand: Operand, value: Operand.Value) -> Calculated<Operand.Value>
where Operand.Value: AttributeValueConvertible {
  Calculated(expression: .operation(operand.expression, .multiply, .constant(value.attributeValue)))
}

/// The product.
public func * <Operand: QueryOperand, Other: QueryOperand>(
  operand: Operand, other: Other
) -> Calculated<Operand.Value>
where
  Operand.Value: AttributeValueConvertible, Other.Value: AttributeValueConvertible,
  Operand.Value.Comparand == Other.Value.Comparand
{
  Calculated(expression: .operation(operand.expression, .multiply, other.expression))
}

/// The quotient; of integers it is truncated towards 0, and a division by 0 makes the fetch throw.
public func / <Operand: QueryOperand>(operand: Operand, value: Operand.Value) -> Calculated<Operand.Value>
where Operand.Value: AttributeValueConvertible {
  Calculated(expression: .operation(operand.expression, .divide, .constant(value.attributeValue)))
}

/// The quotient; of integers it is truncated towards 0, and a division by 0 makes the fetch throw.
public func / <Operand: QueryOperand, Other: QueryOperand>(
  operand: Operand, other: Other
) -> Calculated<Operand.Value>
where
  Operand.Value: AttributeValueConvertible, Other.Value: AttributeValueConvertible,
  Operand.Value.Comparand == Other.Value.Comparand
{
  Calculated(expression: .operation(operand.expression, .divide, other.expression))
}

/// The first value, or the second where that is nil.
public func ?? <Operand: QueryOperand, Wrapped: AttributeValueConvertible>(
  operand: Operand, value: Wrapped
) -> Calculated<Wrapped> where Operand.Value == Wrapped? {
  Calculated(expression: .coalesced([operand.expression, .constant(value.attributeValue)]))
}
