#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

extension PersistentStoreCoordinator {
  /// Opens a store for a model of generated code.
  ///
  /// - Throws: ``ModelError``, or ``StoreError``; an existing store is then as it was.
  public convenience init(for model: any GeneratedModel.Type, at location: StoreLocation) throws {
    try self.init(for: model, stores: [PersistentStoreDescription(location)])
  }

  /// Opens several stores, each for a configuration of a generated code's model.
  ///
  /// - Throws: ``ModelError``, or ``StoreError``; existing stores are then as they were.
  public convenience init(
    for model: any GeneratedModel.Type, stores: [PersistentStoreDescription]
  ) throws {
    try self.init(for: [model], stores: stores)
  }

  /// Opens stores for several models of generated code: see `ManagedObjectModel.init(merging:)`.
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
  /// - Throws: `ModelMergeError`, ``ModelError``, or ``StoreError``; existing stores are then as they were.
  public convenience init(
    for models: [any GeneratedModel.Type], stores: [PersistentStoreDescription]
  ) throws {
    try self.init(for: models.map { ModelWithMigrations($0) }, stores: stores)
  }

  /// Opens a store for a model without generated classes: all objects are ``ManagedObject``s.
  ///
  /// - Throws: ``ModelError``, or ``StoreError``; an existing store is then as it was.
  public convenience init(model: ManagedObjectModel, at location: StoreLocation) throws {
    try self.init(model: model, stores: [PersistentStoreDescription(location)])
  }

  /// Opens several stores, each for a configuration of a model without generated classes.
  ///
  /// - Throws: ``ModelError``, or ``StoreError``; existing stores are then as they were.
  public convenience init(model: ManagedObjectModel, stores: [PersistentStoreDescription]) throws {
    let plan = try ModelPlan(model, configurations: stores.map(\.configuration))
    self.init(plan: plan, engine: try StoreOpener(plan, stores).open())
  }

  // MARK: Identifiers

  /// The identifier of a URI that an identifier of one of the stores gave, before a migration too; nil for any
  /// other. An entity that was renamed since is followed by its `renamedFrom`.
  public func managedObjectID(forURIRepresentation uri: URL) -> ManagedObjectID? {
    ManagedObjectID(uri: uri).flatMap(currentID)
  }
}
