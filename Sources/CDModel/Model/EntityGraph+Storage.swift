/// A numbered property of an entity. Generated code and the runtime identify properties by these slot numbers.
package struct PropertySlot: Hashable, Sendable {
  /// The slot's number, counted from 0.
  package let number: Int
  /// The entity that declares the property: the entity itself or an ancestor.
  package let entity: String
  /// The attribute or relationship. A fetched property has no slot.
  package let property: PropertyDescription
}

/// A numbered column of an entity's rows, in addition to the row's own key and version.
package struct StoredColumn: Hashable, Sendable {
  /// The sort of value that a column holds.
  package enum Kind: Hashable, Sendable {
    /// The value of an attribute whose type is not a composite.
    case attribute
    /// A field of a composite attribute.
    case field
    /// The key of the destination object of a to-one relationship.
    case reference
  }

  /// The column's number, counted from 0.
  package let ordinal: Int
  /// The number of the slot whose value, or part of it, the column holds.
  package let slot: Int
  /// The entity that declares the property: the entity itself or an ancestor.
  package let entity: String
  /// The property.
  package let property: PropertyDescription
  /// The field of the composite; nil for columns of other kinds.
  package let field: AttributeDescription?
  /// The sort of value that the column holds.
  package let kind: Kind

  /// The property's name, or `property.field`. The column in the table has this name, unless a sibling entity has a
  /// column of the same name.
  package var name: String {
    field.map { "\(property.name).\($0.name)" } ?? property.name
  }

  /// The type of the column's values; nil for a reference.
  package var type: AttributeType? {
    if let field { return field.type }
    if case .attribute(let attribute) = property { return attribute.type }
    return nil
  }
}

// The numbering of slots and columns. Generated code and the runtime must agree on it.
extension EntityGraph {
  /// The slots of an entity; empty for an unknown name.
  ///
  /// For each entity from the root down to this one, the attributes come first, in order of declaration and including
  /// transient and derived ones. The relationships follow.
  package func slots(of name: String) -> [PropertySlot] {
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

  /// The columns of an entity; empty for an unknown name.
  ///
  /// For each entity from the root down to this one, the stored attributes come first, in order of declaration. A
  /// composite takes one column for each field. The to-one relationships whose reference is stored in this entity's
  /// table follow.
  package func columns(of name: String) -> [StoredColumn] {
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

  /// Whether the declaring entity's table stores the key of a relationship's destination object.
  ///
  /// It does for a to-one relationship. In a one-to-one pair, only one side stores it: the mandatory side, or, if both
  /// sides are mandatory or both optional, the side whose `Entity.relationship` sorts first by its code units. A
  /// relationship that is its own inverse stores its own key.
  ///
  /// - Parameters:
  ///   - relationship: A relationship.
  ///   - name: The entity that declares the relationship, or one of its subentities.
  @_optimize(none)
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

  /// Whether the references or pairs of a relationship belong to the declaring entity, and not to the destination.
  ///
  /// References are in the table of the entity that ``holdsReference(_:_:)`` names. A join table belongs to the side whose
  /// `Entity.relationship` sorts first by its code units, or to the only side.
  ///
  /// - Parameters:
  ///   - relationship: A relationship.
  ///   - name: The entity that declares the relationship, or one of its subentities.
  @_optimize(none)
  package func holdsRows(of relationship: RelationshipDescription, _ name: String) -> Bool {
    guard relationship.isToMany else { return holdsReference(relationship, name) }
    guard let inverse = inverse(of: relationship, in: name) else { return true }
    guard inverse.isToMany else { return false }
    let own = declaredName(of: relationship.name, in: name)
    let other = declaredName(of: inverse.name, in: relationship.destination)
    return !"\(other.entity).\(other.name)".utf8
      .lexicographicallyPrecedes("\(own.entity).\(own.name)".utf8)
  }

  /// The names of the configurations that give an entity's hierarchy to a store.
  package func configurations(of name: String) -> [String] {
    let hierarchy = root(of: name)?.name
    return version.configurations.filter { configuration in
      configuration.entities.contains { root(of: $0)?.name == hierarchy }
    }
    .map(\.name)
  }
}
