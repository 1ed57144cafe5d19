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

/// A copy of a store that no coordinator has open, into a new store of any format or engine.
struct ClosedStoreCopy {
  /// The file itself, not a link to it; for a store of another engine, the URL that errors show.
  let url: URL
  /// The app's own formats, if the store may have one of them.
  let formats: [any StoreFormat]
  /// Whether the copy is a replica. If not, the copy stands for the original, as a backup does.
  let isReplica: Bool
  /// The engine's access to the store; nil for a file.
  var transfer: (any StoreTransfer)?

  /// Creates a store of another engine that has the rows of this one.
  @_optimize(none)
  func write(to target: any StoreTransfer) throws {
    if let transfer, !isReplica {
      try transfer.read { try target.create($0.contents(), of: $0.plan()) }
    } else {
      // The copy has all values in its rows.
      let source = try StoredRows(self, largeValues: nil)
      try source.checkEntities()
      try target.create(source.contents, of: source.model)
    }
  }

  /// Writes the copy to a file that does not exist.
  ///
  /// - Parameter format: The format of the copy; nil for a SQLite file.
  @_optimize(none)
  func write(to target: URL, _ format: (any StoreFormat)?) throws {
    // Another copy to the same place would add the same files of large values, and the one that fails would remove them.
    let claim = try CopyClaim(of: target)
    defer { withExtendedLifetime(claim) {} }
    guard FileIdentity(target.path(percentEncoded: false)) == nil else { throw Self.exists(target) }
    // This copy does not list a file that is already there. So what a killed copy has left goes first.
    claim.removeListedValues(formats: formats)
    let large = CopiedValues(from: url, to: target) { (name) throws(StoreError) in try claim.list([name]) }
    do {
      if let format {
        let source = try StoredRows(self, largeValues: large)
        try source.check()
        try source.copyFiles()
        try large.sync()
        try MigrationFaults.reach("finish the copy")
        let file = try StoreFile(target, format, isReadOnly: false)
        // Somebody may have created a store while the source was read. From here on, the lock keeps others away.
        guard file.isEmpty else { throw Self.exists(target) }
        do {
          try file.removeJournals()
          let prepared = try file.prepare(source.contents)
          do {
            try claim.clearList()
            try MigrationFaults.reach("name the copy")
          } catch {
            file.discard(prepared)
            throw error
          }
          try file.replaceStore(with: prepared)
        } catch {
          unlink(file.path)
          throw error
        }
      } else {
        let source = try ownFormat
        try makeDatabase(
          target, claim, large, isReplica: isReplica && (source != nil || transfer != nil)
        ) { builder in
          // The rows go directly into the new file, so the store can be of any size.
          if let transfer {
            try transfer.read { try $0.add(to: builder) }
          } else if let source {
            try StoreFile(url, source, isReadOnly: true).read(into: builder)
          } else {
            try StoredRows(self, largeValues: large).add(to: builder)
          }
        }
      }
    } catch {
      large.discard()
      throw error
    }
  }

  /// The error of a copy whose place is taken.
  static func exists(_ target: URL) -> StoreError {
    .cannotCreate(target, reason: "the file already exists; it was not changed")
  }

  /// Returns the names of the files of large values that the store's rows refer to.
  @_optimize(none)
  func fileNames() throws -> Set<String> { try StoredRows(self, largeValues: nil).fileNames() }

  /// The format of the store's file; nil for a SQLite file and for a store of another engine.
  fileprivate var ownFormat: (any StoreFormat)? {
    get throws { transfer == nil ? try StoreLocation(recognizing: url, formats: formats).format : nil }
  }

  /// Creates a SQLite file. The file gets its final name when it is complete.
  @_optimize(none)
  private func makeDatabase(
    _ target: URL, _ claim: CopyClaim, _ large: CopiedValues, isReplica: Bool,
    fill: (StoreBuilder) throws -> Void
  ) throws {
    let path = target.path(percentEncoded: false)
    let work = claim.work
    defer { unlink(work) }
    do {
      let connection = try SQLiteConnection(path: work, of: [target], isDefensive: false)
      _ = try connection.scalar("PRAGMA journal_mode = OFF")
      try connection.execute("PRAGMA synchronous = OFF")
      try fill(StoreBuilder(connection, url: target, largeValues: large, isReplica: isReplica))
    }
    try large.sync()
    try Disk.sync(work, of: target)
    try MigrationFaults.reach("finish the copy")
    // Nobody opens a file meanwhile, so that no store is replaced that somebody has created since the copy began.
    let lock = try FolderLock(.exclusive, of: target, timeout: 5)
    defer { withExtendedLifetime(lock) {} }
    guard FileIdentity(path) == nil else { throw Self.exists(target) }
    // A killed program may have left a log of a file that had the name before. The log must be gone from the disk before the
    // new file has the name.
    if try DatabaseFile.removeJournals(of: target) { try Disk.syncFolder(of: target) }
    try claim.clearList()
    try MigrationFaults.reach("name the copy")
    try Disk.rename(work, path, of: target)
    try Disk.syncFolder(of: target)
  }
}

