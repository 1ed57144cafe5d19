package import CDMapping
package import CDModel
import CDTooling

extension ElementPositions {
  /// The position of a problem in a mapping file.
  package func location(of problem: MappingProblem, from source: Int, to destination: Int) -> SourceLocation?
  {
    let (index, key) = problem.location.path
    let element =
      index.map { SchemaElement.entityRule(from: source, to: destination, index: $0) }
      ?? .mapping(from: source, to: destination)
    if let key, let span = problem.span,
      let location = location(of: element, key: key, utf8Offset: span.lowerBound)
    {
      return location
    }
    return nearest(to: element, key: key)
  }

  /// The position of the element that a change is about, in the file of the version that contains it. For an undecided
  /// part of a rule, the position in the mapping.
  package func location(
    of change: ModelChange, in version: ModelVersion?, rules: MappingRules?
  ) -> SourceLocation? {
    if case .undecided(_, let note) = change.kind, let rules {
      for (index, rule) in rules.entities.enumerated() {
        guard let part = rule.undecided.firstIndex(where: { $0.note == note && change.isAbout($0, of: rule) })
        else { continue }
        return nearest(
          to: .entityRule(from: rules.source, to: rules.destination, index: index), key: "undecided[\(part)]")
      }
    }
    let number = change.element.side == .source ? change.source : change.destination
    if case .uniqueConstraintAdded(let name, let properties) = change.kind,
      let entity = version?.entities.first(where: { $0.name == name })
    {
      if let index = entity.uniquenessConstraints.firstIndex(of: properties) {
        return nearest(to: .uniquenessConstraint(version: number, entity: name, index: index))
      }
      // The references of a one-to-one relationship are unique without a constraint.
      if let reference = entity.relationships.first(where: { [$0.name] == properties }) {
        return location(of: .relationship(entity: name, name: reference.name), version: number)
      }
    }
    return location(of: change.element.element, version: number)
  }
}

extension ModelChange {
  /// Whether the change reports that a part of a rule is undecided.
  fileprivate func isAbout(_ part: UndecidedPart, of rule: EntityRule) -> Bool {
    remedies.contains(.decided(entity: rule.destination, name: part.name))
  }
}
