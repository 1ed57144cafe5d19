// Coordinators for the stores of a migration, which are always SQLite stores.
extension PersistentStoreCoordinator {
  /// Opens stores that need no migration.
  convenience init(plan: ModelPlan, stores: [StoreSettings]) throws {
    self.init(plan: plan, engine: try SQLiteDatabase(stores, model: plan))
  }
}
