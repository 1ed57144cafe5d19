import CDModel
import CSQLite

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A connection that runs a part of a migration. It can be cancelled, reports progress, and its errors name the step
/// and the entity.
///
/// It is a class because SQLite's callback receives its address. It never leaves the call that migrates.
final class MigrationSession {
  let connection: SQLiteConnection
  let url: URL
  private let observer: MigrationObserver?
  /// The step that errors name.
  var routeStep: MigrationRoute.RouteStep?
  var entity: String?
  /// The index of the step, and the number of all steps.
  var stepPosition = (step: 0, of: 1)
  /// The log of a rehearsal; nil for a real migration.
  var log: RehearsalLog?
  private var last: Double = 0
  private let writer = RowWriter()
  private let scanGuard: ScanGuard

  /// The number of SQLite's instructions between two checks for cancellation. They take a millisecond or less.
  private static let instructions: Int32 = 20_000

  init(path: String, url: URL, observer: MigrationObserver?, busyTimeout: Double) throws {
    connection = try SQLiteConnection(path: path, of: [url], busyTimeout: busyTimeout, isDefensive: false)
    self.url = url
    self.observer = observer
    let file = path.hasPrefix("file:") ? URL(string: path)?.path(percentEncoded: false) : path
    scanGuard = ScanGuard(connection.handle, paths: [file ?? path])
    sqlite3_progress_handler(
      connection.handle, Self.instructions,
      { pointer in
        guard let pointer else { return 0 }
        return Unmanaged<MigrationSession>.fromOpaque(pointer).takeUnretainedValue().mayGoOn ? 0 : 1
      }, Unmanaged.passUnretained(self).toOpaque())
  }

  deinit { sqlite3_progress_handler(connection.handle, 0, nil, nil) }

  private var mayGoOn: Bool { !isCancelled && scanGuard.allows(Int(Self.instructions)) }

  private var isCancelled: Bool { Task.isCancelled || observer?.isCancelled == true }

  func error(_ reason: MigrationError.Reason, key: Int64? = nil) -> MigrationError {
    MigrationError(url, reason, step: routeStep?.name, entity: entity, objectKey: key)
  }

  /// The error as a migration's error, with the step and the entity.
  func wrapped(_ error: any Error) -> any Error {
    switch error {
    case is MigrationError: error
    case StoreError.busy: self.error(.inUse)
    case StoreError.diskFull: self.error(.diskFull(needed: nil))
    case let error as StoreError where error.isInterruption: self.error(.cancelled)
    case is CancellationError: self.error(.cancelled)
    case let error as StoreError: self.error(.store(error))
    default: error
    }
  }

  func checkCancelled() throws {
    if isCancelled { throw error(.cancelled) }
  }

  /// Reports how much of the step is done, from 0 to 1.
  func report(_ part: Double) {
    guard let observer, let routeStep else { return }
    let fraction = (Double(stepPosition.step) + min(max(part, 0), 1)) / Double(max(stepPosition.of, 1))
    last = max(last, fraction)
    observer.report(
      MigrationProgress(
        fraction: last, source: routeStep.step.source, destination: routeStep.step.destination, entity: entity
      ))
  }

  // MARK: Statements

  /// Runs statements that return no rows.
  @inline(never)
  func execute(_ sql: String) throws {
    try checkCancelled()
    try MigrationFaults.reach(sql)
    log?.note(sql)
    do { try connection.execute(sql) } catch { throw wrapped(error) }
  }

  /// Runs one statement.
  ///
  /// - Returns: The number of rows that it wrote.
  @discardableResult func run(_ sql: SQLText) throws -> Int64 {
    try checkCancelled()
    try MigrationFaults.reach(sql.text)
    log?.note(sql.text)
    do {
      let statement = try connection.makeStatement(sql.text)
      bind(sql.bindings, to: statement)
      try statement.run()
      return Int64(sqlite3_changes(connection.handle))
    } catch { throw wrapped(error) }
  }

  @_optimize(none)
  func bind(_ values: [AttributeValue], to statement: SQLiteStatement) {
    writer.start(statement.handle)
    for value in values { writer.value(value) }
  }

  /// Runs a statement that the connection keeps, because the next rows need it too.
  func runKept(_ sql: String, _ values: [AttributeValue]) throws {
    do {
      let statement = try connection.statement(sql)
      bind(values, to: statement)
      try statement.run()
    } catch { throw wrapped(error) }
  }

  func number(_ sql: String) throws -> Int64 {
    do {
      return try scanGuard.watchingCount { try connection.scalar(sql).flatMap { Int64($0) } ?? 0 }
    } catch { throw wrapped(error) }
  }

  /// The first column of the only row; nil if there is none.
  func key(_ sql: SQLText) throws -> Int64? { try keys(sql).first }

