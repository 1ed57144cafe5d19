public import CDModel

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A side of a comparison in the typed query language: an attribute, a calculation with attributes, or the values of
/// many objects, of which one or all must meet a condition.
///
/// You can write your own condition as a function of operands:
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
  /// The value as an expression.
  var expression: ValueExpression { get }
  /// How many of the values must meet the condition.
  var quantifier: QueryQuantifier { get }
}

/// The number of a path's values that must meet a condition.
///
/// ```swift
/// try Book.fetch(where: { $0.reviews.weight.any > 0.9 }, in: context)
/// try Book.fetch(where: { $0.reviews.weight.all > 0.1 && !$0.reviews.isEmpty }, in: context)
/// try Book.fetch(where: { $0.reviews.weight.none == 0 }, in: context)
/// ```
public enum QueryQuantifier: Hashable, Sendable {
  /// There is a single value.
  case one
  /// At least one value. False if there are no values.
  case any
  /// All values. True if there are no values.
  case all
  /// No value. True if there are no values.
  case none
}

extension QueryOperand {
  /// One value, by default.
  public var quantifier: QueryQuantifier { .one }

  /// Returns a comparison of the operand with a value.
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

/// The values of many objects in a condition, such as `\.books.title.any == "Walden"`.
///
/// ```swift
/// let books = try Book.fetch(where: \.authors.name.any == "Thoreau", sortedBy: \.title, in: context)
/// ```
public struct Quantified<Value: Sendable>: QueryOperand {
  let keys: [String]
  /// How many of the values must meet the condition.
  public let quantifier: QueryQuantifier
  /// The path to the values, as an expression.
  public var expression: ValueExpression { .keyPath(keys.joined(separator: ".")) }
}

/// A calculation with attributes, such as `$0.price * 2`.
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

/// An attribute of many objects, at the end of a path through to-many relationships.
///
/// ```swift
/// let known = try Book.fetch(where: { $0.reviews.weight.sum > 100 }, in: context)
/// let praised = try Book.fetch(where: { $0.reviews.weight.average > 0.8 }, in: context)
/// let hers = try Book.fetch(where: { $0.authors.name.any == "Grace" }, in: context)
/// ```
public struct ManyAttribute<Value: Sendable>: FieldPath {
  /// The keys of the path, in order.
  public let keys: [String]

  /// At least one value meets the condition. False if there are no values.
  public var any: Quantified<Value> { Quantified(keys: keys, quantifier: .any) }
  /// All values meet the condition. True if there are no values.
  public var all: Quantified<Value> { Quantified(keys: keys, quantifier: .all) }
  /// No value meets the condition. True if there are no values.
  public var none: Quantified<Value> { Quantified(keys: keys, quantifier: .none) }

  /// The mean of the numbers, or nil if there are none.
  public var average: Attribute<Double?> { aggregate("@avg") }
  /// The least value, or nil if there are no values.
  public var min: Attribute<Value?> { aggregate("@min") }
  /// The greatest value, or nil if there are no values.
  public var max: Attribute<Value?> { aggregate("@max") }

