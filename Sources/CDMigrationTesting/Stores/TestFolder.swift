#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A folder in the system's place for temporary files, gone with the last reference.
final class TestFolder: Sendable {
  let url: URL

  init() throws {
    url = FileManager.default.temporaryDirectory.appending(path: "CDMigrationTesting-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: url) }

  /// A folder with the same files. SQLite's shared memory is no part of a store, and is made anew from its log.
  func copy() throws -> TestFolder {
    let copy = try TestFolder()
    for name in try FileManager.default.contentsOfDirectory(atPath: url.path(percentEncoded: false))
    where !name.hasSuffix("-shm") {
      try FileManager.default.copyItem(at: url.appending(path: name), to: copy.url.appending(path: name))
    }
    return copy
  }
}
