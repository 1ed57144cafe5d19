/// A value or a predicate directly inside another one.
package enum ExpressionPart {
  case value(ValueExpression)
  case predicate(FetchPredicate)

  var depth: Int {
    switch self {
    case .value(let value): value.depth
    case .predicate(let predicate): predicate.depth
    }
  }
}

extension ValueExpression {
  /// Calls a function with each direct part, in the order of the text.
  package func forEachPart(_ body: (ExpressionPart) throws -> Void) rethrows {
    try Self.forEachPart(of: kind, body)
  }

  // The optimiser would make a copy of this switch for each caller and merge it with the caller's own switch.
  @inline(never) @_semantics("optimize.sil.specialize.closure.never")
  static func forEachPart(of kind: Kind, _ body: (ExpressionPart) throws -> Void) rethrows {
    switch kind {
    case .constant, .object, .anyKey, .variable: break
    case .path(let base, let steps):
      try body(.value(base))
      for case .index(let index) in steps { try body(.value(index)) }
    case .aggregate(let values), .coalesced(let values), .function(_, let values),
      .unknownFunction(_, let values):
      for value in values { try body(.value(value)) }
    case .negated(let operand), .bitwiseComplement(let operand), .assignment(_, let operand):
      try body(.value(operand))
    case .operation(let first, let terms):
      try body(.value(first))
      for term in terms { try body(.value(term.operand)) }
    case .invocation(let target, _, let arguments):
      try body(.value(target))
      for argument in arguments { try body(.value(argument)) }
    case .cast(let operand, _, let otherwise):
      try body(.value(operand))
      if let otherwise { try body(.value(otherwise)) }
    case .ternary(let condition, let yes, let no):
      try body(.predicate(condition))
      try body(.value(yes))
      try body(.value(no))
    case .subquery(let collection, _, let condition):
      try body(.value(collection))
      try body(.predicate(condition))
    }
  }
}

extension FetchPredicate {
  /// Calls a function with each direct part, in the order of the text.
  package func forEachPart(_ body: (ExpressionPart) throws -> Void) rethrows {
    try Self.forEachPart(of: kind, body)
  }

  @inline(never)
  static func forEachPart(of kind: Kind, _ body: (ExpressionPart) throws -> Void) rethrows {
    switch kind {
    case .constant: break
    case .comparison(let comparison):
      try body(.value(comparison.left))
      try body(.value(comparison.right))
    case .and(let parts), .or(let parts): for part in parts { try body(.predicate(part)) }
    case .not(let part): try body(.predicate(part))
    }
  }
}
