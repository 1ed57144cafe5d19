import CDModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Computes in Swift the filters, values and relationships that SQL cannot compute, and writes the results into
/// temporary tables. Objects are read in batches, and each batch is released before the next one.
struct EvaluatedRows {
  let plan: StepPlan
  let session: MigrationSession
  /// A coordinator that reads the old store.
  let coordinator: PersistentStoreCoordinator

  private static let batchSize = 500
  /// The gap between two positions, as in <doc:SQLiteLayout>.
  private static let gap: Int64 = 1 << 32

  func makeAll() throws {
    for sourceMapping in plan.sourceMappings
    where sourceMapping.selectionTable != nil || !sourceMapping.evaluations.isEmpty {
      session.entity = sourceMapping.destination.name
      try make(sourceMapping)
    }
    session.entity = nil
  }

  private func make(_ sourceMapping: StepPlan.SourceMapping) throws {
    let columns = sourceMapping.evaluations.indices.map { ", c\($0)" }.joined()
    if let chosen = sourceMapping.selectionTable {
      try session.execute("CREATE TEMP TABLE \(chosen.dropFirst(5)) (pk INTEGER PRIMARY KEY\(columns))")
    }
    for each in sourceMapping.evaluations where each.isPair {
      try session.execute(
        "CREATE TEMP TABLE \(pairs(sourceMapping, each)) (owner INTEGER NOT NULL, target INTEGER NOT NULL, "
          + "position INTEGER, PRIMARY KEY (owner, target)) WITHOUT ROWID")
    }
    if try selectBySQL(sourceMapping) { return }
    try stream(sourceMapping) { object in
      do {
        try write(object, sourceMapping)
      } catch let error as MigrationError
        where session.log?.record(error, of: sourceMapping.source.name) == true
      {
        // A rehearsal continues, to find all of these objects.
      }
    }
    for each in sourceMapping.evaluations where each.isPair {
      try session.execute(
        "CREATE INDEX temp.\"target_\(sourceMapping.number)_\(each.name)\" ON \(pairs(sourceMapping, each)) (target)"
      )
    }
  }

  /// Finds the objects that the filter accepts by SQL alone.
  ///
  /// - Returns: False if SQL is not enough: the filter has no exact form in SQL, other values must be evaluated, or the
  ///   filter has no result for some row, which only the evaluator can report.
  private func selectBySQL(_ sourceMapping: StepPlan.SourceMapping) throws -> Bool {
    guard let chosen = sourceMapping.selectionTable, sourceMapping.evaluations.isEmpty else { return false }
    var filter = SQLText(text: "1")
    if let predicate = sourceMapping.mapping.filter {
      guard
        let condition = try? SQLPredicate.compile(
          predicate, entity: sourceMapping.source, plan: plan.source, dialect: .sqlite, now: plan.now),
        condition.isExact
      else { return false }
      filter = SQLText(text: condition.sql, bindings: condition.bindings)
    }
    let own =
      sourceMapping.source.hasEntityColumn
      ? "t0._entity = \(SQLText.literal(sourceMapping.source.name)) AND " : ""
    do {
      try session.run(
        SQLText(
          text:
            "INSERT INTO \(chosen) SELECT t0._pk FROM main.\(SQLText.quoted(sourceMapping.source.table)) AS t0 "
            + "WHERE \(own)(\(filter.text))", bindings: filter.bindings))
      return true
    } catch let error as MigrationError where error.isOfStatement {
      try session.execute("DELETE FROM \(chosen)")
      return false
    }
  }

  @inline(never)
  private func pairs(_ sourceMapping: StepPlan.SourceMapping, _ evaluation: StepPlan.Evaluation) -> String {
    SQLText.quoted("pairs_\(sourceMapping.number)_\(evaluation.name)")
  }

