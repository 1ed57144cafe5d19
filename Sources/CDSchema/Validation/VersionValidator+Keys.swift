import CDModel

extension VersionValidator {
  func validateIndexes(of entity: EntityDescription) {
    var seen: [IndexDescription] = []
    for (place, index) in entity.indexes.enumerated() {
      let element = ModelElement.index(version: version.number, entity: entity.name, place: place)
      if broken.contains(element) { continue }
      if seen.contains(index) {
        error(element, nil, "the same index is here a second time")
        continue
      }
      seen.append(index)
      validate(index.elements.map(\.keyPath), element, of: entity, noun: "an index", allowsFields: true)
    }
  }

  func validateUniqueness(of entity: EntityDescription) {
    var seen: Set<Set<String>> = []
    for (place, names) in entity.uniquenessConstraints.enumerated() {
      let element = ModelElement.uniquenessConstraint(
        version: version.number, entity: entity.name, place: place)
      if broken.contains(element) { continue }
      if !seen.insert(Set(names)).inserted {
        error(element, nil, "the same properties are unique here a second time")
        continue
      }
      validate(names, element, of: entity, noun: "a unique constraint", allowsFields: false)
    }
  }

  /// The elements of an index or a unique constraint, which a table must have as columns.
  private func validate(
    _ keyPaths: [String], _ element: ModelElement, of entity: EntityDescription, noun: String,
    allowsFields: Bool
  ) {
    var seen: Set<String> = []
    for (place, keyPath) in keyPaths.enumerated() {
      let key = "elements[\(place)]"
      if !seen.insert(keyPath).inserted {
        error(element, key, step: 0, "'\(keyPath)' is here a second time")
        continue
      }
      let steps = keyPath.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
      switch graph.property(steps[0], of: entity.name) {
      case .attribute(let attribute):
        validateColumn(attribute, steps, element, key, owner: entity, noun: noun, allowsFields: allowsFields)
      case .relationship(let relationship):
        if relationship.isToMany {
          error(
            element, key, step: 0,
            "'\(relationship.name)' is a to-many relationship, which has no column for \(noun)")
        } else if steps.count > 1 {
          error(
            element, key, step: 1, "\(noun) covers properties of '\(entity.name)' alone, and not '\(keyPath)'"
          )
        }
      case .fetched:
        error(element, key, step: 0, "'\(steps[0])' is a fetched property, which has no column for \(noun)")
      case nil:
        reportUnknownProperty(steps[0], of: entity, element, key)
      }
    }
  }

  private func validateColumn(
    _ attribute: AttributeDescription, _ steps: [String], _ element: ModelElement, _ key: String,
    owner: EntityDescription, noun: String, allowsFields: Bool
  ) {
    if isBroken(attribute.name, of: owner) { return }
    if attribute.isTransient {
      error(
        element, key, step: 0, "'\(attribute.name)' is transient and not stored, so \(noun) cannot have it")
      return
    }
    if attribute.storesExternally {
      error(
        element, key, step: 0, "'\(attribute.name)' is stored outside the table, so \(noun) cannot have it")
      return
    }
    switch attribute.type {
    case .composite(let name):
      guard let composite = graph.composite(name) else { return }
      let fields = composite.fields.map(\.name)
      if !allowsFields {
        error(element, key, step: 0, "'\(attribute.name)' is a composite, which \(noun) cannot have")
      } else if steps.count == 1 {
        error(
          element, key, step: 0,
          "'\(attribute.name)' is a composite; \(noun) covers its fields, such as \(attribute.name).\(fields.first ?? "")"
        )
      } else if steps.count > 2 || !fields.contains(steps[1]) {
        error(
          element, key, step: 1, "composite '\(name)' has no field '\(steps[1...].joined(separator: "."))'",
          suggestion: closestName(to: steps[1], in: fields))
      }
    case .codable:
      error(
        element, key, step: 0,
        "'\(attribute.name)' is a codable value, which has no order, so \(noun) cannot have it")
    default:
      if steps.count > 1 {
        error(
          element, key, step: 1,
          "'\(attribute.name)' is of type \(attribute.type.schemaName) and has no '\(steps[1])'"
        )
      }
    }
  }

  /// Whether a property was declared with a mistake.
  func isBroken(_ name: String, of entity: EntityDescription) -> Bool {
    graph.lineage(of: entity.name).contains {
      broken.contains(attributeElement(name, $0)) || broken.contains(relationshipElement(name, $0))
        || broken.contains(fetchedElement(name, $0))
    }
  }

  func reportUnknownProperty(
    _ name: String, of entity: EntityDescription, _ element: ModelElement, _ key: String, step: Int = 0
  ) {
    // A relationship or fetched property whose declaration is wrong is not in the model, and was reported.
    if isBroken(name, of: entity) || hasUnknownAncestor(entity) { return }
    let names = graph.lineage(of: entity.name).flatMap { properties(of: $0).map(\.name) }
    error(
      element, key, step: step, "'\(entity.name)' has no property '\(name)'",
      suggestion: closestName(to: name, in: names)
    )
  }
}
