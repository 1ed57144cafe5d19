import CDRuntime

/// The columns in which each entity has values, for tables that several entities share.
final class ColumnUsage {
  private let database: SourceDatabase
  /// For each table (in capitals) and entity number, the columns (in capitals) with the number of rows of that entity,
  /// without subentities, that have a value in the column.
  private var counts: [String: [Int64: [String: Int64]]] = [:]

  /// The columns of every table, which hold no properties.
  private static let system: Set<String> = ["Z_PK", "Z_ENT", "Z_OPT"]

  init(_ database: SourceDatabase) { self.database = database }

  /// The columns in which rows of an entity, without subentities, have values, with the number of those rows.
  func counts(_ table: String, columns: [String: SourceSchema.Column], entity: Int64)
    throws(CoreDataStoreError)
    -> [String: Int64]
  {
    if let known = counts[table.uppercased()]?[entity] { return known }
    // The column of an attribute `_note` begins with `Z_`, too.
    let all = columns.filter { !Self.system.contains($0.key) && !$0.key.hasPrefix("Z_FOK_") }.values
      .sorted { $0.name < $1.name }
    var found: [String: Int64] = [:]
    // SQLite limits the number of columns in a statement.
    for start in stride(from: 0, to: all.count, by: 500) {
      let batch = all[start..<min(start + 500, all.count)]
      let list = batch.map { "count(\(SQLText.quoted($0.name)))" }.joined(separator: ", ")
      let statement = try database.statement(
        "SELECT \(list) FROM \(SQLText.quoted(table)) NOT INDEXED WHERE Z_ENT = \(entity)",
        values: batch.count)
      guard try statement.step() else { continue }
      for (place, column) in batch.enumerated() {
        if let count = statement.integer(place), count > 0 { found[column.name.uppercased()] = count }
      }
    }
    counts[table.uppercased(), default: [:]][entity] = found
    return found
  }

  /// The only value that the rows of some entities have in a column, and whether all of the rows have it. Nil if the rows
  /// have several values, or none.
  func onlyValue(
    _ table: String, _ column: SourceSchema.Column, entities: [Int64]
  ) throws(CoreDataStoreError) -> (value: StoreValue, isInAllRows: Bool)? {
    let name = SQLText.quoted(column.name)
    let numbers = entities.map(String.init).joined(separator: ", ")
    let statement = try database.statement(
      "SELECT min(\(name)), max(\(name)), count(*) = count(\(name)) "
        + "FROM \(SQLText.quoted(table)) NOT INDEXED WHERE Z_ENT IN (\(numbers))")
    guard try statement.step(), statement.value(0) != .null, statement.value(0) == statement.value(1) else {
      return nil
    }
    return (statement.value(0).stored, statement.integer(2) == 1)
  }
}
