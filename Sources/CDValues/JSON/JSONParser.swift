extension JSONValue {
  /// The maximum nesting of lists and objects. Parsing uses a stack frame for each level, and threads other than the
  /// main thread have small stacks.
  package static let depthLimit = 128

  /// Reads a JSON text (RFC 8259) strictly: UTF-8 without a byte order mark, one value, and no comments, trailing
  /// commas or repeated keys. The time is proportional to the text's length.
  ///
  /// - Throws: The first mistake. An integer beyond `Int64` is a mistake, because it would lose digits as a `Double`.
  package init(parsing text: String) throws(JSONParsingError) {
    try self.init(parsing: Array(text.utf8))
  }

  /// Reads the UTF-8 of a JSON text in the same way as ``init(parsing:)-(String)``.
  ///
  /// - Parameter roundsIntegers: Whether an integer beyond `Int64` becomes the nearest `Double`.
  package init(parsing bytes: [UInt8], roundsIntegers: Bool = false) throws(JSONParsingError) {
    var parser = JSONParser(bytes: bytes, roundsIntegers: roundsIntegers)
    self = try parser.document()
  }
}

/// A recursive-descent parser over bytes.
private struct JSONParser {
  private let bytes: [UInt8]
  private let roundsIntegers: Bool
  private var position = 0
  private var depth = 0

  init(bytes: [UInt8], roundsIntegers: Bool) {
    self.bytes = bytes
    self.roundsIntegers = roundsIntegers
  }

  mutating func document() throws(JSONParsingError) -> JSONValue {
    let result = try value()
    skipSpace()
    guard position == bytes.count else { throw JSONParsingError(.trailingText, offset: position) }
    return result
  }

  // MARK: Values

  private mutating func value() throws(JSONParsingError) -> JSONValue {
    skipSpace()
    switch try peek() {
    case UInt8(ascii: "{"): return try object()
    case UInt8(ascii: "["): return try array()
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return try number()
    case UInt8(ascii: "t"): return try word("true", .bool(true))
    case UInt8(ascii: "f"): return try word("false", .bool(false))
    case UInt8(ascii: "n"): return try word("null", .null)
    default: throw JSONParsingError(.expected("a value"), offset: position)
    }
  }

  private mutating func object() throws(JSONParsingError) -> JSONValue {
    try open()
    var members: [JSONValue.Member] = []
    var keys = KeySet()
    if try !take(UInt8(ascii: "}")) {
      repeat {
        skipSpace()
        let offset = position
        guard try peek() == UInt8(ascii: "\"") else {
          throw JSONParsingError(.expected("a key in quotes"), offset: position)
        }
        let key = try string()
        guard keys.insert(key, after: members) else {
          throw JSONParsingError(.duplicateKey(key), offset: offset)
        }
        guard try take(UInt8(ascii: ":")) else { throw JSONParsingError(.expected("':'"), offset: position) }
        members.append(JSONValue.Member(key, try value()))
      } while try take(UInt8(ascii: ","))
      guard try take(UInt8(ascii: "}")) else {
        throw JSONParsingError(.expected("',' or '}'"), offset: position)
      }
    }
    depth -= 1
    return .object(members)
  }

  private mutating func array() throws(JSONParsingError) -> JSONValue {
    try open()
    var elements: [JSONValue] = []
    if try !take(UInt8(ascii: "]")) {
      repeat {
        elements.append(try value())
      } while try take(UInt8(ascii: ","))
      guard try take(UInt8(ascii: "]")) else {
        throw JSONParsingError(.expected("',' or ']'"), offset: position)
      }
    }
    depth -= 1
    return .array(elements)
  }

