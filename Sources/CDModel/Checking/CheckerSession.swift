/// A value expression with its type.
struct CheckedValue {
  var expression: ValueExpression
  var type: ExpressionType
  var isOptional: Bool
  /// Whether the value is a literal number, which takes the number type of the value that it is used with.
  var isLiteral = false
  /// Whether `expression` differs from the expression that was checked.
  var isChanged = false

  init(_ expression: ValueExpression, _ type: ExpressionType, isOptional: Bool) {
    self.expression = expression
    self.type = type
    self.isOptional = isOptional
  }
}

/// The known type of a variable.
struct VariableState: Equatable {
  var type: ExpressionType
  var isOptional: Bool
}

/// One pass of the checker over an expression.
struct CheckerSession {
  let graph: EntityGraph
  let entity: String
  let fetchSource: String?
  let translation: ExpressionChecker.KeyTranslation?

  var diagnostics: [ExpressionDiagnostic] = []
  /// The types found so far of variables that the caller must supply.
  var variables: [String: VariableState] = [:]
  /// The types of variables that the expression itself binds.
  var scope: [String: ExpressionType] = [:]
  /// Whether a variable was used before its type was known. Another pass may then know more.
  var usedUntypedVariable = false
  var isStorable = true
  var isTotal = true
  var partialConversions: [SourceSpan?] = []

  init(
    graph: EntityGraph, entity: String, fetchSource: String?, translation: ExpressionChecker.KeyTranslation?
  ) {
    self.graph = graph
    self.entity = entity
    self.fetchSource = fetchSource
    self.translation = translation
  }

  /// Resets everything except the types of variables.
  mutating func restart() {
    let known = variables
    self = CheckerSession(
      graph: graph, entity: entity, fetchSource: fetchSource, translation: translation)
    variables = known
    // Each pass determines again whether a variable may be nil.
    for name in known.keys { variables[name]?.isOptional = true }
  }

  // MARK: Diagnostics

  @inline(never)
  mutating func error(
    _ span: SourceSpan?, _ message: String, suggestion: @autoclosure () -> String? = nil
  ) {
    // Comparing names takes time, and nobody reads more than a hundred suggestions.
    let suggestion = diagnostics.count < 100 ? suggestion() : nil
    diagnostics.append(ExpressionDiagnostic(.error, span: span, message, suggestion: suggestion))
  }

  mutating func mistake(_ span: SourceSpan?, _ message: String) {
    diagnostics.append(ExpressionDiagnostic(.mistake, span: span, message))
  }

  mutating func warning(_ span: SourceSpan?, _ message: String) {
    diagnostics.append(ExpressionDiagnostic(.warning, span: span, message))
  }

  // MARK: Variables

  /// Returns the variables of the given names as parameters, in that order, and sorts the diagnostics by position.
  mutating func parameters(of names: [String], isTemplate: Bool) -> [CheckedVariable] {
    diagnostics.sort { ($0.span?.lowerBound ?? 0) < ($1.span?.lowerBound ?? 0) }
    return names.compactMap { name in
      if name == "FETCH_SOURCE", fetchSource != nil { return nil }
      let state = variables[name]
      if isTemplate, state == nil, !diagnostics.contains(where: { $0.severity == .error }) {
        error(nil, "the type of $\(name) is unknown: compare it with a property, or write a CAST of it")
      }
      return CheckedVariable(name: name, type: state?.type ?? .unknown, isOptional: state?.isOptional ?? true)
    }
  }

  /// Checks a variable that stands where a value of the expected type is needed.
  @inline(never)
  mutating func checkVariable(
    _ expression: ValueExpression, expecting expected: ExpressionType?, allowsNil: Bool
  ) -> CheckedValue {
    guard case .variable(let name) = expression.kind else { return unknown(expression) }
    if let type = scope[name] { return CheckedValue(expression, type, isOptional: false) }
    if name == "FETCH_SOURCE", let fetchSource {
      return CheckedValue(expression, .object(entity: fetchSource), isOptional: false)
    }
    guard let expected, expected != .unknown, expected != .null else {
      if variables[name] == nil { usedUntypedVariable = true }
      if !allowsNil { variables[name]?.isOptional = false }
      let state = variables[name]
      return CheckedValue(expression, state?.type ?? .unknown, isOptional: false)
    }
    guard let state = variables[name] else {
      variables[name] = VariableState(type: expected, isOptional: allowsNil)
      return CheckedValue(expression, expected, isOptional: allowsNil)
    }
    guard let type = TypeRules.commonType(state.type, expected, in: graph) else {
      error(expression.span, "$\(name) is used as \(state.type) and as \(expected)")
      return CheckedValue(expression, .unknown, isOptional: false)
    }
    variables[name] = VariableState(type: type, isOptional: state.isOptional && allowsNil)
    return CheckedValue(expression, type, isOptional: false)
  }
}

extension [String: VariableState] {
  /// Whether the variables have the same types. Ignores whether they may be nil.
  func hasSameTypes(as other: [String: VariableState]) -> Bool {
    count == other.count && allSatisfy { other[$0.key]?.type == $0.value.type }
  }
}

extension CheckerSession {
  /// Checks a predicate. Returns the changed predicate, or nil if it stays as it is.
  @inline(never)
  mutating func check(_ predicate: FetchPredicate) -> FetchPredicate? {
    switch predicate.kind {
    case .constant: return nil
    case .comparison: return checkComparison(predicate)
    case .and, .or: return checkCompound(predicate)
    case .not(let part):
      return check(part).map { FetchPredicate(kind: .not($0), span: predicate.span) }
    }
  }