  /// Puts the operator before the attribute: `reviews.@sum.stars`.
  private func aggregate<Result>(_ name: String) -> Attribute<Result> {
    Attribute(keys: keys.dropLast() + [name] + keys.suffix(1))
  }
}

// Sums are calculated in the widest type of their numbers. A value of the attribute's own type would be rounded before the
// comparison, or could be too small.

extension ManyAttribute where Value: FixedWidthInteger {
  /// The sum of the numbers as a 64-bit integer, or 0 if there are none.
  public var sum: Attribute<Int64> { aggregate("@sum") }
}
extension ManyAttribute where Value: BinaryFloatingPoint {
  /// The sum of the numbers as a double, or 0 if there are none.
  public var sum: Attribute<Double> { aggregate("@sum") }
}
extension ManyAttribute where Value == Decimal {
  /// The sum of the numbers, or 0 if there are none.
  public var sum: Attribute<Decimal> { aggregate("@sum") }
}
extension ManyAttribute where Value == Int16? {
  /// The sum of the numbers as a 64-bit integer, or 0 if there are none.
  public var sum: Attribute<Int64?> { aggregate("@sum") }
}
extension ManyAttribute where Value == Int32? {
  /// The sum of the numbers as a 64-bit integer, or 0 if there are none.
  public var sum: Attribute<Int64?> { aggregate("@sum") }
}
extension ManyAttribute where Value == Int64? {
  /// The sum of the numbers as a 64-bit integer, or 0 if there are none.
  public var sum: Attribute<Int64?> { aggregate("@sum") }
}
extension ManyAttribute where Value == Float? {
  /// The sum of the numbers as a double, or 0 if there are none.
  public var sum: Attribute<Double?> { aggregate("@sum") }
}
extension ManyAttribute where Value == Double? {
  /// The sum of the numbers as a double, or 0 if there are none.
  public var sum: Attribute<Double?> { aggregate("@sum") }
}
extension ManyAttribute where Value == Decimal? {
  /// The sum of the numbers, or 0 if there are none.
  public var sum: Attribute<Decimal?> { aggregate("@sum") }
}

// Comparisons in a closure, such as `{ $0.publisher == "BookCo" }`.

/// Returns a condition: the values are equal. Nil equals nil.
public func == <Operand: QueryOperand>(operand: Operand, value: Operand.Value) -> FetchPredicate
where Operand.Value: AttributeValueConvertible {
  operand.compared(.equalTo, .constant(value.attributeValue))
}

/// Returns a condition: the values are not equal. Nil differs from each value other than nil.
public func != <Operand: QueryOperand>(operand: Operand, value: Operand.Value) -> FetchPredicate
where Operand.Value: AttributeValueConvertible {
  operand.compared(.notEqualTo, .constant(value.attributeValue))
}

/// Returns a condition: the value is equal to an optional value. If the optional value is nil, no mandatory attribute is
/// equal to it.
@_disfavoredOverload
public func == <Operand: QueryOperand>(operand: Operand, value: Operand.Value?) -> FetchPredicate
where Operand.Value: AttributeValueConvertible {
  operand.compared(.equalTo, .constant(value.attributeValue))
}

/// Returns a condition: the value is not equal to an optional value. If the optional value is nil, each mandatory
/// attribute differs from it.
@_disfavoredOverload
public func != <Operand: QueryOperand>(operand: Operand, value: Operand.Value?) -> FetchPredicate
where Operand.Value: AttributeValueConvertible {
  operand.compared(.notEqualTo, .constant(value.attributeValue))
}

/// Returns a condition: the first value is less. Nil is never less.
public func < <Operand: QueryOperand>(operand: Operand, value: Operand.Value) -> FetchPredicate
where Operand.Value: AttributeValueConvertible {
  operand.compared(.lessThan, .constant(value.attributeValue))
}

/// Returns a condition: the first value is less or equal. If a value is nil, this is so only if both are nil.
public func <= <Operand: QueryOperand>(operand: Operand, value: Operand.Value) -> FetchPredicate
where Operand.Value: AttributeValueConvertible {
  operand.compared(.lessThanOrEqualTo, .constant(value.attributeValue))
}

/// Returns a condition: the first value is greater. Nil is never greater.
public func > <Operand: QueryOperand>(operand: Operand, value: Operand.Value) -> FetchPredicate
where Operand.Value: AttributeValueConvertible {
  operand.compared(.greaterThan, .constant(value.attributeValue))
}

/// Returns a condition: the first value is greater or equal. If a value is nil, this is so only if both are nil.
public func >= <Operand: QueryOperand>(operand: Operand, value: Operand.Value) -> FetchPredicate
where Operand.Value: AttributeValueConvertible {
  operand.compared(.greaterThanOrEqualTo, .constant(value.attributeValue))
}

// MARK: Two operands

/// Returns a condition: the values are equal. Nil equals nil.
public func == <Operand: QueryOperand, Other: QueryOperand>(operand: Operand, other: Other) -> FetchPredicate
where
  Operand.Value: AttributeValueConvertible, Other.Value: AttributeValueConvertible,
  Operand.Value.Comparand == Other.Value.Comparand
{
  operand.compared(.equalTo, other.expression)
}

/// Returns a condition: the values are not equal. Nil differs from each value other than nil.
public func != <Operand: QueryOperand, Other: QueryOperand>(operand: Operand, other: Other) -> FetchPredicate
where
  Operand.Value: AttributeValueConvertible, Other.Value: AttributeValueConvertible,
  Operand.Value.Comparand == Other.Value.Comparand
{
  operand.compared(.notEqualTo, other.expression)
}

/// Returns a condition: the first value is less. Nil is never less.
public func < <Operand: QueryOperand, Other: QueryOperand>(operand: Operand, other: Other) -> FetchPredicate
where
  Operand.Value: AttributeValueConvertible, Other.Value: AttributeValueConvertible,
  Operand.Value.Comparand == Other.Value.Comparand
{
  operand.compared(.lessThan, other.expression)
}

/// Returns a condition: the first value is less or equal. If a value is nil, this is so only if both are nil.
public func <= <Operand: QueryOperand, Other: QueryOperand>(operand: Operand, other: Other) -> FetchPredicate
where
  Operand.Value: AttributeValueConvertible, Other.Value: AttributeValueConvertible,
  Operand.Value.Comparand == Other.Value.Comparand
{
  operand.compared(.lessThanOrEqualTo, other.expression)
}

/// Returns a condition: the first value is greater. Nil is never greater.
public func > <Operand: QueryOperand, Other: QueryOperand>(operand: Operand, other: Other) -> FetchPredicate
where
  Operand.Value: AttributeValueConvertible, Other.Value: AttributeValueConvertible,
  Operand.Value.Comparand == Other.Value.Comparand
{
  operand.compared(.greaterThan, other.expression)
}

/// Returns a condition: the first value is greater or equal. If a value is nil, this is so only if both are nil.
public func >= <Operand: QueryOperand, Other: QueryOperand>(operand: Operand, other: Other) -> FetchPredicate
where
  Operand.Value: AttributeValueConvertible, Other.Value: AttributeValueConvertible,
  Operand.Value.Comparand == Other.Value.Comparand
{
  operand.compared(.greaterThanOrEqualTo, other.expression)
}

// Conditions on strings, and membership of any value.
extension QueryOperand where Value: StringAttributeValue {
  /// Returns a condition: the strings are equal under the options, such as `==[c]`.
  public func equals(_ text: String, options: ComparisonOptions) -> FetchPredicate {
    compared(.equalTo, .constant(.string(text)), options)
  }

