/// Brings the keys of a model's files into one order, and removes superfluous white space. Comments stay with the lines
/// that follow them. If they move and are deeper than these lines, they get the same indentation.
///
/// Entities, attributes and other declarations with names of their own stay in their order. Mappings in braces stay as they
/// are.
public enum ModelFormatter {
  /// The formatted text of a file; nil if the file is not valid YAML, or if it has no form, as a lock.
  public static func text(of file: ModelFile) -> String? {
    let shape: Shape
    switch file.kind {
    case .model: shape = .keys(Order.model, [:])
    case .version: shape = Order.version
    case .mapping: shape = Order.mapping
    case .lock, .other: return nil
    }
    let diagnostics = DiagnosticCollector()
    let parsed = YAMLParser.parse(path: file.path, bytes: file.bytes, diagnostics: diagnostics)
    guard let source = parsed.source, parsed.isComplete, !diagnostics.containsErrors else { return nil }
    var writer = LineOrder(source)
    if let root = parsed.root { writer.markScalars(of: root) }
    let lines =
      parsed.root.map { writer.lines(of: $0, 0..<source.lineCount, shape, isRoot: true) }
      ?? Array(0..<source.lineCount)
    return writer.text(of: lines)
  }

  /// What a mapping's keys are.
  fileprivate indirect enum Shape: Sendable {
    /// Keys of the language, in their order. The values of some keys are mappings with shapes of their own.
    case keys([String], [String: Shape])
    /// Names that the author has chosen, with values of one shape.
    case names(Shape)
  }

  /// The orders of keys, which are also those of the text that `cdgen import` writes.
  private enum Order {
    static let model = ["id", "current", "imports", "access", "keyPaths", "observable", "snapshots"]

    static let version = Shape.keys(
      ["label", "basedOn", "enums", "composites", "entities", "configurations", "info"],
      ["enums": .names(.keys(["type", "cases", "doc"], [:])), "entities": .names(entity)])

    private static let entity = Shape.keys(
      [
        "doc", "abstract", "parent", "class", "renamedFrom", "attributes", "relationships", "fetched",
        "indexes",
        "unique", "fetches", "hashModifier", "info",
      ],
      [
        "attributes": .names(.keys(attribute, [:])), "relationships": .names(.keys(relationship, [:])),
        "fetched": .names(.keys(["entity"] + fetch, [:])), "fetches": .names(.keys(fetch, [:])),
      ])

    private static let attribute = [
      "type", "codable", "codec", "default", "min", "max", "minLength", "maxLength", "pattern", "transient",
      "derived",
      "external", "swiftName", "renamedFrom", "hashModifier", "info", "doc",
    ]

    private static let relationship = [
      "to", "inverse", "onDelete", "ordered", "optional", "count", "swiftName", "renamedFrom", "hashModifier",
      "info",
      "doc",
    ]

    private static let fetch = ["where", "sort", "limit", "swiftName", "info", "doc"]

    static let mapping = Shape.keys(
      ["entities", "drop", "onDuplicate"],
      [
        "entities": .names(
          .keys(
            ["from", "name", "policy", "where", "owned", "attributes", "relationships", "drop", "undecided"],
            [:]))
      ])
  }
}

/// Orders the lines of a YAML text.
private struct LineOrder {
  private let source: SourceText
  /// The lines that a scalar of several lines contains after its first line. Their white space is a part of the value.
  private var scalarLines: Set<Int> = []
  /// The number of blanks at the start of comments that get the indentation of their key, by line.
  private var indentations: [Int: Int] = [:]

  init(_ source: SourceText) { self.source = source }

  mutating func markScalars(of node: MarkedNode) {
    switch node.content {
    case .scalar:
      let (first, last) = (source.lineIndex(at: node.range.lowerBound), lastLine(of: node))
      if last > first { scalarLines.formUnion(first + 1...last) }
    case .mapping(let pairs):
      for pair in pairs {
        markScalars(of: pair.key)
        markScalars(of: pair.value)
      }
    case .sequence(let nodes): for node in nodes { markScalars(of: node) }
    case .refused: break
    }
  }

  /// The last line of a node. The end of a mapping or a list in lines of its own is that of its last value, because the
  /// parser's end of it is behind the comments that follow.
  private func lastLine(of node: MarkedNode) -> Int {
    let start = source.lineIndex(at: node.range.lowerBound)
    if !isFlow(node) {
      switch node.content {
      case .mapping(let pairs):
        return pairs.reduce(start) { line, pair in
          max(line, lastLine(of: pair.key), pair.value.isEmpty ? 0 : lastLine(of: pair.value))
        }
      case .sequence(let nodes):
        return nodes.reduce(start) { $1.isEmpty ? $0 : max($0, lastLine(of: $1)) }
      case .scalar, .refused: break
      }
    }
    var end = node.range.upperBound
    while end > node.range.lowerBound, source.scalars[end - 1].properties.isWhitespace { end -= 1 }
    return source.lineIndex(at: max(end - 1, node.range.lowerBound))
  }

  private func isFlow(_ node: MarkedNode) -> Bool {
    guard node.range.lowerBound < source.scalars.count else { return false }
    let first = source.scalars[node.range.lowerBound]
    return first == "{" || first == "["
  }

