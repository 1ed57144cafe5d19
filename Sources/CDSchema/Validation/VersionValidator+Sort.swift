import CDModel

extension VersionValidator {
  /// The key paths of a `sort`: to-one relationships and then an attribute.
  func validateSort(_ keys: [SortKey], _ element: ModelElement, of entity: EntityDescription) {
    var seen: Set<String> = []
    for (place, sortKey) in keys.enumerated() {
      let key = "sort[\(place)]"
      if !seen.insert(sortKey.keyPath).inserted {
        error(element, key, step: 0, "'\(sortKey.keyPath)' is here a second time")
      } else {
        validateSortPath(sortKey.keyPath, element, key, of: entity)
      }
    }
  }

  private func validateSortPath(
    _ keyPath: String, _ element: ModelElement, _ key: String, of start: EntityDescription
  ) {
    var entity = start
    let steps = keyPath.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    for (place, step) in steps.enumerated() {
      switch graph.property(step, of: entity.name) {
      case .relationship(let relationship):
        if isBroken(step, of: entity) { return }
        if relationship.isToMany {
          error(
            element, key, step: place,
            "'\(step)' is a to-many relationship, along which nothing can be sorted")
          return
        }
        guard let next = graph.entity(relationship.destination) else { return }
        entity = next
      case .attribute(let attribute):
        if isBroken(step, of: entity) { return }
        validateSortAttribute(attribute, rest: steps[(place + 1)...], element, key)
        return
      case .fetched:
        error(element, key, step: place, "'\(step)' is a fetched property, along which nothing can be sorted")
        return
      case nil:
        reportUnknownProperty(step, of: entity, element, key, step: place)
        return
      }
    }
    error(
      element, key, step: steps.count - 1,
      "'\(keyPath)' leads to objects; name an attribute of theirs to sort by")
  }

  private func validateSortAttribute(
    _ attribute: AttributeDescription, rest: ArraySlice<String>, _ element: ModelElement, _ key: String
  ) {
    let place = rest.startIndex
    switch attribute.type {
    case .composite(let name):
      let fields = graph.composite(name)?.fields.map(\.name) ?? []
      guard let field = rest.first else {
        error(element, key, step: place - 1, "'\(attribute.name)' is a composite; sort by one of its fields")
        return
      }
      if rest.count > 1 || !fields.contains(field) {
        error(
          element, key, step: place, "composite '\(name)' has no field '\(rest.joined(separator: "."))'",
          suggestion: closestName(to: field, in: fields))
      }
    case .codable:
      error(element, key, step: place - 1, "'\(attribute.name)' is a codable value, which has no order")
    default:
      if let step = rest.first {
        error(
          element, key, step: place,
          "'\(attribute.name)' is of type \(attribute.type.schemaName) and has no '\(step)'")
      }
    }
  }
}
