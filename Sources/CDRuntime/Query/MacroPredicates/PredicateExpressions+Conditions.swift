import CDModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

// Comparisons, and operators that combine conditions.

extension PredicateExpressions.Equal: TranslatableExpression {
  func translated(by translator: inout PredicateTranslator) throws -> TranslatedExpression {
    .condition(FetchPredicate(try translator.value(lhs), .equalTo, try translator.value(rhs)))
  }
}

extension PredicateExpressions.NotEqual: TranslatableExpression {
  func translated(by translator: inout PredicateTranslator) throws -> TranslatedExpression {
    .condition(FetchPredicate(try translator.value(lhs), .notEqualTo, try translator.value(rhs)))
  }
}

extension PredicateExpressions.Comparison: TranslatableExpression {
  func translated(by translator: inout PredicateTranslator) throws -> TranslatedExpression {
    let comparison: ComparisonOperator =
      switch op {
      case .lessThan: .lessThan
      case .lessThanOrEqual: .lessThanOrEqualTo
      case .greaterThan: .greaterThan
      case .greaterThanOrEqual: .greaterThanOrEqualTo
      @unknown default: throw PredicateTranslator.unsupported(Self.self)
      }
    return .condition(FetchPredicate(try translator.value(lhs), comparison, try translator.value(rhs)))
  }
}

extension PredicateExpressions.Conjunction: TranslatableExpression {
  func translated(by translator: inout PredicateTranslator) throws -> TranslatedExpression {
    .condition(try translator.condition(lhs) && translator.condition(rhs))
  }
}

extension PredicateExpressions.Disjunction: TranslatableExpression {
  func translated(by translator: inout PredicateTranslator) throws -> TranslatedExpression {
    .condition(try translator.condition(lhs) || translator.condition(rhs))
  }
}

extension PredicateExpressions.Negation: TranslatableExpression {
  func translated(by translator: inout PredicateTranslator) throws -> TranslatedExpression {
    .condition(.not(try translator.condition(wrapped)))
  }
}

extension PredicateExpressions.Conditional: TranslatableExpression {
  func translated(by translator: inout PredicateTranslator) throws -> TranslatedExpression {
    let test = try translator.condition(test)
    if If.Output.self == Bool.self {
      let (yes, no) = (try translator.condition(trueBranch), try translator.condition(falseBranch))
      return .condition((test && yes) || (!test && no))
    }
    return .value(.ternary(test, try translator.value(trueBranch), try translator.value(falseBranch)))
  }
}
