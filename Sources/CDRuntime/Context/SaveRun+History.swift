import CSQLite

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

// The row of the history that a save leaves in each store.
extension SaveRun {
  mutating func writeHistory() throws {
    for store in touched {
      let statement = try connection.statement(
        "INSERT INTO \(store.schema).\"_cdgen_history\" (\"time\", \"origin\", \"author\", \"changes\") "
          + "VALUES (?, ?, ?, ?)")
      writer.start(statement.handle)
      writer.date(Date())
      writer.string(context.database.origin)
      writer.optionalString(context.transactionAuthor)
      writer.string(HistoryText.changes(plan, ofStore: store.place))
      try statement.run()
      saves.append((store, sqlite3_last_insert_rowid(connection.handle)))
    }
  }
}
