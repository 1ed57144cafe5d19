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
    for taker in plan.takers where taker.chosen != nil || !taker.evaluations.isEmpty {
      session.entity = taker.destination.name
      try make(taker)
    }
    session.entity = nil
  }

  private func make(_ taker: StepPlan.Taker) throws {
    let columns = taker.evaluations.indices.map { ", c\($0)" }.joined()
    if let chosen = taker.chosen {
      try session.execute("CREATE TEMP TABLE \(chosen.dropFirst(5)) (pk INTEGER PRIMARY KEY\(columns))")
    }
    for each in taker.evaluations where each.isPair {
      try session.execute(
        "CREATE TEMP TABLE \(pairs(taker, each)) (owner INTEGER NOT NULL, target INTEGER NOT NULL, "
          + "position INTEGER, PRIMARY KEY (owner, target)) WITHOUT ROWID")
    }
    if try chooseBySQL(taker) { return }
    try stream(taker) { object in
      do {
        try write(object, taker)
      } catch let error as MigrationError where session.log?.take(error, of: taker.source.name) == true {
        // A rehearsal goes on, to find all such objects.
      }
    }
    for each in taker.evaluations where each.isPair {
      try session.execute(
        "CREATE INDEX temp.\"target_\(taker.number)_\(each.name)\" ON \(pairs(taker, each)) (target)")
    }
  }

  /// Finds by SQL alone which objects are taken.
  ///
  /// - Returns: False where SQL is not enough: it has no exact form of the filter, or values are to be evaluated, or
  ///   a row has no result, of which the evaluator can tell.
  private func chooseBySQL(_ taker: StepPlan.Taker) throws -> Bool {
    guard let chosen = taker.chosen, taker.evaluations.isEmpty else { return false }
    var filter = SQLText(text: "1")
    if let predicate = taker.mapping.filter {
      guard
        let condition = try? SQLPredicate.compile(
          predicate, entity: taker.source, plan: plan.source, now: plan.now), condition.isExact
      else { return false }
      filter = SQLText(text: condition.sql, bindings: condition.bindings)
    }
    let own =
      taker.source.hasEntityColumn ? "t0._entity = \(SQLite.literal(taker.source.name)) AND " : ""
    do {
      try session.run(
        SQLText(
          text: "INSERT INTO \(chosen) SELECT t0._pk FROM main.\(SQLite.quoted(taker.source.table)) AS t0 "
            + "WHERE \(own)(\(filter.text))", bindings: filter.bindings))
      return true
    } catch let error as MigrationError where error.isOfStatement {
      try session.execute("DELETE FROM \(chosen)")
      return false
    }
  }

  private func pairs(_ taker: StepPlan.Taker, _ evaluation: StepPlan.Evaluation) -> String {
    SQLite.quoted("pairs_\(taker.number)_\(evaluation.name)")
  }

  /// Calls a body with each object of a taker's source.
  private func stream(_ taker: StepPlan.Taker, _ body: (ManagedObject) throws -> Void) throws {
    guard let entity = coordinator.plan.entity(taker.source.name) else { return }
    let select = coordinator.plan.selects[entity.index]
    let own = entity.hasEntityColumn ? "t0._entity = \(SQLite.literal(entity.name)) AND " : ""
    var last: ObjectKey = 0
    while true {
      try session.checkCancelled()
      try MigrationFaults.reach("batch of \(taker.mapping.name)")
      // A context of its own for each batch: nothing of the ones before is kept.
      let context = ManagedObjectContext(coordinator)
      let connection = try context.reader()
      let ends = try connection.rows(
        "SELECT max(_pk) FROM (SELECT _pk FROM \(SQLite.quoted(entity.table)) AS t0 WHERE \(own)_pk > \(last) "
          + "ORDER BY _pk LIMIT \(Self.batchSize))")
      guard let end = ends.first?.first?.flatMap({ Int64($0) }) else { return }
      let statement = try connection.statement(
        select.sql + " WHERE \(own)t0._pk > ?1 AND t0._pk <= ?2 ORDER BY t0._pk")
      statement.bind(last, at: 1)
      statement.bind(end, at: 2)
      last = end
      for object in try context.objects(from: statement, select, of: entity) { try body(object) }
      // What could not be read is not to be lost in silence.
      if let error = context.recentErrors.first {
        throw plan.error(.verificationFailed("\(error)"), taker.destination.name)
      }
    }
  }

  private func write(_ object: ManagedObject, _ taker: StepPlan.Taker) throws {
    let key = object.objectID.key
    let evaluator = PredicateEvaluator(now: plan.now)
    if let filter = taker.mapping.filter {
      do {
        guard try evaluator.matches(filter, object) else { return }
      } catch { throw invalid("the filter", "\(error)", taker, key) }
    }
    var values: [AttributeValue] = [.int(key)]
    for each in taker.evaluations {
      guard let cell = each.cell else {
        try writePairs(each, object, taker, evaluator)
        values.append(.null)
        continue
      }
      values.append(try value(each, cell, object, taker, evaluator))
    }
    if let chosen = taker.chosen {
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
    _ evaluation: StepPlan.Evaluation, _ cell: CellType, _ object: ManagedObject, _ taker: StepPlan.Taker,
    _ evaluator: PredicateEvaluator
  ) throws -> AttributeValue {
    let key = object.objectID.key
    let result: EvaluationValue
    do {
      result = try evaluator.value(of: evaluation.expression, for: object)
    } catch { throw invalid(evaluation.name, "\(error)", taker, key) }
    guard let value = result.single, let fitted = cell.fitted(value) else {
      throw invalid(evaluation.name, "it is \(result.kindName)", taker, key)
    }
    return fitted
  }

  private func writePairs(
    _ evaluation: StepPlan.Evaluation, _ object: ManagedObject, _ taker: StepPlan.Taker,
    _ evaluator: PredicateEvaluator
  ) throws {
    let key = object.objectID.key
    let found: EvaluationValue
    do {
      found = try evaluator.value(of: evaluation.expression, for: object)
    } catch { throw invalid(evaluation.name, "\(error)", taker, key) }
    var position = Self.gap
    for each in found.elements {
      guard case .subject(let subject) = each, let target = subject as? ManagedObject else {
        throw invalid(evaluation.name, "it is \(each.kindName)", taker, key)
      }
      try insert(
        "INSERT OR IGNORE INTO temp.\(pairs(taker, evaluation)) VALUES (?, ?, ?)",
        [.int(key), .int(target.objectID.key), .int(position)])
      position += Self.gap
    }
  }

  private func invalid(
    _ property: String, _ reason: String, _ taker: StepPlan.Taker, _ key: Int64
  ) -> MigrationError {
    plan.error(.invalidValue(property: property, reason: reason), taker.destination.name, key)
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
