/// A condition on objects of a class, made by the operators of the typed query language.
///
/// ```swift
/// try Book.fetch(where: \.publisher == "BookCo" && \.author.name == "Thoreau", in: context)
/// ```
public struct TypedPredicate<Root: ManagedObject>: Hashable, Sendable {
  /// The same condition as a tree.
  public let predicate: FetchPredicate

  public init(_ predicate: FetchPredicate) {
    self.predicate = predicate
  }

  public static func && (lhs: Self, rhs: Self) -> Self { Self(lhs.predicate && rhs.predicate) }
  public static func || (lhs: Self, rhs: Self) -> Self { Self(lhs.predicate || rhs.predicate) }
  public static prefix func ! (condition: Self) -> Self { Self(!condition.predicate) }
}

/// An order on objects of a class.
public struct TypedSort<Root: ManagedObject>: Hashable, Sendable {
  let key: SortKey

  public static func ascending<Value>(_ path: KeyPath<Fields<Root>, Attribute<Value>>) -> Self {
    Self(key: SortKey(Fields()[keyPath: path].keyPath))
  }
  public static func descending<Value>(_ path: KeyPath<Fields<Root>, Attribute<Value>>) -> Self {
    Self(key: SortKey(Fields()[keyPath: path].keyPath, ascending: false))
  }
}

private func comparison<Root, Path: FieldPath>(
  _ path: KeyPath<Fields<Root>, Path>, _ comparisonOperator: ComparisonOperator, _ value: ExpressionConstant,
  _ options: ComparisonOptions = []
) -> TypedPredicate<Root> {
  TypedPredicate(
    FetchPredicate(
      Fields()[keyPath: path].expression, comparisonOperator, .constant(value), options: options))
}

/// Equal; nil is equal to nil.
public func == <Root, Value: AttributeValueConvertible>(
  path: KeyPath<Fields<Root>, Attribute<Value>>, value: Value
) -> TypedPredicate<Root> {
  comparison(path, .equalTo, .value(value.attributeValue))
}

/// Not equal; nil is not equal to any value.
public func != <Root, Value: AttributeValueConvertible>(
  path: KeyPath<Fields<Root>, Attribute<Value>>, value: Value
) -> TypedPredicate<Root> {
  comparison(path, .notEqualTo, .value(value.attributeValue))
}

/// Less; nil is not less than anything.
public func < <Root, Value: AttributeValueConvertible>(
  path: KeyPath<Fields<Root>, Attribute<Value>>, value: Value
) -> TypedPredicate<Root> {
  comparison(path, .lessThan, .value(value.attributeValue))
}

/// Less or equal.
public func <= <Root, Value: AttributeValueConvertible>(
  path: KeyPath<Fields<Root>, Attribute<Value>>, value: Value
) -> TypedPredicate<Root> {
  comparison(path, .lessThanOrEqualTo, .value(value.attributeValue))
}

/// Greater; nil is not greater than anything.
public func > <Root, Value: AttributeValueConvertible>(
  path: KeyPath<Fields<Root>, Attribute<Value>>, value: Value
) -> TypedPredicate<Root> {
  comparison(path, .greaterThan, .value(value.attributeValue))
}

/// Greater or equal.
public func >= <Root, Value: AttributeValueConvertible>(
  path: KeyPath<Fields<Root>, Attribute<Value>>, value: Value
) -> TypedPredicate<Root> {
  comparison(path, .greaterThanOrEqualTo, .value(value.attributeValue))
}

/// The object of a to-one relationship is this one, or there is none where it is nil.
public func == <Root, Destination>(
  path: KeyPath<Fields<Root>, ToOne<Destination>>, object: Destination?
) -> TypedPredicate<Root> {
  comparison(path, .equalTo, object.map { .object($0.reference) } ?? .null)
}

/// The object of a to-one relationship is another, or there is one where the value is nil.
public func != <Root, Destination>(
  path: KeyPath<Fields<Root>, ToOne<Destination>>, object: Destination?
) -> TypedPredicate<Root> {
  comparison(path, .notEqualTo, object.map { .object($0.reference) } ?? .null)
}

extension KeyPath {
  /// The value is one of these.
  public func isIn<Object: ManagedObject, V: AttributeValueConvertible>(_ values: [V]) -> TypedPredicate<Object>
  where Root == Fields<Object>, Value == Attribute<V> {
    comparison(self, .in, .array(values.map { .value($0.attributeValue) }))
  }

  /// The string begins with a text.
  public func hasPrefix<Object: ManagedObject, V: StringAttributeValue>(
    _ text: String, options: ComparisonOptions = []
  ) -> TypedPredicate<Object> where Root == Fields<Object>, Value == Attribute<V> {
    comparison(self, .beginsWith, .value(.string(text)), options)
  }

  /// The string ends with a text.
  public func hasSuffix<Object: ManagedObject, V: StringAttributeValue>(
    _ text: String, options: ComparisonOptions = []
  ) -> TypedPredicate<Object> where Root == Fields<Object>, Value == Attribute<V> {
    comparison(self, .endsWith, .value(.string(text)), options)
  }

  /// The string has a text in it.
  public func contains<Object: ManagedObject, V: StringAttributeValue>(
    _ text: String, options: ComparisonOptions = []
  ) -> TypedPredicate<Object> where Root == Fields<Object>, Value == Attribute<V> {
    comparison(self, .contains, .value(.string(text)), options)
  }

  /// The to-many relationship has an object.
  public func contains<Object: ManagedObject, Destination: ManagedObject>(
    _ object: Destination
  ) -> TypedPredicate<Object> where Root == Fields<Object>, Value == ToMany<Destination> {
    comparison(self, .contains, .object(object.reference))
  }
}

/// The values of string attributes: `String` and `String?`.
public protocol StringAttributeValue: AttributeValueConvertible {}
extension String: StringAttributeValue {}
extension Optional: StringAttributeValue where Wrapped == String {}

extension ManagedObject {
  /// The object as a constant of an expression.
  final var reference: ObjectReference {
    ObjectReference(entity: scope.plan.name, uri: objectID.text, identifier: objectID)
  }
}
