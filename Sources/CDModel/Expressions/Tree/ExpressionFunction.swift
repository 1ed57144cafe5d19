/// A function of the expression language. The raw value is its name in canonical text.
///
/// Names are read with or without a trailing colon: `sum(x)` and `sum:(x)`.
public enum ExpressionFunction: String, Hashable, Sendable, CaseIterable {
  // Of a collection of numbers, or of several numbers.
  /// What the name says, of numbers that are not nil; `stddev` is that of a whole population.
  case sum, count, min, max, average, median, mode, stddev

  // Of two numbers.
  /// The sum.
  case addTo = "add:to:"
  /// The first less the second.
  case fromSubtract = "from:subtract:"
  /// The product.
  case multiplyBy = "multiply:by:"
  /// The quotient; of integers it is one too.
  case divideBy = "divide:by:"
  /// The remainder of a division.
  case modulusBy = "modulus:by:"
  /// The first to the power of the second.
  case raiseToPower = "raise:toPower:"

  // Of a number.
  /// What the name says: `log` is to the base 10, `ln` and `exp` to that of e.
  case sqrt, log, ln, exp, abs, floor, ceiling, trunc

  // Of the bits of integers.
  /// The bits that both have.
  case bitwiseAndWith = "bitwiseAnd:with:"
  /// The bits that either has.
  case bitwiseOrWith = "bitwiseOr:with:"
  /// The bits that one of the two has.
  case bitwiseXorWith = "bitwiseXor:with:"
  /// The bits of the first, as many places to the left as the second says.
  case leftshiftBy = "leftshift:by:"
  /// The bits of the first, as many places to the right as the second says; the sign stays.
  case rightshiftBy = "rightshift:by:"
  /// The bits that the number has not.
  case onesComplement = "onesComplement:"

  // Of a string.
  /// The string in one case, by Unicode's rules and no language's.
  case uppercase, lowercase
  /// The length of the string.
  case length = "length:"
  /// The value itself: a hint to a store not to use an index.
  case noindex = "noindex:"
  /// The string without case and diacritics, for searching.
  case canonical = "canonical:"

  /// A number from 0 to 1, another at each evaluation.
  case random
  /// An integer from 0 to the argument, exclusive.
  case randomn = "randomn:"
  /// The time of evaluation; one time for a whole fetch, save or migration step.
  case now
  /// A new UUID.
  case uuid
  /// An element of a collection by number, key or `FIRST` and the like.
  case objectFromWithIndex = "objectFrom:withIndex:"

  /// The fewest and the most arguments; nil for no upper bound.
  public var arity: (minimum: Int, maximum: Int?) {
    switch self {
    case .sum, .count, .min, .max, .average, .median, .mode, .stddev: (1, nil)
    case .addTo, .fromSubtract, .multiplyBy, .divideBy, .modulusBy, .raiseToPower, .bitwiseAndWith,
      .bitwiseOrWith, .bitwiseXorWith, .leftshiftBy, .rightshiftBy, .objectFromWithIndex:
      (2, 2)
    case .sqrt, .log, .ln, .exp, .abs, .floor, .ceiling, .trunc, .onesComplement, .uppercase, .lowercase,
      .length, .noindex, .canonical, .randomn:
      (1, 1)
    case .random, .now, .uuid: (0, 0)
    }
  }

  /// The function of a name, with or without a trailing colon; nil for no function's name.
  public init?(name: String) {
    guard let function = Self.byName[name] else { return nil }
    self = function
  }

  private static let byName: [String: ExpressionFunction] = {
    var functions: [String: ExpressionFunction] = [:]
    for function in allCases {
      let name = function.rawValue
      functions[name] = function
      functions[name.hasSuffix(":") ? String(name.dropLast()) : name + ":"] = function
    }
    return functions
  }()
}
