import CSQLite

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The session in which a save writes to SQLite: the writer's connection and all changes of rows.
final class SQLiteWriteSession: StoreWriteSession {
  let session: SQLiteSession
  var reader: any StoreSession { session }
  var batch: any StoreBatchSession { SQLiteBatchSession(session) }
  private let database: SQLiteDatabase
  private let writer = RowWriter()
  /// The last statement of each operation. The next row usually needs the same statement.
  private var lastInsert: (entity: Int, statement: SQLiteStatement)?
  private var lastInsertOfMany: (entity: Int, statement: SQLiteStatement)?
  private var lastUpdate: (entity: Int, changed: SlotSet, statement: SQLiteStatement, slots: [Int])?
  private var lastDelete: (root: Int, statement: SQLiteStatement)?
  private var lastPositions: (relationship: RelationshipPlan, sql: PositionSQL)?
  /// The statement of the last row that could not be written.
  private var failed: SQLiteStatement?

  private var connection: SQLiteConnection { session.connection }
  private var model: ModelPlan { session.model }
  private var stores: SQLiteStoreSet { session.attached }

  init(_ session: SQLiteSession, of database: SQLiteDatabase) {
    self.session = session
    self.database = database
  }

  // MARK: Transactions

  func begin() throws { try database.begin(connection) }

  func commit(changed: [any AttachedStore], check: () throws -> Void) throws {
    do {
      try database.commit(connection, changed: changed.compactMap { $0 as? SQLiteStore }, check: check)
    } catch let error as StoreError where error.isReferenceViolation {
      throw ReferenceViolation()
    }
  }

  /// Rolls the transaction back, unless SQLite has already done so.
  func rollback() {
    if sqlite3_get_autocommit(connection.handle) == 0 { try? connection.execute("ROLLBACK") }
  }

  func write<R>(_ body: () throws -> R) throws -> R { try connection.write(body) }

  // MARK: Rows

  @_optimize(speed)
  func insert(
    _ entity: EntityPlan, _ key: ObjectKey, _ encode: (RowWriter) -> Void
  ) throws -> RowOutcome {
    let statement = try insertStatement(entity)
    statement.bind(key, at: 1)
    writer.start(statement.handle, at: 2)
    encode(writer)
    return try run(statement, entity)
  }

  private func insertStatement(_ entity: EntityPlan) throws -> SQLiteStatement {
    if let lastInsert, lastInsert.entity == entity.index { return lastInsert.statement }
    let statement = try connection.statement(.init(purpose: .insert, index: entity.index)) {
      session.sql.rows[entity.index].insert
    }
    lastInsert = (entity.index, statement)
    return statement
  }

  // MARK: Several rows by one statement

  /// The number of rows that one statement inserts. With more of them, an insertion is not faster.
  private static let rowsOfStatement = 10

  private enum ManyOutcome {
    case done
    /// A unique index refused the properties of a row. The rows before it are written.
    case notUnique(row: Int, [String])
    /// The statement was not run.
    case unsuitable
  }

  @_optimize(speed)
  func insert(
    _ entity: EntityPlan, count: Int, key: (Int) -> ObjectKey, _ encode: (Int, RowWriter) -> Void,
    refused: (Int, RowOutcome) throws -> Void
  ) throws {
    var many = count >= Self.rowsOfStatement ? try insertStatement(ofManyRows: entity) : nil
    var number = 0
    while number < count {
      if let statement = many, count - number >= Self.rowsOfStatement {
        switch try insertMany(statement, entity, from: number, key, encode) {
        case .done:
          number += Self.rowsOfStatement
          continue
        case .notUnique(let row, let properties):
          number += row
          try refused(number, .notUnique(properties))
          number += 1
          continue
        // The rows are too long for many of them to be in memory at a time, or one of them has an error.
        case .unsuitable: many = nil
        }
      }
      let outcome = try insert(entity, key(number)) { encode(number, $0) }
      switch outcome {
      case .done, .missing: break
      case .notUnique, .unwritable: try refused(number, outcome)
      }
      number += 1
    }
  }

