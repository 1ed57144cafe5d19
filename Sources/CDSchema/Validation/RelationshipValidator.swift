import CDModel

/// Checks relationships: their counts, destinations, inverses and delete rules.
struct RelationshipValidator {
  private let report: VersionReport
  private let graph: EntityGraph

  init(_ report: VersionReport) {
    self.report = report
    graph = report.graph
  }

  func validate(_ relationship: RelationshipDescription, of entity: EntityDescription) {
    let element = report.relationshipElement(relationship.name, entity)
    if report.broken.contains(element) { return }
    if let minimum = relationship.minimumCount, let maximum = relationship.maximumCount, minimum > maximum {
      report.error(element, "count", "the greatest count is below the least")
    } else if relationship.maximumCount == 0 {
      report.error(element, "count", "a relationship of at most 0 objects could never have any")
    }
    guard graph.entity(relationship.destination) != nil else {
      report.unknownEntity(relationship.destination, element, "destination")
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
    _ element: SchemaElement
  ) {
    let destination = relationship.destination
    let inverse: RelationshipDescription
    switch graph.property(name, of: destination) {
    case .relationship(let found): inverse = found
    case .some:
      report.error(element, "inverse", "'\(name)' of '\(destination)' is not a relationship")
      return
    case nil:
      // A relationship with a wrong declaration is missing in the model, and is already reported.
      if graph.lineage(of: destination).contains(where: {
        report.broken.contains(report.relationshipElement(name, $0))
      }) {
        return
      }
      if let entity = graph.entity(destination), report.hasUnknownAncestor(entity) { return }
      report.error(
        element, "inverse", "'\(destination)' has no relationship '\(name)'",
        suggestion: closestName(to: name, in: graph.relationships(of: destination).map(\.name)))
      return
    }
    let back = inverse.destination
    guard graph.entity(back) != nil else { return }
    if !graph.isKind(entity.name, of: back) && !graph.isKind(back, of: entity.name) {
      report.error(
        element, "inverse",
        "'\(name)' of '\(destination)' leads to '\(back)' and not back to '\(entity.name)'")
    } else if inverse.inverse == nil {
      report.error(
        element, "inverse",
        "'\(name)' of '\(destination)' does not name '\(relationship.name)' as its inverse; both sides must")
    } else if let other = inverse.inverse, other != relationship.name {
      report.error(
        element, "inverse",
        "'\(name)' of '\(destination)' has '\(other)' as its inverse and not '\(relationship.name)'")
    }
  }

  /// Reports two delete rules that are valid alone, but not together.
  private func validateDeleteRules(
    _ relationship: RelationshipDescription, _ entity: EntityDescription, _ inverse: RelationshipDescription,
    _ element: SchemaElement
  ) {
    let other = "'\(inverse.name)' of '\(relationship.destination)'"
    switch (relationship.deleteRule, inverse.deleteRule) {
    case (.cascade, .cascade) where relationship.isToMany || inverse.isToMany:
      report.warning(
        element, "onDelete",
        "this and \(other) both cascade, so that deleting one object deletes "
          + "all objects that are related to it, directly or indirectly")
    case (.deny, .deny):
      report.warning(
        element, "onDelete",
        "this and \(other) both deny, so that neither of two related objects can be deleted")
    case (.nullify, _) where !inverse.isToMany && !inverse.isOptional:
      report.warning(
        element, "onDelete",
        "\(other) is mandatory, so that a deletion that nullifies it cannot be saved; use cascade or deny")
    default: break
    }
  }
}
