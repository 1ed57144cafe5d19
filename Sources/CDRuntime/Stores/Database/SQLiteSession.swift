#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The session in which a context reads SQLite: a connection and all its queries.
final class SQLiteSession: StoreSession {
  let connection: SQLiteConnection
  let model: ModelPlan
  let sql: ModelSQL
  /// The stores that the connection has open.
  let attached: SQLiteStoreSet
  var stores: StoreSet { attached.stores }

  init(_ connection: SQLiteConnection, stores: SQLiteStoreSet, model: ModelPlan, sql: ModelSQL) {
    self.connection = connection
    attached = stores
    self.model = model
    self.sql = sql
  }

  // MARK: Snapshots

  func beginSnapshot() throws { try connection.execute("BEGIN DEFERRED") }

  func endSnapshot() {
    // The transaction has written nothing, so a failure loses nothing.
    try? connection.execute("COMMIT")
  }

  @inline(__always) func checkVersions() throws { try attached.checkVersions(connection) }

  // MARK: Rows by their keys

  func row(_ key: ObjectKey, of entity: EntityPlan) throws -> RowCursor {
    connection.countLookup()
    let statement = try connection.faultStatement(entity.index) { sql.rows[entity.index].selectByKey }
    statement.bind(key, at: 1)
    return RowCursor(statement)
  }

  func row(_ key: ObjectKey, inSubtreeOf entity: EntityPlan) throws -> RowCursor {
    let select = sql.selects[entity.index]
    connection.countLookup()
    let statement = try connection.rowStatement(entity.index) {
      select.sql + " WHERE t0._pk = ?1" + (select.condition.map { " AND " + $0 } ?? "")
    }
    statement.bind(key, at: 1)
    return RowCursor(statement, select)
  }

  func rows(_ keys: [ObjectKey], inSubtreeOf entity: EntityPlan) throws -> RowCursor {
    try rows(of: entity, where: "t0._pk IN \(SQLite.boundKeys)", SQLite.list(keys))
  }

  func rows(
    ofSubtree entity: EntityPlan, isOwn: Bool, after key: ObjectKey, count: Int
  ) throws -> (rows: RowCursor, last: ObjectKey)? {
    let select = sql.selects[entity.index]
    let table = SQLText.quoted(entity.table)
    let own = isOwn && entity.hasEntityColumn ? "t0._entity = \(SQLText.literal(entity.name)) AND " : ""
    let end = try connection.scalar(
      "SELECT max(_pk) FROM (SELECT _pk FROM \(table) AS t0 WHERE \(own)_pk > \(key) ORDER BY _pk LIMIT \(count))"
    )
    guard let last = end.flatMap({ ObjectKey($0) }) else { return nil }
    let statement = try connection.statement(
      select.sql + " WHERE \(own)t0._pk > ?1 AND t0._pk <= ?2 ORDER BY t0._pk")
    statement.bind(key, at: 1)
    statement.bind(last, at: 2)
    return (RowCursor(statement, select), last)
  }

  func hasRow(_ key: ObjectKey, of entity: EntityPlan) throws -> Bool {
    try exists("SELECT 1 FROM \(SQLText.quoted(entity.table)) WHERE _pk = ?1", key)
  }

  func isNil(_ column: ColumnPlan, of entity: EntityPlan, _ key: ObjectKey) throws -> Bool {
    try exists(
      "SELECT 1 FROM \(SQLText.quoted(entity.table)) WHERE _pk = ?1 AND \(SQLText.quoted(column.name)) IS NULL",
      key)
  }

  func hasPair(ofJoin index: Int, source: ObjectKey, target: ObjectKey) throws -> Bool {
    try exists(
      "SELECT 1 FROM \(SQLText.quoted(model.joins[index].table)) WHERE _source = ?1 AND _target = ?2", source,
      target)
  }

  func pairs(ofJoin index: Int, isSource: Bool, of keys: [ObjectKey]) throws -> [JoinedPair] {
    let select = PairSQL(ofJoin: index, isSource: isSource, model, sql.dialect).select
    let statement = try connection.statement("\(select) IN \(SQLite.boundKeys)")
    defer { statement.reset() }
    statement.bind([SQLite.list(keys)])
    var pairs: [JoinedPair] = []
    while try statement.step() {
      pairs.append(
        JoinedPair(
          owner: statement.int64(0), member: statement.int64(1),
          position: statement.isNull(2) ? nil : statement.int64(2),
          inversePosition: statement.isNull(3) ? nil : statement.int64(3)))
    }
    return pairs
  }

