#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The opening of a store that is read as a whole. Its rows are loaded into a database in memory, which is then opened
/// like the file of a SQLite store. Meanwhile no other process can open the file for writing.
struct FileStoreOpening {
  let file: StoreFile
  let settings: StoreSettings
  let model: ModelPlan
  let storeIndex: Int
  /// The configurations of the coordinator's other stores.
  private let others: [String?]
  /// The rows of the file in memory, and the path by which other connections open them. Nil for an empty file.
  let rows: (connection: SQLiteConnection, memory: String)?

  var url: URL { file.url }

  /// Reads the file. A migration then works on the same rows.
  init(file: StoreFile, settings: StoreSettings, model: ModelPlan, storeIndex: Int, others: [String?]) throws
  {
    self.file = file
    self.settings = settings
    self.model = model
    self.storeIndex = storeIndex
    self.others = others
    rows = file.isEmpty ? nil : try Self.memory(of: file.url)
    if let rows {
      try file.read(into: StoreBuilder(rows.connection, url: file.url, current: (model, storeIndex)))
    }
  }

  /// Creates an empty database in memory.
  private static func memory(of url: URL) throws -> (connection: SQLiteConnection, memory: String) {
    let path = SQLiteConnection.memoryPath()
    return (try SQLiteConnection.inMemory(path, of: url), path)
  }

  func open() throws -> OpenedStore {
    if !settings.isReadOnly { CopyClaim.removeList(of: url, formats: [file.format]) }
    guard let (connection, memory) = rows else {
      if settings.isReadOnly { throw StoreError.unreadable(url, StoreFormatError(.truncated)) }
      return try make()
    }
    let before = try metadata(connection)
    let id = try opening(connection).open()
    if !settings.isReadOnly {
      try removeUnusedFiles(connection)
      if try metadata(connection) != before { try write(connection) }
    }
    return opened(connection, memory, id)
  }

  /// Creates a new store.
  ///
  /// - Parameter migration: The result that says why the new store replaces an old one; nil if there was no old store.
  func make(after migration: MigrationResult? = nil) throws -> OpenedStore {
    let (connection, memory) = try Self.memory(of: url)
    var creation = opening(connection)
    creation.firstKey = migration?.firstKey ?? 1
    let id = try creation.open()
    try file.removeJournals()
    // Other processes must be able to see at once which store the file contains.
    try write(connection)
    return opened(connection, memory, id, migration)
  }

  func opened(
    _ connection: SQLiteConnection, _ memory: String, _ storeID: UUID, _ migration: MigrationResult? = nil
  ) -> OpenedStore {
    OpenedStore(
      store: SQLiteStore(
        index: storeIndex, url: url, storeID: storeID, path: memory, isReadOnly: settings.isReadOnly,
        isInMemory: true, files: ExternalFiles(store: url), file: file, migration: migration),
      connection: connection)
  }

  func opening(_ connection: SQLiteConnection, isJustMigrated: Bool = false) -> StoreOpening {
    StoreOpening(
      connection: connection, url: url, model: model, storeIndex: storeIndex, isReadOnly: settings.isReadOnly,
      configurations: (settings.configuration, others), isJustMigrated: isJustMigrated)
  }

  private func metadata(_ connection: SQLiteConnection) throws -> [[String?]] {
    try connection.rows("SELECT \"key\", \"value\" FROM \"_cdgen_metadata\"")
  }

  func contents(_ connection: SQLiteConnection) throws -> StoreContents {
    try StoreContents(StoreTables(model, store: storeIndex), connection, schema: "main")
  }

  private func write(_ connection: SQLiteConnection) throws {
    try file.replaceStore(with: file.prepare(contents(connection)))
  }

  // MARK: Large values

  /// Removes files of large values that no row refers to, an hour after an opening has found them. An opening for
  /// reading only takes no lock. So a reader may still have the rows of an earlier file in memory, and reads their
  /// values when it needs them.
  @_optimize(none)
  func removeUnusedFiles(_ connection: SQLiteConnection) throws {
    let files = ExternalFiles(store: url)
    // The folder can be a link to the folder of another store.
    guard files.isOwn else { return }
    var unused = files.names
    let isEmpty = unused.isEmpty
    for column in model.fileColumns(ofStore: storeIndex) {
      unused.subtract(try connection.rows(column.fileNames()).compactMap { $0[0] })
    }
    UnusedFiles(files).collect(unused) {
      StoreBackups(store: url, formats: [file.format]).fileNames()
    }
    // A migration that was killed after the switch can leave the folder without a value.
    if isEmpty { files.removeAll([]) }
  }
}
