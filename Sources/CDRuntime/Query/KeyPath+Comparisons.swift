import CDModel

// Comparisons with key paths, such as `\.publisher == "BookCo"`.

/// Returns a condition: the values are equal. Nil equals nil.
public func == <Root, Operand: QueryOperand>(
  path: KeyPath<Keys<Root>, Operand>, value: Operand.Value
) -> TypedPredicate<Root> where Operand.Value: AttributeValueConvertible {
  TypedPredicate(Keys()[keyPath: path].compared(.equalTo, .constant(value.attributeValue)))
}

/// Returns a condition: the values are not equal. Nil differs from each value other than nil.
public func != <Root, Operand: QueryOperand>(
  path: KeyPath<Keys<Root>, Operand>, value: Operand.Value
) -> TypedPredicate<Root> where Operand.Value: AttributeValueConvertible {
  TypedPredicate(Keys()[keyPath: path].compared(.notEqualTo, .constant(value.attributeValue)))
}

/// Returns a condition: the value is equal to an optional value. If the optional value is nil, no mandatory attribute is
/// equal to it.
@_disfavoredOverload
public func == <Root, Operand: QueryOperand>(
  path: KeyPath<Keys<Root>, Operand>, value: Operand.Value?
) -> TypedPredicate<Root> where Operand.Value: AttributeValueConvertible {
  TypedPredicate(Keys()[keyPath: path].compared(.equalTo, .constant(value.attributeValue)))
}

/// Returns a condition: the value is not equal to an optional value. If the optional value is nil, each mandatory
/// attribute differs from it.
@_disfavoredOverload
public func != <Root, Operand: QueryOperand>(
  path: KeyPath<Keys<Root>, Operand>, value: Operand.Value?
) -> TypedPredicate<Root> where Operand.Value: AttributeValueConvertible {
  TypedPredicate(Keys()[keyPath: path].compared(.notEqualTo, .constant(value.attributeValue)))
}

/// Returns a condition: the first value is less. Nil is never less.
public func < <Root, Operand: QueryOperand>(
  path: KeyPath<Keys<Root>, Operand>, value: Operand.Value
) -> TypedPredicate<Root> where Operand.Value: AttributeValueConvertible {
  TypedPredicate(Keys()[keyPath: path].compared(.lessThan, .constant(value.attributeValue)))
}

/// Returns a condition: the first value is less or equal. If a value is nil, this is so only if both are nil.
public func <= <Root, Operand: QueryOperand>(
  path: KeyPath<Keys<Root>, Operand>, value: Operand.Value
) -> TypedPredicate<Root> where Operand.Value: AttributeValueConvertible {
  TypedPredicate(Keys()[keyPath: path].compared(.lessThanOrEqualTo, .constant(value.attributeValue)))
}

/// Returns a condition: the first value is greater. Nil is never greater.
public func > <Root, Operand: QueryOperand>(
  path: KeyPath<Keys<Root>, Operand>, value: Operand.Value
) -> TypedPredicate<Root> where Operand.Value: AttributeValueConvertible {
  TypedPredicate(Keys()[keyPath: path].compared(.greaterThan, .constant(value.attributeValue)))
}

/// Returns a condition: the first value is greater or equal. If a value is nil, this is so only if both are nil.
public func >= <Root, Operand: QueryOperand>(
  path: KeyPath<Keys<Root>, Operand>, value: Operand.Value
) -> TypedPredicate<Root> where Operand.Value: AttributeValueConvertible {
  TypedPredicate(Keys()[keyPath: path].compared(.greaterThanOrEqualTo, .constant(value.attributeValue)))
}

/// Returns a condition: the to-one relationship leads to this object. If the object is nil: the relationship is nil.
public func == <Root, Destination>(
  path: KeyPath<Keys<Root>, Keys<Destination>>, object: Destination?
) -> TypedPredicate<Root> {
  TypedPredicate(Keys()[keyPath: path].compared(.equalTo, to: object))
}

