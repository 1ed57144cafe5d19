extension CheckerSession {
  @inline(never)
  mutating func checkFunction(_ expression: ValueExpression, expecting expected: ExpressionType?)
    -> CheckedValue
  {
    guard case .function(let function, let arguments) = expression.kind else { return unknown(expression) }
    guard hasArity(function, arguments.count, expression.span) else {
      _ = checkAll(arguments)
      return unknown(expression)
    }
    let hint = argumentType(of: function, expected)
    var values: [CheckedValue] = []
    for argument in arguments {
      let isFirst = values.isEmpty || function != .objectFromWithIndex
      values.append(check(argument, expecting: isFirst ? hint ?? values.first?.type : nil))
    }
    return combinedFunction(function, &values, expression)
  }

  private mutating func combinedFunction(
    _ function: ExpressionFunction, _ values: inout [CheckedValue], _ expression: ValueExpression
  ) -> CheckedValue {
    let (type, isOptional) = result(of: function, &values, expression)
    return rebuilt(expression, values, type: type, isOptional: isOptional) { .function(function, $0) }
  }

  private mutating func hasArity(_ function: ExpressionFunction, _ count: Int, _ span: SourceSpan?) -> Bool {
    let (minimum, maximum) = function.arity
    if count >= minimum, count <= maximum ?? .max { return true }
    let wanted =
      switch (minimum, maximum) {
      case (0, _): "no arguments"
      case (1, nil): "at least one argument"
      case (1, _): "one argument"
      default: "\(minimum) arguments"
      }
    error(span, "\(function.rawValue) takes \(wanted), not \(count)")
    return false
  }

  /// What a variable is that stands as an argument.
  private func argumentType(of function: ExpressionFunction, _ expected: ExpressionType?) -> ExpressionType? {
    switch function {
    case .uppercase, .lowercase, .length, .canonical: .string
    case .sqrt, .log, .ln, .exp: .double
    case .randomn, .onesComplement, .bitwiseAndWith, .bitwiseOrWith, .bitwiseXorWith, .leftshiftBy,
      .rightshiftBy:
      .int64
    case .noindex, .abs, .floor, .ceiling, .trunc: expected
    default: nil
    }
  }

  private mutating func result(
    of function: ExpressionFunction, _ values: inout [CheckedValue], _ expression: ValueExpression
  ) -> (ExpressionType, isOptional: Bool) {
    let word = function.rawValue
    let isOptional = values.contains { $0.isOptional }
    switch function {
    case .now: return (.date, false)
    case .uuid: return (.attribute(.uuid), false)
    case .random: return (.double, false)
    case .count: return (.int64, requireCollection(values, word))
    case .sum, .min, .max, .average, .median, .mode, .stddev: return aggregate(function, &values)
    case .addTo, .fromSubtract, .multiplyBy, .divideBy, .modulusBy, .raiseToPower:
      requireNumber(&values[0], word)
      requireNumber(&values[1], word)
      return (calculated(values), isOptional)
    case .bitwiseAndWith, .bitwiseOrWith, .bitwiseXorWith, .leftshiftBy, .rightshiftBy:
      requireInteger(&values[0], word)
      requireInteger(&values[1], word)
      return (calculated(values), isOptional)
    case .onesComplement, .randomn:
      requireInteger(&values[0], word)
      return (function == .randomn ? .int64 : values[0].type, isOptional)
    case .sqrt, .log, .ln, .exp:
      requireNumber(&values[0], word)
      return (.double, isOptional)
    case .abs, .floor, .ceiling, .trunc:
      requireNumber(&values[0], word)
      return (values[0].type, isOptional)
    case .uppercase, .lowercase, .canonical:
      requireString(&values[0], word)
      return (.string, isOptional)
    case .length:
      requireString(&values[0], word)
      return (.int64, isOptional)
    case .noindex: return (values[0].type, isOptional)
    case .objectFromWithIndex:
      _ = requireCollection([values[0]], word)
      return (values[0].type.element ?? .unknown, true)
    }
  }

  private func calculated(_ values: [CheckedValue]) -> ExpressionType {
    guard case .attribute(let left) = values[0].type, case .attribute(let right) = values[1].type,
      let type = TypeRules.calculation(
        TypeRules.rawType(left, in: graph), isLiteral: values[0].isLiteral,
        TypeRules.rawType(right, in: graph), isLiteral: values[1].isLiteral)
    else { return .unknown }
    return .attribute(type)
  }

  /// `max({a, b})` and `max(a, b)`.
  private mutating func aggregate(_ function: ExpressionFunction, _ values: inout [CheckedValue])
    -> (ExpressionType, isOptional: Bool)
  {
    let word = function.rawValue
    var type: ExpressionType? = .unknown
    for number in values.indices {
      var value = values[number]
      if case .collection(let element) = value.type { value.type = element }
      if function == .min || function == .max {
        if !TypeRules.isOrdered(TypeRules.category(value.type, in: graph)) {
          error(value.expression.span, "\(word) has no order for \(value.type)")
          value.type = .unknown
        }
      } else {
        requireNumber(&value, word)
      }
      type = type.flatMap { TypeRules.commonType($0, value.type, in: graph) }
    }
    let common = type ?? .unknown
    switch function {
    case .min, .max: return (common, true)
    case .mode: return (.collection(of: common), false)
    default:
      return (ExpressionTypes.total(common, isSum: function == .sum, in: graph), function != .sum)
    }
  }

  /// Refuses what is one value. Always false: a count is never nil.
  @inline(never)
  private mutating func requireCollection(_ values: [CheckedValue], _ word: String) -> Bool {
    for value in values {
      switch value.type {
      case .collection, .unknown, .null, .dictionary: break
      default:
        error(
          value.expression.span, "\(word) is for many values, and '\(value.expression)' is one \(value.type)")
      }
    }
    return false
  }

  // MARK: What is no function of the language

  mutating func refuseFunction(_ expression: ValueExpression) -> CheckedValue {
    guard case .unknownFunction(let name, let arguments) = expression.kind else { return unknown(expression) }
    let names = ExpressionFunction.allCases.map(\.rawValue)
    error(
      expression.span, "there is no function '\(name)'", suggestion: closestName(to: name, in: names))
    _ = checkAll(arguments)
    return unknown(expression)
  }

  @inline(never)
  mutating func checkInvocation(_ expression: ValueExpression) -> CheckedValue {
    guard case .invocation(let target, let selector, let arguments) = expression.kind else {
      return unknown(expression)
    }
    isStorable = false
    isTotal = false
    return rebuilt(expression, checkAll([target] + arguments), type: .unknown, isOptional: true) {
      .invocation($0[0], selector: selector, Array($0.dropFirst()))
    }
  }
}
