/// Compares expressions with a version of a model: gives every one a type and finds every mistake.
///
/// The build checks the schema's expressions with it, and the runtime those of fetches, so that both say the
/// same.
public struct ExpressionChecker: Sendable {
  /// The version that names are looked up in.
  public let graph: EntityGraph

  /// A checker for the expressions of a version.
  public init(graph: EntityGraph) {
    self.graph = graph
  }

  /// Checks a predicate.
  ///
  /// - Parameters:
  ///   - predicate: The predicate.
  ///   - entity: The entity of the objects that it is evaluated with.
  ///   - fetchSource: The entity of `$FETCH_SOURCE`, for a fetched property's predicate.
  ///   - isTemplate: Whether each variable must get a type from its uses, as those of a fetch template do,
  ///     whose parameters they become.
  public func check(
    _ predicate: FetchPredicate, on entity: String, fetchSource: String? = nil, isTemplate: Bool = false
  ) -> CheckedPredicate {
    var (session, checked) = run(on: entity, fetchSource: fetchSource, depth: predicate.depth) { session in
      session.check(predicate)
    }
    let variables = session.parameters(of: VariableNames.free(in: predicate), isTemplate: isTemplate)
    return CheckedPredicate(
      predicate: (checked ?? nil) ?? predicate, diagnostics: session.diagnostics, variables: variables,
      isStorable: session.isStorable)
  }

  /// Checks a value expression.
  ///
  /// - Parameters:
  ///   - expression: The expression.
  ///   - entity: The entity of the objects that it is evaluated with.
  ///   - expected: The type that the value must have, an attribute's for instance, or nil for any. A value
  ///     of a narrower number type fits a wider one; every other conversion is a CAST to be written.
  ///   - allowsNil: Whether nil is a value too, where a type is expected.
  ///   - isTemplate: Whether each variable must get a type from its uses.
  public func check(
    _ expression: ValueExpression, on entity: String, expecting expected: ExpressionType? = nil,
    allowsNil: Bool = true, isTemplate: Bool = false
  ) -> CheckedExpression {
    check(
      expression, on: entity, expecting: expected, allowsNil: allowsNil, isTemplate: isTemplate,
      acceptsRawValues: false)
  }

  /// - Parameter acceptsRawValues: Whether, where an enumeration is expected, any value of its raw type will
  ///   do, and not only its cases.
  package func check(
    _ expression: ValueExpression, on entity: String, expecting expected: ExpressionType?, allowsNil: Bool,
    isTemplate: Bool = false, acceptsRawValues: Bool
  ) -> CheckedExpression {
    let graph = graph
    var (session, checked) = run(on: entity, fetchSource: nil, depth: expression.depth) { session in
      var value = session.check(expression, expecting: expected)
      if var expected {
        if acceptsRawValues, value.type != expected, case .attribute(let type) = expected {
          expected = .attribute(TypeRules.rawType(type, in: graph))
        }
        session.expect(expected, allowsNil: allowsNil, of: &value)
      }
      return value
    }
    let value = checked ?? CheckedValue(expression, .unknown, isOptional: true)
    let variables = session.parameters(of: VariableNames.free(in: expression), isTemplate: isTemplate)
    return CheckedExpression(
      expression: value.expression, type: value.type, isOptional: value.isOptional,
      diagnostics: session.diagnostics, variables: variables, isTotal: session.isTotal,
      isStorable: session.isStorable, partialConversions: session.partialConversions)
  }

  /// Checks until no use of a variable teaches more about the others.
  private func run<Result>(
    on entity: String, fetchSource: String?, depth: Int, _ check: (inout CheckerSession) -> Result
  ) -> (CheckerSession, Result?) {
    var session = CheckerSession(graph: graph, entity: entity, fetchSource: fetchSource)
    guard depth <= ValueExpression.maximumDepth else {
      session.error(
        nil, "the expression is nested \(depth) levels deep, more than \(ValueExpression.maximumDepth)")
      return (session, nil)
    }
    if graph.entity(entity) == nil {
      let names = graph.version.entities.map(\.name)
      session.error(nil, "unknown entity '\(entity)'", suggestion: closestName(to: entity, in: names))
      return (session, nil)
    }
    while true {
      let known = session.variables
      let result = check(&session)
      if !session.hasOpenUse || session.variables.hasSameTypes(as: known) { return (session, result) }
      session.restart()
    }
  }
}

/// What the checker says of a predicate.
public struct CheckedPredicate: Hashable, Sendable {
  /// The predicate, with the names of enumeration cases replaced by their raw values. This is the one to
  /// evaluate.
  public let predicate: FetchPredicate
  /// All mistakes, in the order of the text.
  public let diagnostics: [ExpressionDiagnostic]
  /// The variables, in the order of their first appearance, without those of SUBQUERY and of assignments.
  public let variables: [CheckedVariable]
  /// Whether a store can evaluate it: no transient attribute and no FUNCTION.
  public let isStorable: Bool

  /// Whether it cannot be evaluated. Mistakes and warnings do not keep it from that.
  public var hasErrors: Bool { diagnostics.contains { $0.severity == .error } }
}

/// What the checker says of a value expression.
public struct CheckedExpression: Hashable, Sendable {
  /// The expression, with the names of enumeration cases replaced by their raw values.
  public let expression: ValueExpression
  /// The type of the value, `.unknown` where nothing gives one.
  public let type: ExpressionType
  /// Whether the value may be nil.
  public let isOptional: Bool
  /// All mistakes, in the order of the text.
  public let diagnostics: [ExpressionDiagnostic]
  /// The variables, in the order of their first appearance.
  public let variables: [CheckedVariable]
  /// Whether it has a value for every object: no CAST that may fail without an `else`, and no FUNCTION.
  public let isTotal: Bool
  /// Whether a store can evaluate it: no transient attribute and no FUNCTION.
  public let isStorable: Bool
  /// The CASTs that may fail and do not say what the value then is.
  package let partialConversions: [SourceSpan?]

  /// Whether it cannot be evaluated.
  public var hasErrors: Bool { diagnostics.contains { $0.severity == .error } }
}

/// A variable of an expression, with what its uses say of it.
public struct CheckedVariable: Hashable, Sendable {
  /// The name, without `$`.
  public let name: String
  /// The type, `.unknown` where no use gives one.
  public let type: ExpressionType
  /// Whether nil makes sense for it: it is only ever tested for equality with values that may be nil.
  public let isOptional: Bool

  /// A variable as given.
  public init(name: String, type: ExpressionType, isOptional: Bool) {
    self.name = name
    self.type = type
    self.isOptional = isOptional
  }
}
