import CDModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// The migration of one store to its model's current version. It is made completely or not at all.
struct StoreMigration {
  let url: URL
  let description: PersistentStoreDescription
  let model: ManagedObjectModel
  /// The other stores of the coordinator. Their configurations determine which entities this store does not hold.
  let others: [PersistentStoreDescription]
  /// The log of a rehearsal; nil for a real migration.
  var log: RehearsalLog?
  /// What the store holds in versions that lack its configuration. ``knowing(_:_:)`` finds it; nil if it is not known, and
  /// for merged models.
  var former: FormerConfiguration?
  /// Whether a new file is written even if each step can be made in the file itself.
  var needsNewFile = false

  private var path: String { url.path(percentEncoded: false) }

  /// Migrates the store.
  ///
  /// - Returns: Nil if the store needs no migration, because another process has migrated it meanwhile.
  /// - Throws: ``MigrationError``, ``StoreError`` or ``ModelError``.
  @_optimize(none)
  func run() throws -> MigrationResult? {
    let clock = ContinuousClock()
    let start = clock.now
    // Another process may change the store before this one has its lock. The attempt is repeated then.
    var migration = self
    for _ in 0..<5 {
      do {
        guard let (steps, backup) = try migration.resolved().attempt() else { return nil }
        return MigrationResult(
          storeURL: url, steps: steps, isInPlace: backup == nil, backup: backup, duration: clock.now - start)
      } catch is InPlaceStep.DerivationNeeded {
        migration.needsNewFile = true
      } catch is Disturbed {
        continue
      }
    }
    throw MigrationError(url, .inUse)
  }

  typealias Policies = [MigrationPolicies.Key: any EntityMigrationPolicy]

  /// The store was changed before the migration had its lock, or indexes were removed.
  private struct Disturbed: Error {}

  /// What a migration does with a store whose lock a session has. `inPlace` is nil if a new file is written.
  private typealias Locked = (
    lock: MigrationSession, found: StoreMetadata, plans: [StepPlan], inPlace: [InPlaceStep]?
  )

  /// - Returns: Nil if the store already has the current version.
  /// - Throws: ``Disturbed``; or ``InPlaceStep/DerivationNeeded``, after the steps in the file itself were taken back.
  @_optimize(none)
  private func attempt() throws -> (steps: [MigrationError.Step], backup: URL?)? {
    let policies = makePolicies()
    guard let (lock, found, plans, inPlace) = try lockStore(policies) else { return nil }
    lock.connection.wait(forOthers: description.busyTimeout)
    do {
      let steps = plans.map(\.routeStep.name)
      if let inPlace {
        try migrateInPlace(inPlace, plans, found, lock)
        return (steps: steps, backup: nil)
      }
      return (steps: steps, backup: try migrateToNewFile(plans, found, lock, policies))
    } catch {
      try? lock.connection.execute("ROLLBACK")
      throw lock.wrapped(error)
    }
  }

  /// Plans the migration and takes the lock. Waits up to a second for others that have the store open: without it, two
  /// processes that migrate the store at once would both fail.
  @_optimize(none)
  private func lockStore(_ policies: Policies) throws -> Locked? {
    let clock = ContinuousClock()
    let end = clock.now + .seconds(max(0, min(description.busyTimeout, 1)))
    while true {
      do {
        return try FolderLock.whileBusy(url, timeout: description.busyTimeout) { try begin(policies) }
      } catch StoreError.busy {
        throw MigrationError(url, .inUse)
      } catch let error as MigrationError where error.reason == .inUse && clock.now < end {
        // The pauses are random, so that two processes do not try at the same times.
        usleep(.random(in: 1_000...30_000))
      }
    }
  }

