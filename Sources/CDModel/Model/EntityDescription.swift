/// An entity as declared in the schema, with its own properties but without inherited ones.
///
/// ``EntityGraph`` gives all properties of an entity, including inherited ones.
public struct EntityDescription: Hashable, Sendable {
  /// The name in the model. The table of a root entity has the same name.
  public var name: String

  /// The name of the Swift class, if it differs from the entity's name.
  public var className: String?

  /// Whether the entity is abstract: it has no objects of its own.
  public var isAbstract: Bool

  /// The entity whose properties this one inherits.
  public var parent: String?

  /// The entity's name in the version that this one is based on.
  public var renamedFrom: String?

  /// The attributes that the entity itself declares, in order of declaration.
  public var attributes: [AttributeDescription]
  /// The relationships that the entity itself declares, in order of declaration.
  public var relationships: [RelationshipDescription]
  /// The fetched properties that the entity itself declares, in order of declaration.
  public var fetchedProperties: [FetchedPropertyDescription]
  /// The named fetches that the entity declares.
  public var fetchTemplates: [FetchTemplate]
  /// The indexes over the entity's own or inherited properties.
  public var indexes: [IndexDescription]

  /// Lists of property names. The values of each list together are unique among the objects of the entity and its
  /// subentities. If one of the values is nil, the list does not constrain the object.
  public var uniquenessConstraints: [[String]]

  /// A text whose only effect is to change the entity's data hash, so that stores are migrated.
  public var hashModifier: String?
  /// Free keys and values. cdgen keeps them, but does not use them.
  public var info: [String: String]
  /// A description for readers of the schema and of the generated code.
  public var doc: String?

  /// Creates an entity. The default values are those of the schema language.
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
  /// The indexed key paths, in order.
  public var elements: [SortKey]

  /// Creates an index over the elements, in their order.
  public init(elements: [SortKey]) {
    self.elements = elements
  }
}

/// A key path with a direction: an element of an index or of a sort order.
public struct SortKey: Hashable, Sendable {
  /// The key path in its written form, such as `dueDate` or `author.name`.
  public var keyPath: String
  /// Whether smaller values come first.
  public var isAscending: Bool
  /// How strings are compared: by their code units without options, and ignoring case with
  /// ``ComparisonOptions/caseInsensitive``. Only a fetch's sort order can have options, not an index.
  public var options: ComparisonOptions

  /// Creates a sort key, in ascending order by default.
  public init(_ keyPath: String, ascending: Bool = true, options: ComparisonOptions = []) {
    self.keyPath = keyPath
    self.isAscending = ascending
    self.options = options
  }
}

/// A named fetch of the schema. Its variables become parameters of a generated function.
public struct FetchTemplate: Hashable, Sendable {
  /// The name. The name of the generated function is derived from it.
  public var name: String
  /// The condition that the objects must meet; nil to fetch all.
  public var predicate: FetchPredicate?
  /// The order of the result, most significant key first; empty for no fixed order.
  public var sort: [SortKey]
  /// The maximum number of objects to fetch; nil for no limit.
  public var limit: Int?
  /// A description for readers of the schema and of the generated code.
  public var doc: String?

  /// Creates a fetch. By default it fetches all objects in no fixed order.
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

/// A property whose value is the result of a fetch, made when the property is read. In its predicate, `$FETCH_SOURCE`
/// is the object that has the property.
public struct FetchedPropertyDescription: Hashable, Sendable {
  /// The property's name in the model.
  public var name: String
  /// The entity whose objects are fetched.
  public var entity: String
  /// The condition that the objects must meet; nil to fetch all.
  public var predicate: FetchPredicate?
  /// The order of the result, most significant key first; empty for no fixed order.
  public var sort: [SortKey]
  /// The maximum number of objects to fetch; nil for no limit.
  public var limit: Int?
  /// The name in Swift, if it differs from the property's name.
  public var swiftName: String?
  /// Free keys and values. cdgen keeps them, but does not use them.
  public var info: [String: String]
  /// A description for readers of the schema and of the generated code.
  public var doc: String?

  /// Creates a fetched property. By default it fetches all objects in no fixed order.
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