  @_optimize(speed)
  private func insertMany(
    _ statement: SQLiteStatement, _ entity: EntityPlan, from first: Int, _ key: (Int) -> ObjectKey,
    _ encode: (Int, RowWriter) -> Void
  ) throws -> ManyOutcome {
    writer.start(statement.handle)
    for number in first..<first + Self.rowsOfStatement {
      writer.int64(key(number))
      encode(number, writer)
      if writer.failure != nil || writer.hasOverflowed { return .unsuitable }
    }
    do {
      try statement.run()
    } catch let error as StoreError where error.isUniquenessViolation {
      return .notUnique(
        row: Int(sqlite3_changes(connection.handle)), error.refusedProperties(of: entity))
    }
    return .done
  }

  /// Returns nil for an entity with too many columns.
  private func insertStatement(ofManyRows entity: EntityPlan) throws -> SQLiteStatement? {
    if let lastInsertOfMany, lastInsertOfMany.entity == entity.index { return lastInsertOfMany.statement }
    let sql = session.sql.rows[entity.index]
    let limit = Int(sqlite3_limit(connection.handle, SQLITE_LIMIT_VARIABLE_NUMBER, -1))
    guard sql.parameterCount * Self.rowsOfStatement <= limit else { return nil }
    let statement = try connection.statement(.init(purpose: .insertMany, index: entity.index)) {
      // After an error, the rows before the refused one stay. Otherwise SQLite would have to copy each page before it
      // changes it, to be able to take the rows back.
      let rows = Array(repeating: sql.insertedRow, count: Self.rowsOfStatement).joined(separator: ", ")
      return "INSERT OR FAIL INTO \(sql.insertedColumns) VALUES \(rows)"
    }
    lastInsertOfMany = (entity.index, statement)
    return statement
  }

  func setVersion(_ version: Int64, of entity: EntityPlan, _ key: ObjectKey) throws {
    let statement = try connection.statement(
      "UPDATE \(SQLText.quoted(entity.table)) SET \"_version\" = ?2 WHERE \"_pk\" = ?1")
    statement.bind(key, at: 1)
    statement.bind(version, at: 2)
    try statement.run()
  }

  func update(
    _ entity: EntityPlan, _ changed: SlotSet, _ key: ObjectKey, version: Int64,
    _ encode: (_ slots: [Int], RowWriter) throws -> Void
  ) throws -> RowOutcome {
    let (statement, slots) = try updateStatement(entity, changed)
    writer.start(statement.handle)
    try encode(slots, writer)
    statement.bind(key, at: writer.nextParameter)
    statement.bind(version, at: writer.nextParameter + 1)
    return try run(statement, entity)
  }

  private func updateStatement(
    _ entity: EntityPlan, _ changed: SlotSet
  ) throws -> (SQLiteStatement, [Int]) {
    if let lastUpdate, lastUpdate.entity == entity.index, lastUpdate.changed == changed {
      return (lastUpdate.statement, lastUpdate.slots)
    }
    let slots = entity.storedSlots.filter(changed.contains)
    var set = SlotSet()
    for slot in slots { set.insert(slot) }
    let statement = try connection.statement(.init(purpose: .update, index: entity.index, detail: set)) {
      let columns = slots.flatMap { entity.slots[$0].columns }
      let assignments = columns.map { SQLText.quoted(entity.columns[$0].name) + " = ?" }
      return "UPDATE \(SQLText.quoted(entity.table)) SET "
        + (assignments + ["_version = (_version + 1) & 4294967295"]).joined(separator: ", ")
        + " WHERE _pk = ? AND _version = ?"
    }
    lastUpdate = (entity.index, changed, statement, slots)
    return (statement, slots)
  }

  func delete(_ entity: EntityPlan, _ key: ObjectKey, version: Int64) throws -> RowOutcome {
    let statement = try deleteStatement(entity)
    statement.bind(key, at: 1)
    statement.bind(version, at: 2)
    try statement.run()
    return sqlite3_changes(connection.handle) == 0 ? .missing : .done
  }

  private func deleteStatement(_ entity: EntityPlan) throws -> SQLiteStatement {
    if let lastDelete, lastDelete.root == entity.root { return lastDelete.statement }
    let statement = try connection.statement(.init(purpose: .delete, index: entity.root)) {
      session.sql.rows[entity.index].delete
    }
    lastDelete = (entity.root, statement)
    return statement
  }

