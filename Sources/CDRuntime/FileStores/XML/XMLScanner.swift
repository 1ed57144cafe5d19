/// Reads the part of XML 1.0 that a store is written in, a tag or a text at a time: elements, attributes, text,
/// CDATA, comments and processing instructions. Document types, and entities beyond XML's own five, are refused, so
/// that nothing is ever expanded or read from elsewhere.
final class XMLScanner {
  struct Tag {
    var name = ""
    var attributes: [(name: String, value: String)] = []
    var isEnd = false
    /// Whether it stands for an end tag too.
    var isEmpty = false

    subscript(name: String) -> String? { attributes.first { $0.name == name }?.value }
  }

  private static let chunk = 1 << 18
  /// Names and attributes are few; text alone may be long.
  private static let longestName = 1024
  private static let mostAttributes = 64

  private let input: StoreInput
  private var buffer: [UInt8] = []
  private var place = 0
  /// What a text is collected in.
  private var scratch: [UInt8] = []
  /// The tag that was read last.
  private(set) var tag = Tag()
  /// The line that is being read, from 1.
  private(set) var line = 1

  init(_ input: StoreInput) { self.input = input }

  // MARK: Bytes

  /// Whether there is another byte, which is in the buffer then.
  @inline(__always) private func fill() throws -> Bool {
    if place < buffer.count { return true }
    try input.read(upToCount: Self.chunk, into: &buffer)
    place = 0
    return !buffer.isEmpty
  }

  @inline(__always) private func peek() throws -> UInt8 {
    guard try fill() else { throw StoreFormatError(.truncated) }
    return buffer[place]
  }

  @inline(__always) private func next() throws -> UInt8 {
    let byte = try peek()
    place += 1
    if byte == UInt8(ascii: "\n") { line += 1 }
    return byte
  }

  private static func isSpace(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
  }

  private func skipSpace() throws {
    while try fill(), Self.isSpace(buffer[place]) { _ = try next() }
  }

