#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Reads the histories of an engine's stores.
struct HistoryReader {
  private let engine: any StoreEngine
  private let session: any StoreSession

  /// Runs a body with a reader that has its own session.
  static func read<Result>(_ engine: any StoreEngine, _ body: (HistoryReader) throws -> Result) throws
    -> Result
  {
    let session = try engine.takeSession()
    defer { engine.giveBack(session) }
    return try body(HistoryReader(engine: engine, session: session))
  }

  func currentToken() throws -> HistoryToken {
    var saves: [String: Int64] = [:]
    for store in session.stores.all { saves[store.storeID.uuidString] = try session.newestSave(of: store) }
    return HistoryToken(saves: saves)
  }

  func transactions(
    after token: HistoryToken?, author: String?, limit: Int?
  ) throws -> [HistoryTransaction] {
    var result: [HistoryTransaction] = []
    var reached = token ?? HistoryToken(saves: [:])
    for store in session.stores.all {
      let id = store.storeID.uuidString
      let seen = token?.saves[id] ?? 0
      // An older copy of the file has replaced the store.
      guard try seen <= session.newestSave(of: store) else {
        throw HistoryError.expiredToken(storeID: store.storeID)
      }
      if limit == 0 { continue }
      var expected = token?.saves[id].map { $0 + 1 }
      var count = 0
      try session.forEachEntry(of: store, after: seen) { entry in
        // Numbers are consecutive, so a gap means that entries were purged. A purge by date can leave a gap after newer
        // numbers.
        guard entry.number == expected ?? entry.number else {
          throw HistoryError.expiredToken(storeID: store.storeID)
        }
        expected = expected.map { _ in entry.number + 1 }
        reached.saves[id] = entry.number
        guard author == nil || author == entry.author else { return true }
        count += 1
        let json = (try? JSONValue(parsing: entry.changes)) ?? .null
        result.append(
          HistoryTransaction(
            date: entry.date, author: entry.author, storeID: store.storeID,
            saveID: json[HistoryText.Mark.key].flatMap(HistoryText.Mark.init)?.save,
            changes: changes(json, of: store), isOwn: entry.origin == engine.origin, token: reached,
            updatedProperties: properties(json)))
        return count < limit ?? Int.max
      }
    }
    return result
  }

  private func properties(_ json: JSONValue) -> [HistoryTransaction.UpdatedProperty] {
    guard case .object(let entities) = json else { return [] }
    return entities.flatMap { entity in
      HistoryText.properties(of: entity.value).map { property in
        HistoryTransaction.UpdatedProperty(
          entityName: entity.key, name: property.name, keys: KeyRanges.normalized(property.keys))
      }
    }
  }

  private func changes(_ json: JSONValue, of store: any AttachedStore) -> ObjectChanges {
    guard case .object(let entities) = json else { return ObjectChanges() }
    func ids(_ kind: String) -> ManagedObjectIDs {
      ManagedObjectIDs(
        groups: entities.compactMap { entity in
          guard engine.model.places[entity.key] != nil else { return nil }
          return ManagedObjectIDs.Group(
            storeID: store.storeID, entityName: entity.key, keys: HistoryText.ranges(entity.value[kind]))
        })
    }
    return ObjectChanges(inserted: ids("inserted"), updated: ids("updated"), deleted: ids("deleted"))
  }
}
