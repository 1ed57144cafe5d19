extension VersionFile {
  /// Returns a version's text without `renamedFrom`, which names elements of the version before and would be wrong in
  /// the next version. Everything else stays unchanged, including comments.
  ///
  /// - Returns: The same text if it is not valid YAML.
  public static func removingRenames(from text: String) -> String {
    let parsed = YAMLParser.parse(
      path: "", bytes: Array(text.utf8), diagnostics: DiagnosticCollector())
    guard let source = parsed.source, let root = parsed.root else { return text }
    var removals: [Range<Int>] = []
    for entity in root["entities"]?.pairs ?? [] {
      RenameRemoval.collect(in: entity.value, source, &removals)
      for key in ["attributes", "relationships"] {
        for property in entity.value[key]?.pairs ?? [] {
          RenameRemoval.collect(in: property.value, source, &removals)
        }
      }
    }
    for composite in root["composites"]?.pairs ?? [] {
      // Beside other fields, `fields` is itself a field.
      let pairs = composite.value.pairs
      let isShort = pairs.contains { $0.name != "fields" && $0.name != "doc" }
      let fields = isShort ? pairs : composite.value["fields"]?.pairs ?? pairs
      for field in fields { RenameRemoval.collect(in: field.value, source, &removals) }
    }
    var scalars = source.scalars
    for range in removals.sorted(by: { $0.lowerBound > $1.lowerBound }) { scalars.removeSubrange(range) }
    return SourceText(path: "", scalars: scalars).text(0..<scalars.count)
  }
}

/// Finds the ranges of a text that must be removed to delete `renamedFrom` from a mapping.
private enum RenameRemoval {
  static func collect(in node: MarkedNode, _ source: SourceText, _ removals: inout [Range<Int>]) {
    guard let place = node.pairs.firstIndex(where: { $0.name == "renamedFrom" }) else { return }
    let pair = node.pairs[place]
    let isFlow = source.scalars[node.range.lowerBound] == "{"
    if isFlow {
      removals.append(flowRange(pair, at: place, of: node, source))
    } else {
      removals.append(blockRange(pair, source))
    }
  }

  /// The lines of a pair, including a comment after it.
  private static func blockRange(_ pair: MarkedNode.Pair, _ source: SourceText) -> Range<Int> {
    let first = source.line(source.lineIndex(at: pair.key.range.lowerBound))
    let last = source.line(source.lineIndex(at: max(pair.value.range.upperBound - 1, 0)))
    return first.lowerBound..<last.upperBound
  }

  /// The pair with its comma and the spaces next to it.
  private static func flowRange(
    _ pair: MarkedNode.Pair, at place: Int, of node: MarkedNode, _ source: SourceText
  ) -> Range<Int> {
    let scalars = source.scalars
    var end = pair.value.range.upperBound
    if place + 1 < node.pairs.count {
      // The range includes the comma, comments before it, and the spaces after it.
      let next = node.pairs[place + 1].key.range.lowerBound
      while end < next, scalars[end] != "," {
        if scalars[end] == "#" { end = source.line(source.lineIndex(at: end)).upperBound } else { end += 1 }
      }
      end = min(end + 1, next)
      // If the pair has lines of its own, the whole lines are removed.
      let line = source.line(source.lineIndex(at: pair.key.range.lowerBound))
      let isFirst = scalars[line.lowerBound..<pair.key.range.lowerBound].allSatisfy { $0 == " " }
      let lineEnd = source.line(source.lineIndex(at: end - 1)).upperBound
      if isFirst, next >= lineEnd { return line.lowerBound..<lineEnd }
      while end < next, scalars[end] == " " { end += 1 }
      return pair.key.range.lowerBound..<end
    }
    guard place > 0 else { return pair.key.range.lowerBound..<end }
    let previous = node.pairs[place - 1].value.range.upperBound
    // A comma that remains is allowed. If a comment follows the comma, both stay.
    let hasComment = scalars[previous..<pair.key.range.lowerBound].contains("#")
    return (hasComment ? pair.key.range.lowerBound : previous)..<end
  }
}

extension MarkedNode {
  /// The pairs of a mapping; empty for other nodes.
  var pairs: [Pair] {
    if case .mapping(let pairs) = content { pairs } else { [] }
  }

  /// The value of a mapping's key.
  subscript(_ name: String) -> MarkedNode? {
    pairs.first { $0.name == name }?.value
  }
}