  /// The string in lower case, by Unicode's rules for all languages.
  public func lowercased() -> Calculated<Value> {
    Calculated(expression: .function(.lowercase, [expression]))
  }

  /// The string in upper case, by Unicode's rules for all languages.
  public func uppercased() -> Calculated<Value> {
    Calculated(expression: .function(.uppercase, [expression]))
  }

  /// Returns a condition: the string begins with a text. No string begins with the empty text.
  public func hasPrefix(_ text: String, options: ComparisonOptions = []) -> FetchPredicate {
    compared(.beginsWith, .constant(.string(text)), options)
  }

  /// Returns a condition: the string ends with a text.
  public func hasSuffix(_ text: String, options: ComparisonOptions = []) -> FetchPredicate {
    compared(.endsWith, .constant(.string(text)), options)
  }

  /// Returns a condition: the string contains a text.
  public func contains(_ text: String, options: ComparisonOptions = []) -> FetchPredicate {
    compared(.contains, .constant(.string(text)), options)
  }

  /// Returns a condition: the whole string matches a pattern, in which `*` is any text and `?` is one character.
  public func like(_ pattern: String, options: ComparisonOptions = []) -> FetchPredicate {
    compared(.like, .constant(.string(pattern)), options)
  }

  /// Returns a condition: the whole string matches a regular expression. The fetch throws an error if the expression is
  /// malformed or needs too many steps.
  public func matches(_ pattern: String, options: ComparisonOptions = []) -> FetchPredicate {
    compared(.matches, .constant(.string(pattern)), options)
  }

