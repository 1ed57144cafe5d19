#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// One store of a ``SQLiteDatabase``: a SQLite file, a database in memory, or a database in memory with the rows of a
/// file that is read and written as a whole.
final class SQLiteStore: AttachedStore {
  /// The index of the store in the coordinator.
  let index: Int
  let url: URL
  let storeID: UUID
  let isReadOnly: Bool
  let isInMemory: Bool
  /// The path or URI that SQLite opens.
  let path: String
  /// The files of large values. Nil for a store that is only in memory, because its rows contain all values.
  let files: ExternalFiles?
  /// The file that each save writes as a whole. Nil for a SQLite file, and for a store that is only in memory.
  let file: StoreFile?
  /// The identity of the opened file, to notice when another file has replaced it.
  private let identity: FileIdentity?
  /// The version in the metadata when the store was opened. Nil if SQLite has a lock on the file as long as it is open,
  /// which prevents a migration. A file with a rollback journal is locked only during a read, so its version must be
  /// checked.
  private let unlockedVersion: [String?]?
  /// The migration that the opening of the store did; nil if none was needed.
  let migration: MigrationResult?

  /// An open store.
  init(
    index: Int, url: URL, storeID: UUID, path: String, isReadOnly: Bool, isInMemory: Bool = false,
    files: ExternalFiles? = nil, file: StoreFile? = nil, identity: FileIdentity? = nil,
    unlockedVersion: [String?]? = nil, migration: MigrationResult? = nil
  ) {
    self.index = index
    self.url = url
    self.storeID = storeID
    self.path = path
    self.isReadOnly = isReadOnly
    self.isInMemory = isInMemory
    self.files = files
    self.file = file
    self.identity = identity
    self.unlockedVersion = unlockedVersion
    self.migration = migration
  }

  /// A store that is being created to replace another one.
  ///
  /// - Parameter url: The URL of the store to replace. Errors show it, and the files of large values are beside it.
  convenience init(creating url: URL, storeID: UUID) {
    self.init(
      index: 0, url: url, storeID: storeID, path: ":memory:", isReadOnly: false,
      files: ExternalFiles(store: url))
  }

  /// Throws an error if the file was removed or replaced. Otherwise, a write would be lost, or would change a file that
  /// was never read.
  func checkIdentity() throws(StoreError) {
    if let file { return try file.checkIdentity() }
    guard let identity else { return }
    if FileIdentity(url.path(percentEncoded: false)) != identity { throw .replaced(url) }
  }

  /// Whether a migration may change the file between two reads, or any save if the file is read as one that nobody changes.
  /// If so, each read must begin with ``checkVersion(_:schema:)``.
  var isUnlocked: Bool { unlockedVersion != nil }

  /// Throws an error if the file has been migrated since it was opened, because the columns may have changed. Throws one after
  /// any change of a file that is read as one that nobody changes.
  func checkVersion(_ connection: SQLiteConnection, schema: String) throws {
    guard let unlockedVersion else { return }
    try checkIdentity()
    if ImmutableFile.hasChanged(connection.handle, schema: schema) { throw StoreError.replaced(url) }
    guard try Self.version(connection, schema: schema) == unlockedVersion else {
      throw StoreError.replaced(url)
    }
  }

  /// Returns the entries of the metadata that determine the version, in a fixed order.
  static func version(_ connection: SQLiteConnection, schema: String) throws -> [String?] {
    let statement = try connection.statement(
      "SELECT \"value\" FROM \(schema).\"_cdgen_metadata\" "
        + "WHERE \"key\" IN ('dataHash', 'versionNumber', 'parts') ORDER BY \"key\"")
    defer { statement.reset() }
    var result: [String?] = []
    while try statement.step() { result.append(statement.string(0)) }
    return result
  }

  /// Returns whether a URL leads to the store's file, by any name.
  func isFile(at url: URL) -> Bool {
    (identity ?? file?.identity).map { $0 == FileIdentity(url.path(percentEncoded: false)) } ?? false
  }
}
