extension CheckerSession {
  mutating func checkNegated(
    _ operand: ValueExpression, _ expression: ValueExpression, expecting expected: ExpressionType?
  ) -> CheckedValue {
    var value = check(operand, expecting: expected)
    requireNumber(&value, "-")
    let isLiteral = value.isLiteral
    var result = rebuilt(expression, [value], type: value.type, isOptional: value.isOptional) {
      .negated($0[0])
    }
    result.isLiteral = isLiteral
    return result
  }

  mutating func checkComplement(
    _ operand: ValueExpression, _ expression: ValueExpression, expecting expected: ExpressionType?
  ) -> CheckedValue {
    var value = check(operand, expecting: expected)
    requireInteger(&value, "~")
    return rebuilt(expression, [value], type: value.type, isOptional: value.isOptional) {
      .bitwiseComplement($0[0])
    }
  }

  mutating func checkOperation(
    _ first: ValueExpression, _ terms: [OperationTerm], _ expression: ValueExpression,
    expecting expected: ExpressionType?
  ) -> CheckedValue {
    let operands = [first] + terms.map(\.operand)
    var values = [CheckedValue?](repeating: nil, count: operands.count)
    var known: ExpressionType?
    // Variables last: the other operands say what they are.
    for (number, operand) in operands.enumerated() where !isFreeVariable(operand) {
      let value = check(operand)
      if known == nil, value.type != .unknown, value.type != .null { known = value.type }
      values[number] = value
    }
    for (number, operand) in operands.enumerated() where values[number] == nil {
      values[number] = check(operand, expecting: known ?? expected)
    }
    let parts = values.compactMap(\.self)
    guard var result = parts.first else { return CheckedValue(expression, .unknown, isOptional: true) }
    result.isChanged = false
    for (term, part) in zip(terms, parts.dropFirst()) { combine(&result, term.operator, part) }
    let isLiteral = result.isLiteral
    var checked = rebuilt(expression, parts, type: result.type, isOptional: result.isOptional) { changed in
      .operation(
        changed[0], zip(terms, changed.dropFirst()).map { OperationTerm($0.operator, $1) })
    }
    checked.isLiteral = isLiteral
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

  mutating func requireNumber(_ value: inout CheckedValue, _ word: String) {
    switch TypeRules.category(value.type, in: graph) {
    case .number, .any: break
    default: refuse(&value, "\(word) is for numbers")
    }
  }

  mutating func requireInteger(_ value: inout CheckedValue, _ word: String) {
    guard case .attribute(let type) = value.type, TypeRules.isInteger(TypeRules.rawType(type, in: graph))
    else {
      if value.type != .unknown, value.type != .null { refuse(&value, "\(word) is for integers") }
      return
    }
  }

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
