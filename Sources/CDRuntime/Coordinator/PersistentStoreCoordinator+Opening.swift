extension PersistentStoreCoordinator {
  /// Opens a store for a generated model.
  ///
  /// - Throws: ``ModelError`` or ``StoreError``. An existing store is then unchanged.
  public convenience init(for model: any GeneratedModel.Type, at location: StoreLocation) throws {
    try self.init(for: model, stores: [PersistentStoreDescription(location)])
  }

  /// Opens several stores, each for a configuration of a generated model.
  ///
  /// - Throws: ``ModelError`` or ``StoreError``. If a later store fails, earlier ones
  ///   may already be migrated: see <doc:MigratingStores>.
  public convenience init(
    for model: any GeneratedModel.Type, stores: [PersistentStoreDescription]
  ) throws {
    try self.init(for: [model], stores: stores)
  }

  /// Opens stores for several generated models: see `ManagedObjectModel.init(merging:)`.
  ///
  /// ```swift
  /// let coordinator = try PersistentStoreCoordinator(
  ///   for: [LibraryModel.self, ToDoModel.self],
  ///   stores: [
  ///     PersistentStoreDescription(.sqlite(url), configuration: "Catalogue"),
  ///     PersistentStoreDescription(.inMemory),
  ///   ])
  /// ```
  ///
  /// - Throws: `ModelMergeError`, ``ModelError`` or ``StoreError``. If a later store fails, earlier ones
  ///   may already be migrated: see <doc:MigratingStores>.
  public convenience init(
    for models: [any GeneratedModel.Type], stores: [PersistentStoreDescription]
  ) throws {
    try self.init(for: models.map { ModelWithMigrations($0) }, stores: stores)
  }

  /// Opens a store for a model without generated classes. All objects are ``ManagedObject``s.
  ///
  /// - Throws: ``ModelError`` or ``StoreError``. An existing store is then unchanged.
  public convenience init(model: ManagedObjectModel, at location: StoreLocation) throws {
    try self.init(model: model, stores: [PersistentStoreDescription(location)])
  }

  /// Opens several stores, each for a configuration of a model without generated classes.
  ///
  /// - Throws: ``ModelError`` or ``StoreError``. If a later store fails, earlier ones
  ///   may already be migrated: see <doc:MigratingStores>.
  public convenience init(model: ManagedObjectModel, stores: [PersistentStoreDescription]) throws {
    let plan = try ModelPlan(model, configurations: stores.map { $0.configuration })
    self.init(plan: plan, engine: try StoreOpener(plan, stores).open())
  }
}
