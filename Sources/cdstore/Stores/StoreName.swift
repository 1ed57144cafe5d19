import CDConsole
import CDCoreDataStore
import CDModel
import CDRuntime
import Foundation

#if PostgreSQL
  import CDPostgresStore
#endif

/// The store that an argument names: a file, or the URL of a server.
struct StoreName {
  private let text: String

  /// The help of an argument that names an existing store.
  static let help = "The file of the store, or the URL of a server: postgresql://HOST/DATABASE?schema=NAME."

  init(_ text: String) { self.text = text }

  var isOnServer: Bool { ServerURL.isServer(text) }

  /// The file; nil for a store on a server.
  var file: URL? { isOnServer ? nil : FileSystem.url(text) }

  /// The name for messages, without the user and the password of a URL.
  var title: String {
    guard isOnServer else { return text }
    #if PostgreSQL
      if let server = try? PostgresServer(url: text) { return server.description }
    #endif
    return "the server"
  }

  // MARK: Existing stores

  /// Whether there is a store, or for a file anything else.
  func exists() throws -> Bool {
    guard isOnServer else { return FileManager.default.fileExists(atPath: text) }
    return try server().hasStore
  }

  /// - Throws: ``Failure`` if there is no store.
  func requireStore() throws {
    guard try exists() else { throw Failure("there is no store at \(title)") }
  }

  /// The location of an existing store.
  func location() throws -> StoreLocation { try file.map { try StoreLocation(recognizing: $0) } ?? server() }

  func metadata() throws -> PersistentStoreMetadata {
    try PersistentStoreCoordinator.metadata(forStoreAt: location())
  }

  /// The schema with the tables of a store on a server; nil if they are in the store's own schema.
  func schemaBeside() throws -> String? {
    guard isOnServer else { return nil }
    #if PostgreSQL
      return try PostgresServer(url: text).schemaBeside()
    #else
      throw Self.withoutServer
    #endif
  }

  /// Whether the file is a store of Core Data.
  var isCoreData: Bool { file.map { CoreDataStore.isStore(at: $0) } ?? false }

  /// The type of an existing store, in words.
  func type() throws -> String { try file.map { try StoreType(of: $0).rawValue } ?? Self.serverType }

  // MARK: New stores

  /// The location of a store that does not exist yet.
  ///
  /// - Parameter type: The type of a file; nil for the default.
  /// - Throws: ``Failure`` if there is one. An empty file is no store, and is removed.
  func newLocation(_ type: StoreType?) throws -> StoreLocation {
    guard let file else {
      guard type == nil else { throw Failure("--type is for files, and not for a store on a server") }
      let location = try server()
      guard try !location.hasStore else {
        throw Failure("there already is a store at \(title); it was not changed")
      }
      return location
    }
    // A command that was interrupted, or found the disk full, leaves an empty file.
    guard try !exists() || FileSystem.removeIfEmpty(text) else {
      throw Failure("the file \(text) already exists; it was not changed")
    }
    return (type ?? .sqlite).location(file)
  }

  /// The type of a new store, in words.
  func newType(_ type: StoreType?) -> String { isOnServer ? Self.serverType : (type ?? .sqlite).rawValue }

  private static let serverType = "PostgreSQL"

  /// The statements with which a server migrates a store.
  static func serverStatements(
    from old: ManagedObjectModel, to new: ManagedObjectModel
  ) throws -> [String] {
    #if PostgreSQL
      return try PostgresServer.migrationStatements(from: old, to: new)
    #else
      throw Self.withoutServer
    #endif
  }

  private static var withoutServer: Failure { ServerURL.missingEngine(in: "cdstore") }

  private func server() throws -> StoreLocation {
    #if PostgreSQL
      do { return try .server(url: text) } catch { throw Failure("\(error)") }
    #else
      throw Self.withoutServer
    #endif
  }
}
