public import CDModel

/// What differs between two versions, what that means for stored data, and whether there is a rule for it.
public struct ModelChange: Hashable, Sendable {
  /// What a change means for objects that are stored.
  public enum Verdict: Hashable, Sendable {
    /// Nothing is needed and nothing lost.
    case automatic
    /// Objects go on, and something of them is lost. That must be meant: a `drop` says so.
    case losesData
    /// Some objects would be without a valid value. A rule, or the app's own code, must give one.
    case needsRule
  }

  /// What there is for a change.
  public enum Resolution: Hashable, Sendable, Comparable {
    /// Nothing is needed.
    case automatic
    /// A rule gives the values.
    case mapped
    /// The app's own code does.
    case custom
    /// The loss is meant.
    case confirmed
    /// Nothing: the step is not proven.
    case open
  }

  /// What differs.
  public let kind: Kind
  /// What it means for objects.
  public let verdict: Verdict
  /// What there is for it.
  public let resolution: Resolution
  /// The number of the version that objects come from.
  public let source: Int
  /// The number of the version that they are to be objects of.
  public let destination: Int
  /// The names of the entity mappings that it concerns; those without an answer, where it is open.
  public let mappings: [String]
  /// Elements of the destination that what is gone may have become; of the source, that what is new may have
  /// been.
  public let candidates: [String]
  /// What can be done about it, the best first. Empty unless it is open.
  public let remedies: [Remedy]

  init(
    kind: Kind, verdict: Verdict, resolution: Resolution, source: Int, destination: Int,
    mappings: [String], candidates: [String] = [], remedies: [Remedy] = []
  ) {
    self.kind = kind
    self.verdict = verdict
    self.resolution = resolution
    self.source = source
    self.destination = destination
    self.mappings = mappings
    self.candidates = candidates
    self.remedies = remedies
  }
}

/// A property of an entity that declares it; a field of a composite attribute is `attribute.field`.
public struct PropertyName: Hashable, Sendable, CustomStringConvertible {
  /// The entity that declares the property.
  public var entity: String
  /// The property's name, or `attribute.field`.
  public var name: String

  /// A property of an entity.
  public init(_ entity: String, _ name: String) {
    self.entity = entity
    self.name = name
  }

  /// As messages have it: `'name' of 'ToDo'`.
  public var description: String { "'\(name)' of '\(entity)'" }
}

extension ModelChange {
  /// What can differ. Names are those of the destination; what is gone has those of the source.
  public enum Kind: Hashable, Sendable {
    /// The destination has an entity that the source has not.
    case entityAdded(String)
    /// The source has an entity that the destination has not.
    case entityRemoved(String)
    /// An entity has another name.
    case entityRenamed(from: String, to: String)
    /// An entity inherits from another one than before, or has begun or ceased to inherit.
    case parentChanged(entity: String, from: String?, to: String?)
    /// It had objects of its own, and can have none.
    case entityBecameAbstract(String)
    /// It can have objects of its own now.
    case entityBecameConcrete(String)
    /// The source entity is still there by name, and its objects go nowhere: rules for the entity take others.
    case entityUnmapped(String)
    /// A filter leaves objects of a source entity behind that no other mapping takes.
    case objectsFiltered(String)
    /// Objects of a source entity go with those that own them and that a filter leaves behind.
    case ownedObjectsLeft(String, owners: [PropertyName])
    /// Only a `hashModifier` is another.
    case modifierChanged(VersionElement)
    /// A configuration no longer has an entity, so that stores of it have no place for its objects.
    case entityLeftConfiguration(entity: String, configuration: String)

    /// A rule leaves open what becomes of a property, or which objects of an entity are taken.
    case undecided(VersionElement, note: String)

