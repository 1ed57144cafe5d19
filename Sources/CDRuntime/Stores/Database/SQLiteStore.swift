#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// One store of a ``SQLiteDatabase``: a SQLite file, memory, or memory with the rows of a file that is read and
/// written whole.
final class SQLiteStore: AttachedStore {
  /// The place among the coordinator's stores.
  let place: Int
  let url: URL
  let storeID: UUID
  let isReadOnly: Bool
  let isInMemory: Bool
  /// What SQLite is to open: a path, or a URI.
  let path: String
  /// Where large values are; nil for a store in memory alone, whose rows hold them all.
  let files: ExternalFiles?
  /// The file that each save writes whole; nil where SQLite has the file, or there is none.
  let file: StoreFile?
  /// The file that was opened, to notice when another has taken its name.
  private let identity: FileIdentity?
  /// What its metadata said of the version when it was opened; nil where SQLite keeps a lock on the file as long as it is
  /// open, which no migration passes. A file with a rollback journal is locked only while it is read.
  private let unlockedVersion: [String?]?
  /// The migration that opening took; nil where none was needed.
  let migration: MigrationResult?

  /// A store that is open.
  init(
    place: Int, url: URL, storeID: UUID, path: String, isReadOnly: Bool, isInMemory: Bool = false,
    files: ExternalFiles? = nil, file: StoreFile? = nil, identity: FileIdentity? = nil,
    unlockedVersion: [String?]? = nil, migration: MigrationResult? = nil
  ) {
    self.place = place
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

  /// A store that is being made in the place of another.
  ///
  /// - Parameter url: The other one's, by which errors name it, and beside which large values are.
  convenience init(making url: URL, storeID: UUID) {
    self.init(
      place: 0, url: url, storeID: storeID, path: ":memory:", isReadOnly: false,
      files: ExternalFiles(store: url))
  }

  /// Refuses to go on where the file has been removed, or another one has taken its place: what is written would
  /// be lost, or would hit what was never read.
  func checkIdentity() throws(StoreError) {
    if let file { return try file.checkIdentity() }
    guard let identity else { return }
    if FileIdentity(url.path(percentEncoded: false)) != identity { throw .replaced(url) }
  }

  /// Whether a migration may make another file of it between two reads, so that each has to begin with
  /// ``checkVersion(_:schema:)``.
  var isUnlocked: Bool { unlockedVersion != nil }

  /// Refuses to go on reading a file that has been migrated since it was opened: columns may have other contents.
  func checkVersion(_ connection: SQLiteConnection, schema: String) throws {
    guard let unlockedVersion else { return }
    try checkIdentity()
    guard try Self.version(connection, schema: schema) == unlockedVersion else {
      throw StoreError.replaced(url)
    }
  }

  /// What the metadata say of the version that the file has, in a fixed order.
  static func version(_ connection: SQLiteConnection, schema: String) throws -> [String?] {
    let statement = try connection.statement(
      "SELECT \"value\" FROM \(schema).\"_cdgen_metadata\" "
        + "WHERE \"key\" IN ('dataHash', 'versionNumber', 'parts') ORDER BY \"key\"")
    defer { statement.reset() }
    var result: [String?] = []
    while try statement.step() { result.append(statement.string(0)) }
    return result
  }

  /// Whether a URL leads to the store's file, by whatever name.
  func isFile(at url: URL) -> Bool {
    (identity ?? file?.identity).map { $0 == FileIdentity(url.path(percentEncoded: false)) } ?? false
  }
}
