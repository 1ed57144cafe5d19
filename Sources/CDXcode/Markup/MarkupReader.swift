/// Reads XML 1.0 as Xcode writes it: strictly, in one pass, with time and memory proportional to the text.
///
/// The reader never accesses anything outside the text. It skips a document type, which Xcode writes into mapping models,
/// but refuses one with declarations, so a document cannot define entities. Text that is not well-formed is an error with
/// a position.
///
/// The runtime has another reader, `XMLScanner`, for stores. It refuses every document type, creates no elements, and reads
/// files that do not fit in memory.
struct MarkupReader {
  private let bytes: [UInt8]
  private var offset = 0
  private var count = 0

  private init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// Reads the root element of a document.
  static func read(_ bytes: [UInt8]) throws(MarkupError) -> MarkupElement {
    var reader = MarkupReader(bytes)
    return try reader.document()
  }

  // MARK: The document

  private mutating func document() throws(MarkupError) -> MarkupElement {
    guard bytes.count <= MarkupLimits.size else {
      throw error("the file has \(bytes.count) bytes, and at most \(MarkupLimits.size) are read", at: 0)
    }
    try checkEncoding()
    if starts("<?xml") { try declaration() }
    var root: MarkupElement?
    while true {
      skipBlanks()
      guard offset < bytes.count else { break }
      if starts("<!--") {
        try comment()
      } else if starts("<?") {
        try instruction()
      } else if starts("<!DOCTYPE") {
        guard root == nil else { throw error("a document type stands before the root element") }
        try documentType()
      } else if bytes[offset] == UInt8(ascii: "<"), root == nil {
        root = try element()
      } else {
        throw error(
          root == nil ? "this is not XML: it starts with no element" : "something follows the root element")
      }
    }
    guard let root else { throw error("the document has no element") }
    return root
  }

  private mutating func checkEncoding() throws(MarkupError) {
    if starts([0xEF, 0xBB, 0xBF]) { offset = 3 }
    if starts([0xFF, 0xFE]) || starts([0xFE, 0xFF]) {
      throw error("the text is UTF-16; save it as UTF-8")
    }
    let text = bytes[offset...]
    guard String(validating: text, as: UTF8.self) != nil else {
      throw error("the text is not valid UTF-8")
    }
  }

  private mutating func declaration() throws(MarkupError) {
    let start = offset
    guard let end = find("?>", from: offset) else { throw error("the XML declaration does not end") }
    let text = String(decoding: bytes[start..<end], as: UTF8.self).lowercased()
    if text.contains("encoding"), !text.contains("utf-8"), !text.contains("us-ascii") {
      throw error("only documents in UTF-8 are read")
    }
    offset = end + 2
  }

  private mutating func comment() throws(MarkupError) {
    guard let end = find("-->", from: offset + 4) else { throw error("the comment does not end") }
    offset = end + 3
  }

  private mutating func instruction() throws(MarkupError) {
    guard let end = find("?>", from: offset + 2) else {
      throw error("the processing instruction does not end")
    }
    offset = end + 2
  }

