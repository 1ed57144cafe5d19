package import CDModel

/// A difference between two versions, what it means for stored data, and how it is resolved.
public struct ModelChange: Hashable, Sendable {
  /// What a change means for stored objects.
  public enum Verdict: Hashable, Sendable {
    /// No data is lost, and no rule is needed.
    case automatic
    /// Some data is lost. A `drop` must confirm the loss.
    case losesData
    /// Some objects would lack a valid value. A rule or the app's own code must supply it.
    case needsRule
  }

  /// How a change is resolved. Later cases are less resolved than earlier ones.
  public enum Resolution: Hashable, Sendable, Comparable {
    /// The change needs no rule.
    case automatic
    /// A rule supplies the values.
    case mapped
    /// The app's own code supplies the values.
    case custom
    /// A drop confirms the loss.
    case confirmed
    /// The change is not resolved, so the step is not proven.
    case open
  }

  /// The difference.
  package let kind: Kind
  /// What the change means for stored objects.
  public let verdict: Verdict
  /// How the change is resolved.
  public let resolution: Resolution
  /// The number of the source version.
  package let source: Int
  /// The number of the destination version.
  package let destination: Int
  /// The names of the affected entity mappings. If the change is open, only the mappings that do not resolve it.
  package let mappings: [String]
  /// Elements that may be the same under another name: elements of the destination for a removed element, and elements
  /// of the source for a new one.
  public let candidates: [String]
  /// Possible remedies, the best one first. Empty unless the change is open.
  package let remedies: [Remedy]

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

extension ModelChange {
  /// The possible differences. Names are those of the destination; removed elements have their names in the source.
  package enum Kind: Hashable, Sendable {
    /// The destination has an entity that the source does not have.
    case entityAdded(String)
    /// The source has an entity that the destination does not have.
    case entityRemoved(String)
    /// An entity has another name.
    case entityRenamed(from: String, to: String)
    /// An entity has another parent than before, a new parent, or no parent any more.
    case parentChanged(entity: String, from: String?, to: String?)
    /// The entity had objects of its own, and is now abstract.
    case entityBecameAbstract(String)
    /// The entity was abstract, and can now have objects of its own.
    case entityBecameConcrete(String)
    /// The entity still exists by name, but no mapping takes its objects: the rules for the entity use other sources.
    case entityUnmapped(String)
    /// A filter excludes objects of a source entity, and every other mapping of that entity has a filter too.
    case objectsFiltered(String)
    /// Objects of a source entity are left out because a filter excludes their owners.
    case ownedObjectsLeft(String, owners: [PropertyName])
    /// Only a `hashModifier` has changed.
    case modifierChanged(ModelElement)
    /// A configuration no longer contains an entity. Its stores can then not keep the entity's objects.
    case entityLeftConfiguration(entity: String, configuration: String)

    /// A rule does not decide yet what happens to a property, or which objects of an entity are migrated.
    case undecided(ModelElement, note: String)

    /// The objects have an additional stored value.
    case attributeAdded(PropertyName)
    /// The objects no longer have a stored value.
    case attributeRemoved(PropertyName)
    /// An attribute, or a field of a composite, has another name.
    case attributeRenamed(from: PropertyName, to: PropertyName)
    /// A `renamedFrom` names another entity, but no object of that entity becomes an object of the property's entity.
    case renameUnresolved(ModelElement, from: String)
    /// Another entity declares the attribute.
    case attributeMoved(from: PropertyName, to: PropertyName)
    /// The type of the values has changed. For two enumerations, the raw types are named.
    case attributeTypeChanged(
      PropertyName, from: AttributeType, to: AttributeType, conversion: TypeConversion)
    /// The type or codec of a codable attribute has changed. Only the app understands its JSON.
    case codableChanged(PropertyName, from: AttributeType, to: AttributeType)
    /// Nil is now allowed.
    case attributeBecameOptional(PropertyName)
    /// Nil is no longer allowed.
    case attributeBecameMandatory(PropertyName)
    /// The values are no longer stored.
    case attributeBecameTransient(PropertyName)
    /// The values were not stored before.
    case attributeBecameStored(PropertyName)
    /// The values are now computed.
    case attributeBecameDerived(PropertyName)
    /// The values are no longer computed.
    case attributeBecamePlain(PropertyName)
    /// The values are computed by another expression.
    case derivationChanged(PropertyName)
    /// The attribute has another default value.
    case defaultChanged(PropertyName)
    /// Values are now stored in separate files, or no longer.
    case storageChanged(PropertyName)
    /// Bounds, lengths, a pattern or counts allow less than before, or a new to-many relationship needs at least one
    /// object. Valid objects may become invalid.
    case rulesTightened(ModelElement)

    /// The enumeration has new cases.
    case casesAdded(enumeration: String, [String])
    /// Cases have new names and the same raw values as before.
    case casesRenamed(enumeration: String, from: [String], to: [String])
    /// The enumeration no longer has some cases, but objects may have their raw values.
    case casesRemoved(PropertyName, enumeration: String, [String])
    /// Cases have different raw values than before.
    case caseValuesChanged(PropertyName, enumeration: String, [String])
    /// Raw values become values of an enumeration, which may not have a case for each of them.
    case becameEnumeration(PropertyName, enumeration: String)

    /// The objects have a new relationship.
    case relationshipAdded(PropertyName)
    /// The objects no longer have a relationship. `losesOnlyOrder` is true if the relationship was ordered and its inverse
    /// still contains which objects are related. The new version may declare the relationship all the same, and the objects
    /// get it from the inverse.
    case relationshipRemoved(PropertyName, losesOnlyOrder: Bool = false, isDeclared: Bool = false)
    /// A relationship has another name.
    case relationshipRenamed(from: PropertyName, to: PropertyName)
    /// Another entity declares the relationship.
    case relationshipMoved(from: PropertyName, to: PropertyName)
    /// The relationship has another destination entity, or some of its destination objects are not migrated. `lost` are
    /// the source entities whose objects it can no longer contain.
    case relationshipDestinationChanged(PropertyName, from: String, to: String, lost: [String])
    /// The relationship contained at most one object, and can now contain several.
    case relationshipBecameToMany(PropertyName)
    /// The relationship could contain several objects, and can now contain only one. If the relationship gets its objects
    /// from its inverse, `inverse` is that one: several objects could refer to the same object by it.
    case relationshipBecameToOne(PropertyName, inverse: PropertyName? = nil)
    /// The relationship is now ordered.
    case relationshipBecameOrdered(PropertyName)
    /// The relationship is no longer ordered.
    case relationshipBecameUnordered(PropertyName)
    /// The relationship may now be without an object.
    case relationshipBecameOptional(PropertyName)
    /// The relationship must now have an object. `unenforced` is the inverse if the relationship was mandatory before, but
    /// the inverse's rule `noAction` could leave it with a reference to a deleted object.
    case relationshipBecameMandatory(PropertyName, unenforced: PropertyName? = nil)
    /// The relationship has another inverse. `isConflict` is true if both sides have objects of their own.
    case inverseChanged(PropertyName, from: String?, to: String?, isConflict: Bool)
    /// The delete rule has changed.
    case deleteRuleChanged(PropertyName)

    /// Values must now be unique, but several objects of the source may have the same values.
    case uniqueConstraintAdded(entity: String, properties: [String])
    /// Values no longer have to be unique.
    case uniqueConstraintRemoved(entity: String, properties: [String])
    /// The indexes of a store have changed.
    case indexesChanged(entity: String)
  }

  /// Whether the change has no resolution, so that the step is not proven.
  public var isOpen: Bool { resolution == .open }
}
