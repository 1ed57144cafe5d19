import CDModel

// Core Data finds out on the user's data what a mapping model cannot do; here a rule is right, or it is not taken over.
extension MappingTranslation {
  /// Takes out of the rules what the step between the versions refuses, and says so: a value that may be nil where one
  /// is wanted or is of another type, a filter that no store can evaluate, an entity that nothing is taken from. What
  /// is then without a rule is asked for as if there were no mapping model.
  mutating func leaveOutWhatIsWrong(from old: ModelVersion, to new: ModelVersion) {
    // What is taken out may bring up what was hidden behind it.
    for _ in 0..<8 {
      let problems = MigrationStep(from: old, to: new, rules: rules).problems.filter { $0.severity == .error }
      let before = rules
      leaveOut(problems)
      if rules == before { return }
    }
  }

  private mutating func leaveOut(_ problems: [MappingProblem]) {
    // Of several problems of one part the first says enough.
    var parts: [RulePart: MappingProblem] = [:]
    for problem in problems {
      guard let part = RulePart(problem.place), rules.entities.indices.contains(part.entity) else { continue }
      if parts[part] == nil { parts[part] = problem }
    }
    // From the end, so that the places of the others stay.
    for (part, problem) in parts.sorted(by: { $0.key.rank > $1.key.rank }) { leaveOut(part, problem) }
    rules.entities.removeAll { $0 == EntityRule(destination: $0.destination) }
  }

  private mutating func leaveOut(_ part: RulePart, _ problem: MappingProblem) {
    let place = part.entity
    var text: String?
    switch part.kind {
    case .attribute(let number) where rules.entities[place].attributes.indices.contains(number):
      let rule = rules.entities[place].attributes.remove(at: number)
      text = "the value '\(rule.value)' of attribute '\(rule.name)'"
    case .relationship(let number) where rules.entities[place].relationships.indices.contains(number):
      let rule = rules.entities[place].relationships.remove(at: number)
      text = "the path '\(rule.value)' of relationship '\(rule.name)'"
    case .filter:
      text = rules.entities[place].filter.map { "the filter '\($0)'" }
      rules.entities[place].filter = nil
    case .name: rules.entities[place].name = nil
    case .entity:
      text = "what the mapping says"
      rules.entities[place] = EntityRule(destination: rules.entities[place].destination)
    case .attribute, .relationship: break
    }
    guard let text else { return }
    report(destination: rules.entities[place].destination, "\(text) cannot be taken over: \(problem)")
  }
}

/// A part of an entity's rule that can be taken out.
private struct RulePart: Hashable {
  enum Kind: Hashable {
    case attribute(Int)
    case relationship(Int)
    case filter, name, entity
  }

  var entity: Int
  var kind: Kind

  init?(_ place: MappingProblem.Place) {
    switch place {
    case .attribute(let entity, let number), .attributeName(let entity, let number):
      (self.entity, kind) = (entity, .attribute(number))
    case .relationship(let entity, let number), .relationshipName(let entity, let number):
      (self.entity, kind) = (entity, .relationship(number))
    case .filter(let entity): (self.entity, kind) = (entity, .filter)
    case .name(let entity): (self.entity, kind) = (entity, .name)
    case .entity(let entity), .source(let entity), .policy(let entity):
      (self.entity, kind) = (entity, .entity)
    // Nothing that is translated has these wrong.
    case .rules, .drop, .duplicate, .entityDrop: return nil
    }
  }

  /// What comes later in its list has the greater rank, and an entity as a whole the least.
  var rank: Int {
    switch kind {
    case .attribute(let number), .relationship(let number): number + 3
    case .filter: 2
    case .name: 1
    case .entity: 0
    }
  }
}
