/// Reads the grammar of predicates and value expressions.
///
/// The parser is one loop with two states, "expects an operand" and "operand is complete". Its stacks of pending
/// operators and open brackets are on the heap. It does not recurse, so deeply nested text cannot overflow a thread's
/// stack. An operand may turn out to be a value or a predicate, so an opening parenthesis never has to be parsed twice:
/// the time is proportional to the text's length. Nesting is limited by the depth of the resulting tree
/// (``ValueExpression/maximumDepth``).
struct FormatParser {
  var lexer: FormatLexer
  /// The current token.
  var token = FormatToken(kind: .end, start: 0, end: 0)
  /// The token before the current one, for error messages.
  var previous: FormatToken?
  var frames: [Frame] = []
  var operations: [Operation] = []
  /// The complete operand, while the parser is in that state.
  var operand = Operand()

  init(_ source: String, arguments: [(any FormatArgument)?]) {
    lexer = FormatLexer(source, arguments: arguments)
  }

  /// Parses the whole text as a predicate.
  mutating func parsePredicate() throws(FormatError) -> FetchPredicate {
    try run(content: .predicate)
    guard let predicate = operand.predicate else { throw expectedOperator() }
    return predicate
  }

  /// Parses the whole text as a value expression.
  mutating func parseValue() throws(FormatError) -> ValueExpression {
    try run(content: .value)
    return try takeValue()
  }

  private mutating func run(content: Content) throws(FormatError) {
    frames.append(Frame(kind: .top, content: content, operationBase: 0, start: 0))
    try advance()
    while true {
      try parseOperand()
      if try parseOperators() { return }
    }
  }

  private mutating func advance() throws(FormatError) {
    previous = token
    token = try lexer.next()
  }

  // MARK: The stacks

  /// The operands that an open construct accepts.
  enum Content { case predicate, value, either }

  /// An open construct. The outermost is the whole text.
  struct Frame {
    enum Kind {
      case top, parenthesis, aggregate, index, call
      case subqueryCollection, subqueryCondition
      case ternaryCondition, ternaryValues
      case castValue
      case castOtherwise(CastType)
      case functionTarget
      case functionArguments(selector: String)
    }
    var kind: Kind
    var content: Content
    /// The number of pending operators outside the construct.
    var operationBase: Int
    var start: Int
    var name = ""
    var values: [ValueExpression] = []
    var condition: FetchPredicate?
    /// The operand that an index is applied to.
    var base = Operand()
  }

  /// A complete operand. The steps of a key path and the terms of an operator chain are collected here, so that a long
  /// path or chain is built once.
  struct Operand {
    var value: ValueExpression?
    var predicate: FetchPredicate?
    /// The steps that follow `value`.
    var steps: [PathStep] = []
    /// The operators after `value`. If there are any, `steps` is empty.
    var terms: [OperationTerm] = []
    var start = 0
    var end = 0
    /// Whether the operand is a number literal. A key path cannot continue after it.
    var isNumber = false
    /// Whether the operand is only `$name`. An assignment operator may follow it.
    var isVariable = false
  }

  /// A pending operator with its left side.
  struct Operation {
    enum Kind {
      case not, and, or
      case quantifier(ComparisonModifier, isNegated: Bool)
      case comparison(ComparisonOperator, ComparisonOptions)
      case assignment(String)
      case coalesce
      case chain(ExpressionOperator)
      case negate, complement
    }
    var kind: Kind
    var start: Int
    var value: ValueExpression?
    var values: [ValueExpression] = []
    var terms: [OperationTerm] = []
    var predicates: [FetchPredicate] = []

    var precedence: Precedence {
      switch kind {
      case .or: .or
      case .and: .and
      case .not: .not
      case .quantifier: .quantifier
      case .comparison: .comparison
      case .assignment: .assignment
      case .coalesce: .coalescing
      case .chain(let expressionOperator): expressionOperator.precedence
      case .negate, .complement: .prefix
      }
    }
  }

  var frame: Frame { frames[frames.count - 1] }