/// The rows of a store that is not opened with a model. The store's own metadata describe them.
private struct StoredRows {
  let url: URL
  let model: ModelPlan
  let contents: StoreContents
  private let tables: StoredTables
  private let largeValues: CopiedValues?
  /// Whether a builder has made the rows, so that an opening of the copy accepts them. Other programs can write to a SQLite
  /// file.
  private let isChecked: Bool
  /// The connection to the rows. ``fileColumns`` are the columns that name files.
  private let connection: SQLiteConnection
  private let fileColumns: [FileColumn]

  /// - Parameter largeValues: The files of large values of the copy; nil if the copy has them in its rows.
  @_optimize(none)
  init(_ copy: ClosedStoreCopy, largeValues: CopiedValues?) throws {
    url = copy.url
    self.largeValues = largeValues
    let format = try copy.ownFormat
    isChecked = copy.transfer != nil || format != nil
    if let transfer = copy.transfer {
      connection = try Self.memory(of: url) { builder in try transfer.read { try $0.add(to: builder) } }
    } else if let format {
      connection = try Self.memory(of: url, largeValues) { [url] in
        try StoreFile(url, format, isReadOnly: true).read(into: $0)
      }
    } else {
      connection = try SQLiteConnection.reading(url)
    }
    let stored = try StoredSchema(connection)
    try stored.check(of: url)
    let source = SQLiteTableSource(connection: connection, schema: "main")
    tables = StoredTables(source, names: stored.tables, url: url)
    model = try tables.plan()
    // A copy without such a table would silently lack its rows.
    try stored.check(without: model.entities.filter { $0.storeIndex == nil }.map(\.table), of: url)
    try stored.check(SQLSchema(model, store: 0), of: url)
    fileColumns = model.fileColumns(ofStore: 0)
    if !fileColumns.isEmpty, copy.transfer == nil { try ExternalFiles(store: url).checkFolder() }
    let rows = StoreTables(model, store: 0)
    contents = try StoreContents(
      rows, connection, schema: "main", isCopy: true,
      replacing: copy.isReplica ? connection.replicaEntries(of: url, roots: rows.roots) : [:],
      inlining: largeValues == nil ? ExternalFiles(store: url) : nil)
  }

  /// Creates a database in memory with the rows of a store that has no tables of SQLite.
  @_optimize(none)
  private static func memory(
    of url: URL, _ largeValues: CopiedValues? = nil, fill: (StoreBuilder) throws -> Void
  ) throws -> SQLiteConnection {
    let connection = try SQLiteConnection.inMemory(":memory:", of: url)
    try fill(StoreBuilder(connection, url: url, largeValues: largeValues))
    return connection
  }

  /// Returns the names of the files of large values that rows refer to.
  @_optimize(none)
  func fileNames() throws -> Set<String> {
    var names: Set<String> = []
    for column in fileColumns {
      names.formUnion(try connection.rows(column.fileNames()).compactMap { $0[0] })
    }
    return names
  }

  /// Copies all files of large values that rows refer to.
  @_optimize(none)
  func copyFiles() throws {
    guard let largeValues else { return }
    for name in try fileNames().ordered() { try largeValues.addFile(name) }
  }

  /// Throws an error if a copy would silently lack rows, because no object can be made of them.
  func checkEntities() throws { try tables.checkEntities(of: model) }

  /// Throws an error if a file with these rows could not be opened. The check needs the memory that each opening of such a
  /// file needs.
  @_optimize(none)
  func check() throws {
    if !isChecked { _ = try Self.memory(of: url) { try add(to: $0) } }
  }

  func add(to builder: StoreBuilder) throws {
    try checkEntities()
    do { try builder.add(contents) } catch let error as StoreFormatError {
      throw StoreError.unreadable(url, error)
    }
  }
}

/// The backups that migrations have left beside a store. The large values of a backup are in the folder of the store,
/// which shares them with its backups.
struct StoreBackups {
  /// The file of the store itself, not a link to it.
  let store: URL
  /// The app's own formats, if the backups may have one of them.
  var formats: [any StoreFormat] = []

  /// Returns the names of all files of large values that rows of the backups refer to. Returns nil if a backup cannot be
  /// read, because it may need any file.
  ///
  /// Call it without a lock on the folder, because reading a SQLite file takes that lock too.
  @_optimize(none)
  func fileNames() -> Set<String>? {
    var names: Set<String> = []
    do {
      for backup in try BackupFiles.backups(of: store) {
        names.formUnion(try ClosedStoreCopy(url: backup, formats: formats, isReplica: false).fileNames())
      }
    } catch { return nil }
    return names
  }
}
