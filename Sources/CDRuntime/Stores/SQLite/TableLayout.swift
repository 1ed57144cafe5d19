/// The definition of a table, in parts that a migration can compare.
struct TableLayout: Hashable, Sendable {
  let name: String
  let columns: [ColumnLayout]
  /// The clauses after the columns: checks, and the primary key of a join table.
  let constraints: [String]
  let options: String

  /// The `CREATE TABLE` statement.
  ///
  /// - Parameter schema: The name of the connection's database for the table; nil for the main database.
  @_optimize(none)
  func sql(schema: String? = nil) -> String {
    "CREATE TABLE \(schema.map { $0 + "." } ?? "")\(SQLText.quoted(name)) ("
      + (columns.map(\.sql) + constraints).joined(separator: ", ") + ") \(options)"
  }
}

/// The definition of a column.
struct ColumnLayout: Hashable, Sendable {
  /// A deferred foreign key to the `_pk` of a table.
  struct Reference: Hashable, Sendable {
    var table: String
    var action: String
  }

  let name: String
  let type: String
  /// Whether a value may be the name of a file that contains the real value.
  var mayNameFile: Bool { type == "ANY" }
  var key = ""
  var isNotNull = false
  var reference: Reference?

  var sql: String {
    let references = reference.map {
      " REFERENCES \(SQLText.quoted($0.table)) (\"_pk\")\($0.action) DEFERRABLE INITIALLY DEFERRED"
    }
    return SQLText.quoted(name) + " " + type + key + (isNotNull ? " NOT NULL" : "") + (references ?? "")
  }
}
