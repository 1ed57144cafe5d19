import CDRuntime
import Foundation

#if PostgreSQL
  import CDPostgresStore
#endif

/// The location of a list, as `--store` names it: a file, or a schema on a server.
enum StoreAddress: Sendable {
  case file(URL)
  /// A schema on a server, the title of its windows, and its address without the password.
  case server(StoreLocation, title: String, address: String)

  /// - Throws: ``Options/Mistake`` if the text is the URL of a server that cannot be used.
  init(_ text: String) throws {
    guard text.hasPrefix("postgresql:") || text.hasPrefix("postgres:") else {
      self = .file(URL(filePath: text))
      return
    }
    #if PostgreSQL
      do {
        let server = try PostgresServer(url: text)
        let place = server.hosts.first.map { " on \($0.name)" } ?? ""
        let schema = server.schema == "public" ? server.database ?? "public" : server.schema
        self = .server(.server(server), title: schema + place, address: server.description)
      } catch {
        throw Options.Mistake(text: "\(error)")
      }
    #else
      throw Options.Mistake(
        text: "the program was built without PostgreSQL; the script 'run' builds it with --traits PostgreSQL")
    #endif
  }

  static var standard: Self {
    .file(PersistentContainer.defaultDirectoryURL(forApp: "ToDoApp").appending(path: "ToDo.sqlite"))
  }

  /// The name in the window's title.
  var name: String {
    switch self {
    case .file(let url): url.lastPathComponent
    case .server(_, let title, _): title
    }
  }

  /// The location for people.
  var path: String {
    switch self {
    case .file(let url): url.path(percentEncoded: false)
    case .server(_, _, let address): address
    }
  }

  /// The location for the coordinator. An existing file is recognised by its contents, a new one by its name.
  ///
  /// - Throws: ``StoreError`` if the file is of no known type.
  func location() throws -> StoreLocation {
    switch self {
    case .file(let url):
      if FileManager.default.fileExists(atPath: url.path(percentEncoded: false)) {
        return try StoreLocation(recognizing: url)
      }
      try FileManager.default.createDirectory(
        at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
      return switch url.pathExtension {
      case "xml": .xml(url)
      case "bin", "binary": .binary(url)
      default: .sqlite(url)
      }
    case .server(let location, _, _): return location
    }
  }
}
