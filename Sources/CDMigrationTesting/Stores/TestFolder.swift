import CDRuntime
import Synchronization

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
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
      let source = url.appending(path: name)
      let target = copy.url.appending(path: name)
      // A test may have the store open, whose locks would go with a descriptor of ours.
      if DatabaseFile.isDatabase(source) {
        try DatabaseFile(source).copy(to: target.path(percentEncoded: false))
      } else {
        try FileManager.default.copyItem(at: source, to: target)
      }
    }
    return copy
  }

  /// Keeps the folder until the process ends: somebody has been given a context of it, and how long that lives is
  /// not known.
  func keepUntilExit() {
    let isFirst = Self.kept.withLock { kept in
      if !kept.contains(where: { $0 === self }) { kept.append(self) }
      return kept.count == 1
    }
    if isFirst { atexit { TestFolder.kept.withLock { $0 = [] } } }
  }

  private static let kept = Mutex<[TestFolder]>([])
}
