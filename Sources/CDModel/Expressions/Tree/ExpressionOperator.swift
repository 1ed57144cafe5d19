/// An operator between two values. The raw value is its canonical text.
public enum ExpressionOperator: String, Hashable, Sendable, CaseIterable {
  /// The left side to the power of the right one.
  case power = "**"
  /// The product.
  case multiply = "*"
  /// The quotient. The quotient of two integers is an integer. A division by 0 has no value.
  case divide = "/"
  /// The sum of numbers, or two strings joined.
  case add = "+"
  /// The difference.
  case subtract = "-"
  /// The bits of the left integer, shifted left.
  case shiftLeft = "<<"
  /// The bits of the left integer, shifted right.
  case shiftRight = ">>"
  /// The bits that both integers have.
  case bitwiseAnd = "&"
  /// The bits that exactly one of the integers has.
  case bitwiseXor = "^"
  /// The bits that at least one of the integers has.
  case bitwiseOr = "|"
  /// The elements that are in at least one of the collections.
  case union = "UNION"
  /// The elements that are in both collections.
  case intersect = "INTERSECT"
  /// The elements of the left collection that are not in the right one.
  case minus = "MINUS"

  /// The precedence. Operators of a higher precedence are applied first, those of the same precedence from left to
  /// right.
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

/// An operator and its right operand.
public struct OperationTerm: Hashable, Sendable {
  /// The operator.
  public var `operator`: ExpressionOperator
  /// The right operand.
  public var operand: ValueExpression

  /// Creates a term from an operator and its right operand.
  public init(_ expressionOperator: ExpressionOperator, _ operand: ValueExpression) {
    self.operator = expressionOperator
    self.operand = operand
  }
}
