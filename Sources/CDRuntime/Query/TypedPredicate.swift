public import CDModel

/// A condition on objects of a class, built with the operators of the typed query language.
///
/// ```swift
/// try Book.fetch(where: \.title == "Walden" && \.publisher.name == "BookCo", in: context)
/// ```
public struct TypedPredicate<Root: ManagedObject>: Hashable, Sendable {
  /// The same condition as a predicate.
  public let predicate: FetchPredicate

  /// Creates a condition from a predicate, for example from a format string. The fetch throws an error if the predicate
  /// does not fit the entity.
  public init(_ predicate: FetchPredicate) {
    self.predicate = predicate
  }

  /// Creates a condition from a closure, which you can combine with conditions on key paths:
  /// `\.price < 10 && TypedPredicate { $0.title.hasPrefix("W") }`.
  public init(_ condition: (Fields<Root>) -> FetchPredicate) {
    predicate = condition(Fields())
  }

  /// Returns a condition that is met if both conditions are met.
  public static func && (lhs: Self, rhs: Self) -> Self { Self(lhs.predicate && rhs.predicate) }
  /// Returns a condition that is met if at least one of the conditions is met.
  public static func || (lhs: Self, rhs: Self) -> Self { Self(lhs.predicate || rhs.predicate) }
  /// Returns a condition that is met if the given condition is not met.
  public static prefix func ! (condition: Self) -> Self { Self(!condition.predicate) }
}

/// A sort order for objects of a class: one sort key, or several, the most significant one first.
///
/// ```swift
/// let newest = try Book.fetch(sortedBy: .descending(\.price), limit: 10, in: context)
/// let books = try Book.fetch(
///   sortedBy: [.descending(\.price), .ascending(\.title, options: .caseInsensitive)], limit: 10,
///   in: context)
/// ```
public struct TypedSort<Root: ManagedObject>: Hashable, Sendable {
  /// The same order as sort keys of a request.
  public let keys: [SortKey]

  private init(_ key: SortKey) {
    keys = [key]
  }

  /// Combines orders. A later order decides only about objects that are equal in all earlier ones.
  public init(_ orders: [Self]) {
    keys = orders.flatMap(\.keys)
  }

  /// Puts smaller values first.
  public static func ascending<Value>(_ path: KeyPath<Keys<Root>, Attribute<Value>>) -> Self {
    Self(SortKey(Keys()[keyPath: path].keyPath))
  }
  /// Puts greater values first.
  public static func descending<Value>(_ path: KeyPath<Keys<Root>, Attribute<Value>>) -> Self {
    Self(SortKey(Keys()[keyPath: path].keyPath, ascending: false))
  }
  /// Puts smaller strings first, compared under options.
  public static func ascending<Value: StringAttributeValue>(
    _ path: KeyPath<Keys<Root>, Attribute<Value>>, options: ComparisonOptions
  ) -> Self {
    Self(SortKey(Keys()[keyPath: path].keyPath, options: options))
  }
  /// Puts greater strings first, compared under options.
  public static func descending<Value: StringAttributeValue>(
    _ path: KeyPath<Keys<Root>, Attribute<Value>>, options: ComparisonOptions
  ) -> Self {
    Self(SortKey(Keys()[keyPath: path].keyPath, ascending: false, options: options))
  }
}

extension TypedSort: ExpressibleByArrayLiteral {
  /// Combines orders. An empty list is the order of insertion.
  public init(arrayLiteral orders: Self...) {
    self.init(orders)
  }
}

/// The value types of string attributes: `String` and `String?`.
///
/// Only these types support string operators and options:
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
  /// Creates a request for the objects of a generated class that meet a condition, in the given order.
  ///
  /// ```swift
  /// let request = FetchRequest<Book>(where: \.price < 10, sortedBy: .descending(\.price), limit: 20)
  /// ```
  public init(
    where condition: TypedPredicate<Object>, sortedBy order: TypedSort<Object> = [], limit: Int? = nil,
    offset: Int = 0
  ) {
    self.init(where: condition.predicate, sortedBy: order, limit: limit, offset: offset)
  }

  /// Creates a request for the objects of a generated class that meet a condition, given as a closure, in the given
  /// order.
  public init(
    where condition: (Fields<Object>) -> FetchPredicate, sortedBy order: TypedSort<Object> = [],
    limit: Int? = nil, offset: Int = 0
  ) {
    self.init(where: condition(Fields()), sortedBy: order, limit: limit, offset: offset)
  }

  /// Creates a request for the objects of a generated class whose attribute is true, in the given order.
  public init(
    where path: KeyPath<Keys<Object>, Attribute<Bool>>, sortedBy order: TypedSort<Object> = [],
    limit: Int? = nil, offset: Int = 0
  ) {
    self.init(where: TypedPredicate(path).predicate, sortedBy: order, limit: limit, offset: offset)
  }

  /// Creates a request for the objects of a generated class that meet a predicate, in the given order; for all objects
  /// if there is no predicate.
  public init(
    where predicate: FetchPredicate? = nil, sortedBy order: TypedSort<Object>, limit: Int? = nil,
    offset: Int = 0
  ) {
    self.init(where: predicate)
    sortKeys = order.keys
    self.limit = limit
    self.offset = offset
  }
}

extension AggregateRequest where Object: EntityClass {
  /// Creates a request for a generated class.
  public init(_ aggregates: [Aggregate], where condition: TypedPredicate<Object>? = nil) {
    self.init(entityName: Object.entityName, aggregates, where: condition?.predicate)
  }
}