  /// Plans the migration of the store as it is now. Writes nothing, and closes the file again.
  @_optimize(none)
  private func plan(_ policies: Policies) throws -> (StoreMetadata, [StepPlan]) {
    let reader = try SQLiteConnection(path: path, of: [url], busyTimeout: 0)
    return try reader.read {
      let (found, storedVersion) = try read(reader)
      let route = try findRoute(found, storedVersion)
      if let refusal = route.refusal { throw refusal.error }
      let plans = try makePlans(route.routeSteps, policies)
      try checkSchema(plans, reader)
      return (found, plans)
    }
  }

  /// Plans the migration of the store as it is now, and takes its lock.
  ///
  /// - Returns: Nil if the store already has the current version.
  /// - Throws: ``StoreError/busy(_:)`` if another connection writes to the store, or ``Disturbed``.
  @_optimize(none)
  private func begin(_ policies: Policies) throws -> Locked? {
    let identity = FileIdentity(path)
    let (found, plans) = try plan(policies)
    if plans.isEmpty { return nil }
    let inPlace = inPlaceSteps(plans)
    if inPlace == nil { try checkSpace(routeSteps: plans.count) }

    let lock = try session(path)
    lock.connection.wait(forOthers: 0)
    try lock.checkCancelled()
    if lock.connection.hasMoved { throw Disturbed() }
    // This statement fails while another connection has the store open.
    do {
      guard try lock.connection.scalar("PRAGMA journal_mode = DELETE") == "delete" else {
        throw MigrationError(url, .inUse)
      }
    } catch { throw lock.wrapped(error) }
    try lock.execute("PRAGMA foreign_keys = OFF")
    let sql = inPlace != nil ? "BEGIN EXCLUSIVE" : "BEGIN IMMEDIATE"
    try MigrationFaults.reach(sql)
    try lock.connection.execute(sql)
    do {
      let now = try StoreMetadata(lock.connection, url: url)
      guard
        (identity, found.dataHash, found.versionNumber)
          == (FileIdentity(path), now.dataHash, now.versionNumber)
      else {
        try lock.execute("ROLLBACK")
        throw Disturbed()
      }
      if try checkIndexes(plans, lock) {
        try lock.execute("COMMIT")
        throw Disturbed()
      }
    } catch { throw lock.wrapped(error) }
    return (lock, found, plans, inPlace)
  }

  /// Refuses a store whose tables differ from those of the version that it was written with, in which another program has
  /// taken the name of a new table, or whose keys leave no room for new ones.
  @_optimize(none)
  func checkSchema(_ plans: [StepPlan], _ connection: SQLiteConnection) throws {
    let stored = try StoredSchema(connection)
    try stored.check(of: url)
    guard let source = plans.first?.source else { return }
    let schema = SQLSchema(source, store: 0)
    try stored.check(schema, of: url)
    try stored.check(schema, creating: plans.map { SQLSchema($0.destination, store: 0) }, of: url)
    let tables = stored.tables
    for root in source.entities
    where root.root == root.index && root.storeIndex == 0 && tables.contains(root.table) {
      let name = SQLText.literal(root.name)
      let isRight = try connection.scalar(
        "SELECT coalesce((SELECT next FROM _cdgen_keys WHERE entity = \(name)), 1) "
          + "BETWEEN 1 AND \(KeyRanges.largestKey) AND (SELECT coalesce(max(_pk), 0) FROM "
          + "\(SQLText.quoted(root.table))) <= \(KeyRanges.largestKey)")
      guard isRight == "1" else { throw StoreError.damagedKeys(url, entity: root.name) }
    }
  }

  /// Opens a connection to a file, with the observer and the log of this migration.
  func session(
    _ path: String, routeStep: MigrationRoute.RouteStep? = nil, stepPosition: (step: Int, of: Int) = (0, 1)
  ) throws -> MigrationSession {
    let session = try MigrationSession(
      path: path, url: url, observer: description.migrationObserver, busyTimeout: description.busyTimeout)
    session.routeStep = routeStep
    session.stepPosition = stepPosition
    session.log = log
    return session
  }

