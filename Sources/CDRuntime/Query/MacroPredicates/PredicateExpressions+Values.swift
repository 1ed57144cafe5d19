import CDModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

// Constants, variables and calculations.

extension PredicateExpressions.Value: TranslatableExpression {
  func translated(by translator: inout PredicateTranslator) throws -> TranslatedExpression {
    try TranslatedExpression(translating: value)
  }
}

extension PredicateExpressions.Variable: TranslatableExpression {
  func translated(by translator: inout PredicateTranslator) throws -> TranslatedExpression {
    try translator.translation(of: key)
  }
}

extension PredicateExpressions.NilLiteral: TranslatableExpression {
  func translated(by translator: inout PredicateTranslator) throws -> TranslatedExpression { .value(.null) }
}

extension PredicateExpressions.NilCoalesce: TranslatableExpression {
  func translated(by translator: inout PredicateTranslator) throws -> TranslatedExpression {
    let first = try translator.translate(lhs)
    guard case .value(let value) = first else { return first }
    if value == .null { return try translator.translate(rhs) }
    if case .constant = value.kind { return first }
    return .value(.coalesced([value, try translator.value(rhs)]))
  }
}

extension PredicateExpressions.ForcedUnwrap: TranslatableExpression {
  func translated(by translator: inout PredicateTranslator) throws -> TranslatedExpression {
    try translator.translate(inner)
  }
}

extension PredicateExpressions.OptionalFlatMap: TranslatableExpression {
  func translated(by translator: inout PredicateTranslator) throws -> TranslatedExpression {
    let wrapped = try translator.translate(wrapped)
    // A constant that is nil gives nil, without a test at the fetch.
    if case .value(let value) = wrapped, value == .null { return wrapped }
    let result = try translator.binding(variable.key, to: wrapped) { try $0.translate(transform) }
    guard let value = wrapped.mayBeNil else { return result }
    let inner: ValueExpression
    switch result {
    case .value(let value): inner = value
    case .condition(let condition): inner = .truth(of: condition)
    case .range, .regularExpression: return result
    }
    // An expression on nil is nil. A condition on nil is then neither true nor false.
    if inner.isNil(where: value) { return .value(inner) }
    return .value(.ternary(FetchPredicate(value, .equalTo, .null), .null, inner))
  }
}

extension TranslatedExpression {
  /// The value, if it can be nil. Nil for constants and conditions.
  fileprivate var mayBeNil: ValueExpression? {
    guard case .value(let value) = self else { return nil }
    if case .constant = value.kind { return nil }
    return value
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
    // A predicate has no negative literals in Swift, only the operator.
    case .constant(.value(.int(let number))) where number != .min: return .value(.constant(.int(-number)))
    case .constant(.value(.double(let number))): return .value(.constant(.double(-number)))
    default: return .value(.negated(value))
    }
  }
}