    /// The objects have a stored value more.
    case attributeAdded(PropertyName)
    /// The objects have a stored value less.
    case attributeRemoved(PropertyName)
    /// An attribute, or a field of a composite, has another name.
    case attributeRenamed(from: PropertyName, to: PropertyName)
    /// A `renamedFrom` speaks of another entity, and no object of that one becomes one of the property's.
    case renameUnresolved(VersionElement, from: String)
    /// Another entity declares it.
    case attributeMoved(from: PropertyName, to: PropertyName)
    /// The values are of another type. Of two enumerations it is the raw types that are named.
    case attributeTypeChanged(
      PropertyName, from: AttributeType, to: AttributeType, conversion: TypeConversion)
    /// The type or the codec of a codable, of which only the app knows what it means.
    case codableChanged(PropertyName, from: AttributeType, to: AttributeType)
    /// nil is a value now.
    case attributeBecameOptional(PropertyName)
    /// nil is no value any more.
    case attributeBecameMandatory(PropertyName)
    /// The values are no longer stored.
    case attributeBecameTransient(PropertyName)
    /// The values were not stored before.
    case attributeBecameStored(PropertyName)
    /// The values are calculated now.
    case attributeBecameDerived(PropertyName)
    /// The values were calculated before.
    case attributeBecamePlain(PropertyName)
    /// The values are calculated in another way.
    case derivationChanged(PropertyName)
    /// New objects have another value.
    case defaultChanged(PropertyName)
    /// Values move into files of their own, or back.
    case storageChanged(PropertyName)
    /// Bounds, lengths, a pattern or counts allow less than before, or a new to-many relationship wants an object at
    /// least: objects may be invalid that were not.
    case rulesTightened(VersionElement)

    /// Cases that were not there before.
    case casesAdded(enumeration: String, [String])
    /// Cases with the raw values of before and other names.
    case casesRenamed(enumeration: String, from: [String], to: [String])
    /// Cases are gone whose raw values objects may have.
    case casesRemoved(PropertyName, enumeration: String, [String])
    /// Cases have other raw values than before.
    case caseValuesChanged(PropertyName, enumeration: String, [String])
    /// Raw values become those of an enumeration, which need not have a case for each.
    case becameEnumeration(PropertyName, enumeration: String)

    /// The objects have a relationship more.
    case relationshipAdded(PropertyName)
    /// The objects have a relationship less.
    case relationshipRemoved(PropertyName)
    /// A relationship has another name.
    case relationshipRenamed(from: PropertyName, to: PropertyName)
    /// Another entity declares it.
    case relationshipMoved(from: PropertyName, to: PropertyName)
    /// It leads to another entity, or not all that it led to goes on. `lost` are the source entities whose
    /// objects it can no longer lead to.
    case relationshipDestinationChanged(PropertyName, from: String, to: String, lost: [String])
    /// It led to one object and leads to several.
    case relationshipBecameToMany(PropertyName)
    /// It led to several objects and leads to one.
    case relationshipBecameToOne(PropertyName)
    /// It keeps an order now.
    case relationshipBecameOrdered(PropertyName)
    /// It no longer keeps an order.
    case relationshipBecameUnordered(PropertyName)
    /// It need not lead to an object any more.
    case relationshipBecameOptional(PropertyName)
    /// It must lead to an object now.
    case relationshipBecameMandatory(PropertyName)
    /// It is the inverse of another than before. `isConflict` where both sides have objects of their own.
    case inverseChanged(PropertyName, from: String?, to: String?, isConflict: Bool)
    /// A deletion does something else to its objects.
    case deleteRuleChanged(PropertyName)

    /// Values must be unique that objects of the source may share.
    case uniqueConstraintAdded(entity: String, properties: [String])
    /// Values need not be unique any more.
    case uniqueConstraintRemoved(entity: String, properties: [String])
    /// A store has other indexes to keep.
    case indexesChanged(entity: String)
  }

  /// Whether only the case of a name's letters is another: a store then has to take a third name on the way.
  public var isCaseOnlyRename: Bool {
    switch kind {
    case .entityRenamed(let from, let to): from != to && from.lowercased() == to.lowercased()
    case .attributeRenamed(let from, let to), .relationshipRenamed(let from, let to):
      from.name != to.name && from.name.lowercased() == to.name.lowercased()
    default: false
    }
  }

  /// Whether the step is not proven for want of a rule for it.
  public var isOpen: Bool { resolution == .open }
}
