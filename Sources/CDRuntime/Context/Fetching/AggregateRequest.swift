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

@available(*, unavailable)
extension AggregateRequest: Sendable {}
