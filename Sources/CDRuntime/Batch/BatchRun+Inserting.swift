import CSQLite

extension BatchRun {
  /// Inserts rows.
  ///
  /// - Returns: How many were inserted or updated.
  func insert(_ rows: BatchRows, _ uniqueness: BatchUniqueness) throws -> Int {
    let properties: [BatchProperty]
    if let keyPaths = rows.keyPaths {
      properties = try keyPaths.map { try BatchProperty($0, of: entity, in: model) }
    } else {
      // All that a row may name. What it may not, it is told when it does.
      properties = entity.slots.compactMap { slot in
        slot.isStored ? try? BatchProperty([slot.name], of: entity, in: model) : nil
      }
    }
    try checkMissing(properties)
    if uniqueness == .update, rows.keyPaths == nil || dependsOnReplaced(properties) {
      return try BatchUpsert(self, properties).insert(rows)
    }
    let statement = try insertStatement(properties, uniqueness)
    let writer = RowWriter()
    let row = rowWriter(properties, statement, writer)
    let first = try firstKey()
    var key = first
    var replaced: [FetchedKey] = []
    let writeNext = rows.start()
    while try writeNext(row) {
      if writer.failure != nil { row.noteTooLarge() }
      guard row.mistakes.isEmpty else {
        if row.mistakes.count >= BatchRowWriter.mostMistakes { break }
        continue
      }
      statement.bind(key, at: 1)
      do {
        if uniqueness == .refuse {
          try statement.run()
          key += 1
        } else if let written = try writtenKey(statement) {
          if written == key {
            key += 1
          } else {
            replaced.append(FetchedKey(key: written, entity: entity.index))
          }
        }
      } catch let error as StoreError where error.isUniquenessViolation {
        throw notUnique(error, row.number)
      }
    }
    guard row.mistakes.isEmpty else {
      throw BatchError.invalid(Array(row.mistakes.prefix(BatchRowWriter.mostMistakes)))
    }
    try finishInsert(first..<key, replaced, properties, FormerRows())
    return Int(key - first) + replaced.count
  }

  func rowWriter(
    _ properties: [BatchProperty], _ statement: SQLiteStatement?, _ writer: RowWriter
  ) -> BatchRowWriter {
    let stores = Dictionary(self.stores.all.map { ($0.place, $0.storeID) }) { first, _ in first }
    return BatchRowWriter(
      properties, of: entity, in: model, storeIDs: stores, statement?.handle, writer)
  }

  func notUnique(_ error: StoreError, _ row: Int) -> BatchError {
    .notUnique(entity: entity.name, properties: error.refusedProperties(of: entity), row: row)
  }

  /// Does what follows from rows that have been written.
  ///
  /// - Parameters:
  ///   - keys: The keys of the new ones.
  ///   - replaced: Those that were there already.
  ///   - properties: What rows have values for.
  ///   - former: What the replaced ones had before.
  func finishInsert(
    _ keys: Range<ObjectKey>, _ replaced: [FetchedKey], _ properties: [BatchProperty], _ former: FormerRows
  ) throws {
    if !keys.isEmpty {
      try reserve(upTo: keys.upperBound)
      noteInserted(keys.lowerBound...keys.upperBound - 1, of: entity)
    }
    var replaced = replaced
    if !replaced.isEmpty {
      // Such a row may be of a subentity.
      replaced = try self.keys(
        "SELECT \(Self.keyColumns(of: entity)) FROM \(SQLite.quoted(entity.table)) WHERE _pk IN \(SQLite.boundKeys)",
        [SQLite.list(replaced.map(\.key))], of: entity)
      noteUpdated(replaced)
    }
    for property in properties {
      guard case .reference(let relationship) = property.kind else { continue }
      let rows = RowChoice.range(keys, and: replaced.map(\.key))
      try place(relationship, rows, moved: moved(property, former))
      try checkCounts(behind: relationship, rows)
    }
    try settle(former)
    try deriveAfterInsert(keys, replaced, changing: properties.map(\.slot.name), former.readers)
  }

  // MARK: Before the first row

  /// Refuses rows that have no value for what is mandatory and has no default.
  private func checkMissing(_ given: [BatchProperty]) throws {
    let slots = Set(given.map(\.slot.number))
    var mistakes: [BatchMistake] = []
    func note(_ name: String) {
      mistakes.append(BatchMistake(entity: entity.name, property: name, reason: .missingValue))
    }
    for slot in entity.slots where slot.isStored && !slots.contains(slot.number) {
      switch slot.kind {
      case .attribute(let attribute, _), .composite(let attribute, _):
        if !attribute.isOptional, attribute.defaultValue == nil, attribute.derivation == nil {
          note(slot.name)
        }
      case .relationship(let relationship):
        if !relationship.description.isOptional { note(slot.name) }
      }
    }
    for slot in entity.slots where !slot.isStored && slot.relationship != nil {
      guard let relationship = slot.relationship?.description else { continue }
      // A new row has none of them yet.
      if !relationship.isOptional || relationship.minimumCount ?? 0 > 0 { note(slot.name) }
    }
    let fields = Set(given.map(\.name))
    for slot in entity.slots where slots.contains(slot.number) {
      guard case .composite(_, let all) = slot.kind, !fields.contains(slot.name) else { continue }
      for field in all
      where !field.description.isOptional && !fields.contains("\(slot.name).\(field.description.name)") {
        note("\(slot.name).\(field.description.name)")
      }
    }
    if !mistakes.isEmpty { throw BatchError.invalid(mistakes) }
  }

