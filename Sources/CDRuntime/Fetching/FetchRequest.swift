/// What to fetch: objects of an entity that meet a condition, in an order.
public struct FetchRequest<Object: ManagedObject> {
  /// The name of the entity.
  public var entityName: String
  /// The condition; nil for all objects.
  public var predicate: FetchPredicate?
  /// The values of the predicate's variables, by their names without `$`.
  public var variables: [String: ExpressionConstant] = [:]
  /// The order. Objects that are equal in it, or all of them where there is none, come in the order of
  /// their insertion.
  public var sortKeys: [SortKey] = []
  /// The most objects to fetch; nil for all.
  public var limit: Int?
  /// How many objects to leave out at the start.
  public var offset = 0
  /// Whether objects of subentities are fetched too.
  public var includesSubentities = true

  /// A request for objects of an entity by its name, for objects without a generated class.
  public init(entityName: String, where predicate: FetchPredicate? = nil) {
    self.entityName = entityName
    self.predicate = predicate
  }
}

extension FetchRequest where Object: EntityClass {
  /// A request for objects of a generated class.
  public init(where predicate: FetchPredicate? = nil) {
    self.init(entityName: Object.entityName, where: predicate)
  }
}

@available(*, unavailable)
extension FetchRequest: Sendable {}
