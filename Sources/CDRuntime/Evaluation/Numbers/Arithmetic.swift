import CDModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// Calculations with numbers. An overflow of integers or decimals, and a result that is NaN, throw an error.
enum Arithmetic {
  /// Two numbers of the same type.
  private enum Pair {
    case ints(Int64, Int64)
    case floats(Float, Float)
    case doubles(Double, Double)
    case decimals(Decimal, Decimal)
  }

  /// Calculates with an operator, or with the function that corresponds to it.
  static func calculate(
    _ left: Number, _ expressionOperator: ExpressionOperator, _ right: Number
  ) throws(EvaluationError) -> Number {
    let word = expressionOperator.rawValue
    if expressionOperator == .divide, isZero(right) { throw .divisionByZero(operation: word) }
    if expressionOperator == .power { return try power(left, right) }
    switch pair(left, right) {
    case .ints(let left, let right):
      let (result, overflow) =
        switch expressionOperator {
        case .add: left.addingReportingOverflow(right)
        case .subtract: left.subtractingReportingOverflow(right)
        case .multiply: left.multipliedReportingOverflow(by: right)
        default: left.dividedReportingOverflow(by: right)
        }
      if overflow { throw .overflow(operation: word) }
      return .int(result)
    case .floats(let left, let right):
      let result = apply(expressionOperator, left, right)
      if result.isNaN { throw .notANumber(operation: word) }
      return .float(result)
    case .doubles(let left, let right): return try checked(apply(expressionOperator, left, right), word)
    case .decimals(let left, let right):
      let result =
        switch expressionOperator {
        case .add: left + right
        case .subtract: left - right
        case .multiply: DecimalRounding.product(left, right) ?? .nan
        default: left / right
        }
      if result.isNaN { throw .overflow(operation: word) }
      return .decimal(result)
    }
  }

  private static func apply<T: FloatingPoint>(_ expressionOperator: ExpressionOperator, _ left: T, _ right: T)
    -> T
  {
    switch expressionOperator {
    case .add: left + right
    case .subtract: left - right
    case .multiply: left * right
    default: left / right
    }
  }

  private static func isZero(_ number: Number) -> Bool {
    switch number {
    case .int(let number): number == 0
    case .float(let number): number == 0
    case .double(let number): number == 0
    case .decimal(let number): number.isZero
    }
  }

  /// Returns a double, or throws an error if it is NaN.
  static func checked(_ result: Double, _ word: String) throws(EvaluationError) -> Number {
    if result.isNaN { throw .notANumber(operation: word) }
    return .double(result)
  }

  /// Returns two numbers in their common type. An integer and a Float become Floats if the integer has at most 24 bits.
  /// A larger integer and a Float become doubles.
  private static func pair(_ left: Number, _ right: Number) -> Pair {
    switch (left, right) {
    case (.int(let left), .int(let right)): .ints(left, right)
    case (.decimal(let left), .decimal(let right)): .decimals(left, right)
    case (.decimal(let left), .int(let right)): .decimals(left, Decimal(right))
    case (.int(let left), .decimal(let right)): .decimals(Decimal(left), right)
    case (.float(let left), .float(let right)): .floats(left, right)
    case (.float(let left), .int(let right)) where right.magnitude <= 1 << 24: .floats(left, Float(right))
    case (.int(let left), .float(let right)) where left.magnitude <= 1 << 24: .floats(Float(left), right)
    default: .doubles(left.double, right.double)
    }
  }

  /// Returns a literal in the type of the number that it is combined with. So 2.5 times a decimal is a decimal.
  static func literal(_ literal: Number, for other: Number) -> Number {
    guard case .double(let number) = literal else { return literal }
    switch other {
    case .decimal: return Number.decimal(number).map(Number.decimal) ?? literal
    case .float: return .float(Float(number))
    case .int, .double: return literal
    }
  }

  // MARK: Powers and remainders

  static func power(_ base: Number, _ exponent: Number) throws(EvaluationError) -> Number {
    if case .int(let exponent) = exponent, exponent >= 0 {
      switch base {
      case .int(let base): return .int(try power(base, exponent))
      case .decimal(let base):
        guard let result = DecimalRounding.power(base, exponent) else { throw .overflow(operation: "**") }
        return .decimal(result)
      default: break
      }
    }
    let result = try checked(pow(base.double, exponent.double), "**")
    if case .floats = pair(base, exponent) { return .float(Float(result.double)) }
    return result
  }

  private static func power(_ base: Int64, _ exponent: Int64) throws(EvaluationError) -> Int64 {
    var result: Int64 = 1
    var factor = base
    var rest = exponent
    while rest > 0 {
      if rest & 1 == 1 {
        let (product, overflow) = result.multipliedReportingOverflow(by: factor)
        if overflow { throw .overflow(operation: "**") }
        result = product
      }
      rest >>= 1
      if rest > 0 {
        let (square, overflow) = factor.multipliedReportingOverflow(by: factor)
        if overflow { throw .overflow(operation: "**") }
        factor = square
      }
    }
    return result
  }

  /// Returns the remainder of a division, with the sign of the dividend.
  static func remainder(_ left: Number, _ right: Number) throws(EvaluationError) -> Number {
    let word = "modulus:by:"
    if isZero(right) { throw .divisionByZero(operation: word) }
    switch pair(left, right) {
    case .ints(let left, let right): return .int(right == -1 ? 0 : left % right)
    case .floats(let left, let right):
      let result = left.truncatingRemainder(dividingBy: right)
      if result.isNaN { throw .notANumber(operation: word) }
      return .float(result)
    case .doubles(let left, let right):
      return try checked(left.truncatingRemainder(dividingBy: right), word)
    case .decimals(let left, let right):
      let quotient = DecimalRounding.rounded(left / right, .towardZero)
      let result = left - quotient * right
      if result.isNaN { throw .overflow(operation: word) }
      return .decimal(result)
    }
  }

  static func negated(_ number: Number) throws(EvaluationError) -> Number {
    switch number {
    case .int(let number):
      if number == .min { throw .overflow(operation: "-") }
      return .int(-number)
    case .float(let number): return .float(-number)
    case .double(let number): return .double(-number)
    case .decimal(let number): return .decimal(-number)
    }
  }

  // MARK: Functions of one number

  static func absolute(_ number: Number) throws(EvaluationError) -> Number {
    switch number {
    case .int(let integer): integer < 0 ? try negated(number) : number
    case .float(let number): .float(number.magnitude)
    case .double(let number): .double(number.magnitude)
    case .decimal(let number): .decimal(number.magnitude)
    }
  }

  static func rounded(_ number: Number, _ rule: FloatingPointRoundingRule) -> Number {
    switch number {
    case .int: return number
    case .float(let number): return .float(number.rounded(rule))
    case .double(let number): return .double(number.rounded(rule))
    case .decimal(let number): return .decimal(DecimalRounding.rounded(number, rule))
    }
  }
}
