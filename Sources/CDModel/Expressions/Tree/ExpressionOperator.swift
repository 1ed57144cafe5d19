/// An operator between two values. The raw value is its canonical text.
package enum ExpressionOperator: String, Hashable, Sendable, CaseIterable {
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

  /// Consecutive operators of the same precedence are applied from left to right.
  var precedence: Precedence {
    switch self {
    case .union, .intersect, .minus: .sets
    case .bitwiseOr: .bitwiseOr
    case .bitwiseXor: .bitwiseXor
    case .bitwiseAnd: .bitwiseAnd
    case .shiftLeft, .shiftRight: .shift
    case .add, .subtract: .addition
    case .multiply, .divide: .multiplication
    case .power: .power
    }
  }
}

/// The order in which operators are applied: those of a higher precedence first. The lowest is declared first.
enum Precedence: Int, Comparable {
  case or, and, not
  /// ANY, ALL, NONE and SOME before a comparison.
  case quantifier
  case comparison, assignment, coalescing
  /// UNION, INTERSECT and MINUS.
  case sets
  case bitwiseOr, bitwiseXor, bitwiseAnd, shift, addition, multiplication, power
  /// The signs before an operand.
  case prefix

  static func < (left: Precedence, right: Precedence) -> Bool { left.rawValue < right.rawValue }
}

/// An operator and its right operand.
package struct OperationTerm: Hashable, Sendable {
  /// The operator.
  package var `operator`: ExpressionOperator
  /// The right operand.
  package var operand: ValueExpression

  /// Creates a term from an operator and its right operand.
  package init(_ expressionOperator: ExpressionOperator, _ operand: ValueExpression) {
    self.operator = expressionOperator
    self.operand = operand
  }
}
