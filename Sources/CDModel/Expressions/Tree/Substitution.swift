extension FetchPredicate {
  /// Returns the predicate with constants in place of variables. Variables without a given value stay, and so do
  /// variables that SUBQUERY or an assignment binds.
  ///
  /// - Parameter values: The constants by variable name, without sigils.
  public func substituting(_ values: [String: (any FormatArgument)?]) -> FetchPredicate {
    var substitution = Substitution(constants: values.mapValues { $0?.expressionConstant ?? .null })
    return substitution.apply(to: self) ?? self
  }
}

extension FetchPredicate {
  /// Returns the predicate with `$name` in place of every `SELF`, so that it can be the condition of a SUBQUERY.
  ///
  /// - Parameter name: A name that the predicate does not contain. A SUBQUERY in the predicate that has a variable of this
  ///   name would take the place of the object.
  public func replacingObject(withVariable name: String) -> FetchPredicate {
    var substitution = Substitution(constants: [:], object: .variable(name))
    return substitution.apply(to: self) ?? self
  }
}

extension FetchPredicate {
  /// Returns the predicate with other steps in the paths that start at `SELF`.
  ///
  /// - Parameter replacement: Returns the new steps of a path.
  package func replacingSteps(_ replacement: @escaping ([PathStep]) -> [PathStep]) -> FetchPredicate {
    var substitution = Substitution(constants: [:], replacement: replacement)
    return substitution.apply(to: self) ?? self
  }
}

extension ValueExpression {
  /// Returns the expression with constants in place of variables. See ``FetchPredicate/substituting(_:)``.
  public func substituting(_ values: [String: (any FormatArgument)?]) -> ValueExpression {
    var substitution = Substitution(constants: values.mapValues { $0?.expressionConstant ?? .null })
    return substitution.apply(to: self) ?? self
  }
}

/// Replaces variables, and what starts at `SELF`, in the order of the text. Each method returns nil if nothing changed,
/// so that unchanged parts are not copied.
private struct Substitution {
  var constants: [String: ExpressionConstant]
  /// The expression that replaces `SELF`; nil to keep `SELF`.
  var object: ValueExpression?
  /// Replaces the steps of paths that start at `SELF`; nil to keep them.
  var replacement: (([PathStep]) -> [PathStep])?

  mutating func apply(to predicate: FetchPredicate) -> FetchPredicate? {
    switch predicate.kind {
    case .constant: return nil
    case .comparison(let comparison): return apply(to: comparison, predicate.span)
    case .and(let parts):
      return replaced(parts) { $0.apply(to: $1) }
        .map { FetchPredicate(kind: .and($0), span: predicate.span) }
    case .or(let parts):
      return replaced(parts) { $0.apply(to: $1) }
        .map { FetchPredicate(kind: .or($0), span: predicate.span) }
    case .not(let part):
      return apply(to: part).map { FetchPredicate(kind: .not($0), span: predicate.span) }
    }
  }

  private mutating func apply(to comparison: Comparison, _ span: SourceSpan?) -> FetchPredicate? {
    let left = apply(to: comparison.left)
    let right = apply(to: comparison.right)
    guard left != nil || right != nil else { return nil }
    var changed = comparison
    changed.left = left ?? comparison.left
    changed.right = right ?? comparison.right
    return FetchPredicate(kind: .comparison(changed), span: span)
  }

  private mutating func replaced<Part>(_ parts: [Part], _ change: (inout Self, Part) -> Part?) -> [Part]? {
    var changed: [Part]?
    for (number, part) in parts.enumerated() {
      guard let new = change(&self, part) else { continue }
      if changed == nil { changed = parts }
      changed?[number] = new
    }
    return changed
  }

  private mutating func applyToAll(_ values: [ValueExpression]) -> [ValueExpression]? {
    replaced(values) { $0.apply(to: $1) }
  }

