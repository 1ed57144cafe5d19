import CDModel

// Arithmetic within a closure: `{ $0.pages * 2 > $0.limit }`. It has the checker's rules: integers divided by
// integers give integers, a nil makes the result nil, and an overflow makes the fetch throw.

/// The sum, or of two strings the one joined to the other.
public func + <Operand: QueryOperand>(operand: Operand, value: Operand.Value) -> Calculated<Operand.Value>
where Operand.Value: AttributeValueConvertible {
  Calculated(expression: .operation(operand.expression, .add, .constant(value.attributeValue)))
}

/// The sum, or of two strings the one joined to the other.
public func + <Operand: QueryOperand, Other: QueryOperand>(
  operand: Operand, other: Other
) -> Calculated<Operand.Value>
where
  Operand.Value: AttributeValueConvertible, Other.Value: AttributeValueConvertible,
  Operand.Value.Comparand == Other.Value.Comparand
{
  Calculated(expression: .operation(operand.expression, .add, other.expression))
}

/// The difference.
public func - <Operand: QueryOperand>(operand: Operand, value: Operand.Value) -> Calculated<Operand.Value>
where Operand.Value: AttributeValueConvertible {
  Calculated(expression: .operation(operand.expression, .subtract, .constant(value.attributeValue)))
}

/// The difference.
public func - <Operand: QueryOperand, Other: QueryOperand>(
  operand: Operand, other: Other
) -> Calculated<Operand.Value>
where
  Operand.Value: AttributeValueConvertible, Other.Value: AttributeValueConvertible,
  Operand.Value.Comparand == Other.Value.Comparand
{
  Calculated(expression: .operation(operand.expression, .subtract, other.expression))
}

/// The product.
public func * <Operand: QueryOperand>(operand: Operand, value: Operand.Value) -> Calculated<Operand.Value>
where Operand.Value: AttributeValueConvertible {
  Calculated(expression: .operation(operand.expression, .multiply, .constant(value.attributeValue)))
}

/// The product.
public func * <Operand: QueryOperand, Other: QueryOperand>(
  operand: Operand, other: Other
) -> Calculated<Operand.Value>
where
  Operand.Value: AttributeValueConvertible, Other.Value: AttributeValueConvertible,
  Operand.Value.Comparand == Other.Value.Comparand
{
  Calculated(expression: .operation(operand.expression, .multiply, other.expression))
}

/// The quotient; of integers it is truncated towards 0, and a division by 0 makes the fetch throw.
public func / <Operand: QueryOperand>(operand: Operand, value: Operand.Value) -> Calculated<Operand.Value>
where Operand.Value: AttributeValueConvertible {
  Calculated(expression: .operation(operand.expression, .divide, .constant(value.attributeValue)))
}

/// The quotient; of integers it is truncated towards 0, and a division by 0 makes the fetch throw.
public func / <Operand: QueryOperand, Other: QueryOperand>(
  operand: Operand, other: Other
) -> Calculated<Operand.Value>
where
  Operand.Value: AttributeValueConvertible, Other.Value: AttributeValueConvertible,
  Operand.Value.Comparand == Other.Value.Comparand
{
  Calculated(expression: .operation(operand.expression, .divide, other.expression))
}

/// The first value, or the second where that is nil.
public func ?? <Operand: QueryOperand, Wrapped: AttributeValueConvertible>(
  operand: Operand, value: Wrapped
) -> Calculated<Wrapped> where Operand.Value == Wrapped? {
  Calculated(expression: .coalesced([operand.expression, .constant(value.attributeValue)]))
}
