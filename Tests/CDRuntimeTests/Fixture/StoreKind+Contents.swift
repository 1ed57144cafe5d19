import Foundation

@testable import CDRuntime

// What tests do with a store as a whole, whether it is a file or a schema of a server.
extension StoreKind {
  /// What errors show of a store.
  func shownURL(_ url: URL) -> URL { self == .postgresql ? TestServer.shownURL(url) : url }

  /// The bytes of the store's file; or all that is on the server.
  func contents(_ url: URL) throws -> Data {
    self == .postgresql ? try TestServer.contents(url) : try Data(contentsOf: url)
  }

  /// Whether there is a store.
  func exists(_ url: URL) throws -> Bool {
    self == .postgresql
      ? try TestServer.transfer(url).exists() : FileManager.default.fileExists(atPath: url.path)
  }

  /// Reads the metadata of a store that is not open, of a file by its URL alone.
  func metadata(_ url: URL) throws -> PersistentStoreMetadata {
    self == .postgresql
      ? try PersistentStoreCoordinator.metadata(forStoreAt: location(url))
      : try PersistentStoreCoordinator.metadata(forStoreAt: url, formats: [JSONStoreFormat()])
  }

  /// Destroys a store, a file by its URL alone.
  func destroy(_ url: URL) throws {
    if self == .postgresql { return try PersistentStoreCoordinator.destroyPersistentStore(at: location(url)) }
    try PersistentStoreCoordinator.destroyPersistentStore(at: url, formats: [JSONStoreFormat()])
  }

  /// Gives a store another name.
  func move(_ url: URL, to other: URL) throws {
    if self == .postgresql { return try TestServer.move(url, to: other) }
    try FileManager.default.moveItem(at: url, to: other)
  }

  /// Makes a database of another program where a store would be.
  func makeForeignDatabase(_ url: URL) throws {
    if self == .postgresql { return try TestServer.makeForeignSchema(url) }
    try PlainSQL.run("CREATE TABLE theirs (x)", at: url)
  }

  /// A second location of a store, and what errors show of it.
  ///
  /// - Parameter link: The place for a symbolic link to the file.
  func secondLocation(of url: URL, by link: URL) throws -> (location: StoreLocation, shownURL: URL) {
    if self == .postgresql { return (location(url), shownURL(url)) }
    try FileManager.default.createSymbolicLink(at: link, withDestinationURL: url)
    return (location(link), link)
  }

  /// The names of a store's tables, in order, but for the runtime's own.
  func tables(_ url: URL) throws -> [String] {
    let all =
      self == .postgresql
      ? try TestServer.tables(url)
      : try PlainSQL.rows("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name", at: url)
    return all.filter { !$0.hasPrefix("_cdgen") && !$0.hasPrefix("sqlite") }
  }

  /// The names of a store's indexes, in order.
  func indexes(_ url: URL) throws -> [String] {
    if self == .postgresql { return try TestServer.indexes(url) }
    return try PlainSQL.rows("SELECT name FROM sqlite_master WHERE type = 'index' ORDER BY name", at: url)
  }
}
