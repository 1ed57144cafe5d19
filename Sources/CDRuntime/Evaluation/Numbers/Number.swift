import CDModel
// NSDecimalRound is not in FoundationEssentials.
import Foundation

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A number of any kind. A Boolean is 0 or 1.
enum Number {
  case int(Int64)
  case float(Float)
  case double(Double)
  case decimal(Decimal)

  /// The number of a value; nil for a value of another kind.
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

  /// The number as a double, rounded where it has more digits.
  var double: Double {
    switch self {
    case .int(let number): Double(number)
    case .float(let number): Double(number)
    case .double(let number): number
    case .decimal(let number): Double(number.description) ?? .nan
    }
  }

  /// The decimal with the digits that a double is written with: 0.1 for 0.1, which no double is exactly. Nil
  /// for what is out of a decimal's range.
  static func decimal(_ number: Double) -> Decimal? {
    guard number.isFinite, let decimal = Decimal(string: number.description), !decimal.isNaN else {
      return nil
    }
    return decimal.isZero == (number == 0) ? decimal : nil
  }

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
  /// Below, equal to or above 0 where the left number is less than, equal to or greater than the right one;
  /// nil where one of them is NaN.
  ///
  /// Integers and doubles are compared exactly, a double and a decimal by the digits that the double is
  /// written with, a Float and another kind of fraction in the Float's precision.
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

  /// A comparison without rounding. The double is a number.
  private static func order(_ left: Int64, _ right: Double) -> Int {
    // 2^63, which no Int64 is.
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

/// Decimals without their fractions.
enum DecimalRounding {
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

  /// A power by squaring; nil where it is beyond a decimal.
  static func power(_ base: Decimal, _ exponent: Int64) -> Decimal? {
    var result = Decimal(1)
    var factor = base
    var rest = exponent
    while rest > 0 {
      if rest & 1 == 1 { result *= factor }
      rest >>= 1
      if rest > 0 { factor *= factor }
      if result.isNaN || factor.isNaN { return nil }
    }
    return result
  }
}
