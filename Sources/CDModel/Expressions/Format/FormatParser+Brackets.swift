extension FormatParser {
  /// A comma behind a complete operand. True where another operand is wanted.
  mutating func parseComma() throws(FormatError) -> Bool {
    let kind = frame.kind
    switch kind {
    case .aggregate, .call, .subqueryCollection, .castValue, .functionTarget, .functionArguments:
      try appendValue()
    case .ternaryValues where frame.values.isEmpty:
      try appendValue()
    case .ternaryCondition:
      try reduce(to: .min)
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
    try reduce(to: .min)
    let value = try takeValue()
    frames[frames.count - 1].values.append(value)
  }

  /// A closing bracket behind a complete operand.
  mutating func close() throws(FormatError) {
    switch (frame.kind, token.kind) {
    case (.parenthesis, .symbol(.closeParenthesis)):
      try reduce(to: .min)
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
      try reduce(to: .min)
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
      try reduce(to: .min)
      guard let condition = operand.predicate else { throw expectedOperator() }
      let frame = frames.removeLast()
      try finish(kind: .subquery(frame.values[0], variable: frame.name, condition), frame.start)
    case (.ternaryValues, .symbol(.closeParenthesis)) where !frame.values.isEmpty:
      try reduce(to: .min)
      let no = try takeValue()
      let frame = frames.removeLast()
      guard let condition = frame.condition else { throw expectedOperator() }
      try finish(kind: .ternary(condition, frame.values[0], no), frame.start)
    case (.castOtherwise(let type), .symbol(.closeParenthesis)):
      try reduce(to: .min)
      try closeCast(type, otherwise: try takeValue())
    case (.functionArguments(let selector), .symbol(.closeParenthesis)):
      try appendValue()
      try closeInvocation(selector)
    default:
      throw expectedOperator()
    }
  }

  /// Makes the call of the topmost frame the operand, at its closing parenthesis.
  mutating func closeCall() throws(FormatError) {
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
