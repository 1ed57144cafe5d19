import CDModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A model with entity mappings whose `policy` is `custom`. Opening its stores needs the app's own code.
///
/// Generated code declares such a model instead of a ``GeneratedModel``, together with a protocol that has one
/// requirement for each of those mappings. A container of the model takes a conformance to that protocol:
///
/// ```swift
/// func open<Model: CustomMigratingModel>(
///   _ model: Model.Type, migrations: @escaping @Sendable () -> Model.CustomMigrations
/// ) throws -> PersistentContainer {
///   try PersistentContainer(for: model, migrations: migrations, at: url)
/// }
/// ```
public protocol CustomMigratingModel: ModelDeclaration {
  /// The protocol that the app implements, with one requirement for each custom entity mapping.
  associatedtype CustomMigrations
  @_spi(Generated) static func _migrationPolicies(
    _ make: @escaping @Sendable () -> CustomMigrations
  ) -> MigrationPolicies
}

/// The app's own code for the custom entity mappings of a store's migrations.
///
/// ```swift
/// var policies = MigrationPolicies()
/// policies["Person", from: 3, to: 4] = { SplitNames() }
/// var description = PersistentStoreDescription(.sqlite(url))
/// description.migrationPolicies = policies
/// ```
///
/// Each migration creates the policies that it needs. Two values are equal if one is a copy of the other.
public struct MigrationPolicies: Hashable, Sendable {
  /// A function that creates the policy of an entity mapping.
  ///
  /// ```swift
  /// let factory: MigrationPolicies.Factory = { SplitNames() }
  /// ```
  public typealias Factory = @Sendable () -> any EntityMigrationPolicy

  /// An entity mapping of a step.
  @_spi(Generated) public struct Key: Hashable, Sendable {
    let source: Int
    let destination: Int
    let mapping: String
    /// The merged model that the step migrates, in a store of several.
    var model: UUID?

    /// Creates the key of an entity mapping.
    ///
    /// - Parameters:
    ///   - mapping: The name of the entity mapping.
    ///   - source: The number of the step's source version.
    ///   - destination: The number of the step's destination version.
    public init(_ mapping: String, from source: Int, to destination: Int) {
      self.mapping = mapping
      self.source = source
      self.destination = destination
    }
  }

  /// The policies of one model, which are created together for each migration.
  private struct Suite: Hashable, Sendable {
    /// The model's identifier; nil for any model.
    var model: UUID?
    let make: IdentityBox<@Sendable () -> [Key: any EntityMigrationPolicy]>
  }

  private var factories: [Key: IdentityBox<Factory>] = [:]
  private var suites: [Suite] = []

  /// Creates a value without policies.
  public init() {}

  /// Creates a value with the policies of generated code. Each migration creates all of them at once.
  @_spi(Generated) public init(_suite make: @escaping @Sendable () -> [Key: any EntityMigrationPolicy]) {
    suites = [Suite(model: nil, make: IdentityBox(make))]
  }

  /// The function that creates the policy of an entity mapping, for the step between two versions.
  ///
  /// - Parameters:
  ///   - mapping: The name of the entity mapping, which is its destination's name unless a mapping file gives another.
  ///   - source: The number of the step's source version.
  ///   - destination: The number of the step's destination version.
  public subscript(mapping: String, from source: Int, to destination: Int) -> Factory? {
    get { factories[Key(mapping, from: source, to: destination)]?.value }
    set { factories[Key(mapping, from: source, to: destination)] = newValue.map(IdentityBox.init) }
  }

  /// The same policies, limited to one model if they are not limited yet.
  func limited(to model: UUID) -> MigrationPolicies {
    var result = self
    for index in result.suites.indices where result.suites[index].model == nil {
      result.suites[index].model = model
    }
    return result
  }

  /// These policies, and the others for mappings that these have no policy for.
  func merging(_ others: MigrationPolicies) -> MigrationPolicies {
    // Most models have none.
    if others.factories.isEmpty, others.suites.isEmpty { return self }
    var result = self
    result.factories.merge(others.factories) { own, _ in own }
    result.suites += others.suites
    return result
  }

  /// Creates all policies for one migration of a model's store.
  func make(for model: ManagedObjectModel) -> [Key: any EntityMigrationPolicy] {
    if model.parts.isEmpty { return make(for: model.id) }
    return model.parts.reduce(into: [:]) { result, part in
      for (key, policy) in make(for: part.id) {
        var key = key
        key.model = part.id
        result[key] = policy
      }
    }
  }

  @_optimize(none)
  private func make(for model: UUID) -> [Key: any EntityMigrationPolicy] {
    var result: [Key: any EntityMigrationPolicy] = factories.mapValues { $0.value() }
    for suite in suites where suite.model == nil || suite.model == model {
      result.merge(suite.make.value()) { own, _ in own }
    }
    return result
  }
}

/// A value that is compared by identity.
final class IdentityBox<Value: Sendable>: Hashable, Sendable {
  let value: Value

  init(_ value: Value) { self.value = value }

  static func == (left: IdentityBox, right: IdentityBox) -> Bool { left === right }
  func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
