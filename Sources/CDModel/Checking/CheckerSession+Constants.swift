extension CheckerSession {
  /// A constant. Where an enumeration is expected, the name of a case becomes the case's raw value; a text
  /// that is the raw value of a case is that, whatever names there are.
  @inline(never)
  mutating func checkConstant(_ expression: ValueExpression, expecting expected: ExpressionType?)
    -> CheckedValue
  {
    guard case .constant(let constant) = expression.kind else { return unknown(expression) }
    if let expected, let enumeration = enumeration(in: expected),
      let resolved = resolve(constant, enumeration, expression.span)
    {
      var result = CheckedValue(expression, expected, isOptional: false)
      if resolved != constant {
        result.expression = ValueExpression(kind: .constant(resolved), span: expression.span)
        result.isChanged = true
      }
      return result
    }
    if case .object(let reference) = constant, graph.entity(reference.entity) == nil {
      error(expression.span, "unknown entity '\(reference.entity)'")
    }
    var result = CheckedValue(expression, ConstantTypes.type(of: constant), isOptional: constant == .null)
    switch constant {
    case .value(.int), .value(.double): result.isLiteral = true
    default: break
    }
    return result
  }

  private func enumeration(in type: ExpressionType) -> EnumDescription? {
    switch type {
    case .attribute(.enumeration(let name)): graph.enumeration(name)
    case .collection(let element): enumeration(in: element)
    default: nil
    }
  }

  /// The constant with raw values; nil where it is of another kind altogether.
  private mutating func resolve(
    _ constant: ExpressionConstant, _ enumeration: EnumDescription, _ span: SourceSpan?
  ) -> ExpressionConstant? {
    switch constant {
    case .value(.string(let text)):
      if enumeration.cases.contains(where: { $0.rawValue == .string(text) }) { return constant }
      if let named = enumeration.cases.first(where: { $0.name == text }) { return .value(named.rawValue) }
      let names = enumeration.cases.map(\.name)
      error(
        span, "\(enumeration.name) has no case '\(text)'", suggestion: closestName(to: text, in: names))
      return constant
    case .value(.int(let number)) where enumeration.rawType != .string:
      if !enumeration.cases.contains(where: { $0.rawValue == .int(number) }) {
        warning(span, "\(enumeration.name) has no case with the raw value \(number)")
      }
      return constant
    case .array(let elements):
      var resolved: [ExpressionConstant] = []
      for element in elements {
        guard let value = element == .null ? element : resolve(element, enumeration, span) else { return nil }
        resolved.append(value)
      }
      return .array(resolved)
    case .set(let elements):
      var resolved: Set<ExpressionConstant> = []
      for element in elements {
        guard let value = element == .null ? element : resolve(element, enumeration, span) else { return nil }
        resolved.insert(value)
      }
      return .set(resolved)
    default: return nil
    }
  }
}
