public import CDModel

/// A complete mapping from the objects of one version to those of another. It combines inference and rules.
///
/// A ``MigrationStep`` creates it from two versions. To check a mapping model that was built in code,
/// `MappingRules.init(_:)` turns it into rules.
public struct MappingModel: Hashable, Sendable {
  /// The number of the source version.
  public var source: Int
  /// The number of the destination version.
  public var destination: Int
  /// The mappings of the entities. First, in the order of the destination, come the concrete entities of the
  /// destination, with several mappings if there are several sources. Then follows a mapping for each entity of the
  /// source that is left out.
  public var entityMappings: [EntityMapping]
  /// How to resolve duplicates under new unique constraints.
  public var duplicates: [DuplicateRule]

  /// Creates a mapping model.
  public init(
    source: Int, destination: Int, entityMappings: [EntityMapping], duplicates: [DuplicateRule] = []
  ) {
    self.source = source
    self.destination = destination
    self.entityMappings = entityMappings
    self.duplicates = duplicates
  }

  /// The mapping with a name; nil if there is none.
  public func entityMapping(named name: String) -> EntityMapping? {
    entityMappings.first { $0.name == name }
  }

  /// The mappings that create objects of a destination entity, without its subentities.
  public func entityMappings(to destination: String) -> [EntityMapping] {
    entityMappings.filter { $0.destination == destination }
  }

  /// The mappings that use the objects of a source entity, without its subentities.
  public func entityMappings(from source: String) -> [EntityMapping] {
    entityMappings.filter { $0.source == source }
  }
}

/// The mapping of the objects of one entity. Subentities have mappings of their own, and an abstract entity has no
/// objects and no mapping.
public struct EntityMapping: Hashable, Sendable {
  /// How the objects of the destination are created.
  public enum Kind: String, Hashable, Sendable, CaseIterable {
    /// The entity is new, so there are no objects.
    case add
    /// The entity is removed with its objects.
    case remove
    /// Rows stay unchanged.
    case copy
    /// Rows are changed by the property mappings.
    case transform
    /// The app's own code creates the objects, after the property mappings if there is a source.
    case custom
  }

  /// How the objects of the destination are created.
  public var kind: Kind
  /// A name that is unique within the model: `ContactToPerson`, `AddPhoto`, `RemoveLog`.
  public var name: String
  /// The entity of the source; nil if there is none.
  public var source: String?
  /// The entity of the destination; nil if the objects are left out.
  public var destination: String?
  /// The condition that objects of the source must meet to be migrated; nil for all objects.
  public var filter: FetchPredicate?
  /// What happens to objects whose owner the filter excludes.
  public var owned: OwnedObjects
  /// The value of each stored attribute that is not derived, including inherited ones. Each field of a composite has
  /// its own entry, `attribute.field`. Empty if there is no source. In a custom mapping, values that only the app knows
  /// are missing.
  public var attributes: [PropertyMapping]
  /// The source of each relationship's objects, including inherited relationships. Empty if the mapping has no source.
  public var relationships: [RelationshipMapping]
  /// Properties of the source that may be lost.
  public var drops: [String]

  /// Creates an entity mapping.
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

  /// The rules that are one word, by their key in mapping files, without those that have their default.
  package var words: [(key: String, word: String)] {
    owned == .drop ? [] : [("owned", owned.rawValue)]
  }
}

/// A relationship of the destination and the source of its objects.
public struct RelationshipMapping: Hashable, Sendable {
  /// The source of a relationship's objects.
  public enum Value: Hashable, Sendable {
    /// The objects that were migrated from the source objects that an expression gives. If several objects were
    /// migrated from one, a to-many relationship contains all of them. A to-one relationship contains the one from the
    /// first mapping that created an object of its entity.
    case objects(ValueExpression)
    /// The objects that refer to this object by the inverse relationship, which has its own mapping.
    case inverse
    /// The relationship has no objects.
    case none
  }

  /// The relationship's name.
  public var name: String
  /// The source of its objects.
  public var value: Value

  /// Creates a relationship mapping.
  public init(name: String, value: Value) {
    self.name = name
    self.value = value
  }
}

extension MappingRules {
  /// Creates the rules that express everything in a mapping model. A mapping model built in code can thus be checked in
  /// the same way as a mapping file.
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