/// Returns a condition: the to-one relationship does not lead to this object. If the object is nil: the relationship is
/// not nil.
public func != <Root, Destination>(
  path: KeyPath<Keys<Root>, Keys<Destination>>, object: Destination?
) -> TypedPredicate<Root> {
  TypedPredicate(Keys()[keyPath: path].compared(.notEqualTo, to: object))
}

// MARK: Two key paths

/// Returns a condition: the values are equal. Nil equals nil.
public func == <Root, Operand: QueryOperand, Other: QueryOperand>(
  path: KeyPath<Keys<Root>, Operand>, other: KeyPath<Keys<Root>, Other>
) -> TypedPredicate<Root>
where
  Operand.Value: AttributeValueConvertible, Other.Value: AttributeValueConvertible,
  Operand.Value.Comparand == Other.Value.Comparand
{
  TypedPredicate(Keys()[keyPath: path].compared(.equalTo, Keys()[keyPath: other].expression))
}

/// Returns a condition: the values are not equal. Nil differs from each value other than nil.
public func != <Root, Operand: QueryOperand, Other: QueryOperand>(
  path: KeyPath<Keys<Root>, Operand>, other: KeyPath<Keys<Root>, Other>
) -> TypedPredicate<Root>
where
  Operand.Value: AttributeValueConvertible, Other.Value: AttributeValueConvertible,
  Operand.Value.Comparand == Other.Value.Comparand
{
  TypedPredicate(Keys()[keyPath: path].compared(.notEqualTo, Keys()[keyPath: other].expression))
}

/// Returns a condition: the first value is less. Nil is never less.
public func < <Root, Operand: QueryOperand, Other: QueryOperand>(
  path: KeyPath<Keys<Root>, Operand>, other: KeyPath<Keys<Root>, Other>
) -> TypedPredicate<Root>
where
  Operand.Value: AttributeValueConvertible, Other.Value: AttributeValueConvertible,
  Operand.Value.Comparand == Other.Value.Comparand
{
  TypedPredicate(Keys()[keyPath: path].compared(.lessThan, Keys()[keyPath: other].expression))
}

/// Returns a condition: the first value is less or equal. If a value is nil, this is so only if both are nil.
public func <= <Root, Operand: QueryOperand, Other: QueryOperand>(
  path: KeyPath<Keys<Root>, Operand>, other: KeyPath<Keys<Root>, Other>
) -> TypedPredicate<Root>
where
  Operand.Value: AttributeValueConvertible, Other.Value: AttributeValueConvertible,
  Operand.Value.Comparand == Other.Value.Comparand
{
  TypedPredicate(Keys()[keyPath: path].compared(.lessThanOrEqualTo, Keys()[keyPath: other].expression))
}

/// Returns a condition: the first value is greater. Nil is never greater.
public func > <Root, Operand: QueryOperand, Other: QueryOperand>(
  path: KeyPath<Keys<Root>, Operand>, other: KeyPath<Keys<Root>, Other>
) -> TypedPredicate<Root>
where
  Operand.Value: AttributeValueConvertible, Other.Value: AttributeValueConvertible,
  Operand.Value.Comparand == Other.Value.Comparand
{
  TypedPredicate(Keys()[keyPath: path].compared(.greaterThan, Keys()[keyPath: other].expression))
}

/// Returns a condition: the first value is greater or equal. If a value is nil, this is so only if both are nil.
public func >= <Root, Operand: QueryOperand, Other: QueryOperand>(
  path: KeyPath<Keys<Root>, Operand>, other: KeyPath<Keys<Root>, Other>
) -> TypedPredicate<Root>
where
  Operand.Value: AttributeValueConvertible, Other.Value: AttributeValueConvertible,
  Operand.Value.Comparand == Other.Value.Comparand
{
  TypedPredicate(Keys()[keyPath: path].compared(.greaterThanOrEqualTo, Keys()[keyPath: other].expression))
}
