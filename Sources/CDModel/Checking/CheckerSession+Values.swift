extension CheckerSession {
  /// Determines the type of an expression.
  ///
  /// - Parameters:
  ///   - expected: The type that the surrounding expression suggests. A variable takes this type, and the name of an
  ///     enumeration's case becomes its raw value. For other expressions, `expect` checks the type later.
  ///   - allowsNil: Whether nil would be valid here. Used for variables only.
  @inline(never)
  mutating func check(
    _ expression: ValueExpression, expecting expected: ExpressionType? = nil, allowsNil: Bool = false
  ) -> CheckedValue {
    // The cases bind no payloads, and another function checks the leaves: in a debug build, each binding would enlarge
    // the stack frame of this recursive function.
    switch expression.kind {
    case .constant, .object, .anyKey, .variable, .unknownFunction, .invocation:
      return checkLeaf(expression, expecting: expected, allowsNil: allowsNil)
    case .path: return checkPath(expression)
    case .aggregate: return checkAggregate(expression, expecting: expected)
    case .negated, .bitwiseComplement: return checkSign(expression, expecting: expected)
    case .operation: return checkOperation(expression, expecting: expected)
    case .coalesced: return checkCoalesced(expression, expecting: expected)
    case .function: return checkFunction(expression, expecting: expected)
    case .cast: return checkCast(expression)
    case .ternary, .subquery, .assignment: return checkBinding(expression, expecting: expected)
    }
  }

  @inline(never)
  private mutating func checkBinding(_ expression: ValueExpression, expecting expected: ExpressionType?)
    -> CheckedValue
  {
    switch expression.kind {
    case .ternary: return checkTernary(expression, expecting: expected)
    case .subquery: return checkSubquery(expression)
    default: return checkAssignment(expression, expecting: expected)
    }
  }

  @inline(never)
  private mutating func checkLeaf(
    _ expression: ValueExpression, expecting expected: ExpressionType?, allowsNil: Bool
  ) -> CheckedValue {
    switch expression.kind {
    case .constant: return checkConstant(expression, expecting: expected)
    case .object: return CheckedValue(expression, .object(entity: entity), isOptional: false)
    case .anyKey: return refuseAnyKey(expression)
    case .variable: return checkVariable(expression, expecting: expected, allowsNil: allowsNil)
    case .unknownFunction: return refuseFunction(expression)
    default: return checkInvocation(expression)
    }
  }

  private mutating func refuseAnyKey(_ expression: ValueExpression) -> CheckedValue {
    error(expression.span, "ANYKEY searches files, which cdgen does not support")
    return unknown(expression)
  }

  func unknown(_ expression: ValueExpression) -> CheckedValue {
    CheckedValue(expression, .unknown, isOptional: true)
  }

  /// Checks the parts of an expression independently of each other.
  @inline(never)
  mutating func checkAll(_ parts: [ValueExpression], expecting expected: ExpressionType? = nil)
    -> [CheckedValue]
  {
    var checked: [CheckedValue] = []
    for part in parts { checked.append(check(part, expecting: expected)) }
    return checked
  }

  /// Returns the expression with its checked parts. Builds a new expression only if a part has changed.
  @inline(never)
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

  @inline(never)
  private mutating func checkAggregate(_ expression: ValueExpression, expecting expected: ExpressionType?)
    -> CheckedValue
  {
    guard case .aggregate(let elements) = expression.kind else { return unknown(expression) }
    let parts = checkElements(elements, expecting: expected?.element ?? .unknown)
    return combinedAggregate(parts, expression)
  }

  /// Checks elements. The first known type is the type expected of the elements after it, and then also of variables
  /// before it.
  @inline(never)
  private mutating func checkElements(_ elements: [ValueExpression], expecting expected: ExpressionType)
    -> [CheckedValue]
  {
    var type = expected
    var parts: [CheckedValue] = []
    for element in elements {
      parts.append(check(element, expecting: type == .unknown ? nil : type))
      if type == .unknown || type == .null { type = parts[parts.count - 1].type }
    }
    for (number, element) in elements.enumerated() where parts[number].type == .unknown && type != .unknown {
      if case .variable = element.kind { parts[number] = check(element, expecting: type) }
    }
    return parts
  }

  private func combinedAggregate(_ parts: [CheckedValue], _ expression: ValueExpression) -> CheckedValue {
    var common: ExpressionType? = .unknown
    for part in parts { common = common.flatMap { TypeRules.commonType($0, part.type, in: graph) } }
    return rebuilt(expression, parts, type: .collection(of: common ?? .unknown), isOptional: false) {
      ValueExpression.aggregate($0).kind
    }
  }

  @inline(never)
  private mutating func checkSubquery(_ expression: ValueExpression) -> CheckedValue {
    guard case .subquery(let collection, let variable, let condition) = expression.kind else {
      return unknown(expression)
    }
    let elements = check(collection)
    let outer = scope[variable]
    scope[variable] = subqueryElement(elements)
    let checked = check(condition)
    let type = ExpressionType.collection(of: scope[variable] ?? .unknown)
    scope[variable] = outer
    var result = CheckedValue(expression, type, isOptional: false)
    if elements.isChanged || checked != nil {
      result.expression = ValueExpression(
        kind: .subquery(elements.expression, variable: variable, checked ?? condition), span: expression.span)
      result.isChanged = true
    }
    return result
  }

  private mutating func subqueryElement(_ collection: CheckedValue) -> ExpressionType {
    switch collection.type {
    case .collection(let type): return type
    case .unknown, .null: break
    default:
      error(
        collection.expression.span,
        "SUBQUERY needs a collection, but '\(collection.expression)' is a single \(collection.type)")
    }
    return .unknown
  }

  // MARK: Choices

  @inline(never)
  private mutating func checkCoalesced(_ expression: ValueExpression, expecting expected: ExpressionType?)
    -> CheckedValue
  {
    guard case .coalesced(let values) = expression.kind else { return unknown(expression) }
    var type = expected ?? .unknown
    var parts: [CheckedValue] = []
    for value in values {
      parts.append(
        check(value, expecting: type == .unknown ? nil : type, allowsNil: parts.count < values.count - 1))
      if type == .unknown || type == .null { type = parts[parts.count - 1].type }
    }
    return combinedChoice(parts, expression)
  }

  private mutating func combinedChoice(_ parts: [CheckedValue], _ expression: ValueExpression) -> CheckedValue
  {
    var common: ExpressionType? = .unknown
    for (number, part) in parts.enumerated() {
      guard let known = common else { continue }
      common = joined(known, number > 0 && parts[number - 1].isLiteral, part)
      if common == nil {
        error(
          part.expression.span,
          "?? has \(known) on its left and '\(part.expression)' (\(part.type)) on its right")
      }
    }
    let isOptional = parts.allSatisfy { $0.isOptional || $0.type == .null }
    let written = parts.map { self.written($0, as: common) }
    return rebuilt(expression, written, type: common ?? .unknown, isOptional: isOptional) { .coalesced($0) }
  }

  @inline(never)
  private mutating func checkTernary(_ expression: ValueExpression, expecting expected: ExpressionType?)
    -> CheckedValue
  {
    guard case .ternary(let condition, let yes, let no) = expression.kind else { return unknown(expression) }
    let checked = check(condition)
    let first = check(yes, expecting: expected)
    let second = check(no, expecting: expected ?? first.type)
    return combinedTernary(checked ?? condition, isChanged: checked != nil, first, second, expression)
  }

  private mutating func combinedTernary(
    _ condition: FetchPredicate, isChanged: Bool, _ first: CheckedValue, _ second: CheckedValue,
    _ expression: ValueExpression
  ) -> CheckedValue {
    let common = joined(first.type, first.isLiteral, second)
    if common == nil {
      error(
        expression.span,
        "TERNARY has \(first.type) if its condition is true, but \(second.type) if it is false")
    }
    let isOptional =
      first.isOptional || second.isOptional || first.type == .null || second.type == .null
    var result = CheckedValue(expression, common ?? .unknown, isOptional: isOptional)
    let (yes, no) = (written(first, as: common), written(second, as: common))
    if isChanged || yes.isChanged || no.isChanged {
      result.expression = ValueExpression(
        kind: .ternary(condition, yes.expression, no.expression), span: expression.span)
      result.isChanged = true
    }
    return result
  }

  /// The common type of two values. If only one of them is a literal number, it takes the other's type where it can.
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

  @inline(never)
  private mutating func checkAssignment(_ expression: ValueExpression, expecting expected: ExpressionType?)
    -> CheckedValue
  {
    guard case .assignment(let variable, let assigned) = expression.kind else { return unknown(expression) }
    let value = check(assigned, expecting: expected)
    scope[variable] = value.type
    return rebuilt(expression, [value], type: value.type, isOptional: value.isOptional) {
      .assignment(variable: variable, $0[0])
    }
  }

  // MARK: Conversions

  @inline(never)
  private mutating func checkCast(_ expression: ValueExpression) -> CheckedValue {
    guard case .cast(let value, var type, let otherwise) = expression.kind else { return unknown(expression) }
    var isNamed = false
    if case .unknown(let name) = type, let enumeration = graph.enumeration(name) {
      type = .enumeration(enumeration)
      isNamed = true
    }
    let wanted = castType(type, expression.span)
    // CAST gives a type to a variable that no comparison gives one to.
    var parts = [check(value, expecting: wanted == .unknown ? nil : wanted, allowsNil: true)]
    if let otherwise { parts.append(check(otherwise, expecting: wanted)) }
    var result = combinedCast(parts, type, to: wanted, expression)
    if isNamed, !result.isChanged {
      result.expression = ValueExpression(
        kind: .cast(value, type, otherwise: otherwise), span: expression.span)
      result.isChanged = true
    }
    return result
  }

  private mutating func castType(_ type: CastType, _ span: SourceSpan?) -> ExpressionType {
    switch type {
    case .attribute(let attribute): return .attribute(attribute)
    case .number: return .double
    case .enumeration(let enumeration): return .attribute(.enumeration(enumeration.name))
    case .unknown(let name):
      let names = AttributeType.named.map(\.name) + graph.version.enums.map(\.name)
      error(span, "CAST has no type '\(name)'", suggestion: closestName(to: name, in: names))
      return .unknown
    }
  }

  private mutating func combinedCast(
    _ parts: [CheckedValue], _ type: CastType, to wanted: ExpressionType, _ expression: ValueExpression
  ) -> CheckedValue {
    let source = parts[0]
    var parts = parts
    var isOptional = source.isOptional || source.type == .null
    if parts.count > 1 {
      var alternative = parts[1]
      isOptional = isOptional || alternative.isOptional || alternative.type == .null
      expect(wanted, allowsNil: true, of: &alternative)
      parts[1] = written(parts[1], as: wanted)
    } else if !TypeRules.converts(source.type, to: wanted, in: graph) {
      isTotal = false
      partialConversions.append(expression.span)
    }
    if !TypeRules.mayConvert(source.type, to: wanted, in: graph) {
      error(expression.span, "CAST cannot convert '\(source.expression)' (\(source.type)) to \(wanted)")
    }
    return rebuilt(expression, parts, type: wanted, isOptional: isOptional) {
      .cast($0[0], type, otherwise: $0.count > 1 ? $0[1] : nil)
    }
  }

  /// Reports a value that does not have the wanted type, and a value that may be nil where nil is not allowed.
  @inline(never)
  mutating func expect(_ wanted: ExpressionType, allowsNil: Bool, of value: inout CheckedValue) {
    if value.type == .null, !allowsNil {
      return error(value.expression.span, "nil is not allowed here; a value of type \(wanted) is needed")
    }
    if value.isLiteral, literal(value.expression, fits: wanted) {
      // A decimal column does not take a double. It takes integers, and the other columns of fractions take both.
      if wanted == .attribute(.decimal), value.type == .double { value = written(value, as: wanted) }
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
        value.expression.span, "'\(value.expression)' is \(value.type), but \(wanted) is needed\(remedy)")
    }
    if value.isOptional, !allowsNil, value.type != .unknown {
      error(
        value.expression.span,
        "'\(value.expression)' may be nil, but a value is needed: write ?? and a value after it")
    }
  }

  /// Whether a literal number is a valid value of a type.
  private func literal(_ expression: ValueExpression, fits wanted: ExpressionType) -> Bool {
    guard case .constant(.value(let value)) = expression.kind, case .attribute(let type) = wanted else {
      return false
    }
    switch (value, type) {
    case (.int, .float), (.int, .double), (.int, .decimal): return true
    case (.int(let number), _): return type.traits?.integerRange?.contains(number) ?? false
    case (.double, .float), (.double, .double), (.double, .decimal): return true
    default: return false
    }
  }
}
