extension ValueExpression {
  /// Whether the expression has the same value each time that it is evaluated with the same objects.
  package var isRepeatable: Bool {
    switch kind {
    case .function(.now, _): return false
    case .function(let function, _) where function.isNewForEachCall: return false
    default:
      var isRepeatable = true
      forEachPart { isRepeatable = isRepeatable && $0.isRepeatable }
      return isRepeatable
    }
  }
}

extension ExpressionPart {
  fileprivate var isRepeatable: Bool {
    switch self {
    case .value(let value): return value.isRepeatable
    case .predicate(let predicate):
      var isRepeatable = true
      predicate.forEachPart { isRepeatable = isRepeatable && $0.isRepeatable }
      return isRepeatable
    }
  }
}
