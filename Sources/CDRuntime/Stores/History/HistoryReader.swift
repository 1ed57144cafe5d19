import CDModel

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
    defer { engine.returnSession(session) }
    return try body(HistoryReader(engine: engine, session: session))
  }

  func currentToken() throws -> HistoryToken {
    var saves: [String: Int64] = [:]
    for store in session.stores.all { saves[store.storeID.uuidString] = try session.newestSave(of: store) }
    return HistoryToken(saves: saves)
  }

  @_optimize(none)
  func transactions(
    after token: HistoryToken?, author: String?, limit: Int?
  ) throws -> [HistoryTransaction] {
    var result: [HistoryTransaction] = []
    if let token { try checkNamesAStore(token) }
    var reached = token ?? HistoryToken(saves: [:])
    try addBeginnings(to: &reached)
    // The present names of the entities in entries from before a migration.
    var names: [String: [String]] = [:]
    for store in session.stores.all {
      let id = store.storeID.uuidString
      let seen = token?.saves[id] ?? 0
      // An older copy of the file has replaced the store.
      guard try seen <= session.newestSave(of: store) else {
        throw HistoryError.expiredToken(storeID: store.storeID)
      }
      if limit == 0 { continue }
      let origins = try session.insertionOrigins(of: store)
      let present = InsertionOrigins.Period(roots: roots(of: store), tables: origins.tables)
      // No number follows the last one, which only another program can have written. If the token does not name the store,
      // nothing of it has been read, so that the first entry must still be there.
      var expected: Int64? = token == nil ? nil : seen &+ 1
      var count = 0
      try session.forEachEntry(of: store, after: seen) { entry in
        // Numbers are consecutive, so a gap means that entries were purged. A purge by date can leave a gap after newer
        // numbers.
        guard entry.number == expected ?? entry.number else {
          throw HistoryError.expiredToken(storeID: store.storeID)
        }
        expected = expected.map { _ in entry.number &+ 1 }
        reached.saves[id] = entry.number
        guard author == nil || author == entry.author else { return true }
        count += 1
        let json = (try? JSONValue(parsing: entry.changes)) ?? .null
        let former = origins.past.first { entry.number <= $0.lastSave }?.period
        let period = former ?? present
        let recorded = recorded(json)
        let objects =
          former == nil
          ? recorded
          : recorded.flatMap { each -> [HistoryTransaction.Recorded] in
            let current = names[each.entityName] ?? engine.model.model.currentNames(ofEntity: each.entityName)
            names[each.entityName] = current
            return followed(each, as: current, from: period, to: present)
          }
        result.append(
          HistoryTransaction(
            date: entry.date, author: entry.author, storeID: store.storeID,
            saveID: json[HistoryText.Mark.key].flatMap(HistoryText.Mark.init)?.save,
            changes: changes(objects, of: store), isOwn: entry.origin == engine.origin, token: reached,
            objects: objects, recorded: recorded, period: period))
        return count < limit ?? Int.max
      }
    }
    // All stores have been read up to here, also past the entries of other authors.
    if !result.isEmpty { result[result.count - 1].token = reached }
    return result
  }

  /// Throws an error if a token names only stores that are not open: it was made for other stores, such as the original of a
  /// replica.
  private func checkNamesAStore(_ token: HistoryToken) throws {
    let ids = session.stores.all.map(\.storeID)
    guard let first = ids.first, !token.saves.isEmpty,
      !ids.contains(where: { token.saves[$0.uuidString] != nil })
    else { return }
    throw HistoryError.expiredToken(storeID: first)
  }

  /// Adds the point before the first entry of each store that a token does not name.
  ///
  /// The tokens of transactions also name stores that are not reached yet. If such a store is purged later, the token is
  /// refused, instead of leading to a part of the store's transactions.
  @_optimize(none)
  private func addBeginnings(to token: inout HistoryToken) throws {
    for store in session.stores.all where token.saves[store.storeID.uuidString] == nil {
      var first: Int64?
      try session.forEachEntry(of: store, after: .min) { entry in
        first = entry.number
        return false
      }
      token.saves[store.storeID.uuidString] = try first.map { $0 - 1 } ?? session.newestSave(of: store)
    }
  }

  /// Returns the root entity of each entity that a store holds.
  @_optimize(none)
  private func roots(of store: any AttachedStore) -> [String: String] {
    engine.model.entities.filter { $0.storeIndex == store.index }.reduce(into: [:]) {
      $0[$1.name] = engine.model.entities[$1.root].name
    }
  }

  @_optimize(none)
  private func recorded(_ json: JSONValue) -> [HistoryTransaction.Recorded] {
    guard case .object(let entities) = json else { return [] }
    return entities.compactMap { entity in
      if entity.key == HistoryText.Mark.key { return nil }
      return HistoryTransaction.Recorded(
        entityName: entity.key, inserted: HistoryText.ranges(entity.value["inserted"]),
        updated: HistoryText.ranges(entity.value["updated"]),
        deleted: HistoryText.ranges(entity.value["deleted"]),
        properties: HistoryText.properties(of: entity.value).map {
          HistoryTransaction.Property(name: $0.name, keys: KeyRanges.normalized($0.keys))
        })
    }
  }

  /// Returns a part of an entry from before a migration with the present entity and keys of its objects. Returns none if the
  /// model no longer has the entity.
  ///
  /// - Parameter candidates: The names that the entity may have now.
  @_optimize(none)
  private func followed(
    _ recorded: HistoryTransaction.Recorded, as candidates: [String], from period: InsertionOrigins.Period,
    to present: InsertionOrigins.Period
  ) -> [HistoryTransaction.Recorded] {
    let names = candidates.filter { present.roots[$0] != nil }
    /// The record tells which of several entities has the objects now. Without a record, they are in the table of the same
    /// name.
    @_optimize(none)
    func name(of interval: InsertionOrigins.Interval) -> String? {
      if names.count < 2 { return names.first }
      return names.first { name in
        present.roots[name].map { present.tables.hasRecord(of: interval, in: $0) } ?? false
      } ?? names.first
    }
    return names.map { current in
      func keys(_ keys: [ClosedRange<ObjectKey>]) -> [ClosedRange<ObjectKey>] {
        KeyRanges.normalized(
          period.intervals(of: keys, recorded.entityName).filter { name(of: $0) == current }
            .flatMap { present.tables.keys(of: $0, in: present.roots[current] ?? current) })
      }
      return HistoryTransaction.Recorded(
        entityName: current, inserted: keys(recorded.inserted), updated: keys(recorded.updated),
        deleted: keys(recorded.deleted),
        properties: recorded.properties.map {
          HistoryTransaction.Property(name: $0.name, keys: keys($0.keys))
        })
    }
  }

  @_optimize(none)
  private func changes(
    _ objects: [HistoryTransaction.Recorded], of store: any AttachedStore
  ) -> ObjectChanges {
    func ids(_ keys: (HistoryTransaction.Recorded) -> [ClosedRange<ObjectKey>]) -> ManagedObjectIDs {
      ManagedObjectIDs(
        groups: objects.compactMap { each in
          guard engine.model.entityIndices[each.entityName] != nil else { return nil }
          return ManagedObjectIDs.Group(
            storeID: store.storeID, entityName: each.entityName, keys: keys(each))
        })
    }
    return ObjectChanges(inserted: ids(\.inserted), updated: ids(\.updated), deleted: ids(\.deleted))
  }
}