  @inline(never)
  private mutating func checkCompound(_ predicate: FetchPredicate) -> FetchPredicate? {
    switch predicate.kind {
    case .and(let parts):
      return checkAll(parts).map { FetchPredicate(kind: .and($0), span: predicate.span) }
    case .or(let parts):
      return checkAll(parts).map { FetchPredicate(kind: .or($0), span: predicate.span) }
    default: return nil
    }
  }

  @inline(never)
  private mutating func checkAll(_ parts: [FetchPredicate]) -> [FetchPredicate]? {
    var changed: [FetchPredicate]?
    for (number, part) in parts.enumerated() {
      guard let new = check(part) else { continue }
      if changed == nil { changed = parts }
      changed?[number] = new
    }
    return changed
  }

  @inline(never)
  private mutating func checkComparison(_ predicate: FetchPredicate) -> FetchPredicate? {
    guard case .comparison(let comparison) = predicate.kind else { return nil }
    var (left, right) = checkSides(comparison)
    checkOperator(comparison, &left, &right, predicate.span)
    guard left.isChanged || right.isChanged else { return nil }
    var changed = comparison
    changed.left = left.expression
    changed.right = right.expression
    return FetchPredicate(kind: .comparison(changed), span: predicate.span)
  }

  // MARK: Sides

  /// Checks first the side whose type does not depend on the other. If the other side is a variable or a constant, it
  /// is then checked with that type expected.
  @inline(never)
  private mutating func checkSides(_ comparison: Comparison) -> (CheckedValue, CheckedValue) {
    if takesTypeFromOtherSide(comparison.left),
      !takesTypeFromOtherSide(comparison.right) || isString(comparison.right) || isTestForNil(comparison)
    {
      let right = check(comparison.right)
      return (checkLeft(comparison, right), right)
    }
    let left = check(comparison.left)
    let right = checkRight(comparison, left)
    // The parts of the right side may have given it a type.
    if left.type == .unknown, case .variable = comparison.left.kind {
      return (checkLeft(comparison, right), right)
    }
    return (left, right)
  }

  @inline(never)
  private mutating func checkLeft(_ comparison: Comparison, _ right: CheckedValue) -> CheckedValue {
    check(
      comparison.left, expecting: wantedLeft(comparison, right.type),
      allowsNil: comparison.isEquality && right.isOptional)
  }

  @inline(never)
  private mutating func checkRight(_ comparison: Comparison, _ left: CheckedValue) -> CheckedValue {
    let wanted = wantedRight(comparison, left.type)
    let first = diagnostics.count
    let right = check(
      comparison.right, expecting: wanted, allowsNil: comparison.isEquality && left.isOptional)
    if diagnostics.count > first { adviseQuotes(comparison.right, wanted, since: first) }
    return right
  }

  /// Says in the errors about unknown keys that a text needs quotes, if a text was expected in place of the key: in
  /// `name == Bob`, for example.
  @_optimize(none)
  private mutating func adviseQuotes(
    _ right: ValueExpression, _ wanted: ExpressionType?, since first: Int
  ) {
    guard let wanted, case .attribute(let type) = wanted.element ?? wanted else { return }
    if case .enumeration = type {} else if type != .string { return }
    var values = [right]
    if case .aggregate(let elements) = right.kind { values = elements }
    for value in values {
      guard let key = value.onlyKey, graph.property(key, of: entity) == nil else { continue }
      for place in first..<diagnostics.count
      where diagnostics[place].severity == .error && diagnostics[place].span == value.span {
        let found = diagnostics[place]
        diagnostics[place] = ExpressionDiagnostic(
          found.severity, span: found.span, "\(found.message); a text is written in quotes: '\(key)'",
          suggestion: found.suggestion)
      }
    }
  }

  /// Whether an expression is a constant or a free variable, or an array of only these.
  private func takesTypeFromOtherSide(_ expression: ValueExpression) -> Bool {
    switch expression.kind {
    case .constant: return true
    case .variable(let name): return scope[name] == nil && !(name == "FETCH_SOURCE" && fetchSource != nil)
    case .aggregate(let elements): return elements.allSatisfy { takesTypeFromOtherSide($0) }
    default: return false
    }
  }

  /// Whether a value is compared with nil. A variable there may be nil, although nil gives it no type.
  private func isTestForNil(_ comparison: Comparison) -> Bool {
    guard comparison.isEquality, comparison.modifier == .direct,
      case .constant(let constant) = comparison.right.kind
    else { return false }
    return constant == .null
  }

  /// Whether an expression is a constant text.
  func isString(_ expression: ValueExpression) -> Bool {
    if case .constant(.value(.string)) = expression.kind { true } else { false }
  }
}

extension Comparison {
  /// Whether nil is equal to nil in this comparison. True for `==` and `!=`.
  fileprivate var isEquality: Bool { self.operator == .equalTo || self.operator == .notEqualTo }
}

extension CheckerSession {
  /// Checks a constant. If an enumeration is expected, the name of a case becomes the case's raw value. A text that is
  /// already the raw value of a case stays as it is, even if another case has that name.
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

  /// Returns the constant with raw values in place of case names, or nil if the constant cannot be a value of the
  /// enumeration.
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
