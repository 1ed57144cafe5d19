import CDModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

// Constants, variables and what is calculated.

extension PredicateExpressions.Value: TranslatableExpression {
  func translated(by translator: inout PredicateTranslator) throws -> TranslatedExpression {
    if let value = value as? any TranslatableConstant { return try value.translated() }
    return .value(.constant(try ExpressionConstant(translating: value)))
  }
}

extension PredicateExpressions.Variable: TranslatableExpression {
  func translated(by translator: inout PredicateTranslator) throws -> TranslatedExpression {
    .value(try translator.value(of: key))
  }
}

extension PredicateExpressions.NilLiteral: TranslatableExpression {
  func translated(by translator: inout PredicateTranslator) throws -> TranslatedExpression { .value(.null) }
}

extension PredicateExpressions.NilCoalesce: TranslatableExpression {
  func translated(by translator: inout PredicateTranslator) throws -> TranslatedExpression {
    .value(.coalesced([try translator.value(lhs), try translator.value(rhs)]))
  }
}

extension PredicateExpressions.ForcedUnwrap: TranslatableExpression {
  func translated(by translator: inout PredicateTranslator) throws -> TranslatedExpression {
    try translator.translate(inner)
  }
}

extension PredicateExpressions.OptionalFlatMap: TranslatableExpression {
  func translated(by translator: inout PredicateTranslator) throws -> TranslatedExpression {
    let value = try translator.value(wrapped)
    return try translator.binding(variable.key, to: value) { inner in
      let result = try inner.translate(transform)
      guard case .condition(let condition) = result else { return result }
      // What is asked of nothing is nil, which is neither true nor false.
      return .value(
        .ternary(
          FetchPredicate(value, .equalTo, .null), .null,
          .ternary(condition, .constant(.bool(true)), .constant(.bool(false)))))
    }
  }
}

// MARK: Numbers

extension PredicateExpressions.Arithmetic: TranslatableExpression {
  func translated(by translator: inout PredicateTranslator) throws -> TranslatedExpression {
    let operation: ExpressionOperator =
      switch op {
      case .add: .add
      case .subtract: .subtract
      case .multiply: .multiply
      @unknown default: throw PredicateTranslator.unsupported(Self.self)
      }
    return .value(.operation(try translator.value(lhs), operation, try translator.value(rhs)))
  }
}

extension PredicateExpressions.FloatDivision: TranslatableExpression {
  func translated(by translator: inout PredicateTranslator) throws -> TranslatedExpression {
    .value(.operation(try translator.value(lhs), .divide, try translator.value(rhs)))
  }
}

extension PredicateExpressions.IntDivision: TranslatableExpression {
  func translated(by translator: inout PredicateTranslator) throws -> TranslatedExpression {
    .value(.operation(try translator.value(lhs), .divide, try translator.value(rhs)))
  }
}

extension PredicateExpressions.IntRemainder: TranslatableExpression {
  func translated(by translator: inout PredicateTranslator) throws -> TranslatedExpression {
    .value(.function(.modulusBy, [try translator.value(lhs), try translator.value(rhs)]))
  }
}

extension PredicateExpressions.UnaryMinus: TranslatableExpression {
  func translated(by translator: inout PredicateTranslator) throws -> TranslatedExpression {
    let value = try translator.value(wrapped)
    switch value.kind {
    // Swift has no negative literals in a predicate, only the operator.
    case .constant(.value(.int(let number))) where number != .min: return .value(.constant(.int(-number)))
    case .constant(.value(.double(let number))): return .value(.constant(.double(-number)))
    default: return .value(.negated(value))
    }
  }
}
