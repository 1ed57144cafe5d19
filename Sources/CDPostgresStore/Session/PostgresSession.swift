import CDModel
@_spi(Generated) import CDRuntime

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The session in which a context reads a server's stores.
///
/// It has a connection of its own only while a snapshot is open, and within a write. Any other read takes a connection
/// from the pool and gives it back.
final class PostgresSession: StoreSession {
  let stores: StoreSet
  let model: ModelPlan
  let sql: ModelSQL
  let link: SessionLink
  private let siblings = SiblingRows()
  /// The rows that were read ahead at last, and the entity whose rows they are.
  private var lastAhead: (entity: Int, references: SiblingRows.References)?
  private var origins = RecentOrigins()

  var dialect: any SQLDialect { sql.dialect }

  init(_ link: SessionLink, stores: StoreSet, model: ModelPlan, sql: ModelSQL) {
    self.link = link
    self.stores = stores
    self.model = model
    self.sql = sql
  }

  // MARK: Snapshots

  // The transaction begins with the first statement.
  func beginSnapshot() throws {
    forgetRows()
    link.beginSnapshot()
  }

  func endSnapshot() {
    forgetRows()
    link.endSnapshot()
  }

  private func forgetRows() {
    siblings.removeAll()
    lastAhead = nil
  }

  // Each snapshot and each write checks the version when it begins.
  func checkVersions() throws {}

  // MARK: Statements

  /// Runs a statement that does not fail because of the rows.
  func run(_ text: String, _ parameters: [PostgresParameter] = []) throws -> PostgresResult {
    try link.run(PostgresStatement(text, parameters), mayFail: false)
  }

  /// Runs a statement that may fail because of a row. A transaction then goes on.
  func runCompiled(_ text: String, _ bindings: [AttributeValue]) throws -> PostgresResult {
    try link.run(PostgresStatement(text, bindings.map { .value($0) }), mayFail: true)
  }

  private func table(_ entity: EntityPlan) -> String { dialect.table(entity.table) }

  /// Whether one of the stores has the entity's table.
  func hasTable(_ entity: EntityPlan) -> Bool { stores.store(of: entity) != nil }

  // MARK: Cursors

  /// A cursor over the rows of the SELECT of an entity and its subentities.
  func cursor(_ result: PostgresResult, _ entity: EntityPlan) -> RowCursor {
    if link.hasSnapshot { siblings.note(result, of: entity) }
    return RowCursor(ResultRows(result, select: sql.selects[entity.index], of: entity))
  }

  /// A cursor over rows that were read before.
  private func cursor(_ known: SiblingRows.Rows, _ entity: EntityPlan) -> RowCursor {
    guard let result = known.result else {
      return RowCursor(RowList([], isMixed: entity.isPolymorphic))
    }
    return RowCursor(
      ResultRows(result, select: sql.selects[entity.index], of: entity, rows: known.range))
  }

  /// A cursor over rows of exactly one entity, or over keys and versions only.
  func plainCursor(_ result: PostgresResult, _ entity: EntityPlan) -> RowCursor {
    RowCursor(ResultRows(result, of: entity))
  }

  // MARK: Rows by their keys

  func row(_ key: ObjectKey, of entity: EntityPlan) throws -> RowCursor {
    // Outside of a snapshot no rows are known.
    if let known = try siblings.row(key, of: entity) ?? rowWithSiblings(key, of: entity) {
      switch known {
      case .row(let rows, let row):
        // The row may be of a subentity.
        if rows.entityName(row).map({ $0 == entity.name }) ?? true { return rows.cursor(row) }
      case .none: break
      }
    }
    guard hasTable(entity) else { return RowCursor(RowList([])) }
    return plainCursor(try run(sql.rows[entity.index].selectByKey, [.value(.int(key))]), entity)
  }

  func row(_ key: ObjectKey, of entity: EntityPlan, reading column: Int) throws -> RowCursor {
    guard hasTable(entity), let text = sql.select(entity, reading: column) else {
      return try row(key, of: entity)
    }
    return RowCursor(ResultRows(try run(text, [.value(.int(key))]), of: entity, reading: column))
  }

