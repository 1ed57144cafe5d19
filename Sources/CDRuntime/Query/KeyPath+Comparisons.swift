import CDModel

// Comparisons by key paths: `\.publisher == "BookCo"`.

/// Equal; nil is equal to nil.
public func == <Root, Operand: QueryOperand>(
  path: KeyPath<Fields<Root>, Operand>, value: Operand.Value
) -> TypedPredicate<Root> where Operand.Value: AttributeValueConvertible {
  TypedPredicate(Fields()[keyPath: path].compared(.equalTo, .constant(value.attributeValue)))
}

/// Not equal; nil is not equal to any value.
public func != <Root, Operand: QueryOperand>(
  path: KeyPath<Fields<Root>, Operand>, value: Operand.Value
) -> TypedPredicate<Root> where Operand.Value: AttributeValueConvertible {
  TypedPredicate(Fields()[keyPath: path].compared(.notEqualTo, .constant(value.attributeValue)))
}

/// Less; nil is not less than anything.
public func < <Root, Operand: QueryOperand>(
  path: KeyPath<Fields<Root>, Operand>, value: Operand.Value
) -> TypedPredicate<Root> where Operand.Value: AttributeValueConvertible {
  TypedPredicate(Fields()[keyPath: path].compared(.lessThan, .constant(value.attributeValue)))
}

/// Less or equal; of nils, nil alone is.
public func <= <Root, Operand: QueryOperand>(
  path: KeyPath<Fields<Root>, Operand>, value: Operand.Value
) -> TypedPredicate<Root> where Operand.Value: AttributeValueConvertible {
  TypedPredicate(Fields()[keyPath: path].compared(.lessThanOrEqualTo, .constant(value.attributeValue)))
}

/// Greater; nil is not greater than anything.
public func > <Root, Operand: QueryOperand>(
  path: KeyPath<Fields<Root>, Operand>, value: Operand.Value
) -> TypedPredicate<Root> where Operand.Value: AttributeValueConvertible {
  TypedPredicate(Fields()[keyPath: path].compared(.greaterThan, .constant(value.attributeValue)))
}

/// Greater or equal; of nils, nil alone is.
public func >= <Root, Operand: QueryOperand>(
  path: KeyPath<Fields<Root>, Operand>, value: Operand.Value
) -> TypedPredicate<Root> where Operand.Value: AttributeValueConvertible {
  TypedPredicate(Fields()[keyPath: path].compared(.greaterThanOrEqualTo, .constant(value.attributeValue)))
}

/// The object of a to-one relationship is this one, or there is none where it is nil.
public func == <Root, Destination>(
  path: KeyPath<Fields<Root>, ToOne<Destination>>, object: Destination?
) -> TypedPredicate<Root> {
  TypedPredicate(Fields()[keyPath: path] == object)
}

/// The object of a to-one relationship is another, or there is one where the value is nil.
public func != <Root, Destination>(
  path: KeyPath<Fields<Root>, ToOne<Destination>>, object: Destination?
) -> TypedPredicate<Root> {
  TypedPredicate(Fields()[keyPath: path] != object)
}

// MARK: Two key paths

/// Equal; nil is equal to nil.
public func == <Root, Operand: QueryOperand, Other: QueryOperand>(
  path: KeyPath<Fields<Root>, Operand>, other: KeyPath<Fields<Root>, Other>
) -> TypedPredicate<Root>
where
  Operand.Value: AttributeValueConvertible, Other.Value: AttributeValueConvertible,
  Operand.Value.Comparand == Other.Value.Comparand
{
  TypedPredicate(Fields()[keyPath: path].compared(.equalTo, Fields()[keyPath: other].expression))
}

/// Not equal; nil is not equal to any value.
public func != <Root, Operand: QueryOperand, Other: QueryOperand>(
  path: KeyPath<Fields<Root>, Operand>, other: KeyPath<Fields<Root>, Other>
) -> TypedPredicate<Root>
where
  Operand.Value: AttributeValueConvertible, Other.Value: AttributeValueConvertible,
  Operand.Value.Comparand == Other.Value.Comparand
{
  TypedPredicate(Fields()[keyPath: path].compared(.notEqualTo, Fields()[keyPath: other].expression))
}

/// Less; nil is not less than anything.
public func < <Root, Operand: QueryOperand, Other: QueryOperand>(
  path: KeyPath<Fields<Root>, Operand>, other: KeyPath<Fields<Root>, Other>
) -> TypedPredicate<Root>
where
  Operand.Value: AttributeValueConvertible, Other.Value: AttributeValueConvertible,
  Operand.Value.Comparand == Other.Value.Comparand
{
  TypedPredicate(Fields()[keyPath: path].compared(.lessThan, Fields()[keyPath: other].expression))
}

/// Less or equal; of nils, nil alone is.
public func <= <Root, Operand: QueryOperand, Other: QueryOperand>(
  path: KeyPath<Fields<Root>, Operand>, other: KeyPath<Fields<Root>, Other>
) -> TypedPredicate<Root>
where
  Operand.Value: AttributeValueConvertible, Other.Value: AttributeValueConvertible,
  Operand.Value.Comparand == Other.Value.Comparand
{
  TypedPredicate(Fields()[keyPath: path].compared(.lessThanOrEqualTo, Fields()[keyPath: other].expression))
}

/// Greater; nil is not greater than anything.
public func > <Root, Operand: QueryOperand, Other: QueryOperand>(
  path: KeyPath<Fields<Root>, Operand>, other: KeyPath<Fields<Root>, Other>
) -> TypedPredicate<Root>
where
  Operand.Value: AttributeValueConvertible, Other.Value: AttributeValueConvertible,
  Operand.Value.Comparand == Other.Value.Comparand
{
  TypedPredicate(Fields()[keyPath: path].compared(.greaterThan, Fields()[keyPath: other].expression))
}

/// Greater or equal; of nils, nil alone is.
public func >= <Root, Operand: QueryOperand, Other: QueryOperand>(
  path: KeyPath<Fields<Root>, Operand>, other: KeyPath<Fields<Root>, Other>
) -> TypedPredicate<Root>
where
  Operand.Value: AttributeValueConvertible, Other.Value: AttributeValueConvertible,
  Operand.Value.Comparand == Other.Value.Comparand
{
  TypedPredicate(Fields()[keyPath: path].compared(.greaterThanOrEqualTo, Fields()[keyPath: other].expression))
}
