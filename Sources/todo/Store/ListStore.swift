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
    do {
      try FileManager.default.createDirectory(
        at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
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

  private static func failure(_ error: any Error, _ title: String) -> any Error {
    switch error {
    case is Failure, is OutputFailure, is ExitCode: error
    // The error itself names the store.
    case let error as StoreError: Failure("\(error)")
    default: Failure("\(title): \(error)")
    }
  }
}