  private func exists(_ sql: String, _ keys: ObjectKey...) throws -> Bool {
    let statement = try connection.statement(sql)
    defer { statement.reset() }
    for (index, key) in keys.enumerated() { statement.bind(key, at: Int32(index + 1)) }
    return try statement.step()
  }

  // MARK: Relationships

  func rows(
    of relationship: RelationshipPlan, of key: ObjectKey, _ entity: EntityPlan
  ) throws -> RowCursor {
    let select = sql.selects[relationship.destination]
    // An ordered relationship has its order in the rows.
    let feed = relationship.isOrdered ? nil : connection.rowFeed
    let passing = feed?.select(select)
    let statement = try connection.statement(
      .init(purpose: .related, index: -1 - entity.index, detail: .init(relationship.slot))
    ) {
      let related = RelatedSQL(relationship, model, sql.dialect)
      return (passing ?? select.sql) + related.join + " WHERE \(related.owner) = ?1"
        + (select.condition.map { " AND " + $0 } ?? "") + (passing == nil ? " ORDER BY \(related.order)" : "")
    }
    statement.bind(key, at: 1)
    return RowCursor(statement, select, passedBy: passing == nil ? nil : feed)
  }

  /// Returns the rows of the related objects of many objects. Two extra columns give the owner and the position.
  func rows(of relationship: RelationshipPlan, ofAny keys: [ObjectKey]) throws -> RowCursor {
    let select = sql.selects[relationship.destination]
    let related = RelatedSQL(relationship, model, sql.dialect)
    let statement = try connection.statement(
      "SELECT \(select.columns), \(related.owner), \(related.position ?? "NULL") \(select.source)\(related.join) "
        + "WHERE \(related.owner) IN \(SQLite.boundKeys)" + (select.condition.map { " AND " + $0 } ?? "")
        + " ORDER BY \(related.owner), \(related.order)")
    statement.bind([SQLite.list(keys)])
    return RowCursor(statement, select)
  }

  func positions(of relationship: RelationshipPlan, of key: ObjectKey) throws -> [ObjectKey: Int64]? {
    let related = RelatedSQL(relationship, model, sql.dialect)
    guard let position = related.position else { return nil }
    let table = SQLText.quoted(model.entities[relationship.destination].table)
    let statement = try connection.statement(
      "SELECT t0._pk, \(position) FROM \(table) AS t0\(related.join) "
        + "WHERE \(related.owner) = ?1 AND \(position) IS NOT NULL")
    defer { statement.reset() }
    statement.bind(key, at: 1)
    var positions: [ObjectKey: Int64] = [:]
    while try statement.step() { positions[statement.int64(0)] = statement.int64(1) }
    return positions
  }

  func rows(
    ofSubtree entity: EntityPlan, referringBy column: ColumnPlan, to key: ObjectKey
  ) throws -> RowCursor {
    try rows(of: entity, where: "t0.\(SQLText.quoted(column.name)) = ?1", .int(key))
  }

  func rows(
    ofSubtree entity: EntityPlan, referringBy column: ColumnPlan, toAny keys: [ObjectKey]
  ) throws -> RowCursor {
    try rows(
      of: entity, where: "t0.\(SQLText.quoted(column.name)) IN \(SQLite.boundKeys)", SQLite.list(keys))
  }

  func rows(
    of owner: EntityPlan, whose relationship: RelationshipPlan, leadsToAny keys: [ObjectKey]
  ) throws -> RowCursor {
    let condition: String
    switch relationship.storage {
    case .reference(let column):
      condition = "t0.\(SQLText.quoted(owner.columns[column].name)) IN \(SQLite.boundKeys)"
    case .join(let index, let isSource):
      let (own, other) = isSource ? ("_source", "_target") : ("_target", "_source")
      condition =
        "t0._pk IN (SELECT \(own) FROM \(SQLText.quoted(model.joins[index].table)) "
        + "WHERE \(other) IN \(SQLite.boundKeys))"
    case .inverseReference, .referencesOfOthers: condition = "0 AND ? IS NULL"
    }
    return try rows(of: owner, where: condition, SQLite.list(keys))
  }

