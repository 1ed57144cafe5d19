/// Collects the key paths of an expression that start at its object.
package struct KeyPathWalk {
  package private(set) var paths: [[PathStep]] = []
  /// Paths to the collections of SUBQUERY. The properties that its condition reads from the elements are not collected.
  package private(set) var searched: [[PathStep]] = []

  package init() {}

  package mutating func visit(_ value: ValueExpression) {
    switch value.kind {
    case .constant, .object, .anyKey, .variable: break
    case .path(let base, let steps):
      if case .object = base.kind { paths.append(steps) } else { visit(base) }
      for step in steps { if case .index(let index) = step { visit(index) } }
    case .aggregate(let values), .coalesced(let values), .function(_, let values),
      .unknownFunction(_, let values):
      for value in values { visit(value) }
    case .negated(let operand), .bitwiseComplement(let operand): visit(operand)
    case .operation(let first, let terms):
      visit(first)
      for term in terms { visit(term.operand) }
    case .invocation(let target, _, let arguments):
      visit(target)
      for argument in arguments { visit(argument) }
    case .cast(let operand, _, let otherwise):
      visit(operand)
      if let otherwise { visit(otherwise) }
    case .ternary(let condition, let yes, let no):
      visit(condition)
      visit(yes)
      visit(no)
    case .subquery(let collection, _, _):
      // The paths in the condition start at the collection's elements, not at the object.
      if case .path(let base, let steps) = collection.kind, case .object = base.kind {
        searched.append(steps)
      }
      visit(collection)
    case .assignment(_, let assigned): visit(assigned)
    }
  }

  private mutating func visit(_ predicate: FetchPredicate) {
    switch predicate.kind {
    case .constant: break
    case .comparison(let comparison):
      visit(comparison.left)
      visit(comparison.right)
    case .and(let parts), .or(let parts): for part in parts { visit(part) }
    case .not(let part): visit(part)
    }
  }
}
