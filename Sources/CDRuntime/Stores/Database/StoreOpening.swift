import CDMapping
import CDModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The opening of a store: checks its contents, creates it if it does not exist, and updates its indexes.
struct StoreOpening {
  let connection: SQLiteConnection
  let url: URL
  let model: ModelPlan
  /// The index of the store in the coordinator. The store gets the tables of the entities that are assigned to it.
  let storeIndex: Int
  var isReadOnly = false
  /// The configurations of this store and of the coordinator's other stores. The other configurations exclude entities
  /// from this store.
  var configurations: (own: String?, others: [String?])?
  /// Whether a migration has just written the store.
  var isJustMigrated = false
  /// The first key of each root entity, if the store is created. Other stores may have references to objects with lower keys.
  var firstKey: ObjectKey = 1

  /// - Returns: The UUID of the store.
  func open() throws -> UUID {
    if let found = try connection.read({ try inspect() }) {
      if found.isCurrent || isReadOnly { return found.storeID }
      try bringUpToDate(found)
      return found.storeID
    }
    if isReadOnly { throw StoreError.foreignDatabase(url) }
    let found = try connection.write {
      // Another process may have created the store meanwhile.
      if let present = try inspect() { return present }
      return Found(storeID: try create())
    }
    if !found.isCurrent { try bringUpToDate(found) }
    return found.storeID
  }

  /// A store of the model, with the changes that it needs.
  private struct Found {
    let storeID: UUID
    /// The backups of earlier versions that can be removed.
    var backups: [String] = []
    /// The metadata to write; nil if the metadata and the indexes are up to date.
    var wanted: StoreMetadata?

    var isCurrent: Bool { backups.isEmpty && wanted == nil }
  }

  private func bringUpToDate(_ found: Found) throws {
    if found.wanted != nil {
      try MigrationFaults.reach("changes without a migration")
      try connection.write {
        // Another program may have migrated the store since it was looked at. Then the metadata are no longer this version's.
        guard let wanted = try inspect()?.wanted else { return }
        try update(to: wanted, SQLSchema(model, store: storeIndex))
      }
    }
    // Only now is it clear that the store can be opened. The list of backups stays until the files are gone. So a program that
    // is killed in between leaves no backup.
    if found.backups.isEmpty { return }
    for backup in found.backups { MigrationFiles(url).removeBackup(backup) }
    try connection.write {
      try connection.execute("DELETE FROM \"_cdgen_metadata\" WHERE \"key\" = 'pendingBackup'")
    }
  }

  @_optimize(none)
  private func create() throws -> UUID {
    let storeID = UUID.random()
    let schema = SQLSchema(model, store: storeIndex)
    for sql in SQLSchema.systemTables + schema.tables + schema.indexes.map(\.sql) {
      try connection.execute(sql)
    }
    if firstKey > 1 {
      for root in model.entities where root.root == root.index && root.storeIndex == storeIndex {
        let name = SQLText.literal(root.name)
        try connection.execute(
          "INSERT INTO \"_cdgen_keys\" (\"entity\", \"next\") VALUES (\(name), \(firstKey))")
      }
    }
    try StoreMetadata.ofNewStore(model, storeID: storeID, store: storeIndex).write(to: connection)
    return storeID
  }

  /// Checks the store's contents within one snapshot.
  ///
  /// - Returns: Nil if the file is empty.
  private func inspect() throws -> Found? {
    // In UTF-16, SQLite orders texts by other units than this library, so queries would have other results.
    if let encoding = try connection.scalar("PRAGMA encoding"), encoding != "UTF-8" {
      throw StoreError.foreignSchema(
        url, objects: ["the text encoding \(encoding) (a copy of the store has UTF-8)"])
    }
    let stored = try StoredSchema(connection)
    if stored.isEmpty { return nil }
    try stored.check(of: url)
    let found = try StoreMetadata(connection, url: url)
    let wanted = try StoreVersionCheck(
      url: url, model: model, storeIndex: storeIndex, configurations: configurations
    ).check(found, tables: stored.tables)
    let expected = SQLSchema(model, store: storeIndex)
    try stored.check(expected, of: url)
    var result = Found(storeID: found.storeID)
    if !isJustMigrated { result.backups = found.pendingBackups }
    // The hashes depend only on the model. This release may create more indexes for the same model than the release
    // that wrote the store.
    if try found.layoutHash != wanted.layoutHash || found.definitionHash != wanted.definitionHash
      || found.partVersions != wanted.partVersions || !stored.hasIndexes(of: expected)
    {
      result.wanted = wanted
    }
    return result
  }

  /// Returns the error for a unique index that cannot be created, because objects already have equal values.
  @_optimize(none)
  private func duplicate(_ index: IndexLayout, _ version: Int) throws -> MigrationError? {
    guard
      let (entity, properties) = model.uniqueConstraint(ofIndex: index.name)
        ?? model.oneToOneReference(ofIndex: index.name)
    else { return nil }
    let key = try connection.rows(index.equalRows(table: SQLText.quoted(index.table))).first?[1]
    let found = try StoreMetadata(connection, url: url).versionNumber
    return MigrationError(
      url, .duplicate(properties: properties),
      step: MigrationError.Step(source: found, destination: version), entity: entity.name,
      objectKey: key.flatMap { Int64($0) })
  }

  /// Creates and removes indexes to match the model, and updates the metadata.
  @_optimize(none)
  private func update(to metadata: StoreMetadata, _ schema: SQLSchema) throws {
    let wanted = Dictionary(
      schema.indexes.map { ($0.name, $0.sql) }, uniquingKeysWith: { first, _ in first })
    var present: Set<String> = []
    for index in try StoredSchema(connection).removableIndexes(schema, for: schema) {
      if wanted[index.name] == index.sql {
        present.insert(index.name)
      } else {
        try connection.execute("DROP INDEX \(SQLText.quoted(index.name))")
      }
    }
    for index in schema.indexes where !present.contains(index.name) {
      do {
        try connection.execute(index.sql)
      } catch let error as StoreError where error.isUniquenessViolation {
        throw try duplicate(index, metadata.versionNumber) ?? error
      }
    }
    var metadata = metadata
    metadata.createdBy = try StoreMetadata(connection, url: url).createdBy
    try metadata.write(to: connection)
  }
}
