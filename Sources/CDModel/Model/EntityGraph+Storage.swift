/// A property of an entity by its number: what generated code and the runtime mean by a slot.
public struct PropertySlot: Hashable, Sendable {
  /// The slot's number, from 0.
  public let number: Int
  /// The entity of the lineage that declares the property.
  public let entity: String
  /// An attribute or a relationship. A fetched property has no slot.
  public let property: PropertyDescription
}

/// A column by its number: what a row holds of an entity, beside the row's own key and version.
public struct StoredColumn: Hashable, Sendable {
  /// What a column holds.
  public enum Kind: Hashable, Sendable {
    /// The value of an attribute that is no composite.
    case attribute
    /// A field of a composite attribute.
    case field
    /// The key of the object that a to-one relationship leads to.
    case reference
  }

  /// The column's number, from 0.
  public let ordinal: Int
  /// The number of the slot whose value, or a part of it, the column holds.
  public let slot: Int
  /// The entity of the lineage that declares the property.
  public let entity: String
  /// The property.
  public let property: PropertyDescription
  /// The composite's field; nil where the kind is another.
  public let field: AttributeDescription?
  /// How it is kept.
  public let kind: Kind

  /// The property's name, or `property.field`: the name in a table, unless a sibling entity has the same.
  public var name: String {
    field.map { "\(property.name).\($0.name)" } ?? property.name
  }

  /// The type of the column's values; nil for a reference.
  public var type: AttributeType? {
    if let field { return field.type }
    if case .attribute(let attribute) = property { return attribute.type }
    return nil
  }
}

// The numbering of slots and columns, on which generated code and the runtime have to agree.
extension EntityGraph {
  /// The slots of an entity: for each entity of its lineage, root first, the attributes in the order of
  /// declaration, transient and derived ones included, then the relationships. Empty for an unknown name.
  public func slots(of name: String) -> [PropertySlot] {
    var slots: [PropertySlot] = []
    for entity in lineage(of: name) {
      for attribute in entity.attributes {
        slots.append(
          PropertySlot(number: slots.count, entity: entity.name, property: .attribute(attribute)))
      }
      for relationship in entity.relationships {
        slots.append(
          PropertySlot(number: slots.count, entity: entity.name, property: .relationship(relationship)))
      }
    }
    return slots
  }

  /// The columns of an entity: for each entity of its lineage, root first, the stored attributes in the
  /// order of declaration, a composite taking one column a field, then the to-one relationships whose
  /// reference stands in this entity's table. Empty for an unknown name.
  public func columns(of name: String) -> [StoredColumn] {
    var columns: [StoredColumn] = []
    func add(_ slot: PropertySlot, _ field: AttributeDescription?, _ kind: StoredColumn.Kind) {
      columns.append(
        StoredColumn(
          ordinal: columns.count, slot: slot.number, entity: slot.entity, property: slot.property,
          field: field, kind: kind))
    }
    for slot in slots(of: name) {
      switch slot.property {
      case .attribute(let attribute) where attribute.isStored:
        if case .composite(let composite) = attribute.type {
          for field in self.composite(composite)?.fields ?? [] { add(slot, field, .field) }
        } else {
          add(slot, nil, .attribute)
        }
      case .relationship(let relationship) where holdsReference(relationship, slot.entity):
        add(slot, nil, .reference)
      default: break
      }
    }
    return columns
  }

  /// Whether the key of a relationship's object stands in the table of the entity that declares it.
  ///
  /// It does for a to-one relationship, except for one side of a one-to-one pair: there the mandatory side
  /// holds it, and where both or neither are mandatory, the one whose `Entity.relationship` sorts first by
  /// its code units. A relationship that is its own inverse holds its own.
  ///
  /// - Parameters:
  ///   - relationship: A relationship.
  ///   - name: The entity that declares it, or one that inherits it.
  public func holdsReference(_ relationship: RelationshipDescription, _ name: String) -> Bool {
    guard !relationship.isToMany else { return false }
    guard let inverse = inverse(of: relationship, in: name), !inverse.isToMany else { return true }
    let owner = declaringEntity(of: relationship.name, in: name)?.name ?? name
    let other =
      declaringEntity(of: inverse.name, in: relationship.destination)?.name ?? relationship.destination
    if owner == other, relationship.name == inverse.name { return true }
    if relationship.isOptional != inverse.isOptional { return !relationship.isOptional }
    return "\(owner).\(relationship.name)".utf8.lexicographicallyPrecedes("\(other).\(inverse.name)".utf8)
  }
}
