import CDModel
import Foundation
import Testing

@testable import CDPostgresStore
@testable import CDRuntime

/// The contents of stores, to be compared.
enum StoreText {
  /// All that a store holds, as text: every bit of every number too.
  static func contents(_ location: StoreLocation) throws -> [String] {
    let folder = FileManager.default.temporaryDirectory.appending(path: "cdgen-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    func text(_ value: StoreValue, _ files: ExternalFiles?, _ column: StoreColumn) throws -> String {
      switch value {
      case .real(let number): return "real \(number.bitPattern)"
      case .text(let name) where column.type == .externalData:
        return try text(.bytes(#require(files).read(name)), nil, column)
      case .bytes(let data): return "bytes \(data.count) \(data.hashValue)"
      case .text(let text):
        return text.utf8.count > 1000 ? "text \(text.utf8.count) \(text.hashValue)" : "text \(text)"
      default: return "\(value)"
      }
    }
    var lines: [String] = []
    func note(_ contents: StoreContents, _ files: ExternalFiles?) throws {
      lines += contents.metadata.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
      for table in contents.tables {
        lines.append(table.name)
        try contents.forEachRow(of: table) { row in
          lines.append(try zip(row, table.columns).map { try text($0, files, $1) }.joined(separator: " | "))
        }
      }
    }
    if case .engine(let engine) = location {
      try engine.requiredTransfer.read { try note($0.contents(), nil) }
    } else {
      let url = try #require(location.url)
      let connection = try SQLiteConnection.reading(url)
      let source = SQLiteTableSource(connection: connection, schema: "main")
      let names = Set(
        try connection.rows("SELECT name FROM sqlite_master WHERE type = 'table'").compactMap { $0[0] })
      try note(StoredTables(source, names: names, url: url).contents(), ExternalFiles(store: url))
    }
    return lines
  }

  /// The tables of a store on the server: columns, constraints and indexes with their names, in no order.
  ///
  /// The names of NOT NULL constraints are left out. PostgreSQL 18 has such names, and keeps them when a column is renamed.
  /// Whether a column is NOT NULL is part of the column's line.
  static func catalog(_ store: ServerStore) throws -> [String] {
    let queries = [
      """
      SELECT concat_ws(' ', c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, l.collname,
        pg_get_expr(d.adbin, d.adrelid))
      FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid JOIN pg_namespace AS n ON n.oid = c.relnamespace
      LEFT JOIN pg_collation AS l ON l.oid = a.attcollation
      LEFT JOIN pg_attrdef AS d ON d.adrelid = c.oid AND d.adnum = a.attnum
      WHERE n.nspname = ? AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped
      """,
      """
      SELECT concat_ws(' ', c.relname, k.conname, pg_get_constraintdef(k.oid), k.convalidated)
      FROM pg_constraint AS k JOIN pg_class AS c ON c.oid = k.conrelid JOIN pg_namespace AS n ON n.oid = c.relnamespace
      WHERE n.nspname = ? AND k.contype <> 'n'
      """,
      """
      SELECT concat_ws(' ', pg_get_indexdef(i.indexrelid), i.indisvalid, i.indisprimary)
      FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indrelid JOIN pg_namespace AS n ON n.oid = c.relnamespace
      WHERE n.nspname = ? AND c.relkind = 'r'
      """,
    ]
    return try queries.flatMap { query in
      let result = try store.sql(query, [.value(.string(store.server.schema))])
      return (0..<result.rowCount).compactMap { result.string($0, 0) }.map {
        // Definitions of constraints and indexes name the schema.
        $0.split(separator: "\"\(store.server.schema)\".", omittingEmptySubsequences: false).joined()
      }.sorted()
    }
  }

  /// The identity that the server gives to a table. Another table of the same name has another one.
  static func identity(of table: String, _ store: ServerStore) throws -> Int64 {
    try store.sql(
      "SELECT CAST(c.oid AS bigint) FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace "
        + "WHERE n.nspname = ? AND c.relname = ?",
      [.value(.string(store.server.schema)), .value(.string(table))]
    ).int(0, 0)
  }
}
