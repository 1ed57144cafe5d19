import CDMapping
import CDModel

// Core Data detects mistakes of a mapping model only when it migrates the user's data. Here a wrong rule is not
// imported.
extension MappingTranslation {
  /// Removes the parts of rules that the migration step refuses, and reports them: a value that may be nil where nil is
  /// not allowed, a value of a wrong type, a filter that no store can evaluate, an entity without a source. Each of
  /// these parts is marked as undecided, because inference would not do what the mapping model says.
  mutating func leaveOutWhatIsWrong(from old: ModelVersion, to new: ModelVersion) {
    // Removing a part may reveal further problems.
    for _ in 0..<8 {
      let problems = MigrationStep(from: old, to: new, rules: rules).problems.filter { $0.severity == .error }
      let before = rules
      leaveOut(problems)
      if rules == before { return }
    }
  }

  private mutating func leaveOut(_ problems: [MappingProblem]) {
    // If a part has several problems, only the first is reported.
    var parts: [RulePart: MappingProblem] = [:]
    for problem in problems {
      guard let part = RulePart(problem.location), rules.entities.indices.contains(part.entity) else {
        continue
      }
      if parts[part] == nil { parts[part] = problem }
    }
    // Parts are removed from the end, so that the indices of the others stay valid.
    for (part, problem) in parts.sorted(by: { $0.key.rank > $1.key.rank }) { leaveOut(part, problem) }
    removeSuperfluous()
  }

  /// Removes a part and marks it as undecided.
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
    let message = "\(text) cannot be imported: \(problem)"
    let mapping = report(rule, message)
    // If the entity has no objects, there is nothing to decide.
    if case .entity = part.kind, from.entity(inferredSource(of: rule.destination) ?? "") == nil { return }
    guard !rules.entities[part.entity].undecided.contains(where: { $0.name == name }) else { return }
    rules.entities[part.entity].undecided.append(UndecidedPart(name, in: mapping, message))
  }
}

/// A part of an entity's rule that can be removed.
private struct RulePart: Hashable {
  enum Kind: Hashable {
    case attribute(Int)
    case relationship(Int)
    case filter, name, entity
  }

  var entity: Int
  var kind: Kind

  init?(_ location: MappingProblem.Location) {
    switch location {
    case .attribute(let entity, let number), .attributeName(let entity, let number):
      (self.entity, kind) = (entity, .attribute(number))
    case .relationship(let entity, let number), .relationshipName(let entity, let number):
      (self.entity, kind) = (entity, .relationship(number))
    case .filter(let entity): (self.entity, kind) = (entity, .filter)
    case .name(let entity): (self.entity, kind) = (entity, .name)
    case .entity(let entity), .source(let entity), .policy(let entity):
      (self.entity, kind) = (entity, .entity)
    // Translated rules never have problems in these parts.
    default: return nil
    }
  }

  /// The order of removal. Later elements of a list have a higher rank, and the whole entity has the lowest.
  var rank: Int {
    switch kind {
    case .attribute(let number), .relationship(let number): number + 3
    case .filter: 2
    case .name: 1
    case .entity: 0
    }
  }
}
