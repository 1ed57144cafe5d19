#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  package import Foundation
#endif

/// The stored rows of a store that is not opened with a model.
package struct StoredTables {
  package let source: any TableSource
  /// The names of the tables that the store has.
  package let names: Set<String>
  /// The URL that errors show.
  package let url: URL

  package init(_ source: any TableSource, names: Set<String>, url: URL) {
    self.source = source
    self.names = names
    self.url = url
  }

  package func metadata() throws -> StoreMetadata { try StoreMetadata(entries: source.metadata(), url: url) }

  /// The plan of the version that the store was written with. The store's own metadata describe it.
  @_optimize(none)
  package func plan() throws -> ModelPlan {
    let metadata = try PersistentStoreMetadata(metadata(), url: url)
    let graph = EntityGraph(metadata.modelVersion)
    let roots = metadata.modelVersion.entities.compactMap { graph.root(of: $0.name)?.name }.filter(
      names.contains)
    return try ModelPlan(metadata.managedObjectModel, assignment: StoreAssignment(roots: Set(roots)))
  }

  /// The next keys of the store that replaces this one without its objects, by the names of the root entities. They are
  /// greater than all keys that the objects have had, because other stores may refer to those.
  @_optimize(none)
  package func nextKeysAfterErasure(
    for model: ModelPlan, store storeIndex: Int
  ) throws -> [String: Int64] {
    let tables = StoreTables(model, store: storeIndex)
    var first: Int64 = 1
    for part in tables.parts {
      guard case .keys = part.content else { continue }
      try source.forEachRow(of: part) { row in
        guard row[0] != .text(StoreBuilder.historyKey), case .integer(let next) = row[1],
          next <= KeyRanges.largestKey
        else { return }
        first = max(first, next)
      }
    }
    var result: [String: Int64] = [:]
    if first > 1 { for root in tables.roots { result[root] = first } }
    return result
  }

  /// Throws an error if a row has an entity that is unknown to the model or abstract. The contents for a format would
  /// silently lack the row.
  @_optimize(none)
  func checkEntities(of model: ModelPlan) throws {
    for root in model.entities where root.root == root.index && root.storeIndex == 0 {
      guard let name = try source.strangeEntity(in: root, of: model) else { continue }
      throw StoreError.unreadable(url, StoreFormatError(.unknownEntity(name)))
    }
  }

  /// The complete contents of the store.
  func contents() throws -> StoreContents {
    let model = try plan()
    try checkEntities(of: model)
    return try StoreContents(StoreTables(model, store: 0), from: source, isCopy: true)
  }

  /// Adds the complete contents to a new store.
  ///
  /// - Throws: ``StoreError``.
  func add(to builder: StoreBuilder) throws {
    do { try builder.add(contents()) } catch let error as StoreFormatError {
      throw StoreError.unreadable(url, error)
    }
  }
}

/// Reads and writes whole stores of an engine other than SQLite, for copies and rehearsals of migrations.
package protocol StoreTransfer: Sendable {
  /// Whether there is a store.
  ///
  /// - Throws: ``StoreError`` if there is something else, or if the place cannot be reached.
  func exists() throws -> Bool
  /// Calls a body with the rows of the store as they are at one moment.
  ///
  /// - Throws: ``StoreError`` if there is no store, and the errors of the body.
  func read<R>(_ body: (StoredTables) throws -> R) throws -> R
  /// Creates the store with all its rows, completely or not at all.
  ///
  /// - Throws: ``StoreError`` if there already is a store.
  func create(_ contents: StoreContents, of model: ModelPlan) throws
  /// Removes the store, if there is one.
  func remove() throws
  /// Removes the store, if there is one without objects. Nobody can save an object meanwhile. An engine that cannot exclude
  /// this leaves the store.
  func removeIfEmpty() throws
  /// The statements of each step with which a migration would change the tables of the store; nil if the rows have to be
  /// written to new tables, or if the engine has no SQL.
  ///
  /// - Parameter plan: Plans the migration for the SQL of the engine's tables. Returns nil if the rows have to be written to
  ///   new tables.
  func statements(_ plan: (any SQLDialect) -> TableMigration?) throws -> [[String]]?
}

extension StoreTransfer {
  package func removeIfEmpty() throws {}

  package func statements(_ plan: (any SQLDialect) -> TableMigration?) throws -> [[String]]? { nil }
}

/// Migrates the rows of a store for an engine that cannot migrate them itself.
package protocol StoreMigrator: Sendable {
  /// Migrates the rows of a store to the model's current version.
  ///
  /// - Parameters:
  ///   - tables: The rows, which must not change until the migration ends.
  ///   - replace: Replaces the store's rows by others, completely or not at all. Nil stands for a store that is created
  ///     anew, because its draft version has changed.
  /// - Throws: ``MigrationError`` or ``StoreError``, and the errors of the parameters.
  func migrate(
    _ tables: StoredTables, replace: (StoreContents?) throws -> Void
  ) throws -> MigrationResult

  /// Plans a migration that leaves all rows in their tables.
  ///
  /// - Parameter dialect: The SQL of the engine's tables.
  /// - Returns: Nil if a step needs values that are computed for each row, or if the migration is refused.
  func tableMigration(_ tables: StoredTables, _ dialect: any SQLDialect) throws -> TableMigration?

  /// Makes a migration that leaves all rows in their tables.
  ///
  /// - Parameter body: Changes the tables, completely or not at all.
  /// - Throws: ``MigrationError``, and the errors of the body.
  func make(_ migration: TableMigration, of url: URL, _ body: () throws -> Void) throws -> MigrationResult

  /// Throws a ``MigrationError`` if ``migrate(_:replace:)`` would refuse the migration before it reads a row.
  func checkRefusal(_ tables: StoredTables) throws

  /// Throws a ``MigrationError`` if the migration was cancelled.
  func checkCancelled(_ url: URL) throws
}

/// Rows whose large values are in files, for an engine whose rows contain all values.
struct InlineValues: TableSource {
  let source: any TableSource
  let files: ExternalFiles

  func metadata() throws -> [String: String] { try source.metadata() }

  func forEachRow(of part: StoreTables.Part, _ body: ([StoreValue]) throws -> Void) throws {
    let external = part.table.columns.indices.filter { part.table.columns[$0].type == .externalData }
    if external.isEmpty { return try source.forEachRow(of: part, body) }
    try source.forEachRow(of: part) { row in
      var row = row
      for index in external {
        if case .text(let name) = row[index] { row[index] = .bytes(try value(name)) }
      }
      try body(row)
    }
  }

  private func value(_ name: String) throws -> Data {
    do {
      return try files.read(name)
    } catch let error as StoreError { throw error } catch {
      throw StoreError.externalData(files.folder.appending(path: name), reason: "\(error)")
    }
  }
}
