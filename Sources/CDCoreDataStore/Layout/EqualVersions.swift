import CDMapping
import CDModel

/// Versions with the same tables, so that a store of any of them can be treated as a store of the newest.
enum EqualVersions {
  /// Whether objects of the older versions can be used in the newest one without a migration: every value stays in its
  /// column, and no rule or code of the app is skipped.
  static func areOne(_ versions: [ModelVersion], of model: ManagedObjectModel) -> Bool {
    // Versions with the same data hash need no migration between them.
    if Set(versions.map { ModelHashes($0).data }).count <= 1 { return true }
    guard let first = versions.map(\.number).min(), let last = versions.map(\.number).max(),
      let steps = VersionPaths(model).steps(from: first, to: last)
    else { return false }
    let passed = Set(steps.flatMap { [$0.source, $0.destination] })
    return versions.allSatisfy { passed.contains($0.number) } && steps.allSatisfy(keepsValues)
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
