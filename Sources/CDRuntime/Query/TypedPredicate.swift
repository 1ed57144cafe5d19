public import CDModel

/// A condition on objects of a class, made by the operators of the typed query language.
///
/// ```swift
/// try Book.fetch(where: \.publisher == "BookCo" && \.author.name == "Thoreau", in: context)
/// ```
public struct TypedPredicate<Root: ManagedObject>: Hashable, Sendable {
  /// The same condition as a tree.
  public let predicate: FetchPredicate

  /// A predicate that was made in another way, which the fetch checks against the entity.
  public init(_ predicate: FetchPredicate) {
    self.predicate = predicate
  }

  /// A condition in the closure's form, to be combined with those of key paths:
  /// `\.publisher == "BookCo" && TypedPredicate { $0.title.hasPrefix("W") }`.
  public init(_ condition: (Fields<Root>) -> FetchPredicate) {
    predicate = condition(Fields())
  }

  /// Both conditions.
  public static func && (lhs: Self, rhs: Self) -> Self { Self(lhs.predicate && rhs.predicate) }
  /// One of the conditions at least.
  public static func || (lhs: Self, rhs: Self) -> Self { Self(lhs.predicate || rhs.predicate) }
  public static prefix func ! (condition: Self) -> Self { Self(!condition.predicate) }
}

/// An order on objects of a class.
public struct TypedSort<Root: ManagedObject>: Hashable, Sendable {
  /// The same order as a key path.
  public let key: SortKey

  /// Smaller values first.
  public static func ascending<Value>(_ path: KeyPath<Fields<Root>, Attribute<Value>>) -> Self {
    Self(key: SortKey(Fields()[keyPath: path].keyPath))
  }
  /// Greater values first.
  public static func descending<Value>(_ path: KeyPath<Fields<Root>, Attribute<Value>>) -> Self {
    Self(key: SortKey(Fields()[keyPath: path].keyPath, ascending: false))
  }
  /// Smaller strings first, compared as the options say.
  public static func ascending<Value: StringAttributeValue>(
    _ path: KeyPath<Fields<Root>, Attribute<Value>>, options: ComparisonOptions
  ) -> Self {
    Self(key: SortKey(Fields()[keyPath: path].keyPath, options: options))
  }
  /// Greater strings first, compared as the options say.
  public static func descending<Value: StringAttributeValue>(
    _ path: KeyPath<Fields<Root>, Attribute<Value>>, options: ComparisonOptions
  ) -> Self {
    Self(key: SortKey(Fields()[keyPath: path].keyPath, ascending: false, options: options))
  }
}

/// The values of string attributes: `String` and `String?`.
public protocol StringAttributeValue: AttributeValueConvertible {}
extension String: StringAttributeValue {}
extension Optional: StringAttributeValue where Wrapped == String {}

extension ManagedObject {
  /// The object as a constant of an expression: `FetchPredicate(format: "author == %@", arguments: [a.reference])`.
  public final var reference: ObjectReference {
    ObjectReference(entity: scope.plan.name, uri: objectID.text, identifier: objectID)
  }
}
