import CDModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The log of one rehearsed step: its statements, and all objects that it cannot create.
///
/// It is a class because the sessions of one step share it. It never leaves the call that rehearses.
final class RehearsalLog {
  private(set) var statements: [MigrationReport.Statement] = []
  private var statementIndices: [String: Int] = [:]
  private(set) var problems = ProblemList()
  private(set) var losses: [MigrationReport.Loss] = []
  /// The first error, which the real migration would throw.
  private(set) var firstError: MigrationError?
  /// The time spent on work that only a rehearsal does.
  private(set) var ownTime = Duration.zero
  private let storeID: UUID

  init(storeID: UUID) { self.storeID = storeID }

  var hasProblems: Bool { firstError != nil }

  // MARK: Statements

  /// Beginnings of statements that are not reported, because they say nothing about the step.
  private static let unimportant = ["BEGIN", "COMMIT", "ROLLBACK", "PRAGMA", "ATTACH"]

  @_optimize(none)
  func note(_ sql: String) {
    if Self.unimportant.contains(where: sql.hasPrefix) { return }
    if let index = statementIndices[sql] {
      statements[index].count += 1
    } else {
      statementIndices[sql] = statements.count
      statements.append(MigrationReport.Statement(sql: sql, count: 1))
    }
  }

  /// Discards the log of a step that is started again.
  func startAgain() {
    statements.removeAll()
    statementIndices.removeAll()
    problems = ProblemList()
    losses.removeAll()
    firstError = nil
  }

  private func timed<R>(_ body: () throws -> R) rethrows -> R {
    let clock = ContinuousClock()
    let start = clock.now
    defer { ownTime += clock.now - start }
    return try body()
  }

  // MARK: Problems

  @_optimize(none)
  private func add(
    _ error: MigrationError, _ entity: String, _ property: String?, _ rule: String, count: Int, keys: [Int64]
  ) {
    if firstError == nil { firstError = error }
    problems.add(
      entity, property, rule, count: count,
      objects: keys.map {
        ManagedObjectID(storeID: storeID, entityName: entity, key: $0).uriRepresentation
      })
  }

  /// Logs an error about one object.
  ///
  /// - Returns: False for any other error, which ends a rehearsal too.
  @_optimize(none)
  func record(_ error: MigrationError, of source: String) -> Bool {
    guard let key = error.objectKey else { return false }
    switch error.reason {
    case .invalidValue(let property, let reason):
      add(error, source, property, "cannot have the computed value: \(reason)", count: 1, keys: [key])
    case .missingValue(let property):
      add(error, source, property, Self.missing, count: 1, keys: [key])
    case .policyFailed(let reason):
      add(error, source, nil, "cannot be created by the app's own code: \(reason)", count: 1, keys: [key])
    default: return false
    }
    return true
  }

  /// Logs a rule that is broken by an object which the app's own code has created, with or without a source row.
  @_optimize(none)
  func record(_ error: MigrationError, of entity: String, _ cause: ValidationError) {
    let rule = cause.reason == .missingValue ? Self.missing : "\(cause.reason)"
    add(error, entity, cause.property, rule, count: 1, keys: [error.objectKey].compactMap(\.self))
  }

  /// Logs mandatory references that were not set.
  func recordMissing(
    _ error: MigrationError, of entity: String, _ property: String, count: Int, keys: [Int64]
  ) {
    add(error, entity, property, Self.missing, count: count, keys: keys)
  }

  private static let missing = "is mandatory and has no value"

  /// Logs the mandatory values that a step's rows would lack.
  ///
  /// - Parameters:
  ///   - rows: A `FROM …` clause for rows `t0`.
  ///   - isLater: Whether a column gets its values from objects that have not been created yet.
  /// - Returns: Whether there are such rows.
  @_optimize(none)
  func findMissingValues(
    of sourceMapping: StepPlan.SourceMapping, _ plan: StepPlan, from rows: String,
    _ session: MigrationSession,
    except isLater: (ColumnPlan) -> Bool
  ) throws -> Bool {
    try timed {
      var isFound = false
      for column in sourceMapping.destination.columns
      where column.isMandatory && !plan.isDerived(column, in: sourceMapping.destination) && !isLater(column) {
        let value =
          plan.sourceValue(column, for: sourceMapping) ?? plan.value(of: column, for: sourceMapping)
        let lacking: SQLText =
          "FROM (SELECT t0._pk AS k, \(value) AS v \(raw: rows)) WHERE v IS NULL"
        guard let count = try session.key("SELECT count(*) \(lacking)"), count > 0 else { continue }
        isFound = true
        let keys = try session.keys(
          "SELECT k \(lacking) ORDER BY k LIMIT \(raw: "\(MigrationReport.Problem.namedObjects)")")
        let property = plan.path(of: column, in: sourceMapping.destination)
        add(
          plan.error(.missingValue(property: property), sourceMapping.destination.name, keys.first),
          sourceMapping.source.name, property, Self.missing, count: Int(count), keys: keys)
      }
      return isFound
    }
  }

