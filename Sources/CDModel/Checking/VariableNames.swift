/// The variables of an expression that its caller must give values for.
enum VariableNames {
  static func free(in predicate: FetchPredicate) -> [String] {
    var walk = VariableWalk()
    walk.visit(predicate)
    return walk.names
  }

  static func free(in expression: ValueExpression) -> [String] {
    var walk = VariableWalk()
    walk.visit(expression)
    return walk.names
  }
}

extension FetchPredicate {
  /// The names of the variables that need values, in the order of their first appearance. Variables that SUBQUERY or an
  /// assignment binds are not among them.
  public var variableNames: [String] { VariableNames.free(in: self) }
}

extension ValueExpression {
  /// The names of the variables that need values. See ``FetchPredicate/variableNames``.
  public var variableNames: [String] { VariableNames.free(in: self) }
}

/// Collects variables in the order of the text.
private struct VariableWalk {
  var names: [String] = []
  private var seen: Set<String> = []
  /// The names that the expression itself binds, each with the number of nested bindings.
  private var bound: [String: Int] = [:]

  mutating func visit(_ predicate: FetchPredicate) {
    predicate.forEachPart { visit($0) }
  }

  mutating func visit(_ value: ValueExpression) {
    switch value.kind {
    case .variable(let name): use(name)
    case .path(let base, let steps):
      visit(base)
      for step in steps {
        if case .index(let index) = step { visit(index) }
        if case .variable(let name) = step { use(name) }
      }
    case .subquery(let collection, let variable, let condition):
      visit(collection)
      bound[variable, default: 0] += 1
      visit(condition)
      bound[variable, default: 0] -= 1
    case .assignment(let variable, let assigned):
      visit(assigned)
      bound[variable, default: 0] += 1
    default: value.forEachPart { visit($0) }
    }
  }

  private mutating func visit(_ part: ExpressionPart) {
    switch part {
    case .value(let value): visit(value)
    case .predicate(let predicate): visit(predicate)
    }
  }

  private mutating func use(_ name: String) {
    if bound[name, default: 0] == 0, seen.insert(name).inserted { names.append(name) }
  }
}
