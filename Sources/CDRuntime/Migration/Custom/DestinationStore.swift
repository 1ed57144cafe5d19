import CDModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The store that a step is making, as its destination context works on it: one connection that reads and writes, and
/// keys that nobody else gives.
///
/// It has no journal. Where a save fails, the file is no good any more, and the step fails whatever a policy does about
/// the error.
final class DestinationStore: ImportTarget {
  /// What stands in a reference that is to be given by a rule, or is mandatory and has not been set yet. No row has it
  /// for its key.
  static let placeholder: ObjectKey = -1

  let sqlite: SQLiteSession
  private let database: SQLiteDatabase
  var session: any StoreSession { sqlite }
  private var connection: SQLiteConnection { sqlite.connection }
  let files: NewExternalFiles
  private let model: ModelPlan
  private let url: URL
  /// The key after the last that was given, by the place of the root entity.
  private(set) var nextKeys: [Int: ObjectKey]
  /// Mandatory references of the object's own table, by the place of the entity.
  private let mandatorySlots: [[Int]]
  private let hasMandatorySlots: Bool
  private(set) var failure: (any Error)?
  /// How many objects the app's own code has made, less those that it has deleted.
  private(set) var madeCount: Int64 = 0
  private var indexed: Set<String> = []
  private(set) var passingIndexes: [String] = []
  /// The tables into which rows were inserted.
  private(set) var touchedRoots: Set<Int> = []

  /// - Parameters:
  ///   - database: The stores of which it is one, with the model.
  ///   - nextKeys: The key after the last that is taken, by the place of the root entity.
  ///   - url: The store that is being migrated, for errors to name.
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

  func willWriteFiles(_ names: [String]) throws { try files.willWrite(names) }

  /// A key for an object that is made of none; 0 where another store holds its entity.
  func nextKey(for plan: EntityPlan) -> ObjectKey {
    guard plan.storeIndex == 0 else { return 0 }
    let key = nextKeys[plan.root] ?? 1
    nextKeys[plan.root] = key + 1
    return key
  }

  /// Marks what a new object has to be given.
  @inline(__always) func prepare(_ object: ManagedObject) {
    let slots = mandatorySlots[object.scope.plan.index]
    if slots.isEmpty { return }
    for slot in slots { object.extras?.values[slot] = .int(Self.placeholder) }
  }

  func write(_ plan: SavePlan, of context: ManagedObjectContext) throws {
    if let failure { throw failure }
    // Before anything is written: nothing is lost by what is not to be saved.
    let unset = unset(plan).map { object, slot in
      ValidationError(
        reason: .missingValue, entity: object.scope.plan.name,
        property: object.scope.plan.slots[slot].name, objectID: object.objectID)
    }
    if !unset.isEmpty { throw SaveError.validation(unset) }
    do {
      try MigrationFaults.reach("save of new objects")
      var run = try SaveRun(
        context: context, session: SQLiteWriteSession(sqlite, of: database), plan: plan,
        changeCount: context.changeCount)
      // Nothing is left half done where there is one file.
      _ = try run.write()
    } catch {
      failure = error
      throw error
    }
    madeCount += Int64(plan.inserted.count - plan.deleted.count)
    var last = -1
    for object in plan.inserted where object.scope.plan.root != last {
      last = object.scope.plan.root
      touchedRoots.insert(last)
    }
  }

  /// Mandatory references that were set to nil.
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

  /// Makes sure that rows are found by a column quickly, before the first statement that looks for them. Most steps
  /// need none until all rows are there.
  private func index(_ table: String, _ column: String) throws {
    guard indexed.insert("\(table)\u{0}\(column)").inserted else { return }
    let start = "ON \(SQLite.quoted(table)) (\(SQLite.quoted(column))"
    let final = SQLiteSchema(model, store: 0).indexes.first {
      $0.sql.contains(start) && !$0.sql.hasPrefix("CREATE UNIQUE ") && !$0.sql.contains(" WHERE ")
    }
    if let final { return try connection.execute(final.sql) }
    // A unique one would not bear what stands in references for the time being.
    let name = "_cdgen_passing_\(passingIndexes.count)"
    passingIndexes.append(name)
    try connection.execute(
      "CREATE INDEX \(SQLite.quoted(name)) ON \(SQLite.quoted(table)) (\(SQLite.quoted(column)))")
  }

  /// Makes sure that a relationship's objects are found quickly.
  func index(_ relationship: RelationshipPlan) throws {
    switch relationship.storage {
    case .reference: break
    case .join(let place, let isSource):
      if !isSource { try index(model.joins[place].table, "_target") }
    case .inverseReference, .referencesOfOthers:
      guard let column = model.referenceColumn(behind: relationship) else { return }
      try index(model.entities[relationship.destination].table, column.name)
    }
  }
}
