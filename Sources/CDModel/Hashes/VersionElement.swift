/// A part of a version, identified by names. A lock lists these parts, and a change between two versions refers to one
/// of them.
public enum VersionElement: Hashable, Sendable {
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
  case attribute(entity: String, name: String)
  /// A relationship that the entity itself declares.
  case relationship(entity: String, name: String)
  /// A fetched property that the entity itself declares.
  case fetchedProperty(entity: String, name: String)
  /// A named fetch that the entity declares.
  case fetchTemplate(entity: String, name: String)
  /// All indexes of an entity.
  case indexes(entity: String)
  /// All unique constraints of an entity.
  case uniquenessConstraints(entity: String)
}

extension VersionElement: CustomStringConvertible {
  /// The element as messages name it: `'name' of 'ToDo'`.
  @_optimize(none)
  public var description: String {
    switch self {
    case .bases: "'basedOn'"
    case .enumeration(let name): "enum '\(name)'"
    case .composite(let name): "composite '\(name)'"
    case .field(let composite, let name): "field '\(name)' of '\(composite)'"
    case .configuration(let name): "configuration '\(name)'"
    case .entity(let name): "entity '\(name)'"
    case .attribute(let entity, let name): "attribute '\(name)' of '\(entity)'"
    case .relationship(let entity, let name): "relationship '\(name)' of '\(entity)'"
    case .fetchedProperty(let entity, let name): "fetched property '\(name)' of '\(entity)'"
    case .fetchTemplate(let entity, let name): "fetch '\(name)' of '\(entity)'"
    case .indexes(let entity): "'indexes' of '\(entity)'"
    case .uniquenessConstraints(let entity): "'unique' of '\(entity)'"
    }
  }
}