  /// The numbers of the lines in a range, in their new order.
  ///
  /// - Parameter range: The lines that belong to the node, with comments before it.
  mutating func lines(
    of node: MarkedNode, _ range: Range<Int>, _ shape: ModelFormatter.Shape, isRoot: Bool = false
  ) -> [Int] {
    guard case .mapping(let pairs) = node.content, let first = pairs.first, isBlock(node, pairs) else {
      return Array(range)
    }
    var starts: [Int] = []
    var end = isRoot ? headerEnd(range, before: first) : range.lowerBound
    let head = Array(range.lowerBound..<end)
    for pair in pairs {
      starts.append(end)
      end = max(lastLine(of: pair.key), pair.value.isEmpty ? 0 : lastLine(of: pair.value)) + 1
    }
    let tail = Array(end..<max(end, range.upperBound))
    var blocks: [(name: String, lines: [Int])] = []
    for (pair, lines) in zip(pairs, zip(starts, starts.dropFirst() + [end])) {
      blocks.append((pair.name, block(pair, lines.0..<lines.1, shape)))
    }
    guard case .keys(let order, _) = shape else {
      return head + withoutBlankStart(blocks.map(\.lines)) + tail
    }
    func rank(_ name: String) -> Int { order.firstIndex(of: name) ?? order.count }
    let sorted = blocks.enumerated().sorted {
      (rank($0.element.name), $0.offset) < (rank($1.element.name), $1.offset)
    }
    for (place, block) in sorted.enumerated()
    where place != 0 && sorted[place - 1].offset != block.offset - 1 {
      indentComments(from: starts[block.offset], before: pairs[block.offset].key)
    }
    return head + withoutBlankStart(sorted.map(\.element.lines)) + tail
  }

  /// Gives comments that are deeper than their key the indentation of the key. Otherwise they would become a part of a text
  /// in lines of its own that is now before them.
  private mutating func indentComments(from start: Int, before key: MarkedNode) {
    let keyLine = source.lineIndex(at: key.range.lowerBound)
    let indentation = key.range.lowerBound - source.line(keyLine).lowerBound
    for line in start..<max(start, keyLine) where !scalarLines.contains(line) {
      let text = source.scalars[source.line(line)]
      let blanks = text.prefix { $0 == " " }.count
      if blanks > indentation, text.dropFirst(blanks).first == "#" { indentations[line] = indentation }
    }
  }

  /// The lines of blocks, without blank lines before the first block.
  private func withoutBlankStart(_ blocks: [[Int]]) -> [Int] { Array(blocks.joined().drop(while: isBlank)) }

  /// The lines of one key with its value.
  private mutating func block(
    _ pair: MarkedNode.Pair, _ range: Range<Int>, _ shape: ModelFormatter.Shape
  ) -> [Int] {
    let inner: ModelFormatter.Shape?
    switch shape {
    case .keys(_, let shapes): inner = shapes[pair.name]
    case .names(let shape): inner = shape
    }
    let keyLine = source.lineIndex(at: pair.key.range.lowerBound)
    guard let inner, case .mapping(let pairs) = pair.value.content, let first = pairs.first,
      source.lineIndex(at: first.key.range.lowerBound) > keyLine
    else { return Array(range) }
    return Array(range.lowerBound...keyLine) + lines(of: pair.value, keyLine + 1..<range.upperBound, inner)
  }

  /// Whether a mapping is written in lines of its own, one for each key.
  private func isBlock(_ node: MarkedNode, _ pairs: [MarkedNode.Pair]) -> Bool {
    if isFlow(node) { return false }
    let lines = pairs.map { source.lineIndex(at: $0.key.range.lowerBound) }
    return Set(lines).count == lines.count
      && pairs.allSatisfy { pair in
        let start = source.line(source.lineIndex(at: pair.key.range.lowerBound)).lowerBound
        return source.scalars[start..<pair.key.range.lowerBound].allSatisfy { $0 == " " }
      }
  }

  /// The end of the lines at the top of a file that do not belong to the first key: those before a blank line, or before
  /// and with `---`, the marker of a document's start.
  private func headerEnd(_ range: Range<Int>, before first: MarkedNode.Pair) -> Int {
    let keyLine = source.lineIndex(at: first.key.range.lowerBound)
    let last = (range.lowerBound..<keyLine).last { isBlank($0) || isMarker($0) }
    return last.map { $0 + 1 } ?? range.lowerBound
  }

  private func isMarker(_ line: Int) -> Bool {
    let text = source.scalars[source.line(line)]
    return text.starts(with: "---".unicodeScalars)
      && text.dropFirst(3).first?.properties.isWhitespace ?? true
  }

  private func isBlank(_ line: Int) -> Bool {
    source.scalars[source.line(line)].allSatisfy(\.properties.isWhitespace)
  }

  // MARK: Text

  /// The text of lines, without white space at their ends, and with at most one blank line in succession.
  func text(of lines: [Int]) -> String {
    var result: [String] = []
    for line in lines {
      var text = source.text(source.line(line))
      while text.unicodeScalars.last == "\n" || text.unicodeScalars.last == "\r" {
        text.unicodeScalars.removeLast()
      }
      if scalarLines.contains(line) {
        result.append(text)
        continue
      }
      while text.last == " " || text.last == "\t" { text.removeLast() }
      if let indentation = indentations[line] {
        text = String(repeating: " ", count: indentation) + text.drop { $0 == " " }
      }
      if text.isEmpty, result.last?.isEmpty ?? true { continue }
      result.append(text)
    }
    while result.last?.isEmpty == true { result.removeLast() }
    return result.isEmpty ? "" : result.joined(separator: "\n") + "\n"
  }
}
