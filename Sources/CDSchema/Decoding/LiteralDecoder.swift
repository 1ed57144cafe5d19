import CDModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Reads literal values of the schema language strictly: it refuses ambiguous texts.
enum LiteralDecoder {
  /// Reads a decimal integer, optionally with a minus sign. Underscores, spaces and other bases are not allowed.
  static func integer(_ text: String) -> Int64? {
    let digits = text.utf8.first == UInt8(ascii: "-") ? text.utf8.dropFirst() : text.utf8[...]
    guard !digits.isEmpty, digits.allSatisfy(isDigit) else { return nil }
    return Int64(text)
  }

  /// Reads a finite decimal number, optionally with a fraction and an exponent.
  static func double(_ text: String) -> Double? {
    guard NumberSyntax.isStrict(text), let value = Double(text), value.isFinite else { return nil }
    return value
  }

  /// Reads a decimal number that `Decimal` holds exactly: at most 38 digits.
  static func decimal(_ text: String) -> Decimal? {
    guard NumberSyntax.isStrict(text),
      Decimal.significantDigits(text).count <= Decimal.significantDigitLimit
    else { return nil }
    let exponent = text.firstIndex { $0 == "e" || $0 == "E" }.map { text[text.index(after: $0)...] }
    if let exponent, Int(exponent).map({ abs($0) > 90 }) ?? true { return nil }
    return Decimal(checkedText: text)
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
  }

  /// Returns `true` or `false` for a word that other languages use for it; nil for other words.
  static func likelyBool(_ text: String) -> String? {
    switch text.lowercased() {
    case "true", "yes", "on", "y", "1": "true"
    case "false", "no", "off", "n", "0": "false"
    default: nil
    }
  }
}
