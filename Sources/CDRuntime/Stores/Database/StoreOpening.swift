import CDMapping
import CDModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The opening of a store: checks what it is, makes it where there is none, brings its indexes up to date.
struct StoreOpening {
  let connection: SQLiteConnection
  let url: URL
  let model: ModelPlan
  /// The store's place among the coordinator's: it gets the tables of the entities whose home it is.
  let place: Int
  var isReadOnly = false
  /// The configuration of the store, and those of the coordinator's other stores, which say what this one does not hold.
  var configurations: (own: String?, others: [String?])?
  /// Whether a migration has made the store what it is a moment ago.
  var isJustMigrated = false

  /// - Returns: The store's UUID.
  func open() throws -> UUID {
    if let found = try connection.read({ try inspect() }) {
      if found.isCurrent || isReadOnly { return found.storeID }
      try connection.write { try bringUpToDate(found) }
      return found.storeID
    }
    if isReadOnly { throw StoreError.foreignDatabase(url) }
    return try connection.write {
      // Another process may have been faster.
      guard let found = try inspect() else { return try create() }
      if !found.isCurrent { try bringUpToDate(found) }
      return found.storeID
    }
  }

  /// A store of the model, as it was found.
  private struct Found {
    let storeID: UUID
    /// The files of earlier versions, which are to go.
    var backups: [String] = []
    /// What the metadata should be; nil where they and the indexes are as they should be.
    var wanted: StoreMetadata?

    var isCurrent: Bool { backups.isEmpty && wanted == nil }
  }

  private func bringUpToDate(_ found: Found) throws {
    if !found.backups.isEmpty {
      for backup in found.backups { MigrationFiles(url).removeBackup(backup) }
      try connection.execute("DELETE FROM \"_cdgen_metadata\" WHERE \"key\" = 'pendingBackup'")
    }
    if let wanted = found.wanted { try update(to: wanted, SQLiteSchema(model, store: place)) }
  }

  private func create() throws -> UUID {
    let storeID = UUID.random()
    let schema = SQLiteSchema(model, store: place)
    for sql in SQLiteSchema.systemTables + schema.tables + schema.indexes.map(\.sql) {
      try connection.execute(sql)
    }
    try StoreMetadata(model, storeID: storeID, store: place).write(to: connection)
    return storeID
  }

  /// Checks what the store is, in one state of it.
  ///
  /// - Returns: Nil where there is nothing in the file.
  private func inspect() throws -> Found? {
    let stored = try StoredSchema(connection)
    if stored.isEmpty { return nil }
    try stored.check(of: url)
    let found = try StoreMetadata(connection, url: url)
    let source = model.source(ofStore: place)
    guard found.modelID == source.model.id else {
      throw StoreError.otherModel(
        url, found: found.model, expected: ModelIdentity(source.model))
    }
    // What was written with this very version, for the same entities, says of itself what would be written now.
    let isSame =
      model.isWhole(store: place) && found.version == source.version.canonicalJSON
      && model.entities.map(\.table).allSatisfy(stored.tables.contains)
    let wanted = isSame ? found : StoreMetadata(model, storeID: found.storeID, store: place)
    guard found.dataHash == wanted.dataHash, !hasMappedSteps(from: found) else {
      if found.dataHash != wanted.dataHash { try checkConfiguration(found, tables: stored.tables) }
      throw needsMigration(found, to: source)
    }
    let expected = SQLiteSchema(model, store: place)
    try stored.check(expected, of: url)
    var result = Found(storeID: found.storeID)
    if !isJustMigrated { result.backups = found.pendingBackups }
    // The hashes are the model's; what this release makes of it may have more indexes than the one that wrote last.
    if try found.layoutHash != wanted.layoutHash || found.definitionHash != wanted.definitionHash
      || found.partVersions != wanted.partVersions || !stored.hasIndexes(of: expected)
    {
      result.wanted = wanted
    }
    return result
  }

  /// The error of a store of another version; where it is of several merged models, with the first of them that moves.
  private func needsMigration(_ found: StoreMetadata, to source: StoreSource) -> StoreError {
    for part in source.model.parts {
      if let number = found.partVersions[part.id], number != part.currentVersionNumber {
        return .needsMigration(url, model: part.name, from: number, to: part.currentVersionNumber)
      }
    }
    return .needsMigration(
      url, model: found.modelName, from: found.versionNumber, to: source.version.number)
  }

