/// The app's own code for one custom entity mapping, a source object at a time.
///
/// Objects are read in batches in the order of their keys and let go of again, so that memory does not grow with
/// the store. What is returned stands in a temporary table until the rows are made set by set.
protocol MigrationRowPolicy: Sendable {
  /// The values of one new object, by attribute or `attribute.field`, in place of those that the mapping's rules
  /// give; nil to leave the object out.
  ///
  /// - Parameter source: An object of the old version, to be read alone and not beyond the call.
  func values(for source: ManagedObject) throws -> [String: AttributeValue]?
}

/// The policies of a migration by the entity mapping that they serve.
struct MigrationPolicies: Sendable {
  struct Key: Hashable {
    let source: Int
    let destination: Int
    /// The name of the entity mapping.
    let mapping: String
  }

  var policies: [Key: any MigrationRowPolicy] = [:]

  func policy(for mapping: EntityMapping, of step: MigrationStep) -> (any MigrationRowPolicy)? {
    policies[Key(source: step.source, destination: step.destination, mapping: mapping.name)]
  }
}

/// Policies as a part of a store's description, which is a value that can be compared.
final class MigrationPolicyBox: Hashable, Sendable {
  let policies: MigrationPolicies

  init(_ policies: MigrationPolicies) { self.policies = policies }

  static func == (left: MigrationPolicyBox, right: MigrationPolicyBox) -> Bool { left === right }

  func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
