#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Texts that Swift reads back as a value.
enum SwiftLiteral {
  /// A string in quotes. What is not printable ASCII, or a letter of any script, is written as an escape.
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

  /// The number signs that a raw string of one line needs around a text: one more than follow any of its
  /// quotes or backslashes.
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

  /// A double as the shortest literal that reads back as the same. What has no literal is a member of the
  /// type, or made of its bits where the compiler warns of an underflow.
  static func double(_ value: Double) -> String {
    if value.isNaN { return "Swift.Double.nan" }
    if value.isInfinite { return (value < 0 ? "-" : "") + "Swift.Double.infinity" }
    if value.isSubnormal { return "Swift.Double(bitPattern: \(value.bitPattern))" }
    return value.description
  }

  /// A float, as ``double(_:)``.
  static func float(_ value: Float) -> String {
    if value.isNaN { return "Swift.Float.nan" }
    if value.isInfinite { return (value < 0 ? "-" : "") + "Swift.Float.infinity" }
    if value.isSubnormal { return "Swift.Float(bitPattern: \(value.bitPattern))" }
    return value.description
  }

  /// A decimal made of integer literals, since Swift reads a decimal literal as a double first.
  static func decimal(_ value: Decimal) -> String {
    if value.isNaN { return "Foundation.Decimal.nan" }
    let (digits, exponent) = digitsAndExponent(value)
    let sign = value.isSignMinus ? ".minus" : ".plus"
    let head = "Foundation.Decimal(sign: \(sign), exponent: \(exponent), significand: "
    // Integer literals of a decimal go through Int64: at most 18 digits of any value.
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

  /// The decimal digits of a decimal's magnitude, without zeros at the end, and the power of ten to apply.
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

  /// A UUID by its bytes.
  static func uuid(_ value: UUID) -> String {
    let bytes = withUnsafeBytes(of: value.uuid) { $0.map(String.init) }
    return "Foundation.UUID(uuid: (\(bytes.joined(separator: ", "))))"
  }
}
