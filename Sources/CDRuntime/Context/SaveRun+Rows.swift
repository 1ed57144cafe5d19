import CSQLite

// Single rows: deleted, updated, inserted.
extension SaveRun {
  mutating func delete(_ object: ManagedObject) throws {
    try external?.replace(object, slots: object.scope.plan.externalSlots)
    try noteUnknownPairs(of: object)
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
      // What was to be deleted is: that is no conflict.
      if object.flags.contains(.deleted) { return }
      conflicts.append(object.conflict(.deleted, snapshot: object.snapshotValues(), store: nil))
      return
    }
    let report = RowReport(files: context.database.files)
    let row = RowReader(statement: statement.handle, map: nil, report: report)
    var store: [Int: AttributeValue] = [:]
    for slot in plan.storedSlots { store[slot] = ManagedObject.storedValue(of: row, plan.slots[slot]) }
    conflicts.append(object.conflict(.changed, snapshot: object.snapshotValues(), store: store))
  }

  mutating func update(_ object: ManagedObject) throws {
    guard let extras = object.extras else { return }
    let (statement, slots) = try updateStatement(object.scope.plan, changed: extras.changed)
    if let external {
      try external.replace(object, slots: object.scope.plan.externalSlots.filter(slots.contains))
    }
    writer.start(statement.handle)
    encode(object, slots)
    try checkWriter(object, statement, slots)
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

  mutating func insert(_ object: ManagedObject) throws {
    let entity = object.scope.plan
    let statement = try insertStatement(entity)
    statement.bind(object.key, at: 1)
    writer.start(statement.handle, at: 2)
    encode(object, entity.storedSlots)
    try checkWriter(object, statement, entity.storedSlots)
    do {
      try statement.run()
    } catch let error as StoreError where error.isUniquenessViolation {
      return try noteRefusal(of: object, error)
    }
    if object.version != 0 { try writeVersion(of: object) }
  }

  /// Lets a row that is written anew go on counting its versions: others may still have read the row that there was.
  private func writeVersion(of object: ManagedObject) throws {
    let statement = try connection.statement(
      "UPDATE \(SQLite.quoted(object.scope.plan.table)) SET \"_version\" = ?2 WHERE \"_pk\" = ?1")
    statement.bind(object.key, at: 1)
    statement.bind(object.nextVersion, at: 2)
    try statement.run()
  }

  private mutating func insertStatement(_ entity: EntityPlan) throws -> SQLiteStatement {
    if let lastInsert, lastInsert.entity == entity.index { return lastInsert.statement }
    let statement = try connection.statement(.init(purpose: .insert, place: entity.index)) {
      entity.sql.insert
    }
    lastInsert = (entity.index, statement)
    return statement
  }

  @inline(__always) func encode(_ object: ManagedObject, _ slots: [Int]) {
    if let external, !object.scope.plan.externalSlots.isEmpty {
      for slot in slots {
        if let name = external.name(object, slot) {
          writer.string(name)
        } else {
          object._encode(slot, writer)
        }
      }
    } else if object.scope.plan.factory == nil {
      object.encodeValues(slots, writer)
    } else {
      for slot in slots { object._encode(slot, writer) }
    }
  }

  private func checkWriter(_ object: ManagedObject, _ statement: SQLiteStatement, _ slots: [Int]) throws {
    guard writer.failure != nil else { return }
    var errors: [ValidationError] = []
    // Once more, one by one, to name them: the parameters do not matter any more.
    for slot in slots {
      writer.start(statement.handle)
      encode(object, [slot])
      guard let failure = writer.failure else { continue }
      errors.append(
        ValidationError(
          reason: failure is RowWriter.TooLarge ? .tooLarge : .notEncodable, entity: object.scope.plan.name,
          property: object.scope.plan.slots[slot].name, objectID: object.objectID))
    }
    throw SaveError.validation(errors)
  }
}
