import CDModel

/// Reads the keys of one mapping and reports those that do not belong there.
struct MappingReader {
  private let context: DecodingContext
  let element: ModelElement
  /// Where to report that a key is missing.
  let place: MarkedNode
  private let values: [String: MarkedNode]
  /// Whether YAML refused a part of the mapping, so that nothing can be said of what is not there.
  private let isIncomplete: Bool

  /// - Parameters:
  ///   - node: What should be a mapping. Nothing at all counts as an empty one.
  ///   - noun: What the mapping describes, with its article, for messages.
  ///   - keys: The keys that it may have.
  ///   - hints: What to do in place of a key that other tools have.
  /// - Returns: Nil, reported, where the node is no mapping.
  init?(
    _ node: MarkedNode, of element: ModelElement, at place: MarkedNode, noun: String, keys: [String],
    hints: [String: String] = [:], context: DecodingContext
  ) {
    guard let pairs = context.pairs(of: node, noun: noun) else { return nil }
    self.context = context
    self.element = element
    self.place = place
    var values: [String: MarkedNode] = [:]
    var isIncomplete = false
    for pair in pairs {
      if keys.contains(pair.name) {
        values[pair.name] = pair.value
        context.positions.record(pair.value, as: pair.name, of: element)
        context.positions.record(pair.key, as: "key:" + pair.name, of: element)
      } else if pair.value.isRefused {
        // Such as a key without a value, which is likely no key at all.
        isIncomplete = true
      } else if let hint = hints[pair.name] {
        context.error(pair.key, "unknown key '\(pair.name)'; \(hint)")
      } else if let close = closestName(to: pair.name, in: keys) {
        context.error(pair.key, "unknown key '\(pair.name)'", suggestion: close)
      } else {
        context.error(
          pair.key, "unknown key '\(pair.name)'; \(noun) may have \(keys.sorted().joined(separator: ", "))")
      }
    }
    self.values = values
    self.isIncomplete = isIncomplete
  }

  /// Reports that a key is missing, unless it may be what YAML could not read.
  func reportMissing(_ message: String) {
    if !isIncomplete { context.error(place, message) }
  }

  func has(_ key: String) -> Bool { values[key] != nil }

  func node(_ key: String) -> MarkedNode? { values[key] }

  /// The text of a value. A value that is no text, or is nothing, is reported.
  func text(_ key: String) -> String? {
    values[key].flatMap { context.text(of: $0, as: "'\(key)'") }
  }

  /// A text that people write, such as a documentation comment, which no comment may have cut short.
  func prose(_ key: String) -> String? {
    guard let node = values[key], let text = context.text(of: node, as: "'\(key)'") else { return nil }
    return context.isCutShort(node) ? nil : text
  }

  func bool(_ key: String) -> Bool? {
    guard let node = values[key], let text = context.text(of: node, as: "'\(key)'") else { return nil }
    switch text {
    case "true": return true
    case "false": return false
    default:
      context.error(
        node, "'\(key)' is true or false, and not '\(text)'",
        suggestion: LiteralDecoder.likelyBool(text))
      return nil
    }
  }

  /// An integer of at least `minimum`.
  func int(_ key: String, atLeast minimum: Int) -> Int? {
    guard let node = values[key], let text = context.text(of: node, as: "'\(key)'") else { return nil }
    guard let number = LiteralDecoder.integer(text), number >= Int64(minimum) else {
      context.error(node, "'\(key)' is an integer of at least \(minimum), and not '\(text)'")
      return nil
    }
    return Int(number)
  }

  /// The elements of a list.
  func list(_ key: String, of what: String) -> [MarkedNode]? {
    guard let node = values[key] else { return nil }
    guard case .sequence(let elements) = node.content else {
      context.error(node, "'\(key)' is a list of \(what), and not \(node.kindName)")
      return nil
    }
    return elements
  }

  /// The pairs of a mapping of names to something.
  func pairs(_ key: String) -> [MarkedNode.Pair] {
    values[key].flatMap { context.pairs(of: $0, noun: "'\(key)'") } ?? []
  }

  /// Free keys and texts.
  func info() -> [String: String] {
    var result: [String: String] = [:]
    for pair in pairs("info") {
      guard let text = context.text(of: pair.value, as: "'\(pair.name)'"), !context.isCutShort(pair.value)
      else { continue }
      result[pair.name] = text
    }
    return result
  }
}

extension DecodingContext {
  /// The pairs of a mapping; those of none for nothing at all. Other kinds are reported.
  func pairs(of node: MarkedNode, noun: String) -> [MarkedNode.Pair]? {
    if case .mapping(let pairs) = node.content { return pairs }
    if node.isEmpty { return [] }
    let remedy = YAMLSyntaxMessage.gluedKey(in: node).map { "; write a blank after the colon: '\($0)'" } ?? ""
    error(node, "\(noun) is a mapping of keys to values, and not \(node.kindName)\(remedy)")
    return nil
  }

  /// The text of a scalar that is something. Other kinds are reported.
  func text(of node: MarkedNode, as what: String) -> String? {
    if node.isEmpty {
      error(node, "\(what) has no value")
      return nil
    }
    if let text = node.text { return text }
    error(node, "\(what) is a text, and not \(node.kindName)")
    return nil
  }

  /// The `#…` of a comment that follows a plain scalar on its line.
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

  /// Reports a comment that is glued to its `#` behind a plain text, since it was likely part of the text:
  /// `title == #like`, `doc: Issue #12`.
  func isCutShort(_ node: MarkedNode) -> Bool {
    guard let (offset, word) = comment(after: node), word.unicodeScalars.count > 1 else { return false }
    diagnostics.error(
      source.location(at: offset),
      "'\(word)' starts a comment in YAML and is not part of the text before it; quote the text, "
        + "or put a blank behind the '#' of a comment")
    return true
  }

  /// What to add to the error of an expression that ends where a comment starts.
  func commentRemark(_ node: MarkedNode) -> String? {
    comment(after: node).map {
      "; the '#' in column \(source.location(at: $0.offset).column) starts a comment: "
        + "quote the expression if it goes on there"
    }
  }
}
