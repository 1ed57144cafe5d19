#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  package import Foundation
#endif
#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// A folder for copies of a store, which is removed with its owner. Other users cannot read it.
///
/// A killed program leaves its folder, with the user's data in it. Therefore each owner keeps its folder locked, and
/// everyone who creates such a folder removes those of the same prefix that are not locked.
package final class TemporaryFolder {
  /// The folder for the copies.
  package let url: URL
  /// The locked folder, which contains ``url``. They differ because opening a store locks the folder of the store.
  package let root: URL
  private let descriptor: Int32

  /// The number of seconds during which an unlocked folder is not removed, because its owner may be about to lock it.
  private static let minimumAge = 60

  /// Creates and locks a folder.
  ///
  /// - Parameters:
  ///   - prefix: The beginning of the folder's name. The rest is random.
  ///   - parent: The folder in which to create it. It is created if it does not exist.
  /// - Throws: ``StoreError/cannotCreate(_:reason:)``.
  @_optimize(none)
  package init(prefix: String, in parent: URL = FileManager.default.temporaryDirectory) throws(StoreError) {
    root = parent.appending(path: prefix + UUID.random().uuidString, directoryHint: .isDirectory)
    url = root.appending(path: "files", directoryHint: .isDirectory)
    do {
      try FileManager.default.createDirectory(at: parent, withIntermediateDirectories: true)
    } catch { throw .cannotCreate(parent, reason: "\(error)") }
    Self.removeAbandoned(prefix, in: parent)
    let path = root.path(percentEncoded: false)
    guard mkdir(path, 0o700) == 0, mkdir(url.path(percentEncoded: false), 0o700) == 0 else {
      throw .cannotCreate(root, reason: String(cString: strerror(errno)))
    }
    descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    // On a file system without such locks, nothing removes an abandoned folder early.
    if descriptor >= 0 { flock(descriptor, LOCK_EX | LOCK_NB) }
  }

  deinit {
    try? FileManager.default.removeItem(at: root)
    if descriptor >= 0 { close(descriptor) }
  }

  private static func removeAbandoned(_ prefix: String, in parent: URL) {
    guard let names = try? FileManager.default.contentsOfDirectory(atPath: parent.path(percentEncoded: false))
    else { return }
    for name in names where isTemporaryFolder(name, prefix) {
      let folder = parent.appending(path: name, directoryHint: .isDirectory)
      let descriptor = open(
        folder.path(percentEncoded: false), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
      guard descriptor >= 0 else { continue }
      defer { close(descriptor) }
      var status = stat()
      guard fstat(descriptor, &status) == 0, status.st_uid == geteuid(), isOldEnough(status),
        flock(descriptor, LOCK_EX | LOCK_NB) == 0
      else { continue }
      try? FileManager.default.removeItem(at: folder)
    }
  }

  private static func isTemporaryFolder(_ name: String, _ prefix: String) -> Bool {
    name.hasPrefix(prefix) && UUID(uuidString: String(name.dropFirst(prefix.count))) != nil
  }

  private static func isOldEnough(_ status: stat) -> Bool {
    #if canImport(Darwin)
      let changed = status.st_mtimespec.tv_sec
    #else
      let changed = status.st_mtim.tv_sec
    #endif
    return time(nil) - changed >= minimumAge
  }
}
