/// An operator between two values. The raw value is its canonical text.
public enum ExpressionOperator: String, Hashable, Sendable, CaseIterable {
  /// The left side to the power of the right one.
  case power = "**"
  /// The product.
  case multiply = "*"
  /// The quotient; of integers it is one too. A division by 0 has no value.
  case divide = "/"
  /// The sum of numbers; of two strings, one behind the other.
  case add = "+"
  /// The difference.
  case subtract = "-"
  /// The bits of an integer, moved up.
  case shiftLeft = "<<"
  /// The bits of an integer, moved down.
  case shiftRight = ">>"
  /// The bits that both integers have.
  case bitwiseAnd = "&"
  /// The bits that one of the integers has.
  case bitwiseXor = "^"
  /// The bits that one or both of the integers have.
  case bitwiseOr = "|"
  /// The elements that one or both of the collections have.
  case union = "UNION"
  /// The elements that both collections have.
  case intersect = "INTERSECT"
  /// The elements of the left collection that the right one has not.
  case minus = "MINUS"

  /// How tight the operator binds: those of a higher precedence are applied first, those of the same one
  /// from left to right.
  public var precedence: Int {
    switch self {
    case .union, .intersect, .minus: 1
    case .bitwiseOr: 2
    case .bitwiseXor: 3
    case .bitwiseAnd: 4
    case .shiftLeft, .shiftRight: 5
    case .add, .subtract: 6
    case .multiply, .divide: 7
    case .power: 8
    }
  }
}

/// An operator and what stands to its right.
public struct OperationTerm: Hashable, Sendable {
  /// What is done with what stands to the left.
  public var `operator`: ExpressionOperator
  /// What stands to the right.
  public var operand: ValueExpression

  /// An operator with its right side.
  public init(_ expressionOperator: ExpressionOperator, _ operand: ValueExpression) {
    self.operator = expressionOperator
    self.operand = operand
  }
}
