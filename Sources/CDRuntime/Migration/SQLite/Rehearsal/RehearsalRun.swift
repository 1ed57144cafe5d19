import CDModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Runs the steps of a rehearsal one after the other, on the copy.
struct RehearsalRun {
  private(set) var migration: StoreMigration
  let storeID: UUID
  var report: MigrationReport
  /// The access to the store of another engine; nil for a file.
  private let transfer: (any StoreTransfer)?

  private var files: MigrationFiles { MigrationFiles(migration.url) }
  /// The policies of the app's own code, if there are any.
  private let policies: StoreMigration.Policies
  /// The file that holds the result of the steps so far.
  private var file: URL

  init(
    migration: StoreMigration, storeID: UUID, report: MigrationReport, transfer: (any StoreTransfer)?
  ) {
    self.transfer = transfer
    self.migration = migration
    self.storeID = storeID
    self.report = report
    file = migration.url
    policies = migration.makePolicies()
  }

  @_optimize(none)
  mutating func run() throws {
    let (found, storedVersion) = try migration.read()
    migration = migration.knowing(found, storedVersion)
    report.fileSize = size(file)
    var duplicate: MigrationError?
    do {
      if try isOpenable() {
        try reportOpened(as: found)
        return
      }
    } catch let error as MigrationError {
      // Both versions store the same, but the data violates a new constraint.
      duplicate = error
    }
    let route = try migration.findRoute(found, storedVersion)
    report.parts = parts(route)
    let plans = try migration.plans(of: route)
    try migration.checkSchema(
      plans, SQLiteConnection(path: file.path(percentEncoded: false), of: [report.storeURL]))
    try checkIndexes(plans)
    report.isInPlace = migration.inPlaceSteps(plans) != nil
    var before: [String: Int] = [:]
    if let start = route.routeSteps.first?.source ?? route.refusal?.routeStep.source {
      before = try counts(start)
    }
    for (index, plan) in plans.enumerated() {
      do {
        try rehearse(plan, stepPosition: (index, plans.count), found)
      } catch let error as MigrationError where error.reason != .cancelled {
        report.refusal = error.at(report.storeURL)
      }
      if report.refusal != nil { break }
    }
    if report.refusal == nil, let refusal = route.refusal {
      try probeSteps(refusal.routeStep, found)
      report.refusal = refusal.error.at(report.storeURL)
    }
    if let duplicate { report.refusal = duplicate.at(report.storeURL) }
    if report.refusal == nil, let transfer { try showStatements(plans, transfer) }
    try compare(before, route)
    let done = report.steps.prefix { $0.isDone }.count
    if done > 0 { try findBrokenRules(route.routeSteps[done - 1].destination) }
  }

  /// Shows the statements of an engine that changes its tables itself, instead of those of the copy.
  @_optimize(none)
  private mutating func showStatements(_ plans: [StepPlan], _ transfer: any StoreTransfer) throws {
    guard let statements = try transfer.statements({ TableMigration(plans, $0) }) else { return }
    for (index, list) in statements.enumerated() where report.steps.indices.contains(index) {
      report.steps[index].statements = list.map { MigrationReport.Statement(sql: $0, count: 1) }
    }
  }

  /// Opens the copy as it is, and updates its indexes.
  ///
  /// - Returns: False if the store needs a migration.
  @_optimize(none)
  private func isOpenable() throws -> Bool {
    guard let version = migration.model.currentVersion else { return false }
    // The whole model is used, because its mappings may require a step between versions that store the same.
    let plan = try ModelPlan(
      migration.model, configurations: migration.stores(version).map(\.configuration))
    let connection = try SQLiteConnection(path: file.path(percentEncoded: false), of: [report.storeURL])
    do {
      _ = try StoreOpening(connection: connection, url: migration.url, model: plan, storeIndex: 0).open()
      return true
    } catch StoreError.needsMigration { return false }
  }

  /// Reports a store that needs no migration. It may break rules that are new.
  @_optimize(none)
  private mutating func reportOpened(as found: StoreMetadata) throws {
    report.reached = report.destination
    report.parts = parts(nil)
    guard let version = migration.model.currentVersion,
      try migration.metadata(of: migration.plan(version), found).definitionHash != found.definitionHash
    else { return }
    report.entities = try counts(version).orderedByKey().map {
      MigrationReport.EntityCount(source: $0.key, destination: $0.key, before: $0.value, after: $0.value)
    }
    try findBrokenRules(version)
  }

