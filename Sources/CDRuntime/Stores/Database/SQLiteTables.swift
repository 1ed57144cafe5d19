import CSQLite

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The statements that read and write the rows of a store's table for a format.
private struct TableStatements {
  /// The table; without the name of a database.
  private let table: String
  private let columns: [String]
  private let content: StoreTables.Content

  @_optimize(none)
  init(_ part: StoreTables.Part) {
    content = part.content
    let names = part.table.columns.map(\.name)
    switch part.content {
    case .keys:
      table = "\"_cdgen_keys\""
      columns = ["\"entity\"", "\"next\""]
    case .objects(let entity):
      table = SQLText.quoted(entity.table)
      columns = ["\"_pk\"", "\"_version\""] + names.dropFirst(2).map(SQLText.quoted)
    case .pairs(let join):
      table = SQLText.quoted(join.table)
      columns = names.map(SQLText.quoted)
    case .history:
      table = "\"_cdgen_history\""
      columns = ["\"id\"", "\"time\"", "\"origin\"", "\"author\"", "\"changes\""]
    }
  }

  private var list: String { columns.joined(separator: ", ") }

  /// Selects all rows.
  ///
  /// - Parameter schema: The name of the database in the connection.
  @_optimize(none)
  func select(_ schema: String) -> String {
    let select = "SELECT \(list) FROM \(schema).\(table)"
    return switch content {
    case .keys:
      "\(select) UNION ALL SELECT '\(StoreBuilder.historyKey)', "
        + "coalesce((SELECT seq FROM \(schema).sqlite_sequence WHERE name = '_cdgen_history'), 0) + 1 ORDER BY 1"
    case .objects(let entity):
      "\(select)\(entity.hasEntityColumn ? " WHERE \"_entity\" = \(SQLText.literal(entity.name))" : "") "
        + "ORDER BY \"_pk\""
    case .pairs: "\(select) ORDER BY \"_source\", \"_target\""
    case .history:
      "SELECT \(list) FROM (\(select) ORDER BY \"id\" DESC LIMIT \(StoreTables.historyLength)) ORDER BY \"id\""
    }
  }

  /// Inserts a row, with a parameter for each column.
  @_optimize(none)
  var insert: String {
    let marks = columns.map { _ in "?" }.joined(separator: ", ")
    if case .objects(let entity) = content, entity.hasEntityColumn {
      return
        "INSERT INTO main.\(table) (\(list), \"_entity\") VALUES (\(marks), \(SQLText.literal(entity.name)))"
    }
    return "INSERT INTO main.\(table) (\(list)) VALUES (\(marks))"
  }
}

// MARK: Reading

/// The tables of a connection's database, for the file of a format.
struct SQLiteTableSource: TableSource {
  let connection: SQLiteConnection
  /// The name of the database in the connection.
  let schema: String

  func metadata() throws -> [String: String] { try connection.metadataEntries(schema: schema) }

  func forEachRow(of part: StoreTables.Part, _ body: ([StoreValue]) throws -> Void) throws {
    let columns = part.table.columns
    let statement = try connection.makeStatement(TableStatements(part).select(schema))
    var row = [StoreValue](repeating: .null, count: columns.count)
    let decimals = columns.indices.filter { columns[$0].type == .decimal }
    while try statement.step() {
      for column in row.indices { row[column] = statement.storeValue(Int32(truncatingIfNeeded: column)) }
      for column in decimals {
        // SQLite stores a sort key before the digits of a decimal. A format must not see it.
        if case .text(let text) = row[column], let blank = text.utf8.lastIndex(of: UInt8(ascii: " ")) {
          row[column] = .text(String(text[text.utf8.index(after: blank)...]))
        }
      }
      try body(row)
    }
  }

  @_optimize(none)
  func strangeEntity(in root: EntityPlan, of model: ModelPlan) throws -> String? {
    let table = "\(schema).\(SQLText.quoted(root.table))"
    guard let strange = model.strangeRows(of: root, table: table) else { return nil }
    return try connection.rows(strange + " LIMIT 1").first.map { $0[1] ?? "" }
  }
}

