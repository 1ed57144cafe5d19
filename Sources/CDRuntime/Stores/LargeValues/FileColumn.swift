/// A column that may contain the names of files with large values.
struct FileColumn: Hashable {
  let table: String
  let name: String
}

extension ModelPlan {
  /// The columns of a store that may contain names of files.
  func fileColumns(ofStore store: Int) -> [FileColumn] {
    // Entities with the same root share a table.
    var seen: Set<FileColumn> = []
    return entities.filter { $0.storeIndex == store }.flatMap { entity in
      entity.externalSlots.flatMap { slot in
        entity.columns[entity.slots[slot].columns].map { FileColumn(table: entity.table, name: $0.name) }
      }
    }.filter { seen.insert($0).inserted }
  }
}
