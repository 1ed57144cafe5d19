/// Reads the part of XML 1.0 that stores use, one tag or text at a time: elements, attributes, text, CDATA, comments
/// and processing instructions. Refuses document types, and entities other than XML's own five. So nothing is ever
/// expanded or loaded from elsewhere.
///
/// Names and values stay bytes, because most of them are only compared or are not texts in the end. The scanner is a
/// struct, to avoid a check of exclusive access for each byte.
struct XMLScanner {
  /// A tag.
  struct Tag {
    /// The name, followed by the names and values of the attributes.
    fileprivate(set) var bytes: [UInt8] = []
    fileprivate var nameEnd = 0
    fileprivate(set) var attributes: [(name: Range<Int>, value: Range<Int>)] = []
    fileprivate(set) var isEnd = false
    /// Whether the tag is also the end of its element.
    fileprivate(set) var isEmpty = false

    var name: String { string(0..<nameEnd) }

    func isNamed(_ name: StaticString) -> Bool {
      has(0..<nameEnd, UnsafeRawBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount))
    }

    func isNamed(_ name: [UInt8]) -> Bool { name.withUnsafeBytes { has(0..<nameEnd, $0) } }

    /// Returns whether a range of the bytes equals a name.
    func has(_ range: Range<Int>, _ name: [UInt8]) -> Bool { name.withUnsafeBytes { has(range, $0) } }

    @inline(__always) private func has(_ range: Range<Int>, _ name: UnsafeRawBufferPointer) -> Bool {
      guard range.count == name.count else { return false }
      return bytes.withUnsafeBytes { bytes in
        for index in 0..<name.count where bytes[range.lowerBound + index] != name[index] { return false }
        return true
      }
    }

    /// Returns a range of the bytes as text. The scanner has already validated the bytes.
    func string(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }

    /// Returns the value of an attribute.
    func value(_ name: StaticString) -> Range<Int>? {
      let name = UnsafeRawBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
      for attribute in attributes where has(attribute.name, name) { return attribute.value }
      return nil
    }

