import CDModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Puts what SQL cannot decide or compute into temporary tables: which objects are taken, their values, and the
/// objects of their relationships. Objects are read in batches and let go of.
struct EvaluatedRows {
  let plan: StepPlan
  let session: MigrationSession
  /// The old store, to be read.
  let coordinator: PersistentStoreCoordinator

  private static let batchSize = 500
  /// The gap between two positions, as in <doc:SQLiteLayout>.
  private static let gap: Int64 = 1 << 32

  func makeAll() throws {
    for sourceMapping in plan.sourceMappings
    where sourceMapping.chosen != nil || !sourceMapping.evaluations.isEmpty {
      session.entity = sourceMapping.destination.name
      try make(sourceMapping)
    }
    session.entity = nil
  }

  private func make(_ sourceMapping: StepPlan.SourceMapping) throws {
    let columns = sourceMapping.evaluations.indices.map { ", c\($0)" }.joined()
    if let chosen = sourceMapping.chosen {
      try session.execute("CREATE TEMP TABLE \(chosen.dropFirst(5)) (pk INTEGER PRIMARY KEY\(columns))")
    }
    for each in sourceMapping.evaluations where each.isPair {
      try session.execute(
        "CREATE TEMP TABLE \(pairs(sourceMapping, each)) (owner INTEGER NOT NULL, target INTEGER NOT NULL, "
          + "position INTEGER, PRIMARY KEY (owner, target)) WITHOUT ROWID")
    }
    if try chooseBySQL(sourceMapping) { return }
    try stream(sourceMapping) { object in
      do {
        try write(object, sourceMapping)
      } catch let error as MigrationError
        where session.log?.take(error, of: sourceMapping.source.name) == true
      {
        // A rehearsal goes on, to find all such objects.
      }
    }
    for each in sourceMapping.evaluations where each.isPair {
      try session.execute(
        "CREATE INDEX temp.\"target_\(sourceMapping.number)_\(each.name)\" ON \(pairs(sourceMapping, each)) (target)"
      )
    }
  }

  /// Finds by SQL alone which objects are taken.
  ///
  /// - Returns: False where SQL is not enough: it has no exact form of the filter, or values are to be evaluated, or
  ///   a row has no result, of which the evaluator can tell.
  private func chooseBySQL(_ sourceMapping: StepPlan.SourceMapping) throws -> Bool {
    guard let chosen = sourceMapping.chosen, sourceMapping.evaluations.isEmpty else { return false }
    var filter = SQLText(text: "1")
    if let predicate = sourceMapping.mapping.filter {
      guard
        let condition = try? SQLPredicate.compile(
          predicate, entity: sourceMapping.source, plan: plan.source, now: plan.now), condition.isExact
      else { return false }
      filter = SQLText(text: condition.sql, bindings: condition.bindings)
    }
    let own =
      sourceMapping.source.hasEntityColumn
      ? "t0._entity = \(SQLite.literal(sourceMapping.source.name)) AND " : ""
    do {
      try session.run(
        SQLText(
          text:
            "INSERT INTO \(chosen) SELECT t0._pk FROM main.\(SQLite.quoted(sourceMapping.source.table)) AS t0 "
            + "WHERE \(own)(\(filter.text))", bindings: filter.bindings))
      return true
    } catch let error as MigrationError where error.isOfStatement {
      try session.execute("DELETE FROM \(chosen)")
      return false
    }
  }

  @inline(never)
  private func pairs(_ sourceMapping: StepPlan.SourceMapping, _ evaluation: StepPlan.Evaluation) -> String {
    SQLite.quoted("pairs_\(sourceMapping.number)_\(evaluation.name)")
  }

  /// Calls a body with each object of a source mapping's source.
  private func stream(_ sourceMapping: StepPlan.SourceMapping, _ body: (ManagedObject) throws -> Void) throws
  {
    guard let entity = coordinator.plan.entity(sourceMapping.source.name) else { return }
    var last: ObjectKey = 0
    while true {
      try session.checkCancelled()
      try MigrationFaults.reach("batch of \(sourceMapping.mapping.name)")
      // A context of its own for each batch: nothing of the ones before is kept.
      let context = ManagedObjectContext(coordinator)
      let reader = try context.reader()
      guard let batch = try reader.rows(ofKind: entity, isOwn: true, after: last, count: Self.batchSize)
      else {
        return
      }
      last = batch.last
      for object in try context.objects(from: batch.rows, of: entity) { try body(object) }
      // What could not be read is not to be lost in silence.
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
      guard let cell = each.cell else {
        try writePairs(each, object, sourceMapping, evaluator)
        values.append(.null)
        continue
      }
      values.append(try value(each, cell, object, sourceMapping, evaluator))
    }
    if let chosen = sourceMapping.chosen {
      let marks = Array(repeating: "?", count: values.count).joined(separator: ", ")
      try insert("INSERT INTO \(chosen) VALUES (\(marks))", values)
    }
  }

  private func insert(_ sql: String, _ values: [AttributeValue]) throws {
    do {
      let statement = try session.connection.statement(sql)
      session.bind(values, to: statement)
      try statement.run()
    } catch { throw session.wrapped(error) }
  }

  private func value(
    _ evaluation: StepPlan.Evaluation, _ cell: StorageType, _ object: ManagedObject,
    _ sourceMapping: StepPlan.SourceMapping,
    _ evaluator: PredicateEvaluator
  ) throws -> AttributeValue {
    let key = object.objectID.key
    let result: EvaluationValue
    do {
      result = try evaluator.value(of: evaluation.expression, for: object)
    } catch { throw invalid(evaluation.name, "\(error)", sourceMapping, key) }
    guard let value = result.single, let fitted = cell.fitted(value) else {
      throw invalid(evaluation.name, "it is \(result.kindName)", sourceMapping, key)
    }
    return fitted
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
      try insert(
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

extension EvaluationValue {
  /// The value where it is one that an attribute can have.
  var single: AttributeValue? {
    switch self {
    case .value(let value): value
    case .float(let number): .double(Double(number))
    case .collection, .dictionary, .reference, .subject: nil
    }
  }

  /// The elements of a collection, or the value as the only one; none for nil.
  fileprivate var elements: [EvaluationValue] {
    switch self {
    case .collection(let elements):
      elements.flatMap { if case .collection = $0 { $0.elements } else { [$0] } }
    case .value(.null): []
    case .value, .float, .dictionary, .reference, .subject: [self]
    }
  }
}
