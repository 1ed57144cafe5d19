/// A value expression with its type.
struct CheckedValue {
  var expression: ValueExpression
  var type: ExpressionType
  var isOptional: Bool
  /// A number written as a literal, which takes the kind of number that it is used with.
  var isLiteral = false
  /// Whether `expression` is not the one that was checked.
  var isChanged = false

  init(_ expression: ValueExpression, _ type: ExpressionType, isOptional: Bool) {
    self.expression = expression
    self.type = type
    self.isOptional = isOptional
  }
}

/// What is known of a variable.
struct VariableState: Equatable {
  var type: ExpressionType
  var isOptional: Bool
}

/// One run over an expression.
struct CheckerSession {
  let graph: EntityGraph
  let entity: String
  let fetchSource: String?

  var diagnostics: [ExpressionDiagnostic] = []
  /// The caller's variables that have a type by now.
  var variables: [String: VariableState] = [:]
  /// Variables that the expression itself gives values to.
  var scope: [String: ExpressionType] = [:]
  /// Whether a variable was used where nothing gave it a type, so that another run may know more.
  var hasOpenUse = false
  var isStorable = true
  var isTotal = true
  var partialConversions: [SourceSpan?] = []

  init(graph: EntityGraph, entity: String, fetchSource: String?) {
    self.graph = graph
    self.entity = entity
    self.fetchSource = fetchSource
  }

  /// Forgets all but the types of variables.
  mutating func restart() {
    let known = variables
    self = CheckerSession(graph: graph, entity: entity, fetchSource: fetchSource)
    variables = known
    // Whether nil makes sense is found anew.
    for name in known.keys { variables[name]?.isOptional = true }
  }

  // MARK: Diagnostics

  @inline(never)
  mutating func error(
    _ span: SourceSpan?, _ message: String, suggestion: @autoclosure () -> String? = nil
  ) {
    // Comparing names takes time, and nobody reads a hundred suggestions.
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

  /// The variables as parameters, in the order of their appearance.
  mutating func parameters(of names: [String], isTemplate: Bool) -> [CheckedVariable] {
    diagnostics.sort { ($0.span?.lowerBound ?? 0) < ($1.span?.lowerBound ?? 0) }
    return names.compactMap { name in
      if name == "FETCH_SOURCE", fetchSource != nil { return nil }
      let state = variables[name]
      if isTemplate, state == nil, !diagnostics.contains(where: { $0.severity == .error }) {
        error(nil, "nothing says what type $\(name) has: compare it with a property, or write a CAST of it")
      }
      return CheckedVariable(name: name, type: state?.type ?? .unknown, isOptional: state?.isOptional ?? true)
    }
  }

  /// A use of a variable where a value of some type is wanted.
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
      if variables[name] == nil { hasOpenUse = true }
      variables[name]?.isOptional = false
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
  /// Whether the variables' types are the same, whatever is known of nil.
  func hasSameTypes(as other: [String: VariableState]) -> Bool {
    count == other.count && allSatisfy { other[$0.key]?.type == $0.value.type }
  }
}
