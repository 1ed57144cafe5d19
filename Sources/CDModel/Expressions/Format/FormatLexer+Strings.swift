extension FormatLexer {
  /// A quoted string, from its opening quote on.
  mutating func scanString() throws(FormatError) -> String {
    let start = position
    let quote = byte()
    position += 1
    let content = position
    while position < bytes.count, bytes[position] != quote, bytes[position] != UInt8(ascii: "\\") {
      position += 1
    }
    if position < bytes.count, bytes[position] == quote {
      position += 1
      return text(content, position - 1)
    }
    var result = Array(bytes[content..<position])
    while position < bytes.count {
      let byte = bytes[position]
      if byte == quote {
        position += 1
        return String(decoding: result, as: UTF8.self)
      }
      if byte == UInt8(ascii: "\\") {
        guard position + 1 < bytes.count else { break }
        try scanEscape(into: &result)
      } else {
        result.append(byte)
        position += 1
      }
    }
    throw error(at: start, "the string that begins here has no closing quote")
  }

  /// An escape, from its backslash on. A backslash before any other character is that character.
  private mutating func scanEscape(into result: inout [UInt8]) throws(FormatError) {
    let start = position
    let character = byte(1)
    position += 2
    switch character {
    case UInt8(ascii: "a"): result.append(0x07)
    case UInt8(ascii: "b"): result.append(0x08)
    case UInt8(ascii: "f"): result.append(0x0C)
    case UInt8(ascii: "n"): result.append(0x0A)
    case UInt8(ascii: "r"): result.append(0x0D)
    case UInt8(ascii: "t"): result.append(0x09)
    case UInt8(ascii: "v"): result.append(0x0B)
    case 0x30...0x37:
      position -= 1
      append(scanCode(radix: 8, digits: 1...3) ?? 0, to: &result)
    case UInt8(ascii: "x"):
      if let code = scanCode(radix: 16, digits: 1...2) {
        append(code, to: &result)
      } else {
        result.append(character)
      }
    case UInt8(ascii: "u"):
      guard let unit = scanCode(radix: 16, digits: 4...4) else {
        result.append(character)
        return
      }
      append(try scalar(unit, escapeAt: start), to: &result)
    default: result.append(character)
    }
  }

  /// The scalar of a UTF-16 unit, with that of the escape behind it where the two are a pair.
  private mutating func scalar(_ unit: UInt32, escapeAt start: Int) throws(FormatError) -> UInt32 {
    guard (0xD800...0xDFFF).contains(unit) else { return unit }
    if unit < 0xDC00, byte() == UInt8(ascii: "\\"), byte(1) == UInt8(ascii: "u") {
      position += 2
      if let low = scanCode(radix: 16, digits: 4...4), (0xDC00...0xDFFF).contains(low) {
        return 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00)
      }
    }
    throw error(at: start, "\(text(start, start + 6)) is half of a surrogate pair")
  }

  /// Some digits; nil, with nothing consumed, where there are too few.
  private mutating func scanCode(radix: UInt64, digits: ClosedRange<Int>) -> UInt32? {
    var code: UInt64 = 0
    var count = 0
    while count < digits.upperBound, let digit = Self.digit(byte(count)), digit < radix {
      code = code * radix + digit
      count += 1
    }
    guard count >= digits.lowerBound else { return nil }
    position += count
    return UInt32(code)
  }

  private func append(_ code: UInt32, to result: inout [UInt8]) {
    if let scalar = Unicode.Scalar(code) { result.append(contentsOf: String(scalar).utf8) }
  }
}
