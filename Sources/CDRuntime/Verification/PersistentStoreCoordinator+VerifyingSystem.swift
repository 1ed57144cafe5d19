#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

// Checks of the metadata and of the history.
extension PersistentStoreCoordinator {
  /// Finds hashes that differ from those of the model in the metadata.
  ///
  /// - Throws: ``StoreError`` if the metadata cannot be read.
  @_optimize(none)
  func wrongHashes(
    of store: SQLiteStore, _ schema: String, _ connection: SQLiteConnection
  ) throws -> [StoreFinding] {
    let found = try PersistentStoreMetadata(connection, schema: schema, url: store.url)
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
  func incompleteSaves(_ stores: SQLiteStoreSet, _ connection: SQLiteConnection) throws -> [StoreFinding] {
    guard stores.all.count > 1 else { return [] }
    func marks(_ store: SQLiteStore, _ body: (Int64, HistoryText.Mark) -> Void) throws {
      let statement = try connection.makeStatement(
        "SELECT \"id\", \"changes\" FROM \(stores.schema(of: store)).\"_cdgen_history\" "
          // The many saves to a single store need no check.
          + "WHERE \"changes\" LIKE '%\"stores\":%' ORDER BY \"id\"")
      while try statement.step() {
        if let mark = statement.string(1).flatMap(HistoryText.Mark.init) { body(statement.int64(0), mark) }
      }
    }
    var saves: [UUID: Set<UUID>] = [:]
    for store in stores.all {
      try marks(store) { _, mark in saves[store.storeID, default: []].insert(mark.save) }
    }
    var findings: [StoreFinding] = []
    for store in stores.all {
      try marks(store) { id, mark in
        let missing = mark.stores.filter { other in
          stores[other] != nil && saves[other]?.contains(mark.save) != true
        }
        if missing.isEmpty { return }
        findings.append(.incompleteSave(id: id, store: store.storeID, missing: missing))
      }
    }
    return findings
  }

  /// Finds notes on global identifiers that cannot be read, or that name tables that the store does not have.
  func unreadableOrigins(
    of store: SQLiteStore, _ schema: String, _ connection: SQLiteConnection
  ) throws -> [StoreFinding] {
    let text = try connection.metadata(InsertionOrigins.metadataKey, schema: schema)
    let origins = try? InsertionOrigins(text: text, storeID: store.storeID, url: store.url)
    let roots = plan.entities.filter { $0.root == $0.index && $0.storeIndex == store.index }.map(\.name)
    let isRight = origins?.tables.intervals.keys.allSatisfy(roots.contains) == true
    return isRight ? [] : [.unreadableMetadata(key: InsertionOrigins.metadataKey)]
  }

  /// Finds the rows of the history that a context could not read.
  @_optimize(none)
  func unreadableHistory(of schema: String, _ connection: SQLiteConnection) throws -> [StoreFinding] {
    let statement = try connection.makeStatement(
      "SELECT \"id\", \"origin\", \"changes\" FROM \(schema).\"_cdgen_history\" ORDER BY \"id\"")
    var findings: [StoreFinding] = []
    while try statement.step() {
      let isReadable =
        statement.string(1).flatMap { UUID(uuidString: $0) } != nil
        && statement.string(2).map(HistoryText.isReadable) == true
      if !isReadable { findings.append(.unreadableHistory(id: statement.int64(0))) }
    }
    return findings
  }
}
