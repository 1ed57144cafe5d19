// NSDecimalRound is not in FoundationEssentials.
import Foundation

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
