#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Writes values as Swift literals.
enum SwiftLiteral {
  /// A string literal. Characters other than printable ASCII and letters of any script are escaped.
  static func string(_ value: String) -> String {
    var result = "\""
    for scalar in value.unicodeScalars {
      switch scalar {
      case "\"": result += "\\\""
      case "\\": result += "\\\\"
      case "\n": result += "\\n"
      case "\r": result += "\\r"
      case "\t": result += "\\t"
      case " "..."~": result.unicodeScalars.append(scalar)
      default:
        if scalar.properties.isAlphabetic {
          result.unicodeScalars.append(scalar)
        } else {
          result += "\\u{" + String(scalar.value, radix: 16, uppercase: true) + "}"
        }
      }
    }
    return result + "\""
  }

  /// The number signs for a one-line raw string with a text: one more than the longest run of number signs after a
  /// quote or a backslash in the text.
  static func rawStringDelimiter(_ text: String) -> String {
    var longest = 0
    var run = -1
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"): run = 0
      case UInt8(ascii: "#") where run >= 0: run += 1
      default: run = -1
      }
      if run > longest { longest = run }
    }
    return String(repeating: "#", count: longest + 1)
  }

  /// The shortest literal that reads as the same double. A value without a literal is written as a static member of the
  /// type. A subnormal value is created from its bits, because the compiler would warn about an underflow.
  static func double(_ value: Double) -> String {
    if value.isNaN { return "Swift.Double.nan" }
    if value.isInfinite { return (value < 0 ? "-" : "") + "Swift.Double.infinity" }
    if value.isSubnormal { return "Swift.Double(bitPattern: \(value.bitPattern))" }
    return value.description
  }

  /// A float, by the rules of ``double(_:)``.
  static func float(_ value: Float) -> String {
    if value.isNaN { return "Swift.Float.nan" }
    if value.isInfinite { return (value < 0 ? "-" : "") + "Swift.Float.infinity" }
    if value.isSubnormal { return "Swift.Float(bitPattern: \(value.bitPattern))" }
    return value.description
  }

  /// A decimal made of integer literals, because Swift reads a decimal literal as a double first.
  static func decimal(_ value: Decimal) -> String {
    if value.isNaN { return "Foundation.Decimal.nan" }
    let (digits, exponent) = digitsAndExponent(value)
    let sign = value.isSignMinus ? ".minus" : ".plus"
    let head = "Foundation.Decimal(sign: \(sign), exponent: \(exponent), significand: "
    // Integer literals of a decimal are limited to Int64, so each has at most 18 digits.
    var parts: [Substring] = []
    var rest = digits[...]
    while !rest.isEmpty {
      parts.insert(rest.suffix(18), at: 0)
      rest = rest.dropLast(18)
    }
    let limbs = parts.map { part in
      let trimmed = part.drop { $0 == "0" }
      return trimmed.isEmpty ? "0" : String(trimmed)
    }
    let scale = "1_000_000_000_000_000_000"
    let significand = limbs.dropFirst().reduce(limbs.first ?? "0") { text, limb in
      (text.contains("+") ? "(\(text))" : text) + " * \(scale) + \(limb)"
    }
    return head + significand + ")"
  }

  /// The decimal digits of a decimal's magnitude without trailing zeros, and the power of ten.
  private static func digitsAndExponent(_ value: Decimal) -> (digits: String, exponent: Int) {
    var magnitude = value.magnitude.description
    var exponent = 0
    if let point = magnitude.firstIndex(of: ".") {
      exponent = -magnitude.distance(from: magnitude.index(after: point), to: magnitude.endIndex)
      magnitude.remove(at: point)
    }
    var digits = String(magnitude.drop { $0 == "0" })
    while digits.last == "0" {
      digits.removeLast()
      exponent += 1
    }
    return digits.isEmpty ? ("0", 0) : (digits, exponent)
  }

  /// A UUID, written as its bytes.
  static func uuid(_ value: UUID) -> String {
    let bytes = withUnsafeBytes(of: value.uuid) { $0.map(String.init) }
    return "Foundation.UUID(uuid: (\(bytes.joined(separator: ", "))))"
  }
}