  private func expect(_ text: StaticString) throws {
    for byte in UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount) {
      guard try next() == byte else { throw StoreFormatError(.syntax("'\(text)' was expected")) }
    }
  }

  // MARK: The beginning and the end

  /// Reads the declaration, if there is one.
  func begin() throws {
    guard try fill() else { throw StoreFormatError(.truncated) }
    switch (buffer[0], buffer.count > 1 ? buffer[1] : UInt8(ascii: "<")) {
    case (0xFE, 0xFF), (0xFF, 0xFE), (0x00, _), (_, 0x00): throw StoreFormatError(.encoding)
    case (0xEF, 0xBB): place = min(3, buffer.count)
    default: break
    }
    guard buffer[place...].starts(with: "<?xml".utf8) else {
      guard try peek() == UInt8(ascii: "<") else { throw StoreFormatError(.otherFormat) }
      return
    }
    place += 5
    try readAttributes()
    try expect("?>")
    guard tag["version"] == "1.0" else { throw StoreFormatError(.syntax("it is not of XML 1.0")) }
    if let encoding = tag["encoding"], encoding.lowercased() != "utf-8" { throw StoreFormatError(.encoding) }
  }

  /// Makes sure that nothing but space and comments follows.
  func finish() throws {
    while true {
      try skipSpace()
      guard try fill() else { return }
      try expect("<")
      guard try skipsMarkup() else { throw StoreFormatError(.syntax("something follows the last element")) }
    }
  }

  // MARK: Tags

  /// Reads the next tag, with nothing but space and comments before it.
  func nextTag() throws {
    while true {
      try skipSpace()
      guard try next() == UInt8(ascii: "<") else {
        throw StoreFormatError(.syntax("text where an element should be"))
      }
      if try !skipsMarkup() { return try readTag() }
    }
  }

  /// Reads over a comment or a processing instruction whose `<` has been read.
  private func skipsMarkup() throws -> Bool {
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

  private func skip(past end: StaticString) throws {
    let end = Array(UnsafeBufferPointer(start: end.utf8Start, count: end.utf8CodeUnitCount))
    var last: [UInt8] = []
    while last != end {
      last.append(try next())
      if last.count > end.count { last.removeFirst() }
    }
  }

  /// Reads a tag whose `<` has been read.
  private func readTag() throws {
    tag.isEnd = try peek() == UInt8(ascii: "/")
    if tag.isEnd { _ = try next() }
    tag.name = try name()
    try readAttributes()
    tag.isEmpty = try peek() == UInt8(ascii: "/")
    if tag.isEmpty { _ = try next() }
    guard try next() == UInt8(ascii: ">"), !(tag.isEnd && (tag.isEmpty || !tag.attributes.isEmpty)) else {
      throw StoreFormatError(.syntax("a tag that does not end"))
    }
  }

  private func readAttributes() throws {
    tag.attributes.removeAll(keepingCapacity: true)
    while true {
      let hasSpace = Self.isSpace(try peek())
      try skipSpace()
      switch try peek() {
      case UInt8(ascii: ">"), UInt8(ascii: "/"), UInt8(ascii: "?"): return
      default: break
      }
      guard hasSpace, tag.attributes.count < Self.mostAttributes else {
        throw StoreFormatError(.syntax("a tag that does not end"))
      }
      let name = try name()
      try skipSpace()
      try expect("=")
      try skipSpace()
      guard !tag.attributes.contains(where: { $0.name == name }) else {
        throw StoreFormatError(.syntax("the attribute '\(name)' is there twice"))
      }
      tag.attributes.append((name, try attributeValue()))
    }
  }

  private func name() throws -> String {
    scratch.removeAll(keepingCapacity: true)
    while true {
      let byte = try peek()
      switch byte {
      case 0...0x20, UInt8(ascii: "="), UInt8(ascii: "/"), UInt8(ascii: ">"), UInt8(ascii: "<"),
        UInt8(ascii: "?"),
        UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "&"):
        guard !scratch.isEmpty else { throw StoreFormatError(.syntax("a tag without a name")) }
        return try collected()
      default:
        guard scratch.count < Self.longestName else {
          throw StoreFormatError(.syntax("a name that is too long"))
        }
        scratch.append(byte)
        place += 1
      }
    }
  }

  private func attributeValue() throws -> String {
    let quote = try next()
    guard quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else {
      throw StoreFormatError(.syntax("an attribute without quotes"))
    }
    scratch.removeAll(keepingCapacity: true)
    while true {
      let byte = try next()
      switch byte {
      case quote: return try collected()
      case UInt8(ascii: "&"): try reference()
      case UInt8(ascii: "<"): throw StoreFormatError(.syntax("'<' in an attribute"))
      case 0x09, 0x0A: scratch.append(0x20)
      case 0x0D:
        if try peek() == 0x0A { _ = try next() }
        scratch.append(0x20)
      case 0..<0x20: throw StoreFormatError(.syntax("a character that XML has not"))
      default: scratch.append(byte)
      }
    }
  }

  private func collected() throws -> String {
    guard let text = String(validating: scratch, as: UTF8.self) else { throw StoreFormatError(.encoding) }
    return text
  }

  // MARK: Text

  /// Reads the text of the element whose tag was read last, and its end tag.
  func text() throws -> String {
    if tag.isEmpty { return "" }
    let name = tag.name
    scratch.removeAll(keepingCapacity: true)
    while true {
      try readPlainText()
      let byte = try next()
      switch byte {
      case UInt8(ascii: "&"): try reference()
      case 0x0D:
        if try peek() == 0x0A { _ = try next() }
        scratch.append(0x0A)
      case UInt8(ascii: "<"):
        switch try peek() {
        case UInt8(ascii: "/"):
          let text = try collected()
          try readTag()
          guard tag.name == name else { throw StoreFormatError(.syntax("'\(name)' does not end")) }
          return text
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
        default: throw StoreFormatError(.syntax("an element in '\(name)', which has text alone"))
        }
      default: throw StoreFormatError(.syntax("a character that XML has not"))
      }
    }
  }

  /// Collects bytes up to one that means something, a buffer at a time.
  private func readPlainText() throws {
    while try fill() {
      let start = place
      var lines = 0
      let end = buffer.withUnsafeBufferPointer { bytes in
        var end = start
        while end < bytes.count {
          let byte = bytes[end]
          if byte < 0x20 {
            if byte == 0x0A { lines += 1 } else if byte != 0x09 { break }
          } else if byte == UInt8(ascii: "<") || byte == UInt8(ascii: "&") {
            break
          }
          end += 1
        }
        return end
      }
      scratch.append(contentsOf: buffer[start..<end])
      line += lines
      place = end
      if end < buffer.count { return }
    }
  }

  private func readCharacterData() throws {
    let start = scratch.count
    while true {
      let byte = try next()
      switch byte {
      case 0x0D:
        if try peek() == 0x0A { _ = try next() }
        scratch.append(0x0A)
      case 0..<0x20 where byte != 0x0A && byte != 0x09:
        throw StoreFormatError(.syntax("a character that XML has not"))
      default: scratch.append(byte)
      }
      if byte == UInt8(ascii: ">"), scratch.count - start >= 3, scratch.suffix(3).elementsEqual("]]>".utf8) {
        scratch.removeLast(3)
        return
      }
    }
  }

  /// Reads a reference whose `&` has been read.
  private func reference() throws {
    var name: [UInt8] = []
    while true {
      let byte = try next()
      if byte == UInt8(ascii: ";") { break }
      guard name.count < 12 else { throw StoreFormatError(.documentType) }
      name.append(byte)
    }
    switch String(decoding: name, as: UTF8.self) {
    case "amp": scratch.append(UInt8(ascii: "&"))
    case "lt": scratch.append(UInt8(ascii: "<"))
    case "gt": scratch.append(UInt8(ascii: ">"))
    case "quot": scratch.append(UInt8(ascii: "\""))
    case "apos": scratch.append(UInt8(ascii: "'"))
    case let text where text.hasPrefix("#"):
      let digits = text.dropFirst()
      let number = digits.first == "x" ? UInt32(digits.dropFirst(), radix: 16) : UInt32(digits)
      guard let number, let character = Unicode.Scalar(number),
        number >= 0x20 || number == 0x09 || number == 0x0A || number == 0x0D, number & 0xFFFE != 0xFFFE
      else { throw StoreFormatError(.syntax("a character that XML has not")) }
      scratch.append(contentsOf: String(Character(character)).utf8)
    default: throw StoreFormatError(.documentType)
    }
  }
}
