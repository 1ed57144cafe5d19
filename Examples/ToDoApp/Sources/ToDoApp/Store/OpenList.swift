import CDRuntime

/// A list that is open.
struct OpenList: Sendable {
  let container: PersistentContainer
  let name: String

  var coordinator: PersistentStoreCoordinator { container.persistentStoreCoordinator }
  /// What the opening has done to a store of an older version; nil if there was nothing to do.
  var migration: MigrationResult? { coordinator.migrations.first }

  /// Opens the store, creates it, or migrates it.
  ///
  /// - Parameter progress: Follows a migration.
  /// - Throws: ``StoreError`` or ``MigrationError``. The store is then unchanged.
  init(_ address: StoreAddress, progress: @escaping ProgressHandler) throws {
    var description = PersistentStoreDescription(try address.location())
    description.keepsBackup = true
    description.migrationObserver = MigrationObserver(progress: progress)
    container = try PersistentContainer(
      for: ToDoModel.self, migrations: { ToDoMigrations() }, stores: [description])
    name = address.name
    try Self.preparePanel(in: container.newContext())
  }

  /// Every store has one panel, which orders the categories. A new store and a migrated one get theirs here.
  private static func preparePanel(in context: ManagedObjectContext) throws {
    try context.perform {
      let panel = try Panel.first(in: context) ?? Panel(in: context)
      panel.addToCategories(try Category.fetch(where: { $0.panel == nil }, sortedBy: \.name, in: context))
      // Another process may be opening the same new store. Its panel stays.
      context.mergePolicy = .mergeByPropertyObjectTrump
      try context.save()
    }
  }
}
