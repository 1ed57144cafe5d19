/// The definition of a table, in parts that a migration can compare.
package struct TableLayout: Hashable, Sendable {
  package let name: String
  package let columns: [ColumnLayout]
  /// The clauses after the columns: checks, and the primary key of a join table.
  package let constraints: [String]
  /// The text after the columns and constraints; empty for none.
  package let options: String

  /// The `CREATE TABLE` statement.
  ///
  /// - Parameter schema: The name of the connection's database for the table; nil for the main database.
  @_optimize(none)
  package func sql(schema: String? = nil) -> String {
    "CREATE TABLE \(schema.map { $0 + "." } ?? "")\(SQLText.quoted(name)) ("
      + (columns.map(\.sql) + constraints).joined(separator: ", ") + ")"
      + (options.isEmpty ? "" : " " + options)
  }
}

/// The definition of a column.
package struct ColumnLayout: Hashable, Sendable {
  /// A deferred foreign key to the `_pk` of a table.
  package struct Reference: Hashable, Sendable {
    package var table: String
    package var action: String
  }

  package let name: String
  package let type: String
  /// Whether a value may be the name of a file that contains the real value.
  package var mayNameFile = false
  /// The text that makes the column the table's key; empty for other columns.
  package var key = ""
  package var isNotNull = false
  package var reference: Reference?

  /// The definition in a statement.
  package var sql: String {
    let references = reference.map {
      " REFERENCES \(SQLText.quoted($0.table)) (\"_pk\")\($0.action) DEFERRABLE INITIALLY DEFERRED"
    }
    return SQLText.quoted(name) + " " + type + key + (isNotNull ? " NOT NULL" : "") + (references ?? "")
  }
}
