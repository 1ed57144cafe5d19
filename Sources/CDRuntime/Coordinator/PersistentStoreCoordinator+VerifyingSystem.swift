#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

// What a store says of itself and of its saves.
extension PersistentStoreCoordinator {
  /// The hashes that are not those of the model beside them.
  ///
  /// - Throws: ``StoreError`` where the metadata cannot be read.
  func wrongHashes(of store: SQLiteStore, _ connection: SQLiteConnection) throws -> [StoreFinding] {
    let found = try PersistentStoreMetadata(connection, schema: store.schema, url: store.url)
    let hashes = ModelHashes(found.modelVersion)
    // A store of a configuration has the hash of its own entities.
    let names = plan.entities.filter { $0.home == store.place }.map(\.name)
    let data =
      names.count == found.modelVersion.entities.count ? hashes.data : hashes.data(of: names)
    let pairs = [
      ("dataHash", found.dataHash == data.description),
      ("layoutHash", found.layoutHash == hashes.layout.description),
      ("definitionHash", found.definitionHash == hashes.definition.description),
      ("entityHashes", found.entityHashes == hashes.entities.mapValues(\.data.description)),
    ]
    return pairs.filter { !$0.1 }.map { .wrongHash(key: $0.0) }
  }

  /// The rows of the history that a context could not follow.
  func unreadableHistory(of store: SQLiteStore, _ connection: SQLiteConnection) throws -> [StoreFinding] {
    let statement = try connection.makeStatement(
      "SELECT \"id\", \"origin\", \"changes\" FROM \(store.schema).\"_cdgen_history\" ORDER BY \"id\"")
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
