public import CDModel

/// A condition on objects of a class, made by the operators of the typed query language.
///
/// ```swift
/// try Book.fetch(where: \.title == "Walden" && \.publisher.name == "BookCo", in: context)
/// ```
public struct TypedPredicate<Root: ManagedObject>: Hashable, Sendable {
  /// The same condition as a tree.
  public let predicate: FetchPredicate

  /// A tree as a condition, of a format string for instance. The fetch says where it does not fit the entity.
  public init(_ predicate: FetchPredicate) {
    self.predicate = predicate
  }

  /// A condition in the closure's form, to be combined with those of key paths:
  /// `\.price < 10 && TypedPredicate { $0.title.hasPrefix("W") }`.
  public init(_ condition: (Fields<Root>) -> FetchPredicate) {
    predicate = condition(Fields())
  }

  /// Both conditions are met.
  public static func && (lhs: Self, rhs: Self) -> Self { Self(lhs.predicate && rhs.predicate) }
  /// One of the conditions is met, or both are.
  public static func || (lhs: Self, rhs: Self) -> Self { Self(lhs.predicate || rhs.predicate) }
  /// The condition is not met.
  public static prefix func ! (condition: Self) -> Self { Self(!condition.predicate) }
}

/// An order on objects of a class.
///
/// ```swift
/// let books = try Book.fetch(
///   sortedBy: [.descending(\.price), .ascending(\.title, options: .caseInsensitive)], limit: 10,
///   in: context)
/// ```
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
///
/// These are what string operators and options are for:
///
/// ```swift
/// let books = try Book.fetch(
///   where: { $0.title.hasPrefix("wal", options: .caseInsensitive) },
///   sortedBy: [.ascending(\.title, options: .diacriticInsensitive)], in: context)
/// ```
public protocol StringAttributeValue: AttributeValueConvertible {}
extension String: StringAttributeValue {}
extension Optional: StringAttributeValue where Wrapped == String {}

// Requests with conditions of the typed query language.
extension FetchRequest where Object: EntityClass {
  /// A request for objects of a generated class by a typed condition.
  public init(where condition: TypedPredicate<Object>) {
    self.init(entityName: Object.entityName, where: condition.predicate)
  }

  /// A request for objects of a generated class by a typed condition, in the closure's form.
  public init(where condition: (Fields<Object>) -> FetchPredicate) {
    self.init(entityName: Object.entityName, where: condition(Fields()))
  }
}

extension AggregateRequest where Object: EntityClass {
  /// A request for a generated class.
  public init(_ aggregates: [Aggregate], where condition: TypedPredicate<Object>? = nil) {
    self.init(entityName: Object.entityName, aggregates, where: condition?.predicate)
  }
}
