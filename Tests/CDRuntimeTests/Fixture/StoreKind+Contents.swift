import Foundation

@testable import CDRuntime

// What tests do with a store as a whole, whether it is a file or a store of another engine.
extension StoreKind {
  /// Reads and writes whole stores of an engine other than SQLite; nil for files and for memory.
  func transfer(_ url: URL) -> (any StoreTransfer)? {
    if case .engine(let location) = location(url) { location.transfer } else { nil }
  }

  /// What errors show of a store.
  func shownURL(_ url: URL) -> URL {
    switch self {
    case .postgresql: TestServer.shownURL(url)
    case .plain: PlainStores.address(url)
    case .sqlite, .xml, .binary, .json, .memory: url
    }
  }

  /// The bytes of the store's file; or all that another engine stores, as text.
  func contents(_ url: URL) throws -> Data {
    guard let transfer = transfer(url) else { return try Data(contentsOf: url) }
    return try transfer.read { stored in
      let contents = try stored.contents()
      var text = "\(contents.metadata.sorted { $0.key < $1.key })\n"
      for table in contents.tables {
        text += table.name + "\n"
        try contents.forEachRow(of: table) { text += "\($0)\n" }
      }
      return Data(text.utf8)
    }
  }

  /// The name of a store that is no file, and of what migrations have left beside it. None for files.
  func names(_ url: URL) throws -> [String] {
    switch self {
    case .postgresql: try TestServer.files(url)
    case .plain: PlainStores.tables(at: PlainStores.address(url)).isEmpty ? [] : [url.lastPathComponent]
    case .sqlite, .xml, .binary, .json, .memory: []
    }
  }

  /// Whether there is a store.
  func exists(_ url: URL) throws -> Bool {
    try transfer(url)?.exists() ?? FileManager.default.fileExists(atPath: url.path)
  }

  /// Reads the metadata of a store that is not open, of a file by its URL alone.
  func metadata(_ url: URL) throws -> PersistentStoreMetadata {
    hasFiles
      ? try PersistentStoreCoordinator.metadata(forStoreAt: url, formats: [JSONStoreFormat()])
      : try PersistentStoreCoordinator.metadata(forStoreAt: location(url))
  }

  /// Destroys a store, a file by its URL alone.
  func destroy(_ url: URL) throws {
    if !hasFiles { return try PersistentStoreCoordinator.destroyPersistentStore(at: location(url)) }
    try PersistentStoreCoordinator.destroyPersistentStore(at: url, formats: [JSONStoreFormat()])
  }

  /// Removes a store that goes with its test, and that is no file. It may still be open.
  func drop(_ url: URL) {
    if self == .postgresql { TestServer.drop(url) }
    if self == .plain { PlainStores.abandon(PlainStores.address(url)) }
  }

  /// Gives a store another name.
  func move(_ url: URL, to other: URL) throws {
    switch self {
    case .postgresql: try TestServer.move(url, to: other)
    case .plain: PlainStores.move(PlainStores.address(url), to: PlainStores.address(other))
    case .sqlite, .xml, .binary, .json, .memory: try FileManager.default.moveItem(at: url, to: other)
    }
  }

  /// Makes a database of another program where a store would be.
  func makeForeignDatabase(_ url: URL) throws {
    switch self {
    case .postgresql: try TestServer.makeForeignSchema(url)
    case .plain: PlainStores.makeForeign(PlainStores.address(url), tables: ["theirs"])
    case .sqlite, .xml, .binary, .json, .memory: try PlainSQL.run("CREATE TABLE theirs (x)", at: url)
    }
  }

  /// A second location of a store, and what errors show of it.
  ///
  /// - Parameter link: The place for a symbolic link to the file.
  func secondLocation(of url: URL, by link: URL) throws -> (location: StoreLocation, shownURL: URL) {
    if !hasFiles { return (location(url), shownURL(url)) }
    try FileManager.default.createSymbolicLink(at: link, withDestinationURL: url)
    return (location(link), link)
  }

  /// The names of a store's tables, in order, but for the runtime's own.
  func tables(_ url: URL) throws -> [String] {
    let all =
      switch self {
      case .postgresql: try TestServer.tables(url)
      case .plain: PlainStores.tables(at: PlainStores.address(url))
      case .sqlite, .xml, .binary, .json, .memory:
        try PlainSQL.rows("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name", at: url)
      }
    return all.filter { !$0.hasPrefix("_cdgen") && !$0.hasPrefix("sqlite") }
  }

  /// The names of a store's indexes, in order. For a plain store, these are the indexes that its metadata require: the engine
  /// has none.
  func indexes(_ url: URL) throws -> [String] {
    if self == .postgresql { return try TestServer.indexes(url) }
    return try PlainSQL.rows("SELECT name FROM sqlite_master WHERE type = 'index' ORDER BY name", at: url)
  }
}
