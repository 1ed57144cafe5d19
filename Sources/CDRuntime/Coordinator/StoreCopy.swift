import CDModel

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif
#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

extension PersistentStoreCoordinator {
  /// Copies a store into a new store of any format. The copy has the same UUID and the same keys, so identifiers and
  /// their URIs also lead to the copy's objects. The copy's history has the newest 1,000 saves.
  ///
  /// Make a replica if both stores will be changed. A replica has its own UUID. Its objects have the same
  /// ``GlobalObjectID`` as in the original, and its new objects get global identifiers that no object of the original ever
  /// has. Identifiers and URIs of the original's objects lead to no object of the replica. A ``HistoryToken`` of the
  /// original cannot be used for the replica.
  ///
  /// ```swift
  /// try PersistentStoreCoordinator.copyPersistentStore(
  ///   at: url, to: .xml(url.appendingPathExtension("xml")))
  /// ```
  ///
  /// - Parameters:
  ///   - url: The store's file.
  ///   - location: The location and the format of the copy.
  ///   - formats: The app's own formats, if the store may have one of them.
  ///   - isReplica: Whether the copy is a replica. If not, the copy stands for the original, as a backup does.
  /// - Throws: ``StoreError``, for example if there already is a file at the location. Nothing has been created then.
  @_optimize(none)
  public static func copyPersistentStore(
    at url: URL, to location: StoreLocation, formats: [any StoreFormat] = [],
    asReplica isReplica: Bool = false
  ) throws {
    let url = try Disk.resolvingLink(url)
    let location = try location.resolvingLink()
    guard let target = location.url else {
      throw StoreError.cannotCreate(url, reason: "a copy in memory would be lost at once; choose a file")
    }
    if let found = FileIdentity(target.path(percentEncoded: false)) {
      throw found == FileIdentity(url.path(percentEncoded: false))
        ? StoreError.openedTwice(target)
        : StoreError.cannotCreate(target, reason: "the file already exists; it was not changed")
    }
    let large = CopiedValues(from: url, to: target)
    do {
      if let format = location.format {
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
        let format = try StoreLocation(recognizing: url, formats: formats).format
        try makeDatabase(target, large, isReplica: isReplica && format != nil) { builder in
          if let format {
            // The rows go directly into the new file, so the store can be of any size.
            try StoreFile(url, format, isReadOnly: true).read(into: builder)
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
  private static func makeDatabase(
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
    try stored.check(SQLiteSchema(model, store: 0), of: url)
    fileColumns = model.fileColumns(ofStore: 0)
    if !fileColumns.isEmpty { try ExternalFiles(store: url).checkFolder() }
    let rows = StoreRows(model, store: 0)
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
