import GRDBSQLite

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// One save's transaction: deletes, updates, inserts, pairs, positions, history.
///
/// Unique indexes are checked by SQLite at each statement, so that the order matters: rows that go make room
/// first. Updates that stand in each other's way are tried again when others have moved, and where they stand
/// in a circle their unique columns get passing values.
struct SaveRun {
  let context: ManagedObjectContext
  let connection: SQLiteConnection
  let plan: SavePlan
  private let writer = RowWriter()
  /// The history's rows of this save.
  private(set) var saves: [(store: SQLiteStore, id: Int64)] = []
  private var conflicts: [SaveConflict] = []
  /// The statement of the last row of each kind: the next one mostly needs it again.
  private var lastInsert: (entity: Int, statement: SQLiteStatement)?
  private var lastUpdate: (entity: Int, slots: SlotSet, statement: SQLiteStatement, list: [Int])?
  private var lastDelete: (root: Int, statement: SQLiteStatement)?
  /// The stores whose rows are written.
  private let touched: [SQLiteStore]
  /// The large values; nil where the model or the store has none.
  private let external: ExternalValues?
  private var model: ModelPlan { context.model }

  /// - Throws: ``StoreError`` where a large value cannot be written.
  init(context: ManagedObjectContext, connection: SQLiteConnection, plan: SavePlan) throws {
    self.context = context
    self.connection = connection
    self.plan = plan
    touched = plan.stores(in: context.database)
    for store in touched {
      try store.checkIdentity()
      if store.isReadOnly { throw StoreError.readOnly(store.url) }
    }
    external =
      context.model.hasExternalSlots
      ? try ExternalValues(of: plan, database: context.database, connection: connection) : nil
  }

  mutating func write() throws {
    try connection.execute("BEGIN IMMEDIATE")
    do {
      for object in plan.deleted { try delete(object) }
      try update()
      guard conflicts.isEmpty else { throw SaveError.conflict(conflicts) }
      for object in plan.inserted { try insert(object) }
      for object in plan.related { try writeRelationships(of: object) }
      for object in plan.related { try writeOrders(of: object) }
      try writeHistory()
      try external?.keep()
      try commit()
    } catch {
      if sqlite3_get_autocommit(connection.handle) == 0 { try? connection.execute("ROLLBACK") }
      external?.discard()
      throw error
    }
  }

  private func commit() throws {
    do {
      try connection.execute("COMMIT")
    } catch let error as StoreError where error.isReferenceViolation {
      throw SaveError.danglingReferences(try danglingObjects())
    }
  }

  private func danglingObjects() throws -> [ManagedObjectID] {
    var result: [ManagedObjectID] = []
    for store in touched {
      for row in try connection.rows("PRAGMA \(store.schema).foreign_key_check").prefix(100) {
        guard let table = row[0], let text = row[1], let key = Int64(text) else { continue }
        result.append(ManagedObjectID(storeID: store.storeID, entityName: table, key: key))
      }
    }
    return result
  }

  // MARK: Rows

  private mutating func delete(_ object: ManagedObject) throws {
    try external?.replace(object, slots: object.scope.plan.externalSlots)
    let statement = try deleteStatement(object.scope.plan)
    statement.bind(object.key, at: 1)
    statement.bind(object.version, at: 2)
    try statement.run()
    try noteConflict(object)
  }

  private mutating func deleteStatement(_ entity: EntityPlan) throws -> SQLiteStatement {
    if let lastDelete, lastDelete.root == entity.root { return lastDelete.statement }
    let statement = try connection.statement(.init(purpose: .delete, place: entity.root)) {
      entity.sql.delete
    }
    lastDelete = (entity.root, statement)
    return statement
  }

  private mutating func noteConflict(_ object: ManagedObject) throws {
    guard sqlite3_changes(connection.handle) == 0 else { return }
    let plan = object.scope.plan
    let statement = try connection.statement(plan.sql.selectByKey)
    defer { statement.reset() }
    statement.bind(object.key, at: 1)
    guard try statement.step() else {
      conflicts.append(SaveConflict(reason: .deleted, objectID: object.objectID))
      return
    }
    let report = RowReport(files: context.database.stores.map(\.files))
    let row = RowReader(statement: statement.handle, map: nil, report: report)
    let keys = plan.storedSlots.filter { slot in
      let committed = object.extras?.old.first { $0.slot == slot }?.value ?? object.storedValue(slot)
      return ManagedObject.storedValue(of: row, plan.slots[slot]) != committed
    }.map { plan.slots[$0].name }
    conflicts.append(SaveConflict(reason: .changed, objectID: object.objectID, keys: keys))
  }