  /// Calls a body with each object of a source mapping's source.
  private func stream(_ sourceMapping: StepPlan.SourceMapping, _ body: (ManagedObject) throws -> Void) throws
  {
    guard let entity = coordinator.plan.entity(sourceMapping.source.name) else { return }
    var last: ObjectKey = 0
    while true {
      try session.checkCancelled()
      try MigrationFaults.reach("batch of \(sourceMapping.mapping.name)")
      // Each batch has its own context, so that objects of earlier batches are released.
      let context = ManagedObjectContext(coordinator)
      let reader = try context.reader()
      guard let batch = try reader.rows(ofSubtree: entity, isOwn: true, after: last, count: Self.batchSize)
      else {
        return
      }
      last = batch.last
      for object in try context.objects(from: batch.rows, of: entity) { try body(object) }
      // An object that could not be read must not be lost silently.
      if let error = context.recentErrors.first {
        throw plan.error(.verificationFailed("\(error)"), sourceMapping.destination.name)
      }
    }
  }

  private func write(_ object: ManagedObject, _ sourceMapping: StepPlan.SourceMapping) throws {
    let key = object.objectID.key
    let evaluator = PredicateEvaluator(now: plan.now)
    if let filter = sourceMapping.mapping.filter {
      do {
        guard try evaluator.matches(filter, object) else { return }
      } catch { throw invalid("the filter", "\(error)", sourceMapping, key) }
    }
    var values: [AttributeValue] = [.int(key)]
    for each in sourceMapping.evaluations {
      guard let storageType = each.storageType else {
        try writePairs(each, object, sourceMapping, evaluator)
        values.append(.null)
        continue
      }
      values.append(
        try plan.value(
          of: each.expression, for: object, as: storageType, each.name, sourceMapping.destination, evaluator))
    }
    if let chosen = sourceMapping.selectionTable {
      let marks = Array(repeating: "?", count: values.count).joined(separator: ", ")
      try session.runKept("INSERT INTO \(chosen) VALUES (\(marks))", values)
    }
  }

  private func writePairs(
    _ evaluation: StepPlan.Evaluation, _ object: ManagedObject, _ sourceMapping: StepPlan.SourceMapping,
    _ evaluator: PredicateEvaluator
  ) throws {
    let key = object.objectID.key
    let found: EvaluationValue
    do {
      found = try evaluator.value(of: evaluation.expression, for: object)
    } catch { throw invalid(evaluation.name, "\(error)", sourceMapping, key) }
    var position = Self.gap
    for each in found.elements {
      guard case .subject(let subject) = each, let target = subject as? ManagedObject else {
        throw invalid(evaluation.name, "it is \(each.kindName)", sourceMapping, key)
      }
      try session.runKept(
        "INSERT OR IGNORE INTO temp.\(pairs(sourceMapping, evaluation)) VALUES (?, ?, ?)",
        [.int(key), .int(target.objectID.key), .int(position)])
      position += Self.gap
    }
  }

  private func invalid(
    _ property: String, _ reason: String, _ sourceMapping: StepPlan.SourceMapping, _ key: Int64
  ) -> MigrationError {
    plan.error(.invalidValue(property: property, reason: reason), sourceMapping.destination.name, key)
  }
}

extension StepPlan {
  /// Evaluates an expression for an object of the source, as the value of a property of a destination entity.
  ///
  /// - Throws: ``MigrationError``, which names the property and the object, if there is no such value.
  func value(
    of expression: ValueExpression, for object: ManagedObject, as storageType: StorageType,
    _ property: String, _ entity: EntityPlan, _ evaluator: PredicateEvaluator
  ) throws -> AttributeValue {
    func invalid(_ reason: String) -> MigrationError {
      error(.invalidValue(property: property, reason: reason), entity.name, object.objectID.key)
    }
    let result: EvaluationValue
    do { result = try evaluator.value(of: expression, for: object) } catch { throw invalid("\(error)") }
    guard let fitted = result.single.flatMap(storageType.fitted) else {
      throw invalid("it is \(result.kindName)")
    }
    return fitted
  }
}

extension EvaluationValue {
  /// The elements of a collection, or the value itself as the only element; empty for nil.
  fileprivate var elements: [EvaluationValue] {
    switch self {
    case .collection(let elements):
      elements.flatMap { if case .collection = $0 { $0.elements } else { [$0] } }
    case .value(.null): []
    case .value, .float, .dictionary, .reference, .subject: [self]
    }
  }
}
