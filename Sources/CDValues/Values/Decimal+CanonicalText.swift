#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension Decimal {
  /// Reads the text of a number. The decimal separator is a point, whatever the user's locale is.
  ///
  /// The caller must check that the whole text is a number, because Foundation's initialiser ignores everything after the
  /// first unknown byte. Only this function calls that initialiser, so that nobody passes a locale to it.
  package init?(checkedText text: String) { self.init(string: text) }

  /// The decimal with the digits of a double's text. So the double 0.1 becomes exactly 0.1, although no double is exactly
  /// 0.1. Nil if the number is outside a decimal's range.
  package init?(digitsOf number: Double) {
    guard number.isFinite, let decimal = Decimal(checkedText: number.description), !decimal.isNaN,
      decimal.isZero == (number == 0)
    else { return nil }
    self = decimal
  }

  /// The decimal digits without an exponent and without trailing zeros after the point: equal values have the same
  /// text. The text of not-a-number is `NaN`.
  package var canonicalText: String {
    if isNaN { return "NaN" }
    let text = description
    guard text.utf8.contains(UInt8(ascii: ".")) else { return text }
    let digits = text.utf8.reversed().drop { $0 == UInt8(ascii: "0") }.drop { $0 == UInt8(ascii: ".") }
    return String(decoding: Array(digits.reversed()), as: UTF8.self)
  }

  /// Reads `-12.5` or `125e-1`. Returns nil for any other text, and for a number that a `Decimal` cannot hold exactly.
  ///
  /// Foundation's own initialiser rounds the number.
  package init?(canonicalText text: String) {
    if text == "NaN" {
      self = .nan
      return
    }
    guard NumberSyntax.isStrict(text), let value = Decimal(checkedText: text), !value.isNaN,
      Self.significantDigits(text) == Self.significantDigits(value.description)
    else { return nil }
    self = value
  }

  /// The number of digits that every decimal can hold. Foundation holds some numbers of 39 digits too.
  package static let significantDigitLimit = 38

  /// The digits without an exponent, from the first to the last digit that is not 0.
  package static func significantDigits(_ text: String) -> [UInt8] {
    let isZero = { (byte: UInt8) in byte == UInt8(ascii: "0") }
    let digits = text.utf8.prefix { $0 != UInt8(ascii: "e") && $0 != UInt8(ascii: "E") }
      .filter { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }
    return Array(digits.drop(while: isZero).reversed().drop(while: isZero))
  }
}
