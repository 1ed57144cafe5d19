/// A part of a version, identified by names. A lock lists these parts, and a change between two versions refers to one
/// of them.
package enum ModelElement: Hashable, Sendable {
  /// The versions that the version is based on.
  case bases
  /// An enumeration with its cases.
  case enumeration(String)
  /// A composite, without its fields.
  case composite(String)
  /// A field of a composite.
  case field(composite: String, name: String)
  /// A configuration with the names of its entities.
  case configuration(String)
  /// An entity, without its properties, fetches, indexes and unique constraints.
  case entity(String)
  /// An attribute that the entity itself declares.
  case attribute(PropertyName)
  /// A relationship that the entity itself declares.
  case relationship(PropertyName)
  /// A fetched property that the entity itself declares.
  case fetchedProperty(PropertyName)
  /// A named fetch that the entity declares.
  case fetchTemplate(entity: String, name: String)
  /// All indexes of an entity.
  case indexes(entity: String)
  /// All unique constraints of an entity.
  case uniquenessConstraints(entity: String)

  /// An attribute that the entity itself declares.
  package static func attribute(entity: String, name: String) -> ModelElement {
    .attribute(PropertyName(entity, name))
  }

  /// A relationship that the entity itself declares.
  package static func relationship(entity: String, name: String) -> ModelElement {
    .relationship(PropertyName(entity, name))
  }

  /// A fetched property that the entity itself declares.
  package static func fetchedProperty(entity: String, name: String) -> ModelElement {
    .fetchedProperty(PropertyName(entity, name))
  }
}

/// A property, named by the entity that declares it. A field of a composite attribute is `attribute.field`.
package struct PropertyName: Hashable, Sendable, CustomStringConvertible {
  /// The entity that declares the property.
  package var entity: String
  /// The property's name, or `attribute.field`.
  package var name: String

  /// Creates the name of an entity's property.
  package init(_ entity: String, _ name: String) {
    self.entity = entity
    self.name = name
  }

  /// The name as messages show it: `'name' of 'ToDo'`.
  package var description: String { "'\(name)' of '\(entity)'" }
}

extension ModelElement: CustomStringConvertible {
  /// The element as messages name it: `'name' of 'ToDo'`.
  package var description: String {
    switch self {
    case .bases: "'basedOn'"
    case .enumeration(let name): "enum '\(name)'"
    case .composite(let name): "composite '\(name)'"
    case .field(let composite, let name): "field '\(name)' of '\(composite)'"
    case .configuration(let name): "configuration '\(name)'"
    case .entity(let name): "entity '\(name)'"
    case .attribute(let name): "attribute \(name)"
    case .relationship(let name): "relationship \(name)"
    case .fetchedProperty(let name): "fetched property \(name)"
    case .fetchTemplate(let entity, let name): "fetch '\(name)' of '\(entity)'"
    case .indexes(let entity): "'indexes' of '\(entity)'"
    case .uniquenessConstraints(let entity): "'unique' of '\(entity)'"
    }
  }
}
