import CDModel

extension ModelElement {
  /// The element of a version for which a position is recorded. Indexes and unique constraints as a whole are
  /// represented by their entity.
  init(_ element: VersionElement, version: Int) {
    self =
      switch element {
      case .bases: .version(version)
      case .enumeration(let name): .enumeration(version: version, name: name)
      case .composite(let name): .composite(version: version, name: name)
      case .field(let composite, let name): .field(version: version, composite: composite, name: name)
      case .configuration(let name): .configuration(version: version, name: name)
      case .entity(let name): .entity(version: version, name: name)
      case .attribute(let entity, let name): .attribute(version: version, entity: entity, name: name)
      case .relationship(let entity, let name): .relationship(version: version, entity: entity, name: name)
      case .fetchedProperty(let entity, let name):
        .fetchedProperty(version: version, entity: entity, name: name)
      case .fetchTemplate(let entity, let name): .fetchTemplate(version: version, entity: entity, name: name)
      case .indexes(let entity), .uniquenessConstraints(let entity): .entity(version: version, name: entity)
      }
  }
}

extension ElementPositions {
  /// The position of an element of a version, or else of the nearest enclosing element.
  func location(of element: VersionElement, version: Int) -> SourceLocation? {
    let key: String? =
      switch element {
      case .bases: "key:basedOn"
      case .indexes: "key:indexes"
      case .uniquenessConstraints: "key:unique"
      default: nil
      }
    return nearest(to: ModelElement(element, version: version), key: key)
  }
}
