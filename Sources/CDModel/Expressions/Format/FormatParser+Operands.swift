extension FormatParser {
  /// Reads prefix operators and opening brackets up to a complete operand.
  mutating func parseOperand() throws(FormatError) {
    while true {
      let start = token.start
      switch token.kind {
      case .symbol(.not), .keyword(.not):
        try pushPrefix(.not)
      case .keyword(.any), .keyword(.some):
        try pushPrefix(.quantifier(.any, isNegated: false))
      case .keyword(.all):
        try pushPrefix(.quantifier(.all, isNegated: false))
      case .keyword(.none):
        try pushPrefix(.quantifier(.any, isNegated: true))
      case .keyword(.truePredicate), .keyword(.falsePredicate):
        guard mayBeginPredicate else { throw expectedOperand() }
        var holds = false
        if case .keyword(.truePredicate) = token.kind { holds = true }
        let span = SourceSpan(start, token.end)
        operand = Operand(
          predicate: FetchPredicate(kind: .constant(holds), span: span), start: start, end: token.end)
        return try advance()
      case .symbol(.value(.subtract)):
        try advance()
        switch token.kind {
        case .integer(let magnitude):
          // -2^63 has no positive counterpart.
          return try finish(.value(.int(Int64(truncatingIfNeeded: 0 &- magnitude))), start, isNumber: true)
        case .double(let number):
          return try finish(.value(.double(-number)), start, isNumber: true)
        default:
          operations.append(Operation(kind: .negate, start: start))
        }
      case .symbol(.complement):
        operations.append(Operation(kind: .complement, start: start))
        try advance()
      case .symbol(.openParenthesis):
        let content: Content = mayBeginPredicate ? .either : .value
        try open(.parenthesis, content, start)
      case .symbol(.openBrace):
        try open(.aggregate, .value, start)
        if case .symbol(.closeBrace) = token.kind {
          frames.removeLast()
          return try finish(.array([]), start)
        }
      default:
        if try parseAtom() { return }
      }
    }
  }

  private mutating func pushPrefix(_ kind: Operation.Kind) throws(FormatError) {
    guard mayBeginPredicate else { throw expectedOperand() }
    operations.append(Operation(kind: kind, start: token.start))
    try advance()
  }

  private mutating func open(_ kind: Frame.Kind, _ content: Content, _ start: Int, name: String = "")
    throws(FormatError)
  {
    frames.append(
      Frame(kind: kind, content: content, operationBase: operations.count, start: start, name: name))
    try advance()
  }

  /// An operand without operators. False where it opened a call, whose first argument is wanted next.
  private mutating func parseAtom() throws(FormatError) -> Bool {
    let start = token.start
    switch token.kind {
    case .integer(let magnitude):
      guard magnitude <= UInt64(Int64.max) else {
        throw lexer.error(at: start, "the integer \(magnitude) does not fit in 64 bits")
      }
      try finish(.value(.int(Int64(magnitude))), start, isNumber: true)
    case .double(let number): try finish(.value(.double(number)), start, isNumber: true)
    case .string(let text): try finish(.value(.string(text)), start)
    case .argument(let constant): try finish(constant, start)
    case .keyword(.null), .keyword(.nil): try finish(.null, start)
    case .keyword(.true), .keyword(.yes): try finish(.value(.bool(true)), start)
    case .keyword(.false), .keyword(.no): try finish(.value(.bool(false)), start)
    case .keyword(.self), .escapedSelf: try finish(kind: .object, start)
    case .keyword(.anyKey): try finish(kind: .anyKey, start)
    case .variable(let name):
      try finish(kind: .variable(name), start)
      operand.isVariable = true
    case .keyPath(let path): try finish(path: ValueExpression.keyPath(path, span: nil), start)
    case .collectionOperator(let name): try finish(step: .collectionOperator(name), start)
    case .escapedName(let name): try finish(step: .key(name), start)
    case .identifier(let name): return try parseName(name)
    case .keyword(let keyword): return try parseKeyword(keyword)
    default: throw expectedOperand()
    }
    return true
  }

  private mutating func parseKeyword(_ keyword: FormatKeyword) throws(FormatError) -> Bool {
    let start = token.start
    let frame: Frame.Kind
    var content = Content.value
    switch keyword {
    case .subquery: frame = .subqueryCollection
    case .cast: frame = .castValue
    case .function: frame = .functionTarget
    case .ternary:
      frame = .ternaryCondition
      content = .predicate
    default:
      guard keyword.isContextual else { throw expectedOperand() }
      return try parseName(lexer.text(token.start, token.end))
    }
    let name = lexer.text(token.start, token.end)
    let word = token
    try advance()
    guard case .symbol(.openParenthesis) = token.kind else {
      guard keyword.isContextual else { throw expected("'(' after \(name)") }
      operand = Operand(value: .object, steps: [.key(name)], start: start, end: word.end)
      return true
    }
    try open(frame, content, start, name: name)
    return false
  }

  /// A key, or a function's name with the parenthesis behind it.
  private mutating func parseName(_ name: String) throws(FormatError) -> Bool {
    let start = token.start
    let end = token.end
    var selector: String?
    if lexer.position == end { selector = lexer.scanSelector(from: start) }
    try advance()
    guard case .symbol(.openParenthesis) = token.kind else {
      if let selector { throw expected("'(' after \(selector)") }
      operand = Operand(value: .object, steps: [.key(name)], start: start, end: end)
      return true
    }
    try open(.call, .value, start, name: selector ?? name)
    guard case .symbol(.closeParenthesis) = token.kind else { return false }
    try closeCall()
    return true
  }

  // MARK: Completion

  /// Makes a token's constant the operand and goes on behind the token.
  mutating func finish(_ constant: ExpressionConstant, _ start: Int, isNumber: Bool = false)
    throws(FormatError)
  {
    try finish(kind: .constant(constant), start)
    operand.isNumber = isNumber
  }

  mutating func finish(kind: ValueExpression.Kind, _ start: Int) throws(FormatError) {
    let end = token.end
    let value = try checked(ValueExpression(kind: kind, span: SourceSpan(start, end)), start)
    operand = Operand(value: value, start: start, end: end)
    try advance()
  }

  private mutating func finish(step: PathStep, _ start: Int) throws(FormatError) {
    operand = Operand(value: .object, steps: [step], start: start, end: token.end)
    try advance()
  }

  private mutating func finish(path: ValueExpression, _ start: Int) throws(FormatError) {
    if case .path(let base, let steps) = path.kind {
      operand = Operand(value: base, steps: steps, start: start, end: token.end)
    } else {
      operand = Operand(value: path, start: start, end: token.end)
    }
    try advance()
  }
}
