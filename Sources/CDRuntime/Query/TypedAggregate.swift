#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// An aggregate whose result type is known to the compiler.
///
/// ```swift
/// let (count, cheapest, length) = try Book.aggregate(.count, .min(\.price), .average(\.pages), in: context)
/// print(count, cheapest ?? 0, length ?? 0)
/// ```
public struct TypedAggregate<Object: ManagedObject, Value: Sendable>: Sendable {
  let aggregate: Aggregate
  let decode: @Sendable (AttributeValue) -> Value?

  private init(_ aggregate: Aggregate, _ decode: @escaping @Sendable (AttributeValue) -> Value?) {
    self.aggregate = aggregate
    self.decode = decode
  }

  private static func keyPath<V>(_ path: KeyPath<Fields<Object>, Attribute<V>>) -> String {
    Fields()[keyPath: path].keyPath
  }
}

extension TypedAggregate where Value == Int {
  /// Counts the objects.
  public static var count: Self { Self(.count()) { $0.decoded() } }
  /// Counts the objects whose attribute has a value.
  public static func count<V>(_ path: KeyPath<Fields<Object>, Attribute<V?>>) -> Self {
    Self(.count(of: keyPath(path))) { $0.decoded() }
  }
}

extension TypedAggregate where Value == Int64 {
  /// The sum of integers, or 0 if there are no values. The fetch throws if the sum does not fit in Int64.
  public static func sum<V: FixedWidthInteger>(_ path: KeyPath<Fields<Object>, Attribute<V>>) -> Self {
    Self(.sum(of: keyPath(path))) { $0.decoded() }
  }
  /// The sum of integers that are not nil, or 0 if there are none. The fetch throws if the sum does not fit in Int64.
  public static func sum<V: FixedWidthInteger>(_ path: KeyPath<Fields<Object>, Attribute<V?>>) -> Self {
    Self(.sum(of: keyPath(path))) { $0.decoded() }
  }
}

extension TypedAggregate where Value == Double {
  /// The sum of numbers, or 0 if there are no values.
  public static func sum<V: BinaryFloatingPoint>(_ path: KeyPath<Fields<Object>, Attribute<V>>) -> Self {
    Self(.sum(of: keyPath(path))) { $0.decoded() }
  }
  /// The sum of numbers that are not nil, or 0 if there are none.
  public static func sum<V: BinaryFloatingPoint>(_ path: KeyPath<Fields<Object>, Attribute<V?>>) -> Self {
    Self(.sum(of: keyPath(path))) { $0.decoded() }
  }
}

extension TypedAggregate where Value == Decimal {
  /// The sum of decimals, or 0 if there are no values.
  public static func sum(_ path: KeyPath<Fields<Object>, Attribute<Decimal>>) -> Self {
    Self(.sum(of: keyPath(path))) { $0.decoded() }
  }
  /// The sum of decimals that are not nil, or 0 if there are none.
  public static func sum(_ path: KeyPath<Fields<Object>, Attribute<Decimal?>>) -> Self {
    Self(.sum(of: keyPath(path))) { $0.decoded() }
  }
}

extension TypedAggregate {
  /// The mean of numbers, or nil if there are no values. The mean of decimals is calculated as a decimal and then
  /// rounded to a double.
  public static func average<V: AttributeValueConvertible>(
    _ path: KeyPath<Fields<Object>, Attribute<V>>
  ) -> Self where V.Comparand == NumberComparand, Value == Double? {
    Self(.average(of: keyPath(path))) { value in
      if case .null = value { return .some(nil) }
      return value.decoded().map { .some($0) }
    }
  }
  /// The least value, or nil if there are no values.
  public static func min<V: AttributeValueConvertible>(
    _ path: KeyPath<Fields<Object>, Attribute<V>>
  ) -> Self where Value == V? {
    Self(.min(of: keyPath(path))) { $0.decodedOptional() }
  }
  /// The greatest value, or nil if there are no values.
  public static func max<V: AttributeValueConvertible>(
    _ path: KeyPath<Fields<Object>, Attribute<V>>
  ) -> Self where Value == V? {
    Self(.max(of: keyPath(path))) { $0.decodedOptional() }
  }
  /// The least value that is not nil, or nil if there is none.
  public static func min<V: AttributeValueConvertible>(
    _ path: KeyPath<Fields<Object>, Attribute<V?>>
  ) -> Self where Value == V? {
    Self(.min(of: keyPath(path))) { $0.decodedOptional() }
  }
  /// The greatest value that is not nil, or nil if there is none.
  public static func max<V: AttributeValueConvertible>(
    _ path: KeyPath<Fields<Object>, Attribute<V?>>
  ) -> Self where Value == V? {
    Self(.max(of: keyPath(path))) { $0.decodedOptional() }
  }
}