  @_optimize(speed)
  private func run(_ statement: SQLiteStatement, _ entity: EntityPlan) throws -> RowOutcome {
    guard writer.failure == nil else {
      failed = statement
      return .unwritable
    }
    do {
      try statement.run()
    } catch let error as StoreError where error.isUniquenessViolation {
      return .notUnique(error.refusedProperties(of: entity))
    }
    return sqlite3_changes(connection.handle) == 0 ? .missing : .done
  }

  /// Returns the reason why a row was ``RowOutcome/unwritable``; nil if the values have no error.
  func failure(of encode: (RowWriter) -> Void) -> (any Error)? {
    guard let failed else { return nil }
    // The statement only serves to bind the values again, so its other parameters do not matter.
    writer.start(failed.handle)
    encode(writer)
    return writer.failure
  }

  // MARK: Unique values

  @_optimize(none)
  func conflictingRow(
    of columns: [Int], _ entity: EntityPlan, _ owner: EntityPlan, excluding key: ObjectKey,
    _ encode: (_ slots: [Int], RowWriter) -> Void
  ) throws -> (key: ObjectKey, entity: String)? {
    var slots: [Int] = []
    for column in columns where !slots.contains(entity.columns[column].slot) {
      slots.append(entity.columns[column].slot)
    }
    // A slot writes all its columns together, but only the list's columns are compared.
    let written = slots.flatMap { entity.slots[$0].columns }
    let values = written.indices.map { "?\($0 + 1) AS c\($0)" }.joined(separator: ", ")
    let conditions = columns.map { column in
      "t.\(SQLText.quoted(entity.columns[column].name)) = v.c\(written.firstIndex(of: column) ?? 0)"
    }
    let entityNames = owner.subtree.map { SQLText.literal(model.entities[$0].name) }.joined(separator: ", ")
    let name = entity.hasEntityColumn ? "t._entity" : SQLText.literal(entity.name)
    let statement = try connection.statement(
      "WITH v AS (SELECT \(values)) SELECT t._pk, \(name) FROM \(SQLText.quoted(entity.table)) AS t, v WHERE "
        + (conditions + ["t._pk <> ?\(written.count + 1)"]).joined(separator: " AND ")
        + (entity.hasEntityColumn ? " AND t._entity IN (\(entityNames))" : "") + " LIMIT 1")
    defer { statement.reset() }
    writer.start(statement.handle)
    encode(slots, writer)
    statement.bind(key, at: writer.nextParameter)
    guard try statement.step() else { return nil }
    return (statement.int64(0), statement.string(1) ?? entity.name)
  }

  /// Returns the values of some columns as texts that are equal if SQLite considers the values equal. Returns nil if
  /// one of the values is nil.
  ///
  /// - Parameter encode: Writes slots of an object.
  @_optimize(none)
  func comparedValues(
    of columns: [Int], _ entity: EntityPlan, _ encode: (_ slots: [Int], RowWriter) -> Void
  ) throws -> [String]? {
    let slots = Array(Set(columns.map { entity.columns[$0].slot })).sorted()
    let written = slots.flatMap { entity.slots[$0].columns }
    let terms = columns.map { column in
      let value = "?\((written.firstIndex(of: column) ?? 0) + 1)"
      return "CASE WHEN typeof(\(value)) IN ('text', 'blob') THEN hex(\(value)) ELSE quote(\(value)) END"
    }
    let statement = try connection.statement("SELECT \(terms.joined(separator: ", "))")
    defer { statement.reset() }
    writer.start(statement.handle)
    encode(slots, writer)
    guard try statement.step() else { return nil }
    let texts = columns.indices.map { statement.string(Int32($0)) ?? "NULL" }
    return texts.contains("NULL") ? nil : texts
  }

  @_optimize(none)
  func writePlaceholder(in column: ColumnPlan, of entity: EntityPlan, _ key: ObjectKey) throws {
    let name = SQLText.quoted(column.name)
    let value =
      switch column.storageType.storageClass {
      case .text: "'_cdgen ' || hex(randomblob(16))"
      case .bytes: "randomblob(16)"
      case .integer: "random()"
      case .real: "CAST(random() AS REAL)"
      }
    let statement = try connection.statement(
      "UPDATE \(SQLText.quoted(entity.table)) SET \(name) = \(value) WHERE _pk = ?1")
    // A collision of random values is extremely unlikely, and twelve collisions in a row are practically impossible.
    for attempt in 1... {
      statement.bind(key, at: 1)
      do {
        return try statement.run()
      } catch let error as StoreError where error.isUniquenessViolation && attempt < 12 {
        continue
      }
    }
  }

