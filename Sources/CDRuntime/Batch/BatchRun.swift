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
  let entity: EntityPlan
  /// The stores that the connection has open.
  let stores: StoreSet
  /// What was changed, by the place of the entity.
  private(set) var inserted: [Int: [ClosedRange<ObjectKey>]] = [:]
  private(set) var updated: [Int: [ObjectKey]] = [:]
  private(set) var deleted: [Int: [ObjectKey]] = [:]
  /// One time for the whole batch.
  let now = Date()
  var model: ModelPlan { context.model }

  /// A context that reads what the transaction has written so far, for what SQL does not answer. Its unsaved changes
  /// are none.
  private(set) lazy var reading = ManagedObjectContext(
    context.persistentStoreCoordinator, readingBy: connection)

  init(_ context: ManagedObjectContext, _ connection: SQLiteConnection, _ entity: EntityPlan) {
    self.context = context
    self.connection = connection
    self.entity = entity
    stores = context.database.stores
  }

  /// Runs a batch: all of it or, where it throws, nothing.
  ///
  /// - Parameter body: Gives how many objects the request was for.
  func run(_ body: () throws -> Int) throws -> BatchResult {
    guard let home = stores.home(of: entity) else { throw StoreError.noStore(entity: entity.name) }
    try check(home)
    var count = 0
    do {
      try connection.write {
        count = try body()
        try writeHistory()
      }
    } catch let error as StoreError where error.isReferenceViolation {
      throw BatchError.danglingReferences(entity: entity.name)
    } catch let error as EvaluationError {
      throw FetchError(error)
    }
    return BatchResult(count: count, changes: changes)
  }

  private func check(_ store: SQLiteStore) throws {
    try store.checkIdentity()
    if store.isReadOnly { throw StoreError.readOnly(store.url) }
  }

  // MARK: What was changed

  func noteInserted(_ keys: ClosedRange<ObjectKey>, of entity: EntityPlan) {
    inserted[entity.index, default: []].append(keys)
  }

  func noteUpdated(_ keys: [FetchedKey]) {
    for (entity, keys) in Self.byEntity(keys) { updated[entity, default: []] += keys }
  }

  func noteDeleted(_ keys: [FetchedKey]) {
    for (entity, keys) in Self.byEntity(keys) { deleted[entity, default: []] += keys }
  }

  static func byEntity(_ keys: [FetchedKey]) -> [(entity: Int, keys: [ObjectKey])] {
    guard let first = keys.first else { return [] }
    if keys.allSatisfy({ $0.entity == first.entity }) { return [(first.entity, keys.map(\.key))] }
    return Dictionary(grouping: keys, by: \.entity).sorted { $0.key < $1.key }
      .map { ($0.key, $0.value.map(\.key)) }
  }

  private var changes: ObjectChanges {
    func ids(_ keys: [Int: [ClosedRange<ObjectKey>]]) -> ManagedObjectIDs {
      ManagedObjectIDs(
        ranges: keys.flatMap { entity, ranges in
          let scope = context.scopes[entity]
          return ranges.map {
            ManagedObjectIDs.Group(storeID: scope.storeID, entityName: scope.plan.name, keys: $0)
          }
        })
    }
    let deleted = ids(self.deleted.mapValues(HistoryText.ranges(of:)))
    let inserted = ids(self.inserted)
    return ObjectChanges(
      inserted: inserted,
      updated: ids(updated.mapValues(HistoryText.ranges(of:))).subtracting(deleted).subtracting(inserted),
      deleted: deleted)
  }

  private func writeHistory() throws {
    let changes = changes
    let touched = stores.all.filter { HistoryText.text(changes, of: $0.storeID) != nil }
    let mark = touched.count > 1 ? HistoryText.Mark(save: UUID(), stores: touched.map(\.storeID)) : nil
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
      writer.string(context.database.origin)
      writer.optionalString(context.transactionAuthor)
      writer.string(text)
      try statement.run()
    }
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

  /// `_pk`, and `_entity` where the table has several.
  static func keyColumns(of entity: EntityPlan, alias: String = "") -> String {
    alias + "_pk" + (entity.hasEntityColumn ? ", \(alias)_entity" : "")
  }

  func execute(_ sql: String, _ bindings: [AttributeValue] = []) throws {
    let statement = try connection.statement(sql)
    statement.bind(bindings)
    try statement.run()
  }

  /// Keys as the parameter of `IN (SELECT value FROM json_each(?))`.
  static func list(_ keys: some Sequence<ObjectKey>) -> AttributeValue {
    .string("[" + keys.map(String.init).joined(separator: ",") + "]")
  }
}

extension SQLite {
  /// What stands behind IN for keys that are bound as one list.
  static let boundKeys = "(SELECT value FROM json_each(?))"
}
