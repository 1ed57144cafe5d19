public import CDModel

// Comparisons within a closure: `{ $0.publisher == "BookCo" }`.

/// Equal; nil is equal to nil.
public func == <Operand: QueryOperand>(operand: Operand, value: Operand.Value) -> FetchPredicate
where Operand.Value: AttributeValueConvertible {
  operand.compared(.equalTo, .constant(value.attributeValue))
}

/// Not equal; nil is not equal to any value.
public func != <Operand: QueryOperand>(operand: Operand, value: Operand.Value) -> FetchPredicate
where Operand.Value: AttributeValueConvertible {
  operand.compared(.notEqualTo, .constant(value.attributeValue))
}

/// Less; nil is not less than anything.
public func < <Operand: QueryOperand>(operand: Operand, value: Operand.Value) -> FetchPredicate
where Operand.Value: AttributeValueConvertible {
  operand.compared(.lessThan, .constant(value.attributeValue))
}

/// Less or equal; of nils, nil alone is.
public func <= <Operand: QueryOperand>(operand: Operand, value: Operand.Value) -> FetchPredicate
where Operand.Value: AttributeValueConvertible {
  operand.compared(.lessThanOrEqualTo, .constant(value.attributeValue))
}

/// Greater; nil is not greater than anything.
public func > <Operand: QueryOperand>(operand: Operand, value: Operand.Value) -> FetchPredicate
where Operand.Value: AttributeValueConvertible {
  operand.compared(.greaterThan, .constant(value.attributeValue))
}

/// Greater or equal; of nils, nil alone is.
public func >= <Operand: QueryOperand>(operand: Operand, value: Operand.Value) -> FetchPredicate
where Operand.Value: AttributeValueConvertible {
  operand.compared(.greaterThanOrEqualTo, .constant(value.attributeValue))
}

// MARK: Two operands

/// Equal; nil is equal to nil.
public func == <Operand: QueryOperand, Other: QueryOperand>(operand: Operand, other: Other) -> FetchPredicate
where
  Operand.Value: AttributeValueConvertible, Other.Value: AttributeValueConvertible,
  Operand.Value.Comparand == Other.Value.Comparand
{
  operand.compared(.equalTo, other.expression)
}

/// Not equal; nil is not equal to any value.
public func != <Operand: QueryOperand, Other: QueryOperand>(operand: Operand, other: Other) -> FetchPredicate
where
  Operand.Value: AttributeValueConvertible, Other.Value: AttributeValueConvertible,
  Operand.Value.Comparand == Other.Value.Comparand
{
  operand.compared(.notEqualTo, other.expression)
}

/// Less; nil is not less than anything.
public func < <Operand: QueryOperand, Other: QueryOperand>(operand: Operand, other: Other) -> FetchPredicate
where
  Operand.Value: AttributeValueConvertible, Other.Value: AttributeValueConvertible,
  Operand.Value.Comparand == Other.Value.Comparand
{
  operand.compared(.lessThan, other.expression)
}

/// Less or equal; of nils, nil alone is.
public func <= <Operand: QueryOperand, Other: QueryOperand>(operand: Operand, other: Other) -> FetchPredicate
where
  Operand.Value: AttributeValueConvertible, Other.Value: AttributeValueConvertible,
  Operand.Value.Comparand == Other.Value.Comparand
{
  operand.compared(.lessThanOrEqualTo, other.expression)
}

/// Greater; nil is not greater than anything.
public func > <Operand: QueryOperand, Other: QueryOperand>(operand: Operand, other: Other) -> FetchPredicate
where
  Operand.Value: AttributeValueConvertible, Other.Value: AttributeValueConvertible,
  Operand.Value.Comparand == Other.Value.Comparand
{
  operand.compared(.greaterThan, other.expression)
}

/// Greater or equal; of nils, nil alone is.
public func >= <Operand: QueryOperand, Other: QueryOperand>(operand: Operand, other: Other) -> FetchPredicate
where
  Operand.Value: AttributeValueConvertible, Other.Value: AttributeValueConvertible,
  Operand.Value.Comparand == Other.Value.Comparand
{
  operand.compared(.greaterThanOrEqualTo, other.expression)
}