  // MARK: Relationships

  func deletePairs(ofJoin index: Int, _ source: ObjectKey, _ targets: [ObjectKey]) throws {
    try run(
      "DELETE FROM \(SQLText.quoted(model.joins[index].table)) WHERE _source = ?1 AND _target = ?2", source,
      targets)
  }

  func insertPairs(ofJoin index: Int, _ source: ObjectKey, _ targets: [ObjectKey]) throws {
    try run(
      "INSERT OR IGNORE INTO \(SQLText.quoted(model.joins[index].table)) (_source, _target) VALUES (?1, ?2)",
      source, targets)
  }

  private func run(_ sql: String, _ key: ObjectKey, _ others: [ObjectKey]) throws {
    guard !others.isEmpty else { return }
    let statement = try connection.statement(sql)
    for other in others {
      statement.bind(key, at: 1)
      statement.bind(other, at: 2)
      try statement.run()
    }
  }

  /// Returns nil for a relationship without positions.
  private func positionSQL(_ relationship: RelationshipPlan) -> PositionSQL? {
    if let lastPositions, lastPositions.relationship === relationship { return lastPositions.sql }
    guard let sql = PositionSQL(relationship, in: model, session.sql.dialect) else { return nil }
    lastPositions = (relationship, sql)
    return sql
  }

  func hasPositions(_ relationship: RelationshipPlan) -> Bool { positionSQL(relationship) != nil }

  func lastPosition(_ relationship: RelationshipPlan, of key: ObjectKey) throws -> Int64 {
    guard let sql = positionSQL(relationship) else { return 0 }
    return try session.keys(sql.maximum, key).first ?? 0
  }

  func positionedKeys(_ relationship: RelationshipPlan, of key: ObjectKey) throws -> [ObjectKey] {
    guard let sql = positionSQL(relationship) else { return [] }
    return try session.keys(sql.others, key)
  }

  func setPosition(
    _ position: Int64, of member: ObjectKey, _ relationship: RelationshipPlan, of key: ObjectKey, isNew: Bool
  ) throws {
    guard let sql = positionSQL(relationship) else { return }
    let statement = try connection.statement(isNew ? sql.updateNew : sql.update)
    statement.bind(position, at: 1)
    statement.bind(key, at: 2)
    statement.bind(member, at: 3)
    try statement.run()
  }

  // MARK: References

  @_optimize(none)
  func danglingRows(in store: any AttachedStore) throws -> [(root: EntityPlan, key: ObjectKey)] {
    let rows = try connection.rows("PRAGMA \(stores.schema(of: store)).foreign_key_check").prefix(100)
    return rows.compactMap { row in
      guard let table = row[0], let key = row[1].flatMap({ ObjectKey($0) }),
        let root = model.entities.first(where: { $0.root == $0.index && $0.table == table })
      else { return nil }
      return (root, key)
    }
  }

  // MARK: History

  func addSave(
    _ id: UUID, to store: any AttachedStore, at date: Date, origin: String, author: String?,
    _ changes: String
  ) throws -> Int64? {
    let statement = try connection.statement(
      "INSERT INTO \(stores.schema(of: store)).\"_cdgen_history\" (\"time\", \"origin\", \"author\", \"changes\") "
        + "VALUES (?, ?, ?, ?)")
    writer.start(statement.handle)
    writer.date(date)
    writer.string(origin)
    writer.optionalString(author)
    writer.string(changes)
    do {
      try statement.run()
    } catch StoreError.diskFull where hasNoNumbers(store) {
      throw StoreError.damagedKeys(store.url, entity: "_cdgen_history")
    }
    let number = sqlite3_last_insert_rowid(connection.handle)
    guard number > 0, number < KeyRanges.largestKey else {
      throw StoreError.damagedKeys(store.url, entity: "_cdgen_history")
    }
    return number
  }

