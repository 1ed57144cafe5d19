/// A property of an entity, with the information for reading and writing it. It is a class so that passing it costs
/// little.
package final class PropertyPlan: Sendable {
  /// What a property is. It is indirect, because a description is large, and reading `kind` copies it.
  package indirect enum Kind: Sendable {
    case attribute(AttributeDescription, StorageType)
    case composite(AttributeDescription, [FieldPlan])
    case relationship(RelationshipPlan)
  }

  /// The number of the property's slot.
  package let number: Int
  package let name: String
  /// The entity that declares the property.
  package let owner: String
  package let kind: Kind
  /// The columns that hold the value; empty if it is not stored.
  package let columns: Range<Int>
  /// The storage type of an attribute; nil for a composite and for a relationship. Reading it from `kind` would retain
  /// and release the values in `kind`.
  package let storageType: StorageType?
  /// Whether the property is an attribute that is computed from an expression. It is stored here because copying the
  /// attribute out of `kind` retains all of its values; the same is true of the next property.
  package let isDerived: Bool
  /// Whether the property is an attribute whose large values are files beside the store: see
  /// `AttributeDescription.mayNameFile`.
  package let mayNameFile: Bool
  /// Whether the rows of objects may leave the value out, so that the object reads it when it is used. See
  /// ``LargeValue``.
  package let isReadLater: Bool
  /// The relationship, if the property is one. It is stored, because reading it from `kind` would copy the value of `kind`.
  package let relationship: RelationshipPlan?
  let reading: Reading
  /// Whether a value can break only these rules: a mandatory value is missing, a number is NaN, or a URL is empty.
  let isMerelyMandatory: Bool

  init(number: Int, name: String, owner: String, kind: Kind, columns: Range<Int>) {
    self.number = number
    self.name = name
    self.owner = owner
    self.kind = kind
    self.columns = columns
    reading = Reading(kind, columns)
    switch kind {
    case .attribute(let attribute, _):
      isDerived = attribute.derivation != nil
      mayNameFile = attribute.mayNameFile
      relationship = nil
    case .composite(let attribute, _):
      isDerived = attribute.derivation != nil
      mayNameFile = false
      relationship = nil
    case .relationship(let relationship):
      isDerived = false
      mayNameFile = false
      self.relationship = relationship
    }
    guard case .attribute(let attribute, let storageType) = kind else {
      self.storageType = nil
      isReadLater = false
      isMerelyMandatory = false
      return
    }
    self.storageType = storageType
    isReadLater = mayNameFile && !columns.isEmpty
    var isEnumeration = false
    if case .enumeration = attribute.type { isEnumeration = true }
    isMerelyMandatory =
      !attribute.isOptional && attribute.derivation == nil && attribute.minimum == nil
      && attribute.maximum == nil && attribute.minimumLength == nil && attribute.maximumLength == nil
      && attribute.pattern == nil && !isEnumeration
  }

  /// The value of an attribute that could not be read: the empty value of its type, or nil if it may be nil.
  var missingValue: AttributeValue {
    if let storageType, attribute?.isOptional == false { storageType.empty } else { .null }
  }

  /// Whether the property has columns.
  package var isStored: Bool { !columns.isEmpty }

  /// How the value is read from a row.
  enum Reading {
    case attribute(StorageType, column: Int)
    case reference(column: Int)
    /// From several columns.
    case fields
    /// Not at all: there is no column.
    case none

    fileprivate init(_ kind: Kind, _ columns: Range<Int>) {
      self =
        switch (columns.first, kind) {
        case (nil, _): .none
        case (let column?, .attribute(_, let storageType)): .attribute(storageType, column: column)
        case (_?, .composite): .fields
        case (let column?, .relationship): .reference(column: column)
        }
    }
  }

  package var attribute: AttributeDescription? {
    switch kind {
    case .attribute(let attribute, _), .composite(let attribute, _): attribute
    case .relationship: nil
    }
  }

}

extension PropertyPlan {
  /// Whether a value of the property stands for one that cannot be encoded.
  func isUnencodable(_ value: AttributeValue) -> Bool { storageType == .codable && value == .unencodable }

  /// Whether a value can break a rule of the schema.
  ///
  /// - Parameter isTyped: Whether the objects have a generated class, whose mandatory attributes cannot be nil.
  func hasRules(isTyped: Bool) -> Bool {
    switch kind {
    case .attribute(let attribute, let storageType):
      if attribute.derivation != nil { return !attribute.isOptional }
      if !isTyped, !attribute.isOptional { return true }
      if attribute.minimum != nil || attribute.maximum != nil || attribute.pattern != nil { return true }
      if attribute.minimumLength != nil || attribute.maximumLength != nil { return true }
      if case .enumeration = attribute.type { return true }
      return storageType.hasNotANumber || storageType == .url
        || storageType == .codable && !attribute.isOptional
    case .composite: return true
    case .relationship(let relationship):
      let description = relationship.description
      return !description.isOptional || description.minimumCount != nil || description.maximumCount != nil
    }
  }
}

