package import CDModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The migration of a store of another engine. If no step needs values of rows, the engine changes its tables. Otherwise
/// the engine gives the rows, which are migrated in a temporary SQLite file by the same steps as a SQLite store. Then the
/// engine gets the new rows.
struct RowMigration: StoreMigrator {
  let description: PersistentStoreDescription
  /// The other stores of the coordinator.
  let others: [PersistentStoreDescription]
  let model: ModelPlan
  /// The index of the store in the coordinator.
  let storeIndex: Int

  /// The parts of the work: the rows are read, migrated and written.
  private static let reading = 0.0...0.2
  private static let migrating = 0.2...0.7
  private static let writing = 0.7...0.95

  private var source: StoreSource { model.source(ofStore: storeIndex) }

  func checkCancelled(_ url: URL) throws { try progress(url).check() }

  private func progress(_ url: URL, from number: Int = 0) -> RowProgress {
    RowProgress(
      observer: description.migrationObserver, url: url,
      step: MigrationError.Step(source: number, destination: source.version.number))
  }

  @_optimize(none)
  func migrate(
    _ tables: StoredTables, replace: (StoreContents?) throws -> Void
  ) throws -> MigrationResult {
    let beginning = ContinuousClock.now
    let signpost = Signpost("migration")
    defer { signpost.end() }
    let found = try tables.metadata()
    let progress = progress(tables.url, from: found.versionNumber)
    var isReplacing = false
    let result: MigrationResult
    do {
      try checkRoute(found, tables.url)
      let steps = try migrate(tables, progress) { contents in
        isReplacing = true
        try replace(contents)
      }
      result = MigrationResult(
        storeURL: tables.url, steps: steps, isInPlace: true, backup: nil, duration: .now - beginning)
    } catch {
      guard !isReplacing, let draft = ChangedDraft(error, of: description, source), draft.isIn(found) else {
        throw error
      }
      try replace(nil)
      result = draft.result
    }
    progress.report(1)
    report(result)
    return result
  }

  /// Refuses a migration that the versions do not allow, before any row is read.
  @_optimize(none)
  private func checkRoute(_ found: StoreMetadata, _ url: URL) throws {
    if let refusal = try migration(of: url, found).route(found).refusal { throw refusal.error }
  }

  @_optimize(none)
  func checkRefusal(_ tables: StoredTables) throws {
    let found = try tables.metadata()
    try migration(of: tables.url, found).checkRefusal(found, source)
  }

  private func migration(of url: URL, _ found: StoreMetadata) throws -> StoreMigration {
    let migration = StoreMigration(url: url, description: description, model: source.model, others: others)
    return migration.knowing(found, try migration.storedVersion(found))
  }

  // MARK: Without moving rows

  @_optimize(none)
  func tableMigration(_ tables: StoredTables, _ dialect: any SQLDialect) throws -> TableMigration? {
    let found = try tables.metadata()
    let migration = try migration(of: tables.url, found)
    let route = try migration.route(found)
    if route.refusal != nil { return nil }
    return TableMigration(try migration.plans(of: route), dialect)
  }

  @_optimize(none)
  func make(_ migration: TableMigration, of url: URL, _ body: () throws -> Void) throws -> MigrationResult {
    let beginning = ContinuousClock.now
    let steps = migration.steps.map(\.step)
    let progress = progress(url, from: steps.first?.source ?? 0)
    progress.report(0)
    try body()
    progress.report(1)
    let result = MigrationResult(
      storeURL: url, steps: steps, isInPlace: true, backup: nil, duration: .now - beginning)
    report(result)
    return result
  }

  @_optimize(none)
  private func report(_ result: MigrationResult) {
    guard let first = result.steps.first, let last = result.steps.last else { return }
    StoreLog.report(
      .migration(
        store: result.storeURL, from: first.source, to: last.destination, duration: result.duration))
  }

  // MARK: With new tables

  @_optimize(none)
  private func migrate(
    _ tables: StoredTables, _ progress: RowProgress, replace: (StoreContents) throws -> Void
  ) throws -> [MigrationError.Step] {
    let folder = try TemporaryFolder(prefix: "cdgen-migration-")
    defer { withExtendedLifetime(folder) {} }
    let file = folder.url.appending(path: "store.cdstore")
    try write(tables, to: file, progress)
    let steps = try migrate(file, of: tables.url, progress)
    let connection = try openResult(file, of: tables.url)
    let parts = StoreTables(model, store: storeIndex)
    let rows = try StoreContents(parts, connection, schema: "main", inlining: ExternalFiles(store: file)) {
      WatchedRows($0, progress, Self.writing, partCount: parts.parts.count, namesEntities: true)
    }
    try replace(rows)
    return steps
  }

  /// Writes the rows of the old version to a new SQLite file.
  @_optimize(none)
  private func write(_ tables: StoredTables, to file: URL, _ progress: RowProgress) throws {
    let connection = try SQLiteConnection(
      path: file.path(percentEncoded: false), of: [tables.url], isDefensive: false)
    // No journal, because an unfinished file is thrown away.
    _ = try connection.scalar("PRAGMA journal_mode = OFF")
    try connection.execute("PRAGMA synchronous = OFF")
    let model = try tables.plan()
    try tables.checkEntities(of: model)
    let parts = StoreTables(model, store: 0)
    let source = WatchedRows(
      tables.source, progress, Self.reading, partCount: parts.parts.count, namesEntities: false)
    do {
      try StoreBuilder(connection, url: tables.url).add(StoreContents(parts, from: source, isCopy: true))
    } catch let error as StoreFormatError { throw StoreError.unreadable(tables.url, error) }
  }

