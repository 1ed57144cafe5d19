import CDMapping
import CDModel

/// Computes the derived attributes of a step's result. It reads the result as objects.
struct StepDerivation {
  let plan: StepPlan

  private static let batchSize = 500

  /// Whether the step's result can contain derived values that are missing or wrong.
  var isNeeded: Bool { plan.needsDerivation }

  /// The rules for duplicates that compare derived values. They decide only when these are computed.
  @_optimize(none)
  var laterRules: [DuplicateRule] {
    guard isNeeded else { return [] }
    return plan.mapping.duplicates.filter { rule in
      guard let entity = plan.destination.entity(rule.entity) else { return false }
      return rule.properties.contains { entity.slot($0)?.isDerived == true }
    }
  }

  /// The unique indexes that may refuse a row before all derived values are computed: those of derived values, and all if
  /// a rule for duplicates changes references afterwards.
  @_optimize(none)
  var laterIndexes: [IndexLayout] {
    guard isNeeded else { return [] }
    let unique = SQLSchema(plan.destination, store: 0).indexes.filter(\.isUnique)
    if !laterRules.isEmpty { return unique }
    var columns: [String: Set<String>] = [:]
    for entity in plan.destination.entities {
      for number in entity.derivedSlots {
        columns[entity.table, default: []].formUnion(
          entity.columns[entity.slots[number].columns].map { SQLText.quoted($0.name) })
      }
    }
    return unique.filter { index in columns[index.table]?.isDisjoint(with: index.columns) == false }
  }

  /// Computes the values and writes them. Then makes the objects unique, as far as this depends on the values.
  ///
  /// - Parameter read: Opens the step's result, to be read as objects.
  @_optimize(none)
  func run(_ session: MigrationSession, reading read: () throws -> PersistentStoreCoordinator) throws {
    let indexes = laterIndexes
    var counted = laterRules
    // A step within a copy of the file keeps indexes. They would refuse a new value that another row still has and is about to
    // lose.
    try drop(indexes, session)
    if !counted.isEmpty {
      // Derivations find related objects by the indexes of references.
      for var index in indexes {
        index.isUnique = false
        try session.execute(index.sql)
      }
    }
    let coordinator = try read()
    try compute(session, coordinator)
    let uniqueness = StepUniqueness(plan: plan, session: session, schema: "main")
    if !counted.isEmpty {
      try session.execute("PRAGMA foreign_keys = OFF")
      // Deleted objects change what others derive from them, such as counts.
      while try deduplicate(uniqueness, counting: counted) {
        counted = []
        try compute(session, coordinator)
      }
      try session.verifyReferences("main", routeStep: plan)
      try drop(indexes, session)
    }
    try uniqueness.makeIndexes(indexes)
  }

  @_optimize(none)
  private func drop(_ indexes: [IndexLayout], _ session: MigrationSession) throws {
    for index in indexes { try session.execute("DROP INDEX IF EXISTS \(SQLText.quoted(index.name))") }
  }

  /// Applies all rules for duplicates, because those that compare derived values change references, which others compare.
  ///
  /// - Returns: Whether objects were deleted.
  @_optimize(none)
  private func deduplicate(_ uniqueness: StepUniqueness, counting counted: [DuplicateRule]) throws -> Bool {
    let session = uniqueness.session
    let columns = plan.destination.fileColumns(ofStore: 0)
    try session.execute("BEGIN")
    try session.listFiles(of: columns, in: "main", at: plan.now)
    let hasDeleted = try uniqueness.deduplicate(by: plan.mapping.duplicates, counting: counted)
    try session.keepFiles(of: columns, in: "main")
    try session.execute("COMMIT")
    return hasDeleted
  }

