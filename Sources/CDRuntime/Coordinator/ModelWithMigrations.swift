#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// One of several models for the stores of one container, with the app's own migration code if the model needs it.
///
/// ```swift
/// func open<Model: CustomMigratingModel>(
///   _ model: Model.Type, migrations: @escaping @Sendable () -> Model.CustomMigrations
/// ) throws -> PersistentContainer {
///   try PersistentContainer(
///     for: [ModelWithMigrations(LibraryModel.self), ModelWithMigrations(model, migrations: migrations)],
///     stores: [PersistentStoreDescription(.sqlite(url))])
/// }
/// ```
public struct ModelWithMigrations: Sendable {
  let declaration: any ModelDeclaration.Type
  let policies: MigrationPolicies

  /// Creates the value for a model that needs no migration code.
  public init(_ model: any GeneratedModel.Type) {
    declaration = model
    policies = MigrationPolicies()
  }

  /// Creates the value for a model with custom migration steps.
  ///
  /// The app's own code is created for each migration.
  public init<Model: CustomMigratingModel>(
    _ model: Model.Type, migrations: @escaping @Sendable () -> Model.CustomMigrations
  ) {
    declaration = model
    policies = model._migrationPolicies(migrations)
  }

  /// Creates the value for a model that has no stores of older versions.
  init(declaration: any ModelDeclaration.Type) {
    self.declaration = declaration
    policies = MigrationPolicies()
  }
}
