import CDModel
import CDSchema

/// The mapping files of an imported history: what Xcode's mapping models say, and the losses that Core Data took
/// silently.
///
/// Core Data lets go of what a version no longer has. That is confirmed in writing, but where it looks like a renaming
/// that nobody said: this stays open, with its remedies in the file.
struct HistoryMappings {
  private(set) var rules: [MappingRules] = []
  private(set) var files: [String: String] = [:]

  /// - Parameters:
  ///   - rules: Those of Xcode's mapping models.
  ///   - notes: What is remarked at the top of their files, by the files' names.
  init(model: ManagedObjectModel, rules: [MappingRules], notes: [String: String]) {
    for version in model.versions {
      for base in version.basedOn {
        guard let old = model.version(base) else { continue }
        let given = rules.first { $0.source == base && $0.destination == version.number }
        add(
          from: old, to: version, given: given, note: notes[MappingFile.name(from: base, to: version.number)])
      }
    }
    for rule in rules
    where !self.rules.contains(where: { $0.source == rule.source && $0.destination == rule.destination }) {
      self.rules.append(rule)
      let name = MappingFile.name(from: rule.source, to: rule.destination)
      files[name] = MappingText(rule, head: notes[name]).text
    }
  }

  private mutating func add(from old: ModelVersion, to new: ModelVersion, given: MappingRules?, note: String?)
  {
    var rules = given ?? MappingRules(source: old.number, destination: new.number)
    var questions: [ModelChange] = []
    // What is confirmed may bring up what was hidden behind it.
    for _ in 0..<3 {
      let step = MigrationStep(from: old, to: new, rules: rules)
      questions = []
      var hasAdded = false
      let hasNewEntity = step.changes.contains { if case .entityAdded = $0.kind { true } else { false } }
      for change in step.openChanges {
        if Self.isQuestion(change, hasNewEntity: hasNewEntity) {
          questions.append(change)
        } else if Self.confirm(change, in: &rules) {
          hasAdded = true
        }
      }
      if !hasAdded { break }
    }
    let isPlain = rules == MappingRules(source: old.number, destination: new.number)
    if isPlain, questions.isEmpty, note == nil { return }
    let name = MappingFile.name(from: old.number, to: new.number)
    self.rules.append(rules)
    files[name] = MappingText(rules, head: head(note, questions, rules, given, name)).text
  }

  private func head(
    _ note: String?, _ questions: [ModelChange], _ rules: MappingRules, _ given: MappingRules?, _ name: String
  ) -> String {
    var lines = note.map { [$0] } ?? []
    if rules != given ?? MappingRules(source: rules.source, destination: rules.destination) {
      lines.append(
        "What is dropped is gone from the newer version in Xcode too, where Core Data let go of it.")
    }
    if !questions.isEmpty {
      lines.append("Open questions, which Xcode's model does not answer:")
      for change in questions {
        let remedies = change.remedies.text(mapping: name)
        lines.append("- \(change)" + (remedies.isEmpty ? "" : "; \(remedies)"))
      }
    }
    return lines.joined(separator: "\n")
  }

  /// Whether a loss may be a renaming that nobody said, or is none that Core Data takes by itself.
  private static func isQuestion(_ change: ModelChange, hasNewEntity: Bool) -> Bool {
    guard change.verdict == .losesData else { return true }
    switch change.kind {
    case .entityRemoved: return hasNewEntity
    case .attributeRemoved(let name), .relationshipRemoved(let name):
      return isLike(name.name, change.candidates)
    case .attributeTypeChanged: return true
    default: return false
    }
  }

  /// Whether one of some names may be what a name has become.
  private static func isLike(_ name: String, _ candidates: [String]) -> Bool {
    let candidates = candidates.map { $0.split(separator: ".").last.map(String.init) ?? $0 }
    if closestName(to: name, in: candidates) != nil { return true }
    let folded = name.lowercased()
    return candidates.contains {
      let other = $0.lowercased()
      return other != folded && (other.contains(folded) || folded.contains(other))
    }
  }

  private static func confirm(_ change: ModelChange, in rules: inout MappingRules) -> Bool {
    var hasAdded = false
    for remedy in change.remedies {
      switch remedy {
      case .drop(let entity, let property):
        if let place = rules.entities.firstIndex(where: { $0.destination == entity }) {
          guard !rules.entities[place].drops.contains(property) else { continue }
          rules.entities[place].drops.append(property)
        } else {
          rules.entities.append(EntityRule(destination: entity, drops: [property]))
        }
        hasAdded = true
      case .dropEntity(let name) where !rules.drops.contains(name):
        rules.drops.append(name)
        hasAdded = true
      default: break
      }
    }
    return hasAdded
  }
}
