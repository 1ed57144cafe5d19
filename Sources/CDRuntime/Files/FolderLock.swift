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

/// A lock on the folder of SQLite stores. It prevents files from being replaced while another connection or process
/// opens one.
///
/// A migration replaces the old file by a new one. SQLite finds a write-ahead log by its name. A connection that was
/// opened before the replacement and reads after it would take the new file's log for the old file's log. It could even
/// write that log into the old file and remove it, with everything that others have saved.
///
/// Therefore everyone who opens a store holds the lock shared, from the opening until the connection has a lock of
/// SQLite's that makes a replacement impossible, or is closed. Nobody waits for a lock of SQLite's during that time:
/// ``whileBusy`` releases everything and starts again. Everyone who replaces or removes files holds the lock
/// exclusively for these few operations. If the file system has no such locks, no lock is held.
final class FolderLock {
  enum Mode { case shared, exclusive }

  private let descriptor: Int32

  /// Takes the lock.
  ///
  /// - Parameter timeout: The number of seconds to wait for others, at least 0.25. NaN counts as 0.25.
  /// - Throws: ``StoreError/busy(_:)``.
  init(_ mode: Mode, of store: URL, timeout: Double) throws(StoreError) {
    let folder = store.deletingLastPathComponent().path(percentEncoded: false)
    // The descriptor is of a folder. Closing it releases none of SQLite's locks, as closing a database file would.
    descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { return }
    var end: ContinuousClock.Instant?
    while flock(descriptor, (mode == .exclusive ? LOCK_EX : LOCK_SH) | LOCK_NB) != 0 {
      let code = errno
      guard code == EWOULDBLOCK || code == EINTR else { return }
      let now = ContinuousClock.now
      let last = end ?? now + .seconds(timeout > 0.25 ? min(timeout, 1_000_000) : 0.25)
      end = last
      // All properties are set, so `deinit` runs after this error too. It closes the descriptor.
      guard now < last else { throw .busy([store]) }
      usleep(1000)
    }
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  /// Opens something, and tries again while others prevent it, until the timeout.
  ///
  /// - Parameters:
  ///   - timeout: The number of seconds during which others may write.
  ///   - open: A function that is called with the lock held. It must not wait for others itself.
  static func whileBusy<R>(_ store: URL, timeout: Double, _ open: () throws -> R) throws -> R {
    let start = ContinuousClock.now
    func isInTime() -> Bool {
      start.duration(to: .now) < .seconds(timeout > 0 ? min(timeout, 1_000_000) : 0)
    }
    var pause: UInt32 = 500
    var replacements = 0
    while true {
      do {
        let lock = try FolderLock(.shared, of: store, timeout: timeout)
        return try withExtendedLifetime(lock) { try open() }
      } catch StoreError.busy where isInTime() {
      } catch StoreError.replaced where replacements < 10 {
        // This happens on file systems without such locks. The next attempt opens the new file.
        replacements += 1
      }
      usleep(pause)
      pause = min(pause * 2, 20_000)
    }
  }
}