  private mutating func word(_ word: StaticString, _ value: JSONValue) throws(JSONParsingError) -> JSONValue {
    let start = position
    for expected in UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount) {
      guard try peek() == expected else { throw JSONParsingError(.expected("a value"), offset: start) }
      position += 1
    }
    return value
  }

  // MARK: Numbers

  private mutating func number() throws(JSONParsingError) -> JSONValue {
    let start = position
    let isNegative = bytes[position] == UInt8(ascii: "-")
    if isNegative { position += 1 }
    let digits = position
    try skipDigits()
    if bytes[digits] == UInt8(ascii: "0"), position > digits + 1 {
      throw JSONParsingError(.expected("a number without leading zeros"), offset: digits)
    }
    var isInteger = true
    if current == UInt8(ascii: ".") {
      isInteger = false
      position += 1
      try skipDigits()
    }
    if current == UInt8(ascii: "e") || current == UInt8(ascii: "E") {
      isInteger = false
      position += 1
      if current == UInt8(ascii: "+") || current == UInt8(ascii: "-") { position += 1 }
      try skipDigits()
    }
    let text = String(decoding: bytes[start..<position], as: UTF8.self)
    if isInteger {
      if let value = Int64(text) { return .int(value) }
      guard roundsIntegers else { throw JSONParsingError(.numberOutOfRange, offset: start) }
    }
    guard let value = Double(text), value.isFinite else {
      throw JSONParsingError(.numberOutOfRange, offset: start)
    }
    return .double(value)
  }

  /// Skips at least one digit.
  private mutating func skipDigits() throws(JSONParsingError) {
    let start = position
    while let byte = current, byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") { position += 1 }
    guard position > start else {
      _ = try peek()
      throw JSONParsingError(.expected("a digit"), offset: position)
    }
  }

  // MARK: Strings

  private mutating func string() throws(JSONParsingError) -> String {
    let start = position
    position += 1
    var run = position
    // Empty until the first escape. Most strings have no escapes and are copied from the text.
    var unescaped: [UInt8] = []
    while true {
      let byte = try peek()
      if byte == UInt8(ascii: "\"") { break }
      guard byte >= 0x20 else { throw JSONParsingError(.controlCharacter, offset: position) }
      position += 1
      guard byte == UInt8(ascii: "\\") else { continue }
      unescaped.append(contentsOf: bytes[run..<position - 1])
      try escape(into: &unescaped)
      run = position
    }
    let tail = bytes[run..<position]
    position += 1
    if unescaped.isEmpty {
      if let result = String(validating: tail, as: UTF8.self) { return result }
    } else {
      unescaped.append(contentsOf: tail)
      if let result = String(validating: unescaped, as: UTF8.self) { return result }
    }
    throw JSONParsingError(.invalidUTF8, offset: start)
  }

  /// Reads the characters after a backslash.
  private mutating func escape(into buffer: inout [UInt8]) throws(JSONParsingError) {
    let start = position - 1
    let byte = try peek()
    position += 1
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): buffer.append(byte)
    case UInt8(ascii: "b"): buffer.append(0x08)
    case UInt8(ascii: "f"): buffer.append(0x0C)
    case UInt8(ascii: "n"): buffer.append(0x0A)
    case UInt8(ascii: "r"): buffer.append(0x0D)
    case UInt8(ascii: "t"): buffer.append(0x09)
    case UInt8(ascii: "u"):
      var code = try fourHexDigits(start)
      if UTF16.isLeadSurrogate(UInt16(code)) {
        guard current == UInt8(ascii: "\\"), position + 1 < bytes.count,
          bytes[position + 1] == UInt8(ascii: "u")
        else { throw JSONParsingError(.loneSurrogate, offset: start) }
        position += 2
        let trail = try fourHexDigits(position - 2)
        guard UTF16.isTrailSurrogate(UInt16(trail)) else {
          throw JSONParsingError(.loneSurrogate, offset: start)
        }
        code = 0x10000 + (code - 0xD800) << 10 + (trail - 0xDC00)
      }
      // Only a lone trail surrogate is not a scalar here.
      guard let scalar = Unicode.Scalar(code) else { throw JSONParsingError(.loneSurrogate, offset: start) }
      buffer.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
    default: throw JSONParsingError(.invalidEscape, offset: start)
    }
  }

  private mutating func fourHexDigits(_ start: Int) throws(JSONParsingError) -> UInt32 {
    var result: UInt32 = 0
    for _ in 0..<4 {
      let byte = try peek()
      guard let digit = Character(Unicode.Scalar(byte)).hexDigitValue else {
        throw JSONParsingError(.invalidEscape, offset: start)
      }
      result = result << 4 | UInt32(digit)
      position += 1
    }
    return result
  }

  // MARK: Bytes

  private var current: UInt8? { position < bytes.count ? bytes[position] : nil }

  private func peek() throws(JSONParsingError) -> UInt8 {
    guard position < bytes.count else { throw JSONParsingError(.unexpectedEnd, offset: position) }
    return bytes[position]
  }

  /// Begins a list or an object.
  private mutating func open() throws(JSONParsingError) {
    guard depth < JSONValue.depthLimit else {
      throw JSONParsingError(.tooDeep(limit: JSONValue.depthLimit), offset: position)
    }
    depth += 1
    position += 1
  }

  /// Skips white space, and then the given byte if it is next.
  private mutating func take(_ byte: UInt8) throws(JSONParsingError) -> Bool {
    skipSpace()
    guard try peek() == byte else { return false }
    position += 1
    return true
  }

  private mutating func skipSpace() {
    while let byte = current, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
  }
}

/// The keys of an object so far. For a small object, comparing them one by one is faster than hashing.
private struct KeySet {
  private var set: Set<String> = []

  mutating func insert(_ key: String, after members: [JSONValue.Member]) -> Bool {
    if members.count < 16 { return !members.contains { $0.key == key } }
    if set.isEmpty { set = Set(members.lazy.map(\.key)) }
    return set.insert(key).inserted
  }
}
