extension ValueExpression {
  /// Whether the expression has the same value each time that it is evaluated with the same objects.
  package var isRepeatable: Bool { !contains { $0 == .now || $0.isNewForEachCall } }

  /// Whether the expression has a random part, which is another one at each evaluation, even at the same time.
  package var isRandom: Bool { contains(\.isNewForEachCall) }

  fileprivate func contains(_ isIncluded: (ExpressionFunction) -> Bool) -> Bool {
    if case .function(let function, _) = kind, isIncluded(function) { return true }
    var isFound = false
    forEachPart { isFound = isFound || $0.contains(isIncluded) }
    return isFound
  }
}

extension ExpressionPart {
  fileprivate func contains(_ isIncluded: (ExpressionFunction) -> Bool) -> Bool {
    switch self {
    case .value(let value): return value.contains(isIncluded)
    case .predicate(let predicate):
      var isFound = false
      predicate.forEachPart { isFound = isFound || $0.contains(isIncluded) }
      return isFound
    }
  }
}
