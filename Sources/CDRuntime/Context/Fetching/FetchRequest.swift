/// What to fetch: objects of an entity that meet a condition, in an order.
///
/// A request says which objects are meant. In what form they come is the method's that it is given to:
///
/// - ``ManagedObjectContext/fetch(_:)`` gives the objects,
/// - ``ManagedObjectContext/lazyFetch(_:)`` gives a collection that reads its objects as they are touched,
/// - ``ManagedObjectContext/objectIDs(for:)`` gives their identifiers and reads nothing else,
/// - ``ManagedObjectContext/dictionaries(for:)`` gives some of their values,
/// - ``ManagedObjectContext/count(for:)`` gives their count.
///
/// All of them take unsaved changes into account, and all have the same objects in the same order: that of
/// ``sortKeys``, and where those leave a choice, or where there are none, that of the objects' insertion.
///
/// ```swift
/// var request = FetchRequest<Book>(where: try FetchPredicate(format: "publisher.name BEGINSWITH $start"))
/// request.variables["start"] = .value(.string("Th"))
/// request.sortKeys = [
///   SortKey("publisher.name", options: .caseInsensitive), SortKey("added", ascending: false),
/// ]
/// request.limit = 20
/// request.relationshipKeyPathsForPrefetching = ["publisher", "reviews.reader"]
/// let books = try context.fetch(request)
/// ```
///
/// A format string's predicate knows no entity until a fetch binds it to one: only then is it checked.
///
/// ## Topics
///
/// ### Which objects
/// - ``entityName``
/// - ``predicate``
/// - ``variables``
/// - ``includesSubentities``
/// - ``includesPendingChanges``
///
/// ### Order and window
/// - ``sortKeys``
/// - ``limit``
/// - ``offset``
///
/// ### What is read
/// - ``fetchBatchSize``
/// - ``propertiesToFetch``
/// - ``returnsDistinctResults``
/// - ``relationshipKeyPathsForPrefetching``
public struct FetchRequest<Object: ManagedObject> {
  /// The name of the entity.
  public var entityName: String
  /// The condition; nil for all objects.
  public var predicate: FetchPredicate?
  /// The values of the predicate's variables, by their names without `$`.
  public var variables: [String: ExpressionConstant] = [:]
  /// The order, the first key first. A key path may lead through to-one relationships, `author.name`, and end
  /// with a count, `reviews.@count`; a string's key may have options. Nil comes first.
  ///
  /// Objects that are equal in the order, or all of them where there is none, come in the order of their
  /// insertion: a request has one answer, however often it is asked.
  public var sortKeys: [SortKey] = []
  /// The most objects to fetch; nil for all. What is below 0 counts as 0.
  public var limit: Int?
  /// How many objects to leave out at the start. What is below 0 counts as 0.
  public var offset = 0
  /// Whether objects of subentities are fetched too.
  public var includesSubentities = true
  /// Whether the context's unsaved changes count. Without them the store alone decides which objects are
  /// fetched and in which order; the objects have their unsaved values nevertheless, and one whose deletion has
  /// not been saved may be among them.
  public var includesPendingChanges = true

  /// How many rows ``ManagedObjectContext/lazyFetch(_:)`` reads at a time. Below 1 it reads 100. Other fetches
  /// read all at once.
  public var fetchBatchSize = 0
  /// The key paths of the values that ``ManagedObjectContext/dictionaries(for:)`` gives: attributes, composites
  /// and their fields, to-one relationships, and what lies behind those, `author.name`. Empty for all attributes
  /// of the entity that are in the store. Other fetches give whole objects and do not look at it.
  public var propertiesToFetch: [String] = []
  /// Whether ``ManagedObjectContext/dictionaries(for:)`` leaves out what is equal to an earlier dictionary;
  /// ``limit`` and ``offset`` count what is left. Objects are distinct in any case.
  public var returnsDistinctResults = false
  /// The key paths of relationships whose objects are read along with the fetched ones, with one statement for
  /// each relationship, whatever the count of objects: `["author", "reviews.writer"]`.
  ///
  /// It changes no answer, only how often the store is asked when relationships are followed. What is in memory
  /// already is not read again.
  public var relationshipKeyPathsForPrefetching: [String] = []

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
