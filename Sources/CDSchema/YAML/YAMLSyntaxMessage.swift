/// Messages for libyaml's syntax errors, with remedies for common ones.
enum YAMLSyntaxMessage {
  static func message(for error: YAMLEventStream.SyntaxError, in source: SourceText) -> String {
    var message = "no valid YAML: \(error.problem)"
    if let context = error.context, error.problem != "found unexpected end of stream" {
      let line = source.location(at: error.contextOffset).line
      let place = line == source.location(at: error.offset).line ? "" : " that starts in line \(line)"
      message += ", \(context)\(place)"
    }
    if let remedy = remedy(for: error, in: source) { message += "; \(remedy)" }
    return message
  }

  /// Finds a key without a space after its colon. YAML reads it as a text that continues on the next line.
  static func gluedKey(
    for error: YAMLEventStream.SyntaxError, in source: SourceText
  ) -> (offset: Int, message: String)? {
    guard
      ["mapping values are not allowed in this context", "could not find expected ':'"].contains(
        error.problem)
    else { return nil }
    let last = source.lineIndex(at: min(error.offset, source.scalars.count))
    for index in max(0, last - 1)...last {
      let line = source.line(index)
      let start = line.first { source.scalars[$0] != " " } ?? line.upperBound
      let word = source.scalars[start..<line.upperBound].prefix {
        !ScalarScanner.isBlank($0) && !ScalarScanner.isBreak($0)
      }
      guard let colon = word.firstIndex(of: ":"), colon > word.startIndex, colon + 1 < word.endIndex else {
        continue
      }
      let name = source.text(word.startIndex..<colon)
      let value = source.text(colon + 1..<word.endIndex)
      guard NameRules.isIdentifier(name) else { continue }
      return (
        start, "'\(name):\(value)' is not a key and value; write a blank after the colon: '\(name): \(value)'"
      )
    }
    return nil
  }

  /// The corrected form of a text that consists of a key and a value without a space between them; nil for other texts.
  static func gluedKey(in node: MarkedNode) -> String? {
    guard case .scalar(let text, .plain) = node.content, let colon = text.firstIndex(of: ":"),
      NameRules.isIdentifier(String(text[..<colon])), !text.contains(" "), text.last != ":"
    else { return nil }
    return "\(text[..<colon]): \(text[text.index(after: colon)...])"
  }

  private static func remedy(for error: YAMLEventStream.SyntaxError, in source: SourceText) -> String? {
    let found = error.offset < source.scalars.count ? source.scalars[error.offset] : nil
    switch error.problem {
    case "mapping values are not allowed in this context":
      return "a text with ': ' in it must be quoted, and the lines of a mapping be indented alike"
    case "could not find expected ':'":
      return "a key is followed by a colon and a blank"
    case "found character that cannot start any token":
      return found.map { "a text that starts with '\($0)' must be quoted" }
    case "did not find expected ',' or '}'":
      return "a text that starts with '{' or holds one of { } [ ] , inside braces must be quoted"
    case "did not find expected ',' or ']'":
      return "a text that starts with '[' or holds one of { } [ ] , inside brackets must be quoted"
    case "did not find expected key":
      return "what follows a quoted text or a bracket on its line must be quoted with it, "
        + "and the lines of a mapping be indented alike"
    case "found undefined tag handle", "did not find expected tag URI",
      "did not find expected whitespace or line break",
      "did not find expected alphabetic or numeric character":
      return "a text that starts with '!', '&' or '*' must be quoted"
    case "did not find expected comment or line break":
      return "a text that starts with '|' or '>' must be quoted"
    case "found unknown escape character":
      return "in double quotes a backslash starts an escape: write \"\\\\d\", or '\\d' in single quotes"
    case "block sequence entries are not allowed in this context":
      return "a text that starts with '- ' must be quoted"
    case "found unexpected end of stream":
      return "the text that starts here has no closing quote"
    default:
      return nil
    }
  }
}
