/// Checks expressions against a version of a model: determines the type of each expression and finds every mistake.
///
/// Generation uses it for the expressions of the schema, and the runtime for those of fetches, so both report the same
/// mistakes.
package struct ExpressionChecker: Sendable {
  /// The version that names are looked up in.
  package let graph: EntityGraph
  private let translation: KeyTranslation?

  /// Translates a key that is applied to a value of a type. Returns the name that the key has in the version, and the key
  /// that the checked expression has instead.
  package typealias KeyTranslation = @Sendable (_ key: String, ExpressionType) -> (name: String, key: String)

  /// A checker for the expressions of a version.
  ///
  /// - Parameter translation: Translates the keys of all paths; nil to keep them.
  package init(graph: EntityGraph, translation: KeyTranslation? = nil) {
    self.graph = graph
    self.translation = translation
  }

  /// Checks a predicate.
  ///
  /// - Parameters:
  ///   - predicate: The predicate.
  ///   - entity: The entity of the objects that it is evaluated with.
  ///   - fetchSource: The entity of `$FETCH_SOURCE`, for a fetched property's predicate.
  ///   - isTemplate: Whether each variable must get a type from its uses. True for a fetch template, whose variables
  ///     become parameters.
  package func check(
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
  ///   - expected: The type that the value must have, such as the type of an attribute, or nil for any type. A value of
  ///     a narrower number type fits a wider one. Every other conversion needs a CAST.
  ///   - allowsNil: Whether nil is also valid, if a type is expected.
  ///   - isTemplate: Whether each variable must get a type from its uses.
  package func check(
    _ expression: ValueExpression, on entity: String, expecting expected: ExpressionType? = nil,
    allowsNil: Bool = true, isTemplate: Bool = false
  ) -> CheckedExpression {
    check(
      expression, on: entity, expecting: expected, allowsNil: allowsNil, isTemplate: isTemplate,
      acceptsRawValues: false)
  }

  /// - Parameter acceptsRawValues: Whether any value of an enumeration's raw type is valid where the enumeration is
  ///   expected, and not only its cases.
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

  /// Repeats the check until another pass finds no more types of variables.
  private func run<Result>(
    on entity: String, fetchSource: String?, depth: Int, _ check: (inout CheckerSession) -> Result
  ) -> (CheckerSession, Result?) {
    var session = CheckerSession(
      graph: graph, entity: entity, fetchSource: fetchSource, translation: translation)
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
      if !session.usedUntypedVariable || session.variables.hasSameTypes(as: known) {
        return (session, result)
      }
      session.restart()
    }
  }
}

/// The result of checking a predicate.
package struct CheckedPredicate: Hashable, Sendable {
  /// The predicate to evaluate: names of enumeration cases are replaced by their raw values, and keys are translated.
  package let predicate: FetchPredicate
  /// All mistakes, in the order of the text.
  package let diagnostics: [ExpressionDiagnostic]
  /// The variables, in the order of their first appearance, without those of SUBQUERY and of assignments.
  package let variables: [CheckedVariable]
  /// Whether a store can evaluate the predicate: it uses no transient attribute and no FUNCTION.
  package let isStorable: Bool

  /// Whether the predicate cannot be evaluated. Mistakes and warnings do not prevent evaluation.
  package var hasErrors: Bool { diagnostics.contains { $0.severity == .error } }
}

/// The result of checking a value expression.
package struct CheckedExpression: Hashable, Sendable {
  /// The expression, with the names of enumeration cases replaced by their raw values, and with translated keys.
  package let expression: ValueExpression
  /// The type of the value; `.unknown` if the checker cannot determine it.
  package let type: ExpressionType
  /// Whether the value may be nil.
  package let isOptional: Bool
  /// All mistakes, in the order of the text.
  package let diagnostics: [ExpressionDiagnostic]
  /// The variables, in the order of their first appearance.
  package let variables: [CheckedVariable]
  /// Whether the expression has a value for every object: it uses no CAST that may fail without an `else`, and no
  /// FUNCTION.
  package let isTotal: Bool
  /// Whether a store can evaluate the expression: it uses no transient attribute and no FUNCTION.
  package let isStorable: Bool
  /// The CASTs that may fail and have no third argument for that case.
  package let partialConversions: [SourceSpan?]

  /// Whether the expression cannot be evaluated.
  package var hasErrors: Bool { diagnostics.contains { $0.severity == .error } }
}

/// A variable of an expression, with the type that its uses give it.
package struct CheckedVariable: Hashable, Sendable {
  /// The name, without `$`.
  package let name: String
  /// The type; `.unknown` if no use gives one.
  package let type: ExpressionType
  /// Whether the variable may be nil: it is only tested for equality with values that may be nil.
  package let isOptional: Bool

  /// A variable as given.
  package init(name: String, type: ExpressionType, isOptional: Bool) {
    self.name = name
    self.type = type
    self.isOptional = isOptional
  }
}
