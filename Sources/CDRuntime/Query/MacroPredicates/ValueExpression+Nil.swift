import CDModel

extension ValueExpression {
  /// YES where a condition is met, and NO where it is not.
  static func truth(of condition: FetchPredicate) -> ValueExpression {
    .ternary(condition, .constant(.bool(true)), .constant(.bool(false)))
  }

  /// Whether the expression is nil of itself where a value is, so that nobody need ask for that first. A path of
  /// keys is and stays one, for which a store has an index; a count is not, for it makes 0 of nil.
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
