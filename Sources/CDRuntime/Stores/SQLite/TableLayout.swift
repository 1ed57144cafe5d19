/// A table as it is made, in parts that a migration can compare.
struct TableLayout: Hashable, Sendable {
  let name: String
  let columns: [ColumnLayout]
  /// What stands behind the columns: checks, and the primary key of a table of pairs.
  let constraints: [String]
  let options: String

  /// `CREATE TABLE`.
  ///
  /// - Parameter schema: The database on the connection to make it in; nil for the main one.
  func sql(schema: String? = nil) -> String {
    "CREATE TABLE \(schema.map { $0 + "." } ?? "")\(SQLite.quoted(name)) ("
      + (columns.map(\.sql) + constraints).joined(separator: ", ") + ") \(options)"
  }
}

/// A column as it is made.
struct ColumnLayout: Hashable, Sendable {
  /// A deferred foreign key to the `_pk` of a table.
  struct Reference: Hashable, Sendable {
    var table: String
    var action: String
  }

  let name: String
  let type: String
  /// Whether a value may be the name of a file that holds it.
  var mayNameFile: Bool { type == "ANY" }
  var key = ""
  var isNotNull = false
  var reference: Reference?

  var sql: String {
    let references = reference.map {
      " REFERENCES \(SQLite.quoted($0.table)) (\"_pk\")\($0.action) DEFERRABLE INITIALLY DEFERRED"
    }
    return SQLite.quoted(name) + " " + type + key + (isNotNull ? " NOT NULL" : "") + (references ?? "")
  }
}