extension ManagedObjectModel {
  /// The name that an entity of any version has in the current version, found by `renamedFrom`; nil if the entity was
  /// removed.
  @_optimize(none)
  func currentName(ofEntity name: String) -> String? {
    guard let current = currentVersion else { return nil }
    func has(_ name: String) -> Bool { current.entities.contains { $0.name == name } }
    if has(name) { return name }
    var found = name
    var isThere = false
    for version in versions where version.number <= current.number {
      if let next = version.entities.first(where: { $0.renamedFrom == found }), isThere { found = next.name }
      isThere = version.entities.contains { $0.name == found }
    }
    return has(found) ? found : nil
  }

  /// The names that an entity of any version may have in the current version: ``currentName(ofEntity:)``, and the names to
  /// which `renamedFrom` leads from each version with an entity of this name. The name may have been used again, for another
  /// entity.
  @_optimize(none)
  fileprivate func currentNames(ofEntity name: String) -> [String] {
    guard let current = currentVersion else { return [] }
    let known = versions.filter { $0.number <= current.number }
    var result = currentName(ofEntity: name).map { [$0] } ?? []
    for (index, start) in known.enumerated() where start.entities.contains(where: { $0.name == name }) {
      var found: String? = name
      for version in known.dropFirst(index + 1) {
        found =
          version.entities.first { $0.renamedFrom != nil && $0.renamedFrom == found }?.name
          ?? version.entities.first { $0.name == found }?.name
      }
      if let found, !result.contains(found) { result.append(found) }
    }
    return result
  }
}