  func laterValues(
    in column: Int, of entity: EntityPlan, _ keys: [ObjectKey], size: Int
  ) throws -> [(key: ObjectKey, version: Int64, value: AttributeValue)]? {
    guard hasTable(entity) else { return [] }
    let name = "t.\(SQLText.quoted(entity.columns[column].name))"
    let own = entity.hasEntityColumn ? " AND t._entity = \(SQLText.literal(entity.name))" : ""
    // The server knows the length of a value without reading it.
    let result = try run(
      "SELECT key, version, value FROM (SELECT t._pk AS key, t._version AS version, \(name) AS value, "
        + "row_number() OVER (ORDER BY k.n) AS place, "
        + "sum(coalesce(octet_length(\(name)), 0)) OVER (ORDER BY k.n) AS size "
        + "FROM unnest(CAST(? AS bigint[])) WITH ORDINALITY AS k(key, n) "
        + "JOIN \(table(entity)) AS t ON t._pk = k.key\(own)) AS v WHERE place = 1 OR size <= ? ORDER BY place",
      [.keys(keys), .value(.int(Int64(size)))])
    let values = result.column(2, .data)
    return (0..<result.rowCount).map { row in
      (result.int(row, 0), result.int(row, 1), result.value(Int32(clamping: row), values))
    }
  }

  func row(_ key: ObjectKey, inSubtreeOf entity: EntityPlan) throws -> RowCursor {
    guard let known = try siblings.row(key, of: entity) ?? rowWithSiblings(key, of: entity) else {
      return try rows(of: entity, where: "t0._pk = ?", [.value(.int(key))])
    }
    switch known {
    case .row(let rows, let row): return rows.cursor(row)
    case .none: return RowCursor(RowList([], isMixed: entity.isPolymorphic))
    }
  }

  /// Reads the row of an object of the entity or a subentity together with others; nil outside of a snapshot.
  private func rowWithSiblings(_ key: ObjectKey, of entity: EntityPlan) throws -> KnownRow? {
    guard link.hasSnapshot, hasTable(entity) else { return nil }
    if link.isReadingAhead {
      try link.finishAhead()
      if let known = siblings.row(key, of: entity) {
        if let last = lastAhead, last.entity == entity.index { readAhead(after: last.references, of: entity) }
        return known
      }
    }
    let references = siblings.keys(with: key, of: entity, model, sql)
    let select = sql.selects[entity.index]
    keep(try run(textOfRows(select), [.keys(references.keys)]), select, of: entity, references)
    if references.isRepeated { readAhead(after: references, of: entity) }
    return siblings.row(key, of: entity) ?? KnownRow.none
  }

  private func textOfRows(_ select: EntitySelect) -> String {
    select.sql + " WHERE t0._pk = ANY(?)" + (select.condition.map { " AND " + $0 } ?? "")
  }

  private func keep(
    _ result: PostgresResult, _ select: EntitySelect, of entity: EntityPlan,
    _ references: SiblingRows.References
  ) {
    // The rows may be those of objects whose related objects are needed next. This may forget rows, but not the new ones.
    siblings.note(result, of: entity)
    siblings.keep(result, select, of: entity, references.keys)
  }

  /// Lets the server read the rows of the next siblings while the program uses those of the last ones.
  private func readAhead(after last: SiblingRows.References, of entity: EntityPlan) {
    guard !link.isReadingAhead, let next = siblings.keys(after: last, of: entity) else { return }
    let select = sql.selects[entity.index]
    link.readAhead(PostgresStatement(textOfRows(select), [.keys(next.keys)])) { [unowned self] result in
      keep(result, select, of: entity, next)
      lastAhead = (entity.index, next)
    }
  }

  func rows(_ keys: [ObjectKey], inSubtreeOf entity: EntityPlan) throws -> RowCursor {
    try rows(of: entity, where: "t0._pk = ANY(?)", [.keys(keys)], " ORDER BY t0._pk")
  }

