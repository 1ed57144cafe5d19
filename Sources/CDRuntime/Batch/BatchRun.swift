import CSQLite

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// One batch's transaction, and what it changes.
final class BatchRun {
  let context: ManagedObjectContext
  let connection: SQLiteConnection
  /// What reads in the batch's transaction.
  let session: SQLiteSession
  let entity: EntityPlan
  /// The stores that the connection has open.
  let stores: SQLiteStoreSet
  private let database: SQLiteDatabase
  /// What was changed, by the place of the entity.
  private var inserted: [Int: KeyRanges] = [:]
  private var updated: [Int: KeyRanges] = [:]
  private var deleted: [Int: KeyRanges] = [:]
  /// One time for the whole batch.
  let now = Date()
  var model: ModelPlan { context.model }

  /// A context that reads what the transaction has written so far, for what SQL does not answer. Its unsaved changes
  /// are none.
  private(set) lazy var reading = ManagedObjectContext(
    context.persistentStoreCoordinator, readingBy: session)

  init(
    _ context: ManagedObjectContext, _ database: SQLiteDatabase, _ connection: SQLiteConnection,
    _ entity: EntityPlan
  ) {
    self.database = database
    self.context = context
    self.connection = connection
    self.entity = entity
    stores = database.attached
    session = SQLiteSession(connection, stores: stores, model: context.model, sql: database.sql)
  }

  /// Runs a batch: all of it or, where it throws, nothing.
  ///
  /// - Parameter body: Gives how many objects the request was for.
  func run(_ body: () throws -> Int) throws -> BatchResult {
    guard let home = stores.store(of: entity) else { throw StoreError.noStore(entity: entity.name) }
    try check(home)
    do {
      return try database.write(connection) {
        let count = try body()
        let changes = allChanges()
        return (BatchResult(count: count, changes: changes), try writeHistory(of: changes))
      }
    } catch let error as StoreError where error.isReferenceViolation {
      throw BatchError.danglingReferences(entity: entity.name)
    } catch EvaluationError.cancelled {
      throw CancellationError()
    } catch let error as EvaluationError {
      throw FetchError(error)
    }
  }

  private func check(_ store: SQLiteStore) throws {
    try store.checkIdentity()
    if store.isReadOnly { throw StoreError.readOnly(store.url) }
  }

  // MARK: What was changed

  func noteInserted(_ keys: ClosedRange<ObjectKey>, of entity: EntityPlan) {
    inserted[entity.index, default: KeyRanges()].append(keys)
  }

  func noteUpdated(_ keys: [FetchedKey]) { Self.note(keys, in: &updated) }

  func noteUpdated(_ keys: KeyRanges, of entity: EntityPlan) {
    for range in keys.ranges { updated[entity.index, default: KeyRanges()].append(range) }
  }

  func noteDeleted(_ keys: [FetchedKey]) { Self.note(keys, in: &deleted) }

  func noteDeleted(_ keys: KeyRanges, of entity: EntityPlan) {
    for range in keys.ranges { deleted[entity.index, default: KeyRanges()].append(range) }
  }

  private static func note(_ keys: [FetchedKey], in changes: inout [Int: KeyRanges]) {
    for (entity, keys) in byEntity(keys) {
      var ranges = changes.removeValue(forKey: entity) ?? KeyRanges()
      for key in keys { ranges.append(key) }
      changes[entity] = ranges
    }
  }

  static func byEntity(_ keys: [FetchedKey]) -> [(entity: Int, keys: [ObjectKey])] {
    guard let first = keys.first else { return [] }
    if keys.allSatisfy({ $0.entity == first.entity }) { return [(first.entity, keys.map(\.key))] }
    return Dictionary(grouping: keys, by: \.entity).sorted { $0.key < $1.key }
      .map { ($0.key, $0.value.map(\.key)) }
  }

