/// A model with entity mappings whose `policy` is `custom`: opening its stores takes the app's own code.
///
/// Generated code declares such a model in place of a ``GeneratedModel``, and with it a protocol that has one
/// requirement for each of those mappings. A container of it takes a conformance:
///
/// ```swift
/// func open<Model: CustomMigratingModel>(
///   _ model: Model.Type, migrations: @escaping @Sendable () -> Model.CustomMigrations
/// ) throws -> PersistentContainer {
///   try PersistentContainer(for: model, migrations: migrations, at: url)
/// }
/// ```
public protocol CustomMigratingModel: ModelDeclaration {
  /// What the app implements: one requirement for each custom entity mapping.
  associatedtype CustomMigrations
  @_spi(Generated) static func _migrationPolicies(
    _ make: @escaping @Sendable () -> CustomMigrations
  ) -> MigrationPolicies
}
