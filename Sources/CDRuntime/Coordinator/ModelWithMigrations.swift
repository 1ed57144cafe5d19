#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// One of several models for the stores of one container, with the app's own code for its migrations where it needs
/// some.
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

  /// A model that needs none.
  public init(_ model: any GeneratedModel.Type) {
    declaration = model
    policies = MigrationPolicies()
  }

  /// A model that needs some.
  ///
  /// The app's own code is made anew for each migration.
  public init<Model: CustomMigratingModel>(
    _ model: Model.Type, migrations: @escaping @Sendable () -> Model.CustomMigrations
  ) {
    declaration = model
    policies = model._migrationPolicies(migrations)
  }

  /// A model whose stores are none of an older version.
  init(declaration: any ModelDeclaration.Type) {
    self.declaration = declaration
    policies = MigrationPolicies()
  }
}
