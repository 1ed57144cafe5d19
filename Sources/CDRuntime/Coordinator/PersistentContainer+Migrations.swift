#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

// Models whose stores take the app's own code to migrate.
extension PersistentContainer {
  /// Opens the store of a model with custom steps, and makes it where there is none.
  ///
  /// The app's own code is made anew for each migration.
  ///
  /// - Throws: ``ModelError``, ``StoreError``, or ``MigrationError``; an existing store is then as it was.
  public convenience init<Model: CustomMigratingModel>(
    for model: Model.Type, migrations: @escaping @Sendable () -> Model.CustomMigrations, at url: URL
  ) throws {
    self.init(
      try PersistentStoreCoordinator(
        for: model, migrations: migrations, at: StoreLocation(recognizing: url)))
  }

  /// Opens the store of a model with custom steps where the platform keeps an app's data: see ``init(for:app:)``.
  ///
  /// The app's own code is made anew for each migration.
  ///
  /// - Throws: ``ModelError``, ``StoreError``, or ``MigrationError``; an existing store is then as it was.
  public convenience init<Model: CustomMigratingModel>(
    for model: Model.Type, migrations: @escaping @Sendable () -> Model.CustomMigrations, app: String? = nil
  ) throws {
    try self.init(for: model, migrations: migrations, at: Self.storeURL(of: model, app: app))
  }

  /// Opens several stores of a model with custom steps, each for a configuration.
  ///
  /// The app's own code is made anew for each migration. A store's own
  /// ``PersistentStoreDescription/migrationPolicies`` come first.
  ///
  /// - Throws: ``ModelError``, ``StoreError``, or ``MigrationError``; existing stores are then as they were.
  public convenience init<Model: CustomMigratingModel>(
    for model: Model.Type, migrations: @escaping @Sendable () -> Model.CustomMigrations,
    stores: [PersistentStoreDescription]
  ) throws {
    self.init(try PersistentStoreCoordinator(for: model, migrations: migrations, stores: stores))
  }

  /// Opens stores for several models, of which some have custom steps.
  ///
  /// - Throws: `ModelMergeError`, ``ModelError``, ``StoreError``, or ``MigrationError``; existing stores are then as
  ///   they were.
  public convenience init(for models: [ModelWithMigrations], stores: [PersistentStoreDescription]) throws {
    self.init(try PersistentStoreCoordinator(for: models, stores: stores))
  }
}

// What does not compile, and what to write instead.
extension PersistentContainer {
  @available(
    *, unavailable,
    message: "the model has custom migration steps: pass 'migrations: { … }' with a type that implements them"
  )
  public convenience init(for model: any CustomMigratingModel.Type, at url: URL) throws {
    throw ModelError.unreadable(model: "\(model)", reason: "its migrations are not given")
  }

  @available(
    *, unavailable,
    message: "the model has custom migration steps: pass 'migrations: { … }' with a type that implements them"
  )
  public convenience init(for model: any CustomMigratingModel.Type, app: String? = nil) throws {
    throw ModelError.unreadable(model: "\(model)", reason: "its migrations are not given")
  }

  @available(
    *, unavailable,
    message: "the model has custom migration steps: pass 'migrations: { … }' with a type that implements them"
  )
  public convenience init(
    for model: any CustomMigratingModel.Type, stores: [PersistentStoreDescription]
  ) throws {
    throw ModelError.unreadable(model: "\(model)", reason: "its migrations are not given")
  }

  @available(
    *, unavailable,
    message: "one of the models has custom migration steps: pass a list of 'ModelWithMigrations'"
  )
  public convenience init(
    for models: [any ModelDeclaration.Type], stores: [PersistentStoreDescription]
  ) throws {
    throw ModelError.unreadable(model: "\(models)", reason: "its migrations are not given")
  }
}
