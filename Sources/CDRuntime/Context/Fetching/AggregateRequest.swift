public import CDModel

/// Counts, sums and the like over the objects that meet a condition: of all, or of groups with equal values.
///
/// ```swift
/// var request = AggregateRequest<Book>(
///   [.count(), .average(of: "pages", as: "length"), .max(of: "price")], where: \.language != .french)
/// request.groupBy = ["publisher.name"]
/// request.having = try FetchPredicate(format: "count > 3 AND length < 200")
/// for group in try context.aggregates(for: request) {
///   print(group["publisher.name"]?.attribute ?? .null, group["max_price"]?.attribute ?? .null)
/// }
/// ```
///
/// ``EntityClass/aggregate(_:where:in:)`` and ``EntityClass/aggregate(by:_:where:in:)`` give typed tuples of the same.
public struct AggregateRequest<Object: ManagedObject> {
  /// The name of the entity.
  public var entityName: String
  /// What is calculated of each group.
  public var aggregates: [Aggregate]
  /// The key paths whose values make the groups: of attributes and to-one relationships. Without any, all objects are
  /// one group, whose aggregates there are even where it has no objects.
  public var groupBy: [String] = []
  /// The condition that an object meets; nil for all objects.
  public var predicate: FetchPredicate?
  /// The condition that a group meets, with the names of ``aggregates`` and the key paths of ``groupBy`` for what it has;
  /// nil for all groups.
  public var having: FetchPredicate?
  /// The values of the variables of both conditions, by their names without `$`.
  public var variables: [String: ExpressionConstant] = [:]
  /// Whether objects of subentities count too.
  public var includesSubentities = true
  /// Whether the context's unsaved changes count.
  public var includesPendingChanges = true

  /// A request for an entity by its name.
  public init(entityName: String, _ aggregates: [Aggregate], where predicate: FetchPredicate? = nil) {
    self.entityName = entityName
    self.aggregates = aggregates
    self.predicate = predicate
  }
}

extension AggregateRequest where Object: EntityClass {
  /// A request for a generated class.
  public init(_ aggregates: [Aggregate], where condition: TypedPredicate<Object>? = nil) {
    self.init(entityName: Object.entityName, aggregates, where: condition?.predicate)
  }
}

@available(*, unavailable)
extension AggregateRequest: Sendable {}

/// One value of many objects: their count, or what the values of a key path come to. Nil counts for nothing.
///
/// ```swift
/// let aggregates: [Aggregate] = [.count(), .sum(of: "salesRank"), .average(of: "price", as: "usual")]
/// print(aggregates.map(\.name))  // count, sum_salesRank, usual
/// ```
public struct Aggregate: Hashable, Sendable {
  enum Function: String { case count, sum, average, min, max }

  /// The name of the value among those of a group.
  public let name: String
  let function: Function
  let keyPath: String?

  private init(_ function: Function, _ keyPath: String?, _ name: String?) {
    self.function = function
    self.keyPath = keyPath
    self.name =
      name
      ?? ([function.rawValue] + (keyPath?.split(separator: ".").map(String.init) ?? [])).joined(
        separator: "_")
  }

  /// How many objects there are.
  public static func count(as name: String = "count") -> Aggregate { Aggregate(.count, nil, name) }
  /// How many objects have a value.
  public static func count(of keyPath: String, as name: String? = nil) -> Aggregate {
    Aggregate(.count, keyPath, name)
  }
  /// The sum of numbers: 0 of none. One of integers that is beyond Int64 throws.
  public static func sum(of keyPath: String, as name: String? = nil) -> Aggregate {
    Aggregate(.sum, keyPath, name)
  }
  /// The mean of numbers: nil of none, a decimal of decimals, else a double.
  public static func average(of keyPath: String, as name: String? = nil) -> Aggregate {
    Aggregate(.average, keyPath, name)
  }
  /// The least value: nil of none.
  public static func min(of keyPath: String, as name: String? = nil) -> Aggregate {
    Aggregate(.min, keyPath, name)
  }
  /// The greatest value: nil of none.
  public static func max(of keyPath: String, as name: String? = nil) -> Aggregate {
    Aggregate(.max, keyPath, name)
  }
}
