/// Words for libyaml's syntax errors, with the remedy for those that people run into.
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
    case "found unexpected end of stream":
      return "the text that starts here has no closing quote"
    default:
      return nil
    }
  }
}
