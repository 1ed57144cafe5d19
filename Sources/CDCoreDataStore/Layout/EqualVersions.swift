import CDMapping
import CDModel

/// Versions whose tables are the same, so that a store of any of them can be taken for one of the newest.
enum EqualVersions {
  /// Whether the objects of the older version are those of the newer one as they are: each value stays where it is, and
  /// no rule or code of the app's would be left out.
  static func areOne(_ versions: [ModelVersion], of model: ManagedObjectModel) -> Bool {
    // Where they have the same data, nothing is to be done between them.
    if Set(versions.map { ModelHashes($0).data }).count <= 1 { return true }
    guard let first = versions.map(\.number).min(), let last = versions.map(\.number).max(),
      let steps = VersionLine(model).steps(from: first, to: last)
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