  /// The precedence of the last pending operator in the same construct; nil if there is none.
  var pendingPrecedence: Precedence? {
    operations.count > frame.operationBase ? operations[operations.count - 1].precedence : nil
  }

  /// Whether a predicate may begin here: the construct accepts one, and the pending operator, if any, is AND, OR or
  /// NOT.
  var mayBeginPredicate: Bool {
    if case .value = frame.content { return false }
    return pendingPrecedence.map { $0 <= .not } ?? true
  }

  // MARK: Reduction

  /// Applies the pending operators whose precedence is higher than the given one.
  private mutating func reduce(above precedence: Precedence) throws(FormatError) {
    while let pending = pendingPrecedence, pending > precedence { try applyLast(pending) }
  }

  /// Applies all pending operators of the construct.
  private mutating func reduceAll() throws(FormatError) {
    while let pending = pendingPrecedence { try applyLast(pending) }
  }

  /// Applies the last pending operator, whose precedence is given.
  private mutating func applyLast(_ precedence: Precedence) throws(FormatError) {
    if precedence <= .quantifier, operand.predicate == nil { throw expectedOperator() }
    var operation = operations.removeLast()
    switch operation.kind {
    case .negate:
      let value = try takeValue()
      try complete(.negated(value), operation.start)
    case .complement:
      let value = try takeValue()
      try complete(.bitwiseComplement(value), operation.start)
    case .chain(let expressionOperator):
      operation.terms.append(OperationTerm(expressionOperator, try takeValue()))
      operand = Operand(
        value: operation.value, terms: operation.terms, start: operation.start, end: operand.end)
    case .coalesce:
      operation.values.append(try takeValue())
      try complete(.coalesced(operation.values), operation.start)
    case .assignment(let variable):
      let value = try takeValue()
      try complete(.assignment(variable: variable, value), operation.start)
    case .comparison(let comparisonOperator, let options):
      try completeComparison(operation, comparisonOperator, options)
    case .quantifier:
      throw expectedOperator()
    case .not:
      guard let predicate = operand.predicate else { throw expectedOperator() }
      try complete(FetchPredicate.negation(predicate, span: span(operation.start)), operation.start)
    case .and:
      operation.predicates.append(try takePredicate())
      try complete(
        FetchPredicate.conjunction(operation.predicates, span: span(operation.start)), operation.start)
    case .or:
      operation.predicates.append(try takePredicate())
      try complete(
        FetchPredicate.disjunction(operation.predicates, span: span(operation.start)), operation.start)
    }
  }

  private mutating func completeComparison(
    _ operation: Operation, _ comparisonOperator: ComparisonOperator, _ options: ComparisonOptions
  ) throws(FormatError) {
    let right = try takeValue()
    guard let left = operation.value else { throw expectedOperator() }
    var comparison = Comparison(left: left, operator: comparisonOperator, right: right, options: options)
    var start = operation.start
    var isNegated = false
    if pendingPrecedence == .quantifier,
      case .quantifier(let modifier, let negated) = operations[operations.count - 1].kind
    {
      start = operations[operations.count - 1].start
      operations.removeLast()
      comparison.modifier = modifier
      isNegated = negated
    }
    var predicate = FetchPredicate(kind: .comparison(comparison), span: span(start))
    if isNegated { predicate = FetchPredicate.negation(predicate, span: span(start)) }
    try complete(predicate, start)
  }

  private func span(_ start: Int) -> SourceSpan { SourceSpan(start, operand.end) }

  private mutating func complete(_ kind: ValueExpression.Kind, _ start: Int) throws(FormatError) {
    let value = ValueExpression(kind: kind, span: span(start))
    operand = Operand(value: try checked(value, start), start: start, end: operand.end)
  }

  private mutating func complete(_ predicate: FetchPredicate, _ start: Int) throws(FormatError) {
    guard predicate.depth <= ValueExpression.maximumDepth else { throw tooDeep(start) }
    operand = Operand(predicate: predicate, start: start, end: operand.end)
  }

  func checked(_ value: ValueExpression, _ start: Int) throws(FormatError) -> ValueExpression {
    guard value.depth <= ValueExpression.maximumDepth else { throw tooDeep(start) }
    return value
  }

