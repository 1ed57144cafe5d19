import CDMapping
import CDModel

// Core Data finds out on the user's data what a mapping model cannot do; here a rule is right, or it is not taken over.
extension MappingTranslation {
  /// Takes out of the rules what the step between the versions refuses, and says so: a value that may be nil where one
  /// is wanted or is of another type, a filter that no store can evaluate, an entity that nothing is taken from. Each of
  /// these stays undecided: what would be inferred instead is not what the mapping model says.
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
    removeSuperfluous()
  }

  /// Takes a part out, and leaves it open.
  private mutating func leaveOut(_ part: RulePart, _ problem: MappingProblem) {
    let rule = rules.entities[part.entity]
    var (name, text) = (UndecidedPart.filter, "what the mapping says")
    switch part.kind {
    case .attribute(let number) where rule.attributes.indices.contains(number):
      let value = rules.entities[part.entity].attributes.remove(at: number)
      (name, text) = (value.name, "the value '\(value.value)' of attribute '\(value.name)'")
    case .relationship(let number) where rule.relationships.indices.contains(number):
      let value = rules.entities[part.entity].relationships.remove(at: number)
      (name, text) = (value.name, "the path '\(value.value)' of relationship '\(value.name)'")
    case .filter:
      guard let filter = rule.filter else { return }
      text = "the filter '\(filter)'"
      rules.entities[part.entity].filter = nil
      rules.entities[part.entity].owned = .drop
    case .name:
      rules.entities[part.entity].name = nil
      return
    case .entity: rules.entities[part.entity] = EntityRule(destination: rule.destination)
    case .attribute, .relationship: return
    }
    let message = "\(text) cannot be taken over: \(problem)"
    let mapping = report(rule, message)
    // Of an entity without objects nothing is left to decide.
    if case .entity = part.kind, from.entity(inferredSource(of: rule.destination) ?? "") == nil { return }
    guard !rules.entities[part.entity].undecided.contains(where: { $0.name == name }) else { return }
    rules.entities[part.entity].undecided.append(UndecidedPart(name, in: mapping, message))
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
    case .rules, .drop, .duplicate, .entityDrop, .undecided, .owned: return nil
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
