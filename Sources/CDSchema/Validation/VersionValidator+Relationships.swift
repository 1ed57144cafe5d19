import CDModel

extension VersionValidator {
  func validate(_ relationship: RelationshipDescription, of entity: EntityDescription) {
    let element = relationshipElement(relationship.name, entity)
    if broken.contains(element) { return }
    if let minimum = relationship.minimumCount, let maximum = relationship.maximumCount, minimum > maximum {
      error(element, "count", "the greatest count is below the least")
    } else if relationship.maximumCount == 0 {
      error(element, "count", "a relationship of at most 0 objects could never have any")
    }
    guard graph.entity(relationship.destination) != nil else {
      reportUnknownEntity(relationship.destination, element, "destination")
      return
    }
    guard let name = relationship.inverse else { return }
    validateInverse(name, of: relationship, entity, element)
    if let inverse = graph.inverse(of: relationship, in: entity.name) {
      validateDeleteRules(relationship, entity, inverse, element)
    }
  }

  private func validateInverse(
    _ name: String, of relationship: RelationshipDescription, _ entity: EntityDescription,
    _ element: ModelElement
  ) {
    let destination = relationship.destination
    let inverse: RelationshipDescription
    switch graph.property(name, of: destination) {
    case .relationship(let found): inverse = found
    case .some:
      error(element, "inverse", "'\(name)' of '\(destination)' is no relationship")
      return
    case nil:
      // One whose declaration is wrong is not in the model, and was reported.
      if graph.lineage(of: destination).contains(where: { broken.contains(relationshipElement(name, $0)) }) {
        return
      }
      if let entity = graph.entity(destination), hasUnknownAncestor(entity) { return }
      error(
        element, "inverse", "'\(destination)' has no relationship '\(name)'",
        suggestion: closestName(to: name, in: graph.relationships(of: destination).map(\.name)))
      return
    }
    let back = inverse.destination
    guard graph.entity(back) != nil else { return }
    if !graph.isKind(entity.name, of: back) && !graph.isKind(back, of: entity.name) {
      error(
        element, "inverse",
        "'\(name)' of '\(destination)' leads to '\(back)' and not back to '\(entity.name)'")
    } else if inverse.inverse == nil {
      error(
        element, "inverse",
        "'\(name)' of '\(destination)' does not name '\(relationship.name)' as its inverse; both sides must")
    } else if let other = inverse.inverse, other != relationship.name {
      error(
        element, "inverse",
        "'\(name)' of '\(destination)' has '\(other)' as its inverse and not '\(relationship.name)'")
    }
  }

  /// Rules that make sense each and not together.
  private func validateDeleteRules(
    _ relationship: RelationshipDescription, _ entity: EntityDescription, _ inverse: RelationshipDescription,
    _ element: ModelElement
  ) {
    let other = "'\(inverse.name)' of '\(relationship.destination)'"
    switch (relationship.deleteRule, inverse.deleteRule) {
    case (.cascade, .cascade) where relationship.isToMany || inverse.isToMany:
      warning(
        element, "onDelete",
        "this and \(other) both cascade, so that deleting one object deletes "
          + "everything that hangs together with it")
    case (.deny, .deny):
      warning(
        element, "onDelete",
        "this and \(other) both deny, so that neither of two related objects can be deleted")
    case (.nullify, _) where !inverse.isToMany && !inverse.isOptional:
      warning(
        element, "onDelete",
        "\(other) is mandatory, so that a deletion that nullifies it cannot be saved; use cascade or deny")
    default: break
    }
  }
}
