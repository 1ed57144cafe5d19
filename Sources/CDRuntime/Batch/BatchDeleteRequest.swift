/// The deletion of all objects that meet a condition, by SQL without an object for each.
///
/// ```swift
/// let result = try context.execute(BatchDeleteRequest<Book>(where: \.price > 100))
/// print(result.count)
/// var oldest = FetchRequest<Review>()
/// oldest.sortKeys = [SortKey("weight")]
/// oldest.limit = 1000
/// try context.execute(BatchDeleteRequest(oldest))
/// ```
///
/// Every delete rule is followed, as ``ManagedObjectContext/delete(_:)`` does, so that no reference dangles and no rule
/// of the schema is broken. No class is asked (``ManagedObjectLifecycle``).
public struct BatchDeleteRequest<Object: ManagedObject> {
  /// Which objects. What it says of the form of an answer does not count; its order does where it has a limit.
  public var fetchRequest: FetchRequest<Object>

  /// The deletion of what a request would fetch from the store.
  public init(_ fetchRequest: FetchRequest<Object>) {
    self.fetchRequest = fetchRequest
  }
}

extension BatchDeleteRequest where Object: EntityClass {
  /// The deletion of all objects, or of those that meet a condition.
  public init(where condition: TypedPredicate<Object>? = nil) {
    self.init(FetchRequest<Object>(where: condition?.predicate))
  }
}

@available(*, unavailable)
extension BatchDeleteRequest: Sendable {}
