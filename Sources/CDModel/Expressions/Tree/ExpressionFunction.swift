/// A function of the expression language. The raw value is its name in canonical text.
///
/// Names are read with or without a trailing colon: `sum(x)` and `sum:(x)`.
package enum ExpressionFunction: String, Hashable, Sendable, CaseIterable {
  // Functions of a collection of numbers, or of several numbers.
  /// An aggregate of the numbers that are not nil. `stddev` is the standard deviation of the whole population.
  case sum, count, min, max, average, median, mode, stddev

  // Functions of two numbers.
  /// The sum.
  case addTo = "add:to:"
  /// The first number minus the second.
  case fromSubtract = "from:subtract:"
  /// The product.
  case multiplyBy = "multiply:by:"
  /// The quotient. The quotient of two integers is an integer.
  case divideBy = "divide:by:"
  /// The remainder of a division.
  case modulusBy = "modulus:by:"
  /// The first to the power of the second.
  case raiseToPower = "raise:toPower:"

  // Functions of one number.
  /// The function of that name. `log` is the logarithm to the base 10; `ln` and `exp` use the base e.
  case sqrt, log, ln, exp, abs, floor, ceiling, trunc

  // Functions of the bits of integers.
  /// The bits that both integers have.
  case bitwiseAndWith = "bitwiseAnd:with:"
  /// The bits that at least one integer has.
  case bitwiseOrWith = "bitwiseOr:with:"
  /// The bits that exactly one integer has.
  case bitwiseXorWith = "bitwiseXor:with:"
  /// The bits of the first integer, shifted left by the second.
  case leftshiftBy = "leftshift:by:"
  /// The bits of the first integer, shifted right by the second. The sign is kept.
  case rightshiftBy = "rightshift:by:"
  /// The integer with all bits inverted.
  case onesComplement = "onesComplement:"

  // Functions of a string.
  /// The string in upper or lower case, by Unicode's rules for all languages.
  case uppercase, lowercase
  /// The number of the string's UTF-16 units, as in Foundation.
  case length = "length:"
  /// The argument itself. A hint to the store not to use an index.
  case noindex = "noindex:"
  /// The string without case and diacritics, for searches.
  case canonical = "canonical:"

  /// A random number from 0 to 1, new at each evaluation.
  case random
  /// A random integer from 0 up to, but not including, the argument.
  case randomn = "randomn:"
  /// The time of evaluation. It is the same for a whole fetch, save or migration step.
  case now
  /// A new UUID.
  case uuid
  /// An element of a collection by number, key, or a word such as `FIRST`.
  case objectFromWithIndex = "objectFrom:withIndex:"

  /// Whether each call gives another value, so that no two rows have the same.
  package var isNewForEachCall: Bool {
    switch self {
    case .random, .randomn, .uuid: true
    default: false
    }
  }

  /// The minimum and maximum number of arguments; a maximum of nil means no limit.
  package var arity: (minimum: Int, maximum: Int?) {
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

  /// Finds a function by name, with or without a trailing colon. Returns nil if there is none.
  package init?(name: String) {
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