  private mutating func update() throws {
    var blocked: [(object: ManagedObject, error: StoreError)] = []
    for object in plan.updated {
      do {
        try update(object)
      } catch let error as StoreError where error.isUniquenessViolation {
        blocked.append((object, error))
      }
    }
    while !blocked.isEmpty {
      var left: [(object: ManagedObject, error: StoreError)] = []
      for entry in blocked {
        do {
          try update(entry.object)
        } catch let error as StoreError where error.isUniquenessViolation {
          left.append((entry.object, error))
        }
      }
      if left.count == blocked.count {
        try park(left.map(\.object))
        for entry in left {
          do {
            try update(entry.object)
          } catch let error as StoreError where error.isUniquenessViolation {
            throw notUnique(entry.object, error)
          }
        }
        return
      }
      blocked = left
    }
  }

  private mutating func update(_ object: ManagedObject) throws {
    guard let extras = object.extras else { return }
    let (statement, slots) = try updateStatement(object.scope.plan, changed: extras.changed)
    if let external {
      try external.replace(object, slots: object.scope.plan.externalSlots.filter(slots.contains))
    }
    writer.start(statement.handle)
    encode(object, slots)
    try checkWriter(object)
    statement.bind(object.key, at: writer.nextParameter)
    statement.bind(object.version, at: writer.nextParameter + 1)
    try statement.run()
    try noteConflict(object)
  }

  /// The statement that writes the changed slots that have columns, and these slots.
  private mutating func updateStatement(
    _ entity: EntityPlan, changed: SlotSet
  ) throws -> (SQLiteStatement, [Int]) {
    if let lastUpdate, lastUpdate.entity == entity.index, lastUpdate.slots == changed {
      return (lastUpdate.statement, lastUpdate.list)
    }
    let slots = entity.storedSlots.filter(changed.contains)
    var set = SlotSet()
    for slot in slots { set.insert(slot) }
    let statement = try connection.statement(.init(purpose: .update, place: entity.index, detail: set)) {
      let columns = slots.flatMap { entity.slots[$0].columns }
      let assignments = columns.map { SQLite.quoted(entity.columns[$0].name) + " = ?" }
      return "UPDATE \(SQLite.quoted(entity.table)) SET "
        + (assignments + ["_version = (_version + 1) & 4294967295"]).joined(separator: ", ")
        + " WHERE _pk = ? AND _version = ?"
    }
    lastUpdate = (entity.index, changed, statement, slots)
    return (statement, slots)
  }

  /// Gives the unique columns of rows that stand in each other's way values that no row has, for the moment
  /// that the others need to move.
  private mutating func park(_ objects: [ManagedObject]) throws {
    for object in objects {
      guard let changed = object.extras?.changed else { continue }
      let entity = object.scope.plan
      let table = SQLite.quoted(entity.table)
      let unique = Set(
        entity.lineage.flatMap { model.entities[$0].description.uniquenessConstraints.joined() })
      for slot in entity.slots where changed.contains(slot.number) && unique.contains(slot.name) {
        for column in slot.columns.map({ entity.columns[$0] }) {
          let name = SQLite.quoted(column.name)
          let value =
            switch column.cell {
            case .string, .url, .decimal, .codable: "'_cdgen ' || hex(randomblob(16))"
            case .data, .uuid: "randomblob(16)"
            case .bool, .int16, .int32, .int64, .float, .double, .date:
              "(SELECT min(\(name)) FROM \(table)) - 1"
            }
          let statement = try connection.statement("UPDATE \(table) SET \(name) = \(value) WHERE _pk = ?1")
          statement.bind(object.key, at: 1)
          try statement.run()
        }
      }
    }
  }

  private mutating func insert(_ object: ManagedObject) throws {
    let entity = object.scope.plan
    let statement = try insertStatement(entity)
    statement.bind(object.key, at: 1)
    writer.start(statement.handle, at: 2)
    encode(object, entity.storedSlots)
    try checkWriter(object)
    do {
      try statement.run()
    } catch let error as StoreError where error.isUniquenessViolation {
      throw notUnique(object, error)
    }
  }

