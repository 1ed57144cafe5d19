#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Reads the histories of a database's stores.
struct HistoryReader {
  private let database: SQLiteDatabase

  init(_ database: SQLiteDatabase) { self.database = database }

  /// What a connection of its own is used for.
  struct Session {
    let connection: SQLiteConnection
    let stores: SQLiteStoreSet
    let origin: String
    let model: ModelPlan
  }

  func read<Result>(_ body: (Session) throws -> Result) throws -> Result {
    let session = try database.session()
    defer { database.giveBack(session) }
    return try body(
      Session(
        connection: session.connection, stores: session.attached, origin: database.origin,
        model: database.model
      ))
  }
}

extension HistoryReader.Session {
  func currentToken() throws -> HistoryToken {
    var saves: [String: Int64] = [:]
    for store in stores.all { saves[store.storeID.uuidString] = try newest(store) }
    return HistoryToken(saves: saves)
  }

  private func newest(_ store: SQLiteStore) throws -> Int64 {
    let statement = try connection.statement(
      "SELECT max(\"id\") FROM \(stores.schema(of: store)).\"_cdgen_history\"")
    defer { statement.reset() }
    return try statement.step() ? statement.int64(0) : 0
  }

  func transactions(
    after token: HistoryToken?, author: String?, limit: Int?
  ) throws -> [HistoryTransaction] {
    var result: [HistoryTransaction] = []
    var reached = token ?? HistoryToken(saves: [:])
    for store in stores.all {
      let id = store.storeID.uuidString
      let seen = token?.saves[id] ?? 0
      let statement = try connection.statement(
        "SELECT \"id\", \"time\", \"origin\", \"author\", \"changes\" FROM \(stores.schema(of: store)).\"_cdgen_history\" "
          + "WHERE \"id\" > ?1 ORDER BY \"id\"")
      defer { statement.reset() }
      statement.bind(seen, at: 1)
      // A file of before the token has been put in the store's place.
      guard try seen <= newest(store) else { throw HistoryError.expiredToken(storeID: store.storeID) }
      var expected = token?.saves[id].map { $0 + 1 }
      var count = 0
      while count < limit ?? Int.max, try statement.step() {
        let number = statement.int64(0)
        // Numbers follow each other: a gap is what somebody has purged, by the clock and not by the number.
        guard number == expected ?? number else { throw HistoryError.expiredToken(storeID: store.storeID) }
        expected = expected.map { _ in number + 1 }
        reached.saves[id] = number
        let writer = statement.string(3)
        guard author == nil || author == writer else { continue }
        count += 1
        result.append(
          HistoryTransaction(
            date: date(statement.double(1)), author: writer,
            storeID: store.storeID,
            changes: changes(statement.string(4) ?? "", of: store),
            isOwn: statement.string(2) == origin, token: reached))
      }
    }
    return result
  }

  /// The time of a row. Anybody may have written a number there that is none of a time.
  private func date(_ seconds: Double) -> Date {
    seconds.isFinite ? Date(timeIntervalSinceReferenceDate: seconds) : EmptyValue.date
  }

  private func changes(_ text: String, of store: SQLiteStore) -> ObjectChanges {
    guard case .object(let entities)? = try? JSONValue(parsing: text) else { return ObjectChanges() }
    func ids(_ kind: String) -> ManagedObjectIDs {
      ManagedObjectIDs(
        groups: entities.compactMap { entity in
          guard model.places[entity.key] != nil else { return nil }
          return ManagedObjectIDs.Group(
            storeID: store.storeID, entityName: entity.key, keys: HistoryText.ranges(entity.value[kind]))
        })
    }
    return ObjectChanges(inserted: ids("inserted"), updated: ids("updated"), deleted: ids("deleted"))
  }
}