  /// Migrates the file as a SQLite store.
  @_optimize(none)
  private func migrate(_ file: URL, of url: URL, _ progress: RowProgress) throws -> [MigrationError.Step] {
    var own = description
    own.location = .sqlite(file)
    own.keepsBackup = false
    own.migrationObserver = progress.observer(of: Self.migrating)
    do {
      let migration = StoreMigration(url: file, description: own, model: source.model, others: others)
      return try migration.run()?.steps ?? []
    } catch let error as MigrationError { throw error.naming(url, insteadOf: file) }
  }

  @_optimize(none)
  private func openResult(_ file: URL, of url: URL) throws -> SQLiteConnection {
    let connection = try SQLiteConnection(path: file.path(percentEncoded: false), of: [url])
    // The rows were on the disk in between. Damage must be found before they become the store.
    let check = try connection.scalar("PRAGMA quick_check(1)")
    guard check == "ok" else { throw MigrationError(url, .verificationFailed(check ?? "")) }
    try connection.execute("DELETE FROM \"_cdgen_metadata\" WHERE \"key\" = 'pendingBackup'")
    _ = try StoreOpening(
      connection: connection, url: url, model: model, storeIndex: storeIndex,
      configurations: (description.configuration, others.map(\.configuration)), isJustMigrated: true
    ).open()
    return connection
  }
}

extension TableMigration {
  /// Plans the migration; nil if rows must be written to new tables.
  @_optimize(none)
  init?(_ plans: [StepPlan], _ dialect: any SQLDialect) {
    let steps = plans.compactMap { InPlaceStep($0, .server(dialect)) }
    guard let first = plans.first, let last = plans.last, steps.count == plans.count else { return nil }
    self.init(
      steps: steps.map(\.tables),
      roots: first.source.entities.filter { $0.root == $0.index && $0.storeIndex == 0 }.map {
        ($0.name, $0.table)
      }, rowsVersions: last.routeStep.rowsVersions
    ) { record in
      steps.reduce(record) { $1.record(after: $0) }
    }
  }

  /// Plans the migration of a store that holds all entities of a model's current version; nil if rows must be written
  /// to new tables.
  ///
  /// - Throws: ``MigrationError`` if there is no path to the new version.
  @_optimize(none)
  package init?(
    from old: ManagedObjectModel, to new: ManagedObjectModel, _ dialect: any SQLDialect
  ) throws {
    let migration = StoreMigration(
      url: EmptyValue.url, description: PersistentStoreDescription(.inMemory), model: new, others: [])
    let found = StoreMetadata(try ModelPlan(ofAllEntitiesIn: old), storeID: EmptyValue.uuid, store: 0)
    let route = try migration.route(found)
    guard route.refusal == nil else { return nil }
    self.init(try migration.plans(of: route), dialect)
  }
}

/// Tells an observer how much of the work is done, and finds out whether it was cancelled.
private struct RowProgress {
  let observer: MigrationObserver?
  let url: URL
  let step: MigrationError.Step

  func check() throws {
    if Task.isCancelled || observer?.isCancelled == true { throw MigrationError(url, .cancelled) }
  }

  func report(_ fraction: Double, entity: String? = nil) {
    observer?.report(
      MigrationProgress(
        fraction: fraction, source: step.source, destination: step.destination, entity: entity))
  }

  /// An observer of a part of the work.
  func observer(of range: ClosedRange<Double>) -> MigrationObserver? {
    observer.map { observer in
      MigrationObserver { progress in
        observer.report(
          MigrationProgress(
            fraction: range.lowerBound + (range.upperBound - range.lowerBound) * progress.fraction,
            source: progress.source, destination: progress.destination, entity: progress.entity))
      } isCancelled: {
        observer.isCancelled
      }
    }
  }
}

/// Rows that an observer follows.
private final class WatchedRows: TableSource {
  private let source: any TableSource
  private let progress: RowProgress
  private let range: ClosedRange<Double>
  private let partCount: Int
  private let namesEntities: Bool
  private var done = 0

  /// - Parameters:
  ///   - range: The part of the whole work that it takes to read the rows.
  ///   - namesEntities: Whether objects are being created from the rows.
  init(
    _ source: any TableSource, _ progress: RowProgress, _ range: ClosedRange<Double>, partCount: Int,
    namesEntities: Bool
  ) {
    self.source = source
    self.progress = progress
    self.range = range
    self.partCount = partCount
    self.namesEntities = namesEntities
  }

  func metadata() throws -> [String: String] { try source.metadata() }

  func forEachRow(of part: StoreTables.Part, _ body: ([StoreValue]) throws -> Void) throws {
    try progress.check()
    let fraction = Double(done) / Double(max(partCount, 1))
    progress.report(
      range.lowerBound + (range.upperBound - range.lowerBound) * fraction,
      entity: namesEntities && part.table.kind == .objects ? part.table.name : nil)
    var count = 0
    try source.forEachRow(of: part) { row in
      count &+= 1
      if count & 0xFF == 0 { try progress.check() }
      try body(row)
    }
    done += 1
  }
}
