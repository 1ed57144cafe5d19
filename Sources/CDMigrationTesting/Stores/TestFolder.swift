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

/// A folder in the system's folder for temporary files. It is removed with its last reference.
final class TestFolder: Sendable {
  let url: URL

  init() throws {
    url = FileManager.default.temporaryDirectory.appending(path: "CDMigrationTesting-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: url) }

  /// Creates a folder with the same files, except SQLite's shared memory. SQLite rebuilds that from the write-ahead
  /// log.
  func copy() throws -> TestFolder {
    let copy = try TestFolder()
    for name in try FileManager.default.contentsOfDirectory(atPath: url.path(percentEncoded: false))
    where !name.hasSuffix("-shm") {
      let source = url.appending(path: name)
      let target = copy.url.appending(path: name)
      // A test may have the store open. Closing an ordinary descriptor of the file would release the store's locks.
      if DatabaseFile.isDatabase(source) {
        try DatabaseFile(source).copy(to: target.path(percentEncoded: false))
      } else {
        try FileManager.default.copyItem(at: source, to: target)
      }
    }
    return copy
  }

  /// Keeps the folder until the process ends, because a context that was given away may use it for an unknown time.
  func keepUntilExit() {
    let isFirst = Self.kept.withLock { kept in
      if !kept.contains(where: { $0 === self }) { kept.append(self) }
      return kept.count == 1
    }
    if isFirst { atexit { TestFolder.kept.withLock { $0 = [] } } }
  }

  private static let kept = Mutex<[TestFolder]>([])
}
