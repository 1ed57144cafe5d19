import CDModel

extension ElementPositions {
  /// The position of an element of a version, or else of the nearest enclosing element. Indexes and unique constraints
  /// as a whole have the position of their key.
  func location(of element: ModelElement, version: Int) -> SourceLocation? {
    switch element {
    case .bases: nearest(to: .version(version), key: "key:basedOn")
    case .indexes(let entity): nearest(to: .part(.entity(entity), version: version), key: "key:indexes")
    case .uniquenessConstraints(let entity):
      nearest(to: .part(.entity(entity), version: version), key: "key:unique")
    default: nearest(to: .part(element, version: version))
    }
  }
}
