import CDModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The store that a step creates, for the destination context. It reads and writes through one connection, and it alone
/// gives keys.
///
/// The file has no journal, so it is unusable after a failed save. The step then fails, whatever a policy does about
/// the error.
final class DestinationStore: ImportTarget {
  /// The value of a reference that a rule has yet to set, or that is mandatory and has not been set. No row has this
  /// key.
  static let placeholder: ObjectKey = -1

  private let sqlite: SQLiteSession
  private let database: SQLiteDatabase
  var session: any StoreSession { sqlite }
  private var connection: SQLiteConnection { sqlite.connection }
  let files: NewExternalFiles
  private let model: ModelPlan
  private let url: URL
  /// The next free key, by the index of the root entity.
  private(set) var nextKeys: [Int: ObjectKey]
  /// The slots of mandatory references in the entity's own table, by the index of the entity.
  private let mandatorySlots: [[Int]]
  private let hasMandatorySlots: Bool
  private(set) var failure: (any Error)?
  /// The number of objects that the app's own code has created, minus the number that it has deleted.
  private(set) var createdCount: Int64 = 0
  private var indexed: Set<String> = []
  private(set) var temporaryIndexes: [String] = []
  /// The roots of the tables into which rows were inserted.
  private(set) var filledRoots: Set<Int> = []
  /// The roots of the tables from which rows were deleted.
  private(set) var deletedRoots: Set<Int> = []

  /// Opens the file of the new store.
  ///
  /// - Parameters:
  ///   - database: The stores of the destination, with the model. The new store is one of them.
  ///   - nextKeys: The next free key, by the index of the root entity.
  ///   - url: The location of the store that is being migrated, for errors.
  @_optimize(none)
  init(
    path: String, of database: SQLiteDatabase, nextKeys: [Int: ObjectKey], files: NewExternalFiles, url: URL
  ) throws {
    self.database = database
    model = database.model
    self.nextKeys = nextKeys
    self.files = files
    self.url = url
    mandatorySlots = model.entities.map { entity in
      entity.slots.filter { slot in
        slot.isStored && slot.relationship?.description.isOptional == false
      }.map(\.number)
    }
    hasMandatorySlots = !mandatorySlots.allSatisfy(\.isEmpty)
    let connection = try SQLiteConnection(path: path, of: [url], busyTimeout: 0)
    sqlite = SQLiteSession(connection, stores: database.attached, model: database.model, sql: database.sql)
    try connection.execute("PRAGMA foreign_keys = OFF")
    _ = try connection.scalar("PRAGMA journal_mode = OFF")
    try connection.execute("PRAGMA synchronous = OFF")
  }

  // MARK: Objects

  var listedFiles: ListedFiles? { nil }
  func willWriteFiles(_ names: [String]) throws { try files.willWrite(names) }

  /// The key for an object without a source object; 0 if another store holds its entity.
  func nextKey(for plan: EntityPlan) -> ObjectKey {
    guard plan.storeIndex == 0 else { return 0 }
    let key = nextKeys[plan.root] ?? 1
    nextKeys[plan.root] = key + 1
    return key
  }

  /// Sets the mandatory references of a new object to the placeholder.
  @inline(__always) func prepare(_ object: ManagedObject) {
    let slots = mandatorySlots[object.scope.plan.index]
    if slots.isEmpty { return }
    for slot in slots { object.extras?.values[slot] = .int(Self.placeholder) }
  }

  /// Returns an entity's rows, without those of subentities, whose keys are between two keys.
  func rows(
    of plan: EntityPlan, after key: ObjectKey, before end: ObjectKey, count: Int
  ) throws -> RowCursor {
    let select = sqlite.sql.selects[plan.index]
    let own = plan.hasEntityColumn ? "t0._entity = \(SQLText.literal(plan.name)) AND " : ""
    let statement = try connection.statement(
      select.sql + " WHERE \(own)t0._pk > ?1 AND t0._pk < ?2 ORDER BY t0._pk LIMIT \(count)")
    statement.bind(key, at: 1)
    statement.bind(end, at: 2)
    return RowCursor(statement, select)
  }

  func write(_ plan: SavePlan, of context: ManagedObjectContext) throws {
    if let failure { throw failure }
    // This is checked before anything is written, so that an invalid object does not damage the file.
    let unset = unset(plan).map { object, slot in
      ValidationError(.missingValue, of: object, object.scope.plan.slots[slot].name)
    }
    if !unset.isEmpty { throw SaveError.validation(unset) }
    do {
      try MigrationFaults.reach("save of new objects")
      let run = try SaveRun(
        context: context, session: SQLiteWriteSession(sqlite, of: database), plan: plan,
        changeCount: context.pendingChanges.changeCount)
      // With a single file, there is no second store that could be left in an earlier state.
      _ = try run.write()
    } catch {
      failure = error
      throw error
    }
    createdCount += Int64(plan.inserted.count - plan.deleted.count)
    var last = -1
    for object in plan.inserted where object.scope.plan.root != last {
      last = object.scope.plan.root
      filledRoots.insert(last)
    }
    last = -1
    for object in plan.deleted where object.scope.plan.root != last {
      last = object.scope.plan.root
      deletedRoots.insert(last)
    }
  }

  /// The mandatory references that were set to nil.
  private func unset(_ plan: SavePlan) -> [(ManagedObject, Int)] {
    guard hasMandatorySlots else { return [] }
    var result: [(ManagedObject, Int)] = []
    for objects in [plan.inserted, plan.updated] {
      for object in objects {
        for slot in mandatorySlots[object.scope.plan.index] where object.referenceKey(slot) == 0 {
          result.append((object, slot))
        }
      }
    }
    return result
  }

  // MARK: Indexes

  /// Creates an index on a column before the first statement that searches by it. Most steps need no index until all
  /// rows are written.
  @_optimize(none)
  private func index(_ table: String, _ column: String) throws {
    guard indexed.insert("\(table)\u{0}\(column)").inserted else { return }
    let start = "ON \(SQLText.quoted(table)) (\(SQLText.quoted(column))"
    let final = SQLSchema(model, store: 0).indexes.first {
      $0.sql.contains(start) && !$0.sql.hasPrefix("CREATE UNIQUE ") && !$0.sql.contains(" WHERE ")
    }
    if let final { return try connection.execute(final.sql) }
    // The final unique index would refuse equal placeholders, so a temporary index is created instead.
    let name = "_cdgen_passing_\(temporaryIndexes.count)"
    temporaryIndexes.append(name)
    try connection.execute(
      "CREATE INDEX \(SQLText.quoted(name)) ON \(SQLText.quoted(table)) (\(SQLText.quoted(column)))")
  }

  /// Creates the index that is needed to find a relationship's objects quickly.
  func index(_ relationship: RelationshipPlan) throws {
    switch relationship.storage {
    case .reference: break
    case .join(let join, let isSource):
      if !isSource { try index(model.joins[join].table, "_target") }
    case .inverseReference, .referencesOfOthers:
      guard let column = model.inverseReferenceColumn(of: relationship) else { return }
      try index(model.entities[relationship.destination].table, column.name)
    }
  }
}
