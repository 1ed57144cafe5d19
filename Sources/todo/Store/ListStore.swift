import ArgumentParser
import CDConsole
import CDRuntime
import Foundation

#if PostgreSQL
  import CDPostgresStore
#endif

/// The store of a list: a file, or a schema on a server.
struct ListStore {
  /// The name for messages. It does not show the password of a URL.
  let title: String
  private let location: StoreLocation

  /// - Parameter text: A path, or the URL of a server.
  /// - Throws: ``Failure`` if the URL is not valid, or the program was built without PostgreSQL.
  init(_ text: String) throws {
    guard !ServerURL.isServer(text) else {
      #if PostgreSQL
        do {
          let server = try PostgresServer(url: text)
          (title, location) = (server.description, .server(server))
          return
        } catch {
          throw Failure("\(error)")
        }
      #else
        throw ServerURL.missingEngine(in: "todo")
      #endif
    }
    let url = URL(filePath: text)
    title = url.path
    try Self.makeFolder(url.deletingLastPathComponent())
    do {
      location = try StoreLocation(recognizing: url)
    } catch {
      throw Self.failure(error, title)
    }
  }

  /// Opens the store and runs the work. If the store does not exist, it is created.
  ///
  /// - Throws: ``Failure``, and the errors of the output unchanged.
  @MainActor
  func perform<R>(_ work: (PersistentContainer) throws -> R) throws -> R {
    do {
      return try work(try PersistentContainer(for: ToDoModel.self, at: location))
    } catch {
      throw Self.failure(error, title)
    }
  }

  /// Creates a folder for a list, unless it exists.
  ///
  /// - Throws: ``Failure``.
  static func makeFolder(_ url: URL) throws {
    do {
      try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    } catch {
      let reason = Failure(url.path, "cannot be made", error)
      throw Failure("\(reason); name a file in another folder with '--store'")
    }
  }

  private static func failure(_ error: any Error, _ title: String) -> any Error {
    switch error {
    case is Failure, is OutputFailure, is ExitCode: error
    // These errors name the store themselves.
    case is StoreError, is MigrationError: Failure("\(error)")
    default: Failure("\(title): \(error)")
    }
  }
}
