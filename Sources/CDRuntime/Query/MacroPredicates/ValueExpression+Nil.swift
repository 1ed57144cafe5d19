import CDModel

extension ValueExpression {
  /// Returns an expression that is true if a condition is met, and otherwise false.
  static func truth(of condition: FetchPredicate) -> ValueExpression {
    .ternary(condition, .constant(.bool(true)), .constant(.bool(false)))
  }

  /// Returns whether the expression is always nil if the given value is nil, so that no test for nil is needed. This is
  /// so for a path of keys, which stays a simple path, so that a store can use an index. It is not so for a count,
  /// because the count of nil is 0.
  func isNil(where value: ValueExpression) -> Bool {
    if self == value { return true }
    switch kind {
    case .constant: return self == .null
    case .path(let base, let steps):
      if base.isNil(where: value) { return steps.allSatisfy(\.keepsNil) }
      guard case .path(let start, let first) = value.kind, start == base, steps.starts(with: first) else {
        return false
      }
      return steps.dropFirst(first.count).allSatisfy(\.keepsNil)
    case .negated(let operand): return operand.isNil(where: value)
    case .operation(let first, let terms):
      return first.isNil(where: value) || terms.contains { $0.operand.isNil(where: value) }
    case .function(.modulusBy, let arguments): return arguments.contains { $0.isNil(where: value) }
    case .coalesced(let choices): return choices.allSatisfy { $0.isNil(where: value) }
    case .ternary(let condition, let yes, let no):
      if case .comparison(let test) = condition.kind, test.operator == .equalTo, test.right == .null,
        test.left.isNil(where: value)
      {
        return yes.isNil(where: value)
      }
      return yes.isNil(where: value) && no.isNil(where: value)
    default: return false
    }
  }
}

extension PathStep {
  /// Whether the step leads from nil to nil.
  fileprivate var keepsNil: Bool {
    switch self {
    case .key, .itself, .first, .last: true
    case .collectionOperator, .variable, .index, .size: false
    }
  }
}
