import Foundation
import Testing

@testable import CDGenerator

/// Literals that Swift reads back as the value.
@Suite struct SwiftLiteralTests {
  @Test(arguments: [
    ("", #""""#), ("a b~", #""a b~""#), ("\"\\", #""\"\\""#), ("\n\r\t", #""\n\r\t""#), ("é日", #""é日""#),
    ("\u{0}\u{7F}\u{1F600}", #""\u{0}\u{7F}\u{1F600}""#), ("\u{202E}", #""\u{202E}""#),
    // No interpolation, whatever the text says.
    ("\\(1)", #""\\(1)""#),
  ])
  func strings(text: String, literal: String) { #expect(SwiftLiteral.string(text) == literal) }

  @Test(arguments: [
    ("", "#"), ("plain # text", "#"), ("\"", "#"), ("\"#", "##"), ("\\##(x)", "###"), ("\"# \"###", "####"),
  ])
  func rawStrings(text: String, delimiter: String) {
    #expect(SwiftLiteral.rawStringDelimiter(text) == delimiter)
  }

  @Test(arguments: [
    (0, "0.0"), (-0.0, "-0.0"), (0.1, "0.1"), (1e300, "1e+300"), (.infinity, "Swift.Double.infinity"),
    (-.infinity, "-Swift.Double.infinity"), (.nan, "Swift.Double.nan"),
    (.leastNonzeroMagnitude, "Swift.Double(bitPattern: 1)"),
    (.leastNormalMagnitude, "2.2250738585072014e-308"),
  ])
  func doubles(value: Double, literal: String) { #expect(SwiftLiteral.double(value) == literal) }

  @Test(arguments: [
    (0.1, "0.1"), (.infinity, "Swift.Float.infinity"), (-.infinity, "-Swift.Float.infinity"),
    (.nan, "Swift.Float.nan"), (.leastNonzeroMagnitude, "Swift.Float(bitPattern: 1)"),
  ])
  func floats(value: Float, literal: String) { #expect(SwiftLiteral.float(value) == literal) }

  @Test(arguments: [
    ("0", "exponent: 0, significand: 0"), ("9.99", "exponent: -2, significand: 999"),
    ("1500", "exponent: 2, significand: 15"),
    ("12345678901234567890", "exponent: 1, significand: 1 * 1_000_000_000_000_000_000 + 234567890123456789"),
    ("1000000000000000001", "exponent: 0, significand: 1 * 1_000_000_000_000_000_000 + 1"),
  ])
  func decimals(text: String, parts: String) throws {
    let value = try #require(Decimal(string: text))
    #expect(SwiftLiteral.decimal(value) == "Foundation.Decimal(sign: .plus, \(parts))")
    if value != 0 {
      #expect(SwiftLiteral.decimal(-value) == "Foundation.Decimal(sign: .minus, \(parts))")
    }
  }

  @Test func aDecimalOfThirtyEightDigitsHasThreeLimbs() throws {
    let value = try #require(Decimal(string: "12345678901234567890123456789012345678"))
    #expect(
      SwiftLiteral.decimal(value)
        == "Foundation.Decimal(sign: .plus, exponent: 0, significand: (12 * 1_000_000_000_000_000_000 + "
        + "345678901234567890) * 1_000_000_000_000_000_000 + 123456789012345678)")
    #expect(SwiftLiteral.decimal(.nan) == "Foundation.Decimal.nan")
  }

  @Test func uuidsAreTheirBytes() throws {
    let value = try #require(UUID(uuidString: "00010203-0405-0607-0809-0A0B0C0DFEFF"))
    #expect(
      SwiftLiteral.uuid(value)
        == "Foundation.UUID(uuid: (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 254, 255))")
  }
}
