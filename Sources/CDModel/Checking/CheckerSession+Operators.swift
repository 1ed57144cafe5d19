extension CheckerSession {
  /// Reports an error or a mistake if the operator does not fit the types of its two sides.
  @inline(never)
  mutating func checkOperator(
    _ comparison: Comparison, _ left: inout CheckedValue, _ right: inout CheckedValue, _ span: SourceSpan?
  ) {
    var compared = left.type
    if comparison.modifier != .direct {
      let word = comparison.modifier == .any ? "ANY" : "ALL"
      switch left.type {
      case .collection(let element): compared = element
      case .unknown, .null: return
      default:
        return error(
          left.expression.span,
          "\(word) needs a collection, but '\(left.expression)' is a single \(left.type)")
      }
    }
    let comparisonOperator = comparison.operator
    switch comparisonOperator.form {
    case .equality: checkEquality(compared, left, right, span)
    case .order:
      checkOrder(comparisonOperator, compared, right.type, left, right, span)
    case .between: checkBetween(compared, left, right, span)
    case .membership: checkMembership(compared, left, in: right.type, right, comparisonOperator)
    case .containment: checkMembership(right.type, right, in: compared, left, comparisonOperator)
    case .part: checkSubstring(comparisonOperator, compared, left, right)
    case .pattern: checkPattern(comparisonOperator, compared, left, right)
    case .unsupported where comparisonOperator == .tokenMatches:
      error(span, "TOKENMATCHES needs a search index, which cdgen does not have: write CONTAINS or MATCHES")
    case .unsupported:
      error(
        span, "\(comparisonOperator.rawValue) needs a table of type identifiers, which cdgen does not have")
    }
  }

  private func category(_ type: ExpressionType) -> TypeRules.Category {
    TypeRules.category(type, in: graph)
  }

  /// Describes a value for a message: a short constant as its text, any other expression with its type.
  private func words(_ value: CheckedValue, _ type: ExpressionType) -> String {
    if case .constant = value.expression.kind {
      let text = value.expression.canonicalText
      return text.utf8.count <= 40 ? text : "a \(type) constant"
    }
    return "'\(value.expression)' (\(type))"
  }

  /// Reports a collection that stands where one value is needed. Returns true if it reported one.
  private mutating func refuseCollection(_ type: ExpressionType, _ value: CheckedValue, isLeft: Bool = true)
    -> Bool
  {
    guard case .collection = type else { return false }
    let remedy =
      isLeft
      ? "write ANY, ALL or NONE before it, or an operator such as @count after it"
      : "write an operator such as @count after it"
    error(
      value.expression.span,
      "'\(value.expression)' is a collection, but a comparison needs a single value: \(remedy)")
    return true
  }

  // MARK: Equality and order

  @inline(never)
  private mutating func checkEquality(
    _ compared: ExpressionType, _ left: CheckedValue, _ right: CheckedValue, _ span: SourceSpan?
  ) {
    let (first, second) = (category(compared), category(right.type))
    switch (first, second) {
    case (.collection, .collection): return
    case (.any, .any): return
    case (.codable, .any), (.any, .codable):
      if compared == .null || right.type == .null || compared == .unknown || right.type == .unknown { return }
    case (.codable, _), (_, .codable):
      let (value, type) = first == .codable ? (left, compared) : (right, right.type)
      return error(
        value.expression.span,
        "\(words(value, type)) is a codable value, which can only be compared with nil")
    default: break
    }
    if compared == .unknown || right.type == .unknown { return }
    if refuseCollection(compared, left) || refuseCollection(right.type, right, isLeft: false) { return }
    if first == .any || second == .any { return }
    var isSame = first == second
    if case (.object(let one), .object(let other)) = (compared, right.type) {
      isSame = graph.isKind(one, of: other) || graph.isKind(other, of: one)
    }
    // Composite constants carry no composite name, so any two composites may be compared.
    if case (.composite, .composite) = (first, second) { isSame = true }
    if !isSame {
      mistake(span, "\(words(left, compared)) is never equal to \(words(right, right.type))")
    }
  }

  @inline(never)
  private mutating func checkOrder(
    _ comparisonOperator: ComparisonOperator, _ compared: ExpressionType, _ other: ExpressionType,
    _ left: CheckedValue, _ right: CheckedValue, _ span: SourceSpan?
  ) {
    if compared == .unknown || other == .unknown { return }
    if refuseCollection(compared, left) || refuseCollection(other, right, isLeft: false) { return }
    let (first, second) = (category(compared), category(other))
    for (category, value, type) in [(first, left, compared), (second, right, other)]
    where !TypeRules.isOrdered(category) {
      return error(
        value.expression.span, "\(words(value, type)) has no order for \(comparisonOperator.rawValue)")
    }
    if first != second, first != .any, second != .any {
      error(
        span,
        "\(words(left, compared)) cannot be ordered against \(words(right, other))\(Self.remedy(first))")
    }
  }

  /// What a value of a category can be ordered against.
  private static func remedy(_ category: TypeRules.Category) -> String {
    switch category {
    case .number: "; compare it with a number"
    case .string: "; compare it with a text in quotes"
    case .date: "; compare it with a date"
    default: ""
    }
  }

  @inline(never)
  private mutating func checkBetween(
    _ compared: ExpressionType, _ left: CheckedValue, _ right: CheckedValue, _ span: SourceSpan?
  ) {
    switch right.expression.kind {
    case .constant(.array(let bounds)) where bounds.count != 2:
      return error(right.expression.span, "BETWEEN takes two bounds, not \(bounds.count)")
    case .aggregate(let bounds) where bounds.count != 2:
      return error(right.expression.span, "BETWEEN takes two bounds, not \(bounds.count)")
    default: break
    }
    switch right.type {
    case .collection(let bound): checkOrder(.between, compared, bound, left, right, span)
    case .unknown, .null: return
    default:
      error(
        right.expression.span,
        "BETWEEN takes an array of two bounds, but \(words(right, right.type)) is not an array"
      )
    }
  }

  // MARK: Wanted types

  /// The type that the right side should have, given the type of the left side.
  func wantedRight(_ comparison: Comparison, _ left: ExpressionType) -> ExpressionType? {
    let compared = comparison.modifier == .direct ? left : left.element ?? .unknown
    switch comparison.operator.form {
    case .equality, .order: return compared
    case .membership where isString(comparison.right): return nil
    case .between, .membership: return compared == .unknown ? nil : .collection(of: compared)
    case .containment:
      if let element = compared.element { return element }
      // A part of an enumeration's text need not be a case.
      return category(compared) == .string ? .string : compared
    case .part: return compared == .attribute(.data) ? compared : .string
    case .pattern, .unsupported: return .string
    }
  }

  /// The type that the left side should have, given the type of the right side.
  func wantedLeft(_ comparison: Comparison, _ right: ExpressionType) -> ExpressionType? {
    let compared: ExpressionType?
    switch comparison.operator.form {
    case .equality, .order: compared = right
    case .between, .membership: compared = right.element ?? (right == .string ? right : nil)
    case .containment where isString(comparison.left): compared = .string
    case .containment:
      compared =
        right == .string || right == .attribute(.data) || right == .unknown ? right : .collection(of: right)
    case .part: compared = right == .attribute(.data) ? right : .string
    case .pattern, .unsupported: compared = .string
    }
    guard let compared, comparison.modifier != .direct else { return compared }
    return .collection(of: compared)
  }

  // MARK: Membership

  @inline(never)
  private mutating func checkMembership(
    _ member: ExpressionType, _ memberValue: CheckedValue, in whole: ExpressionType,
    _ wholeValue: CheckedValue,
    _ comparisonOperator: ComparisonOperator
  ) {
    let word = comparisonOperator.rawValue
    switch whole {
    case .collection(let element):
      // A collection as a member of a collection of collections is valid, though rare. In a collection of single values
      // it is a mistake.
      if case .collection = member, !element.isCollection, element != .unknown {
        return error(
          memberValue.expression.span,
          "'\(memberValue.expression)' is a collection, but \(word) needs a single value: write ANY, ALL or NONE "
            + "before it"
        )
      }
      checkElements(member, memberValue, wholeValue, element, word)
    case .unknown, .null, .dictionary: return
    default:
      let (first, second) = (category(member), category(whole))
      if second == .string || second == .data {
        if first == second || first == .any { return }
        return mistake(
          memberValue.expression.span,
          "\(words(memberValue, member)) is never a part of \(words(wholeValue, whole))")
      }
      error(
        wholeValue.expression.span,
        "\(word) needs a collection or a string, but \(words(wholeValue, whole)) is neither")
    }
  }

  /// Reports elements that can never be equal to the member.
  @inline(never)
  private mutating func checkElements(
    _ member: ExpressionType, _ memberValue: CheckedValue, _ whole: CheckedValue, _ element: ExpressionType,
    _ word: String
  ) {
    let wanted = category(member)
    guard wanted != .any, element != member || wanted == .codable else { return }
    if wanted == .codable {
      return error(
        memberValue.expression.span,
        "\(words(memberValue, member)) is a codable value, which can only be compared with nil")
    }
    if case .constant(.array(let constants)) = whole.expression.kind {
      for constant in constants {
        let category = category(ConstantTypes.type(of: constant))
        if category != .any, category != wanted {
          mistake(whole.expression.span, "\(words(memberValue, member)) is never equal to \(constant)")
        }
      }
      return
    }
    let found = category(element)
    var isSame = found == wanted || found == .any
    if case (.object(let one), .object(let other)) = (member, element) {
      isSame = graph.isKind(one, of: other) || graph.isKind(other, of: one)
    }
    if !isSame {
      mistake(
        memberValue.expression.span,
        "\(words(memberValue, member)) is never one of \(words(whole, .collection(of: element)))")
    }
  }

  // MARK: Strings

  @inline(never)
  private mutating func checkSubstring(
    _ comparisonOperator: ComparisonOperator, _ compared: ExpressionType, _ left: CheckedValue,
    _ right: CheckedValue
  ) {
    if refuseCollection(compared, left) || refuseCollection(right.type, right, isLeft: false) { return }
    let (first, second) = (category(compared), category(right.type))
    for (category, value, type) in [(first, left, compared), (second, right, right.type)]
    where category != .string && category != .data && category != .any {
      error(
        value.expression.span,
        "\(comparisonOperator.rawValue) needs a string or data, but \(words(value, type)) is neither")
      return
    }
    if first != second, first != .any, second != .any {
      error(
        left.expression.span, "\(words(left, compared)) cannot begin or end with \(words(right, right.type))")
    }
  }

  @inline(never)
  private mutating func checkPattern(
    _ comparisonOperator: ComparisonOperator, _ compared: ExpressionType, _ left: CheckedValue,
    _ right: CheckedValue
  ) {
    if refuseCollection(compared, left) || refuseCollection(right.type, right, isLeft: false) { return }
    for (value, type) in [(left, compared), (right, right.type)] {
      let category = category(type)
      if category != .string, category != .any {
        let found = words(value, type)
        var remedy = ""
        if category == .number, case .constant = value.expression.kind {
          remedy = "; write it in quotes: '\(found)'"
        }
        error(
          value.expression.span,
          "\(comparisonOperator.rawValue) needs strings, but \(found) is not a string\(remedy)")
      }
    }
    if comparisonOperator == .matches, case .constant(.value(.string(let pattern))) = right.expression.kind,
      let problem = PatternSyntax.problem(in: pattern)
    {
      error(right.expression.span, "bad regular expression \(right.expression): \(problem)")
    }
  }
}

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
    var result = rebuilt(expression, [writtenSum(value)], type: value.type, isOptional: value.isOptional) {
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

  /// Checks the operands, but leaves out variables: `checkVariables` takes their type from the other operands.
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
    let written = parts.map { writtenSum($0) }
    var checked = rebuilt(expression, written, type: result.type, isOptional: result.isOptional) { changed in
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

  /// Combines the result so far with the next operand.
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
      if expressionOperator == .power { left.type = powerType(left.type, exponent: right) }
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

  /// The type of a power, given the type of another calculation with the same numbers. If the exponent is not a whole number
  /// from 0, only a power of Floats is not a double.
  private func powerType(_ type: ExpressionType, exponent: CheckedValue) -> ExpressionType {
    guard case .attribute(let common) = type, common != .float, case .attribute(let attribute) = exponent.type
    else { return type }
    if !TypeRules.isInteger(TypeRules.rawType(attribute, in: graph)) { return .double }
    if case .constant(.value(.int(let number))) = exponent.expression.kind, number < 0 { return .double }
    return type
  }

  /// Checks `+` of two strings, and `+` or `-` of a date and seconds. Returns false for numbers and for invalid
  /// operands.
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
        "+ joins two strings or adds two numbers, but the operands are \(left.type) and \(right.type): write "
          + "CAST(…, 'String')"
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
          "\(expressionOperator.rawValue) needs a collection, but '\(value.expression)' is \(value.type)")
        left.type = .unknown
        return
      }
    }
    left.type = TypeRules.commonType(left.type, right.type, in: graph) ?? .collection(of: .unknown)
  }

  // MARK: Operands

  @inline(never)
  private mutating func requireNumber(_ value: inout CheckedValue, _ word: String) {
    switch TypeRules.category(value.type, in: graph) {
    case .number, .any: break
    default: refuse(&value, "\(word) needs numbers")
    }
  }

  @inline(never)
  private mutating func requireInteger(_ value: inout CheckedValue, _ word: String) {
    guard case .attribute(let type) = value.type, TypeRules.isInteger(TypeRules.rawType(type, in: graph))
    else {
      if value.type != .unknown, value.type != .null { refuse(&value, "\(word) needs integers") }
      return
    }
  }

  @inline(never)
  private mutating func requireString(_ value: inout CheckedValue, _ word: String) {
    switch TypeRules.category(value.type, in: graph) {
    case .string, .any: break
    default: refuse(&value, "\(word) needs strings")
    }
  }

  private mutating func refuse(_ value: inout CheckedValue, _ rule: String) {
    error(value.expression.span, "\(rule), but '\(value.expression)' is \(value.type)")
    value.type = .unknown
  }
}

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
    let written = values.map { writtenSum($0) }
    return rebuilt(expression, written, type: type, isOptional: isOptional) { .function(function, $0) }
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

  /// The type that a variable gets when it is an argument of the function.
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
      let type = calculated(values)
      return (function == .raiseToPower ? powerType(type, exponent: values[1]) : type, isOptional)
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

  /// Checks `max({a, b})` and `max(a, b)` and returns the type of the result.
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

  /// Reports operands that are single values. Always returns false, because a count is never nil.
  @inline(never)
  private mutating func requireCollection(_ values: [CheckedValue], _ word: String) -> Bool {
    for value in values {
      switch value.type {
      case .collection, .unknown, .null, .dictionary: break
      default:
        error(
          value.expression.span,
          "\(word) needs a collection, but '\(value.expression)' is a single \(value.type)")
      }
    }
    return false
  }

  // MARK: Unknown functions

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
