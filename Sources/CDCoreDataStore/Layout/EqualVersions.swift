import CDMapping
import CDModel
import CDRuntime

/// Versions with the same tables, so that a store of any of them can be treated as a store of the newest.
enum EqualVersions {
  /// Whether objects of the older versions can be used in the newest one without a migration: every value stays in its
  /// column, and no rule or code of the app is skipped.
  static func areOne(_ versions: [ModelVersion], of model: ManagedObjectModel) -> Bool {
    guard let first = versions.map(\.number).min(), let last = versions.map(\.number).max() else {
      return false
    }
    if let steps = VersionPaths(model).steps(from: first, to: last), steps.allSatisfy(keepsValues) {
      let passed = Set(steps.flatMap { [$0.source, $0.destination] })
      if versions.allSatisfy({ passed.contains($0.number) }) { return true }
    }
    // Versions of which none leads to the others are equal if they store the same, and no step can change rows.
    let contents = versions.map { version in
      let hashes = ModelHashes(version)
      return [hashes.data, hashes.layout]
    }
    return !model.mayChangeRowsOfSameData && Set(contents).count == 1
  }

  private static func keepsValues(_ step: MigrationStep) -> Bool {
    step.rules == nil
      && step.changes.allSatisfy { change in
        guard change.verdict == .automatic else { return false }
        switch change.kind {
        case .attributeBecameOptional, .attributeBecameMandatory, .attributeTypeChanged, .defaultChanged,
          .rulesTightened, .relationshipBecameOptional, .deleteRuleChanged, .uniqueConstraintRemoved,
          .indexesChanged:
          return true
        default: return false
        }
      }
  }
}
