/// An operator between two values. The raw value is its canonical text.
public enum ExpressionOperator: String, Hashable, Sendable, CaseIterable {
  case power = "**"
  case multiply = "*"
  case divide = "/"
  /// The sum of numbers; of two strings, one behind the other.
  case add = "+"
  case subtract = "-"
  case shiftLeft = "<<"
  case shiftRight = ">>"
  case bitwiseAnd = "&"
  case bitwiseXor = "^"
  case bitwiseOr = "|"
  case union = "UNION"
  case intersect = "INTERSECT"
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
  public var `operator`: ExpressionOperator
  public var operand: ValueExpression

  public init(_ expressionOperator: ExpressionOperator, _ operand: ValueExpression) {
    self.operator = expressionOperator
    self.operand = operand
  }
}
