import CDRuntime
import Foundation

/// A container over a file of its own, which goes with the test.
///
/// The environment variable `CDGEN_STORE_TYPE` (`sqlite`, `xml`, `binary` or `json`) says of which kind the file is.
/// Those that are read whole have one owner: what asks for another coordinator gets the one that is there.
final class TemporaryStore {
  let folder: URL
  let url: URL
  /// Objects do not keep their context alive: the store does, for the length of the test.
  private var contexts: [ManagedObjectContext] = []

  init() throws {
    folder = FileManager.default.temporaryDirectory.appending(path: "cdgen-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    url = folder.appending(path: "library.cdstore")
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  private weak var coordinator: PersistentStoreCoordinator?

  func container() throws -> PersistentContainer {
    guard StoreKind.ofEnvironment != .sqlite else {
      return try PersistentContainer(for: LibraryModel.self, at: url)
    }
    let shared =
      try coordinator
      ?? PersistentStoreCoordinator(for: LibraryModel.self, at: StoreKind.ofEnvironment.location(url))
    coordinator = shared
    return PersistentContainer(shared)
  }

  /// A context over a coordinator of its own, which has seen nothing of what others hold in memory.
  func freshContext() throws -> ManagedObjectContext {
    let context = try container().newContext()
    contexts.append(context)
    return context
  }
}