  private mutating func insertStatement(_ entity: EntityPlan) throws -> SQLiteStatement {
    if let lastInsert, lastInsert.entity == entity.index { return lastInsert.statement }
    let statement = try connection.statement(.init(purpose: .insert, place: entity.index)) {
      entity.sql.insert
    }
    lastInsert = (entity.index, statement)
    return statement
  }

  @inline(__always) private func encode(_ object: ManagedObject, _ slots: [Int]) {
    if let external, !object.scope.plan.externalSlots.isEmpty {
      for slot in slots {
        if let name = external.name(object, slot) {
          writer.string(name)
        } else {
          object._encode(slot, writer)
        }
      }
    } else {
      for slot in slots { object._encode(slot, writer) }
    }
  }

  private func checkWriter(_ object: ManagedObject) throws {
    guard writer.failure != nil else { return }
    throw SaveError.validation([
      ValidationError(
        reason: .notEncodable, entity: object.scope.plan.name, property: nil, objectID: object.objectID)
    ])
  }

  /// The error with the properties of the `unique:` list, as far as SQLite's message names the columns.
  private func notUnique(_ object: ManagedObject, _ error: StoreError) -> SaveError {
    var properties: [String] = []
    if case .sqlite(_, let message, _) = error, let colon = message.lastIndex(of: ":") {
      let rest = message[message.index(after: colon)...]
      if rest.hasPrefix(" index '") {
        let name = rest.dropFirst(" index '".count).dropLast()
        properties = name.split(separator: ".").dropFirst(2).map(String.init)
      } else {
        let table = object.scope.plan.table + "."
        properties = rest.split(separator: ",").map { part in
          let column = String(part.drop { $0 == " " })
          return column.hasPrefix(table) ? String(column.dropFirst(table.count)) : column
        }
      }
    }
    return .notUnique(entity: object.scope.plan.name, properties: properties, objectID: object.objectID)
  }

  // MARK: Relationships with rows of their own, and orders

  private func writeRelationships(of object: ManagedObject) throws {
    for (slot, state) in object.extras?.toMany ?? [] where state.isChanged {
      guard let relationship = object.scope.plan.relationships[slot] else { continue }
      if case .join(let place, let isSource) = relationship.storage, isSource {
        let table = SQLite.quoted(model.joins[place].table)
        try run(
          "DELETE FROM \(table) WHERE _source = ?1 AND _target = ?2", object.key, state.removed.keys)
        try run(
          "INSERT OR IGNORE INTO \(table) (_source, _target) VALUES (?1, ?2)", object.key, state.added.keys)
      }
    }
  }

  /// Writes the order of an object's relationships, once all pairs are there: those of a relationship to many
  /// on both sides are the source's to write.
  private func writeOrders(of object: ManagedObject) throws {
    for (slot, state) in object.extras?.toMany ?? [] where state.isOrderChanged {
      guard let relationship = object.scope.plan.relationships[slot], relationship.isOrdered else { continue }
      try writePositions(of: object, relationship, state)
    }
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

  private func writePositions(
    of object: ManagedObject, _ relationship: RelationshipPlan, _ state: ToManyState
  ) throws {
    guard let place = PositionTable(relationship, in: model) else { return }
    var changes: [(key: ObjectKey, position: Int64)] = []
    if let keys = state.keys?.keys {
      changes = Positions.changes(for: keys, given: state.positions)
    } else {
      let statement = try connection.statement(place.maximum)
      statement.bind(object.key, at: 1)
      var last: Int64 = try statement.step() ? statement.int64(0) : 0
      statement.reset()
      for key in state.added.keys {
        last += Positions.gap
        changes.append((key, last))
      }
    }
    guard !changes.isEmpty else { return }
    let statement = try connection.statement(place.update)
    for change in changes {
      statement.bind(change.position, at: 1)
      statement.bind(object.key, at: 2)
      statement.bind(change.key, at: 3)
      try statement.run()
      state.positions[change.key] = change.position
    }
  }

  // MARK: History

  private mutating func writeHistory() throws {
    for store in touched {
      let statement = try connection.statement(
        "INSERT INTO \(store.schema).\"_cdgen_history\" (\"time\", \"origin\", \"author\", \"changes\") "
          + "VALUES (?, ?, ?, ?)")
      writer.start(statement.handle)
      writer.date(Date())
      writer.string(context.database.origin)
      writer.optionalString(context.transactionAuthor)
      writer.string(HistoryText.changes(plan, ofStore: store.place))
      try statement.run()
      saves.append((store, sqlite3_last_insert_rowid(connection.handle)))
    }
  }
}
