extension ValueExpression {
  /// Whether the expression has the same value each time that it is evaluated with the same objects.
  package var isRepeatable: Bool {
    !ExpressionPart.value(self).callsFunction { $0 == .now || $0.isNewForEachCall }
  }

  /// Whether the expression has a random part, which is another one at each evaluation, even at the same time.
  package var isRandom: Bool { ExpressionPart.value(self).callsFunction(\.isNewForEachCall) }
}

extension FetchPredicate {
  /// Whether a part assigns a variable, which parts that are evaluated later read: `($v := age) > 3 AND $v < 8`.
  package var assignsVariables: Bool {
    ExpressionPart.predicate(self).contains {
      if case .assignment = $0.kind { true } else { false }
    }
  }

  /// Whether the predicate has a random part, so that each evaluation may select other objects.
  package var isRandom: Bool { ExpressionPart.predicate(self).callsFunction(\.isNewForEachCall) }
}

extension ExpressionPart {
  /// Whether the part is one of certain expressions, or contains one.
  fileprivate func contains(_ isIncluded: (ValueExpression) -> Bool) -> Bool {
    var isFound = false
    switch self {
    case .value(let value):
      if isIncluded(value) { return true }
      value.forEachPart { isFound = isFound || $0.contains(isIncluded) }
    case .predicate(let predicate):
      predicate.forEachPart { isFound = isFound || $0.contains(isIncluded) }
    }
    return isFound
  }

  fileprivate func callsFunction(_ isIncluded: (ExpressionFunction) -> Bool) -> Bool {
    contains {
      if case .function(let function, _) = $0.kind { isIncluded(function) } else { false }
    }
  }
}
