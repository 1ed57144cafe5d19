/// An entity as it was declared: its own properties, without those it inherits.
///
/// ``EntityGraph`` answers what an entity has altogether.
public struct EntityDescription: Hashable, Sendable {
  /// The name in the model, and of the table where the entity is a root.
  public var name: String

  /// The name of the Swift class, where it is not the entity's.
  public var className: String?

  /// An abstract entity has no objects of its own.
  public var isAbstract: Bool

  /// The entity whose properties this one inherits.
  public var parent: String?

  /// The entity's name in the version that this one is based on.
  public var renamedFrom: String?

  /// The attributes that the entity itself declares, in that order.
  public var attributes: [AttributeDescription]
  /// The relationships that the entity itself declares, in that order.
  public var relationships: [RelationshipDescription]
  /// The fetched properties that the entity itself declares, in that order.
  public var fetchedProperties: [FetchedPropertyDescription]
  /// The fetches that the schema names under this entity.
  public var fetchTemplates: [FetchTemplate]
  /// The indexes over properties of the entity, its own or inherited.
  public var indexes: [IndexDescription]

  /// Lists of property names whose values together are unique among the entity's objects and those of its
  /// subentities. A list in which a value is nil constrains nothing.
  public var uniquenessConstraints: [[String]]

  /// Text that changes the entity's data hash, so that stores are migrated, and has no other effect.
  public var hashModifier: String?
  /// Free keys and values, which cdgen keeps and does not read.
  public var info: [String: String]
  /// What the entity is, for the readers of the schema and of the generated code.
  public var doc: String?

  /// An entity as given; what is left out is the schema language's rule.
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
  /// What is indexed, the first element first.
  public var elements: [SortKey]

  /// An index over the elements, in their order.
  public init(elements: [SortKey]) {
    self.elements = elements
  }
}

/// A key path and a direction: an element of an index or of a sort order.
public struct SortKey: Hashable, Sendable {
  /// The key path as it is written, `dueDate` or `author.name`.
  public var keyPath: String
  /// Whether smaller values come first.
  public var isAscending: Bool
  /// How strings are compared: by their code units where nothing is said, without case with
  /// ``ComparisonOptions/caseInsensitive``. Only a fetch's order can have options; an index has none.
  public var options: ComparisonOptions

  /// A key path, in ascending order unless told otherwise.
  public init(_ keyPath: String, ascending: Bool = true, options: ComparisonOptions = []) {
    self.keyPath = keyPath
    self.isAscending = ascending
    self.options = options
  }
}

/// A fetch that the schema names; its variables become the parameters of a generated function.
public struct FetchTemplate: Hashable, Sendable {
  /// The name, from which the generated function has its own.
  public var name: String
  /// Which objects are fetched; nil for all.
  public var predicate: FetchPredicate?
  /// The order of the result, the first key first; empty for no fixed order.
  public var sort: [SortKey]
  /// The most objects to fetch; nil for all.
  public var limit: Int?
  /// What the fetch is, for the readers of the schema and of the generated code.
  public var doc: String?

  /// A fetch as given: of all objects, in no fixed order, where nothing else is said.
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
  /// The property's name in the model.
  public var name: String
  /// The entity whose objects are fetched.
  public var entity: String
  /// Which objects are fetched; nil for all.
  public var predicate: FetchPredicate?
  /// The order of the value, the first key first; empty for no fixed order.
  public var sort: [SortKey]
  /// The most objects to fetch; nil for all.
  public var limit: Int?
  /// The name in Swift, where it is not the property's.
  public var swiftName: String?
  /// Free keys and values, which cdgen keeps and does not read.
  public var info: [String: String]
  /// What the property is, for the readers of the schema and of the generated code.
  public var doc: String?

  /// A fetched property as given: of all objects, in no fixed order, where nothing else is said.
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