extension StoreContents {
  /// - Parameters:
  ///   - schema: The name of the database in the connection.
  ///   - isCopy: Whether the contents are for a store with another name, which has no backups.
  ///   - entries: Metadata entries that replace the ones in the rows.
  ///   - files: Files of large values that come into the rows; nil if the rows keep the files' names.
  ///   - watch: Returns the source to read instead.
  @_optimize(none)
  convenience init(
    _ tables: StoreTables, _ connection: SQLiteConnection, schema: String, isCopy: Bool = false,
    replacing entries: [String: String] = [:], inlining files: ExternalFiles? = nil,
    watch: (any TableSource) -> any TableSource = { $0 }
  ) throws {
    let rows = SQLiteTableSource(connection: connection, schema: schema)
    let source: any TableSource = files.map { InlineValues(source: rows, files: $0) } ?? rows
    try self.init(tables, from: watch(source), isCopy: isCopy, replacing: entries)
  }
}

extension SQLiteStatement {
  fileprivate func storeValue(_ column: Int32) -> StoreValue {
    switch sqlite3_column_type(handle, column) {
    case SQLITE_INTEGER: return .integer(sqlite3_column_int64(handle, column))
    case SQLITE_FLOAT: return .real(sqlite3_column_double(handle, column))
    case SQLITE_TEXT: return .text(string(column) ?? "")
    case SQLITE_BLOB:
      let bytes = sqlite3_column_blob(handle, column)
      let count = Int(sqlite3_column_bytes(handle, column))
      return .bytes(bytes.map { Data(bytes: $0, count: count) } ?? Data())
    default: return .null
    }
  }

  fileprivate func bind(_ value: StoreValue, at parameter: Int32) {
    switch value {
    case .null: sqlite3_bind_null(handle, parameter)
    case .integer(let number): sqlite3_bind_int64(handle, parameter, number)
    case .real(let number): sqlite3_bind_double(handle, parameter, number)
    case .text(let text): bind(text, at: parameter)
    case .bytes(let data):
      _ = data.withUnsafeBytes { bytes in
        if bytes.isEmpty {
          sqlite3_bind_zeroblob(handle, parameter, 0)
        } else {
          sqlite3_bind_blob64(handle, parameter, bytes.baseAddress, UInt64(bytes.count), SQLite.copied)
        }
      }
    }
  }
}

// MARK: Writing

/// The tables of a store in an empty database, which receive the rows of another format's file.
private final class SQLiteTableReceiver: TableReceiver {
  private let connection: SQLiteConnection
  private let url: URL
  /// Whether the store gets a UUID of its own, instead of that in the metadata.
  private let isReplica: Bool
  private var tables: (schema: SQLSchema, model: ModelPlan, roots: [String])?

  init(_ connection: SQLiteConnection, url: URL, isReplica: Bool) {
    self.connection = connection
    self.url = url
    self.isReplica = isReplica
  }

  @_optimize(none)
  func begin(_ model: ModelPlan, store: Int, metadata: [String: String]) throws {
    let schema = SQLSchema(model, store: store)
    try connection.execute("PRAGMA foreign_keys = OFF; BEGIN IMMEDIATE")
    for sql in SQLSchema.systemTables + schema.tables { try connection.execute(sql) }
    try connection.writeMetadata(metadata)
    tables = (schema, model, StoreTables(model, store: store).roots)
  }

  func insertion(into part: StoreTables.Part) throws -> any RowReceiver {
    SQLiteRowReceiver(try connection.makeStatement(TableStatements(part).insert), part.table)
  }

