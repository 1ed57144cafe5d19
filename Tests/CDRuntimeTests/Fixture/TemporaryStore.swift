import CDRuntime
import Foundation

/// A container over a file of its own, which goes with the test.
final class TemporaryStore {
  let folder: URL
  let url: URL

  init() throws {
    folder = FileManager.default.temporaryDirectory.appending(path: "cdgen-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    url = folder.appending(path: "library.cdstore")
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  func container() throws -> PersistentContainer { try PersistentContainer(for: LibraryModel.self, at: url) }
}