  /// The first key that no object has had or will have.
  func firstKey() throws -> ObjectKey {
    guard let store = stores.store(of: entity) else { throw StoreError.noStore(entity: entity.name) }
    let statement = try connection.statement(
      "SELECT coalesce((SELECT \"next\" FROM \(stores.schema(of: store)).\"_cdgen_keys\" WHERE \"entity\" = ?1), 1), "
        + "(SELECT coalesce(max(_pk), 0) FROM \(SQLite.quoted(entity.table)))")
    defer { statement.reset() }
    let root = model.entities[entity.root].name
    statement.bind(root, at: 1)
    _ = try statement.step()
    let next = statement.int64(0)
    guard next > 0, next > statement.int64(1), next <= SQLiteDatabase.largestKey else {
      throw StoreError.damagedKeys(store.url, entity: root)
    }
    return next
  }

  private func reserve(upTo key: ObjectKey) throws {
    guard let store = stores.store(of: entity) else { return }
    try execute(
      "INSERT INTO \(stores.schema(of: store)).\"_cdgen_keys\" (\"entity\", \"next\") VALUES (?1, ?2) "
        + "ON CONFLICT (\"entity\") DO UPDATE SET \"next\" = ?2",
      [.string(model.entities[entity.root].name), .int(key)])
  }

  // MARK: The statement

  /// The parameters are the key and the properties' columns; what all rows have alike is bound here.
  ///
  /// - Parameter updated: The columns that a row which is there already takes from the new one; nil for all that rows
  ///   have values for.
  func insertStatement(
    _ properties: [BatchProperty], _ uniqueness: BatchUniqueness, updating updated: [String]? = nil
  ) throws -> SQLiteStatement {
    let given = properties.flatMap(\.columns)
    var names = ["_pk", "_version"]
    var values = ["?1", "1"]
    if entity.hasEntityColumn {
      names.append("_entity")
      values.append(SQLite.literal(entity.name))
    }
    for (place, name) in given.enumerated() {
      names.append(SQLite.quoted(name))
      values.append("?\(place + 2)")
    }
    var constants: [AttributeValue] = []
    for (name, value) in defaults(except: given) {
      names.append(SQLite.quoted(name))
      if let value {
        values.append("?\(given.count + constants.count + 2)")
        constants.append(value)
      } else {
        values.append("randomblob(16)")
      }
    }
    let sql =
      "INSERT INTO \(SQLite.quoted(entity.table)) (\(names.joined(separator: ", "))) "
      + "VALUES (\(values.joined(separator: ", ")))"
      + conflictClauses(updated ?? given, uniqueness)
    let statement = try connection.makeStatement(sql)
    statement.bind(constants, from: Int32(clamping: given.count + 2))
    return statement
  }

  /// The columns with a default that rows give no value for, with what all rows have in them: nil for a UUID, which is
  /// each row's own.
  func defaults(except given: [String]) -> [(column: String, value: AttributeValue?)] {
    entity.slots.filter { $0.isStored && $0.attribute?.defaultValue != nil }.flatMap(defaults)
      .filter { !given.contains($0.column) }
      .map { column, value in
        switch value {
        case .uuid: (column, nil)
        case .now: (column, AttributeValue.date(now).stored)
        case .value(let value): (column, value.stored)
        }
      }
  }

  /// The columns of a slot with what they have by default.
  private func defaults(_ slot: PropertyPlan) -> [(column: String, value: DefaultValue)] {
    guard let value = slot.attribute?.defaultValue else { return [] }
    let names = slot.columns.map { entity.columns[$0].name }
    guard case .composite(_, let fields) = slot.kind else { return names.map { ($0, value) } }
    guard case .value(.composite(let values)) = value else { return [] }
    return zip(names, fields).map { ($0, .value(values[$1.description.name] ?? .null)) }
  }

  /// What is to be done where a `unique:` list refuses a row. A one-to-one reference is refused whatever is said.
  private func conflictClauses(_ columns: [String], _ uniqueness: BatchUniqueness) -> String {
    guard uniqueness != .refuse else { return "" }
    let action: String
    if uniqueness == .keep || columns.isEmpty {
      action = "DO NOTHING"
    } else {
      let assignments = columns.map { "\(SQLite.quoted($0)) = excluded.\(SQLite.quoted($0))" }
      action =
        "DO UPDATE SET "
        + (assignments + ["_version = (_version + 1) & 4294967295"]).joined(separator: ", ")
    }
    var clauses = ""
    for list in uniqueLists {
      let columns = list.columns.map(SQLite.quoted).joined(separator: ", ")
      let condition = model.isPart(list.owner).map { " WHERE " + $0 }.joined()
      clauses += " ON CONFLICT (\(columns))\(condition) \(action)"
    }
    return clauses + " RETURNING _pk"
  }

  /// The key of the row that was inserted or updated; nil for none.
  func writtenKey(_ statement: SQLiteStatement) throws -> ObjectKey? {
    defer { statement.reset() }
    var key: ObjectKey?
    while try statement.step() { key = statement.int64(0) }
    return key
  }
}