  @_optimize(none)
  func finish(nextSave: Int64) throws {
    guard let (schema, model, roots) = tables else { throw StoreFormatError(.truncated) }
    for index in schema.indexes {
      do {
        try connection.execute(index.sql)
      } catch let error as StoreError where error.isUniquenessViolation {
        throw StoreFormatError(.notUnique(index: index.name))
      }
    }
    try checkReferences(model)
    for root in roots {
      // The next key must be greater than each existing key.
      let name = SQLText.literal(root)
      let next = "(SELECT coalesce(max(\"_pk\"), 0) + 1 FROM \(SQLText.quoted(root)))"
      try connection.execute(
        "INSERT INTO \"_cdgen_keys\" (\"entity\", \"next\") VALUES (\(name), \(next)) "
          + "ON CONFLICT (\"entity\") DO UPDATE SET \"next\" = max(\"next\", \(next))")
    }
    if isReplica { try connection.writeMetadata(connection.replicaEntries(of: url, roots: roots)) }
    if nextSave > 1 {
      try connection.execute("DELETE FROM sqlite_sequence WHERE name = '_cdgen_history'")
      try connection.execute(
        "INSERT INTO sqlite_sequence (name, seq) VALUES ('_cdgen_history', "
          + "max(\(nextSave - 1), coalesce((SELECT max(\"id\") FROM \"_cdgen_history\"), 0)))")
    }
    try connection.execute("COMMIT; PRAGMA foreign_keys = ON")
  }

  private func checkReferences(_ model: ModelPlan) throws {
    let statement = try connection.makeStatement("PRAGMA foreign_key_check")
    guard try statement.step() else { return }
    let (table, destination) = (statement.string(0) ?? "", statement.string(2) ?? "")
    let key = try statement.isNull(1) ? pairKey(table, statement.int64(3)) : statement.int64(1)
    throw StoreFormatError(.danglingReference(entity: table, key: key, destination: destination))
  }

  /// Returns the source of a pair with a missing object. Rows of a join table have no number of their own.
  @_optimize(none)
  private func pairKey(_ table: String, _ foreignKey: Int64) throws -> Int64? {
    let name = SQLText.quoted(table)
    for row in try connection.rows("PRAGMA foreign_key_list(\(name))") where row[0] == "\(foreignKey)" {
      guard let destination = row[2], let column = row[3] else { return nil }
      let found = try connection.scalar(
        "SELECT min(\"_source\") FROM \(name) WHERE \(SQLText.quoted(column)) NOT IN "
          + "(SELECT \"_pk\" FROM \(SQLText.quoted(destination)))")
      return found.flatMap { Int64($0) }
    }
    return nil
  }
}

/// The insertion of rows into one table.
private final class SQLiteRowReceiver: RowReceiver {
  private let statement: SQLiteStatement
  private let table: StoreTable

  init(_ statement: SQLiteStatement, _ table: StoreTable) {
    self.statement = statement
    self.table = table
  }

  func place(_ value: StoreValue, at index: Int) { statement.bind(value, at: Int32(index + 1)) }

  func place(_ number: Decimal, at index: Int) -> Bool {
    guard let text = DecimalText.encode(number) else { return false }
    statement.bind(text, at: Int32(index + 1))
    return true
  }

  func insert() throws {
    do {
      try statement.run()
    } catch let error as StoreError { throw refusal(error) ?? error }
  }

  /// The reason why the table refuses the row; nil if the error has another cause.
  @_optimize(none)
  private func refusal(_ error: StoreError) -> (any Error)? {
    guard error.isConstraintViolation, case .engine(_, let engineError) = error else { return nil }
    // SQLITE_CONSTRAINT_ROWID, which is a macro in the C header.
    if error.isUniquenessViolation || error.sqliteCode == SQLITE_CONSTRAINT | (10 << 8) {
      return RowRefusal.duplicateKey
    }
    // The message ends with the column, for example `NOT NULL constraint failed: Table.column`.
    let message = engineError.message
    let column = table.columns.first { column in
      message.hasPrefix("NOT NULL") && message.hasSuffix("." + column.name)
    }
    return column.map { RowRefusal.missingValue(column: $0.name) } ?? RowRefusal.constraint
  }
}

extension StoreBuilder {
  /// - Parameters:
  ///   - connection: An empty database.
  ///   - current: A model that the store may have, and the index of the store in that model.
  ///   - largeValues: The files of large values, if the new store is a copy.
  ///   - isReplica: Whether the store gets a UUID of its own, instead of that in the metadata.
  convenience init(
    _ connection: SQLiteConnection, url: URL, current: (plan: ModelPlan, storeIndex: Int)? = nil,
    largeValues: CopiedValues? = nil, isReplica: Bool = false
  ) {
    self.init(
      SQLiteTableReceiver(connection, url: url, isReplica: isReplica), url: url, current: current,
      largeValues: largeValues)
  }
}
