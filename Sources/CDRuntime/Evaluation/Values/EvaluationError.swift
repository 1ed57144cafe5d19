/// The reason why an expression has no value. The messages contain keys, operators, types and patterns, but no other
/// data.
///
/// ```swift
/// do {
///   let isCheap = try PredicateEvaluator().matches(FetchPredicate(format: "price / pages < 0.05"), book)
///   print(isCheap)
/// } catch EvaluationError.divisionByZero {
///   print("the book has no pages")
/// }
/// ```
public enum EvaluationError: Error, Hashable, Sendable {
  /// An object has no such property. `entity` is the entity of the object, or the type of a value that is not an
  /// object.
  case unknownKey(String, entity: String)
  /// The variable `$name` has no value.
  case unboundVariable(String)
  /// An operator cannot compare values of these types.
  case incomparable(operator: String, left: String, right: String)
  /// An operator or function does not accept a value of this type.
  case wrongOperand(operation: String, found: String)
  /// An operation for many values, such as ANY or ALL, has a single value.
  case notACollection(operation: String, found: String)
  /// BETWEEN needs exactly two bounds.
  case wrongBounds(count: Int)
  /// A function has too few or too many arguments.
  case wrongArguments(function: String, count: Int)
  /// The result of an integer or decimal calculation does not fit in its type.
  case overflow(operation: String)
  /// A division by 0, of numbers of any type.
  case divisionByZero(operation: String)
  /// The result of a calculation is not a number, such as the square root of -1.
  case notANumber(operation: String)
  /// A collection has no element at an index.
  case indexOutOfRange
  /// A CAST without a third argument has a value that the type cannot represent.
  case failedConversion(type: String, from: String)
  /// A regular expression is malformed.
  case badPattern
  /// Matching a regular expression needs too many steps, because its pattern backtracks without end.
  case patternTooCostly
  /// The regular expressions of a fetch, batch or save need too many steps together. The pattern is the one in use when
  /// the limit was reached.
  case matchingTooCostly(pattern: String)
  /// The task was cancelled while a fetch matched regular expressions.
  case cancelled
  /// The expression language has this construct, but cdgen does not evaluate it.
  case unsupported(String)
  /// The expression is nested deeper than the limit.
  case tooDeep(depth: Int)
  /// An object's row cannot be read.
  case inaccessible(key: String, entity: String)
}

extension EvaluationError: CustomStringConvertible {
  @_optimize(none)
  public var description: String {
    switch self {
    case .unknownKey(let key, let entity): "\(entity) has no property '\(key)'"
    case .unboundVariable(let name): "$\(name) has no value; bind one before evaluating"
    case .incomparable(let comparisonOperator, let left, let right):
      "\(comparisonOperator) does not compare \(left) with \(right)"
    case .wrongOperand(let operation, let found): "\(operation) cannot be applied to \(found)"
    case .notACollection(let operation, let found): "\(operation) needs a collection, but this is \(found)"
    case .wrongBounds(let count): "BETWEEN takes two bounds, not \(count)"
    case .wrongArguments(let function, let count): "\(function) does not take \(count) arguments"
    case .overflow(let operation): "the result of \(operation) is too large"
    case .divisionByZero(let operation): "\(operation) divides by 0"
    case .notANumber(let operation): "the result of \(operation) is not a number"
    case .indexOutOfRange: "the collection has no element at the index"
    case .failedConversion(let type, let from):
      "CAST cannot convert this \(from) to \(type); add a value for this case as the third argument"
    case .badPattern: "the regular expression is malformed"
    case .patternTooCostly:
      "matching the regular expression takes too many steps; avoid repetitions within repetitions"
    case .matchingTooCostly(let pattern):
      "matching the values with the regular expression '\(pattern)' takes too many steps; avoid repetitions within "
        + "repetitions, or narrow the fetch by other conditions first"
    case .cancelled: "the task was cancelled"
    case .unsupported(let construct): "\(construct) cannot be evaluated"
    case .tooDeep(let depth): "the expression is nested \(depth) levels deep, which is too deep"
    case .inaccessible(let key, let entity): "'\(entity).\(key)' cannot be read"
    }
  }
}

extension EvaluationError: PresentableError {
  public var situation: ErrorSituation {
    switch self {
    case .overflow, .divisionByZero, .notANumber, .failedConversion, .badPattern: .noResult
    case .patternTooCostly, .matchingTooCostly: .tooCostly
    case .cancelled: .cancelled
    case .inaccessible: .objectGone
    default: .mistakeOfApp
    }
  }
}
