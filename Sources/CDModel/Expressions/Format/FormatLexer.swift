#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The tokens of a format string, one at a time.
struct FormatLexer {
  let source: String
  private let bytes: [UInt8]
  var position = 0
  private let arguments: [(any FormatArgument)?]
  private var nextArgument = 0
  /// The position after the last number. A letter or digit that follows it directly is an error.
  private var numberEnd = -1

  init(_ source: String, arguments: [(any FormatArgument)?]) {
    self.source = source
    bytes = Array(source.utf8)
    self.arguments = arguments
  }

  /// The byte at a distance from the position. 0 after the end of the text; no token begins with 0.
  private func byte(_ distance: Int = 0) -> UInt8 {
    let index = position + distance
    return index < bytes.count ? bytes[index] : 0
  }

  mutating func next() throws(FormatError) -> FormatToken {
    while position < bytes.count, Self.isBlank(bytes[position]) { position += 1 }
    let start = position
    let kind = try scan()
    return FormatToken(kind: kind, start: start, end: position)
  }

  private mutating func scan() throws(FormatError) -> FormatToken.Kind {
    guard position < bytes.count else { return .end }
    let first = bytes[position]
    if identifierLength() > 0 || Self.isDigit(first) {
      if position == numberEnd { return invalid() }
      return Self.isDigit(first) ? try scanNumber() : scanWord()
    }
    switch first {
    case UInt8(ascii: "'"), UInt8(ascii: "\""): return .string(try scanString())
    case UInt8(ascii: "."):
      // `.5` is a number, unless it follows an operand and is a step of a key path.
      if Self.isDigit(byte(1)), !isBehindOperand { return try scanNumber() }
      return symbol(.dot, 1)
    case UInt8(ascii: "$"): return scanSigil { .variable($0) }
    case UInt8(ascii: "@"): return scanSigil { .collectionOperator($0) }
    case UInt8(ascii: "#"):
      if byte(1) == UInt8(ascii: "\"") || byte(1) == UInt8(ascii: "'") {
        position += 1
        return .escapedName(try scanString())
      }
      return scanSigil { $0 == "self" ? .escapedSelf : .escapedName($0) }
    case UInt8(ascii: "%"): return try scanSpecifier()
    default: return scanSymbol(first)
    }
  }

  // MARK: Words

  private mutating func scanWord() -> FormatToken.Kind {
    let start = position
    skipIdentifier()
    if let keyword = FormatKeyword.keyword(bytes[start..<position]) { return .keyword(keyword) }
    // Two operators contain hyphens.
    if position - start == 3, byte() == UInt8(ascii: "-") {
      for keyword in [FormatKeyword.utiConformsTo, .utiEquals] {
        let spelling = keyword.rawValue.utf8
        let end = start + spelling.count
        let matches =
          end <= bytes.count
          && zip(spelling, bytes[start..<end]).allSatisfy { Self.lowercase($0) == Self.lowercase($1) }
        if matches {
          let after = position
          position = end
          if identifierLength() == 0, !Self.isDigit(byte()) { return .keyword(keyword) }
          position = after
        }
      }
    }
    return .identifier(text(start, position))
  }

  private mutating func scanSigil(_ make: (String) -> FormatToken.Kind) -> FormatToken.Kind {
    position += 1
    guard identifierLength() > 0 else {
      position -= 1
      return invalid()
    }
    let start = position
    skipIdentifier()
    return make(text(start, position))
  }

  /// Reads the rest of a selector such as `name:with:`. Returns nil if no colon directly follows the name.
  mutating func scanSelector(from start: Int) -> String? {
    guard byte() == UInt8(ascii: ":"), byte(1) != UInt8(ascii: "=") else { return nil }
    position += 1
    while identifierLength() > 0 {
      let end = position
      skipIdentifier()
      guard byte() == UInt8(ascii: ":") else {
        position = end
        break
      }
      position += 1
    }
    return text(start, position)
  }

  private mutating func skipIdentifier() {
    while true {
      let length = Self.isDigit(byte()) ? 1 : identifierLength(isFirst: false)
      if length == 0 { return }
      position += length
    }
  }

  /// The length of the identifier character at the position in bytes; 0 if there is none.
  private func identifierLength(isFirst: Bool = true) -> Int {
    let first = byte()
    if first < 0x80 { return Self.isLetter(first) ? 1 : 0 }
    let length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4
    guard let scalar = text(position, min(position + length, bytes.count)).unicodeScalars.first else {
      return 0
    }
    let properties = scalar.properties
    return (isFirst ? properties.isXIDStart : properties.isXIDContinue) ? length : 0
  }

