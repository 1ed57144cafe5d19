/// The rules of a migration step between two versions, in addition to what can be inferred: the contents of a mapping
/// file, or rules built in code.
///
/// Creating rules checks nothing. `MigrationStep`, in CDMapping, combines the rules with what it infers, and reports
/// wrong rules.
public struct MappingRules: Hashable, Sendable {
  /// The number of the source version.
  public var source: Int
  /// The number of the destination version.
  public var destination: Int
  /// Rules for entities of the destination. Several rules may have the same destination or source entity.
  public var entities: [EntityRule]
  /// Entities of the source whose objects may be lost; `Configuration.Entity` for those of one configuration only.
  public var drops: [String]
  /// How to resolve duplicates that a new unique constraint does not allow.
  public var duplicates: [DuplicateRule]

  /// Creates rules. By default they contain only the two versions.
  public init(
    source: Int, destination: Int, entities: [EntityRule] = [], drops: [String] = [],
    duplicates: [DuplicateRule] = []
  ) {
    self.source = source
    self.destination = destination
    self.entities = entities
    self.drops = drops
    self.duplicates = duplicates
  }
}

/// The source of an entity's objects, and the values that are not simply copied.
///
/// A rule for an attribute or relationship, and a drop, also apply to subentities that have no rule of their own. This
/// is the only purpose of a rule for an abstract entity.
public struct EntityRule: Hashable, Sendable {
  /// The entity of the destination.
  public var destination: String
  /// The entity of the source; nil for the entity with the destination's name or its `renamedFrom`.
  public var source: String?
  /// The name of the entity mapping; nil for a name derived from the entities' names.
  public var name: String?
  /// Whether the app's own code creates the objects, or completes those that the rules create.
  public var isCustom: Bool
  /// The condition that objects of the source entity must meet to be migrated; nil for all objects.
  public var filter: FetchPredicate?
  /// What happens to objects whose owner the filter excludes.
  public var owned: OwnedObjects
  /// The values of attributes, evaluated with the source object. A field of a composite is `attribute.field`.
  public var attributes: [PropertyMapping]
  /// The values of relationships. The expression gives source objects; the value is the objects migrated from them.
  public var relationships: [PropertyMapping]
  /// Properties of the source that may be lost.
  public var drops: [String]
  /// The parts that a person must still decide. The step is not proven while there are any.
  package var undecided: [UndecidedPart]

  /// Creates a rule. By default it adds nothing to what can be inferred.
  public init(
    destination: String, source: String? = nil, name: String? = nil, isCustom: Bool = false,
    filter: FetchPredicate? = nil, owned: OwnedObjects = .drop, attributes: [PropertyMapping] = [],
    relationships: [PropertyMapping] = [], drops: [String] = []
  ) {
    self.init(
      destination: destination, source: source, name: name, isCustom: isCustom, filter: filter, owned: owned,
      attributes: attributes, relationships: relationships, drops: drops, undecided: [])
  }

  /// Creates a rule of which a person must still decide parts.
  package init(
    destination: String, source: String? = nil, name: String? = nil, isCustom: Bool = false,
    filter: FetchPredicate? = nil, owned: OwnedObjects = .drop, attributes: [PropertyMapping] = [],
    relationships: [PropertyMapping] = [], drops: [String] = [], undecided: [UndecidedPart]
  ) {
    self.owned = owned
    self.destination = destination
    self.source = source
    self.name = name
    self.isCustom = isCustom
    self.filter = filter
    self.attributes = attributes
    self.relationships = relationships
    self.drops = drops
    self.undecided = undecided
  }
}

/// A property of the destination and the expression for its value. The expression is evaluated with the source object.
public struct PropertyMapping: Hashable, Sendable {
  /// The property's name, or `attribute.field` for a field of a composite.
  public var name: String
  /// The value as an expression over the source version. Names of enumeration cases are already replaced by raw values.
  public var value: ValueExpression

  /// Creates a mapping for a property.
  public init(name: String, value: ValueExpression) {
    self.name = name
    self.value = value
  }
}

/// What happens to an object whose owner a filter excludes.
///
/// An object owns the objects of its relationships whose delete rule, in the source version, is `cascade`. Other
/// objects only lose their references to excluded objects. If such a reference is mandatory, the migration ends with an
/// error that names both objects.
public enum OwnedObjects: String, Hashable, Sendable, CaseIterable {
  /// The object is excluded too, with the objects that it owns, as if the owner had been deleted.
  case drop
  /// The object is migrated without its owner.
  case keep
  /// The migration ends with an error that names the owner.
  case refuse
}

/// A part of an entity's rule that a person must still decide.
///
/// An import adds one for an expression of Xcode's mapping model that it cannot translate. Inference might use another
/// value instead, so the step is not proven until a person has written the right rule and deleted this entry.
package struct UndecidedPart: Hashable, Sendable {
  /// The name of the part that ``EntityRule/filter`` decides.
  package static let filter = "where"

  /// A property of the destination, `attribute.field` for a field of a composite, or ``filter``.
  package var name: String
  /// Information for the person who decides about the part.
  package var note: String

  /// Creates an undecided part with a note.
  package init(_ name: String, note: String) {
    self.name = name
    self.note = note
  }
}

/// Which of several objects is kept if a new unique constraint allows only one.
///
/// The others are deleted. References to them are changed to the object that is kept. If several objects of an optional
/// one-to-one relationship would then refer to this object, one of them still does.
public struct DuplicateRule: Hashable, Sendable {
  /// Which object is kept, in the order of the objects' identifiers.
  public enum Survivor: String, Hashable, Sendable, CaseIterable {
    /// The first object is kept.
    case keepFirst
    /// The last object is kept.
    case keepLast
  }

  /// The entity of the destination that declares the constraint.
  public var entity: String
  /// The properties of the constraint, in any order.
  public var properties: [String]
  /// Which object is kept.
  public var survivor: Survivor

  /// Creates a rule for the constraint over the properties.
  public init(entity: String, properties: [String], survivor: Survivor) {
    self.entity = entity
    self.properties = properties
    self.survivor = survivor
  }
}
