import CDModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// What a step tells while it is rehearsed: its statements, and all objects that it cannot make.
///
/// A class, since the sessions of one step share it; it never leaves the call that rehearses.
final class RehearsalLog {
  private(set) var statements: [MigrationReport.Statement] = []
  private var places: [String: Int] = [:]
  private(set) var problems = ProblemList()
  private(set) var losses: [MigrationReport.Loss] = []
  /// The first of the errors, which is what the migration would throw.
  private(set) var firstError: MigrationError?
  /// The time that went into what only a rehearsal asks.
  private(set) var ownTime = Duration.zero
  private let storeID: UUID

  init(storeID: UUID) { self.storeID = storeID }

  var hasProblems: Bool { firstError != nil }

  // MARK: Statements

  /// What says nothing of the step.
  private static let unimportant = ["BEGIN", "COMMIT", "ROLLBACK", "PRAGMA", "ATTACH"]

  func note(_ sql: String) {
    if Self.unimportant.contains(where: sql.hasPrefix) { return }
    if let place = places[sql] {
      statements[place].count += 1
    } else {
      places[sql] = statements.count
      statements.append(MigrationReport.Statement(sql: sql, count: 1))
    }
  }

  /// Forgets what was told of a step that is made once more.
  func startAgain() {
    statements.removeAll()
    places.removeAll()
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

  /// Takes note of an error about one object.
  ///
  /// - Returns: False for any other error, which ends a rehearsal too.
  func take(_ error: MigrationError, of source: String) -> Bool {
    guard let key = error.objectKey else { return false }
    switch error.reason {
    case .invalidValue(let property, let reason):
      add(error, source, property, "gets no fitting value: \(reason)", count: 1, keys: [key])
    case .missingValue(let property):
      add(error, source, property, Self.missing, count: 1, keys: [key])
    case .policyFailed(let reason):
      add(error, source, nil, "cannot be made by the app's own code: \(reason)", count: 1, keys: [key])
    default: return false
    }
    return true
  }

  /// Takes note of a rule that an object breaks which the app's own code has made, of a row or of none.
  func take(_ error: MigrationError, of entity: String, _ cause: ValidationError) {
    let rule = cause.reason == .missingValue ? Self.missing : "\(cause.reason)"
    add(error, entity, cause.property, rule, count: 1, keys: [error.objectKey].compactMap(\.self))
  }

  /// Takes note of mandatory references that nothing has set.
  func takeMissing(_ error: MigrationError, of entity: String, _ property: String, count: Int, keys: [Int64])
  {
    add(error, entity, property, Self.missing, count: count, keys: keys)
  }

  private static let missing = "is mandatory and has no value"

  /// Finds the mandatory values that a step's rows would lack.
  ///
  /// - Parameters:
  ///   - rows: `FROM …`, for rows `t0`.
  ///   - isLater: Whether a column gets its values from objects that are still to be made.
  /// - Returns: Whether there are such rows.
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
          plan.valueOfBefore(column, for: sourceMapping) ?? plan.value(of: column, for: sourceMapping)
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

  /// Finds all rows that a unique index does not allow beside each other.
  func findDuplicates(
    _ index: String, of plan: StepPlan, _ session: MigrationSession, schema: String
  ) throws {
    try timed {
      let error = try plan.duplicate(index, session, schema: schema)
      guard let name = error.entity, let entity = plan.destination.entity(name),
        case .duplicate(let properties) = error.reason
      else { throw error }
      let columns = entity.columnNames(of: properties).map(SQLite.quoted)
      let conditions = plan.destination.isPart(entity) + columns.map { "\($0) IS NOT NULL" }
      let list = columns.joined(separator: ", ")
      let table =
        "FROM (SELECT _pk, count(*) OVER (PARTITION BY \(list)) AS n FROM \(schema).\(SQLite.quoted(entity.table)) "
        + "WHERE \(conditions.joined(separator: " AND "))) WHERE n > 1"
      let count = try session.number("SELECT count(*) \(table)")
      let keys = try session.keys(
        SQLText(text: "SELECT _pk \(table) ORDER BY _pk LIMIT \(MigrationReport.Problem.namedObjects)"))
      add(
        error, name, properties.joined(separator: ", "), "is to be unique and is not", count: Int(count),
        keys: keys)
    }
  }

  // MARK: Losses

  /// Counts the objects that a rule for duplicates removes, which stand in `temp.gone`.
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
}

/// Problems of one kind as one, with how many objects they concern.
struct ProblemList {
  private struct Key: Hashable {
    let entity: String
    let property: String?
    let rule: String
  }

  private(set) var all: [MigrationReport.Problem] = []
  private var places: [Key: Int] = [:]

  mutating func add(_ entity: String, _ property: String?, _ rule: String, count: Int, objects: [URL]) {
    let key = Key(entity: entity, property: property, rule: rule)
    let limit = MigrationReport.Problem.namedObjects
    guard let place = places[key] else {
      places[key] = all.count
      all.append(
        MigrationReport.Problem(
          entity: entity, property: property, rule: rule, count: count, objects: Array(objects.prefix(limit)))
      )
      return
    }
    all[place].count += count
    all[place].objects += objects.prefix(limit - all[place].objects.count)
  }

  /// Adds a finding about one object; any other is left out.
  mutating func add(_ finding: StoreFinding) {
    switch finding {
    case .invalid(let error):
      var rule = "\(error.reason)"
      // One kind, whatever the count.
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
  /// The value that an attribute without a rule had, so that what lacks one is found where the step refuses all; nil
  /// for an attribute that has a rule, or was not there.
  fileprivate func valueOfBefore(_ column: ColumnPlan, for sourceMapping: SourceMapping) -> SQLText? {
    let path = path(of: column, in: sourceMapping.destination)
    guard !column.isReference, !sourceMapping.mapping.attributes.contains(where: { $0.name == path }) else {
      return nil
    }
    let parts = path.split(separator: ".").map(String.init)
    let renamed = sourceMapping.destination.slots[column.slot].attribute?.renamedFrom
    let name = renamed?.split(separator: ".").last.map(String.init) ?? parts[0]
    return sourceColumn(.keyPath([name] + parts.dropFirst()), of: sourceMapping.source).map {
      "t0.\(raw: SQLite.quoted($0.name))"
    }
  }
}
