/// An entity as it was declared: its own properties, without those it inherits.
///
/// ``EntityGraph`` answers what an entity has altogether.
public struct EntityDescription: Hashable, Sendable {
  public var name: String

  /// The name of the Swift class, where it is not the entity's.
  public var className: String?

  /// An abstract entity has no objects of its own.
  public var isAbstract: Bool

  /// The entity whose properties this one inherits.
  public var parent: String?

  /// The entity's name in the version that this one is based on.
  public var renamedFrom: String?

  public var attributes: [AttributeDescription]
  public var relationships: [RelationshipDescription]
  public var fetchedProperties: [FetchedPropertyDescription]
  public var fetchTemplates: [FetchTemplate]
  public var indexes: [IndexDescription]

  /// Lists of property names whose values together are unique among the entity's objects and those of its
  /// subentities. A list in which a value is nil constrains nothing.
  public var uniquenessConstraints: [[String]]

  /// Text that changes the entity's data hash and nothing else.
  public var hashModifier: String?
  /// Free keys and values, which cdgen keeps and does not read.
  public var info: [String: String]
  public var doc: String?

  public init(
    name: String, className: String? = nil, isAbstract: Bool = false, parent: String? = nil,
    renamedFrom: String? = nil, attributes: [AttributeDescription] = [],
    relationships: [RelationshipDescription] = [], fetchedProperties: [FetchedPropertyDescription] = [],
    fetchTemplates: [FetchTemplate] = [], indexes: [IndexDescription] = [],
    uniquenessConstraints: [[String]] = [], hashModifier: String? = nil, info: [String: String] = [:],
    doc: String? = nil
  ) {
    self.name = name
    self.className = className
    self.isAbstract = isAbstract
    self.parent = parent
    self.renamedFrom = renamedFrom
    self.attributes = attributes
    self.relationships = relationships
    self.fetchedProperties = fetchedProperties
    self.fetchTemplates = fetchTemplates
    self.indexes = indexes
    self.uniquenessConstraints = uniquenessConstraints
    self.hashModifier = hashModifier
    self.info = info
    self.doc = doc
  }

  /// The name of the Swift class.
  public var swiftName: String { className ?? name }
}

/// An index over properties of an entity.
public struct IndexDescription: Hashable, Sendable {
  public var elements: [SortKey]

  public init(elements: [SortKey]) {
    self.elements = elements
  }
}

/// A key path and a direction: an element of an index or of a sort order.
public struct SortKey: Hashable, Sendable {
  /// The key path as it is written, `dueDate` or `author.name`.
  public var keyPath: String
  public var isAscending: Bool

  public init(_ keyPath: String, ascending: Bool = true) {
    self.keyPath = keyPath
    self.isAscending = ascending
  }
}

/// A fetch that the schema names; its variables become the parameters of a generated function.
public struct FetchTemplate: Hashable, Sendable {
  public var name: String
  public var predicate: FetchPredicate?
  public var sort: [SortKey]
  /// The most objects to fetch; nil for all.
  public var limit: Int?
  public var doc: String?

  public init(
    name: String, predicate: FetchPredicate? = nil, sort: [SortKey] = [], limit: Int? = nil,
    doc: String? = nil
  ) {
    self.name = name
    self.predicate = predicate
    self.sort = sort
    self.limit = limit
    self.doc = doc
  }
}

/// A property whose value is a fetch, made when it is asked for. `$FETCH_SOURCE` is the object that has it.
public struct FetchedPropertyDescription: Hashable, Sendable {
  public var name: String
  /// The entity whose objects are fetched.
  public var entity: String
  public var predicate: FetchPredicate?
  public var sort: [SortKey]
  public var limit: Int?
  public var swiftName: String?
  public var info: [String: String]
  public var doc: String?

  public init(
    name: String, entity: String, predicate: FetchPredicate? = nil, sort: [SortKey] = [],
    limit: Int? = nil, swiftName: String? = nil, info: [String: String] = [:], doc: String? = nil
  ) {
    self.name = name
    self.entity = entity
    self.predicate = predicate
    self.sort = sort
    self.limit = limit
    self.swiftName = swiftName
    self.info = info
    self.doc = doc
  }
}
