#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

// Checks of the metadata and of the history.
extension PersistentStoreCoordinator {
  func verifySystem(of store: any AttachedStore, _ session: any StoreSession) throws -> [StoreFinding] {
    try wrongHashes(of: store, session) + unreadableHistory(of: store, session)
      + unreadableOrigins(of: store, session)
  }

  /// Finds hashes that differ from those of the model in the metadata.
  ///
  /// - Throws: ``StoreError`` if the metadata cannot be read.
  @_optimize(none)
  private func wrongHashes(of store: any AttachedStore, _ session: any StoreSession) throws -> [StoreFinding]
  {
    let found = try PersistentStoreMetadata(session.metadata(of: store), url: store.url)
    let hashes = ModelHashes(found.modelVersion)
    // If the store has a configuration, its hash covers only the entities of that configuration.
    let names = plan.entities.filter { $0.storeIndex == store.index }.map(\.name)
    let data =
      names.count == found.modelVersion.entities.count ? hashes.data : hashes.data(of: names)
    let pairs = [
      ("versionNumber", found.modelVersion.number == found.versionNumber),
      ("dataHash", found.dataHash == data.description),
      ("layoutHash", found.layoutHash == hashes.layout.description),
      ("definitionHash", found.definitionHash == hashes.definition.description),
      ("entityHashes", found.entityHashes == hashes.entities.mapValues(\.data.description)),
    ]
    return pairs.filter { !$0.1 }.map { .wrongHash(key: $0.0) }
  }

  /// Finds saves to several stores that some of those stores do not have. A save that may have been purged there is none.
  ///
  /// The histories are read one after the other. A save that somebody makes meanwhile is only in those that are read later.
  /// So a save counts only if a second look finds it incomplete too.
  @_optimize(none)
  func incompleteSaves(_ session: any StoreSession) throws -> [StoreFinding] {
    var first: [UUID: [Int64: [UUID]]] = [:]
    for save in try incompleteSavesNow(session) {
      first[save.store, default: [:]][save.number] = save.missing
    }
    if first.isEmpty { return [] }
    return try incompleteSavesNow(session).compactMap { save in
      guard let before = first[save.store]?[save.number] else { return nil }
      let missing = save.missing.filter(before.contains)
      return missing.isEmpty
        ? nil : .incompleteSave(id: save.number, store: save.store, missing: missing)
    }
  }

  @_optimize(none)
  private func incompleteSavesNow(_ session: any StoreSession) throws -> [IncompleteSave] {
    let stores = session.stores.all
    guard stores.count > 1 else { return [] }
    var histories: [UUID: SharedSaves] = [:]
    for store in stores {
      var history = SharedSaves()
      try session.forEachEntry(of: store, after: .min) { entry in
        history.add(entry)
        return true
      }
      histories[store.storeID] = history
    }
    var result: [IncompleteSave] = []
    for store in stores {
      guard let own = histories[store.storeID] else { continue }
      let expected = histories.mapValues { $0.expected(of: own) }
      for save in own.all {
        let missing = save.mark.stores.filter { other in
          guard let history = histories[other], let part = expected[other] else { return false }
          return !history.contains(save) && part.contains(save)
        }
        if missing.isEmpty { continue }
        result.append(IncompleteSave(number: save.number, store: store.storeID, missing: missing))
      }
    }
    return result
  }

  /// Finds notes on global identifiers that cannot be read, or that name tables that the store does not have.
  @_optimize(none)
  private func unreadableOrigins(
    of store: any AttachedStore, _ session: any StoreSession
  ) throws -> [StoreFinding] {
    let origins: InsertionOrigins?
    do {
      origins = try session.insertionOrigins(of: store)
    } catch StoreError.damagedMetadata {
      origins = nil
    }
    let roots = plan.entities.filter { $0.root == $0.index && $0.storeIndex == store.index }.map(\.name)
    let isRight = origins?.tables.intervals.keys.allSatisfy(roots.contains) == true
    return isRight ? [] : [.unreadableMetadata(key: InsertionOrigins.metadataKey)]
  }

  /// Finds the rows of the history that a context could not read.
  @_optimize(none)
  private func unreadableHistory(
    of store: any AttachedStore, _ session: any StoreSession
  ) throws -> [StoreFinding] {
    var findings: [StoreFinding] = []
    try session.forEachEntry(of: store, after: .min) { entry in
      // A copy has no place for other numbers, and a next save must have a number too.
      let hasNumber = entry.number > 0 && entry.number < KeyRanges.largestKey
      if !hasNumber || UUID(uuidString: entry.origin) == nil || !HistoryText.isReadable(entry.changes) {
        findings.append(.unreadableHistory(id: entry.number))
      }
      return true
    }
    return findings
  }
}

/// A save in the history of one store that other stores do not have.
private struct IncompleteSave {
  let number: Int64
  let store: UUID
  let missing: [UUID]
}

/// The saves to several stores in the history of one of them.
private struct SharedSaves {
  struct Save {
    let number: Int64
    let date: Date
    let mark: HistoryText.Mark
  }

  /// The part of a history that another one must have too.
  struct Part {
    /// The number of its first save.
    let number: Int64
    /// Saves after this time belong to the part even if their numbers are lower. Nil if the number is exact.
    let date: Date?

    func contains(_ save: Save) -> Bool { save.number >= number || date.map { save.date > $0 } ?? false }
  }

  /// In the order of their numbers.
  private(set) var all: [Save] = []
  private var numbers: [UUID: Int64] = [:]
  /// The first entry after which nothing was purged; nil if there are no entries. A purge leaves at least one.
  private var first: (number: Int64, date: Date)?
  private var last: Int64?

  mutating func add(_ entry: HistoryEntry) {
    // Numbers are consecutive, so a gap means that entries were purged.
    if last.map({ $0 &+ 1 }) != entry.number { first = (entry.number, entry.date) }
    last = entry.number
    // The many saves to a single store need no check.
    guard entry.changes.contains("\"stores\":"), let mark = HistoryText.Mark(entry.changes) else { return }
    all.append(Save(number: entry.number, date: entry.date, mark: mark))
    numbers[mark.save] = entry.number
  }

  func contains(_ save: Save) -> Bool { numbers[save.mark.save] != nil }

  /// The part of another history whose saves would be in this one if they had reached it. Earlier ones may have been purged
  /// here.
  ///
  /// Stores have their common saves in the same order. Times decide only if no common save does, because the clocks of
  /// several machines differ.
  func expected(of other: SharedSaves) -> Part {
    guard let first, first.number > 1 else { return Part(number: .min, date: nil) }
    guard let common = other.all.first(where: { (numbers[$0.mark.save] ?? .min) >= first.number }) else {
      return Part(number: .max, date: first.date)
    }
    return Part(
      number: common.number, date: numbers[common.mark.save] == first.number ? nil : first.date)
  }
}
