/// Whether an expression reads nothing but the object itself: its attributes, the fields of its composites, and
/// which object a to-one relationship leads to. Its answer for a saved object is then the same whatever is
/// unsaved in others.
///
/// What is not known to be so counts as reading more, which costs time and no correctness.
struct Reach {
  let plan: EntityPlan

  func isOwn(_ predicate: FetchPredicate) -> Bool {
    switch predicate.kind {
    case .constant: true
    case .comparison(let comparison): isOwn(comparison.left) && isOwn(comparison.right)
    case .and(let parts), .or(let parts): parts.allSatisfy { isOwn($0) }
    case .not(let part): isOwn(part)
    }
  }

  func isOwn(_ keys: [SortKey]) -> Bool {
    keys.allSatisfy { isOwn(ValueExpression.keyPath($0.keyPath)) }
  }

  private func isOwn(_ expression: ValueExpression) -> Bool {
    switch expression.kind {
    case .constant, .variable, .object: true
    case .path(let base, let steps): isObject(base) && isOwn(steps)
    case .aggregate(let parts), .coalesced(let parts): parts.allSatisfy { isOwn($0) }
    case .negated(let operand), .bitwiseComplement(let operand): isOwn(operand)
    case .operation(let first, let terms): isOwn(first) && terms.allSatisfy { isOwn($0.operand) }
    case .anyKey, .function, .unknownFunction, .invocation, .cast, .ternary, .subquery, .assignment: false
    }
  }

  private func isObject(_ base: ValueExpression) -> Bool {
    if case .object = base.kind { return true }
    return false
  }

  private func isOwn(_ steps: [PathStep]) -> Bool {
    guard case .key(let key)? = steps.first, let slot = plan.slot(key) else { return false }
    switch slot.kind {
    case .attribute, .composite: return true
    // A reference that another table holds is another object's. One to a row that may be gone is nil in memory
    // and not in the table.
    case .relationship(let relationship):
      if case .reference = relationship.storage { return steps.count == 1 && relationship.isGuaranteed }
      return false
    }
  }
}
