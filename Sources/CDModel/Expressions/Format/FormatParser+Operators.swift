extension FormatParser {
  /// Reads what may stand behind a complete operand, up to an operator that wants another operand, or to the
  /// end of the text: then true.
  mutating func parseOperators() throws(FormatError) -> Bool {
    while true {
      switch token.kind {
      case .symbol(.dot):
        guard operand.value != nil, !operand.isNumber else { throw expectedOperator() }
        try parseStep()
      case .symbol(.openBracket):
        guard operand.value != nil else { throw expectedOperator() }
        if try openIndex() { return false }
      case .symbol(.value(let expressionOperator)):
        return try pushChain(expressionOperator)
      case .symbol(.coalesce):
        return try pushCoalesce()
      case .symbol(.assign):
        return try pushAssignment()
      case .symbol(.comparison(let comparison)):
        return try pushComparison(comparison)
      case .symbol(.and), .keyword(.and):
        return try pushCompound(.and)
      case .symbol(.or), .keyword(.or):
        return try pushCompound(.or)
      case .keyword(let keyword):
        if let comparison = keyword.comparison { return try pushComparison(comparison) }
        guard let setOperator = keyword.setOperator else { throw expectedOperator() }
        return try pushChain(setOperator)
      case .symbol(.comma):
        if try parseComma() { return false }
      case .symbol(.closeParenthesis), .symbol(.closeBracket), .symbol(.closeBrace):
        try close()
      case .end:
        guard case .top = frame.kind else { throw expectedOperator() }
        try reduce(to: .min)
        return true
      default:
        throw expectedOperator()
      }
    }
  }

  // MARK: Operators

  private mutating func pushChain(_ expressionOperator: ExpressionOperator) throws(FormatError) -> Bool {
    guard operand.value != nil else { throw expectedOperator() }
    let level = expressionOperator.precedence
    try reduce(to: level + 1)
    var operation = Operation(kind: .chain(expressionOperator), start: operand.start)
    if pendingLevel == level {
      // Of the same precedence: one chain.
      try reduce(to: level)
      operation.start = operand.start
    }
    if let last = operand.terms.last, last.operator.precedence == level {
      operation.value = operand.value
      swap(&operation.terms, &operand.terms)
    } else {
      operation.value = try takeValue()
    }
    operations.append(operation)
    try advance()
    return false
  }

  private mutating func pushCoalesce() throws(FormatError) -> Bool {
    guard operand.value != nil else { throw expectedOperator() }
    try reduce(to: 1)
    let value = try takeValue()
    if pendingLevel == 0 {
      operations[operations.count - 1].values.append(value)
    } else {
      operations.append(Operation(kind: .coalesce, start: operand.start, values: [value]))
    }
    try advance()
    return false
  }

  private mutating func pushAssignment() throws(FormatError) -> Bool {
    guard operand.isVariable, case .variable(let name)? = operand.value?.kind, operand.steps.isEmpty,
      (pendingLevel ?? -6) < -1
    else { throw expectedOperator() }
    operations.append(Operation(kind: .assignment(name), start: operand.start))
    try advance()
    return false
  }

  private mutating func pushComparison(_ comparison: ComparisonOperator) throws(FormatError) -> Bool {
    if case .value = frame.content { throw expectedOperator() }
    guard operand.value != nil else { throw expectedOperator() }
    try reduce(to: -1)
    guard (pendingLevel ?? -6) <= -3 else { throw expectedOperator() }
    let left = try takeValue()
    let start = operand.start
    try advance()
    var options: ComparisonOptions = []
    if case .symbol(.openBracket) = token.kind {
      guard let read = lexer.scanOptions() else { throw expectedOptions() }
      options = read
      token.end = lexer.position
      try advance()
    }
    operations.append(Operation(kind: .comparison(comparison, options), start: start, value: left))
    return false
  }

  private mutating func pushCompound(_ kind: Operation.Kind) throws(FormatError) -> Bool {
    if case .value = frame.content { throw expectedOperator() }
    let level = Operation(kind: kind, start: 0).level
    try reduce(to: level + 1)
    guard let predicate = operand.predicate else { throw expectedOperator() }
    if pendingLevel == level {
      operations[operations.count - 1].predicates.append(predicate)
    } else {
      operations.append(Operation(kind: kind, start: operand.start, predicates: [predicate]))
    }
    try advance()
    return false
  }

  // MARK: Key paths

  /// A dot and a step, or what `%K` has.
  private mutating func parseStep() throws(FormatError) {
    if !operand.terms.isEmpty {
      operand = Operand(value: try takeValue(), start: operand.start, end: operand.end)
    }
    try advance()
    switch token.kind {
    case .identifier(let name), .escapedName(let name): operand.steps.append(.key(name))
    case .collectionOperator(let name): operand.steps.append(.collectionOperator(name))
    case .keyword(.self), .escapedSelf: operand.steps.append(.itself)
    case .variable(let name): operand.steps.append(.variable(name))
    case .keyPath(let text): operand.steps.append(contentsOf: ValueExpression.steps(text))
    case .keyword(let keyword) where keyword.isContextual:
      operand.steps.append(.key(lexer.text(token.start, token.end)))
    case .keyword:
      throw expected(
        "a key after '.' (written #\(lexer.text(token.start, token.end)), being a reserved word)")
    default: throw expected("a key after '.'")
    }
    operand.end = token.end
    operand.isVariable = false
    try advance()
  }

  /// A bracket behind a value. True where an expression is wanted in it; `[FIRST]` and the like are complete.
  private mutating func openIndex() throws(FormatError) -> Bool {
    if !operand.terms.isEmpty {
      operand = Operand(value: try takeValue(), start: operand.start, end: operand.end)
    }
    operand.isVariable = false
    operand.isNumber = false
    let start = token.start
    try advance()
    if case .identifier(let name) = token.kind, let step = Self.indexWords[name.uppercased()] {
      let word = token
      try advance()
      if case .symbol(.closeBracket) = token.kind {
        operand.steps.append(step)
        operand.end = token.end
        try advance()
        return false
      }
      // A key of that name, with more of the index behind it.
      pushIndex(start)
      operand = Operand(value: .object, steps: [.key(name)], start: word.start, end: word.end)
      return false
    }
    pushIndex(start)
    return true
  }

  private mutating func pushIndex(_ start: Int) {
    var frame = Frame(kind: .index, content: .value, operationBase: operations.count, start: start)
    swap(&frame.base, &operand)
    frames.append(frame)
  }

  private static let indexWords: [String: PathStep] = ["FIRST": .first, "LAST": .last, "SIZE": .size]
}

extension ValueExpression {
  /// The steps that a key path's text is behind a dot.
  static func steps(_ text: String) -> [PathStep] {
    // A leading dot keeps the first key from being taken for a base.
    if case .path(_, let steps) = keyPath("." + text, span: nil).kind { return Array(steps.dropFirst()) }
    return []
  }
}
