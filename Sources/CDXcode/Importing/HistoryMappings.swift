import CDMapping
import CDModel
import CDSchema

/// The mapping files of an imported history. They contain the rules from Xcode's mapping models and the open questions.
///
/// Core Data deletes data that a version no longer has, without a question. Here a person must confirm each loss, so it
/// stays open, and the file lists its remedies. The person who imports may confirm all losses at once. A possible
/// rename or move that is not declared remains a question even then.
struct HistoryMappings {
  private(set) var rules: [MappingRules] = []
  private(set) var files: [String: String] = [:]
  private let confirmsLosses: Bool

  /// - Parameters:
  ///   - rules: The rules from Xcode's mapping models.
  ///   - notes: The comments at the top of the files, by the files' names.
  ///   - confirmsLosses: Whether to confirm plain losses, on behalf of the person who imports.
  init(
    model: ManagedObjectModel, rules: [MappingRules], notes: [String: String], confirmsLosses: Bool = false
  ) {
    self.confirmsLosses = confirmsLosses
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
    // A confirmation may reveal further changes.
    for _ in 0..<3 {
      let step = MigrationStep(from: old, to: new, rules: rules)
      questions = []
      var hasAdded = false
      let hasNewEntity = step.changes.contains { if case .entityAdded = $0.kind { true } else { false } }
      for change in step.openChanges {
        if !confirmsLosses || Self.isQuestion(change, rules, hasNewEntity: hasNewEntity) {
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
        "The newer version in Xcode does not have the dropped elements either; Core Data drops their data.")
    }
    let losses = questions.filter(Self.isConfirmable)
    let others = questions.filter { !Self.isConfirmable($0) }
    if !others.isEmpty {
      lines.append("Open questions, which Xcode's model does not answer:")
      for change in others {
        let remedies = change.remedies.text(mapping: name)
        lines.append("- \(change)" + (remedies.isEmpty ? "" : "; \(remedies)"))
      }
    }
    if !losses.isEmpty {
      lines.append(
        "Core Data drops the following without asking. Is this intended? If so, confirm all of it with "
          + "'cdgen diff MODEL --from \(rules.source) --to \(rules.destination) --accept'; if not, write rules for it:"
      )
      for change in losses {
        let others = change.remedies.filter { !$0.isConfirmation }.text(mapping: name)
        lines.append("- \(change)" + (others.isEmpty ? "" : "; \(others)"))
      }
    }
    return lines.joined(separator: "\n")
  }

  /// Whether a confirmation is enough to resolve the change.
  private static func isConfirmable(_ change: ModelChange) -> Bool {
    change.verdict == .losesData && change.remedies.contains(where: \.isConfirmation)
  }

  /// Whether a loss may be an undeclared rename or move, or is a loss that Core Data would not accept by itself.
  private static func isQuestion(_ change: ModelChange, _ rules: MappingRules, hasNewEntity: Bool) -> Bool {
    guard change.verdict == .losesData else { return true }
    switch change.kind {
    case .entityRemoved: return hasNewEntity
    case .attributeRemoved(let name), .relationshipRemoved(let name, _, _):
      // An undecided part may use the removed property.
      return isLike(name.name, change.candidates) || rules.entities.contains { !$0.undecided.isEmpty }
    case .attributeTypeChanged, .entityBecameAbstract, .entityUnmapped: return true
    default: return false
    }
  }

  /// Whether one of the candidates may be the new name of a removed property.
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

extension Remedy {
  /// Whether the remedy only confirms a loss.
  fileprivate var isConfirmation: Bool {
    switch self {
    case .drop, .dropEntity: true
    default: false
    }
  }
}
