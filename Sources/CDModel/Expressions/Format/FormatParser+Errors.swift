extension FormatParser {
  /// Something else than the token at hand was wanted.
  func expected(_ wanted: String) -> FormatError {
    FormatError(
      utf8Offset: token.start,
      utf16Offset: SourceSpan.utf16Offset(ofUTF8: token.start, in: lexer.source), expected: wanted,
      found: found)
  }

  /// An operand was wanted.
  func expectedOperand() -> FormatError {
    let wanted = mayBeginPredicate ? "a comparison" : "a value"
    var hint = ""
    if case .keyword = token.kind {
      hint = " (a key that is a reserved word is written #\(lexer.text(token.start, token.end)))"
    }
    guard let previous, previous.end > previous.start else { return expected(wanted + hint) }
    return expected("\(wanted) after '\(excerpt(previous.start, previous.end))'\(hint)")
  }

  /// A bracket behind a comparison operator holds something else than options.
  func expectedOptions() -> FormatError {
    let word = previous.map { lexer.text($0.start, $0.end) } ?? ""
    return expected("a value, or options such as [cd], after '\(word)'")
  }

  /// An operator or a closing bracket was wanted, after the operand at hand.
  func expectedOperator() -> FormatError {
    let text = excerpt(operand.start, operand.end)
    let isMissingComparison: Bool
    if case .value = frame.content {
      isMissingComparison = false
    } else {
      isMissingComparison = operand.predicate == nil && (pendingLevel ?? -6) != -2
    }
    if isMissingComparison { return expected("an operator after '\(text)'") }
    let closing =
      switch frame.kind {
      case .top: "end of text"
      case .parenthesis, .castOtherwise, .subqueryCondition: "')'"
      case .aggregate: "',' or '}'"
      case .index: "']'"
      case .call, .functionArguments: "',' or ')'"
      case .subqueryCollection, .ternaryCondition, .castValue, .functionTarget: "','"
      case .ternaryValues: frame.values.isEmpty ? "','" : "')'"
      }
    if case .value = frame.content { return expected("an operator or \(closing) after '\(text)'") }
    return expected("AND, OR or \(closing) after '\(text)'")
  }

  func tooDeep(_ start: Int) -> FormatError {
    lexer.error(
      at: start, "the expression is nested more than \(ValueExpression.maximumDepth) levels deep")
  }

  private var found: String {
    if case .end = token.kind { return "end of text" }
    return "'\(excerpt(token.start, token.end))'"
  }

  /// A part of the text, on one line and shortened.
  private func excerpt(_ start: Int, _ end: Int) -> String {
    let text = lexer.text(start, min(end, start + 200))
    let scalars = text.unicodeScalars.map { $0.value < 0x20 ? " " : Character($0) }
    if scalars.count <= 24 && end <= start + 200 { return String(scalars) }
    return String(scalars.prefix(23)) + "…"
  }
}
