import CSQLite

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The tables, indexes, views and triggers that a SQLite file holds.
///
/// A schema can run code. Triggers run when rows change. Views and virtual tables can take the place of tables. Checks
/// and index expressions are calculated for each row. So a store is used only if its schema is known: the tables have
/// the SQL text of this release, and there are no triggers, views or virtual tables.
struct StoredSchema {
  private struct Object {
    let type: String
    let name: String
    let table: String
    let sql: String?

    /// The name in the form in which SQLite compares it.
    var key: String { StoredSchema.key(name) }
  }

  private let objects: [Object]
  private let connection: SQLiteConnection

  init(_ connection: SQLiteConnection, schema: String = "main") throws {
    self.connection = connection
    objects = try connection.rows("SELECT type, name, tbl_name, sql FROM \(schema).sqlite_master").map {
      Object(type: $0[0] ?? "", name: $0[1] ?? "", table: $0[2] ?? "", sql: $0[3])
    }
  }

  var isEmpty: Bool { objects.isEmpty }

  /// The names of the tables.
  var tables: Set<String> { Set(objects.filter { $0.type == "table" }.map(\.name)) }

  /// The SQL text of each index by name, without the indexes that SQLite creates for keys.
  var indexes: [String: String] {
    objects.reduce(into: [:]) { result, object in
      if object.type == "index", let sql = object.sql { result[object.name] = sql }
    }
  }

  // MARK: Expected objects

  /// Throws an error if a database is not a store, or has objects other than tables and indexes. The check is the same
  /// for all models.
  func check(of url: URL) throws(StoreError) {
    guard objects.contains(where: { $0.name == Self.metadata }) else { throw .foreignDatabase(url) }
    let foreign = objects.filter { object in
      switch object.type {
      case "index": false
      case "table":
        object.sql?.uppercased().hasPrefix("CREATE TABLE") != true
          || Self.systemTables[object.key].map { $0 != object.sql } ?? false
      default: true
      }
    }
    if !foreign.isEmpty { throw .foreignSchema(url, objects: foreign.map(describe).ordered()) }
  }

  /// Throws an error if a table of the model has an unexpected definition, which could do more than hold rows. Does not
  /// repeat ``check(of:)``.
  func check(_ expected: SQLSchema, of url: URL) throws {
    var layouts: [String: TableLayout] = [:]
    for layout in expected.layouts {
      let key = Self.key(layout.name)
      if layouts[key] == nil { layouts[key] = layout }
    }
    // A missing table is damage. The first statement that uses the table reports it.
    let foreign = try objects.filter { object in
      guard object.type == "table", let layout = layouts[object.key] else { return false }
      return try object.sql != layout.sql() && !isAltered(object, layout)
    }
    if !foreign.isEmpty { throw StoreError.foreignSchema(url, objects: foreign.map(describe).ordered()) }
  }

  /// Throws an error if SQLite would take a table of the file for one of the tables that the file seems not to have. The names
  /// then differ only in capital letters.
  ///
  /// - Parameter tables: The names of the tables that the file does not have.
  @_optimize(none)
  func check(without tables: [String], of url: URL) throws(StoreError) {
    let keys = Set(tables.map(Self.key))
    let foreign = objects.filter { $0.type == "table" && keys.contains($0.key) }
    if !foreign.isEmpty { throw .foreignSchema(url, objects: foreign.map(describe).ordered()) }
  }

  /// Throws an error if another program has created a table with a name that a migration needs for a new table.
  ///
  /// - Parameters:
  ///   - expected: The tables that the store has before the migration.
  ///   - created: The tables of each version that the migration creates.
  @_optimize(none)
  func check(_ expected: SQLSchema, creating created: [SQLSchema], of url: URL) throws(StoreError) {
    let tables = Set(expected.layouts.map { Self.key($0.name) })
    let names = Set(created.flatMap { $0.layouts.map { Self.key($0.name) } })
    let foreign = objects.filter {
      $0.type == "table" && names.contains($0.key) && isForeignTable($0, besides: tables)
    }
    if !foreign.isEmpty { throw .foreignSchema(url, objects: foreign.map(describe).ordered()) }
  }

  /// Returns descriptions of foreign tables and indexes that do not prevent the use of the store. No statement of this
  /// library reads the tables, and an index of plain columns does not change results.
  @_optimize(none)
  func harmlessObjects(_ expected: SQLSchema) -> [String] {
    let tables = Set(expected.layouts.map { Self.key($0.name) })
    let indexes = Dictionary(expected.indexes.map { ($0.name, $0.sql) }) { first, _ in first }
    return objects.filter { object in
      switch object.type {
      case "table": isForeignTable(object, besides: tables)
      case "index":
        object.sql != nil && indexes[object.name] != object.sql
          && tables.contains(Self.key(object.table))
      default: false
      }
    }.map(describe)
  }

