public import CDModel

/// How the objects of one version become those of another, whole: what was inferred and what rules say.
///
/// A ``MigrationStep`` makes it of two versions. One built in code is checked by the same means, as
/// `MappingRules.init(_:)` makes rules of it.
public struct MappingModel: Hashable, Sendable {
  /// The number of the version that the objects come from.
  public var source: Int
  /// The number of the version that they become objects of.
  public var destination: Int
  /// A mapping for each entity of the destination that has objects, several where there are several sources,
  /// in the order of that version; then one for each entity of the source that is left behind.
  public var entityMappings: [EntityMapping]
  /// What becomes of duplicates under unique constraints that are new.
  public var duplicates: [DuplicateRule]

  /// A mapping model as given.
  public init(
    source: Int, destination: Int, entityMappings: [EntityMapping], duplicates: [DuplicateRule] = []
  ) {
    self.source = source
    self.destination = destination
    self.entityMappings = entityMappings
    self.duplicates = duplicates
  }

  /// The mapping of a name, or nil where there is none.
  public func entityMapping(named name: String) -> EntityMapping? {
    entityMappings.first { $0.name == name }
  }

  /// The mappings that make objects of an entity of the destination, not of its subentities.
  public func entityMappings(to destination: String) -> [EntityMapping] {
    entityMappings.filter { $0.destination == destination }
  }

  /// The mappings that take objects of an entity of the source, not of its subentities.
  public func entityMappings(from source: String) -> [EntityMapping] {
    entityMappings.filter { $0.source == source }
  }
}

/// What becomes of the objects of one entity, those of its subentities not included: an abstract entity has
/// none, and so no mapping.
public struct EntityMapping: Hashable, Sendable {
  /// How the objects come about.
  public enum Kind: String, Hashable, Sendable, CaseIterable {
    /// The entity is new: there are no objects.
    case add
    /// The entity is gone, and its objects with it.
    case remove
    /// Rows stay exactly as they are.
    case copy
    /// Rows are changed as the property mappings say.
    case transform
    /// The app's own code makes the objects, after the property mappings where there is a source.
    case custom
  }

  /// How the objects come about.
  public var kind: Kind
  /// A name that no other mapping of the model has: `ContactToPerson`, `AddPhoto`, `RemoveLog`.
  public var name: String
  /// The entity of the source; nil where there is none.
  public var source: String?
  /// The entity of the destination; nil where the objects are left behind.
  public var destination: String?
  /// Which objects of the source are taken; nil for all.
  public var filter: FetchPredicate?
  /// What becomes of the objects that belong to objects which the filter leaves behind.
  public var owned: OwnedObjects
  /// The value of each stored attribute that is not derived, inherited ones included; each field of a
  /// composite is one, `attribute.field`. Empty where there is no source, and, of a custom mapping, without
  /// those that only the app knows.
  public var attributes: [PropertyMapping]
  /// Where each relationship's objects come from, inherited ones included. Empty where there is no source.
  public var relationships: [RelationshipMapping]
  /// Properties of the source whose loss is meant.
  public var drops: [String]

  /// A mapping as given.
  public init(
    kind: Kind, name: String, source: String? = nil, destination: String? = nil,
    filter: FetchPredicate? = nil, owned: OwnedObjects = .drop, attributes: [PropertyMapping] = [],
    relationships: [RelationshipMapping] = [], drops: [String] = []
  ) {
    self.owned = owned
    self.kind = kind
    self.name = name
    self.source = source
    self.destination = destination
    self.filter = filter
    self.attributes = attributes
    self.relationships = relationships
    self.drops = drops
  }
}

/// A relationship of the destination and where its objects come from.
public struct RelationshipMapping: Hashable, Sendable {
  /// Where the objects of a relationship come from.
  public enum Value: Hashable, Sendable {
    /// They are what became of the source objects that an expression leads to. Where several objects came of
    /// one, they are all in a to-many relationship, and a to-one leads to that of the first mapping that made
    /// one of its entity.
    case objects(ValueExpression)
    /// They are those that refer to this object by the inverse relationship, which has a mapping.
    case inverse
    /// There are none.
    case none
  }

  /// The relationship's name.
  public var name: String
  /// Where its objects come from.
  public var value: Value

  /// Objects for a relationship.
  public init(name: String, value: Value) {
    self.name = name
    self.value = value
  }
}

extension MappingRules {
  /// The rules that say everything that a mapping model says, so that one that was built in code can be
  /// checked as a mapping file is.
  public init(_ mapping: MappingModel) {
    self.init(source: mapping.source, destination: mapping.destination, duplicates: mapping.duplicates)
    for each in mapping.entityMappings {
      guard let destination = each.destination else {
        if let source = each.source { drops.append(source) }
        continue
      }
      if each.kind == .add { continue }
      entities.append(
        EntityRule(
          destination: destination, source: each.source, name: each.name, isCustom: each.kind == .custom,
          filter: each.filter, owned: each.owned, attributes: each.attributes,
          relationships: each.relationships.compactMap { relationship in
            switch relationship.value {
            case .objects(let value): PropertyMapping(name: relationship.name, value: value)
            case .none: PropertyMapping(name: relationship.name, value: .null)
            case .inverse: nil
            }
          }, drops: each.drops))
    }
  }
}