  private mutating func documentType() throws(MarkupError) {
    let start = offset
    var quote: UInt8?
    while offset < bytes.count {
      let byte = bytes[offset]
      if let open = quote {
        if byte == open { quote = nil }
      } else if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") {
        quote = byte
      } else if byte == UInt8(ascii: "[") {
        throw error("a document type with declarations is not read: it could define entities without bound")
      } else if byte == UInt8(ascii: ">") {
        offset += 1
        return
      }
      offset += 1
    }
    throw error("the document type does not end", at: start)
  }

  // MARK: Elements

  /// Reads the element that starts here, including its children. It does not recurse, because the author of a document
  /// chooses its depth.
  private mutating func element() throws(MarkupError) -> MarkupElement {
    var open: [MarkupElement] = []
    var text: [[UInt8]] = []
    while true {
      if offset >= bytes.count {
        throw error("the file ends within element '\(open.last?.name ?? "")'; it is cut short")
      }
      if bytes[offset] != UInt8(ascii: "<") {
        let run = try characters(until: [UInt8(ascii: "<")])
        text[text.count - 1] += run
        continue
      }
      if starts("<!--") {
        try comment()
      } else if starts("<![CDATA[") {
        guard let end = find("]]>", from: offset + 9) else { throw error("the CDATA section does not end") }
        text[text.count - 1] += bytes[(offset + 9)..<end]
        offset = end + 3
      } else if starts("<?") {
        try instruction()
      } else if starts("</") {
        let start = offset
        offset += 2
        let name = try self.name("an element")
        skipBlanks()
        guard take(UInt8(ascii: ">")) else { throw error("a '>' is missing behind '</\(name)'") }
        guard var element = open.popLast(), let run = text.popLast() else {
          throw error("'</\(name)>' closes nothing", at: start)
        }
        guard element.name == name else {
          throw error(
            "'</\(name)>' stands where '\(element.name)' of line \(element.line) is to be closed", at: start)
        }
        element.text = String(decoding: run, as: UTF8.self)
        if open.isEmpty { return element }
        open[open.count - 1].children.append(element)
      } else {
        let (element, isEmpty) = try startTag()
        guard open.count < MarkupLimits.depth else {
          throw error("elements are nested more than \(MarkupLimits.depth) levels deep")
        }
        if !isEmpty {
          open.append(element)
          text.append([])
        } else if open.isEmpty {
          return element
        } else {
          open[open.count - 1].children.append(element)
        }
      }
    }
  }

  private mutating func startTag() throws(MarkupError) -> (MarkupElement, isEmpty: Bool) {
    let start = offset
    offset += 1
    count += 1
    guard count <= MarkupLimits.elements else {
      throw error("the document has more than \(MarkupLimits.elements) elements")
    }
    var element = MarkupElement(try name("an element"))
    (element.line, element.column) = position(of: start)
    var seen: Set<String> = []
    while true {
      let hadBlank = skipBlanks()
      if take(UInt8(ascii: ">")) { return (element, false) }
      if starts("/>") {
        offset += 2
        return (element, true)
      }
      guard hadBlank else { throw error("a blank is missing in '<\(element.name)'") }
      let place = offset
      let name = try self.name("an attribute")
      guard seen.insert(name).inserted else {
        throw error("attribute '\(name)' is repeated here", at: place)
      }
      guard seen.count <= MarkupLimits.attributes else {
        throw error("an element has more than \(MarkupLimits.attributes) attributes")
      }
      skipBlanks()
      guard take(UInt8(ascii: "=")) else { throw error("attribute '\(name)' has no value") }
      skipBlanks()
      guard offset < bytes.count, bytes[offset] == UInt8(ascii: "\"") || bytes[offset] == UInt8(ascii: "'")
      else {
        throw error("the value of attribute '\(name)' is not quoted")
      }
      let quote = bytes[offset]
      offset += 1
      var value = try characters(until: [quote, UInt8(ascii: "<")], isValue: true)
      guard take(quote) else {
        throw error("the value of attribute '\(name)' does not end")
      }
      guard value.count <= MarkupLimits.value else {
        throw error(
          "the value of attribute '\(name)' has \(value.count) bytes, and at most \(MarkupLimits.value) are read",
          at: place)
      }
      element.attributes.append(.init(name: name, value: String(decoding: value, as: UTF8.self)))
      value.removeAll()
    }
  }

  // MARK: Characters

  /// Reads characters up to one of the given ends, with references resolved.
  private mutating func characters(until ends: [UInt8], isValue: Bool = false) throws(MarkupError) -> [UInt8]
  {
    var result: [UInt8] = []
    while offset < bytes.count, !ends.contains(bytes[offset]) {
      let byte = bytes[offset]
      switch byte {
      case UInt8(ascii: "&"): result += try reference()
      case 0x0D:
        // XML reads every line end as one line feed. Inside a value it becomes a space.
        offset += offset + 1 < bytes.count && bytes[offset + 1] == 0x0A ? 2 : 1
        result.append(isValue ? 0x20 : 0x0A)
      case 0x09, 0x0A:
        offset += 1
        result.append(isValue ? 0x20 : byte)
      case 0..<0x20: throw error("a control character cannot stand in XML")
      default:
        offset += 1
        result.append(byte)
      }
    }
    return result
  }

  private mutating func reference() throws(MarkupError) -> [UInt8] {
    let start = offset
    guard let end = bytes[offset...].prefix(16).firstIndex(of: UInt8(ascii: ";")) else {
      throw error("an '&' that starts no reference is written '&amp;'")
    }
    let name = String(decoding: bytes[(start + 1)..<end], as: UTF8.self)
    offset = end + 1
    switch name {
    case "amp": return [UInt8(ascii: "&")]
    case "lt": return [UInt8(ascii: "<")]
    case "gt": return [UInt8(ascii: ">")]
    case "quot": return [UInt8(ascii: "\"")]
    case "apos": return [UInt8(ascii: "'")]
    default: break
    }
    let number: UInt32? =
      if name.hasPrefix("#x") { UInt32(name.dropFirst(2), radix: 16) } else if name.hasPrefix("#") {
        UInt32(name.dropFirst())
      } else { nil }
    // Swift reads a plus sign before the digits too, but XML does not.
    guard let number, !name.utf8.contains(UInt8(ascii: "+")) else {
      throw error("the entity '&\(name);' is not defined", at: start)
    }
    let isAllowed = number >= 0x20 || number == 0x09 || number == 0x0A || number == 0x0D
    guard isAllowed, number != 0xFFFE, number != 0xFFFF, let scalar = Unicode.Scalar(number) else {
      throw error("'&\(name);' is not a character of XML", at: start)
    }
    return Array(String(Character(scalar)).utf8)
  }

  private mutating func name(_ noun: String) throws(MarkupError) -> String {
    let start = offset
    while offset < bytes.count, Self.isNameByte(bytes[offset], isFirst: offset == start) { offset += 1 }
    guard offset > start else { throw error("the name of \(noun) is expected here") }
    return String(decoding: bytes[start..<offset], as: UTF8.self)
  }

  private static func isNameByte(_ byte: UInt8, isFirst: Bool) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"),
      UInt8(ascii: ":"), 0x80...:
      true
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."): !isFirst
    default: false
    }
  }

  // MARK: Bytes

  @discardableResult
  private mutating func skipBlanks() -> Bool {
    let start = offset
    while offset < bytes.count, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[offset]) { offset += 1 }
    return offset > start
  }

  private mutating func take(_ byte: UInt8) -> Bool {
    guard offset < bytes.count, bytes[offset] == byte else { return false }
    offset += 1
    return true
  }

  private func starts(_ text: StaticString) -> Bool {
    text.withUTF8Buffer { bytes[offset...].starts(with: $0) }
  }

  private func starts(_ prefix: [UInt8]) -> Bool { bytes[offset...].starts(with: prefix) }

  /// The first occurrence of a text at or after an offset.
  private func find(_ text: StaticString, from start: Int) -> Int? {
    text.withUTF8Buffer { pattern in
      guard let first = pattern.first else { return nil }
      var place = start
      while place + pattern.count <= bytes.count {
        if bytes[place] == first, bytes[place...].starts(with: pattern) { return place }
        place += 1
      }
      return nil
    }
  }

  /// The line of the last requested position. Positions are usually requested in ascending order, so counting continues
  /// from here.
  private var known = (offset: 0, line: 1, lineStart: 0)

  private mutating func position(of place: Int) -> (line: Int, column: Int) {
    if place < known.offset { known = (0, 1, 0) }
    for offset in known.offset..<place where bytes[offset] == 0x0A {
      known.line += 1
      known.lineStart = offset + 1
    }
    known.offset = place
    return (known.line, place - known.lineStart + 1)
  }

  private func error(_ message: String, at place: Int? = nil) -> MarkupError {
    var copy = self
    let (line, column) = copy.position(of: min(place ?? offset, bytes.count))
    return MarkupError(message: message, line: line, column: column)
  }
}