    subscript(name: StaticString) -> String? { value(name).map(string) }
  }

  private static let chunk = 1 << 18
  /// Names and attributes have limits, because a store needs only few and short ones. Only text may be long.
  private static let longestName = 1024
  private static let maximumAttributes = 64

  private let input: StoreInput
  private var buffer: [UInt8] = []
  private var index = 0
  /// The bytes of the current text.
  private var scratch: [UInt8] = []
  /// The bytes of a comment or processing instruction that have not yet been validated.
  private var skipped: [UInt8] = []
  /// The name of the element whose text is being read.
  private var element: [UInt8] = []
  private(set) var tag = Tag()
  /// The bitwise OR of all bytes of the tag. If its highest bit is 0, the tag is ASCII.
  private var bits: UInt8 = 0
  /// The current line, starting at 1.
  private var line = 1
  /// The number of bytes before the buffer. `lineStart` is the number of bytes before the line.
  private var bytesBefore = 0
  private var lineStart = 0
  /// The position of the last tag that was read.
  private(set) var tagPosition = Position(line: 1, column: 1)

  init(_ input: StoreInput) { self.input = input }

  /// A position in the file: the line, and the byte in the line, both starting at 1.
  struct Position {
    let line: Int
    let column: Int
  }

  /// The current position.
  var position: Position { Position(line: line, column: bytesBefore + index - lineStart + 1) }

  // MARK: Bytes

  /// Returns whether there is another byte. If so, the buffer contains it.
  @inline(__always) private mutating func fill() throws -> Bool {
    if index < buffer.count { return true }
    return try refill()
  }

  @inline(never) private mutating func refill() throws -> Bool {
    bytesBefore += buffer.count
    try input.read(upToCount: Self.chunk, into: &buffer)
    index = 0
    return !buffer.isEmpty
  }

  @inline(__always) private mutating func peek() throws -> UInt8 {
    guard try fill() else { throw StoreFormatError(.truncated) }
    return buffer[index]
  }

  @inline(__always) private mutating func next() throws -> UInt8 {
    let byte = try peek()
    index += 1
    if byte == UInt8(ascii: "\n") {
      line += 1
      lineStart = bytesBefore + index
    }
    return byte
  }

  private static func isSpace(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
  }

  private mutating func skipSpace() throws {
    while try fill(), Self.isSpace(buffer[index]) { _ = try next() }
  }

  private mutating func expect(_ text: StaticString) throws {
    for byte in UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount) {
      guard try next() == byte else { throw StoreFormatError(.syntax("'\(text)' was expected")) }
    }
  }

  // MARK: Beginning and end

  /// Reads the XML declaration, if there is one.
  mutating func begin() throws {
    guard try fill() else { throw StoreFormatError(.truncated) }
    switch (buffer[0], buffer.count > 1 ? buffer[1] : UInt8(ascii: "<")) {
    case (0xFE, 0xFF), (0xFF, 0xFE), (0x00, _), (_, 0x00): throw StoreFormatError(.encoding)
    case (0xEF, 0xBB): index = min(3, buffer.count)
    default: break
    }
    guard isAtDeclaration else {
      // Only a declaration must be at the very beginning.
      try skipSpace()
      guard try peek() == UInt8(ascii: "<"), !isAtDeclaration else { throw StoreFormatError(.otherFormat) }
      return
    }
    index += 5
    startTag()
    try readAttributes()
    try checkText()
    try expect("?>")
    guard tag["version"] == "1.0" else { throw StoreFormatError(.syntax("it is not XML 1.0")) }
    if let encoding = tag["encoding"], encoding.lowercased() != "utf-8" { throw StoreFormatError(.encoding) }
  }

  /// Whether the bytes from here are those of an XML declaration, and not of an instruction such as `xml-stylesheet`.
  private var isAtDeclaration: Bool {
    let bytes = buffer[index...]
    return bytes.starts(with: "<?xml".utf8) && !bytes.starts(with: "<?xml-".utf8)
  }

  /// Checks that only spaces and comments follow.
  mutating func finish() throws {
    while true {
      try skipSpace()
      guard try fill() else { return }
      try expect("<")
      guard try skipsMarkup() else { throw StoreFormatError(.syntax("something follows the last element")) }
    }
  }

  // MARK: Tags

  /// Reads the next tag. Only spaces and comments may come before it.
  mutating func nextTag() throws {
    while true {
      try skipSpace()
      guard try next() == UInt8(ascii: "<") else {
        throw StoreFormatError(.syntax("text where an element should be"))
      }
      if try !skipsMarkup() { return try readTag() }
    }
  }

  /// Skips a comment or processing instruction whose `<` has been read. Returns false if something else follows.
  private mutating func skipsMarkup() throws -> Bool {
    switch try peek() {
    case UInt8(ascii: "?"):
      try skip(past: "?>")
      return true
    case UInt8(ascii: "!"):
      _ = try next()
      guard try peek() == UInt8(ascii: "-") else {
        throw try peek() == UInt8(ascii: "[")
          ? StoreFormatError(.syntax("text where an element should be")) : StoreFormatError(.documentType)
      }
      try expect("--")
      try skip(past: "-->")
      return true
    default: return false
    }
  }

  /// Skips to the end of a comment, `-->`, or of a processing instruction, `?>`. The content must be valid text,
  /// because other XML readers would refuse the file otherwise. The text that is being collected does not change.
  private mutating func skip(past end: StaticString) throws {
    let end = UnsafeBufferPointer(start: end.utf8Start, count: end.utf8CodeUnitCount)
    var matched = 0
    skipped.removeAll(keepingCapacity: true)
    while matched < end.count {
      let byte = try next()
      // Validates a portion before the first byte of a character. A character has at most four bytes.
      if skipped.count >= 4096, byte & 0xC0 != 0x80 || skipped.count > 4100 { try checkSkipped() }
      skipped.append(byte)
      if byte == end[matched] {
        matched += 1
      } else {
        // After two hyphens, a third one can also be the second hyphen of the end.
        matched = byte == end[0] ? max(1, matched) : 0
      }
    }
    try checkSkipped()
  }

  private mutating func checkSkipped() throws {
    guard Self.isText(skipped) else { throw StoreFormatError(.encoding) }
    skipped.removeAll(keepingCapacity: true)
  }

  private mutating func startTag() {
    tag.bytes.removeAll(keepingCapacity: true)
    tag.attributes.removeAll(keepingCapacity: true)
    tag.nameEnd = 0
    bits = 0
  }

  /// Reads a tag whose `<` has been read.
  private mutating func readTag() throws {
    let here = position
    tagPosition = Position(line: here.line, column: here.column - 1)
    startTag()
    tag.isEnd = try peek() == UInt8(ascii: "/")
    if tag.isEnd { index += 1 }
    tag.nameEnd = try name().upperBound
    try readAttributes()
    tag.isEmpty = try peek() == UInt8(ascii: "/")
    if tag.isEmpty { index += 1 }
    guard try next() == UInt8(ascii: ">"), !(tag.isEnd && (tag.isEmpty || !tag.attributes.isEmpty)) else {
      throw StoreFormatError(.syntax("a tag that does not end"))
    }
    try checkText()
  }

  /// Checks that the tag's bytes are valid text.
  private func checkText() throws {
    guard bits >= 0x80 else { return }
    guard Self.isText(tag.bytes) else { throw StoreFormatError(.encoding) }
  }

  private static func isText(_ bytes: [UInt8]) -> Bool { bytes.withUnsafeBufferPointer(XMLValue.text) != nil }

  private mutating func readAttributes() throws {
    while true {
      let hasSpace = Self.isSpace(try peek())
      try skipSpace()
      switch try peek() {
      case UInt8(ascii: ">"), UInt8(ascii: "/"), UInt8(ascii: "?"): return
      default: break
      }
      guard hasSpace, tag.attributes.count < Self.maximumAttributes else {
        throw StoreFormatError(.syntax("a tag that does not end"))
      }
      let name = try name()
      try skipSpace()
      try expect("=")
      try skipSpace()
      for attribute in tag.attributes where tag.bytes[attribute.name] == tag.bytes[name] {
        try checkText()
        throw StoreFormatError(.syntax("the attribute '\(tag.string(name))' occurs twice"))
      }
      tag.attributes.append((name, try attributeValue()))
    }
  }

  /// Reads a name into the tag's bytes.
  private mutating func name() throws -> Range<Int> {
    let start = tag.bytes.count
    while true {
      guard try fill() else { throw StoreFormatError(.truncated) }
      let isWhole = collect { byte in
        switch byte {
        case 0...0x20, UInt8(ascii: "="), UInt8(ascii: "/"), UInt8(ascii: ">"), UInt8(ascii: "<"),
          UInt8(ascii: "?"), UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "&"):
          false
        default: true
        }
      }
      guard tag.bytes.count - start <= Self.longestName else {
        throw StoreFormatError(.syntax("a name that is too long"))
      }
      if isWhole { break }
    }
    guard tag.bytes.count > start else { throw StoreFormatError(.syntax("a tag without a name")) }
    return start..<tag.bytes.count
  }

  /// Reads a quoted value into the tag's bytes.
  private mutating func attributeValue() throws -> Range<Int> {
    let quote = try next()
    guard quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else {
      throw StoreFormatError(.syntax("an attribute without quotes"))
    }
    let start = tag.bytes.count
    while true {
      if try fill() {
        _ = collect { $0 >= 0x20 && $0 != quote && $0 != UInt8(ascii: "&") && $0 != UInt8(ascii: "<") }
      }
      let byte = try next()
      switch byte {
      case quote: return start..<tag.bytes.count
      case UInt8(ascii: "&"):
        for byte in String(try reference()).utf8 {
          tag.bytes.append(byte)
          bits |= byte
        }
      case UInt8(ascii: "<"): throw StoreFormatError(.syntax("'<' in an attribute"))
      case 0x09, 0x0A: tag.bytes.append(0x20)
      case 0x0D:
        if try peek() == 0x0A { _ = try next() }
        tag.bytes.append(0x20)
      case 0..<0x20: throw StoreFormatError(.syntax("a character that XML does not allow"))
      // The buffer ended before this byte.
      default:
        tag.bytes.append(byte)
        bits |= byte
      }
    }
  }

  /// Moves bytes from the buffer to the tag as long as they belong to it. The bytes must not include line endings.
  ///
  /// - Returns: Whether the buffer still contains a byte, which does not belong to the tag.
  @inline(__always) private mutating func collect(_ belongs: (UInt8) -> Bool) -> Bool {
    let start = index
    var end = start
    var bits = bits
    buffer.withUnsafeBufferPointer { bytes in
      while end < bytes.count, belongs(bytes[end]) {
        bits |= bytes[end]
        end += 1
      }
    }
    tag.bytes.append(contentsOf: buffer[start..<end])
    self.bits = bits
    index = end
    return end < buffer.count
  }

  // MARK: Text

  /// Reads the text of the last tag's element, and its end tag.
  mutating func readText() throws {
    scratch.removeAll(keepingCapacity: true)
    if tag.isEmpty { return }
    element.removeAll(keepingCapacity: true)
    element.append(contentsOf: tag.bytes[..<tag.nameEnd])
    while true {
      try readPlainText()
      let byte = try next()
      switch byte {
      case UInt8(ascii: "&"): scratch.append(contentsOf: String(try reference()).utf8)
      case 0x0D:
        if try peek() == 0x0A { _ = try next() }
        scratch.append(0x0A)
      case UInt8(ascii: "<"):
        switch try peek() {
        case UInt8(ascii: "/"):
          try readTag()
          guard tag.isNamed(element) else { throw StoreFormatError(.syntax("'\(elementName)' does not end")) }
          return
        case UInt8(ascii: "!"):
          _ = try next()
          switch try peek() {
          case UInt8(ascii: "["):
            try expect("[CDATA[")
            try readCharacterData()
          case UInt8(ascii: "-"):
            try expect("--")
            try skip(past: "-->")
          default: throw StoreFormatError(.documentType)
          }
        case UInt8(ascii: "?"): try skip(past: "?>")
        default:
          throw StoreFormatError(.syntax("an element in '\(elementName)', which may contain text only"))
        }
      default: throw StoreFormatError(.syntax("a character that XML does not allow"))
      }
    }
  }

  private var elementName: String { String(decoding: element, as: UTF8.self) }

  /// The last text that was read.
  ///
  /// - Throws: An error if the bytes are not valid text.
  func text() throws -> String {
    guard let text = scratch.withUnsafeBufferPointer(XMLValue.text) else { throw StoreFormatError(.encoding) }
    return text
  }

  /// Returns the value of the last text; nil if the text does not have the type.
  func value(_ type: StoreColumn.ValueType) throws -> StoreValue? {
    if let value = scratch.withUnsafeBufferPointer({ XMLValue.value($0, type) }) { return value }
    _ = try text()
    return nil
  }

  /// Returns the value of an attribute; nil if the value does not have the type.
  func value(_ attribute: Range<Int>, _ type: StoreColumn.ValueType) -> StoreValue? {
    tag.bytes[attribute].withUnsafeBufferPointer { XMLValue.value($0, type) }
  }

  /// Collects bytes up to the next special character, one buffer at a time.
  private mutating func readPlainText() throws {
    while try fill() {
      let start = index
      var lines = 0
      var lineStart = lineStart
      let end = buffer.withUnsafeBufferPointer { bytes in
        var end = start
        while end < bytes.count {
          let byte = bytes[end]
          if byte < 0x20 {
            if byte == 0x0A {
              lines += 1
              lineStart = bytesBefore + end + 1
            } else if byte != 0x09 {
              break
            }
          } else if byte == UInt8(ascii: "<") || byte == UInt8(ascii: "&") {
            break
          }
          end += 1
        }
        return end
      }
      scratch.append(contentsOf: buffer[start..<end])
      line += lines
      self.lineStart = lineStart
      index = end
      if end < buffer.count { return }
    }
  }

  private mutating func readCharacterData() throws {
    let start = scratch.count
    while true {
      let byte = try next()
      switch byte {
      case 0x0D:
        if try peek() == 0x0A { _ = try next() }
        scratch.append(0x0A)
      case 0..<0x20 where byte != 0x0A && byte != 0x09:
        throw StoreFormatError(.syntax("a character that XML does not allow"))
      default: scratch.append(byte)
      }
      if byte == UInt8(ascii: ">"), scratch.count - start >= 3, scratch.suffix(3).elementsEqual("]]>".utf8) {
        scratch.removeLast(3)
        return
      }
    }
  }

  /// Reads a reference whose `&` has been read.
  private mutating func reference() throws -> Character {
    var name: [UInt8] = []
    while true {
      let byte = try peek()
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "#"), UInt8(ascii: "_"), UInt8(ascii: "-"),
        UInt8(ascii: "."), UInt8(ascii: ":"), 0x80...:
        name.append(byte)
      case UInt8(ascii: ";"): break
      default: throw StoreFormatError(.syntax("an '&' that does not begin a reference"))
      }
      index += 1
      if byte == UInt8(ascii: ";") { break }
      // The longest reference is `&#x10FFFF;`, with room for some leading zeros.
      guard name.count <= 12 else { throw StoreFormatError(.documentType) }
    }
    switch String(decoding: name, as: UTF8.self) {
    case "amp": return "&"
    case "lt": return "<"
    case "gt": return ">"
    case "quot": return "\""
    case "apos": return "'"
    case let text where text.hasPrefix("#"):
      let digits = text.dropFirst()
      let number = digits.first == "x" ? UInt32(digits.dropFirst(), radix: 16) : UInt32(digits)
      guard let number, let character = Unicode.Scalar(number),
        number >= 0x20 || number == 0x09 || number == 0x0A || number == 0x0D, number & 0xFFFE != 0xFFFE
      else { throw StoreFormatError(.syntax("a character that XML does not allow")) }
      return Character(character)
    default: throw StoreFormatError(.documentType)
    }
  }
}
