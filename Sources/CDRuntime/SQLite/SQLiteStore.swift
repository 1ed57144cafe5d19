import Synchronization

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// An open SQLite store: shared by all contexts of a coordinator.
final class SQLiteStore: Sendable {
  let url: URL
  let storeID: UUID
  let isInMemory: Bool
  let writer: SQLiteWriter
  /// Where large values are; nil for a store in memory, whose rows hold them all.
  let files: ExternalFiles?
  /// Tells the saves of this process's coordinator from those of others in the history.
  let origin: String
  private let path: String
  /// Keys that contexts have given back, by the place of the root entity.
  private let spareKeys = Mutex<[Int: [Range<ObjectKey>]]>([:])

  /// Opens a store, and makes it where there is none.
  ///
  /// - Throws: ``StoreError``; an existing store is then as it was.
  init(at url: URL, model: ModelPlan) throws {
    self.url = url
    path = url.path(percentEncoded: false)
    isInMemory = false
    origin = UUID().uuidString
    let files = ExternalFiles(store: url)
    self.files = files
    try Self.checkHeader(of: url, path: path)
    writer = try Self.openWriter(path: path, url: url)
    storeID = try writer.use { connection in
      let id = try StoreOpening(connection: connection, url: url, model: model).open()
      // The journal of a store that is not ours, or not yet, is left alone until here.
      _ = try connection.scalar("PRAGMA journal_mode = WAL")
      try connection.execute("PRAGMA synchronous = NORMAL")
      if model.hasExternalSlots {
        try ExternalValues.collect(files, connection)
      }
      return id
    }
  }

  /// Makes a store that lives in memory as long as this object and its contexts do.
  init(inMemory model: ModelPlan) throws {
    let name = UUID().uuidString
    path = "file:/cdgen-\(name)?vfs=memdb"
    let url = URL(string: "memory:\(name)") ?? EmptyValue.url
    self.url = url
    isInMemory = true
    files = nil
    origin = name
    writer = try SQLiteWriter(path: path)
    storeID = try writer.use { connection in
      try StoreOpening(connection: connection, url: url, model: model).open()
    }
  }

  /// A connection for a context to read by.
  func makeReader() throws -> SQLiteConnection {
    let connection = try SQLiteConnection(path: path)
    try connection.execute("PRAGMA query_only = ON")
    return connection
  }

  // MARK: Keys

  /// Reserves keys for new objects: never any that was reserved before, by whichever process.
  func reserveKeys(of root: EntityPlan, count: Int64) throws -> Range<ObjectKey> {
    if let spare = spareKeys.withLock({ $0[root.index]?.popLast() }) { return spare }
    return try writer.use { connection in
      let statement = try connection.statement(
        "INSERT INTO \"_cdgen_keys\" (\"entity\", \"next\") VALUES (?1, 1 + ?2) "
          + "ON CONFLICT (\"entity\") DO UPDATE SET \"next\" = \"next\" + ?2 RETURNING \"next\"")
      defer { statement.reset() }
      statement.bind(root.name, at: 1)
      statement.bind(count, at: 2)
      var next: Int64 = 0
      while try statement.step() { next = statement.int64(0) }
      return next - count..<next
    }
  }

  /// Takes back keys that no object has had.
  func giveBackKeys(_ keys: Range<ObjectKey>, of root: Int) {
    guard !keys.isEmpty else { return }
    spareKeys.withLock { $0[root, default: []].append(keys) }
  }

  // MARK: Opening

  private static func openWriter(path: String, url: URL) throws -> SQLiteWriter {
    do {
      return try SQLiteWriter(path: path)
    } catch StoreError.sqlite(let code, let message, _) where code & 0xFF == 14 {
      throw StoreError.cannotCreate(url, reason: message)
    } catch StoreError.sqlite(let code, _, _) where code & 0xFF == 26 {
      throw StoreError.notADatabase(url)
    }
  }

  /// Refuses a file that is no database before SQLite touches it. An empty file becomes a store.
  private static func checkHeader(of url: URL, path: String) throws {
    guard FileManager.default.fileExists(atPath: path) else { return }
    let header: Data
    do {
      header = try Data(contentsOf: url, options: .alwaysMapped).prefix(16)
    } catch {
      throw StoreError.cannotCreate(url, reason: "\(error)")
    }
    guard header.isEmpty || Array(header) == Array("SQLite format 3\u{0}".utf8) else {
      throw StoreError.notADatabase(url)
    }
  }
}
