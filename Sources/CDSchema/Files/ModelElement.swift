/// A part of a model, identified by names. ``ElementPositions`` records its position.
public enum ModelElement: Hashable, Sendable {
  /// The model itself, which is `model.yaml`.
  case model
  /// A version, which is its file.
  case version(Int)
  case enumeration(version: Int, name: String)
  case enumCase(version: Int, enumeration: String, name: String)
  case composite(version: Int, name: String)
  /// A field of a composite.
  case field(version: Int, composite: String, name: String)
  case configuration(version: Int, name: String)
  case entity(version: Int, name: String)
  case attribute(version: Int, entity: String, name: String)
  case relationship(version: Int, entity: String, name: String)
  case fetchedProperty(version: Int, entity: String, name: String)
  case fetchTemplate(version: Int, entity: String, name: String)
  /// An index, identified by its position in the entity's list, counted from 0.
  case index(version: Int, entity: String, place: Int)
  /// A unique constraint, identified by its position in the entity's list, counted from 0.
  case uniquenessConstraint(version: Int, entity: String, place: Int)
  /// The mapping of a step, which is its file.
  case mapping(from: Int, to: Int)
  /// A rule of a mapping, identified by its position among all of them, counted from 0.
  case entityRule(from: Int, to: Int, place: Int)

  /// The name of an entity's property; nil for other elements.
  var propertyName: String? {
    switch self {
    case .attribute(_, _, let name), .relationship(_, _, let name), .fetchedProperty(_, _, let name): name
    default: nil
    }
  }

  /// The element that contains this one; nil for the model.
  public var container: ModelElement? {
    switch self {
    case .model: nil
    case .version, .mapping: .model
    case .entityRule(let source, let destination, _): .mapping(from: source, to: destination)
    case .enumeration(let version, _), .composite(let version, _), .configuration(let version, _),
      .entity(let version, _):
      .version(version)
    case .enumCase(let version, let name, _): .enumeration(version: version, name: name)
    case .field(let version, let name, _): .composite(version: version, name: name)
    case .attribute(let version, let name, _), .relationship(let version, let name, _),
      .fetchedProperty(let version, let name, _), .fetchTemplate(let version, let name, _),
      .index(let version, let name, _), .uniquenessConstraint(let version, let name, _):
      .entity(version: version, name: name)
    }
  }
}