  func referrers(by relationship: RelationshipPlan, of owner: EntityPlan, to key: ObjectKey) throws
    -> [ObjectKey]
  {
    let sql: String
    switch relationship.storage {
    case .join(let index, _):
      sql = "SELECT _source FROM \(SQLText.quoted(model.joins[index].table)) WHERE _target = ?1"
    case .reference(let column):
      sql =
        "SELECT _pk FROM \(SQLText.quoted(owner.table)) WHERE \(SQLText.quoted(owner.columns[column].name)) = ?1"
    case .inverseReference, .referencesOfOthers: return []
    }
    return try keys(sql, key)
  }

  func relatedKeys(of relationship: RelationshipPlan, of key: ObjectKey) throws -> [ObjectKey] {
    let related = RelatedSQL(relationship, model, sql.dialect)
    let table = SQLText.quoted(model.entities[relationship.destination].table)
    return try keys("SELECT t0._pk FROM \(table) AS t0\(related.join) WHERE \(related.owner) = ?1", key)
  }

  /// Returns the first column of the rows of a statement with one parameter.
  func keys(_ sql: String, _ key: ObjectKey) throws -> [ObjectKey] {
    let statement = try connection.statement(sql)
    defer { statement.reset() }
    statement.bind(key, at: 1)
    var keys: [ObjectKey] = []
    while try statement.step() { keys.append(statement.int64(0)) }
    return keys
  }

  /// - Parameter condition: A condition with one parameter.
  private func rows(of entity: EntityPlan, where condition: String, _ value: AttributeValue) throws
    -> RowCursor
  {
    let select = sql.selects[entity.index]
    let statement = try connection.statement(
      select.sql + " WHERE \(condition)" + (select.condition.map { " AND " + $0 } ?? ""))
    statement.bind([value])
    return RowCursor(statement, select)
  }

  // MARK: History

  func newestSave(of store: any AttachedStore) throws -> Int64 {
    let statement = try connection.statement(
      "SELECT max(\"id\") FROM \(attached.schema(of: store)).\"_cdgen_history\"")
    defer { statement.reset() }
    return try statement.step() ? statement.int64(0) : 0
  }

  func forEachSave(of store: any AttachedStore, after save: Int64, _ body: (Int64, String) throws -> Void)
    throws
  {
    let statement = try connection.statement(
      "SELECT \"id\", \"changes\" FROM \(attached.schema(of: store)).\"_cdgen_history\" WHERE \"id\" > ?1 ORDER BY \"id\""
    )
    defer { statement.reset() }
    statement.bind(save, at: 1)
    while try statement.step() { try body(statement.int64(0), statement.string(1) ?? "") }
  }

  func forEachEntry(
    of store: any AttachedStore, after save: Int64, _ body: (HistoryEntry) throws -> Bool
  ) throws {
    let statement = try connection.statement(
      "SELECT \"id\", \"time\", \"origin\", \"author\", \"changes\" FROM \(attached.schema(of: store)).\"_cdgen_history\" "
        + "WHERE \"id\" > ?1 ORDER BY \"id\"")
    defer { statement.reset() }
    statement.bind(save, at: 1)
    while try statement.step() {
      // The number may have been changed from outside, and may not be a valid time.
      let seconds = statement.double(1)
      let entry = HistoryEntry(
        number: statement.int64(0),
        date: seconds.isFinite ? Date(timeIntervalSinceReferenceDate: seconds) : EmptyValue.date,
        origin: statement.string(2) ?? "", author: statement.string(3), changes: statement.string(4) ?? "")
      guard try body(entry) else { return }
    }
  }

  func insertionOrigins(of store: any AttachedStore) throws -> InsertionOrigins {
    let text = try connection.metadata(InsertionOrigins.metadataKey, schema: attached.schema(of: store))
    return try connection.recentOrigins.origins(of: store.storeID, text: text, url: store.url)
  }

  // MARK: Metadata

  func metadata(of store: any AttachedStore) throws -> StoreMetadata {
    try StoreMetadata(connection, schema: attached.schema(of: store), url: store.url)
  }

  func movedKeys(of store: any AttachedStore) throws -> [MovedKeys] {
    try connection.metadata(MovedKeys.metadataKey, schema: attached.schema(of: store)).map(MovedKeys.list)
      ?? []
  }

  func changeMark() throws -> String {
    // The watcher need not ask for the saves of its own coordinator. To read a store in memory, it would wait for them.
    try attached.all.filter { !$0.isInMemory }.map {
      try connection.scalar("PRAGMA \(attached.schema(of: $0)).data_version") ?? ""
    }.joined(separator: " ")
  }
}
