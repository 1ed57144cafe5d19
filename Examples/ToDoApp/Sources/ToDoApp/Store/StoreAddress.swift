import CDRuntime
import Foundation

/// The location of a list, as `--store` names it: a file, or a database on a server.
enum StoreAddress: Sendable {
  case file(URL)
  case server(URL)

  init(_ text: String) {
    if let url = URL(string: text), let scheme = url.scheme, scheme == "postgresql" || scheme == "postgres" {
      self = .server(url)
    } else {
      self = .file(URL(filePath: text))
    }
  }

  static var standard: Self {
    .file(PersistentContainer.defaultDirectoryURL(forApp: "ToDoApp").appending(path: "ToDo.sqlite"))
  }

  /// The name in the window's title.
  var name: String {
    switch self {
    case .file(let url): url.lastPathComponent
    case .server(let url): url.lastPathComponent + " on " + (url.host() ?? "a server")
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
    case .server:
      throw StoreError.notSupported("stores on a database server")
    }
  }
}

extension StoreAddress {
  /// The location for people. A server's address may have a password, which is not shown.
  var path: String {
    switch self {
    case .file(let url): url.path(percentEncoded: false)
    case .server: name
    }
  }
}