/// A field of a composite.
package struct FieldPlan: Sendable {
  package let description: AttributeDescription
  package let storageType: StorageType
}

extension [FieldPlan] {
  /// A composite as the columns of its fields store it; nil for another value.
  func fitted(_ value: AttributeValue) -> AttributeValue? {
    if value == .null { return .null }
    guard case .composite(let values) = value else { return nil }
    let names = Set(map(\.description.name))
    guard values.keys.allSatisfy(names.contains) else { return nil }
    var result: [String: AttributeValue] = [:]
    for field in self {
      guard let fitted = field.storageType.fitted(values[field.description.name] ?? .null) else { return nil }
      result[field.description.name] = fitted
    }
    return .composite(result)
  }
}

/// A relationship, with the information about its storage. It is a class so that passing it costs little.
///
/// Facts that are needed for each object are stored. To read them from a description would copy the description, and retain
/// all of its values.
package final class RelationshipPlan: Sendable {
  /// Where the keys of related objects are.
  package enum Storage: Sendable {
    /// A column of the entity's own table, by its index.
    case reference(column: Int)
    /// A column of the destination's table, which belongs to the inverse. Both sides are to-one.
    case inverseReference
    /// A column of the destination's table, which belongs to the to-one inverse.
    case referencesOfOthers
    /// Rows of a join table, by its index. `isSource` tells whether this relationship is the source side.
    case join(Int, isSource: Bool)
  }

  package let description: RelationshipDescription
  package let slot: Int
  /// The entity that declares the relationship.
  package let owner: String
  /// The index of the destination in the model plan.
  package let destination: Int
  /// The slot of the inverse in the destination entity.
  package let inverseSlot: Int?
  /// The inverse; nil for a relationship without one.
  package let inverse: RelationshipDescription?
  package let hasInverse: Bool
  package let storage: Storage
  /// Whether the same store holds the objects of both sides.
  package let isWithinStore: Bool
  package let name: String
  package let isToMany: Bool
  /// Whether the related objects have an order that the store keeps.
  package let isOrdered: Bool
  /// Whether a rule requires a minimum number of objects.
  package let hasMinimum: Bool
  /// The fewest objects that the rules allow.
  let minimumCount: Int
  /// The most objects that the rules allow; nil if they allow any number.
  let maximumCount: Int?
  /// Whether both sides are to-one.
  package let isOneToOne: Bool
  /// Whether the store guarantees that the object of a reference exists.
  package let isGuaranteed: Bool
  /// Whether the relationship is its own inverse.
  package let isSymmetric: Bool
  /// Whether the relationship has a join table and a delete rule that needs the related objects.
  let hasRuledPairs: Bool
  /// Whether the relationship's pairs stay in memory when an object is deleted, until the save removes them from the
  /// store.
  let leavesPairs: Bool

  init(
    description: RelationshipDescription, slot: Int, owner: String, destination: Int, inverseSlot: Int?,
    inverse: RelationshipDescription?, storage: Storage, isWithinStore: Bool
  ) {
    self.description = description
    self.slot = slot
    self.owner = owner
    self.destination = destination
    self.inverseSlot = inverseSlot
    self.inverse = inverse
    hasInverse = inverse != nil
    self.storage = storage
    self.isWithinStore = isWithinStore
    name = description.name
    isToMany = description.isToMany
    isOrdered = description.isToMany && description.isOrdered
    hasMinimum = !description.isOptional || description.isToMany && description.minimumCount ?? 0 > 0
    minimumCount = max(
      description.isToMany ? description.minimumCount ?? 0 : 0, description.isOptional ? 0 : 1)
    maximumCount = description.isToMany ? description.maximumCount : nil
    isOneToOne = !description.isToMany && inverse?.isToMany == false
    isGuaranteed = isWithinStore && inverse?.deleteRule.leavesReferences != true
    isSymmetric = inverse != nil && inverseSlot == slot && inverse == description
    var hasPairs = false
    if case .join = storage { hasPairs = true }
    hasRuledPairs = hasPairs && description.deleteRule.needsRelatedObjects
    leavesPairs = hasPairs && description.deleteRule.leavesReferences && inverse != nil
  }

  /// The name, with the entity that declares the relationship.
  package var path: String { "\(owner).\(name)" }
}

/// A table that holds the pairs of a many-to-many or one-sided to-many relationship.
package struct JoinPlan: Sendable {
  package let table: String
  /// The indexes of both sides' entities in the model plan.
  package let source: Int
  package let target: Int
  /// Whether the relationships of the source side and of the target side are ordered.
  package let isOrdered: Bool
  package let isInverseOrdered: Bool
}

/// A column of an entity.
package struct ColumnPlan: Sendable {
  /// The name in the table, not quoted.
  package let name: String
  package let slot: Int
  package let storageType: StorageType
  /// Whether the column holds the key of another object.
  package let isReference: Bool
  /// Whether each object has a value.
  package let isMandatory: Bool
}
