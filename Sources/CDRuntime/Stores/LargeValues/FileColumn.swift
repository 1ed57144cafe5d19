/// A column whose texts are names of files that hold large values.
struct FileColumn: Hashable {
  let table: String
  let name: String

  /// The statement that gives the names of all files which the column's rows refer to.
  ///
  /// - Parameter schema: The database that holds the table.
  func fileNames(in schema: String = "main") -> String {
    let column = SQLite.quoted(name)
    return "SELECT \(column) AS name FROM \(schema).\(SQLite.quoted(table)) WHERE typeof(\(column)) = 'text'"
  }
}

extension ModelPlan {
  /// The columns of a store that may name files.
  func fileColumns(ofStore store: Int) -> [FileColumn] {
    // Entities of one root share its table.
    var seen: Set<FileColumn> = []
    return entities.filter { $0.storeIndex == store }.flatMap { entity in
      entity.externalSlots.flatMap { slot in
        entity.columns[entity.slots[slot].columns].map { FileColumn(table: entity.table, name: $0.name) }
      }
    }.filter { seen.insert($0).inserted }
  }
}