  @_optimize(none)
  private func checkIndexes(_ plans: [StepPlan]) throws {
    let session = try migration.session(file.path(percentEncoded: false))
    try session.execute("BEGIN")
    _ = try migration.checkIndexes(plans, session)
    try session.execute("COMMIT")
  }

  private func size(_ url: URL) -> Int64 { Disk.size(url.path(percentEncoded: false)) ?? 0 }

  // MARK: Steps

  @_optimize(none)
  private mutating func rehearse(
    _ plan: StepPlan, stepPosition: (step: Int, of: Int), _ found: StoreMetadata
  ) throws {
    report.steps.append(MigrationReport.Step(plan.step))
    let last = report.steps.count - 1
    let log = RehearsalLog(storeID: storeID)
    defer { report.steps[last].record(log) }
    report.steps[last].losses = try losses(plan)
    // Throws if the app's own code is missing. Without it the step cannot be rehearsed.
    _ = try migration.makePlans([plan.routeStep], policies)
    var migration = self.migration
    migration.log = log
    let clock = ContinuousClock()
    let start = clock.now
    let isDone: Bool
    do {
      isDone =
        report.isInPlace
        ? try migrateInPlace(plan, migration, stepPosition: stepPosition, found)
        : try migrateToNewFile(plan, migration, stepPosition: stepPosition, found)
    } catch let error as MigrationError where error.reason != .cancelled {
      // Later errors may only follow from an object that could not be created, so the first error is thrown.
      throw log.firstError ?? error
    }
    report.steps[last].duration = clock.now - start - log.ownTime
    report.steps[last].isDone = isDone
    if isDone { reach(plan.routeStep) }
    if let error = log.firstError { throw error }
  }

  /// The versions of the merged models before and after the route. Without a route all models stay as they are.
  @_optimize(none)
  private func parts(_ route: MigrationRoute?) -> [MigrationReport.Part] {
    migration.model.parts.map { part in
      let routeSteps = (route?.routeSteps ?? []) + [route?.refusal?.routeStep].compactMap(\.self)
      let first = routeSteps.first { $0.part?.id == part.id }
      let source = first?.source.number ?? part.currentVersionNumber
      return MigrationReport.Part(
        model: part.name, source: source, destination: part.currentVersionNumber, reached: source)
    }
  }

  @_optimize(none)
  private mutating func reach(_ routeStep: MigrationRoute.RouteStep) {
    guard let moved = routeStep.part else {
      report.reached = routeStep.destination.number
      return
    }
    let index = migration.model.parts.firstIndex { $0.id == moved.id }
    if let index { report.parts[index].reached = routeStep.destination.number }
  }

  /// - Returns: Whether all objects could be created.
  @_optimize(none)
  private mutating func migrateInPlace(
    _ plan: StepPlan, _ migration: StoreMigration, stepPosition: (step: Int, of: Int), _ found: StoreMetadata
  ) throws -> Bool {
    guard let step = InPlaceStep(plan) else { return false }
    let session = try migration.session(
      file.path(percentEncoded: false), routeStep: plan.routeStep, stepPosition: stepPosition)
    try session.execute("PRAGMA foreign_keys = OFF")
    try session.execute("BEGIN EXCLUSIVE")
    do {
      session.report(0)
      try step.run(session)
      session.report(1)
      try migration.metadata(plan, found).write(to: session.connection)
      // The transaction needs as much space as its journal.
      let journal = Disk.size(file.path(percentEncoded: false) + "-journal") ?? 0
      let isDone = session.log?.hasProblems != true
      try session.execute(isDone ? "COMMIT" : "ROLLBACK")
      report.neededSpace = max(report.neededSpace, journal + max(0, size(file) - report.fileSize))
      return isDone
    } catch is InPlaceStep.DerivationNeeded {
      try session.execute("ROLLBACK")
      migration.log?.startAgain()
      report.isInPlace = false
      return try migrateToNewFile(plan, migration, stepPosition: stepPosition, found)
    } catch {
      try? session.connection.execute("ROLLBACK")
      throw session.wrapped(error)
    }
  }

  @_optimize(none)
  private mutating func migrateToNewFile(
    _ plan: StepPlan, _ migration: StoreMigration, stepPosition: (step: Int, of: Int), _ found: StoreMetadata
  ) throws -> Bool {
    let target = files.work(stepPosition.step)
    let result = URL(filePath: target)
    let values = NewExternalFiles(of: migration.url, found)
    try migration.make(plan, from: file, at: target, stepPosition: stepPosition, found, policies, values)
    // The file of the step before still exists, in addition to the store.
    let others = file == migration.url ? 0 : size(file)
    report.neededSpace = max(report.neededSpace, others + size(result))
    guard migration.log?.hasProblems != true else { return false }
    files.linkExternalFiles(target)
    try migration.derive(plan, at: result, stepPosition: stepPosition)
    // Derived values may break a unique constraint.
    guard migration.log?.hasProblems != true else { return false }
    if stepPosition.step == stepPosition.of - 1 { try migration.finish(plan, at: target) }
    if file != migration.url { try FileManager.default.removeItem(at: file) }
    file = result
    return true
  }

