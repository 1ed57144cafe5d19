package import CDModel

/// What has a position in a model's files: the model, its versions and mappings, and their parts.
/// ``ElementPositions`` records the positions.
package enum SchemaElement: Hashable, Sendable {
  /// The model itself, which is `model.yaml`.
  case model
  /// A version, which is its file.
  case version(Int)
  /// A part of a version. Its indexes and its unique constraints are recorded one by one, not as a whole.
  case part(ModelElement, version: Int)
  /// A case of an enumeration.
  case enumCase(version: Int, enumeration: String, name: String)
  /// An index, identified by its position in the entity's list, counted from 0.
  case index(version: Int, entity: String, index: Int)
  /// A unique constraint, identified by its position in the entity's list, counted from 0.
  case uniquenessConstraint(version: Int, entity: String, index: Int)
  /// The mapping of a step, which is its file.
  case mapping(from: Int, to: Int)
  /// A rule of a mapping, identified by its position among all of them, counted from 0.
  case entityRule(from: Int, to: Int, index: Int)

  /// The name of an entity's property; nil for other elements.
  var propertyName: String? {
    switch self {
    case .part(.attribute(let name), _), .part(.relationship(let name), _),
      .part(.fetchedProperty(let name), _):
      name.name
    default: nil
    }
  }

  /// The element that contains this one; nil for the model.
  package var container: SchemaElement? {
    switch self {
    case .model: nil
    case .version, .mapping: .model
    case .part(let element, let version):
      element.container.map { .part($0, version: version) } ?? .version(version)
    case .enumCase(let version, let name, _): .part(.enumeration(name), version: version)
    case .index(let version, let name, _), .uniquenessConstraint(let version, let name, _):
      .part(.entity(name), version: version)
    case .entityRule(let source, let destination, _): .mapping(from: source, to: destination)
    }
  }
}

extension ModelElement {
  /// The element that contains this one; nil for an element of the version itself.
  var container: ModelElement? {
    switch self {
    case .bases, .enumeration, .composite, .configuration, .entity: nil
    case .field(let composite, _): .composite(composite)
    case .attribute(let name), .relationship(let name), .fetchedProperty(let name): .entity(name.entity)
    case .fetchTemplate(let entity, _), .indexes(let entity), .uniquenessConstraints(let entity):
      .entity(entity)
    }
  }
}
