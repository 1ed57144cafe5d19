import CDModel
// NSDecimalRound is not in FoundationEssentials.
import Foundation

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A number of any type. A Boolean is 0 or 1.
enum Number {
  case int(Int64)
  case float(Float)
  case double(Double)
  case decimal(Decimal)

  /// The number of a value; nil for a value of another type.
  init?(_ value: EvaluationValue) {
    switch value {
    case .value(.int(let number)): self = .int(number)
    case .value(.bool(let flag)): self = .int(flag ? 1 : 0)
    case .value(.double(let number)): self = .double(number)
    case .value(.decimal(let number)): self = .decimal(number)
    case .float(let number): self = .float(number)
    default: return nil
    }
  }

  var value: EvaluationValue {
    switch self {
    case .int(let number): .value(.int(number))
    case .float(let number): .float(number)
    case .double(let number): .value(.double(number))
    case .decimal(let number): .value(.decimal(number))
    }
  }

  /// The number as a double, rounded if it has more digits.
  var double: Double {
    switch self {
    case .int(let number): Double(number)
    case .float(let number): Double(number)
    case .double(let number): number
    case .decimal(let number): number.double
    }
  }

  /// Returns the decimal with the digits of a double's text; nil if the number is outside a decimal's range.
  static func decimal(_ number: Double) -> Decimal? { Decimal(digitsOf: number) }

  var isNaN: Bool {
    switch self {
    case .int: false
    case .float(let number): number.isNaN
    case .double(let number): number.isNaN
    case .decimal(let number): number.isNaN
    }
  }
}

extension Number {
  /// Returns a negative number, 0 or a positive number if the left number is less than, equal to or greater than the
  /// right one. Returns nil if one of them is NaN.
  ///
  /// Integers and doubles are compared exactly. A double and a decimal are compared by the digits of the double's text.
  /// A Float and another fraction are compared in the precision of the Float.
  static func order(_ left: Number, _ right: Number) -> Int? {
    if left.isNaN || right.isNaN { return nil }
    switch (left, right) {
    case (.int(let left), .int(let right)): return sign(left, right)
    case (.double(let left), .double(let right)): return sign(left, right)
    case (.float(let left), .float(let right)): return sign(left, right)
    case (.decimal(let left), .decimal(let right)): return sign(left, right)
    case (.int(let left), .double(let right)): return order(left, right)
    case (.double(let left), .int(let right)): return -order(right, left)
    case (.int(let left), .float(let right)): return order(left, Double(right))
    case (.float(let left), .int(let right)): return -order(right, Double(left))
    case (.float(let left), .double(let right)): return sign(left, Float(right))
    case (.double(let left), .float(let right)): return sign(Float(left), right)
    case (.int(let left), .decimal(let right)): return sign(Decimal(left), right)
    case (.decimal(let left), .int(let right)): return sign(left, Decimal(right))
    case (.double(let left), .decimal(let right)): return -order(right, left)
    case (.decimal(let left), .double(let right)): return order(left, right)
    case (.float(let left), .decimal(let right)): return sign(left, Float(right.description) ?? .nan)
    case (.decimal(let left), .float(let right)): return sign(Float(left.description) ?? .nan, right)
    }
  }

  private static func sign<T: Comparable>(_ left: T, _ right: T) -> Int {
    left < right ? -1 : left == right ? 0 : 1
  }

  /// Compares without rounding. The double must not be NaN.
  private static func order(_ left: Int64, _ right: Double) -> Int {
    // 2^63 is greater than any Int64.
    if right >= 0x1p63 { return -1 }
    if right < -0x1p63 { return 1 }
    let whole = right.rounded(.towardZero)
    let integer = Int64(whole)
    if left != integer { return left < integer ? -1 : 1 }
    return sign(whole, right)
  }

  private static func order(_ left: Decimal, _ right: Double) -> Int {
    if let right = decimal(right) { return sign(left, right) }
    return sign(Double(left.description) ?? 0, right)
  }
}

/// Products and powers of decimals, and their rounding to integers.
enum DecimalRounding {
  /// The lowest exponent of a decimal.
  private static let lowestExponent = -128

  /// Returns a product, rounded if it has more digits than a decimal; nil if it is outside a decimal's range.
  ///
  /// Foundation's own product traps if the sum of the exponents is too low.
  static func product(_ left: Decimal, _ right: Decimal) -> Decimal? {
    if left.isNaN || right.isNaN { return nil }
    let missing = lowestExponent - left.exponent - right.exponent
    guard missing > 0 else {
      let result = left * right
      return result.isNaN ? nil : result
    }
    if left.isZero || right.isZero { return 0 }
    // The product of a factor with a higher exponent is exact, or rounded to the digits of a decimal.
    var higher = Decimal(sign: .plus, exponent: missing, significand: left) * right
    var rounded = Decimal()
    NSDecimalRound(&rounded, &higher, -lowestExponent - missing, .plain)
    if rounded.isZero { return nil }
    let result = Decimal(sign: .plus, exponent: -missing, significand: rounded)
    return result.isNaN || result.isZero ? nil : result
  }

  static func rounded(_ number: Decimal, _ rule: FloatingPointRoundingRule) -> Decimal {
    var source = number
    var result = Decimal()
    let mode: NSDecimalNumber.RoundingMode =
      switch rule {
      case .down: .down
      case .up: .up
      default: number < 0 ? .up : .down
      }
    NSDecimalRound(&result, &source, 0, mode)
    return result
  }

  /// Returns a power, calculated by repeated squaring; nil if it is outside a decimal's range.
  static func power(_ base: Decimal, _ exponent: Int64) -> Decimal? {
    var result = Decimal(1)
    var factor = base
    var rest = exponent
    while rest > 0 {
      if rest & 1 == 1 {
        guard let product = product(result, factor) else { return nil }
        result = product
      }
      rest >>= 1
      if rest > 0 {
        guard let square = product(factor, factor) else { return nil }
        factor = square
      }
    }
    return result
  }
}
