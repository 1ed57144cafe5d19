/// A request for the objects of an entity that meet a condition, in an order.
///
/// A request selects objects. The method that takes the request decides what it returns:
///
/// - ``ManagedObjectContext/fetch(_:)`` returns the objects,
/// - ``ManagedObjectContext/lazyFetch(_:)`` returns a collection that reads its objects when they are accessed,
/// - ``ManagedObjectContext/objectIDs(for:)`` returns their identifiers and reads nothing else,
/// - ``ManagedObjectContext/dictionaries(for:)`` returns some of their values,
/// - ``ManagedObjectContext/count(for:)`` returns their count.
///
/// All of them take unsaved changes into account, and all select the same objects in the same order. Objects have the
/// order of ``sortKeys``. Objects that are equal in that order, or all objects if there is no order, have the order
/// of their insertion.
///
/// ```swift
/// var request = FetchRequest<Book>(where: try FetchPredicate(format: "publisher.name BEGINSWITH $start"))
/// request.variables["start"] = "Th"
/// request.sortKeys = [
///   SortKey("publisher.name", options: .caseInsensitive), SortKey("added", ascending: false),
/// ]
/// request.limit = 20
/// request.prefetch = ["publisher", "reviews.reader"]
/// let books = try context.fetch(request)
/// ```
///
/// A format string's predicate does not depend on an entity. A fetch applies it to one and checks it.
///
/// ## Topics
///
/// ### Creating a request
/// - ``init(where:)``
/// - ``init(where:sortedBy:limit:offset:)-15gsi``
/// - ``init(where:sortedBy:limit:offset:)-3zz9y``
/// - ``init(where:sortedBy:limit:offset:)-(KeyPath<Keys<Object>,Attribute<Bool>>,_,_,_)``
/// - ``init(where:sortedBy:limit:offset:)-60slq``
/// - ``init(entityName:where:)``
///
/// ### Selecting objects
/// - ``entityName``
/// - ``predicate``
/// - ``variables``
/// - ``includesSubentities``
/// - ``includesPendingChanges``
///
/// ### Order and range
/// - ``sortKeys``
/// - ``limit``
/// - ``offset``
///
/// ### Reading
/// - ``batchSize``
/// - ``prefetch``
/// - ``propertiesToFetch``
/// - ``returnsDistinctResults``
public struct FetchRequest<Object: ManagedObject> {
  /// The name of the entity.
  public var entityName: String
  /// The condition that an object must meet; nil for all objects.
  public var predicate: FetchPredicate?
  /// The values of the predicate's variables, by name without `$`: Swift values, objects, and arrays of them.
  public var variables: [String: any FormatArgument] = [:]
  /// The order, starting with the most significant key. A key path may lead through to-one relationships,
  /// `author.name`, and end with a count, `reviews.@count`. The key of a string may have options. Nil comes first.
  ///
  /// Objects that are equal in the order, or all objects if there is none, have the order of their insertion: a
  /// request always has the same answer.
  public var sortKeys: [SortKey] = []
  /// The maximum number of objects to fetch; nil for all. A negative value counts as 0.
  public var limit: Int?
  /// The number of objects to skip at the start. A negative value counts as 0.
  public var offset = 0
  /// Whether objects of subentities are included.
  public var includesSubentities = true
  /// Whether the context's unsaved changes count. If false, only the store decides which objects are fetched and in
  /// which order. The objects have their unsaved values nevertheless, and may include objects whose deletion has not
  /// been saved.
  public var includesPendingChanges = true

  /// The number of rows that ``ManagedObjectContext/lazyFetch(_:)`` reads at once; 100 if the value is less than 1.
  /// Other fetches read all rows at once.
  public var batchSize = 0
  /// The key paths of the values that ``ManagedObjectContext/dictionaries(for:)`` returns: attributes, composites and
  /// their fields, to-one relationships, and paths through these, `author.name`. If empty, all attributes of the
  /// entity that the store has. Other fetches return whole objects and ignore this property.
  public var propertiesToFetch: [String] = []
  /// Whether ``ManagedObjectContext/dictionaries(for:)`` omits a dictionary that is equal to an earlier one.
  /// ``limit`` and ``offset`` count the remaining ones. Objects are always distinct.
  public var returnsDistinctResults = false
  /// The key paths of relationships whose objects are read together with the fetched objects: `["author",
  /// "reviews.writer"]`. Each relationship takes one statement, however many objects there are.
  ///
  /// This does not change any answer, only how often the store is read when relationships are followed. Objects that
  /// are in memory already are not read again.
  public var prefetch: [String] = []

  /// Creates a request for the objects of an entity by its name, for objects without a generated class.
  public init(entityName: String, where predicate: FetchPredicate? = nil) {
    self.entityName = entityName
    self.predicate = predicate
  }
}

extension FetchRequest where Object: EntityClass {
  /// Creates a request for objects of a generated class.
  public init(where predicate: FetchPredicate? = nil) {
    self.init(entityName: Object.entityName, where: predicate)
  }
}

@available(*, unavailable)
extension FetchRequest: Sendable {}
