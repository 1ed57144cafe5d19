import CDModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// A copy of a store that no coordinator has open, into a new store of any format.
struct ClosedStoreCopy {
  /// The file itself, not a link to it.
  let url: URL
  /// The app's own formats, if the store may have one of them.
  let formats: [any StoreFormat]
  /// Whether the copy is a replica. If not, the copy stands for the original, as a backup does.
  let isReplica: Bool

  /// Writes the copy to a file that does not exist.
  ///
  /// - Parameter format: The format of the copy; nil for a SQLite file.
  @_optimize(none)
  func write(to target: URL, _ format: (any StoreFormat)?) throws {
    let large = CopiedValues(from: url, to: target)
    do {
      if let format {
        let source = try StoredRows(url, formats: formats, largeValues: large, isReplica: isReplica)
        try source.copyFiles()
        try large.sync()
        let file = try StoreFile(target, format, isReadOnly: false)
        do {
          try file.replaceStore(with: file.prepare(source.contents))
        } catch {
          unlink(file.path)
          throw error
        }
      } else {
        let source = try StoreLocation(recognizing: url, formats: formats).format
        try makeDatabase(target, large, isReplica: isReplica && source != nil) { builder in
          if let source {
            // The rows go directly into the new file, so the store can be of any size.
            try StoreFile(url, source, isReadOnly: true).read(into: builder)
          } else {
            try StoredRows(url, formats: formats, largeValues: large, isReplica: isReplica).add(to: builder)
          }
        }
      }
    } catch {
      large.discard()
      throw error
    }
  }

  /// Creates a SQLite file. The file gets its final name when it is complete.
  private func makeDatabase(
    _ target: URL, _ large: CopiedValues, isReplica: Bool, fill: (StoreBuilder) throws -> Void
  ) throws {
    let path = target.path(percentEncoded: false)
    let work = path + "-saving"
    unlink(work)
    defer { unlink(work) }
    do {
      let connection = try SQLiteConnection(path: work, of: [target], isDefensive: false)
      _ = try connection.scalar("PRAGMA journal_mode = OFF")
      try connection.execute("PRAGMA synchronous = OFF")
      try fill(StoreBuilder(connection, url: target, largeValues: large, isReplica: isReplica))
    }
    try large.sync()
    try Disk.sync(work, of: target)
    try Disk.rename(work, path, of: target)
    try Disk.syncFolder(of: target)
  }
}

/// The rows of a store that is not opened with a model. The store's own metadata describe them.
private struct StoredRows {
  let url: URL
  let contents: StoreContents
  private let largeValues: CopiedValues
  /// The connection to the rows. ``fileColumns`` are the columns that name files.
  private let connection: SQLiteConnection
  private let fileColumns: [FileColumn]

  @_optimize(none)
  init(_ url: URL, formats: [any StoreFormat], largeValues: CopiedValues, isReplica: Bool) throws {
    self.url = url
    self.largeValues = largeValues
    if let format = try StoreLocation(recognizing: url, formats: formats).format {
      connection = try SQLiteConnection.inMemory(":memory:", of: url)
      try StoreFile(url, format, isReadOnly: true).read(
        into: StoreBuilder(connection, url: url, largeValues: largeValues))
    } else {
      connection = try SQLiteConnection.reading(url)
    }
    let stored = try StoredSchema(connection)
    try stored.check(of: url)
    let metadata = try PersistentStoreMetadata(connection, url: url)
    let tables = stored.tables
    let graph = EntityGraph(metadata.modelVersion)
    let roots = metadata.modelVersion.entities.compactMap { graph.root(of: $0.name)?.name }.filter(
      tables.contains)
    let model = try ModelPlan(
      metadata.managedObjectModel, assignment: StoreAssignment(roots: Set(roots)))
    try stored.check(SQLSchema(model, store: 0), of: url)
    fileColumns = model.fileColumns(ofStore: 0)
    if !fileColumns.isEmpty { try ExternalFiles(store: url).checkFolder() }
    let rows = StoreTables(model, store: 0)
    contents = try StoreContents(
      rows, connection, schema: "main", isCopy: true,
      replacing: isReplica ? connection.replicaEntries(of: url, roots: rows.roots) : [:])
  }

  /// Copies all files of large values that rows refer to.
  func copyFiles() throws {
    for column in fileColumns {
      for row in try connection.rows(column.fileNames()) {
        if let name = row[0] { try largeValues.addFile(name) }
      }
    }
  }

  func add(to builder: StoreBuilder) throws {
    do {
      let tables = try builder.begin(metadata: contents.metadata)
      for table in contents.tables {
        guard let same = tables.first(where: { $0.kind == table.kind && $0.name == table.name }) else {
          continue
        }
        try contents.forEachRow(of: table) { try builder.add($0, to: same) }
      }
      try builder.finish()
    } catch let error as StoreFormatError { throw StoreError.unreadable(url, error) }
  }
}