  func rows(
    ofSubtree entity: EntityPlan, isOwn: Bool, after key: ObjectKey, count: Int
  ) throws -> (rows: RowCursor, last: ObjectKey)? {
    let select = sql.selects[entity.index]
    let own = isOwn && entity.hasEntityColumn ? "t0._entity = \(SQLText.literal(entity.name)) AND " : ""
    let result = try run(
      select.sql + " WHERE \(own)t0._pk > ? ORDER BY t0._pk LIMIT ?",
      [.value(.int(key)), .value(.int(Int64(count)))])
    guard result.rowCount > 0 else { return nil }
    return (cursor(result, entity), result.int(result.rowCount - 1, 0))
  }

  func hasRow(_ key: ObjectKey, of entity: EntityPlan) throws -> Bool {
    try run("SELECT 1 FROM \(table(entity)) AS t WHERE _pk = ?", [.value(.int(key))]).rowCount > 0
  }

  func isNil(_ column: ColumnPlan, of entity: EntityPlan, _ key: ObjectKey) throws -> Bool {
    try run(
      "SELECT 1 FROM \(table(entity)) AS t WHERE _pk = ? AND \(SQLText.quoted(column.name)) IS NULL",
      [.value(.int(key))]
    ).rowCount > 0
  }

  /// - Parameters:
  ///   - condition: A condition on `t0`.
  ///   - order: The ORDER BY clause; empty for any order.
  func rows(
    of entity: EntityPlan, where condition: String, _ parameters: [PostgresParameter], _ order: String = ""
  ) throws -> RowCursor {
    let select = sql.selects[entity.index]
    let result = try run(
      select.sql + " WHERE \(condition)" + (select.condition.map { " AND " + $0 } ?? "") + order, parameters)
    return cursor(result, entity)
  }

  // MARK: Metadata

  func metadata(of store: any AttachedStore) throws -> StoreMetadata {
    try StoreMetadata(entries: entries(of: store), url: store.url)
  }

  func movedKeys(of store: any AttachedStore) throws -> [MovedKeys] {
    try entries(of: store)[MovedKeys.metadataKey].map(MovedKeys.list) ?? []
  }

  func insertionOrigins(of store: any AttachedStore) throws -> InsertionOrigins {
    try origins.origins(
      of: store.storeID, text: entries(of: store)[InsertionOrigins.metadataKey], url: store.url)
  }

