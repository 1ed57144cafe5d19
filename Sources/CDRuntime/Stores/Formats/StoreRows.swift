/// The tables of a store for a format, and the statements that read and write their rows.
struct StoreRows {
  struct Part {
    let table: StoreTable
    /// The narrow types of columns, whose range must be checked: integers of less than 64 bits, and Float. Nil for
    /// other columns.
    let storageTypes: [StorageType?]
    /// Returns the `SELECT` for all rows. The argument is the name of the database in the connection.
    let select: @Sendable (String) -> String
    let insert: String
  }

  /// The number of saves that a file keeps. No other process reads the file while it is open, so only this program
  /// reads the history.
  private static let historyLength = 1000

  private(set) var parts: [Part] = []
  /// The names of the root entities whose objects the store holds.
  let roots: [String]

  var tables: [StoreTable] { parts.map(\.table) }

  init(_ model: ModelPlan, store storeIndex: Int) {
    roots = model.entities.filter { $0.root == $0.index && $0.storeIndex == storeIndex }.map(\.name)
    addKeys()
    let layouts = Dictionary(
      SQLiteSchema(model, store: storeIndex).layouts.map { ($0.name, Set($0.columns.map(\.name))) },
      uniquingKeysWith: { first, _ in first })
    for entity in model.entities where entity.storeIndex == storeIndex && !entity.description.isAbstract {
      add(entity, columnsOfTable: layouts[entity.table] ?? [])
    }
    for join in model.joins where model.entities[join.source].storeIndex == storeIndex { add(join) }
    addHistory()
  }

  private mutating func add(
    _ kind: StoreTable.Kind, _ name: String, _ columns: [StoreColumn], storageTypes: [StorageType?] = [],
    insert: String, select: @escaping @Sendable (String) -> String
  ) {
    let table = StoreTable(kind: kind, name: name, columns: columns, index: parts.count)
    let rest = [StorageType?](repeating: nil, count: columns.count - storageTypes.count)
    parts.append(Part(table: table, storageTypes: storageTypes + rest, select: select, insert: insert))
  }

  private mutating func addKeys() {
    // In addition to the keys of the entities, this table contains the next number of a save, so that the numbers of
    // purged saves are not used again.
    add(
      .keys, "_keys", [StoreColumn("_entity", .string), StoreColumn("_next", .count)],
      insert: "INSERT INTO main.\"_cdgen_keys\" (\"entity\", \"next\") VALUES (?, ?)"
    ) { schema in
      "SELECT \"entity\", \"next\" FROM \(schema).\"_cdgen_keys\" UNION ALL SELECT '\(Self.historyKey)', "
        + "coalesce((SELECT seq FROM \(schema).sqlite_sequence WHERE name = '_cdgen_history'), 0) + 1 ORDER BY 1"
    }
  }

  /// The name of the entry for saves in the table of keys. No entity has this name.
  static let historyKey = "_history"

  private mutating func add(_ entity: EntityPlan, columnsOfTable: Set<String>) {
    var columns = [StoreColumn("_key", .key), StoreColumn("_version", .count)]
    var storageTypes: [StorageType?] = [nil, nil]
    var names = ["\"_pk\"", "\"_version\""]
    for column in entity.columns {
      storageTypes.append(Self.narrowType(of: column))
      columns.append(StoreColumn(column.name, Self.type(of: column, in: entity)))
      names.append(SQLText.quoted(column.name))
    }
    for column in entity.columns where column.isReference {
      let position = column.name + ".position"
      guard columnsOfTable.contains(position) else { continue }
      columns.append(StoreColumn(position, .count))
      names.append(SQLText.quoted(position))
    }
    let table = SQLText.quoted(entity.table)
    let condition = entity.hasEntityColumn ? " WHERE \"_entity\" = \(SQLText.literal(entity.name))" : ""
    let list = names.joined(separator: ", ")
    let marks = names.map { _ in "?" }.joined(separator: ", ")
    let insert =
      entity.hasEntityColumn
      ? "INSERT INTO main.\(table) (\(list), \"_entity\") VALUES (\(marks), \(SQLText.literal(entity.name)))"
      : "INSERT INTO main.\(table) (\(list)) VALUES (\(marks))"
    add(.objects, entity.name, columns, storageTypes: storageTypes, insert: insert) { schema in
      "SELECT \(list) FROM \(schema).\(table)\(condition) ORDER BY \"_pk\""
    }
  }

  private static func narrowType(of column: ColumnPlan) -> StorageType? {
    if column.isReference { return nil }
    let type = column.storageType
    let isNarrow = type.integerRange.map { $0 != Int64.min...Int64.max } ?? (type == .float)
    return isNarrow ? type : nil
  }

  private static func type(of column: ColumnPlan, in entity: EntityPlan) -> StoreColumn.ValueType {
    if column.isReference { return .key }
    if entity.slots[column.slot].attribute?.storesExternally == true { return .externalData }
    return StoreColumn.ValueType(column.storageType)
  }

  private mutating func add(_ join: JoinPlan) {
    var columns = [StoreColumn("_source", .key), StoreColumn("_target", .key)]
    if join.isOrdered { columns.append(StoreColumn("_position", .count)) }
    if join.isInverseOrdered { columns.append(StoreColumn("_inverse_position", .count)) }
    let table = SQLText.quoted(join.table)
    let list = columns.map { SQLText.quoted($0.name) }.joined(separator: ", ")
    let marks = columns.map { _ in "?" }.joined(separator: ", ")
    add(.pairs, join.table, columns, insert: "INSERT INTO main.\(table) (\(list)) VALUES (\(marks))") {
      schema in
      "SELECT \(list) FROM \(schema).\(table) ORDER BY \"_source\", \"_target\""
    }
  }

  private mutating func addHistory() {
    let list = "\"id\", \"time\", \"origin\", \"author\", \"changes\""
    add(
      .history, "_history",
      [
        StoreColumn("_id", .count), StoreColumn("_time", .date), StoreColumn("_origin", .string),
        StoreColumn("_author", .string), StoreColumn("_changes", .json),
      ], insert: "INSERT INTO main.\"_cdgen_history\" (\(list)) VALUES (?, ?, ?, ?, ?)"
    ) { schema in
      "SELECT \(list) FROM (SELECT \(list) FROM \(schema).\"_cdgen_history\" ORDER BY \"id\" DESC "
        + "LIMIT \(Self.historyLength)) ORDER BY \"id\""
    }
  }
}
