import CDModel

// What rules name, before any of them is applied.
extension StepBuilder {
  func checkRules() {
    for (place, drop) in rules.drops.enumerated() { checkDrop(drop, place) }
    var names: Set<String> = []
    for (place, rule) in rules.entities.enumerated() {
      if let name = rule.name, !names.insert(name).inserted {
        problem(at: .name(entity: place), "another mapping is called '\(name)' already")
      }
      checkEntity(rule, place)
    }
    for (place, rule) in rules.duplicates.enumerated() { checkDuplicateRule(rule, place) }
  }

  @inline(never)
  func problem(
    _ severity: MappingProblem.Severity = .error, at place: MappingProblem.Place, span: SourceSpan? = nil,
    _ message: String, suggestion: String? = nil
  ) {
    problems.add(MappingProblem(severity, at: place, span: span, message, suggestion: suggestion))
  }

  var sourceName: String { "version \(source.version.number)" }
  var destinationName: String { "version \(destination.version.number)" }

  private func checkDrop(_ name: String, _ place: Int) {
    if let dot = name.firstIndex(of: ".") {
      let configuration = source.version.configurations.first { $0.name == name[..<dot] }
      let entity = String(name[name.index(after: dot)...])
      if configuration?.entities.contains(entity) ?? false { return }
      problem(at: .drop(place), "\(sourceName) has no configuration with an entity '\(name)'")
    } else if source.entity(name) == nil {
      problem(
        at: .drop(place), "\(sourceName) has no entity '\(name)'",
        suggestion: closestName(to: name, in: source.version.entities.map(\.name)))
    }
  }

  // MARK: Entities

  private func checkEntity(_ rule: EntityRule, _ place: Int) {
    guard let entity = destination.entity(rule.destination) else {
      problem(
        at: .entity(place), "\(destinationName) has no entity '\(rule.destination)'",
        suggestion: closestName(to: rule.destination, in: destination.version.entities.map(\.name)))
      return
    }
    checkSource(of: rule, entity, place)
    checkOwned(rule, entity, place)
    if entity.isAbstract {
      let text = "'\(entity.name)' is abstract and has no objects: write this for its subentities"
      if rule.isCustom { problem(at: .policy(entity: place), text) }
      if rule.filter != nil { problem(at: .filter(entity: place), text) }
    }
    for (number, each) in rule.attributes.enumerated() {
      checkAttributeName(each.name, of: entity.name, at: .attributeName(entity: place, number))
    }
    for (number, each) in rule.relationships.enumerated() {
      checkRelationshipName(each.name, of: entity.name, at: .relationshipName(entity: place, number))
    }
    for (number, each) in rule.undecided.enumerated() {
      checkUndecided(each, of: entity, at: .undecided(entity: place, number), place)
    }
    checkRepeats(rule, place)
  }

  /// Notes what nobody has decided. Neither a rule nor the app's own code answers it: whoever writes them removes it.
  private func checkUndecided(
    _ part: UndecidedPart, of entity: EntityDescription, at problemPlace: MappingProblem.Place, _ place: Int
  ) {
    let name = part.name
    let owner =
      destination.declaringEntity(
        of: name.split(separator: ".").first.map(String.init) ?? "", in: entity.name)?.name ?? entity.name
    let element: VersionElement
    if case .relationship? = destination.property(name, of: entity.name) {
      element = .relationship(entity: owner, name: name)
    } else if name == UndecidedPart.filter, destination.property(name, of: entity.name) == nil {
      element = .entity(entity.name)
    } else {
      let count = problems.list.count
      checkAttributeName(name, of: entity.name, at: problemPlace)
      guard problems.list.count == count else { return }
      element = .attribute(entity: owner, name: name)
    }
    undecided.append((place, part, element))
    changes.add(.undecided(element, note: part.note), .needsRule, .open)
  }

  private func checkSource(of rule: EntityRule, _ entity: EntityDescription, _ place: Int) {
    if let from = rule.source {
      guard let old = source.entity(from) else {
        problem(
          at: .source(entity: place), "\(sourceName) has no entity '\(from)'",
          suggestion: closestName(to: from, in: source.version.entities.map(\.name)))
        return
      }
      if old.isAbstract, !entity.isAbstract {
        let subentities = source.descendants(of: from).filter { !$0.isAbstract }.map(\.name)
        problem(
          at: .source(entity: place),
          "'\(from)' of \(sourceName) is abstract and has no objects; those are of "
            + (subentities.isEmpty ? "no entity" : subentities.joined(separator: ", ")))
      }
    } else if match.entities[entity.name] == nil, !entity.isAbstract, !rule.isCustom {
      problem(
        at: .entity(place),
        "nothing says where the objects of '\(entity.name)' come from, which \(sourceName) does not have: write "
          + "'from:' and an entity")
    }
  }