  @_optimize(none)
  func findRoute(_ found: StoreMetadata, _ storedVersion: ModelVersion) throws -> MigrationRoute {
    try MigrationRoute(
      found, storedVersion: storedVersion, model: model, infers: description.infersMappingModelAutomatically,
      url: url
    ) { version in
      (try? plan(version))?.dataHash(ofStore: 0).description
    } holds: { version in
      Set((try? plan(version))?.entities.filter { $0.storeIndex == 0 }.map(\.name) ?? [])
    }
  }

  /// Finds the steps of a store.
  ///
  /// - Throws: ``MigrationError``, or ``StoreError/damagedMetadata(_:key:)``.
  func route(_ found: StoreMetadata) throws -> MigrationRoute {
    try findRoute(found, storedVersion(found))
  }

  /// The version that a store was written with.
  func storedVersion(_ found: StoreMetadata) throws -> ModelVersion {
    do { return try ModelVersion(canonicalJSON: found.version) } catch {
      throw StoreError.damagedMetadata(url, key: "version")
    }
  }

  /// Throws the error with which the versions or the lack of the app's own code refuse the migration, before any row is
  /// read. A store that would be erased is not refused.
  @_optimize(none)
  func checkRefusal(_ found: StoreMetadata, _ source: StoreSource) throws {
    do {
      try checkConfiguration(found, storedVersion(found))
      let route = try route(found)
      if let refusal = route.refusal { throw refusal.error }
      _ = try makePlans(route.routeSteps, makePolicies())
    } catch {
      guard let draft = ChangedDraft(error, of: description, source), draft.isIn(found) else { throw error }
    }
  }

  /// The store's metadata, and the version that it was written with.
  func read() throws -> (StoreMetadata, ModelVersion) {
    let connection = try SQLiteConnection(path: path, of: [url], busyTimeout: description.busyTimeout)
    return try connection.read { try read(connection) }
  }

  @_optimize(none)
  private func read(_ connection: SQLiteConnection) throws -> (StoreMetadata, ModelVersion) {
    try StoredSchema(connection).check(of: url)
    let found = try StoreMetadata(connection, url: url)
    return (found, try storedVersion(found))
  }

  // MARK: Plans

  /// The store descriptions for a version, this store first. The locations of the other stores do not influence its
  /// tables.
  ///
  /// - Throws: ``ModelError/unknownConfiguration(_:)`` if nothing tells which entities of the version the store holds.
  @_optimize(none)
  func stores(_ version: ModelVersion) throws -> [PersistentStoreDescription] {
    let names = Set(version.configurations.map(\.name))
    var own = description
    own.migrationObserver = nil
    var known = others.map(\.configuration).filter { $0.map(names.contains) ?? true }
    // The configuration that the version lacks: the store's own one, or another one that tells what this store holds.
    var missing = own.configuration
    if let asked = missing {
      if names.contains(asked) { missing = nil }
    } else if former != nil {
      missing = otherConfiguration(missingIn: version)
    }
    if let missing {
      // A merged model has a configuration for each of its models; the models themselves do not have it. A store of such
      // a configuration holds all entities of its model.
      own.configuration = nil
      known.removeAll { $0 == nil }
      if let former, !names.isEmpty {
        guard let configurations = former.configurations(in: version) else {
          throw ModelError.unknownConfiguration(missing)
        }
        own.configuration = configurations.first ?? nil
        if case .named(let name) = former {
          known.removeAll { $0 == name }
        } else {
          known = Array(configurations.dropFirst())
        }
      }
    }
    return [own] + known.map { PersistentStoreDescription(.inMemory, configuration: $0) }
  }

  @_optimize(none)
  func plan(_ version: ModelVersion) throws -> ModelPlan {
    try plan(version, stores(version).map(\.configuration))
  }

  /// - Parameter configurations: The configurations of the stores, this store first.
  func plan(_ version: ModelVersion, _ configurations: [String?]) throws -> ModelPlan {
    try ModelPlan(
      ManagedObjectModel(
        name: model.name, id: model.id, versions: [version], currentVersionNumber: version.number),
      configurations: configurations)
  }