  /// Returns the indexes that a store of a model may have to lose: all except those of tables that another program has
  /// created. If such an index has the name of one of the model's indexes, it is in the way and belongs to the result.
  @_optimize(none)
  func removableIndexes(
    _ expected: SQLSchema, for wanted: SQLSchema
  ) -> [(name: String, table: String, sql: String)] {
    let foreign = Set(foreignTables(expected))
    let names = Set(wanted.indexes.map { Self.key($0.name) })
    return objects.compactMap { object in
      guard object.type == "index", let sql = object.sql,
        !foreign.contains(object.table) || names.contains(object.key)
      else { return nil }
      return (object.name, object.table, sql)
    }
  }

  /// The names of the tables that another program has created.
  @_optimize(none)
  func foreignTables(_ expected: SQLSchema) -> [String] {
    let tables = Set(expected.layouts.map { Self.key($0.name) })
    return objects.filter { $0.type == "table" && isForeignTable($0, besides: tables) }.map(\.name)
  }

  /// - Parameter tables: The names of the model's tables.
  private func isForeignTable(_ object: Object, besides tables: Set<String>) -> Bool {
    !tables.contains(object.key) && !Self.isSystemTable(object) && !Self.ofSQLite.contains(object.name)
  }

  /// Returns whether the store has all expected indexes. Other indexes are allowed if they have only plain columns. An
  /// index that can refuse a row or that calculates expressions is not allowed.
  @_optimize(none)
  func hasIndexes(of expected: SQLSchema) throws -> Bool {
    let present = indexes
    guard expected.indexes.allSatisfy({ present[$0.name] == $0.sql }) else { return false }
    guard present.count > expected.indexes.count else { return true }
    let names = Set(expected.indexes.map(\.name))
    let tables = Set(expected.layouts.map { Self.key($0.name) })
    return try objects.allSatisfy { object in
      guard object.type == "index", object.sql != nil, !names.contains(object.name),
        tables.contains(Self.key(object.table))
      else { return true }
      return try isPlain(object)
    }
  }

  // MARK: Comparing

  private static let metadata = "_cdgen_metadata"

  /// SQLite's internal tables.
  private static let ofSQLite: Set<String> = [
    "sqlite_sequence", "sqlite_stat1", "sqlite_stat2", "sqlite_stat3", "sqlite_stat4",
  ]

  /// The SQL text of each table that every store has, by name.
  private static let systemTables: [String: String] = {
    let names = ["_cdgen_metadata", "_cdgen_keys", "_cdgen_history", "_cdgen_files"]
    return Dictionary(zip(names, SQLSchema.systemTables)) { first, _ in first }
  }()

  private static func isSystemTable(_ object: Object) -> Bool {
    systemTables[object.key].map { $0 == object.sql } ?? false
  }

  /// Returns a name with the capital letters of ASCII made small. SQLite takes names that differ only in them for the same.
  private static func key(_ name: String) -> String {
    String(decoding: name.utf8.map { (65...90).contains($0) ? $0 + 32 : $0 }, as: UTF8.self)
  }

  @_optimize(none)
  private func describe(_ object: Object) -> String {
    let isVirtual = object.type == "table" && object.sql?.uppercased().hasPrefix("CREATE VIRTUAL") == true
    return "the \(isVirtual ? "virtual table" : object.type) '\(object.name)'"
      + (object.table == object.name ? "" : " on '\(object.table)'")
  }

  /// Returns whether a table's text differs only by changes that migrations make: columns in another order, and
  /// defaults for rows that are older than a column.
  @_optimize(none)
  private func isAltered(_ object: Object, _ layout: TableLayout) throws -> Bool {
    guard let sql = object.sql else { return false }
    let columns = try connection.rows(
      "SELECT name, dflt_value FROM pragma_table_xinfo(\(SQLText.literal(object.name))) ORDER BY cid")
    let definitions = Dictionary(layout.columns.map { ($0.name, $0) }) { first, _ in first }
    guard columns.count == definitions.count else { return false }
    var texts: [String] = []
    for column in columns {
      guard let definition = definitions[column[0] ?? ""] else { return false }
      // SQLite returns an expression without the parentheses that its declaration has, so only a literal default can
      // match the table's text.
      texts.append(definition.sql + (column[1].map { " DEFAULT \($0)" } ?? ""))
    }
    return sql
      == "CREATE TABLE \(SQLText.quoted(layout.name)) ("
      + (texts + layout.constraints).joined(separator: ", ") + ") \(layout.options)"
  }

  /// Returns whether an index has only columns, covers all rows and is not unique.
  @_optimize(none)
  private func isPlain(_ object: Object) throws -> Bool {
    let name = SQLText.literal(object.name)
    let list = try connection.rows(
      "SELECT \"unique\", partial FROM pragma_index_list(\(SQLText.literal(object.table))) WHERE name = \(name)"
    )
    let expressions = try connection.rows("SELECT 1 FROM pragma_index_info(\(name)) WHERE cid < 0")
    return list.first == ["0", "0"] && expressions.isEmpty
  }
}