  private func allChanges() -> ObjectChanges {
    func ids(_ keys: [Int: KeyRanges]) -> ManagedObjectIDs {
      ManagedObjectIDs(
        groups: keys.map { entity, keys in
          let scope = context.scopes[entity]
          return ManagedObjectIDs.Group(
            storeID: scope.storeID, entityName: scope.plan.name, keys: keys.ranges)
        })
    }
    let deleted = ids(self.deleted)
    let inserted = ids(self.inserted)
    return ObjectChanges(
      inserted: inserted, updated: ids(updated).subtracting(deleted).subtracting(inserted), deleted: deleted)
  }

  /// - Returns: The stores that have changed.
  private func writeHistory(of changes: ObjectChanges) throws -> [SQLiteStore] {
    let groups = changes.inserted.groups + changes.updated.groups + changes.deleted.groups
    let changed = Set(groups.map(\.storeID))
    let touched = stores.all.filter { changed.contains($0.storeID) }
    let mark = touched.count > 1 ? HistoryText.Mark(save: UUID.random(), stores: touched.map(\.storeID)) : nil
    for store in touched {
      guard let text = HistoryText.text(changes, of: store.storeID, mark) else { continue }
      // A delete rule may have led to another store.
      try check(store)
      let statement = try connection.statement(
        "INSERT INTO \(stores.schema(of: store)).\"_cdgen_history\" (\"time\", \"origin\", \"author\", \"changes\") "
          + "VALUES (?, ?, ?, ?)")
      let writer = RowWriter()
      writer.start(statement.handle)
      writer.date(now)
      writer.string(database.origin)
      writer.optionalString(context.transactionAuthor)
      writer.string(text)
      try statement.run()
    }
    return touched
  }

  // MARK: Statements

  /// The first columns of a statement's rows as keys, with the entity of each.
  ///
  /// - Parameter entity: The entity of the rows, where the statement's second column does not name it.
  func keys(
    _ sql: String, _ bindings: [AttributeValue] = [], of entity: EntityPlan
  ) throws -> [FetchedKey] {
    let statement = try connection.statement(sql)
    defer { statement.reset() }
    statement.bind(bindings)
    var result: [FetchedKey] = []
    let isNamed = statement.columnCount > 1
    var last: (name: String, place: Int)?
    while try statement.step() {
      let key = statement.int64(0)
      guard key > 0 else { continue }
      guard isNamed else {
        result.append(FetchedKey(key: key, entity: entity.index))
        continue
      }
      let name = statement.string(1) ?? ""
      if last?.name != name {
        guard let place = model.places[name] else { continue }
        last = (name, place)
      }
      if let last { result.append(FetchedKey(key: key, entity: last.place)) }
    }
    return result
  }

  /// Runs a statement that changes rows of the batch's entity in its table, by an alias `t0`, notes them, and says how
  /// many they are.
  func change(
    _ change: SQLiteConnection.RowChange, _ sql: String, _ bindings: [AttributeValue]
  ) throws -> Int {
    if entity.hasEntityColumn {
      // A key alone does not say which entity a row is of.
      let keys = try keys(sql + " RETURNING \(Self.keyColumns(of: entity))", bindings, of: entity)
      switch change {
      case .update: noteUpdated(keys)
      case .delete: noteDeleted(keys)
      }
      return keys.count
    }
    let statement = try connection.statement(sql)
    statement.bind(bindings)
    let keys = try connection.keysChanged(by: statement, change, inTable: entity.table)
    switch change {
    case .update: noteUpdated(keys, of: entity)
    case .delete: noteDeleted(keys, of: entity)
    }
    return keys.count
  }

  /// `_pk`, and `_entity` where the table has several.
  static func keyColumns(of entity: EntityPlan, alias: String = "") -> String {
    alias + "_pk" + (entity.hasEntityColumn ? ", \(alias)_entity" : "")
  }

  func execute(_ sql: String, _ bindings: [AttributeValue] = []) throws {
    let statement = try connection.statement(sql)
    statement.bind(bindings)
    try statement.run()
  }
}
