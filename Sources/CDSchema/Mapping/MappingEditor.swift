/// Adds names to lists in a YAML text. Creates missing lists, and changes nothing else in the text.
struct MappingEditor {
  private let source: SourceText
  private let root: MarkedNode?

  /// - Returns: Nil if the text is not valid YAML.
  init?(_ text: String) {
    let diagnostics = DiagnosticCollector()
    let parsed = YAMLParser.parse(path: "", bytes: Array(text.utf8), diagnostics: diagnostics)
    guard let source = parsed.source, parsed.isComplete, !diagnostics.containsErrors else { return nil }
    self.source = source
    root = parsed.root
  }

  /// Returns the text with a name added to the list at a path of keys.
  ///
  /// - Returns: Nil if the path contains anything other than mappings with a list at the end.
  func adding(_ name: String, to keys: [String]) -> String? {
    guard let root, !root.isEmpty else { return joined(source.text(0..<source.scalars.count), keys, name) }
    return adding(name, to: keys[...], in: root, indentation: 0)
  }

  private func adding(
    _ name: String, to keys: ArraySlice<String>, in node: MarkedNode, indentation: Int
  ) -> String? {
    guard let key = keys.first else { return addingElement(name, to: node, indentation) }
    guard case .mapping(let pairs) = node.content else {
      // If an entity has several rules, the first one is used.
      if case .sequence(let nodes) = node.content, let first = nodes.first {
        return adding(name, to: keys, in: first, indentation: column(of: first))
      }
      return nil
    }
    guard let pair = pairs.first(where: { $0.name == key }) else {
      return addingPair(Array(keys), name, to: node, pairs)
    }
    let rest = keys.dropFirst()
    if pair.value.isEmpty {
      return insert(" " + Self.flow(Array(rest), name), at: end(ofKey: pair.key))
    }
    return adding(name, to: rest, in: pair.value, indentation: column(of: pair.key))
  }

  // MARK: Lists

  private func addingElement(_ name: String, to node: MarkedNode, _ indentation: Int) -> String? {
    guard case .sequence(let elements) = node.content else { return nil }
    if isFlow(node) {
      // The name is inserted after the last element, before the bracket and a trailing comma, if any.
      guard let last = elements.last else { return insert(name, at: node.range.lowerBound + 1) }
      return insert(", " + name, at: last.range.upperBound)
    }
    guard let last = elements.last else { return nil }
    let dash = String(repeating: " ", count: dashColumn(of: last) ?? indentation)
    return insertLine("\(dash)- \(name)", behind: last)
  }

  /// The column of the dash before an element of a block list.
  private func dashColumn(of element: MarkedNode) -> Int? {
    let line = source.line(source.lineIndex(at: element.range.lowerBound))
    return line.first { source.scalars[$0] == "-" }.map { $0 - line.lowerBound }
  }

  // MARK: Pairs

  private func addingPair(
    _ keys: [String], _ name: String, to node: MarkedNode, _ pairs: [MarkedNode.Pair]
  ) -> String? {
    if isFlow(node) {
      let text = "\(keys[0]): \(Self.flow(Array(keys.dropFirst()), name))"
      guard let last = pairs.last else { return insert(" \(text) ", at: node.range.lowerBound + 1) }
      return insert(", " + text, at: last.value.isEmpty ? end(ofKey: last.key) : last.value.range.upperBound)
    }
    guard let first = pairs.first, let last = pairs.last else { return nil }
    let lines = Self.block(keys, name, indentation: column(of: first.key))
    return insertLine(lines, behind: last.value.isEmpty ? last.key : last.value)
  }

  /// A list with one name inside nested mappings, in braces and brackets.
  private static func flow(_ keys: [String], _ name: String) -> String {
    guard let key = keys.first else { return "[\(name)]" }
    return "{ \(key): \(flow(Array(keys.dropFirst()), name)) }"
  }

  /// A list with one name inside nested mappings, one line per key. The list is on the last key's line.
  private static func block(_ keys: [String], _ name: String, indentation: Int) -> String {
    let blanks = String(repeating: " ", count: indentation)
    guard keys.count > 1 else { return "\(blanks)\(keys.first ?? ""): [\(name)]" }
    return "\(blanks)\(keys[0]):\n" + block(Array(keys.dropFirst()), name, indentation: indentation + 2)
  }

  private func joined(_ text: String, _ keys: [String], _ name: String) -> String {
    let start = text.isEmpty || text.hasSuffix("\n") ? text : text + "\n"
    return start + Self.block(keys, name, indentation: 0) + "\n"
  }

  // MARK: Positions

  private func isFlow(_ node: MarkedNode) -> Bool {
    guard node.range.lowerBound < source.scalars.count else { return false }
    return ["{", "["].contains(source.scalars[node.range.lowerBound])
  }

  private func column(of node: MarkedNode) -> Int {
    node.range.lowerBound - source.line(source.lineIndex(at: node.range.lowerBound)).lowerBound
  }

  /// The offset after the colon of a key.
  private func end(ofKey key: MarkedNode) -> Int {
    var offset = key.range.upperBound
    while offset < source.scalars.count, source.scalars[offset] == " " { offset += 1 }
    return min(offset + 1, source.scalars.count)
  }

  private func insert(_ text: String, at offset: Int) -> String {
    source.text(0..<offset) + text + source.text(offset..<source.scalars.count)
  }

  /// Inserts lines after the line on which a node ends, including a comment on that line.
  private func insertLine(_ text: String, behind node: MarkedNode) -> String {
    let last = lastScalar(of: node)
    let line = source.line(source.lineIndex(at: max(last - 1, 0)))
    let before = source.text(0..<line.upperBound)
    let gap = before.isEmpty || before.hasSuffix("\n") ? "" : "\n"
    return before + gap + text + "\n" + source.text(line.upperBound..<source.scalars.count)
  }

  /// The offset at which a node's text ends. libyaml ends a block before the next node, so the end of its last part is
  /// used.
  private func lastScalar(of node: MarkedNode) -> Int {
    if isFlow(node) { return node.range.upperBound }
    switch node.content {
    case .mapping(let pairs):
      guard let last = pairs.last else { return node.range.upperBound }
      return last.value.isEmpty ? end(ofKey: last.key) : lastScalar(of: last.value)
    case .sequence(let nodes): return nodes.last.map(lastScalar) ?? node.range.upperBound
    case .scalar(_, .literal), .scalar(_, .folded): return trimmed(node.range.upperBound)
    case .scalar, .refused: return node.range.upperBound
    }
  }

  /// The offset without white space before it.
  private func trimmed(_ offset: Int) -> Int {
    var offset = min(offset, source.scalars.count)
    while offset > 0, source.scalars[offset - 1].properties.isWhitespace { offset -= 1 }
    return offset
  }
}