  func makePlan(_ routeStep: MigrationRoute.RouteStep, now: Date) throws -> StepPlan {
    let configurations = try stores(routeStep.source).map(\.configuration)
    return try StepPlan(
      routeStep, source: plan(routeStep.source, configurations), destination: plan(routeStep.destination),
      url: url, configuration: description.configuration, sourceConfigurations: configurations, now: now)
  }

  /// The plans of a route's steps, whether or not the app has code of its own for them.
  @_optimize(none)
  func plans(of route: MigrationRoute) throws -> [StepPlan] {
    let now = Date()
    return try route.routeSteps.map { try makePlan($0, now: now) }
  }

  /// Creates the policies of one migration.
  func makePolicies() -> Policies { description.migrationPolicies.make(for: model) }

  @_optimize(none)
  func makePlans(_ routeSteps: [MigrationRoute.RouteStep], _ policies: Policies) throws -> [StepPlan] {
    let now = Date()
    var plans: [StepPlan] = []
    for routeStep in routeSteps {
      let plan = try makePlan(routeStep, now: now)
      if let error = plan.relationshipError { throw error }
      for mapping in plan.mapping.entityMappings
      where mapping.kind == .custom && policies[routeStep.policy(of: mapping.name)] == nil {
        throw plan.error(.missingPolicy(mapping: mapping.name), mapping.destination)
      }
      plans.append(plan)
    }
    return plans
  }

  /// Throws if the disk has too little space. A new file needs about as much space as the old one, and with several
  /// steps two such files exist at once.
  private func checkSpace(routeSteps: Int) throws {
    guard let sizes = MigrationFiles(url).sizes else { return }
    let needed = sizes.file * (routeSteps > 1 ? 2 : 1)
    if sizes.free < needed { throw MigrationError(url, .diskFull(needed: needed)) }
  }

  func metadata(_ plan: StepPlan, _ found: StoreMetadata) throws -> StoreMetadata {
    var result = try metadata(of: plan.destination, found)
    result.rowsVersions = plan.routeStep.rowsVersions
    return result
  }

  @_optimize(none)
  func metadata(of plan: ModelPlan, _ found: StoreMetadata) throws -> StoreMetadata {
    var result = StoreMetadata(plan, storeID: found.storeID, store: 0)
    if !model.parts.isEmpty, let version = model.currentVersion {
      // The last version of a merged model's line is equal to the merged version, which has its own name and number.
      let whole = try ModelPlan(model, configurations: stores(version).map(\.configuration))
      if whole.dataHash(ofStore: 0).description == result.dataHash {
        result = StoreMetadata(whole, storeID: found.storeID, store: 0)
      }
    }
    result.createdBy = found.createdBy
    return result
  }

  // MARK: In place

  /// The steps if all of them are made in the file itself.
  @_optimize(none)
  func inPlaceSteps(_ plans: [StepPlan]) -> [InPlaceStep]? {
    if needsNewFile { return nil }
    let steps = plans.compactMap { InPlaceStep($0) }
    return steps.count == plans.count ? steps : nil
  }

  @_optimize(none)
  private func migrateInPlace(
    _ steps: [InPlaceStep], _ plans: [StepPlan], _ found: StoreMetadata, _ session: MigrationSession
  ) throws {
    for (index, (step, plan)) in zip(steps, plans).enumerated() {
      session.routeStep = plan.routeStep
      session.stepPosition = (index, steps.count)
      session.report(0)
      try step.run(session)
      session.report(1)
    }
    if let last = plans.last {
      do { try metadata(last, found).write(to: session.connection) } catch { throw session.wrapped(error) }
    }
    try session.execute("COMMIT")
  }

  // MARK: Beside

