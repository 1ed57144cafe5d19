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
  package func sql(schema: String? = nil) -> String {
    "CREATE TABLE \(schema.map { $0 + "." } ?? "")\(SQLText.quoted(name)) ("
      + (columns.map { $0.sql } + constraints).joined(separator: ", ") + ")"
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

/// The definition of an index.
package struct IndexLayout: Hashable, Sendable {
  package let name: String
  package let table: String
  /// The columns as they are in a statement: each name in double quotes, followed by ` DESC` for a descending one.
  package let columns: [String]
  package var isUnique = false
  /// The condition of the rows that have entries; nil if all have.
  package var condition: String?

  package init(
    name: String, table: String, columns: [String], isUnique: Bool = false, condition: String? = nil
  ) {
    self.name = name
    self.table = table
    self.columns = columns
    self.isUnique = isUnique
    self.condition = condition
  }

  /// The `CREATE INDEX` statement.
  package var sql: String {
    "CREATE \(isUnique ? "UNIQUE " : "")INDEX \(SQLText.quoted(name)) ON \(SQLText.quoted(table)) "
      + "(\(columns.joined(separator: ", ")))" + (condition.map { " WHERE \($0)" } ?? "")
  }

  /// Selects the least and the greatest key of each group of rows that a unique index refuses, because their values are
  /// equal.
  ///
  /// - Parameter table: The form in which the statement finds the table.
  @_optimize(none)
  package func equalRows(table: String) -> String {
    let conditions = columns.map { "\($0) IS NOT NULL" } + (condition.map { [$0] } ?? [])
    return "SELECT min(_pk), max(_pk) FROM \(table) WHERE \(conditions.joined(separator: " AND ")) "
      + "GROUP BY \(columns.joined(separator: ", ")) HAVING count(*) > 1 ORDER BY 1"
  }

  /// The definition after its table and columns have got other names; nil if a column is gone.
  ///
  /// - Parameter names: The new name of each column that stays, by its old name.
  @_optimize(none)
  package func renamed(table: String, columns names: [String: String]) -> IndexLayout? {
    var renamed: [String] = []
    for column in columns {
      let isDescending = column.hasSuffix(" DESC")
      let quoted = isDescending ? String(column.dropLast(" DESC".count)) : column
      guard let new = names.first(where: { SQLText.quoted($0.key) == quoted })?.value else { return nil }
      renamed.append(SQLText.quoted(new) + (isDescending ? " DESC" : ""))
    }
    return IndexLayout(name: name, table: table, columns: renamed, isUnique: isUnique, condition: condition)
  }

  /// Whether two indexes are equal except for their names.
  package func isSame(as other: IndexLayout) -> Bool {
    table == other.table && columns == other.columns && isUnique == other.isUnique
      && condition == other.condition
  }
}