  private func takePredicate() throws(FormatError) -> FetchPredicate {
    guard let predicate = operand.predicate else { throw expectedOperator() }
    return predicate
  }

  /// Returns the operand as a value, with its steps and operators. `operand` keeps the position.
  private mutating func takeValue() throws(FormatError) -> ValueExpression {
    guard let value = operand.value else { throw expectedOperator() }
    let span = SourceSpan(operand.start, operand.end)
    if !operand.steps.isEmpty {
      return try checked(ValueExpression.path(value, operand.steps, span: span), operand.start)
    }
    if !operand.terms.isEmpty {
      return try checked(ValueExpression.operation(value, operand.terms, span: span), operand.start)
    }
    return value
  }
}

extension FormatParser {
  /// Reads the tokens after a complete operand. Returns false if another operand must follow, and true at the end of
  /// the text.
  private mutating func parseOperators() throws(FormatError) -> Bool {
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
        try reduceAll()
        return true
      default:
        throw expectedOperator()
      }
    }
  }

  // MARK: Operators

  private mutating func pushChain(_ expressionOperator: ExpressionOperator) throws(FormatError) -> Bool {
    guard operand.value != nil else { throw expectedOperator() }
    let precedence = expressionOperator.precedence
    try reduce(above: precedence)
    var operation = Operation(kind: .chain(expressionOperator), start: operand.start)
    if pendingPrecedence == precedence {
      // The pending operator has the same precedence, so both belong to one chain.
      try applyLast(precedence)
      operation.start = operand.start
    }
    if let last = operand.terms.last, last.operator.precedence == precedence {
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
    try reduce(above: .coalescing)
    let value = try takeValue()
    if pendingPrecedence == .coalescing {
      operations[operations.count - 1].values.append(value)
    } else {
      operations.append(Operation(kind: .coalesce, start: operand.start, values: [value]))
    }
    try advance()
    return false
  }

  private mutating func pushAssignment() throws(FormatError) -> Bool {
    guard operand.isVariable, case .variable(let name)? = operand.value?.kind, operand.steps.isEmpty,
      pendingPrecedence.map({ $0 < .assignment }) ?? true
    else { throw expectedOperator() }
    operations.append(Operation(kind: .assignment(name), start: operand.start))
    try advance()
    return false
  }

  private mutating func pushComparison(_ comparison: ComparisonOperator) throws(FormatError) -> Bool {
    if case .value = frame.content { throw expectedOperator() }
    guard operand.value != nil else { throw expectedOperator() }
    try reduce(above: .comparison)
    guard pendingPrecedence.map({ $0 <= .quantifier }) ?? true else { throw expectedOperator() }
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
    let precedence = Operation(kind: kind, start: 0).precedence
    try reduce(above: precedence)
    guard let predicate = operand.predicate else { throw expectedOperator() }
    if pendingPrecedence == precedence {
      operations[operations.count - 1].predicates.append(predicate)
    } else {
      operations.append(Operation(kind: kind, start: operand.start, predicates: [predicate]))
    }
    try advance()
    return false
  }

  // MARK: Key paths

  /// Reads a dot with the next step, or with the steps of a `%K` argument.
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

  /// Reads an opening bracket after a value. Returns true if an expression must follow, and false if the index word is
  /// already read: `[FIRST]` and the like are then complete.
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
      // The word is a key, and the index continues after it.
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
  /// Splits a key path's text into steps, as if it followed a dot.
  static func steps(_ text: String) -> [PathStep] {
    // The leading dot prevents the first key from being read as a base, such as `SELF`.
    if case .path(_, let steps) = keyPath("." + text, span: nil).kind { return Array(steps.dropFirst()) }
    return []
  }
}

