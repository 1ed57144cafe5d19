#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// The exclusive right to create a copy at a place. The system ends it when the process ends for any reason.
///
/// The right is a lock on the file `NAME-copying`, because the file of the store does not exist until the copy is complete.
final class CopyClaim {
  private let path: String
  private let descriptor: Int32

  /// The path of the unfinished file of a copy to SQLite. A file that is written as a whole has another one, so that the
  /// creation of such a store does not remove it.
  let work: String

  private static func lockPath(_ target: URL) -> String { target.path(percentEncoded: false) + "-copying" }
  private static func workPath(_ target: URL) -> String {
    target.path(percentEncoded: false) + "-copying-data"
  }

  /// - Throws: ``StoreError/inUse(_:)`` if another copy to the place is running.
  @_optimize(none)
  init(of target: URL) throws(StoreError) {
    path = Self.lockPath(target)
    work = Self.workPath(target)
    descriptor = try Self.lock(path, target)
    // A killed copy has left it.
    unlink(work)
  }

  deinit {
    // Removed while it is locked, so that nobody else has a lock on it. Somebody may have put another file there.
    if let own = FileIdentity(descriptor: descriptor), own == FileIdentity(path) { unlink(path) }
    close(descriptor)
  }

  @_optimize(none)
  private static func lock(_ path: String, _ target: URL) throws(StoreError) -> Int32 {
    // The owner of the file may remove it between the opening and the lock. Then the next attempt creates another one.
    for _ in 0..<100 {
      let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
      guard descriptor >= 0 else {
        let code = errno
        if let reason = Disk.accessProblem(of: target, toWrite: true) {
          throw .cannotCreate(target, reason: reason)
        }
        throw .system(code, target, during: "creating \(path)")
      }
      if flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
        let code = errno
        if code == EWOULDBLOCK {
          close(descriptor)
          throw .inUse(target)
        }
        // A file system without such locks.
        if code != EINTR { return descriptor }
      } else if let own = FileIdentity(descriptor: descriptor), own == FileIdentity(path) {
        return descriptor
      }
      close(descriptor)
    }
    throw .inUse(target)
  }

  /// Removes the files that a killed copy has left. Does nothing if a copy is running.
  @_optimize(none)
  static func removeLeftovers(of target: URL) {
    guard Disk.kind(of: lockPath(target)) != nil || Disk.kind(of: workPath(target)) != nil else { return }
    _ = try? CopyClaim(of: target)
  }
}
