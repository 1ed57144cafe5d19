import CSQLite

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The statement behind ``EntityClass/objects(matching:_:in:)`` for one attribute, kept by the context: a
/// lookup by a value then costs little more than SQLite's own search.
///
/// It answers what SQLite's `=` decides as a predicate's does. Anything else is left to ``FetchRun``.
final class ValueMatch {
  // Keeps the key path alive, so that no other one gets its identity.
  let path: AnyKeyPath
  let plan: EntityPlan
  private let select: EntitySelect
  private let cell: CellType
  private let sql: String
  /// With and without a limit of two rows.
  private var statements: [SQLiteStatement?] = [nil, nil]

  /// Nil where `=` would not do.
  init?(path: AnyKeyPath, keys: [String], entity: EntityPlan, model: ModelPlan) {
    guard keys.count == 1, let slot = entity.slot(keys[0]), slot.isStored,
      case .attribute(_, let cell) = slot.kind
    else { return nil }
    switch cell {
    case .string, .bool, .int16, .int32, .int64, .uuid: break
    case .float, .double, .decimal, .date, .data, .url, .codable: return nil
    }
    self.path = path
    self.cell = cell
    plan = entity
    select = model.selects[entity.index]
    let column = SQLite.quoted(entity.columns[slot.columns.lowerBound].name)
    sql =
      select.sql + " WHERE " + (select.condition.map { $0 + " AND " } ?? "")
      + "t0.\(column) = ?1 ORDER BY t0._pk"
  }

  /// The objects that have a value; nil where the value is none that `=` finds.
  func objects(_ value: AttributeValue, isSingle: Bool, in context: ManagedObjectContext) throws
    -> [ManagedObject]?
  {
    switch (value, cell) {
    case (.string(var text), .string):
      let statement = try statement(isSingle, context)
      return try text.withUTF8 { bytes in
        // SQLite reads the bytes where they are: the statement is done with them before they go.
        bytes.withMemoryRebound(to: CChar.self) {
          // No address would be NULL.
          let empty = $0.isEmpty || $0.baseAddress == nil
          _ =
            empty
            ? sqlite3_bind_text(statement.handle, 1, "", 0, SQLite.copied)
            : sqlite3_bind_text(statement.handle, 1, $0.baseAddress, Int32(clamping: $0.count), nil)
        }
        defer { sqlite3_bind_null(statement.handle, 1) }
        return try context.objects(from: statement, select, of: plan)
      }
    case (.bool(let isTrue), .bool):
      return try objects(isTrue ? 1 : 0, isSingle, context)
    case (.int(let number), .int16), (.int(let number), .int32), (.int(let number), .int64):
      return try objects(number, isSingle, context)
    case (.uuid(let uuid), .uuid):
      let statement = try statement(isSingle, context)
      withUnsafeBytes(of: uuid.uuid) {
        _ = sqlite3_bind_blob(statement.handle, 1, $0.baseAddress, 16, SQLite.copied)
      }
      return try context.objects(from: statement, select, of: plan)
    default: return nil
    }
  }

  private func objects(_ number: Int64, _ isSingle: Bool, _ context: ManagedObjectContext) throws
    -> [ManagedObject]
  {
    let statement = try statement(isSingle, context)
    statement.bind(number, at: 1)
    return try context.objects(from: statement, select, of: plan)
  }

  private func statement(_ isSingle: Bool, _ context: ManagedObjectContext) throws -> SQLiteStatement {
    // Asked for at each call, for it may have to begin a snapshot.
    let connection = try context.reader()
    if let statement = statements[isSingle ? 1 : 0] { return statement }
    let statement = try connection.makeStatement(sql + (isSingle ? " LIMIT 2" : ""))
    statements[isSingle ? 1 : 0] = statement
    return statement
  }
}

extension ManagedObjectContext {
  /// The objects that have a value in the store; nil where a fetch has to decide.
  func matches<Object: EntityClass, Value>(
    _ path: KeyPath<Fields<Object>, Attribute<Value>>, _ value: AttributeValue, isSingle: Bool
  ) throws -> [Object]? {
    // Unsaved changes count, and no statement knows them.
    guard pending.isEmpty, parent == nil else { return nil }
    // Before its statement is taken, which is one of the connection's.
    noticeRemovals()
    guard let match = valueMatch(path) else { return nil }
    return try match.objects(value, isSingle: isSingle, in: self).map(ManagedObject.cast)
  }

  private func valueMatch<Object: EntityClass, Value>(
    _ path: KeyPath<Fields<Object>, Attribute<Value>>
  ) -> ValueMatch? {
    // A literal key path is one object for the program's life; one made anew just misses the cache.
    if let lastMatch, lastMatch.path === path { return lastMatch }
    let found = valueMatches[ObjectIdentifier(path)] ?? makeMatch(path)
    if let found { lastMatch = found }
    return found
  }

  private func makeMatch<Object: EntityClass, Value>(
    _ path: KeyPath<Fields<Object>, Attribute<Value>>
  ) -> ValueMatch? {
    guard let entity = model.entity(Object.entityName), stores.home(of: entity) != nil,
      entity.objectType == Object.self,
      let match = ValueMatch(path: path, keys: Fields()[keyPath: path].keys, entity: entity, model: model)
    else { return nil }
    if valueMatches.count >= 200 { valueMatches.removeAll() }
    valueMatches[ObjectIdentifier(path)] = match
    return match
  }
}
