/// Collects the key paths of an expression that start at its object.
///
/// The variable of a SUBQUERY stands for the elements of the collection, so a path that starts at the variable continues
/// the path to the collection. A path of `a ?? b` continues both.
package struct KeyPathWalk {
  /// The maximum number of paths that a part may continue. Each `??` in nested SUBQUERYs could double their number.
  private static let maximumOrigins = 64

  package private(set) var paths: [[PathStep]] = []
  /// The paths to the values of variables that the expression binds.
  private var scope: [String: [[PathStep]]] = [:]

  package init() {}

  package mutating func visit(_ value: ValueExpression) {
    switch value.kind {
    case .path(let base, let steps):
      visit(base)
      for origin in origins(of: base) { paths.append(origin + steps) }
      for case .index(let index) in steps { visit(index) }
    case .subquery(let collection, let variable, let condition):
      visit(collection)
      let outer = scope[variable]
      scope[variable] = origins(of: collection)
      condition.forEachPart { visit($0) }
      scope[variable] = outer
    case .assignment(let variable, let assigned):
      visit(assigned)
      scope[variable] = origins(of: assigned)
    default: value.forEachPart { visit($0) }
    }
  }

  package mutating func visit(_ part: ExpressionPart) {
    switch part {
    case .value(let value): visit(value)
    case .predicate(let predicate): predicate.forEachPart { visit($0) }
    }
  }

  /// The paths to the values that an expression may give: objects or their elements, for example.
  private func origins(of value: ValueExpression) -> [[PathStep]] {
    var found: [[PathStep]] = []
    switch value.kind {
    case .object: return [[]]
    case .variable(let name): return scope[name] ?? []
    case .path(let base, let steps): return origins(of: base).map { $0 + steps }
    case .subquery(let collection, _, _): return origins(of: collection)
    default:
      value.forEachPart { part in
        if case .value(let part) = part { found += origins(of: part) }
      }
    }
    return Array(found.prefix(Self.maximumOrigins))
  }
}
