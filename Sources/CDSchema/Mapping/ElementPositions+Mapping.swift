import CDMapping
import CDModel

extension ElementPositions {
  /// The position of a problem in a mapping file.
  func location(of problem: MappingProblem, from source: Int, to destination: Int) -> SourceLocation? {
    func rule(_ index: Int) -> SchemaElement {
      .entityRule(from: source, to: destination, index: index)
    }
    let mapping = SchemaElement.mapping(from: source, to: destination)
    let (element, key): (SchemaElement, String?) =
      switch problem.location {
      case .rules: (mapping, nil)
      case .drop(let index): (mapping, "drop[\(index)]")
      case .duplicate(let index): (mapping, "onDuplicate[\(index)]")
      case .entity(let index): (rule(index), nil)
      case .source(let index): (rule(index), "from")
      case .name(let index): (rule(index), "name")
      case .policy(let index): (rule(index), "policy")
      case .filter(let index): (rule(index), "where")
      case .owned(let index): (rule(index), "owned")
      case .attributeName(let index, let number): (rule(index), "key:attributes[\(number)]")
      case .attribute(let index, let number): (rule(index), "attributes[\(number)]")
      case .relationshipName(let index, let number): (rule(index), "key:relationships[\(number)]")
      case .relationship(let index, let number): (rule(index), "relationships[\(number)]")
      case .entityDrop(let index, let number): (rule(index), "drop[\(number)]")
      case .undecided(let index, let number): (rule(index), "undecided[\(number)]")
      }
    if let key, let span = problem.span,
      let location = location(of: element, key: key, utf8Offset: span.lowerBound)
    {
      return location
    }
    return nearest(to: element, key: key)
  }

  /// The position of the element that a change is about, in the file of the version that contains it. For an undecided
  /// part of a rule, the position in the mapping.
  func location(of change: ModelChange, in version: ModelVersion?, rules: MappingRules?) -> SourceLocation? {
    if case .undecided(_, let note) = change.kind, let rules {
      for (index, rule) in rules.entities.enumerated() {
        guard let part = rule.undecided.firstIndex(where: { $0.note == note && change.isAbout($0, of: rule) })
        else { continue }
        return nearest(
          to: .entityRule(from: rules.source, to: rules.destination, index: index), key: "undecided[\(part)]")
      }
    }
    let number = change.element.side == .source ? change.source : change.destination
    if case .uniqueConstraintAdded(let entity, let properties) = change.kind,
      let index = version?.entities.first(where: { $0.name == entity })?.uniquenessConstraints
        .firstIndex(of: properties)
    {
      return nearest(to: .uniquenessConstraint(version: number, entity: entity, index: index))
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
