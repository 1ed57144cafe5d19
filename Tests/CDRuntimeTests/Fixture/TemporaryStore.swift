import CDRuntime
import Foundation

/// A container over a file of its own, which goes with the test.
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

  func container() throws -> PersistentContainer { try PersistentContainer(for: LibraryModel.self, at: url) }

  /// A context over a coordinator of its own, which has seen nothing of what others hold in memory.
  func freshContext() throws -> ManagedObjectContext {
    let context = try container().newContext()
    contexts.append(context)
    return context
  }
}
