extension CheckerSession {
  /// Gives an expression a type.
  ///
  /// - Parameters:
  ///   - expected: What the place of the expression suggests that it is: a variable takes that type, and the
  ///     name of an enumeration's case becomes its raw value. No other expression is held to it.
  ///   - allowsNil: Whether the place would take nil, for a variable.
  mutating func check(
    _ expression: ValueExpression, expecting expected: ExpressionType? = nil, allowsNil: Bool = false
  ) -> CheckedValue {
    switch expression.kind {
    case .constant(let constant): return check(constant, expression, expecting: expected)
    case .object: return CheckedValue(expression, .object(entity: entity), isOptional: false)
    case .anyKey:
      error(expression.span, "ANYKEY is for searching files, which cdgen does not")
      return CheckedValue(expression, .unknown, isOptional: true)
    case .variable(let name):
      return checkVariable(name, expression, expecting: expected, allowsNil: allowsNil)
    case .path(let base, let steps): return checkPath(base, steps, expression)
    case .aggregate(let elements): return checkAggregate(elements, expression, expecting: expected)
    case .negated(let operand):
      return checkNegated(operand, expression, expecting: expected)
    case .bitwiseComplement(let operand):
      return checkComplement(operand, expression, expecting: expected)
    case .operation(let first, let terms):
      return checkOperation(first, terms, expression, expecting: expected)
    case .coalesced(let values): return checkCoalesced(values, expression, expecting: expected)
    case .function(let function, let arguments):
      return checkFunction(function, arguments, expression, expecting: expected)
    case .unknownFunction(let name, let arguments): return refuseFunction(name, arguments, expression)
    case .invocation(let target, let selector, let arguments):
      return checkInvocation(target, selector, arguments, expression)
    case .cast(let value, let type, let otherwise): return checkCast(value, type, otherwise, expression)
    case .ternary(let condition, let yes, let no):
      return checkTernary(condition, yes, no, expression, expecting: expected)
    case .subquery(let collection, let variable, let condition):
      return checkSubquery(collection, variable, condition, expression)
    case .assignment(let variable, let assigned):
      return checkAssignment(variable, assigned, expression, expecting: expected)
    }
  }

  /// The expression with other parts, where one of them changed.
  func rebuilt(
    _ expression: ValueExpression, _ parts: [CheckedValue], type: ExpressionType, isOptional: Bool,
    _ make: ([ValueExpression]) -> ValueExpression.Kind
  ) -> CheckedValue {
    guard parts.contains(where: \.isChanged) else {
      return CheckedValue(expression, type, isOptional: isOptional)
    }
    let changed = ValueExpression(kind: make(parts.map(\.expression)), span: expression.span)
    var result = CheckedValue(changed, type, isOptional: isOptional)
    result.isChanged = true
    return result
  }

  // MARK: Collections

  private mutating func checkAggregate(
    _ elements: [ValueExpression], _ expression: ValueExpression, expecting expected: ExpressionType?
  ) -> CheckedValue {
    var type = expected?.element ?? .unknown
    var parts: [CheckedValue] = []
    for element in elements {
      let part = check(element, expecting: type == .unknown ? nil : type)
      if type == .unknown || type == .null { type = part.type }
      parts.append(part)
    }
    // A variable that came before anything had a type.
    for (number, element) in elements.enumerated() where parts[number].type == .unknown && type != .unknown {
      if case .variable = element.kind { parts[number] = check(element, expecting: type) }
    }
    var common: ExpressionType? = .unknown
    for part in parts { common = common.flatMap { TypeRules.commonType($0, part.type, in: graph) } }
    return rebuilt(expression, parts, type: .collection(of: common ?? .unknown), isOptional: false) {
      ValueExpression.aggregate($0).kind
    }
  }

  private mutating func checkSubquery(
    _ collection: ValueExpression, _ variable: String, _ condition: FetchPredicate,
    _ expression: ValueExpression
  ) -> CheckedValue {
    let elements = check(collection)
    var element = ExpressionType.unknown
    switch elements.type {
    case .collection(let type): element = type
    case .unknown, .null: break
    default:
      error(
        collection.span, "SUBQUERY is for many values, and '\(collection)' is one \(elements.type)")
    }
    let outer = scope[variable]
    scope[variable] = element
    let checked = check(condition)
    scope[variable] = outer
    guard elements.isChanged || checked != condition else {
      return CheckedValue(expression, .collection(of: element), isOptional: false)
    }
    let changed = ValueExpression(
      kind: .subquery(elements.expression, variable: variable, checked), span: expression.span)
    var result = CheckedValue(changed, .collection(of: element), isOptional: false)
    result.isChanged = true
    return result
  }

  // MARK: Choices

  private mutating func checkCoalesced(
    _ values: [ValueExpression], _ expression: ValueExpression, expecting expected: ExpressionType?
  ) -> CheckedValue {
    var type = expected ?? .unknown
    var common: ExpressionType? = .unknown
    var parts: [CheckedValue] = []
    for value in values {
      let part = check(value, expecting: type == .unknown ? nil : type, allowsNil: value != values.last)
      if type == .unknown || type == .null { type = part.type }
      parts.append(part)
      guard let known = common else { continue }
      common = joined(known, parts.count > 1 && parts[parts.count - 2].isLiteral, part)
      if common == nil {
        error(value.span, "?? has \(known) on its left and '\(value)' (\(part.type)) on its right")
      }
    }
    let isOptional = parts.allSatisfy { $0.isOptional || $0.type == .null }
    return rebuilt(expression, parts, type: common ?? .unknown, isOptional: isOptional) { .coalesced($0) }
  }

