/// Reads the grammar of predicates and value expressions.
///
/// The parser is one loop over two states, "an operand is wanted" and "an operand is complete", with stacks
/// of pending operators and open brackets on the heap. Nothing recurses, so no nesting of a text can
/// overflow a thread's stack; and since one operand may turn out as a value or as a predicate, the
/// parenthesis that opens either needs no second try: the time is proportional to the text's length.
/// What limits nesting is the depth of the tree that results (``ValueExpression/maximumDepth``).
struct FormatParser {
  var lexer: FormatLexer
  /// The token at hand.
  var token = FormatToken(kind: .end, start: 0, end: 0)
  /// The one before, for messages: what an operand is wanted behind.
  var previous: FormatToken?
  var frames: [Frame] = []
  var operations: [Operation] = []
  /// The operand that is complete, in that state.
  var operand = Operand()

  init(_ source: String, arguments: [(any FormatArgument)?]) {
    lexer = FormatLexer(source, arguments: arguments)
  }

  /// The predicate that the whole text is.
  mutating func parsePredicate() throws(FormatError) -> FetchPredicate {
    try run(content: .predicate)
    guard let predicate = operand.predicate else { throw expectedOperator() }
    return predicate
  }

  /// The value expression that the whole text is.
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

  mutating func advance() throws(FormatError) {
    previous = token
    token = try lexer.next()
  }

  // MARK: The stacks

  /// What an open construct may hold.
  enum Content { case predicate, value, either }

  /// An open construct, the whole text being the outermost.
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
    /// The count of pending operators outside the construct.
    var operationBase: Int
    var start: Int
    var name = ""
    var values: [ValueExpression] = []
    var condition: FetchPredicate?
    /// What an index is applied to.
    var base = Operand()
  }

  /// A complete operand. A key path and a chain of operators stay open for what may follow, so that long
  /// ones are built in one piece.
  struct Operand {
    var value: ValueExpression?
    var predicate: FetchPredicate?
    /// The steps from `value`.
    var steps: [PathStep] = []
    /// The operators behind `value`, which then has no steps.
    var terms: [OperationTerm] = []
    var start = 0
    var end = 0
    /// A number literal: a dot behind it is no key path's.
    var isNumber = false
    /// Nothing but `$name`, which an assignment may follow.
    var isVariable = false
  }

  /// A pending operator with what stands to its left.
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

    /// How tight the operator binds.
    var level: Int {
      switch kind {
      case .or: -6
      case .and: -5
      case .not: -4
      case .quantifier: -3
      case .comparison: -2
      case .assignment: -1
      case .coalesce: 0
      case .chain(let expressionOperator): expressionOperator.precedence
      case .negate, .complement: 9
      }
    }
  }

  var frame: Frame { frames[frames.count - 1] }

  /// The pending operator next to the operand, in the same construct.
  var pendingLevel: Int? {
    operations.count > frame.operationBase ? operations[operations.count - 1].level : nil
  }

  /// Whether a predicate may begin here: behind nothing, AND, OR or NOT of a construct that may hold one.
  var mayBeginPredicate: Bool {
    if case .value = frame.content { return false }
    return (pendingLevel ?? -6) <= -4
  }

  // MARK: Reduction

  /// Applies the pending operators that bind at least as tight as a level.
  mutating func reduce(to level: Int) throws(FormatError) {
    while let pending = pendingLevel, pending >= level {
      if pending <= -3, operand.predicate == nil { throw expectedOperator() }
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
  }

  private mutating func completeComparison(
    _ operation: Operation, _ comparisonOperator: ComparisonOperator, _ options: ComparisonOptions
  ) throws(FormatError) {
    let right = try takeValue()
    guard let left = operation.value else { throw expectedOperator() }
    var comparison = Comparison(left: left, operator: comparisonOperator, right: right, options: options)
    var start = operation.start
    var isNegated = false
    if pendingLevel == -3, case .quantifier(let modifier, let negated) = operations[operations.count - 1].kind
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

  /// The operand as a value, with its steps and operators. Its place stays in `operand`.
  mutating func takeValue() throws(FormatError) -> ValueExpression {
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
