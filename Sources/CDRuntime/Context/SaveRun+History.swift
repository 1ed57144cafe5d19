import CSQLite

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

// The row of the history that a save leaves in each store.
extension SaveRun {
  mutating func writeHistory() throws {
    // What goes to several files says so in each, for a check to find what has not reached one of them.
    let id = context.unfinishedSave ?? (touched.count > 1 ? UUID.random() : nil)
    let mark = id.map { HistoryText.Mark(save: $0, stores: touched.map(\.storeID)) }
    saveID = id
    for store in touched {
      let statement = try connection.statement(
        "INSERT INTO \(stores.schema(of: store)).\"_cdgen_history\" (\"time\", \"origin\", \"author\", \"changes\") "
          + "VALUES (?, ?, ?, ?)")
      writer.start(statement.handle)
      writer.date(Date())
      writer.string(context.database.origin)
      writer.optionalString(context.transactionAuthor)
      writer.string(HistoryText.changes(plan, ofStore: store.place, mark))
      try statement.run()
      saves.append((store, sqlite3_last_insert_rowid(connection.handle)))
    }
  }

  /// Whether the row of this save is in a store's history, after a commit that failed.
  func isWritten(_ id: Int64, in store: SQLiteStore) -> Bool {
    guard let saveID else { return false }
    let row = try? connection.scalar(
      "SELECT \"changes\" FROM \(stores.schema(of: store)).\"_cdgen_history\" WHERE \"id\" = \(id) "
        + "AND \"origin\" = \(SQLite.literal(context.database.origin))")
    return (row ?? nil)?.contains(saveID.uuidString) == true
  }
}