  /// Whether the character before the position ends an operand.
  private var isBehindOperand: Bool {
    guard position > 0 else { return false }
    let before = bytes[position - 1]
    return before >= 0x80 || Self.isLetter(before) || Self.isDigit(before)
      || ")]}.\"'".utf8.contains(before)
  }

  /// Whether a name can be written without escaping, unless it is a keyword.
  static func isIdentifier(_ name: String) -> Bool {
    var lexer = FormatLexer(name, arguments: [])
    guard lexer.identifierLength() > 0 else { return false }
    lexer.skipIdentifier()
    return lexer.position == lexer.bytes.count
  }

  // MARK: Symbols

  private mutating func scanSymbol(_ first: UInt8) -> FormatToken.Kind {
    let second = byte(1)
    switch first {
    case UInt8(ascii: "("): return symbol(.openParenthesis, 1)
    case UInt8(ascii: ")"): return symbol(.closeParenthesis, 1)
    case UInt8(ascii: "["): return symbol(.openBracket, 1)
    case UInt8(ascii: "]"): return symbol(.closeBracket, 1)
    case UInt8(ascii: "{"): return symbol(.openBrace, 1)
    case UInt8(ascii: "}"): return symbol(.closeBrace, 1)
    case UInt8(ascii: ","): return symbol(.comma, 1)
    case UInt8(ascii: "~"): return symbol(.complement, 1)
    case UInt8(ascii: "+"): return symbol(.value(.add), 1)
    case UInt8(ascii: "-"): return symbol(.value(.subtract), 1)
    case UInt8(ascii: "/"): return symbol(.value(.divide), 1)
    case UInt8(ascii: "^"): return symbol(.value(.bitwiseXor), 1)
    case UInt8(ascii: "*"):
      return second == first ? symbol(.value(.power), 2) : symbol(.value(.multiply), 1)
    case UInt8(ascii: "&"): return second == first ? symbol(.and, 2) : symbol(.value(.bitwiseAnd), 1)
    case UInt8(ascii: "|"): return second == first ? symbol(.or, 2) : symbol(.value(.bitwiseOr), 1)
    case UInt8(ascii: "!"):
      return second == UInt8(ascii: "=") ? symbol(.comparison(.notEqualTo), 2) : symbol(.not, 1)
    case UInt8(ascii: "="):
      switch second {
      case UInt8(ascii: "="): return symbol(.comparison(.equalTo), 2)
      case UInt8(ascii: "<"): return symbol(.comparison(.lessThanOrEqualTo), 2)
      case UInt8(ascii: ">"): return symbol(.comparison(.greaterThanOrEqualTo), 2)
      default: return symbol(.comparison(.equalTo), 1)
      }
    case UInt8(ascii: "<"):
      switch second {
      case UInt8(ascii: "="): return symbol(.comparison(.lessThanOrEqualTo), 2)
      case UInt8(ascii: ">"): return symbol(.comparison(.notEqualTo), 2)
      case UInt8(ascii: "<"): return symbol(.value(.shiftLeft), 2)
      default: return symbol(.comparison(.lessThan), 1)
      }
    case UInt8(ascii: ">"):
      switch second {
      case UInt8(ascii: "="): return symbol(.comparison(.greaterThanOrEqualTo), 2)
      case UInt8(ascii: ">"): return symbol(.value(.shiftRight), 2)
      default: return symbol(.comparison(.greaterThan), 1)
      }
    case UInt8(ascii: ":"): return second == UInt8(ascii: "=") ? symbol(.assign, 2) : invalid()
    case UInt8(ascii: "?"): return second == first ? symbol(.coalesce, 2) : invalid()
    default: return invalid()
    }
  }

  private mutating func symbol(_ symbol: FormatSymbol, _ length: Int) -> FormatToken.Kind {
    position += length
    return .symbol(symbol)
  }

  /// Skips one character that begins no token.
  private mutating func invalid() -> FormatToken.Kind {
    position += 1
    while position < bytes.count, bytes[position] & 0xC0 == 0x80 { position += 1 }
    return .invalid
  }