  private mutating func checkTernary(
    _ condition: FetchPredicate, _ yes: ValueExpression, _ no: ValueExpression, _ expression: ValueExpression,
    expecting expected: ExpressionType?
  ) -> CheckedValue {
    let checked = check(condition)
    let first = check(yes, expecting: expected)
    let second = check(no, expecting: expected ?? first.type)
    let common = joined(first.type, first.isLiteral, second)
    if common == nil {
      error(expression.span, "TERNARY has \(first.type) if its condition is true and \(second.type) if not")
    }
    let isOptional =
      first.isOptional || second.isOptional || first.type == .null || second.type == .null
    guard first.isChanged || second.isChanged || checked != condition else {
      return CheckedValue(expression, common ?? .unknown, isOptional: isOptional)
    }
    let changed = ValueExpression(
      kind: .ternary(checked, first.expression, second.expression), span: expression.span)
    var result = CheckedValue(changed, common ?? .unknown, isOptional: isOptional)
    result.isChanged = true
    return result
  }

  /// The type that takes both, a literal number being as wide as it must.
  private func joined(_ type: ExpressionType, _ isLiteral: Bool, _ other: CheckedValue) -> ExpressionType? {
    if case .attribute(let left) = type, case .attribute(let right) = other.type,
      isLiteral != other.isLiteral,
      let joined = TypeRules.calculation(
        TypeRules.rawType(left, in: graph), isLiteral: isLiteral, TypeRules.rawType(right, in: graph),
        isLiteral: other.isLiteral)
    {
      return .attribute(joined)
    }
    return TypeRules.commonType(type, other.type, in: graph)
  }

  private mutating func checkAssignment(
    _ variable: String, _ assigned: ValueExpression, _ expression: ValueExpression,
    expecting expected: ExpressionType?
  ) -> CheckedValue {
    let value = check(assigned, expecting: expected)
    scope[variable] = value.type
    return rebuilt(expression, [value], type: value.type, isOptional: value.isOptional) {
      .assignment(variable: variable, $0[0])
    }
  }

  // MARK: Conversions

  private mutating func checkCast(
    _ value: ValueExpression, _ type: CastType, _ otherwise: ValueExpression?, _ expression: ValueExpression
  ) -> CheckedValue {
    let wanted: ExpressionType
    switch type {
    case .attribute(let attribute): wanted = .attribute(attribute)
    case .number: wanted = .double
    case .unknown(let name):
      let names = AttributeType.named.map(\.name)
      error(expression.span, "CAST has no type '\(name)'", suggestion: closestName(to: name, in: names))
      wanted = .unknown
    }
    // A CAST is how a variable without a comparison says its type.
    let source = check(value, expecting: wanted == .unknown ? nil : wanted, allowsNil: true)
    var parts = [source]
    var isOptional = source.isOptional || source.type == .null
    if let otherwise {
      var alternative = check(otherwise, expecting: wanted)
      let allowsNil = alternative.isOptional || alternative.type == .null
      expect(wanted, allowsNil: true, of: &alternative)
      isOptional = allowsNil
      parts.append(alternative)
    } else if !TypeRules.converts(source.type, to: wanted, in: graph) {
      isTotal = false
    }
    if !TypeRules.mayConvert(source.type, to: wanted, in: graph) {
      error(expression.span, "CAST makes no \(wanted) of '\(value)' (\(source.type))")
    }
    return rebuilt(expression, parts, type: wanted, isOptional: isOptional) {
      .cast($0[0], type, otherwise: $0.count > 1 ? $0[1] : nil)
    }
  }

  /// Holds a value to the type that its place has.
  mutating func expect(_ wanted: ExpressionType, allowsNil: Bool, of value: inout CheckedValue) {
    if value.type == .null, !allowsNil {
      return error(value.expression.span, "nil, where a value of \(wanted) is wanted")
    }
    if value.isLiteral, literal(value.expression, fits: wanted) {
      value.type = wanted
    } else if !TypeRules.fits(value.type, wanted, in: graph) {
      var remedy = ""
      if case .attribute(let attribute) = wanted,
        AttributeType.named.contains(where: { $0.type == attribute }),
        TypeRules.mayConvert(value.type, to: wanted, in: graph)
      {
        remedy = ": write CAST(…, '\(wanted)'), with a third argument for values that do not fit"
      }
      return error(
        value.expression.span, "'\(value.expression)' is \(value.type), where \(wanted) is wanted\(remedy)")
    }
    if value.isOptional, !allowsNil, value.type != .unknown {
      error(
        value.expression.span,
        "'\(value.expression)' may be nil, where a value is wanted: write ?? and a value behind it")
    }
  }

  /// Whether a literal number is one of a type.
  private func literal(_ expression: ValueExpression, fits wanted: ExpressionType) -> Bool {
    guard case .constant(.value(let value)) = expression.kind, case .attribute(let type) = wanted else {
      return false
    }
    switch (value, type) {
    case (.int(let number), .int16): return Int16(exactly: number) != nil
    case (.int(let number), .int32): return Int32(exactly: number) != nil
    case (.int, .int64), (.int, .float), (.int, .double), (.int, .decimal): return true
    case (.double, .float), (.double, .double), (.double, .decimal): return true
    default: return false
    }
  }
}
