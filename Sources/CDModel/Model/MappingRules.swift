/// What is said of a step between two versions beyond what can be inferred: the contents of a mapping file, or
/// the same built in code.
///
/// Nothing is checked here. `MigrationStep`, in CDMapping, combines the rules with what it infers, and reports rules
/// that are wrong.
public struct MappingRules: Hashable, Sendable {
  /// The number of the version that the step starts from.
  public var source: Int
  /// The number of the version that the step leads to.
  public var destination: Int
  /// Rules for entities of the destination. Several may be for one entity, or take from one.
  public var entities: [EntityRule]
  /// Entities of the source whose objects may be lost; `Configuration.Entity` for those of one configuration.
  public var drops: [String]
  /// What becomes of objects that a new unique constraint does not allow beside each other.
  public var duplicates: [DuplicateRule]

  /// Rules as given; none where nothing but the versions is.
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

/// Where the objects of an entity come from, and their values where they are not simply those of before.
///
/// A rule for an entity's attribute or relationship, and a drop, hold for its subentities too, where these have
/// no rule of their own. That is all that a rule for an abstract entity is for.
public struct EntityRule: Hashable, Sendable {
  /// The entity of the destination.
  public var destination: String
  /// The entity of the source; nil for the one that the destination is by name or `renamedFrom`.
  public var source: String?
  /// The name of the entity mapping; nil for one made of the entities' names.
  public var name: String?
  /// Whether the app's own code makes the objects, or completes what the rules make.
  public var isCustom: Bool
  /// Which objects of the source entity are taken; nil for all.
  public var filter: FetchPredicate?
  /// What becomes of the objects that belong to objects which the filter leaves behind.
  public var owned: OwnedObjects
  /// Values of attributes, evaluated with the source object. A field of a composite is `attribute.field`.
  public var attributes: [PropertyMapping]
  /// Values of relationships: the objects that came from those that the expression leads to.
  public var relationships: [PropertyMapping]
  /// Properties of the source whose loss is meant.
  public var drops: [String]
  /// What a person has yet to say. The step is not proven as long as there is something.
  public var undecided: [UndecidedPart]

  /// A rule as given; where nothing is, that of what can be inferred.
  public init(
    destination: String, source: String? = nil, name: String? = nil, isCustom: Bool = false,
    filter: FetchPredicate? = nil, owned: OwnedObjects = .drop, attributes: [PropertyMapping] = [],
    relationships: [PropertyMapping] = [], drops: [String] = [], undecided: [UndecidedPart] = []
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

/// A property of the destination and the expression that gives its value, evaluated with the source object.
public struct PropertyMapping: Hashable, Sendable {
  /// The property's name; `attribute.field` for a field of a composite.
  public var name: String
  /// The value, in terms of the source version. Names of enumeration cases have become raw values.
  public var value: ValueExpression

  /// A value for a property.
  public init(name: String, value: ValueExpression) {
    self.name = name
    self.value = value
  }
}

/// What becomes of an object whose owner a filter leaves behind.
///
/// An object owns the objects of its relationships whose delete rule, in the source version, is `cascade`. Other objects
/// only lose their references to what is left behind. Where such a reference is mandatory, the migration ends with an
/// error that names both objects.
public enum OwnedObjects: String, Hashable, Sendable, CaseIterable {
  /// It is left behind too, with what it owns in its turn, as if the owner had been deleted.
  case drop
  /// It goes on without its owner.
  case keep
  /// The migration ends with an error that names the owner.
  case refuse
}

/// A part of an entity's rule that a person has yet to decide.
///
/// An import writes one for an expression of Xcode's mapping model that it could not take over. Inference might put
/// something else in its place. So the step is not proven before a person has written the right rule and has deleted this.
public struct UndecidedPart: Hashable, Sendable {
  /// The name for the choice of objects, which ``EntityRule/filter`` makes.
  public static let filter = "where"

  /// A property of the destination, a field of a composite as `attribute.field`, or ``filter``.
  public var name: String
  /// What is known of it, for whoever decides.
  public var note: String

  /// A part that is to be decided, and what is known of it.
  public init(_ name: String, note: String) {
    self.name = name
    self.note = note
  }
}

/// Which of several objects stays, where a unique constraint that is new allows one.
///
/// The others are deleted; what refers to them refers to the one that stays.
public struct DuplicateRule: Hashable, Sendable {
  /// The objects of an entity in the order of their identifiers.
  public enum Survivor: String, Hashable, Sendable, CaseIterable {
    /// The first of them stays.
    case keepFirst
    /// The last of them stays.
    case keepLast
  }

  /// The entity of the destination that declares the constraint.
  public var entity: String
  /// The properties that are unique together, in any order.
  public var properties: [String]
  /// Which object stays.
  public var survivor: Survivor

  /// A rule for the constraint over some properties.
  public init(entity: String, properties: [String], survivor: Survivor) {
    self.entity = entity
    self.properties = properties
    self.survivor = survivor
  }
}
