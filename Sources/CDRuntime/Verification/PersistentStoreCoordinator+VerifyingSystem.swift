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

  /// Finds saves to several stores that some of those stores do not have.
  @_optimize(none)
  func incompleteSaves(_ session: any StoreSession) throws -> [StoreFinding] {
    let stores = session.stores
    guard stores.all.count > 1 else { return [] }
    var marks: [UUID: [(id: Int64, mark: HistoryText.Mark)]] = [:]
    var saves: [UUID: Set<UUID>] = [:]
    for store in stores.all {
      try session.forEachSave(of: store, after: .min) { id, changes in
        // The many saves to a single store need no check.
        guard changes.contains("\"stores\":"), let mark = HistoryText.Mark(changes) else { return }
        marks[store.storeID, default: []].append((id, mark))
        saves[store.storeID, default: []].insert(mark.save)
      }
    }
    var findings: [StoreFinding] = []
    for store in stores.all {
      for (id, mark) in marks[store.storeID] ?? [] {
        let missing = mark.stores.filter { other in
          stores[other] != nil && saves[other]?.contains(mark.save) != true
        }
        if missing.isEmpty { continue }
        findings.append(.incompleteSave(id: id, store: store.storeID, missing: missing))
      }
    }
    return findings
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
      if UUID(uuidString: entry.origin) == nil || !HistoryText.isReadable(entry.changes) {
        findings.append(.unreadableHistory(id: entry.number))
      }
      return true
    }
    return findings
  }
}