  /// - Returns: The location of the old file.
  @_optimize(none)
  private func migrateToNewFile(
    _ plans: [StepPlan], _ found: StoreMetadata, _ lock: MigrationSession, _ policies: Policies
  ) throws -> URL {
    let files = MigrationFiles(url)
    files.removeLeftovers()
    defer { files.removeLeftovers() }
    let values = NewExternalFiles(of: url, found)
    var isDone = false
    // The new file lists the large values that only the old one refers to. They stay as long as the old one is kept.
    defer { if isDone || files.awaitsSwitch { values.keep() } else { values.discard() } }
    var source = url
    var target = path
    for (index, plan) in plans.enumerated() {
      target = files.work(index)
      let file = URL(filePath: target)
      lock.routeStep = plan.routeStep
      try make(plan, from: source, at: target, stepPosition: (index, plans.count), found, policies, values)
      files.linkExternalFiles(target)
      try derive(plan, at: file, stepPosition: (index, plans.count))
      if source != url { try FileManager.default.removeItem(at: source) }
      source = file
    }
    let backup = files.backupName(found.versionNumber)
    // Backups of earlier migrations too, if the store was not opened in between.
    let pending = found.pendingBackups + (description.keepsBackup ? [] : [backup])
    if let last = plans.last { try finish(last, at: target, backups: pending) }
    try lock.checkCancelled()
    try files.replaceStore(with: target, backup: backup, timeout: description.busyTimeout)
    isDone = true
    return url.deletingLastPathComponent().appending(path: backup)
  }

  @_optimize(none)
  func make(
    _ plan: StepPlan, from source: URL, at target: String, stepPosition: (step: Int, of: Int),
    _ found: StoreMetadata, _ policies: Policies, _ files: NewExternalFiles
  ) throws {
    if let step = InPlaceStep(plan, .copy) {
      do {
        return try change(step, of: plan, from: source, at: target, stepPosition: stepPosition, found)
      } catch let error
        where error is InPlaceStep.ValueMissing || (error as? MigrationError)?.isOfRows == true
      {
        // Writing new tables can tell which row fails.
        try FileManager.default.removeItem(atPath: target)
        log?.startAgain()
      }
    }
    do {
      try copy(plan, from: source, at: target, stepPosition: stepPosition, found, policies, files)
    } catch let error as MigrationError where plan.mayFail && !plan.evaluatesAll && error.isOfStatement {
      // A row has no result. Without a journal the file is unusable after a failed statement. The evaluator can name
      // the row. The app's own code has not run yet, because it runs after all rows are written.
      try FileManager.default.removeItem(atPath: target)
      log?.startAgain()
      plan.evaluateAll()
      try copy(plan, from: source, at: target, stepPosition: stepPosition, found, policies, files)
    }
  }

  /// Makes a step within a copy of the file.
  @_optimize(none)
  private func change(
    _ step: InPlaceStep, of plan: StepPlan, from source: URL, at target: String,
    stepPosition: (step: Int, of: Int), _ found: StoreMetadata
  ) throws {
    try MigrationFaults.reach("make \(target)")
    try MigrationFiles(url).makeWork(target)
    let session = try session(target, routeStep: plan.routeStep, stepPosition: stepPosition)
    // No journal, because an unfinished file is thrown away.
    _ = try session.rows("PRAGMA journal_mode = OFF")
    try session.execute("PRAGMA synchronous = OFF")
    try session.execute("PRAGMA foreign_keys = OFF")
    session.report(0)
    do {
      let original = try SQLiteConnection(
        path: source.absoluteURL.absoluteString + "?mode=ro", of: [url], busyTimeout: description.busyTimeout)
      try original.copy(to: session.connection, pages: 4096) { try session.checkCancelled() }
    } catch { throw session.wrapped(error) }
    session.report(0.1)
    try session.execute("BEGIN")
    try step.run(session)
    try session.execute(
      "DELETE FROM _cdgen_metadata WHERE NOT \(StoreMetadata.areValues) AND key NOT IN ("
        + "\(SQLText.literal(MovedKeys.metadataKey)), \(SQLText.literal(InsertionOrigins.metadataKey)))")
    session.report(0.95)
    try MigrationFaults.reach("metadata")
    do { try metadata(plan, found).write(to: session.connection) } catch { throw session.wrapped(error) }
    try session.execute("COMMIT")
  }