extension FormatParser {
  /// Reads prefix operators and opening brackets until an operand is complete.
  private mutating func parseOperand() throws(FormatError) {
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
          // The magnitude of -2^63 does not fit in a positive `Int64`.
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

  /// Reads an operand without operators. Returns false if it opened a call, whose first argument must follow.
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

  /// Reads a key, or a function's name with its opening parenthesis.
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

  /// Makes the current token's constant the operand, and advances to the next token.
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

extension FormatParser {
  /// Reads a comma after a complete operand. Returns true if another operand must follow.
  private mutating func parseComma() throws(FormatError) -> Bool {
    let kind = frame.kind
    switch kind {
    case .aggregate, .call, .subqueryCollection, .castValue, .functionTarget, .functionArguments:
      try appendValue()
    case .ternaryValues where frame.values.isEmpty:
      try appendValue()
    case .ternaryCondition:
      try reduceAll()
      guard let condition = operand.predicate else { throw expectedOperator() }
      frames[frames.count - 1].condition = condition
      frames[frames.count - 1].kind = .ternaryValues
      frames[frames.count - 1].content = .value
    default:
      throw expectedOperator()
    }
    try advance()
    switch kind {
    case .subqueryCollection:
      guard case .variable(let name) = token.kind else { throw expected("a variable such as $x") }
      try advance()
      guard case .symbol(.comma) = token.kind else { throw expected("',' after $\(name)") }
      frames[frames.count - 1].name = name
      frames[frames.count - 1].kind = .subqueryCondition
      frames[frames.count - 1].content = .predicate
      try advance()
    case .castValue:
      let name = try parseText("a type's name in quotes")
      if case .symbol(.closeParenthesis) = token.kind {
        try closeCast(CastType(name: name), otherwise: nil)
        return false
      }
      guard case .symbol(.comma) = token.kind else { throw expected("',' or ')'") }
      frames[frames.count - 1].kind = .castOtherwise(CastType(name: name))
      try advance()
    case .functionTarget:
      let selector = try parseText("a selector in quotes")
      frames[frames.count - 1].kind = .functionArguments(selector: selector)
      if case .symbol(.closeParenthesis) = token.kind {
        try closeInvocation(selector)
        return false
      }
      guard case .symbol(.comma) = token.kind else { throw expected("',' or ')'") }
      try advance()
    default: break
    }
    return true
  }

  private mutating func parseText(_ wanted: String) throws(FormatError) -> String {
    switch token.kind {
    case .string(let text), .argument(.value(.string(let text))):
      try advance()
      return text
    default: throw expected(wanted)
    }
  }

  private mutating func appendValue() throws(FormatError) {
    try reduceAll()
    let value = try takeValue()
    frames[frames.count - 1].values.append(value)
  }

  /// Reads a closing bracket after a complete operand.
  private mutating func close() throws(FormatError) {
    switch (frame.kind, token.kind) {
    case (.parenthesis, .symbol(.closeParenthesis)):
      try reduceAll()
      operand.start = frames.removeLast().start
      operand.end = token.end
      operand.isNumber = false
      operand.isVariable = false
      try advance()
    case (.aggregate, .symbol(.closeBrace)):
      try appendValue()
      let frame = frames.removeLast()
      try finish(kind: ValueExpression.aggregate(frame.values, span: nil).kind, frame.start)
    case (.index, .symbol(.closeBracket)):
      try reduceAll()
      let index = try takeValue()
      var frame = frames.removeLast()
      swap(&operand, &frame.base)
      operand.steps.append(.index(index))
      operand.end = token.end
      try advance()
    case (.call, .symbol(.closeParenthesis)):
      try appendValue()
      try closeCall()
    case (.subqueryCondition, .symbol(.closeParenthesis)):
      try reduceAll()
      guard let condition = operand.predicate else { throw expectedOperator() }
      let frame = frames.removeLast()
      try finish(kind: .subquery(frame.values[0], variable: frame.name, condition), frame.start)
    case (.ternaryValues, .symbol(.closeParenthesis)) where !frame.values.isEmpty:
      try reduceAll()
      let no = try takeValue()
      let frame = frames.removeLast()
      guard let condition = frame.condition else { throw expectedOperator() }
      try finish(kind: .ternary(condition, frame.values[0], no), frame.start)
    case (.castOtherwise(let type), .symbol(.closeParenthesis)):
      try reduceAll()
      try closeCast(type, otherwise: try takeValue())
    case (.functionArguments(let selector), .symbol(.closeParenthesis)):
      try appendValue()
      try closeInvocation(selector)
    default:
      throw expectedOperator()
    }
  }

  /// Completes the call of the topmost frame at its closing parenthesis and makes it the operand.
  private mutating func closeCall() throws(FormatError) {
    let frame = frames.removeLast()
    let kind: ValueExpression.Kind
    if let function = ExpressionFunction(name: frame.name) {
      kind = .function(function, frame.values)
    } else if let constant = ConstantFunction.constant(frame.name, frame.values) {
      kind = .constant(constant)
    } else {
      kind = .unknownFunction(frame.name, frame.values)
    }
    try finish(kind: kind, frame.start)
  }

  private mutating func closeCast(_ type: CastType, otherwise: ValueExpression?) throws(FormatError) {
    let frame = frames.removeLast()
    let cast = ValueExpression.cast(frame.values[0], type, otherwise: otherwise, span: nil)
    try finish(kind: cast.kind, frame.start)
  }

  private mutating func closeInvocation(_ selector: String) throws(FormatError) {
    let frame = frames.removeLast()
    try finish(
      kind: .invocation(frame.values[0], selector: selector, Array(frame.values.dropFirst())), frame.start)
  }
}

extension FormatParser {
  /// The error for a token that differs from the expected syntax.
  ///
  /// - Parameter words: Keywords that would be right here, one of which may be misspelt.
  private func expected(_ wanted: String, words: [String] = []) -> FormatError {
    var suggestion: String?
    if case .identifier(let name) = token.kind { suggestion = closestName(to: name.uppercased(), in: words) }
    return FormatError(
      utf8Offset: token.start,
      utf16Offset: SourceSpan.utf16Offset(ofUTF8: token.start, in: lexer.source), expected: wanted,
      found: found, suggestion: suggestion)
  }

  /// The error for a missing operand.
  private func expectedOperand() -> FormatError {
    let wanted = mayBeginPredicate ? "a comparison" : "a value"
    var hint = ""
    if case .keyword = token.kind {
      hint = " (a key that is a reserved word is written #\(lexer.text(token.start, token.end)))"
    }
    guard let previous, previous.end > previous.start else { return expected(wanted + hint) }
    return expected("\(wanted) after '\(excerpt(previous.start, previous.end))'\(hint)")
  }

  /// The error for brackets after a comparison operator that contain anything except options.
  private func expectedOptions() -> FormatError {
    let word = previous.map { lexer.text($0.start, $0.end) } ?? ""
    return expected("a value, or options such as [cd], after '\(word)'")
  }

  /// The error for a missing operator or closing bracket after the current operand.
  @_optimize(none)
  private func expectedOperator() -> FormatError {
    let text = excerpt(operand.start, operand.end)
    let isMissingComparison: Bool
    if case .value = frame.content {
      isMissingComparison = false
    } else {
      isMissingComparison = operand.predicate == nil && pendingPrecedence != .comparison
    }
    if isMissingComparison { return expected("an operator after '\(text)'", words: Self.operators) }
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
    return expected("AND, OR or \(closing) after '\(text)'", words: ["AND", "OR"])
  }

  /// The comparison operators that are words.
  @_optimize(none)
  private static var operators: [String] {
    FormatKeyword.allCases.compactMap { $0.comparison?.rawValue }
  }

  private func tooDeep(_ start: Int) -> FormatError {
    lexer.error(
      at: start, "the expression is nested more than \(ValueExpression.maximumDepth) levels deep")
  }

  private var found: String {
    if case .end = token.kind { return "end of text" }
    return "'\(excerpt(token.start, token.end))'"
  }

  /// A part of the text for a message, on one line and shortened.
  @_optimize(none)
  private func excerpt(_ start: Int, _ end: Int) -> String {
    let text = lexer.text(start, min(end, start + 200))
    let scalars = text.unicodeScalars.map { $0.value < 0x20 ? " " : Character($0) }
    if scalars.count <= 24 && end <= start + 200 { return String(scalars) }
    return String(scalars.prefix(23)) + "…"
  }
}
