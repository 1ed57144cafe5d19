/// Collects the key paths of an expression that start at its object.
package struct KeyPathWalk {
  package private(set) var paths: [[PathStep]] = []
  /// Paths to the collections of SUBQUERY. The properties that its condition reads from the elements are not collected.
  package private(set) var searched: [[PathStep]] = []

  package init() {}

  package mutating func visit(_ value: ValueExpression) {
    switch value.kind {
    case .path(let base, let steps):
      if case .object = base.kind { paths.append(steps) } else { visit(base) }
      for case .index(let index) in steps { visit(index) }
    case .subquery(let collection, _, _):
      // The paths in the condition start at the collection's elements, not at the object.
      if case .path(let base, let steps) = collection.kind, case .object = base.kind {
        searched.append(steps)
      }
      visit(collection)
    default: value.forEachPart { visit($0) }
    }
  }

  private mutating func visit(_ part: ExpressionPart) {
    switch part {
    case .value(let value): visit(value)
    case .predicate(let predicate): predicate.forEachPart { visit($0) }
    }
  }
}