  @_optimize(none)
  private func copy(
    _ plan: StepPlan, from source: URL, at target: String, stepPosition: (step: Int, of: Int),
    _ found: StoreMetadata, _ policies: Policies, _ files: NewExternalFiles
  ) throws {
    try MigrationFaults.reach("make \(target)")
    try MigrationFiles(url).makeWork(target)
    let session = try session(
      source.absoluteURL.absoluteString + "?mode=ro", routeStep: plan.routeStep, stepPosition: stepPosition)
    // No journal, because an unfinished file is thrown away.
    try session.execute("PRAGMA foreign_keys = OFF")
    try session.execute("ATTACH \(SQLText.literal(target)) AS \(StepPlan.schema)")
    _ = try session.rows("PRAGMA \(StepPlan.schema).journal_mode = OFF")
    try session.execute("PRAGMA \(StepPlan.schema).synchronous = OFF")
    try session.execute("BEGIN")
    let copy = StepCopy(
      plan: plan, session: session, metadata: try metadata(plan, found), policies: policies,
      target: target, files: files)
    try copy.run { try reader(plan.source, plan.routeStep.source, of: source) }
    try copy.listLostFiles()
    try session.execute("COMMIT")
  }

  @_optimize(none)
  func derive(_ plan: StepPlan, at file: URL, stepPosition: (step: Int, of: Int)) throws {
    let derivation = StepDerivation(plan: plan)
    guard derivation.isNeeded else { return }
    let session = try session(
      file.path(percentEncoded: false), routeStep: plan.routeStep, stepPosition: stepPosition)
    session.report(0.96)
    try derivation.run(session) { try reader(plan.destination, plan.routeStep.destination, of: file) }
  }

  /// Opens a file, to be read as objects of a version.
  @_optimize(none)
  func reader(_ plan: ModelPlan, _ version: ModelVersion, of file: URL) throws -> PersistentStoreCoordinator {
    var stores = try self.stores(version)
    stores[0].location = .sqlite(file)
    stores[0].isReadOnly = true
    return try PersistentStoreCoordinator(plan: plan, stores: stores.map(\.settings))
  }

  /// Verifies the whole new file, and lists in it the backups that remain to be removed.
  ///
  /// - Parameter backups: The names of the files that the next opening removes.
  @_optimize(none)
  func finish(_ plan: StepPlan, at target: String, backups: [String] = []) throws {
    let session = try session(target, routeStep: plan.routeStep)
    _ = try session.rows("PRAGMA journal_mode = OFF")
    if !backups.isEmpty {
      let names = StoreMetadata.text(ofBackups: backups)
      try session.run(
        "INSERT INTO _cdgen_metadata (key, value) VALUES ('pendingBackup', \(bind: .string(names)))")
    }
    let found: StoreMetadata
    do { found = try StoreMetadata(session.connection, url: url) } catch { throw session.wrapped(error) }
    let schema = SQLSchema(plan.destination, store: 0)
    let isRight: Bool
    do { isRight = try schema.isSame(as: session.connection) } catch { throw session.wrapped(error) }
    guard found.dataHash == plan.destination.dataHash(ofStore: 0).description, isRight else {
      throw session.error(.verificationFailed("its tables do not match the model"))
    }
    try MigrationFaults.reach("quick_check")
    let check = try session.rows("PRAGMA quick_check(1)").first?.first ?? nil
    guard check == "ok" else { throw session.error(.verificationFailed(check ?? "")) }
    session.report(1)
  }
}

// Coordinators for the stores of a migration, which are always SQLite stores.
extension PersistentStoreCoordinator {
  /// Opens stores that need no migration.
  convenience init(plan: ModelPlan, stores: [StoreSettings]) throws {
    self.init(plan: plan, engine: try SQLiteDatabase(stores, model: plan))
  }
}