  /// Whether SQLite has no number for a save, because the counter or a row has the last one. Its error is then that of a full
  /// disk.
  @_optimize(none)
  private func hasNoNumbers(_ store: any AttachedStore) -> Bool {
    let schema = stores.schema(of: store)
    let last = try? connection.scalar(
      "SELECT max((SELECT coalesce(max(seq), 0) FROM \(schema).sqlite_sequence "
        + "WHERE name = '_cdgen_history'), "
        + "(SELECT coalesce(max(id), 0) FROM \(schema).\"_cdgen_history\"))")
    return last.flatMap { Int64($0) } == Int64.max
  }

  @_optimize(none)
  func deleteEntries(_ range: HistoryRange, of store: any AttachedStore) throws {
    let table = "\(stores.schema(of: store)).\"_cdgen_history\""
    let condition =
      switch range {
      case .before(let date): "\"time\" < \(date.timeIntervalSinceReferenceDate)"
      case .upTo(let number): "\"id\" <= \(number)"
      }
    try connection.execute(
      "DELETE FROM \(table) WHERE \(condition) AND \"id\" < (SELECT max(\"id\") FROM \(table))")
  }

  func hasEntry(
    _ number: Int64, ofSave id: UUID, from origin: String, in store: any AttachedStore
  ) -> Bool {
    let text = try? save(number, of: origin, in: store)
    return text?.contains(id.uuidString) == true
  }

  /// The text of a save in a store's history, if the save has the given origin.
  private func save(_ number: Int64, of origin: String, in store: any AttachedStore) throws -> String? {
    try connection.scalar(
      "SELECT \"changes\" FROM \(stores.schema(of: store)).\"_cdgen_history\" WHERE \"id\" = \(number) "
        + "AND \"origin\" = \(SQLText.literal(origin))")
  }

  // MARK: Metadata

  func setMetadata(_ values: [String: String], of store: any AttachedStore) throws {
    try StoreMetadata.write(values, to: connection, schema: stores.schema(of: store))
  }

  // MARK: Files of large values

  func fileName(in column: ColumnPlan, of entity: EntityPlan, _ key: ObjectKey) throws -> String? {
    let name = SQLText.quoted(column.name)
    let statement = try connection.statement(
      "SELECT \(name) FROM \(SQLText.quoted(entity.table)) WHERE _pk = ?1 AND typeof(\(name)) = 'text'")
    defer { statement.reset() }
    statement.bind(key, at: 1)
    return try statement.step() ? statement.string(0) : nil
  }

  func listFile(_ name: String, in store: any AttachedStore) throws {
    let statement = try connection.statement(
      "INSERT OR REPLACE INTO \(stores.schema(of: store)).\"_cdgen_files\" (\"name\", \"time\") VALUES (?1, ?2)"
    )
    statement.bind(name, at: 1)
    sqlite3_bind_double(statement.handle, 2, Date().timeIntervalSinceReferenceDate)
    try statement.run()
  }

  @discardableResult func unlistFile(_ name: String, in store: any AttachedStore) throws -> Bool {
    let statement = try connection.statement(
      "DELETE FROM \(stores.schema(of: store)).\"_cdgen_files\" WHERE \"name\" = ?1")
    statement.bind(name, at: 1)
    try statement.run()
    return sqlite3_changes(connection.handle) == 1
  }
}

extension StoreError {
  /// Returns the properties of the index that refused a row, if SQLite's message names its columns.
  @_optimize(none)
  func refusedProperties(of plan: EntityPlan) -> [String] {
    guard case .engine(_, let error) = self, let colon = error.message.lastIndex(of: ":") else {
      return []
    }
    let rest = error.message[error.message.index(after: colon)...]
    if rest.hasPrefix(" index '") {
      let name = rest.dropFirst(" index '".count).dropLast()
      return name.split(separator: ".").dropFirst(2).map(String.init)
    }
    let table = plan.table + "."
    return rest.split(separator: ",").map { part in
      let column = part.drop { $0 == " " }
      let name = String(column.hasPrefix(table) ? column.dropFirst(table.count) : column)
      // If a sibling entity has a property of the same name, the column's name contains the entity's name too.
      guard let found = plan.columns.first(where: { $0.name == name }) else { return name }
      let slot = plan.slots[found.slot]
      return slot.columns.count == 1 ? slot.name : name
    }
  }
}