  /// The first column of all rows.
  func keys(_ sql: SQLText) throws -> [Int64] {
    do {
      let statement = try connection.makeStatement(sql.text)
      bind(sql.bindings, to: statement)
      var result: [Int64] = []
      while try statement.step() { result.append(statement.int64(0)) }
      return result
    } catch { throw wrapped(error) }
  }

  func rows(_ sql: String) throws -> [[String?]] {
    do { return try connection.rows(sql) } catch { throw wrapped(error) }
  }

  /// Returns the value of an entry of the old store's metadata; nil if there is no such entry.
  func metadata(_ key: String) throws -> String? {
    do { return try connection.metadata(key) } catch { throw wrapped(error) }
  }
}

// The files of large values that no row refers to after a step.
extension MigrationSession {
  /// Lists the files that columns of the step's source refer to. They are removed later, like the files of deleted
  /// objects.
  ///
  /// - Parameter schema: The database that becomes the store.
  func listFiles(of columns: [FileColumn], in schema: String, at time: Date) throws {
    let time = AttributeValue.double(time.timeIntervalSinceReferenceDate)
    for column in columns {
      try run(
        "INSERT OR IGNORE INTO \(raw: schema)._cdgen_files (name, time) SELECT name, \(bind: time) FROM (\(raw: column.fileNames()))"
      )
    }
  }

  /// Removes from the list the files that columns of the new version refer to, because a step may have copied a file
  /// name.
  func keepFiles(of columns: [FileColumn], in schema: String) throws {
    for column in columns {
      try execute("DELETE FROM \(schema)._cdgen_files WHERE name IN (\(column.fileNames(in: schema)))")
    }
  }
}

// The source rows of custom mappings.
extension MigrationSession {
  /// Counts the rows of a source.
  func count(of sourceMapping: StepPlan.SourceMapping) throws -> Int64 {
    try number(
      "SELECT count(*) FROM main.\(SQLText.quoted(sourceMapping.source.table)) AS t0"
        + sourceMapping.ownCondition)
  }
}

extension StoreSession {
  /// Returns the rows of a source, in the order of their keys; nil for an engine that no migration uses.
  ///
  /// The statement reads the columns of this entity only, because the condition excludes subentities.
  @_optimize(none)
  func rows(of sourceMapping: StepPlan.SourceMapping) throws -> RowCursor? {
    guard let session = self as? SQLiteSession else { return nil }
    let entity = sourceMapping.source
    let columns = ["t0._pk", "t0._version"] + entity.columns.map { "t0." + SQLText.quoted($0.name) }
    return RowCursor(
      try session.connection.makeStatement(
        "SELECT \(columns.joined(separator: ", ")) FROM \(SQLText.quoted(entity.table)) AS t0"
          + "\(sourceMapping.ownCondition) ORDER BY t0._pk"))
  }
}

extension StepPlan.SourceMapping {
  fileprivate var ownCondition: String {
    source.hasEntityColumn ? " WHERE t0._entity = \(SQLText.literal(source.name))" : ""
  }
}

// The record of the global identifiers.
extension MigrationSession {
  /// Returns the next free keys of the source roots, by their indexes.
  func nextKeys(of plan: StepPlan) throws -> [Int: ObjectKey] {
    var result: [Int: ObjectKey] = [:]
    for root in plan.source.entities where root.root == root.index && root.storeIndex == 0 {
      result[root.index] = try number(SQLiteConnection.nextKeySQL(of: root.name, table: root.table))
    }
    return result
  }

  /// Returns the old store's record.
  func insertionOrigins() throws -> InsertionOrigins {
    let id = try metadata("storeUUID").flatMap { UUID(uuidString: $0) }
    do {
      guard let id else { throw StoreError.damagedMetadata(url, key: "storeUUID") }
      return try InsertionOrigins(text: metadata(InsertionOrigins.metadataKey), storeID: id, url: url)
    } catch { throw wrapped(error) }
  }

  /// Writes the record of the new store to a schema: `main` for a step in place, or the schema of the new file.
  func write(
    _ origins: InsertionOrigins, nextKeys: [Int: ObjectKey], after plan: StepPlan, to schema: String
  ) throws {
    let newest = try number("SELECT max(id) FROM main._cdgen_history")
    let oldest = try number("SELECT min(id) FROM main._cdgen_history")
    let migrated = plan.migratedOrigins(
      origins, nextKeys: nextKeys, saves: newest > 0 && oldest <= newest ? oldest...newest : nil)
    if migrated == origins, schema == "main" { return }
    let key = InsertionOrigins.metadataKey
    if schema == "main" { try run("DELETE FROM main._cdgen_metadata WHERE key = \(bind: .string(key))") }
    if migrated.isEmpty { return }
    try run(
      "INSERT INTO \(raw: schema)._cdgen_metadata (key, value) VALUES (\(bind: .string(key)), \(bind: .string(migrated.text)))"
    )
  }
}