  /// Refuses a store that holds the objects of other entities than it is opened for, by the version that it was written
  /// with: no migration would bring it there.
  private func checkConfiguration(_ found: StoreMetadata, tables: Set<String>) throws {
    guard let configurations, let version = try? ModelVersion(canonicalJSON: found.version) else { return }
    let graph = EntityGraph(version)
    let names = Set(version.configurations.map(\.name))
    // A configuration that the version has not says nothing of it.
    let known = [configurations.own] + configurations.others.filter { $0.map(names.contains) ?? true }
    guard let assignment = try? StoreAssignment(graph, configurations: known) else { return }
    func root(_ entity: String) -> String { graph.root(of: entity)?.name ?? entity }
    let holds = version.entities.map(\.name).filter { tables.contains(root($0)) }
    let asked = version.entities.map(\.name).filter { assignment.places[root($0)] == 0 }
    guard holds != asked else { return }
    let fitting = version.configurations.first { Set($0.entities.map(root)) == Set(holds.map(root)) }
    throw StoreError.otherConfiguration(url, holds: holds, configuration: fitting?.name, asked: asked)
  }

  /// Whether mappings change objects on the way from a version that stores the same as the current one.
  private func hasMappedSteps(from found: StoreMetadata) -> Bool {
    let model = model.source(ofStore: place).model
    if model.parts.isEmpty { return Self.hasMappedSteps(from: found.versionNumber, of: model) }
    return model.parts.contains { part in
      found.partVersions[part.id].map { Self.hasMappedSteps(from: $0, of: part) } ?? false
    }
  }

  private static func hasMappedSteps(from version: Int, of model: ManagedObjectModel) -> Bool {
    // Mappings may calculate, and names that two properties exchange say nothing in the hashes.
    guard version != model.currentVersionNumber,
      !model.mappings.isEmpty || model.versions.contains(where: \.hasRenames)
    else { return false }
    let steps = VersionLine(model).steps(from: version, to: model.currentVersionNumber) ?? []
    return steps.contains { !$0.changesNoData }
  }

  /// What a unique index that cannot be made is to say: the objects were equal before their values had to differ.
  private func duplicate(_ index: String, _ version: Int) throws -> MigrationError? {
    guard let (entity, properties) = model.uniqueConstraint(ofIndex: index) else { return nil }
    let table = SQLite.quoted(entity.table)
    let columns = entity.columnNames(of: properties).map(SQLite.quoted)
    let conditions = model.isPart(entity) + columns.map { "\($0) IS NOT NULL" }
    let key = try connection.scalar(
      "SELECT max(_pk) FROM \(table) WHERE \(conditions.joined(separator: " AND ")) "
        + "GROUP BY \(columns.joined(separator: ", ")) HAVING count(*) > 1 LIMIT 1")
    let found = try StoreMetadata(connection, url: url).versionNumber
    return MigrationError(
      url, .duplicate(properties: properties),
      step: MigrationError.Step(source: found, destination: version), entity: entity.name,
      objectKey: key.flatMap { Int64($0) })
  }

  /// Makes the indexes those of the model, and lets the metadata say so.
  private func update(to metadata: StoreMetadata, _ schema: SQLiteSchema) throws {
    let wanted = Dictionary(
      schema.indexes.map { ($0.name, $0.sql) }, uniquingKeysWith: { first, _ in first })
    var present: Set<String> = []
    for (name, sql) in try StoredSchema(connection).indexes {
      if wanted[name] == sql {
        present.insert(name)
      } else {
        try connection.execute("DROP INDEX \(SQLite.quoted(name))")
      }
    }
    for index in schema.indexes where !present.contains(index.name) {
      do {
        try connection.execute(index.sql)
      } catch let error as StoreError where error.isUniquenessViolation {
        throw try duplicate(index.name, metadata.versionNumber) ?? error
      }
    }
    var metadata = metadata
    metadata.createdBy = try StoreMetadata(connection, url: url).createdBy
    try metadata.write(to: connection)
  }
}

extension ModelVersion {
  /// Whether something had another name in the version before.
  fileprivate var hasRenames: Bool {
    entities.contains { entity in
      entity.renamedFrom != nil || entity.attributes.contains { $0.renamedFrom != nil }
        || entity.relationships.contains { $0.renamedFrom != nil }
    }
  }
}
