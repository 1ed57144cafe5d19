import CDModel

/// Reads `versions.lock` and reports damaged lines.
struct LockParser {
  /// A locked version with the position of its block.
  struct Entry {
    var version: LockedVersion
    var location: SourceLocation
    /// The position of the line of each element.
    var elementLocations: [ModelElement: SourceLocation]
    var definitionLocation: SourceLocation
  }

  /// A block that is still being read.
  private struct Block {
    var number: Int
    var location: SourceLocation
    var hashes: [String: Digest] = [:]
    var hashLocations: [String: SourceLocation] = [:]
    var elements: [ModelElement: String] = [:]
    var locations: [ModelElement: SourceLocation] = [:]
    /// Whether a line of the block is damaged. Missing lines are then not reported.
    var isDamaged = false
  }

  private let path: String
  private let diagnostics: DiagnosticCollector
  private var hasFormat = false
  private var block: Block?
  private(set) var entries: [Entry] = []

  /// Reads the versions of a file. Damaged ones are reported and left out.
  static func parse(_ file: ModelFile, diagnostics: DiagnosticCollector) -> [Entry] {
    guard let source = SourceText(path: file.path, bytes: file.bytes, diagnostics: diagnostics) else {
      return []
    }
    var parser = LockParser(path: file.path, diagnostics: diagnostics)
    for number in 0..<source.lineCount {
      let text = source.text(source.line(number)).trimmingLineEnd
      guard parser.read(text, line: number + 1) else { return [] }
    }
    parser.finishBlock()
    if !parser.hasFormat {
      diagnostics.error(
        SourceLocation(path: file.path, line: 1, column: 1),
        "this is not a file of locked versions, which begins with a line 'lock \(LockText.formatVersion)'; "
          + "restore it from version control")
    }
    return parser.entries
  }

  private init(path: String, diagnostics: DiagnosticCollector) {
    self.path = path
    self.diagnostics = diagnostics
  }

  private func location(_ line: Int, _ column: Int = 1) -> SourceLocation {
    SourceLocation(path: path, line: line, column: column)
  }

  /// Reads a line. Returns false if the rest of the file cannot be read.
  private mutating func read(_ text: String, line: Int) -> Bool {
    for mark in ["<<<<<<<", "=======", ">>>>>>>", "|||||||"] where text.hasPrefix(mark) {
      diagnostics.error(
        location(line),
        "a merge was left unfinished here: remove the lines that Git marked, and keep the versions of both sides"
      )
      return false
    }
    let words = text.split(separator: " ").map(String.init)
    guard let word = words.first, !word.hasPrefix("#") else { return true }
    let column = text.prefix { $0 == " " }.count + 1
    switch word {
    case "lock": return readFormat(words, line)
    case "version":
      finishBlock()
      guard words.count == 2, let number = Int(words[1]), (1...VersionFile.highestNumber).contains(number)
      else {
        diagnostics.error(location(line, column), "'version' is followed by a version's number")
        return true
      }
      block = Block(number: number, location: location(line, column))
    default: readElement(words, at: location(line, column))
    }
    return true
  }

  private mutating func readFormat(_ words: [String], _ line: Int) -> Bool {
    hasFormat = true
    if words.count == 2, words[1] == String(LockText.formatVersion) { return true }
    diagnostics.error(
      location(line),
      "this is 'lock \(words.dropFirst().joined(separator: " "))', and this release of cdgen reads "
        + "'lock \(LockText.formatVersion)'")
    return false
  }

  private mutating func readElement(_ words: [String], at place: SourceLocation) {
    guard block != nil else {
      diagnostics.error(place, "'\(words[0])' belongs to no version; restore the file from version control")
      return
    }
    let digits = words[words.count - 1]
    if ["data", "layout", "definition"].contains(words[0]) {
      guard words.count == 2, let digest = Digest(digits), block?.hashes[words[0]] == nil else {
        return damaged(place, "'\(words[0])' is followed by one hash of 64 hexadecimal digits")
      }
      block?.hashes[words[0]] = digest
      block?.hashLocations[words[0]] = place
      return
    }
    let name = words.dropFirst().dropLast().joined(separator: " ")
    guard words.count > 1, let element = LockText.element(words[0], name) else {
      return damaged(place, "'\(words.joined(separator: " "))' is not a line of this file")
    }
    guard digits.utf8.count == LockedVersion.digitCount, digits.allSatisfy(\.isHexDigit),
      block?.elements[element] == nil
    else {
      return damaged(
        place,
        "\(element) is listed once, with \(LockedVersion.digitCount) hexadecimal digits")
    }
    block?.elements[element] = digits.lowercased()
    block?.locations[element] = place
  }

  private mutating func damaged(_ place: SourceLocation, _ message: String) {
    block?.isDamaged = true
    diagnostics.error(place, message + "; restore the file from version control")
  }

  private mutating func finishBlock() {
    guard let block else { return }
    self.block = nil
    if block.isDamaged { return }
    guard let data = block.hashes["data"], let layout = block.hashes["layout"],
      let definition = block.hashes["definition"]
    else {
      let missing = ["data", "layout", "definition"].filter { block.hashes[$0] == nil }
      diagnostics.error(
        block.location,
        "version \(block.number) lacks its \(missing.joined(separator: ", ")); "
          + "restore the file from version control")
      return
    }
    let version = LockedVersion(
      number: block.number, data: data, layout: layout, definition: definition, elements: block.elements)
    if let first = entries.first(where: { $0.version.number == block.number }) {
      // Both branches of a merge may have locked the same version.
      if first.version != version {
        diagnostics.error(
          block.location,
          "version \(block.number) is already locked in line \(first.location.line), with other hashes: "
            + "two branches have released different versions under one number; renumber one of them")
      }
      return
    }
    entries.append(
      Entry(
        version: version, location: block.location, elementLocations: block.locations,
        definitionLocation: block.hashLocations["definition"] ?? block.location))
  }
}

extension String {
  /// The text without white space at its end.
  fileprivate var trimmingLineEnd: String {
    var text = self[...]
    while let last = text.last, last.isWhitespace { text = text.dropLast() }
    return String(text)
  }
}
