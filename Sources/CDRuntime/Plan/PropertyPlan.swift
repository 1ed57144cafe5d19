/// A property of an entity, with what reading and writing it needs. A class, so that handing it about costs
/// little.
final class PropertyPlan: Sendable {
  enum Kind: Sendable {
    case attribute(AttributeDescription, StorageType)
    case composite(AttributeDescription, [FieldPlan])
    case relationship(RelationshipPlan)
  }

  let number: Int
  let name: String
  /// The entity that declares the property.
  let owner: String
  let kind: Kind
  /// The columns that hold the value; empty where the table has none.
  let columns: Range<Int>
  /// How an attribute's value is kept; nil for a composite and for a relationship. Looking into `kind` would count
  /// references to all that it has.
  let cell: StorageType?
  let reading: Reading
  /// Whether the only rule that a value may break is that there is one, and that it is a number.
  let isMerelyMandatory: Bool

  init(number: Int, name: String, owner: String, kind: Kind, columns: Range<Int>) {
    self.number = number
    self.name = name
    self.owner = owner
    self.kind = kind
    self.columns = columns
    reading = Reading(kind, columns)
    guard case .attribute(let attribute, let cell) = kind else {
      self.cell = nil
      isMerelyMandatory = false
      return
    }
    self.cell = cell
    var isEnumeration = false
    if case .enumeration = attribute.type { isEnumeration = true }
    isMerelyMandatory =
      !attribute.isOptional && attribute.derivation == nil && attribute.minimum == nil
      && attribute.maximum == nil && attribute.minimumLength == nil && attribute.maximumLength == nil
      && attribute.pattern == nil && !isEnumeration
  }

  var isStored: Bool { !columns.isEmpty }

  /// How the value is read from a row.
  enum Reading {
    case cell(StorageType, column: Int)
    case reference(column: Int)
    /// Of several columns.
    case fields
    /// There is no column.
    case none

    fileprivate init(_ kind: Kind, _ columns: Range<Int>) {
      self =
        switch (columns.first, kind) {
        case (nil, _): .none
        case (let column?, .attribute(_, let cell)): .cell(cell, column: column)
        case (_?, .composite): .fields
        case (let column?, .relationship): .reference(column: column)
        }
    }
  }

  var attribute: AttributeDescription? {
    switch kind {
    case .attribute(let attribute, _), .composite(let attribute, _): attribute
    case .relationship: nil
    }
  }

  var relationship: RelationshipPlan? {
    if case .relationship(let relationship) = kind { return relationship }
    return nil
  }
}

extension PropertyPlan {
  /// Whether a value may break a rule of the schema.
  ///
  /// - Parameter isTyped: Whether the objects are of a generated class, which has no nil for a mandatory
  ///   attribute.
  func hasRules(isTyped: Bool) -> Bool {
    switch kind {
    case .attribute(let attribute, let cell):
      if attribute.derivation != nil { return !attribute.isOptional }
      if !isTyped, !attribute.isOptional { return true }
      if attribute.minimum != nil || attribute.maximum != nil || attribute.pattern != nil { return true }
      if attribute.minimumLength != nil || attribute.maximumLength != nil { return true }
      if case .enumeration = attribute.type { return true }
      switch cell {
      // These may be no number.
      case .float, .double, .decimal, .date: return true
      case .codable: return !attribute.isOptional
      case .string, .bool, .int16, .int32, .int64, .data, .uuid, .url: return false
      }
    case .composite: return true
    case .relationship(let relationship):
      let description = relationship.description
      return !description.isOptional || description.minimumCount != nil || description.maximumCount != nil
    }
  }
}

/// A field of a composite.
struct FieldPlan: Sendable {
  let description: AttributeDescription
  let cell: StorageType
}

/// A relationship, with where it is kept. A class, so that handing it about costs little.
final class RelationshipPlan: Sendable {
  enum Storage: Sendable {
    /// A column of this table, by its number.
    case reference(column: Int)
    /// A column of the other table, to which the inverse, also to-one, belongs.
    case inverseReference
    /// A column of the other table, to which the to-one inverse belongs.
    case referencesOfOthers
    /// Rows of a table of their own, by its number; `isSource` says on which side this relationship stands.
    case join(Int, isSource: Bool)
  }

  let description: RelationshipDescription
  let slot: Int
  /// The entity that declares it.
  let owner: String
  /// The destination's place in the model plan.
  let destination: Int
  /// The slot of the inverse in the destination entity.
  let inverseSlot: Int?
  let inverse: RelationshipDescription?
  let storage: Storage
  /// Whether one store holds the objects of both sides.
  let isWithinStore: Bool

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
    self.storage = storage
    self.isWithinStore = isWithinStore
  }

  /// Whether the relationship has pairs that refuse a deletion, or objects that a deletion takes along.
  var hasRuledPairs: Bool {
    guard case .join = storage else { return false }
    return description.deleteRule == .cascade || description.deleteRule == .deny
  }

  /// Whether pairs stay in memory where an object is deleted, until the save takes them out of the store.
  var leavesPairs: Bool {
    guard case .join = storage else { return false }
    return description.deleteRule == .noAction && inverse != nil
  }

  var name: String { description.name }
  /// The name with that of the entity that declares it.
  var path: String { "\(owner).\(name)" }
  var isToMany: Bool { description.isToMany }
  var isOrdered: Bool { description.isToMany && description.isOrdered }

  /// Whether a rule says how many objects there are to be at the least.
  var hasMinimum: Bool {
    !description.isOptional || description.isToMany && description.minimumCount ?? 0 > 0
  }

  /// Whether an object is related to one object at the most, and that one to no other.
  var isOneToOne: Bool { !isToMany && inverse?.isToMany == false }

  /// Whether the store guarantees that the object of a reference exists.
  var isGuaranteed: Bool { isWithinStore && inverse?.deleteRule != .noAction }

  /// Whether the relationship is its own inverse.
  var isSymmetric: Bool { inverse != nil && inverseSlot == slot && inverse == description }
}

/// A table that holds the pairs of a many-to-many or one-sided to-many relationship.
struct JoinPlan: Sendable {
  let table: String
  /// Places of the two sides' entities in the model plan.
  let source: Int
  let target: Int
  /// Whether the relationship of the source side, and that of the target side, keeps an order.
  let isOrdered: Bool
  let isInverseOrdered: Bool
}

/// A column of an entity.
struct ColumnPlan: Sendable {
  /// The name in the table, not quoted.
  let name: String
  let slot: Int
  let cell: StorageType
  let isReference: Bool
  let isMandatory: Bool
}
