import CDModel

/// Reads the keys of one mapping and reports unknown keys.
struct MappingReader {
  private let context: DecodingContext
  let element: SchemaElement
  /// The node at which missing keys are reported.
  let place: MarkedNode
  private let values: [String: MarkedNode]
  /// Whether the YAML parser refused a part of the mapping. Keys may then seem to be missing.
  private let isIncomplete: Bool

  /// - Parameters:
  ///   - node: The node that should be a mapping. An empty node counts as an empty mapping.
  ///   - noun: The thing that the mapping describes, with its article, for messages.
  ///   - keys: The allowed keys.
  ///   - hints: What to write instead of keys that other tools use.
  /// - Returns: Nil if the node is not a mapping, which is reported.
  init?(
    _ node: MarkedNode, of element: SchemaElement, at place: MarkedNode, noun: String, keys: SchemaKeys,
    hints: [String: String] = [:], context: DecodingContext
  ) {
    guard let pairs = context.pairs(of: node, noun: noun) else { return nil }
    self.context = context
    self.element = element
    self.place = place
    var values: [String: MarkedNode] = [:]
    var isIncomplete = false
    for pair in pairs {
      if keys.names.contains(pair.name) {
        values[pair.name] = pair.value
        context.positions.record(pair.value, as: pair.name, of: element)
        context.positions.record(pair.key, as: "key:" + pair.name, of: element)
      } else if pair.value.isRefused {
        // For example, a key without a value, which was probably not meant as a key.
        isIncomplete = true
      } else if let hint = hints[pair.name] {
        context.error(pair.key, "unknown key '\(pair.name)'; \(hint)")
      } else if let close = closestName(to: pair.name, in: keys.names) {
        context.error(pair.key, "unknown key '\(pair.name)'", suggestion: close)
        // The value is read as that of the meant key. Otherwise everything below the key would seem to be missing.
        if values[close] == nil, !pairs.contains(where: { $0.name == close }) {
          values[close] = pair.value
          context.positions.record(pair.value, as: close, of: element)
          context.positions.record(pair.key, as: "key:" + close, of: element)
        }
      } else {
        context.error(
          pair.key,
          "unknown key '\(pair.name)'; \(noun) may have \(keys.names.sorted().joined(separator: ", "))")
      }
    }
    self.values = values
    self.isIncomplete = isIncomplete
  }

  /// Reports a missing key, unless it may be in the part that the YAML parser refused.
  func reportMissing(_ message: String) {
    if !isIncomplete { context.error(place, message) }
  }

  func has(_ key: String) -> Bool { values[key] != nil }

  func node(_ key: String) -> MarkedNode? { values[key] }

  /// Reads a text. Reports an empty value and a value that is not a text.
  func text(_ key: String) -> String? {
    values[key].flatMap { context.text(of: $0, as: "'\(key)'") }
  }

  /// Reads a text for people, such as a documentation comment. Reports a text that ends because a YAML comment begins.
  func prose(_ key: String) -> String? {
    guard let node = values[key], let text = context.text(of: node, as: "'\(key)'") else { return nil }
    return context.reportsSwallowedComment(node) ? nil : text
  }

  func bool(_ key: String) -> Bool? {
    guard let node = values[key], let text = context.text(of: node, as: "'\(key)'") else { return nil }
    switch text {
    case "true": return true
    case "false": return false
    default:
      context.error(
        node, "'\(key)' is true or false, not '\(text)'",
        suggestion: LiteralDecoder.likelyBool(text))
      return nil
    }
  }

  /// Reads an integer of at least `minimum`.
  func int(_ key: String, atLeast minimum: Int) -> Int? {
    guard let node = values[key], let text = context.text(of: node, as: "'\(key)'") else { return nil }
    guard let number = LiteralDecoder.integer(text), number >= Int64(minimum) else {
      context.error(node, "'\(key)' is an integer of at least \(minimum), not '\(text)'")
      return nil
    }
    return Int(number)
  }

  /// Reads the elements of a list.
  func list(_ key: String, of what: String) -> [MarkedNode]? {
    guard let node = values[key] else { return nil }
    guard case .sequence(let elements) = node.content else {
      context.error(node, "'\(key)' is a list of \(what), not \(node.kindName)")
      return nil
    }
    return elements
  }

  /// Reads the pairs of a mapping whose keys are names.
  func pairs(_ key: String) -> [MarkedNode.Pair] {
    values[key].flatMap { context.pairs(of: $0, noun: "'\(key)'") } ?? []
  }

  /// Reads free keys and texts.
  func info() -> [String: String] {
    var result: [String: String] = [:]
    for pair in pairs("info") {
      guard let text = context.text(of: pair.value, as: "'\(pair.name)'"),
        !context.reportsSwallowedComment(pair.value)
      else { continue }
      result[pair.name] = text
    }
    return result
  }
}

extension DecodingContext {
  /// The pairs of a mapping; empty for an empty node. Any other node is reported.
  func pairs(of node: MarkedNode, noun: String) -> [MarkedNode.Pair]? {
    if case .mapping(let pairs) = node.content { return pairs }
    if node.isEmpty { return [] }
    let remedy = YAMLSyntaxMessage.gluedKey(in: node).map { "; write a blank after the colon: '\($0)'" } ?? ""
    error(node, "\(noun) is a mapping of keys to values, not \(node.kindName)\(remedy)")
    return nil
  }

  /// The text of a scalar that is not empty. Any other node is reported.
  func text(of node: MarkedNode, as what: String) -> String? {
    if node.isEmpty {
      error(node, "\(what) has no value")
      return nil
    }
    if let text = node.text { return text }
    error(node, "\(what) is a text, not \(node.kindName)")
    return nil
  }

  /// The comment that follows a plain scalar on its line, if there is one: its offset and its first word.
  private func comment(after node: MarkedNode) -> (offset: Int, word: String)? {
    guard case .scalar(_, .plain) = node.content else { return nil }
    let scalars = source.scalars
    var offset = node.range.upperBound
    while offset < scalars.count, ScalarScanner.isBlank(scalars[offset]) { offset += 1 }
    guard offset < scalars.count, scalars[offset] == "#" else { return nil }
    var end = offset
    while end < scalars.count, !ScalarScanner.isBlank(scalars[end]), !ScalarScanner.isBreak(scalars[end]) {
      end += 1
    }
    return (offset, source.text(offset..<end))
  }

  /// Reports a comment without a space after its `#` that follows a plain text, because it was probably meant as part
  /// of the text: `title == #like`, `doc: Issue #12`.
  func reportsSwallowedComment(_ node: MarkedNode) -> Bool {
    guard let (offset, word) = comment(after: node), word.unicodeScalars.count > 1 else { return false }
    diagnostics.error(
      source.location(at: offset),
      "'\(word)' starts a comment in YAML and is not part of the text before it; quote the text, "
        + "or put a blank after the '#' of a comment")
    return true
  }

  /// An addition to the error of an expression that ends where a comment begins.
  func commentRemark(_ node: MarkedNode) -> String? {
    comment(after: node).map {
      "; the '#' in column \(source.location(at: $0.offset).column) starts a comment: "
        + "quote the expression if it goes on there"
    }
  }
}