  /// Logs all rows that violate a unique index.
  @_optimize(none)
  func findDuplicates(
    _ index: String, of plan: StepPlan, _ session: MigrationSession, schema: String
  ) throws {
    try timed {
      let error = try plan.duplicate(index, session, schema: schema)
      guard let name = error.entity, let entity = plan.destination.entity(name),
        case .duplicate(let properties) = error.reason
      else { throw error }
      let columns = entity.columnNames(ofUnique: properties).map(SQLText.quoted)
      let conditions = plan.destination.isPart(entity) + columns.map { "\($0) IS NOT NULL" }
      let list = columns.joined(separator: ", ")
      let table =
        "FROM (SELECT _pk, count(*) OVER (PARTITION BY \(list)) AS n FROM \(schema).\(SQLText.quoted(entity.table)) "
        + "WHERE \(conditions.joined(separator: " AND "))) WHERE n > 1"
      let count = try session.number("SELECT count(*) \(table)")
      let keys = try session.keys(
        SQLText(text: "SELECT _pk \(table) ORDER BY _pk LIMIT \(MigrationReport.Problem.namedObjects)"))
      add(
        error, name, properties.joined(separator: ", "), "must be unique, but is not", count: Int(count),
        keys: keys)
    }
  }

  // MARK: Losses

  /// Counts the objects that a rule for duplicates removes. Their keys are in `temp.gone`.
  @_optimize(none)
  func countDuplicates(_ rule: DuplicateRule, _ session: MigrationSession) throws {
    try timed {
      let word = rule.survivor == .keepFirst ? "first" : "last"
      losses.append(
        MigrationReport.Loss(
          description: "of objects of '\(rule.entity)' with equal \(rule.properties.joined(separator: ", ")) "
            + "the \(word) one stays",
          count: Int(try session.number("SELECT count(*) FROM temp.gone")), unit: .objects, isConfirmed: true)
      )
    }
  }

  /// Records the tables of other programs, which a new file does not contain.
  ///
  /// - Parameter model: The old version.
  func noteForeignTables(_ model: ModelPlan, _ session: MigrationSession) throws {
    try timed {
      let stored: StoredSchema
      do { stored = try StoredSchema(session.connection) } catch { throw session.wrapped(error) }
      for name in stored.foreignTables(SQLSchema(model, store: 0)).ordered() {
        losses.append(
          MigrationReport.Loss(
            description: "the new file does not contain the table '\(name)' of another program",
            count: Int(try session.number("SELECT count(*) FROM main.\(SQLText.quoted(name))")),
            unit: .objects, isConfirmed: true))
      }
    }
  }
}

/// A list of problems that joins problems of the same entity, property and rule, and adds up their objects.
struct ProblemList {
  private struct Key: Hashable {
    let entity: String
    let property: String?
    let rule: String
  }

  private(set) var all: [MigrationReport.Problem] = []
  private var problemIndices: [Key: Int] = [:]

  @_optimize(none)
  mutating func add(_ entity: String, _ property: String?, _ rule: String, count: Int, objects: [URL]) {
    let key = Key(entity: entity, property: property, rule: rule)
    let limit = MigrationReport.Problem.namedObjects
    guard let index = problemIndices[key] else {
      problemIndices[key] = all.count
      all.append(
        MigrationReport.Problem(
          entity: entity, property: property, rule: rule, count: count, objects: Array(objects.prefix(limit)))
      )
      return
    }
    all[index].count += count
    all[index].objects += objects.prefix(limit - all[index].objects.count)
  }

  /// Adds a finding about one object. Ignores any other finding.
  @_optimize(none)
  mutating func add(_ finding: StoreFinding) {
    switch finding {
    case .invalid(let error):
      var rule = "\(error.reason)"
      // The counts differ, but the problem is the same.
      if case .wrongCount = error.reason { rule = "has fewer or more objects than allowed" }
      add(error.entity, error.property, rule, count: 1, objects: [error.objectID.uriRepresentation])
    case .unreadable(let error):
      add(
        error.entity, error.property, "cannot be read: \(error)", count: 1,
        objects: [error.objectID?.uriRepresentation].compactMap(\.self))
    default: break
    }
  }
}

extension StepPlan {
  /// The old value of an attribute that has no rule, to find the rows without a value although the step refuses all
  /// rows. Nil if the attribute has a rule, or if the source does not have it.
  @_optimize(none)
  fileprivate func sourceValue(_ column: ColumnPlan, for sourceMapping: SourceMapping) -> SQLText? {
    let path = path(of: column, in: sourceMapping.destination)
    guard !column.isReference, !sourceMapping.mapping.attributes.contains(where: { $0.name == path }) else {
      return nil
    }
    guard let origin = step.propertyOrigins[sourceMapping.mapping.name]?[path] else { return nil }
    let keys = origin.split(separator: ".").map(String.init)
    return sourceColumn(.keyPath(keys), of: sourceMapping.source).map {
      "t0.\(raw: SQLText.quoted($0.name))"
    }
  }
}
