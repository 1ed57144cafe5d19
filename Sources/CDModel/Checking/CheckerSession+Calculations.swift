extension CheckerSession {
  /// `-x` and `~x`.
  @inline(never)
  mutating func checkSign(_ expression: ValueExpression, expecting expected: ExpressionType?) -> CheckedValue
  {
    switch expression.kind {
    case .negated(let operand):
      return combinedSign(check(operand, expecting: expected), isComplement: false, expression)
    case .bitwiseComplement(let operand):
      return combinedSign(check(operand, expecting: expected), isComplement: true, expression)
    default: return unknown(expression)
    }
  }

  private mutating func combinedSign(
    _ operand: CheckedValue, isComplement: Bool, _ expression: ValueExpression
  )
    -> CheckedValue
  {
    var value = operand
    if isComplement { requireInteger(&value, "~") } else { requireNumber(&value, "-") }
    var result = rebuilt(expression, [value], type: value.type, isOptional: value.isOptional) {
      isComplement ? .bitwiseComplement($0[0]) : .negated($0[0])
    }
    result.isLiteral = value.isLiteral
    return result
  }

  @inline(never)
  mutating func checkOperation(_ expression: ValueExpression, expecting expected: ExpressionType?)
    -> CheckedValue
  {
    guard case .operation(let first, let terms) = expression.kind else { return unknown(expression) }
    let operands = [first] + terms.map(\.operand)
    var parts = checkOperands(operands)
    checkVariables(operands, &parts, expecting: expected)
    return combinedOperation(parts, terms, expression)
  }

  /// Checks operands, but not yet the variables: the other operands say what those are.
  @inline(never)
  private mutating func checkOperands(_ operands: [ValueExpression]) -> [CheckedValue] {
    var parts: [CheckedValue] = []
    for operand in operands { parts.append(isFreeVariable(operand) ? unknown(operand) : check(operand)) }
    return parts
  }

  @inline(never)
  private mutating func checkVariables(
    _ operands: [ValueExpression], _ parts: inout [CheckedValue], expecting expected: ExpressionType?
  ) {
    let known = parts.first { $0.type != .unknown && $0.type != .null }?.type ?? expected
    for (number, operand) in operands.enumerated() where isFreeVariable(operand) {
      parts[number] = checkVariable(operand, expecting: known, allowsNil: false)
    }
  }

  private mutating func combinedOperation(
    _ parts: [CheckedValue], _ terms: [OperationTerm], _ expression: ValueExpression
  ) -> CheckedValue {
    guard var result = parts.first else { return unknown(expression) }
    result.isChanged = false
    for (term, part) in zip(terms, parts.dropFirst()) { combine(&result, term.operator, part) }
    var checked = rebuilt(expression, parts, type: result.type, isOptional: result.isOptional) { changed in
      .operation(
        changed[0], zip(terms, changed.dropFirst()).map { OperationTerm($0.operator, $1) })
    }
    checked.isLiteral = result.isLiteral
    return checked
  }

  private func isFreeVariable(_ expression: ValueExpression) -> Bool {
    guard case .variable(let name) = expression.kind else { return false }
    return scope[name] == nil
  }

  /// Applies an operator to what has been calculated and an operand.
  private mutating func combine(
    _ left: inout CheckedValue, _ expressionOperator: ExpressionOperator, _ right: CheckedValue
  ) {
    var right = right
    switch expressionOperator {
    case .union, .intersect, .minus: combineSets(&left, expressionOperator, right)
    case .bitwiseAnd, .bitwiseOr, .bitwiseXor, .shiftLeft, .shiftRight:
      requireInteger(&left, expressionOperator.rawValue)
      requireInteger(&right, expressionOperator.rawValue)
      calculate(&left, right)
    case .add, .subtract:
      if combineTextOrTime(&left, expressionOperator, right) { break }
      fallthrough
    case .multiply, .divide, .power:
      requireNumber(&left, expressionOperator.rawValue)
      requireNumber(&right, expressionOperator.rawValue)
      calculate(&left, right)
    }
    left.isOptional = left.isOptional || right.isOptional
  }

  private func calculate(_ left: inout CheckedValue, _ right: CheckedValue) {
    guard case .attribute(let first) = left.type, case .attribute(let second) = right.type,
      let type = TypeRules.calculation(
        TypeRules.rawType(first, in: graph), isLiteral: left.isLiteral,
        TypeRules.rawType(second, in: graph), isLiteral: right.isLiteral)
    else {
      if left.type == .null { left.type = right.type }
      if right.type == .unknown { left.type = .unknown }
      return
    }
    left.type = .attribute(type)
    left.isLiteral = left.isLiteral && right.isLiteral
  }

  /// `+` of two strings, and dates with seconds. False for numbers and for what is wrong.
  private mutating func combineTextOrTime(
    _ left: inout CheckedValue, _ expressionOperator: ExpressionOperator, _ right: CheckedValue
  ) -> Bool {
    let first = TypeRules.category(left.type, in: graph)
    let second = TypeRules.category(right.type, in: graph)
    switch (first, expressionOperator, second) {
    case (.string, .add, .string), (.string, .add, .any), (.any, .add, .string): left.type = .string
    case (.date, .subtract, .date): left.type = .double
    case (.date, _, .number), (.date, _, .any): left.type = .date
    case (.number, .add, .date), (.any, .add, .date): left.type = .date
    case (.string, .add, _), (_, .add, .string):
      error(
        right.expression.span ?? left.expression.span,
        "+ joins strings or adds numbers, and here are \(left.type) and \(right.type): write CAST(…, 'String')"
      )
      left.type = .unknown
    default: return false
    }
    left.isLiteral = false
    return true
  }

  private mutating func combineSets(
    _ left: inout CheckedValue, _ expressionOperator: ExpressionOperator, _ right: CheckedValue
  ) {
    for value in [left, right] {
      switch value.type {
      case .collection, .unknown, .null: break
      default:
        error(
          value.expression.span,
          "\(expressionOperator.rawValue) is for collections, and '\(value.expression)' is \(value.type)")
        left.type = .unknown
        return
      }
    }
    left.type = TypeRules.commonType(left.type, right.type, in: graph) ?? .collection(of: .unknown)
  }

  // MARK: Operands

  @inline(never)
  mutating func requireNumber(_ value: inout CheckedValue, _ word: String) {
    switch TypeRules.category(value.type, in: graph) {
    case .number, .any: break
    default: refuse(&value, "\(word) is for numbers")
    }
  }

  @inline(never)
  mutating func requireInteger(_ value: inout CheckedValue, _ word: String) {
    guard case .attribute(let type) = value.type, TypeRules.isInteger(TypeRules.rawType(type, in: graph))
    else {
      if value.type != .unknown, value.type != .null { refuse(&value, "\(word) is for integers") }
      return
    }
  }

  @inline(never)
  mutating func requireString(_ value: inout CheckedValue, _ word: String) {
    switch TypeRules.category(value.type, in: graph) {
    case .string, .any: break
    default: refuse(&value, "\(word) is for strings")
    }
  }

  private mutating func refuse(_ value: inout CheckedValue, _ rule: String) {
    error(value.expression.span, "\(rule), and '\(value.expression)' is \(value.type)")
    value.type = .unknown
  }
}
