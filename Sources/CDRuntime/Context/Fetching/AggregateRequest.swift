public import CDModel

/// A request for counts, sums and other aggregates of the objects that meet a condition: of all these objects, or of
/// groups with equal values.
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
/// ``EntityClass/aggregate(_:where:in:)`` and ``EntityClass/aggregate(by:_:where:in:)`` return typed tuples instead.
public struct AggregateRequest<Object: ManagedObject> {
  /// The name of the entity.
  public var entityName: String
  /// The aggregates to calculate for each group.
  public var aggregates: [Aggregate]
  /// The key paths whose values form the groups: of attributes and to-one relationships. If empty, all objects form
  /// one group, which has aggregates even if it has no objects.
  public var groupBy: [String] = []
  /// The condition that an object must meet; nil for all objects.
  public var predicate: FetchPredicate?
  /// The condition that a group must meet; nil for all groups. It refers to the group's values by the names of
  /// ``aggregates`` and the key paths of ``groupBy``. For any other key, ``ManagedObjectContext/aggregates(for:)`` throws
  /// ``FetchError/unknownKey(entity:key:suggestion:)``.
  public var having: FetchPredicate?
  /// The values of the variables in both conditions, by name without `$`.
  public var variables: [String: any FormatArgument] = [:]
  /// Whether objects of subentities are included.
  public var includesSubentities = true
  /// Whether the context's unsaved changes count.
  public var includesPendingChanges = true

  /// Creates a request for an entity by its name.
  public init(entityName: String, _ aggregates: [Aggregate], where predicate: FetchPredicate? = nil) {
    self.entityName = entityName
    self.aggregates = aggregates
    self.predicate = predicate
  }
}

@available(*, unavailable)
extension AggregateRequest: Sendable {}