  private func checkRepeats(_ rule: EntityRule, _ place: Int) {
    var seen: Set<String> = []
    for (number, each) in rule.attributes.enumerated() where !seen.insert(each.name).inserted {
      problem(
        at: .attributeName(entity: place, number), "there is a rule for '\(each.name)' already")
    }
    seen = []
    for (number, each) in rule.undecided.enumerated() where !seen.insert(each.name).inserted {
      problem(at: .undecided(entity: place, number), "'\(each.name)' is here a second time")
    }
    seen = []
    for (number, each) in rule.relationships.enumerated() where !seen.insert(each.name).inserted {
      problem(
        at: .relationshipName(entity: place, number), "there is a rule for '\(each.name)' already")
    }
  }

  // MARK: Properties

  private func checkAttributeName(_ name: String, of entity: String, at place: MappingProblem.Place) {
    let steps = name.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard case .attribute(let attribute)? = destination.property(steps[0], of: entity) else {
      if case .relationship? = destination.property(steps[0], of: entity) {
        problem(at: place, "'\(steps[0])' is a relationship: its rule stands under 'relationships'")
        return
      }
      let names = destination.attributes(of: entity).filter(\.isStored).map(\.name)
      return problem(
        at: place, "'\(entity)' of \(destinationName) has no attribute '\(steps[0])'",
        suggestion: closestName(to: steps[0], in: names))
    }
    if !attribute.isStored {
      problem(at: place, "'\(steps[0])' is transient, and so nothing of it is stored")
    } else if attribute.derivation != nil {
      problem(at: place, "'\(steps[0])' is derived: its value follows from others")
    } else if steps.count > 1 {
      guard case .composite(let type) = attribute.type, let composite = destination.composite(type),
        steps.count == 2
      else {
        return problem(at: place, "'\(steps[0])' is no composite and has no fields")
      }
      if !composite.fields.contains(where: { $0.name == steps[1] }) {
        problem(
          at: place, "composite '\(type)' has no field '\(steps[1])'",
          suggestion: closestName(to: steps[1], in: composite.fields.map(\.name)))
      }
    }
  }

  private func checkRelationshipName(_ name: String, of entity: String, at place: MappingProblem.Place) {
    switch destination.property(name, of: entity) {
    case .relationship?: break
    case .attribute?: problem(at: place, "'\(name)' is an attribute: its rule stands under 'attributes'")
    case .fetched?: problem(at: place, "'\(name)' is a fetched property, which nothing is stored of")
    case nil:
      problem(
        at: place, "'\(entity)' of \(destinationName) has no relationship '\(name)'",
        suggestion: closestName(to: name, in: destination.relationships(of: entity).map(\.name)))
    }
  }

  private func checkDuplicateRule(_ rule: DuplicateRule, _ place: Int) {
    guard let entity = destination.entity(rule.entity) else {
      return problem(
        at: .duplicate(place), "\(destinationName) has no entity '\(rule.entity)'",
        suggestion: closestName(to: rule.entity, in: destination.version.entities.map(\.name)))
    }
    let wanted = Set(rule.properties)
    if entity.uniquenessConstraints.contains(where: { Set($0) == wanted }) { return }
    let known = entity.uniquenessConstraints.map { $0.joined(separator: ", ") }
    problem(
      at: .duplicate(place),
      "'\(rule.entity)' has no unique constraint over \(rule.properties.joined(separator: ", "))"
        + (known.isEmpty ? "" : "; it has one over " + known.joined(separator: "; one over ")))
  }

  // MARK: What is of no use

  /// A drop of something that is not lost is likely a slip, and would hide a loss that comes later.
  func reportUselessDrops() {
    let isWrong = Set(problems.list.map(\.place))
    for (place, name) in rules.drops.enumerated() where !usedDrops.contains(.drop(place)) {
      if isWrong.contains(.drop(place)) { continue }
      problem(.warning, at: .drop(place), "no objects of '\(name)' are lost: remove it from 'drop'")
    }
    for (place, rule) in rules.entities.enumerated() {
      for (number, name) in rule.drops.enumerated() {
        checkEntityDrop(name, rule, at: .entityDrop(entity: place, number), place)
      }
    }
  }

  private func checkEntityDrop(
    _ name: String, _ rule: EntityRule, at drop: MappingProblem.Place, _ place: Int
  ) {
    if usedDrops.contains(drop) { return }
    // Where the sources of a rule are not known, neither is what they have.
    let sources =
      rule.source.map { [$0] }
      ?? mappings.filter { $0.ruleChain.contains(place) }.compactMap(\.mapping.source)
    guard destination.entity(rule.destination) != nil, !sources.isEmpty,
      sources.allSatisfy({ source.entity($0) != nil })
    else { return }
    let steps = name.split(separator: ".").map(String.init)
    if sources.contains(where: { source.property(steps.first ?? "", of: $0) != nil }) {
      problem(.warning, at: drop, "'\(name)' is not lost: remove it from 'drop'")
      return
    }
    let names = sources.flatMap { entity in
      source.attributes(of: entity).map(\.name) + source.relationships(of: entity).map(\.name)
    }
    problem(
      at: drop, "'\(sources[0])' of \(sourceName) has no '\(name)'",
      suggestion: closestName(to: name, in: names))
  }
}