  /// Reads the options after a comparison operator, such as `[cd]`, when the current token is a bracket. Returns nil
  /// and consumes nothing if the brackets contain anything else.
  mutating func scanOptions() -> ComparisonOptions? {
    let start = position
    var options: ComparisonOptions = []
    while position < bytes.count {
      switch Self.lowercase(bytes[position]) {
      case UInt8(ascii: "c"): options.insert(.caseInsensitive)
      case UInt8(ascii: "d"): options.insert(.diacriticInsensitive)
      case UInt8(ascii: "n"): options.insert(.normalized)
      case UInt8(ascii: "l"): options.insert(.localeSensitive)
      case UInt8(ascii: "]") where !options.isEmpty:
        position += 1
        return options
      case let byte where Self.isBlank(byte): break
      default:
        position = start
        return nil
      }
      position += 1
    }
    position = start
    return nil
  }

  // MARK: Numbers

  private mutating func scanNumber() throws(FormatError) -> FormatToken.Kind {
    let start = position
    defer { numberEnd = position }
    if byte() == UInt8(ascii: "0") {
      let radix: UInt64? =
        switch Self.lowercase(byte(1)) {
        case UInt8(ascii: "x"): 16
        case UInt8(ascii: "o"): 8
        case UInt8(ascii: "b"): 2
        default: nil
        }
      if let radix, let digit = Self.digit(byte(2)), digit < radix {
        position += 2
        return .integer(try scanInteger(radix: radix, from: start))
      }
    }
    var end = position
    while end < bytes.count, Self.isDigit(bytes[end]) { end += 1 }
    var isInteger = true
    if end < bytes.count, bytes[end] == UInt8(ascii: ".") {
      isInteger = false
      end += 1
      while end < bytes.count, Self.isDigit(bytes[end]) { end += 1 }
    }
    if end < bytes.count, Self.lowercase(bytes[end]) == UInt8(ascii: "e") {
      var exponent = end + 1
      if exponent < bytes.count, bytes[exponent] == 0x2B || bytes[exponent] == 0x2D { exponent += 1 }
      if exponent < bytes.count, Self.isDigit(bytes[exponent]) {
        isInteger = false
        end = exponent
        while end < bytes.count, Self.isDigit(bytes[end]) { end += 1 }
      }
    }
    if isInteger { return .integer(try scanInteger(radix: 10, from: start)) }
    position = end
    // Double's initialiser requires a digit before and after the point.
    var digits = "0" + text(start, end)
    if bytes[end - 1] == UInt8(ascii: ".") { digits += "0" }
    digits.replace(".e", with: ".0e")
    digits.replace(".E", with: ".0e")
    guard let number = Double(digits), number.isFinite else {
      throw error(at: start, "the number \(text(start, end)) is too large")
    }
    return .double(number)
  }

  private mutating func scanInteger(radix: UInt64, from start: Int) throws(FormatError) -> UInt64 {
    var value: UInt64 = 0
    var isTooLarge = false
    while let digit = Self.digit(byte()), digit < radix {
      let (product, overflow) = value.multipliedReportingOverflow(by: radix)
      let (sum, carry) = product.addingReportingOverflow(digit)
      value = sum
      isTooLarge = isTooLarge || overflow || carry
      position += 1
    }
    if isTooLarge || value > UInt64(Int64.max) + 1 {
      throw error(at: start, "the integer \(text(start, position)) does not fit in 64 bits")
    }
    return value
  }

  // MARK: Text

  func text(_ start: Int, _ end: Int) -> String {
    String(decoding: bytes[start..<end], as: UTF8.self)
  }

  func error(at offset: Int, _ message: String) -> FormatError {
    FormatError(
      utf8Offset: offset, utf16Offset: SourceSpan.utf16Offset(ofUTF8: offset, in: source), message: message)
  }

  private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || (byte >= 0x09 && byte <= 0x0D) }
  private static func isDigit(_ byte: UInt8) -> Bool { byte >= 0x30 && byte <= 0x39 }
  private static func isLetter(_ byte: UInt8) -> Bool {
    let lower = byte | 0x20
    return (lower >= 0x61 && lower <= 0x7A) || byte == 0x5F
  }
  private static func lowercase(_ byte: UInt8) -> UInt8 { byte >= 0x41 && byte <= 0x5A ? byte | 0x20 : byte }

  private static func digit(_ byte: UInt8) -> UInt64? {
    switch byte {
    case 0x30...0x39: UInt64(byte - 0x30)
    case 0x41...0x46: UInt64(byte - 0x37)
    case 0x61...0x66: UInt64(byte - 0x57)
    default: nil
    }
  }
}

