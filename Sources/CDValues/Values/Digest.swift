/// A SHA-256 digest: 32 bytes, written as 64 hexadecimal digits in lower case.
package struct Digest: Hashable, Sendable, LosslessStringConvertible {
  /// The bytes as eight big-endian words.
  private let words: [UInt32]

  init(words: [UInt32]) {
    self.words = words
  }

  /// The 32 bytes.
  package var bytes: [UInt8] {
    words.flatMap { word in
      [
        UInt8(truncatingIfNeeded: word >> 24), UInt8(truncatingIfNeeded: word >> 16),
        UInt8(truncatingIfNeeded: word >> 8), UInt8(truncatingIfNeeded: word),
      ]
    }
  }

  /// The digest as 64 hexadecimal digits in lower case.
  package var description: String {
    let digits = Array("0123456789abcdef".utf8)
    return String(
      decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }

  /// Reads 64 hexadecimal digits in upper or lower case. Returns nil for any other text.
  package init?(_ description: String) {
    let digits = Array(description.utf8)
    guard digits.count == 64 else { return nil }
    var words = [UInt32](repeating: 0, count: 8)
    for (place, digit) in digits.enumerated() {
      guard let value = Character(Unicode.Scalar(digit)).hexDigitValue else { return nil }
      words[place / 8] = words[place / 8] << 4 | UInt32(value)
    }
    self.words = words
  }
}