  private func entries(of store: any AttachedStore) throws -> [String: String] {
    Self.entries(try run(#"SELECT "key", "value" FROM \#(systemTable("_cdgen_metadata", of: store))"#))
  }

  /// The entries of a table of metadata.
  static func entries(_ result: PostgresResult) -> [String: String] {
    var entries: [String: String] = [:]
    for row in 0..<result.rowCount {
      if let key = result.string(row, 0), let value = result.string(row, 1) { entries[key] = value }
    }
    return entries
  }

  func systemTable(_ name: String, of store: any AttachedStore) -> String {
    link.tables.systemTable(name, of: store)
  }
}

// The history of saves.
extension PostgresSession {
  func newestSave(of store: any AttachedStore) throws -> Int64 {
    try run(newestSaveText(of: store)).int(0, 0)
  }

  var isRemote: Bool { true }

  func whenRowsAreRead(
    _ body: @escaping (_ newest: [(store: any AttachedStore, number: Int64)]) throws -> Void
  ) throws -> Bool {
    if link.isWriting { return false }
    let stores = stores.all
    let statements = stores.map { PostgresStatement(newestSaveText(of: $0)) }
    link.readAlong(statements) { results in
      try body(zip(stores, results).map { (store: $0, number: $1.int(0, 0)) })
    }
    return true
  }

  private func newestSaveText(of store: any AttachedStore) -> String {
    #"SELECT max("id") FROM \#(systemTable("_cdgen_history", of: store))"#
  }

  func forEachSave(
    of store: any AttachedStore, after save: Int64, _ body: (Int64, String) throws -> Void
  ) throws {
    try forEachPage(of: store, after: save, #""id", "changes""#) { result, row in
      try body(result.int(row, 0), result.string(row, 1) ?? "")
      return true
    }
  }

  func forEachEntry(
    of store: any AttachedStore, after save: Int64, _ body: (HistoryEntry) throws -> Bool
  ) throws {
    try forEachPage(of: store, after: save, #""id", "time", "origin", "author", "changes""#) { result, row in
      let seconds = result.double(row, 1) ?? 0
      return try body(
        HistoryEntry(
          number: result.int(row, 0),
          date: Date(timeIntervalSinceReferenceDate: seconds.isFinite ? seconds : 0),
          origin: result.string(row, 2) ?? "", author: result.string(row, 3),
          changes: result.string(row, 4) ?? ""))
    }
  }

  /// Calls a body with each later row of a store's history, the oldest first. Stops when the body returns false.
  private func forEachPage(
    of store: any AttachedStore, after save: Int64, _ columns: String,
    _ body: (PostgresResult, Int) throws -> Bool
  ) throws {
    let size = 1000
    var last = save
    while true {
      let result = try run(
        #"SELECT \#(columns) FROM \#(systemTable("_cdgen_history", of: store)) WHERE "id" > ? "#
          + #"ORDER BY "id" LIMIT \#(size)"#, [.value(.int(last))])
      for row in 0..<result.rowCount {
        last = result.int(row, 0)
        guard try body(result, row) else { return }
      }
      if result.rowCount < size { return }
    }
  }

  func changeMark() throws -> String {
    // Only saves and batches have an effect on listeners, and each of them has a row.
    try stores.all.map { String(try newestSave(of: $0)) }.joined(separator: " ")
  }
}

// Relationships.
extension PostgresSession {
  func hasPair(ofJoin index: Int, source: ObjectKey, target: ObjectKey) throws -> Bool {
    try run(
      "SELECT 1 FROM \(dialect.table(model.joins[index].table)) AS t WHERE _source = ? AND _target = ?",
      [.value(.int(source)), .value(.int(target))]
    ).rowCount > 0
  }

  func pairs(ofJoin index: Int, isSource: Bool, of keys: [ObjectKey]) throws -> [JoinedPair] {
    let select = PairSQL(ofJoin: index, isSource: isSource, model, dialect).select
    let result = try run("\(select) = ANY(?)", [.keys(keys)])
    return (0..<result.rowCount).map { row in
      JoinedPair(
        owner: result.int(row, 0), member: result.int(row, 1), position: result.optionalInt(row, 2),
        inversePosition: result.optionalInt(row, 3))
    }
  }

  func rows(of relationship: RelationshipPlan, of key: ObjectKey, _ entity: EntityPlan) throws -> RowCursor {
    let destination = model.entities[relationship.destination]
    if link.hasSnapshot, hasTable(destination) {
      if let known = siblings.list(relationship, of: key) { return cursor(known, destination) }
      let owners = siblings.owners(with: key, of: entity, relationship)
      if owners.count > 1 {
        let result = try related(relationship, ofAny: owners)
        siblings.note(result, of: destination)
        siblings.keep(result, of: relationship, owners)
        return cursor(siblings.list(relationship, of: key) ?? .none, destination)
      }
    }
    let select = sql.selects[relationship.destination]
    let related = RelatedSQL(relationship, model, dialect)
    let result = try run(
      select.sql + related.join + " WHERE \(related.owner) = ?"
        + (select.condition.map { " AND " + $0 } ?? "") + " ORDER BY \(related.order)", [.value(.int(key))])
    return cursor(result, model.entities[relationship.destination])
  }

  func rows(of relationship: RelationshipPlan, ofAny keys: [ObjectKey]) throws -> RowCursor {
    cursor(try related(relationship, ofAny: keys), model.entities[relationship.destination])
  }

  /// The rows of the related objects of many objects. The last two columns are the owner and the position.
  private func related(_ relationship: RelationshipPlan, ofAny keys: [ObjectKey]) throws -> PostgresResult {
    let select = sql.selects[relationship.destination]
    let related = RelatedSQL(relationship, model, dialect)
    let position = related.position ?? "CAST(NULL AS bigint)"
    return try run(
      "SELECT \(select.columns), \(related.owner), \(position) \(select.source)\(related.join) "
        + "WHERE \(related.owner) = ANY(?)" + (select.condition.map { " AND " + $0 } ?? "")
        + " ORDER BY \(related.owner), \(related.order)", [.keys(keys)])
  }

  func positions(of relationship: RelationshipPlan, of key: ObjectKey) throws -> [ObjectKey: Int64]? {
    let related = RelatedSQL(relationship, model, dialect)
    guard let position = related.position else { return nil }
    let table = dialect.table(model.entities[relationship.destination].table)
    let result = try run(
      "SELECT t0._pk, \(position) FROM \(table) AS t0\(related.join) "
        + "WHERE \(related.owner) = ? AND \(position) IS NOT NULL", [.value(.int(key))])
    var positions: [ObjectKey: Int64] = [:]
    for row in 0..<result.rowCount { positions[result.int(row, 0)] = result.int(row, 1) }
    return positions
  }

  func rows(
    ofSubtree entity: EntityPlan, referringBy column: ColumnPlan, to key: ObjectKey
  ) throws -> RowCursor {
    try rows(of: entity, where: "t0.\(SQLText.quoted(column.name)) = ?", [.value(.int(key))])
  }

  func rows(
    ofSubtree entity: EntityPlan, referringBy column: ColumnPlan, toAny keys: [ObjectKey]
  ) throws -> RowCursor {
    try rows(
      of: entity, where: "t0.\(SQLText.quoted(column.name)) = ANY(?)", [.keys(keys)], " ORDER BY t0._pk")
  }

  func rows(
    of owner: EntityPlan, whose relationship: RelationshipPlan, leadsToAny keys: [ObjectKey]
  ) throws -> RowCursor {
    let condition: String
    switch relationship.storage {
    case .reference(let column):
      condition = "t0.\(SQLText.quoted(owner.columns[column].name)) = ANY(?)"
    case .join(let index, let isSource):
      let (own, other) = isSource ? ("_source", "_target") : ("_target", "_source")
      condition =
        "t0._pk IN (SELECT \(own) FROM \(dialect.table(model.joins[index].table)) AS j WHERE \(other) = ANY(?))"
    case .inverseReference, .referencesOfOthers: return RowCursor(RowList([]))
    }
    return try rows(of: owner, where: condition, [.keys(keys)], " ORDER BY t0._pk")
  }

  func referrers(by relationship: RelationshipPlan, of owner: EntityPlan, to key: ObjectKey) throws
    -> [ObjectKey]
  {
    switch relationship.storage {
    case .join(let index, _):
      return try keys(
        "SELECT _source FROM \(dialect.table(model.joins[index].table)) AS t WHERE _target = ? ORDER BY 1",
        key)
    case .reference(let column):
      let name = SQLText.quoted(owner.columns[column].name)
      return try keys("SELECT _pk FROM \(dialect.table(owner.table)) AS t WHERE \(name) = ? ORDER BY 1", key)
    case .inverseReference, .referencesOfOthers: return []
    }
  }

  func relatedKeys(of relationship: RelationshipPlan, of key: ObjectKey) throws -> [ObjectKey] {
    if link.isWriting, let owner = model.entity(relationship.owner) {
      // A save asks before it deletes the object. Nobody may relate others to the object in the meantime.
      _ = try run("SELECT 1 FROM \(table(owner)) AS t WHERE _pk = ? FOR UPDATE", [.value(.int(key))])
    }
    let related = RelatedSQL(relationship, model, dialect)
    let table = dialect.table(model.entities[relationship.destination].table)
    return try keys(
      "SELECT t0._pk FROM \(table) AS t0\(related.join) WHERE \(related.owner) = ? ORDER BY 1", key)
  }

  /// The first column of the rows of a statement with one parameter.
  func keys(_ text: String, _ key: ObjectKey) throws -> [ObjectKey] {
    let result = try run(text, [.value(.int(key))])
    return (0..<result.rowCount).map { result.int($0, 0) }
  }
}

extension ModelSQL {
  /// Selects the row of a key with the value of a column that ``EntitySQL/selectByKey`` may leave out; nil for any other
  /// column.
  func select(_ entity: EntityPlan, reading column: Int) -> String? {
    let later = entity.laterColumns
    guard later.contains(column) else { return nil }
    let values = entity.columns.indices.map { number -> String in
      let name = SQLText.quoted(entity.columns[number].name)
      return number != column && later.contains(number) ? dialect.laterValue(name) ?? name : name
    }
    let table = dialect.table(entity.table)
    return "SELECT _pk, _version, \(values.joined(separator: ", ")) FROM \(table) WHERE _pk = ?"
  }
}
