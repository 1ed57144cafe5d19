#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

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
  /// - Throws: ``StoreError`` or ``MigrationError``. A single store is then unchanged. Of several stores, those before the
  ///   one that fails may be migrated.
  func open() throws -> any StoreEngine {
    guard descriptions.count > 1 else {
      return try open(descriptions.first.flatMap { engine(of: $0) }, Array(descriptions.indices))
    }
    return try openSeveral()
  }

  @_optimize(none)
  private func openSeveral() throws -> any StoreEngine {
    let groups = groups
    // Only the first one of several can be SQLite.
    guard groups.count > 1, let combine = groups.last?.engine?.combine else {
      return try open(groups.first?.engine, Array(descriptions.indices))
    }
    return combine(try groups.map { try open($0.engine, $0.stores) }, plan)
  }

  /// The engine of a store; nil for SQLite.
  private func engine(of description: PersistentStoreDescription) -> StoreEngineLocation? {
    if case .engine(let location) = description.location { location } else { nil }
  }

  /// The engines with the indexes of their stores; nil stands for SQLite, which is the first one if there are several. Its
  /// writes exclude each other.
  private var groups: [(engine: StoreEngineLocation?, stores: [Int])] {
    var groups: [(engine: StoreEngineLocation?, stores: [Int])] = []
    for (index, description) in descriptions.enumerated() {
      let engine = self.engine(of: description)
      if let group = groups.firstIndex(where: { $0.engine?.engine == engine?.engine }) {
        groups[group].stores.append(index)
      } else if engine == nil {
        groups.insert((nil, [index]), at: 0)
      } else {
        groups.append((engine, [index]))
      }
    }
    return groups
  }

  /// Opens the stores of one engine.
  ///
  /// - Parameter location: A location of the engine; nil for SQLite.
  private func open(_ location: StoreEngineLocation?, _ stores: [Int]) throws -> any StoreEngine {
    let settings = stores.map { self.settings($0) }
    guard let location else {
      return try SQLiteDatabase(settings, model: plan) { store, storeIndex in
        do { return try store.open() } catch StoreError.needsMigration
          where descriptions[storeIndex].migratesStoreAutomatically && !store.isReadOnly
        {
          try checkRefusals(after: storeIndex)
          return try migrate(store, storeIndex)
        }
      }
    }
    do {
      return try location.open(settings, plan)
    } catch StoreError.needsMigration(_, let model, let from, let to)
      where location.transfer == nil
      && stores.contains(where: { descriptions[$0].migratesStoreAutomatically })
    {
      throw StoreError.notSupported("the migration of '\(model)' from version \(from) to version \(to)")
    }
  }

  /// The settings of a store. An engine other than SQLite migrates its stores row by row.
  private func settings(_ storeIndex: Int) -> StoreSettings {
    let description = descriptions[storeIndex]
    var others = descriptions
    others.remove(at: storeIndex)
    var settings = description.settings
    settings.index = storeIndex
    settings.others = others.map { $0.configuration }
    if description.migratesStoreAutomatically, !description.isReadOnly, description.location.engineURL != nil
    {
      settings.migrator = RowMigration(
        description: description, others: others, model: plan, storeIndex: storeIndex)
    }
    return settings
  }

  /// Throws the error with which a later store would be refused, before a SQLite store or a file is migrated.
  ///
  /// The rows of a later store can still make its migration fail.
  @_optimize(none)
  private func checkRefusals(after storeIndex: Int) throws {
    for (index, description) in descriptions.enumerated()
    where index > storeIndex || description.location.engineURL != nil {
      // If a store cannot be read, its opening says why.
      guard let (found, url) = try? metadata(description) else { continue }
      let tables = Set(plan.entities.filter { $0.storeIndex == index }.map(\.table))
      do {
        _ = try StoreVersionCheck(url: url, model: plan, storeIndex: index, configurations: nil)
          .check(found, tables: tables)
      } catch StoreError.needsMigration
        where description.migratesStoreAutomatically && !description.isReadOnly
        && description.location.format?.isReadOnly != true
      {
        var others = descriptions
        others.remove(at: index)
        let source = plan.source(ofStore: index)
        let migration = StoreMigration(
          url: url, description: description, model: source.model, others: others)
        try migration.knowing(found, migration.storedVersion(found)).checkRefusal(found, source)
      }
    }
  }

  /// Reads the metadata of a store that is not open; nil if nothing can read them.
  private func metadata(_ description: PersistentStoreDescription) throws -> (StoreMetadata, URL)? {
    let location = description.location
    if case .engine(let engine) = location {
      return try engine.transfer?.read { (try $0.metadata(), $0.url) }
    }
    guard let url = try location.resolvingLink().url else { return nil }
    let found = try StoreMetadata(
      ofStoreAt: url, formats: location.ownFormats, busyTimeout: description.busyTimeout)
    return (found, url)
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

  /// - Returns: Nil if another process has migrated the store meanwhile.
  private func migrate(
    _ opening: DatabaseOpening, _ description: PersistentStoreDescription,
    _ others: [PersistentStoreDescription]
  ) throws -> MigrationResult? {
    let source = plan.source(ofStore: opening.storeIndex)
    do {
      return try StoreMigration(
        url: opening.url, description: description, model: source.model, others: others
      ).run()
    } catch {
      guard let draft = ChangedDraft(error, of: description, source) else { throw error }
      return try draft.erase(opening.url)
    }
  }
}
