#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

// Models whose stores need the app's own code to migrate.
extension PersistentStoreCoordinator {
  /// Opens a store for a model with custom migration steps.
  ///
  /// The app's own code is created for each migration.
  ///
  /// - Throws: ``ModelError``, ``StoreError`` or ``MigrationError``. An existing store is then unchanged.
  public convenience init<Model: CustomMigratingModel>(
    for model: Model.Type, migrations: @escaping @Sendable () -> Model.CustomMigrations,
    at location: StoreLocation
  ) throws {
    try self.init(for: model, migrations: migrations, stores: [PersistentStoreDescription(location)])
  }

  /// Opens several stores for a model with custom migration steps, each for a configuration.
  ///
  /// The app's own code is created for each migration. A store's own ``PersistentStoreDescription/migrationPolicies``
  /// take precedence.
  ///
  /// - Throws: ``ModelError``, ``StoreError`` or ``MigrationError``. If a later store fails, earlier ones
  ///   may already be migrated: see <doc:MigratingStores>.
  public convenience init<Model: CustomMigratingModel>(
    for model: Model.Type, migrations: @escaping @Sendable () -> Model.CustomMigrations,
    stores: [PersistentStoreDescription]
  ) throws {
    try self.init(for: [ModelWithMigrations(model, migrations: migrations)], stores: stores)
  }

  /// Opens stores for several models, some of which have custom migration steps.
  ///
  /// - Throws: `ModelMergeError`, ``ModelError``, ``StoreError`` or ``MigrationError``. If a later store
  ///   fails, earlier ones may already be migrated: see <doc:MigratingStores>.
  @_optimize(none)
  public convenience init(for models: [ModelWithMigrations], stores: [PersistentStoreDescription]) throws {
    var parsed: [ManagedObjectModel] = []
    var classes: [String: GeneratedClass] = [:]
    var policies = MigrationPolicies()
    for model in models {
      let definition = model.declaration._definition
      do {
        let found = try ManagedObjectModel(canonicalJSON: definition.canonicalJSON)
        parsed.append(found)
        policies = policies.merging(model.policies.limited(to: found.id))
      } catch {
        throw ModelError.unreadable(model: "\(model.declaration)", reason: "\(error)")
      }
      classes = classes.isEmpty ? definition.classes : Self.merged(classes, definition.classes)
    }
    let merged = try parsed.count == 1 ? parsed[0] : ManagedObjectModel(merging: parsed)
    var stores = stores
    for index in stores.indices {
      stores[index].migrationPolicies = stores[index].migrationPolicies.merging(policies)
    }
    var bindings = ClassBindings.none
    let plan = try ModelPlan(merged, configurations: stores.map { $0.configuration }) { graph in
      bindings = try ClassBindings(classes, of: graph)
      return bindings.traits
    }
    self.init(plan: plan, classes: bindings, engine: try StoreOpener(plan, stores).open())
  }

  /// The classes of several models. The merge of the models reports two classes of one name as an error.
  @_optimize(none)
  private static func merged(
    _ first: [String: GeneratedClass], _ second: [String: GeneratedClass]
  ) -> [String: GeneratedClass] {
    first.merging(second) { first, _ in first }
  }
}

// Initializers that do not compile; their messages say what to write instead.
extension PersistentStoreCoordinator {
  @available(
    *, unavailable,
    message: "the model has custom migration steps: pass 'migrations: { … }' with a type that implements them"
  )
  public convenience init(for model: any CustomMigratingModel.Type, at location: StoreLocation) throws {
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