  /// Returns a condition: the string equals one of these strings under the options.
  public func isIn(_ texts: [Value], options: ComparisonOptions) -> FetchPredicate {
    compared(.in, .constant(.array(texts.map { .value($0.attributeValue) })), options)
  }
}

extension QueryOperand where Value: AttributeValueConvertible {
  /// Returns a condition: the value is one of these. Nil is accepted if nil is one of them.
  public func isIn(_ values: [Value]) -> FetchPredicate {
    compared(.in, .constant(.array(values.map { .value($0.attributeValue) })))
  }

  /// Returns a condition: the value is between two bounds or equals one of them. If the bounds are reversed, no value
  /// is between them.
  public func isBetween(_ lower: Value, _ upper: Value) -> FetchPredicate {
    compared(
      .between, .constant(.array([.value(lower.attributeValue), .value(upper.attributeValue)])))
  }

  /// Returns a condition: the value is in a range.
  public func isIn<Bound: AttributeValueConvertible>(_ range: ClosedRange<Bound>) -> FetchPredicate
  where Bound.Comparand == Value.Comparand {
    compared(
      .between,
      .constant(.array([.value(range.lowerBound.attributeValue), .value(range.upperBound.attributeValue)])))
  }

  /// Returns a condition: the value is in a range without its upper bound. Of many values, each one that counts is
  /// between both bounds.
  public func isIn<Bound: AttributeValueConvertible>(_ range: Range<Bound>) -> FetchPredicate
  where Bound.Comparand == Value.Comparand {
    let lower = ValueExpression.constant(range.lowerBound.attributeValue)
    let upper = ValueExpression.constant(range.upperBound.attributeValue)
    switch quantifier {
    case .one, .all:
      return compared(.greaterThanOrEqualTo, lower) && compared(.lessThan, upper)
    case .any, .none:
      // Two comparisons could be met by two different values.
      let (collection, steps) = expression.elements
      let count = ValueExpression.count(in: collection) { element in
        let value = ValueExpression.path(.variable(element), steps)
        return FetchPredicate(value, .greaterThanOrEqualTo, lower) && FetchPredicate(value, .lessThan, upper)
      }
      let isAny = Calculated<Int>(expression: count) > 0
      return quantifier == .none ? .not(isAny) : isAny
    }
  }
}

extension ValueExpression {
  /// Splits a path such as `books.pages` into the collection `books` and the step `pages`, because stores can count objects
  /// that meet a condition, but not values. Any other collection has no step.
  fileprivate var elements: (collection: ValueExpression, steps: [PathStep]) {
    guard case .path(let base, let steps) = kind, steps.count > 1 else { return (self, []) }
    return (.path(base, Array(steps.dropLast())), Array(steps.suffix(1)))
  }
}

// The same conditions in the order of Swift's collections: `(1..<5).contains($0.rating)`.

extension Sequence where Element: AttributeValueConvertible {
  /// Returns a condition: the operand's value is one of the elements. Nil is accepted if nil is one of them.
  public func contains<Operand: QueryOperand>(_ operand: Operand) -> FetchPredicate
  where Operand.Value == Element { operand.isIn(Array(self)) }
}

extension ClosedRange where Bound: AttributeValueConvertible {
  /// Returns a condition: the operand's value is in the range.
  public func contains<Operand: QueryOperand>(_ operand: Operand) -> FetchPredicate
  where Operand.Value: AttributeValueConvertible, Bound.Comparand == Operand.Value.Comparand {
    operand.isIn(self)
  }
}

extension Range where Bound: AttributeValueConvertible {
  /// Returns a condition: the operand's value is in the range, which does not include its upper bound.
  public func contains<Operand: QueryOperand>(_ operand: Operand) -> FetchPredicate
  where Operand.Value: AttributeValueConvertible, Bound.Comparand == Operand.Value.Comparand {
    operand.isIn(self)
  }
}

// The same conditions on key paths. A key path literal needs its root type here, as in
// `(\Keys<Book>.title).hasPrefix("W")`. The closure form does not.
extension KeyPath where Value: QueryOperand {
  private func operand<Object>() -> Value where Root == Keys<Object> { Keys()[keyPath: self] }