  mutating func apply(to value: ValueExpression) -> ValueExpression? {
    let span = value.span
    switch value.kind {
    case .constant, .anyKey: return nil
    case .object: return object
    case .variable(let name):
      return constants[name].map { ValueExpression(kind: .constant($0), span: span) }
    case .path(let base, let steps): return apply(to: base, steps, span)
    case .aggregate(let elements):
      return applyToAll(elements).map { ValueExpression.aggregate($0, span: span) }
    case .assignment(let variable, let assigned):
      let new = apply(to: assigned)
      constants[variable] = nil
      return new.map { ValueExpression(kind: .assignment(variable: variable, $0), span: span) }
    case .ternary(let condition, let yes, let no): return apply(to: condition, yes, no, span)
    case .subquery(let collection, let variable, let condition):
      return apply(to: collection, variable, condition, span)
    default: return applyToParts(of: value)
    }
  }

  /// Replaces variables in expressions whose parts are values.
  private mutating func applyToParts(of value: ValueExpression) -> ValueExpression? {
    func make(_ kind: ValueExpression.Kind) -> ValueExpression {
      ValueExpression(kind: kind, span: value.span)
    }
    switch value.kind {
    case .negated(let operand): return apply(to: operand).map { make(.negated($0)) }
    case .bitwiseComplement(let operand): return apply(to: operand).map { make(.bitwiseComplement($0)) }
    case .coalesced(let values): return applyToAll(values).map { make(.coalesced($0)) }
    case .function(let function, let arguments):
      return applyToAll(arguments).map { make(.function(function, $0)) }
    case .unknownFunction(let name, let arguments):
      return applyToAll(arguments).map { make(.unknownFunction(name, $0)) }
    case .operation(let first, let terms):
      return applyToAll([first] + terms.map(\.operand)).map { parts in
        make(
          .operation(
            parts[0], zip(terms, parts.dropFirst()).map { OperationTerm($0.operator, $1) }))
      }
    case .invocation(let target, let selector, let arguments):
      return applyToAll([target] + arguments).map {
        make(.invocation($0[0], selector: selector, Array($0.dropFirst())))
      }
    case .cast(let operand, let type, let otherwise):
      return applyToAll([operand] + (otherwise.map { [$0] } ?? [])).map {
        ValueExpression.cast($0[0], type, otherwise: $0.count > 1 ? $0[1] : nil, span: value.span)
      }
    default: return nil
    }
  }

  private mutating func apply(to base: ValueExpression, _ steps: [PathStep], _ span: SourceSpan?)
    -> ValueExpression?
  {
    let newBase = apply(to: base)
    var newSteps = replaced(steps) { $0.apply(to: $1) }
    if let replacement, case .object = base.kind { newSteps = replacement(newSteps ?? steps) }
    guard newBase != nil || newSteps != nil else { return nil }
    return ValueExpression.path(newBase ?? base, newSteps ?? steps, span: span)
  }

  private mutating func apply(to step: PathStep) -> PathStep? {
    switch step {
    case .index(let index): return apply(to: index).map(PathStep.index)
    case .variable(let name):
      if case .value(.string(let key))? = constants[name] { return .key(key) }
      return nil
    default: return nil
    }
  }

  private mutating func apply(
    to condition: FetchPredicate, _ yes: ValueExpression, _ no: ValueExpression, _ span: SourceSpan?
  ) -> ValueExpression? {
    let newCondition = apply(to: condition)
    let values = applyToAll([yes, no])
    guard newCondition != nil || values != nil else { return nil }
    return ValueExpression(
      kind: .ternary(newCondition ?? condition, values?[0] ?? yes, values?[1] ?? no), span: span)
  }

  private mutating func apply(
    to collection: ValueExpression, _ variable: String, _ condition: FetchPredicate, _ span: SourceSpan?
  ) -> ValueExpression? {
    let newCollection = apply(to: collection)
    let outer = constants.removeValue(forKey: variable)
    let newCondition = apply(to: condition)
    constants[variable] = outer
    guard newCollection != nil || newCondition != nil else { return nil }
    return ValueExpression(
      kind: .subquery(newCollection ?? collection, variable: variable, newCondition ?? condition), span: span)
  }
}
