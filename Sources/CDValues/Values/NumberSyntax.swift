#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  package import Foundation
#endif

/// The written forms of decimal numbers.
package enum NumberSyntax {
  /// Whether a text is `[-]digits[.digits][(e|E)[+|-]digits]`.
  package static func isStrict(_ text: String) -> Bool {
    var reader = NumberReader(rest: text.utf8[...])
    _ = reader.take("-")
    guard reader.takeDigits() else { return false }
    if reader.take("."), !reader.takeDigits() { return false }
    return reader.takeExponentAndEnd()
  }

  /// Whether a text is a number in the strict form, or has a plus sign, or lacks the digits on one side of its point.
  fileprivate static func isNumber(_ text: String) -> Bool {
    var reader = NumberReader(rest: text.utf8[...])
    if !reader.take("-") { _ = reader.take("+") }
    let hasDigits = reader.takeDigits()
    guard reader.take(".") && reader.takeDigits() || hasDigits else { return false }
    return reader.takeExponentAndEnd()
  }
}

extension Decimal {
  /// Reads a number if the whole text is one.
  package init?(wholeText text: String) {
    guard NumberSyntax.isNumber(text) else { return nil }
    self.init(checkedText: text)
  }
}

private struct NumberReader {
  var rest: Substring.UTF8View

  mutating func take(_ character: Unicode.Scalar) -> Bool {
    guard rest.first == UInt8(ascii: character) else { return false }
    rest.removeFirst()
    return true
  }

  mutating func takeDigits() -> Bool {
    let tail = rest.drop { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }
    defer { rest = tail }
    return tail.startIndex > rest.startIndex
  }

  mutating func takeExponentAndEnd() -> Bool {
    if take("e") || take("E") {
      if !take("-") { _ = take("+") }
      guard takeDigits() else { return false }
    }
    return rest.isEmpty
  }
}
