/// Opens the stores of a coordinator, and migrates stores of older versions before it opens them.
struct StoreOpener {
  private let plan: ModelPlan
  private let descriptions: [PersistentStoreDescription]

  init(_ plan: ModelPlan, _ descriptions: [PersistentStoreDescription]) {
    self.plan = plan
    self.descriptions = descriptions
  }

  /// Opens the stores.
  ///
  /// - Throws: ``StoreError`` or ``MigrationError``. Existing stores are then unchanged.
  @_optimize(none)
  func open() throws -> any StoreEngine {
    for case .engine(let location) in descriptions.map(\.location) {
      guard descriptions.allSatisfy({ $0.location.isOfEngine(location.engine) }) else {
        throw StoreError.notSupported("stores of several engines in one coordinator")
      }
      do {
        return try location.open(descriptions.indices.map(settings), plan)
      } catch StoreError.needsMigration(_, let model, let from, let to)
        where location.transfer == nil && descriptions.contains(where: \.migratesStoreAutomatically)
      {
        throw StoreError.notSupported("the migration of '\(model)' from version \(from) to version \(to)")
      }
    }
    return try SQLiteDatabase(descriptions.map(\.settings), model: plan) { store, storeIndex in
      do { return try store.open() } catch StoreError.needsMigration
        where descriptions[storeIndex].migratesStoreAutomatically && !store.isReadOnly
      {
        return try migrate(store, storeIndex)
      }
    }
  }

  /// The settings of a store for an engine that migrates its stores row by row.
  private func settings(_ storeIndex: Int) -> StoreSettings {
    let description = descriptions[storeIndex]
    var settings = description.settings
    if description.migratesStoreAutomatically, !description.isReadOnly {
      var others = descriptions
      others.remove(at: storeIndex)
      settings.migrator = RowMigration(
        description: description, others: others, model: plan, storeIndex: storeIndex)
    }
    return settings
  }

  private func migrate(_ store: ClosedStore, _ storeIndex: Int) throws -> OpenedStore {
    let beginning = ContinuousClock.now
    let signpost = Signpost("migration")
    defer { signpost.end() }
    let opened = try migrated(store, storeIndex)
    if let result = opened.store.migration, let first = result.steps.first, let last = result.steps.last {
      StoreLog.report(
        .migration(
          store: result.storeURL, from: first.source, to: last.destination, duration: .now - beginning))
    }
    return opened
  }

  private func migrated(_ store: ClosedStore, _ storeIndex: Int) throws -> OpenedStore {
    let description = descriptions[storeIndex]
    var others = descriptions
    others.remove(at: storeIndex)
    switch store {
    case .file(let opening):
      guard let rows = opening.rows?.connection else { return try opening.open() }
      return try FileStoreMigration(opening, rows: rows, description, others: others).open()
    case .database(let opening):
      return try opening.open(after: migrate(opening, description, others))
    // A new store has the current version.
    case .memory(let opening): return try opening.open()
    }
  }

  private func migrate(
    _ opening: DatabaseOpening, _ description: PersistentStoreDescription,
    _ others: [PersistentStoreDescription]
  ) throws -> MigrationResult {
    let source = plan.source(ofStore: opening.storeIndex)
    do {
      return try StoreMigration(
        url: opening.url, description: description, model: source.model, others: others
      ).run()
    } catch {
      guard let draft = ChangedDraft(error, of: description, source) else { throw error }
      try draft.erase(opening.url)
      return draft.result
    }
  }
}