  /// Computes the values of all objects and writes them.
  @_optimize(none)
  private func compute(_ session: MigrationSession, _ coordinator: PersistentStoreCoordinator) throws {
    let model = coordinator.plan
    let evaluator = PredicateEvaluator(now: plan.now)
    // An attribute may be derived from another object's derived attribute. Each pass reads what the one before has written.
    let isChained = model.triggers.contains { trigger in
      trigger.properties.contains { model.entities[trigger.entity].slot($0)?.isDerived == true }
    }
    let lastPass = isChained ? model.derivedCount : 0
    var hasFailed = false
    for pass in 0...lastPass {
      var result = PassResult(isComplete: pass > 0 && !hasFailed, mayFail: isChained)
      for entity in model.entities
      where entity.storeIndex == 0 && !entity.derivedSlots.isEmpty && !entity.description.isAbstract {
        session.entity = entity.name
        let outer = plan.outerDerivations(of: entity)
        var last: ObjectKey = 0
        while let rows = try batch(entity, outer, after: &last, coordinator, evaluator, &result) {
          // Only statements look for a cancellation, and a batch without changes runs none.
          try session.checkCancelled()
          try write(rows, of: entity, session)
        }
      }
      // A derivation that failed may have read a value that was not computed yet.
      let isFinished = pass == lastPass || !result.hasChanged
      if isFinished, let failure = result.failure { throw failure }
      if isFinished { break }
      hasFailed = result.failure != nil
    }
    session.entity = nil
  }

  private typealias Row = (key: ObjectKey, values: [(column: String, value: AttributeValue)])

  private struct PassResult {
    /// Whether the pass before has computed all values.
    let isComplete: Bool
    /// Whether a derivation may fail and succeed in a later pass.
    let mayFail: Bool
    /// Whether a value differs from the stored one.
    var hasChanged = false
    /// The first derivation that failed.
    var failure: MigrationError?
  }

  /// Writes the values of a batch. The reader uses the file while the values are collected, so they are written after the
  /// batch was read.
  @_optimize(none)
  private func write(_ rows: [Row], of entity: EntityPlan, _ session: MigrationSession) throws {
    guard rows.contains(where: { !$0.values.isEmpty }) else { return }
    try session.execute("BEGIN")
    for (key, values) in rows {
      for (column, value) in values {
        try session.run(
          "UPDATE \(raw: SQLText.quoted(entity.table)) SET \(raw: SQLText.quoted(column)) = \(bind: value) WHERE _pk = \(bind: .int(key))"
        )
      }
    }
    try session.execute("COMMIT")
  }

  /// Reads the next rows of an entity.
  ///
  /// - Parameter outer: The derived attributes that read another store, by their slots.
  /// - Returns: The values of each row that differ from the stored ones; nil if there are no further rows.
  @_optimize(none)
  private func batch(
    _ entity: EntityPlan, _ outer: [Int: StepPlan.OuterDerivation], after last: inout ObjectKey,
    _ coordinator: PersistentStoreCoordinator, _ evaluator: PredicateEvaluator,
    _ passResult: inout PassResult
  ) throws -> [Row]? {
    let context = ManagedObjectContext(coordinator)
    let reader = try context.reader()
    guard let batch = try reader.rows(ofSubtree: entity, isOwn: true, after: last, count: Self.batchSize)
    else {
      return nil
    }
    last = batch.last
    var result: [Row] = []
    for object in try context.objects(from: batch.rows, of: entity) {
      var values: [(String, AttributeValue)] = []
      for number in entity.derivedSlots {
        let slot = entity.slots[number]
        guard case .attribute(let attribute, let storageType) = slot.kind,
          let derivation = attribute.derivation,
          slot.isStored
        else { continue }
        // The other stores are empty here. To an object that the app's own code adds, they cannot refer.
        if let outer = outer[number], plan.isMigrated(object.objectID.key, of: entity) {
          if outer.isKept { continue }
          throw plan.derivationError(slot, outer, of: entity, object.objectID.key)
        }
        // A random value would be another one in each pass.
        if passResult.isComplete, derivation.isRandom { continue }
        do {
          guard
            let value = try evaluator.value(of: derivation, for: object).single.flatMap(storageType.fitted)
          else {
            throw FetchError.evaluation("the derivation has no value of the attribute's type")
          }
          if value == object.storedValue(number) { continue }
          values.append((entity.columns[slot.columns.lowerBound].name, value))
          // Attributes that follow may be derived from this one.
          object.setStoredValues([number: value])
        } catch {
          let reason = MigrationError.Reason.invalidValue(property: slot.name, reason: "\(error)")
          let failure = plan.error(reason, entity.name, object.objectID.key)
          guard passResult.mayFail else { throw failure }
          passResult.failure = passResult.failure ?? failure
        }
      }
      if !values.isEmpty { passResult.hasChanged = true }
      result.append((object.objectID.key, values))
    }
    return result
  }
}