extension FormatLexer {
  /// Reads a quoted string, starting at its opening quote.
  private mutating func scanString() throws(FormatError) -> String {
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

  /// Reads an escape, starting at its backslash. A backslash before a character without special meaning gives that
  /// character.
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

  /// The scalar of a UTF-16 unit. If the unit is the first of a surrogate pair, the escape of the second one is read
  /// too.
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

  /// Reads digits of a character code. Returns nil and consumes nothing if there are too few.
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

extension FormatLexer {
  /// Reads a specifier, starting at its `%`, and takes the next argument.
  private mutating func scanSpecifier() throws(FormatError) -> FormatToken.Kind {
    let start = position
    position += 1
    while isLengthModifier(byte()) { position += 1 }
    let conversion = byte()
    let isModified = position > start + 1
    guard FormatConversion(conversion) != nil, !isModified || FormatLexer.isLetter(conversion) else {
      position = start + 1
      return .invalid
    }
    position += 1
    let specifier = text(start, position)
    guard nextArgument < arguments.count else {
      throw error(at: start, "\(specifier) has no argument: \(arguments.count) given")
    }
    let constant = arguments[nextArgument]?.expressionConstant ?? .null
    nextArgument += 1
    switch FormatConversion(conversion) {
    case .keyPath:
      guard case .value(.string(let path)) = constant else {
        throw mismatch(specifier, "a key path as a string", at: start)
      }
      return .keyPath(path)
    case .object:
      guard constant.depth <= ValueExpression.maximumDepth else {
        throw error(
          at: start,
          "the argument has collections in collections, more than \(ValueExpression.maximumDepth) deep")
      }
      return .argument(constant)
    case .integer: return .argument(.value(.int(try integer(constant, specifier, at: start))))
    case .double: return .argument(.value(.double(try double(constant, specifier, at: start))))
    case .string:
      guard case .value(.string) = constant else { throw mismatch(specifier, "a string", at: start) }
      return .argument(constant)
    case .character:
      if case .value(.string(let text)) = constant, text.unicodeScalars.count == 1 {
        return .argument(constant)
      }
      return .argument(.value(.int(try integer(constant, specifier, at: start))))
    case nil: return .invalid
    }
  }

  private func integer(_ constant: ExpressionConstant, _ specifier: String, at start: Int) throws(FormatError)
    -> Int64
  {
    switch constant {
    case .value(.int(let number)): return number
    case .value(.bool(let flag)): return flag ? 1 : 0
    case .value(.double(let number)):
      if let whole = Int64(exactly: number) { return whole }
    default: break
    }
    throw mismatch(specifier, "an integer", at: start)
  }

  private func double(_ constant: ExpressionConstant, _ specifier: String, at start: Int) throws(FormatError)
    -> Double
  {
    switch constant {
    case .value(.double(let number)): return number
    case .value(.int(let number)): return Double(number)
    case .value(.decimal(let number)):
      if let value = Double(number.description) { return value }
    default: break
    }
    throw mismatch(specifier, "a number", at: start)
  }

  private func mismatch(_ specifier: String, _ wanted: String, at start: Int) -> FormatError {
    error(at: start, "\(specifier) takes \(wanted), and argument \(nextArgument) is another value")
  }

  private func isLengthModifier(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "h"), UInt8(ascii: "l"), UInt8(ascii: "q"), UInt8(ascii: "L"), UInt8(ascii: "z"): true
    default: false
    }
  }
}

/// The conversion that a specifier applies to its argument.
private enum FormatConversion {
  case object, keyPath, integer, double, string, character

  init?(_ byte: UInt8) {
    switch byte {
    case UInt8(ascii: "@"): self = .object
    case UInt8(ascii: "K"): self = .keyPath
    case UInt8(ascii: "d"), UInt8(ascii: "D"), UInt8(ascii: "i"), UInt8(ascii: "u"), UInt8(ascii: "U"),
      UInt8(ascii: "o"), UInt8(ascii: "O"), UInt8(ascii: "x"), UInt8(ascii: "X"), UInt8(ascii: "p"):
      self = .integer
    case UInt8(ascii: "e"), UInt8(ascii: "E"), UInt8(ascii: "f"), UInt8(ascii: "F"), UInt8(ascii: "g"),
      UInt8(ascii: "G"), UInt8(ascii: "a"), UInt8(ascii: "A"):
      self = .double
    case UInt8(ascii: "s"), UInt8(ascii: "S"): self = .string
    case UInt8(ascii: "c"), UInt8(ascii: "C"): self = .character
    default: return nil
    }
  }
}