extension EntityClass {
  /// Calculates aggregates of the objects that meet a condition.
  ///
  /// ```swift
  /// let (count, total) = try Book.aggregate(.count, .sum(\.price), where: \.language == .german, in: context)
  /// ```
  ///
  /// - Throws: The errors of ``ManagedObjectContext/aggregates(for:)``.
  public static func aggregate<each Value>(
    _ aggregates: repeat TypedAggregate<Self, each Value>, where condition: TypedPredicate<Self>? = nil,
    in context: ManagedObjectContext
  ) throws -> (repeat each Value) {
    var all: [Aggregate] = []
    repeat all.append((each aggregates).aggregate)
    let rows = try context.aggregateRows(Self.self, all, [], condition)
    var row = AggregateRow(values: rows.first ?? [], entity: entityName)
    return (repeat try row.next(each aggregates))
  }

  /// Calculates aggregates for each group of objects with equal values of an attribute. The groups are in the order of
  /// their first objects.
  ///
  /// ```swift
  /// let groups = try Book.aggregate(by: \.language, .count, .max(\.price), in: context)
  /// for (language, (count, dearest)) in groups where count > 3 { print(language, dearest ?? 0) }
  /// ```
  ///
  /// - Throws: The errors of ``ManagedObjectContext/aggregates(for:)``.
  public static func aggregate<Key: AttributeValueConvertible, each Value>(
    by path: KeyPath<Keys<Self>, Attribute<Key>>, _ aggregates: repeat TypedAggregate<Self, each Value>,
    where condition: TypedPredicate<Self>? = nil, in context: ManagedObjectContext
  ) throws -> [(key: Key, values: (repeat each Value))] {
    var all: [Aggregate] = []
    repeat all.append((each aggregates).aggregate)
    let keyPath = Keys<Self>()[keyPath: path].keyPath
    return try context.aggregateRows(Self.self, all, [keyPath], condition).map { values in
      var row = AggregateRow(values: values, entity: entityName)
      let key: Key = try row.next(keyPath)
      return (key, (repeat try row.next(each aggregates)))
    }
  }
}

/// Reads the values of a group one after another.
private struct AggregateRow {
  let values: [FetchedValue]
  let entity: String
  private var index = 0

  init(values: [FetchedValue], entity: String) {
    self.values = values
    self.entity = entity
  }

  private mutating func next() -> AttributeValue {
    defer { index += 1 }
    return values.indices.contains(index) ? values[index].attribute ?? .null : .null
  }

  mutating func next<Object, Value>(_ aggregate: TypedAggregate<Object, Value>) throws -> Value {
    let value = next()
    guard let decoded = aggregate.decode(value) else {
      throw FetchError.evaluation(
        "'\(entity)': \(aggregate.aggregate.name) does not have the type \(Value.self)")
    }
    return decoded
  }

  mutating func next<Key>(_ keyPath: String) throws -> Key {
    let value = next()
    // The group of objects without a value has the key nil, which an optional type accepts.
    if let key = value.decodedNilOrValue(as: Key.self) { return key }
    throw FetchError.evaluation("'\(entity).\(keyPath)' has a value that does not have the type \(Key.self)")
  }
}

extension ManagedObjectContext {
  fileprivate func aggregateRows<Object: EntityClass>(
    _ type: Object.Type, _ aggregates: [Aggregate], _ groupBy: [String], _ condition: TypedPredicate<Object>?
  ) throws -> [[FetchedValue]] {
    var fetch = FetchRequest<Object>(where: condition?.predicate)
    let plan = try entityPlan(of: fetch)
    fetch.propertiesToFetch = groupBy + aggregates.compactMap(\.keyPath)
    try catchUpForFetch()
    return try FetchRun(fetch, of: plan, in: self).aggregates(aggregates, by: groupBy)
  }
}
