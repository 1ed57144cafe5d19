import CDModel

extension ElementPositions {
  /// The place of a problem in a mapping file.
  func location(of problem: MappingProblem, from source: Int, to destination: Int) -> SourceLocation? {
    func rule(_ place: Int) -> ModelElement {
      .entityRule(from: source, to: destination, place: place)
    }
    let mapping = ModelElement.mapping(from: source, to: destination)
    let (element, key): (ModelElement, String?) =
      switch problem.place {
      case .rules: (mapping, nil)
      case .drop(let place): (mapping, "drop[\(place)]")
      case .duplicate(let place): (mapping, "onDuplicate[\(place)]")
      case .entity(let place): (rule(place), nil)
      case .source(let place): (rule(place), "from")
      case .name(let place): (rule(place), "name")
      case .policy(let place): (rule(place), "policy")
      case .filter(let place): (rule(place), "where")
      case .attributeName(let place, let number): (rule(place), "key:attributes[\(number)]")
      case .attribute(let place, let number): (rule(place), "attributes[\(number)]")
      case .relationshipName(let place, let number): (rule(place), "key:relationships[\(number)]")
      case .relationship(let place, let number): (rule(place), "relationships[\(number)]")
      case .entityDrop(let place, let number): (rule(place), "drop[\(number)]")
      }
    if let key, let span = problem.span,
      let location = location(of: element, key: key, utf8Offset: span.lowerBound)
    {
      return location
    }
    return nearest(to: element, key: key)
  }

  /// The place of what a change is about, in the file of the version that has it.
  func location(of change: ModelChange, in version: ModelVersion?) -> SourceLocation? {
    let number = change.element.side == .source ? change.source : change.destination
    if case .uniqueConstraintAdded(let entity, let properties) = change.kind,
      let place = version?.entities.first(where: { $0.name == entity })?.uniquenessConstraints
        .firstIndex(of: properties)
    {
      return nearest(to: .uniquenessConstraint(version: number, entity: entity, place: place))
    }
    return location(of: change.element.element, version: number)
  }
}