  /// Finds the obstacles of a step that was refused because of the models alone: the losses, and the objects that could
  /// not be created.
  @_optimize(none)
  private mutating func probeSteps(_ routeStep: MigrationRoute.RouteStep, _ found: StoreMetadata) throws {
    report.steps.append(MigrationReport.Step(routeStep.step))
    let last = report.steps.count - 1
    guard let plan = try? migration.makePlan(routeStep, now: Date()) else { return }
    report.steps[last].losses = try losses(plan)
    guard (try? migration.makePlans([routeStep], policies)) != nil else { return }
    let log = RehearsalLog(storeID: storeID)
    var migration = self.migration
    migration.log = log
    let target = migration.url.path(percentEncoded: false) + "-explored"
    do {
      let values = NewExternalFiles(of: migration.url, found)
      try migration.make(plan, from: file, at: target, stepPosition: (0, 1), found, policies, values)
    } catch let error as MigrationError where error.reason == .cancelled {
      throw error
    } catch {
      // The refusal says more. A mapping that is not complete may create no objects.
    }
    report.steps[last].problems = log.problems.all
    try? FileManager.default.removeItem(atPath: target)
  }

  private func losses(_ plan: StepPlan) throws -> [MigrationReport.Loss] {
    let session = try migration.session(file.path(percentEncoded: false), routeStep: plan.routeStep)
    return try LossCount(plan: plan, session: session) { try reader(plan.routeStep.source) }.losses()
  }

  // MARK: The result

  /// Opens the file, to be read as objects of a version.
  @_optimize(none)
  private func reader(_ version: ModelVersion) throws -> PersistentStoreCoordinator {
    try migration.reader(migration.plan(version), version, of: file)
  }

  /// The number of objects of each entity in the file that is not abstract.
  @_optimize(none)
  private func counts(_ version: ModelVersion) throws -> [String: Int] {
    let plan = try migration.plan(version)
    let session = try migration.session(file.path(percentEncoded: false))
    var result: [String: Int] = [:]
    for entity in plan.entities where entity.storeIndex == 0 && !entity.description.isAbstract {
      result[entity.name] = try LossCount.count(entity, session)
    }
    return result
  }

  @_optimize(none)
  private mutating func compare(_ before: [String: Int], _ route: MigrationRoute) throws {
    let done = report.steps.prefix { $0.isDone }
    guard let start = route.routeSteps.first?.source ?? route.refusal?.routeStep.source else { return }
    let end = done.isEmpty ? start : route.routeSteps[done.count - 1].destination
    let after = try counts(end)
    var used: Set<String> = []
    for entity in end.entities {
      guard let count = after[entity.name] else { continue }
      let source = done.reversed().reduce(Optional(entity.name)) { name, step in
        name.flatMap { step.step.mapping.entityMappings(to: $0).first?.source }
      }
      if let source { used.insert(source) }
      report.entities.append(
        MigrationReport.EntityCount(
          source: source, destination: entity.name, before: source.flatMap { before[$0] }, after: count))
    }
    for entity in start.entities where !used.contains(entity.name) {
      guard let count = before[entity.name] else { continue }
      report.entities.append(
        MigrationReport.EntityCount(source: entity.name, destination: nil, before: count, after: nil))
    }
  }

  @_optimize(none)
  private mutating func findBrokenRules(_ version: ModelVersion) throws {
    let coordinator = try reader(version)
    var problems = ProblemList()
    for root in coordinator.plan.entities where root.root == root.index && root.storeIndex == 0 {
      if migration.description.migrationObserver?.isCancelled == true {
        throw MigrationError(migration.url, .cancelled)
      }
      // The other stores are empty here.
      try coordinator.verifyRows(of: root, isReadable: { $0.storeIndex == 0 }, { problems.add($0) })
    }
    report.brokenRules = problems.all
  }
}

extension MigrationReport.Step {
  /// Adds the contents of a step's log.
  fileprivate mutating func record(_ log: RehearsalLog) {
    statements = log.statements
    problems = log.problems.all
    losses += log.losses
  }
}
