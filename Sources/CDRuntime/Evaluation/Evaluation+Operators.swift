import CDModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension Evaluation {
  /// Operators of one precedence, from left to right.
  mutating func operation(
    _ first: ValueExpression, _ terms: [OperationTerm]
  ) throws(EvaluationError) -> EvaluationValue {
    var result = try value(first)
    var isLiteral = Self.isLiteral(first)
    for term in terms {
      var operand = try value(term.operand)
      let operandIsLiteral = Self.isLiteral(term.operand)
      if isLiteral != operandIsLiteral, let left = Number(result), let right = Number(operand) {
        if isLiteral { result = Arithmetic.literal(left, for: right).value }
        if operandIsLiteral { operand = Arithmetic.literal(right, for: left).value }
      }
      result = try Self.apply(term.operator, result, operand)
      isLiteral = isLiteral && operandIsLiteral
    }
    return result
  }

  /// Whether a number is written in the expression, so that it takes the kind of those around it.
  static func isLiteral(_ expression: ValueExpression) -> Bool {
    switch expression.kind {
    case .constant(.value(.int)), .constant(.value(.double)): true
    case .negated(let operand): isLiteral(operand)
    case .operation(let first, let terms): isLiteral(first) && terms.allSatisfy { isLiteral($0.operand) }
    default: false
    }
  }

  mutating func negated(_ value: EvaluationValue) throws(EvaluationError) -> EvaluationValue {
    if value.isNull { return .null }
    guard let number = Number(value) else { throw .wrongOperand(operation: "-", found: value.kindName) }
    return try Arithmetic.negated(number).value
  }

  /// An operator between two values. With nil there is no result: nil.
  static func apply(
    _ expressionOperator: ExpressionOperator, _ left: EvaluationValue, _ right: EvaluationValue
  ) throws(EvaluationError) -> EvaluationValue {
    let word = expressionOperator.rawValue
    switch expressionOperator {
    case .union, .intersect, .minus: return try combine(left, expressionOperator, right)
    case .shiftLeft, .shiftRight, .bitwiseAnd, .bitwiseXor, .bitwiseOr:
      if left.isNull || right.isNull { return .null }
      let first = try integer(left, word)
      let second = try integer(right, word)
      return switch expressionOperator {
      case .shiftLeft: .int(first << second)
      case .shiftRight: .int(first >> second)
      case .bitwiseAnd: .int(first & second)
      case .bitwiseXor: .int(first ^ second)
      default: .int(first | second)
      }
    case .add, .subtract, .multiply, .divide, .power:
      if left.isNull || right.isNull { return .null }
      if let result = try textOrTime(left, expressionOperator, right) { return result }
      guard let first = Number(left) else { throw .wrongOperand(operation: word, found: left.kindName) }
      guard let second = Number(right) else { throw .wrongOperand(operation: word, found: right.kindName) }
      return try Arithmetic.calculate(first, expressionOperator, second).value
    }
  }

  /// `+` of two strings; dates and seconds. Nil for other values.
  private static func textOrTime(
    _ left: EvaluationValue, _ expressionOperator: ExpressionOperator, _ right: EvaluationValue
  ) throws(EvaluationError) -> EvaluationValue? {
    switch (left, expressionOperator, right) {
    case (.value(.string(let left)), .add, .value(.string(let right))): return .string(left + right)
    case (.value(.date(let left)), .subtract, .value(.date(let right))):
      return .double(left.timeIntervalSinceReferenceDate - right.timeIntervalSinceReferenceDate)
    case (.value(.date(let date)), .add, _):
      guard let seconds = Number(right)?.double else { return nil }
      return .value(.date(date.addingTimeInterval(seconds)))
    case (.value(.date(let date)), .subtract, _):
      guard let seconds = Number(right)?.double else { return nil }
      return .value(.date(date.addingTimeInterval(-seconds)))
    case (_, .add, .value(.date(let date))):
      guard let seconds = Number(left)?.double else { return nil }
      return .value(.date(date.addingTimeInterval(seconds)))
    default: return nil
    }
  }

  /// Set words: each value once, in the order of the left side and then of the right one.
  private static func combine(
    _ left: EvaluationValue, _ expressionOperator: ExpressionOperator, _ right: EvaluationValue
  ) throws(EvaluationError) -> EvaluationValue {
    let word = expressionOperator.rawValue
    let first = try elements(of: left, for: word)
    let second = try elements(of: right, for: word)
    func isInSecond(_ value: EvaluationValue) -> Bool { second.contains { Equality.areEqual($0, value) } }
    switch expressionOperator {
    case .union: return .collection(Aggregation.distinct(first + second))
    case .intersect: return .collection(Aggregation.distinct(first.filter(isInSecond)))
    default: return .collection(Aggregation.distinct(first.filter { !isInSecond($0) }))
    }
  }

  static func integer(_ value: EvaluationValue, _ word: String) throws(EvaluationError) -> Int64 {
    guard case .int(let number) = Number(value) else {
      throw .wrongOperand(operation: word, found: value.kindName)
    }
    return number
  }

  func integer(_ value: EvaluationValue, _ word: String) throws(EvaluationError) -> Int64 {
    try Self.integer(value, word)
  }
}