  /// Returns a condition: the value is one of these.
  public func isIn<Object>(_ values: [Value.Value]) -> TypedPredicate<Object>
  where Root == Keys<Object>, Value.Value: AttributeValueConvertible {
    TypedPredicate(operand().isIn(values))
  }

  /// Returns a condition: the string begins with a text.
  public func hasPrefix<Object>(_ text: String, options: ComparisonOptions = []) -> TypedPredicate<Object>
  where Root == Keys<Object>, Value.Value: StringAttributeValue {
    TypedPredicate(operand().hasPrefix(text, options: options))
  }

  /// Returns a condition: the string ends with a text.
  public func hasSuffix<Object>(_ text: String, options: ComparisonOptions = []) -> TypedPredicate<Object>
  where Root == Keys<Object>, Value.Value: StringAttributeValue {
    TypedPredicate(operand().hasSuffix(text, options: options))
  }

  /// Returns a condition: the string contains a text.
  public func contains<Object>(_ text: String, options: ComparisonOptions = []) -> TypedPredicate<Object>
  where Root == Keys<Object>, Value.Value: StringAttributeValue {
    TypedPredicate(operand().contains(text, options: options))
  }
}

// Arithmetic in a closure, such as `{ $0.pages * 2 > $0.limit }`. The rules are those of the checker: integers divided
// by integers give integers, nil makes the result nil, and an overflow makes the fetch throw an error.

/// The sum of two numbers, or the concatenation of two strings.
public func + <Operand: QueryOperand>(operand: Operand, value: Operand.Value) -> Calculated<Operand.Value>
where Operand.Value: AttributeValueConvertible {
  Calculated(expression: .operation(operand.expression, .add, .constant(value.attributeValue)))
}

/// The sum of two numbers, or the concatenation of two strings.
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

/// The quotient. The quotient of integers is truncated towards 0, and their division by 0 makes the fetch throw an
/// error.
public func / <Operand: QueryOperand>(operand: Operand, value: Operand.Value) -> Calculated<Operand.Value>
where Operand.Value: AttributeValueConvertible {
  Calculated(expression: .operation(operand.expression, .divide, .constant(value.attributeValue)))
}

/// The quotient. The quotient of integers is truncated towards 0, and their division by 0 makes the fetch throw an
/// error.
public func / <Operand: QueryOperand, Other: QueryOperand>(
  operand: Operand, other: Other
) -> Calculated<Operand.Value>
where
  Operand.Value: AttributeValueConvertible, Other.Value: AttributeValueConvertible,
  Operand.Value.Comparand == Other.Value.Comparand
{
  Calculated(expression: .operation(operand.expression, .divide, other.expression))
}

/// The first value, or the second value if the first one is nil.
public func ?? <Operand: QueryOperand, Wrapped: AttributeValueConvertible>(
  operand: Operand, value: Wrapped
) -> Calculated<Wrapped> where Operand.Value == Wrapped? {
  Calculated(expression: .coalesced([operand.expression, .constant(value.attributeValue)]))
}
