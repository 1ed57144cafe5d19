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

/// A lock on the folder of SQLite stores, which keeps files from being switched while somebody opens one.
///
/// A migration puts a new file in the place of the old one. SQLite finds a write-ahead log by its name: a connection that
/// was opened before the switch and reads after it would take the new file's log for that of the old one. It could
/// even write the log into the old file and remove it, with all that others have saved.
///
/// So whoever opens a store holds the lock together with others, from the opening until its connection has a lock of
/// SQLite's that makes a switch impossible, or is closed. Nobody waits for a lock of SQLite's meanwhile: ``whileBusy``
/// lets go of everything and begins again. Whoever switches files, or removes them, holds the lock alone for these few
/// operations. A file system that has no such locks goes without.
final class FolderLock {
  enum Kind { case together, alone }

  private let descriptor: Int32

  /// - Parameter timeout: How many seconds to wait for others; a quarter of one at the least. Not a number is no time.
  /// - Throws: ``StoreError/busy(_:)``.
  init(_ kind: Kind, of store: URL, timeout: Double) throws(StoreError) {
    let folder = store.deletingLastPathComponent().path(percentEncoded: false)
    // Not a database file: no lock of SQLite's goes with this descriptor.
    descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { return }
    let clock = ContinuousClock()
    let end = clock.now + .seconds(timeout > 0.25 ? min(timeout, 1_000_000) : 0.25)
    while flock(descriptor, (kind == .alone ? LOCK_EX : LOCK_SH) | LOCK_NB) != 0 {
      let code = errno
      guard code == EWOULDBLOCK || code == EINTR else { return }
      guard clock.now < end else {
        close(descriptor)
        throw .busy([store])
      }
      usleep(1000)
    }
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  /// Opens something, as often as others hinder it, until a time is over.
  ///
  /// - Parameters:
  ///   - timeout: How many seconds others may write for.
  ///   - open: Is called with the lock held, and does not wait for others itself.
  static func whileBusy<R>(_ store: URL, timeout: Double, _ open: () throws -> R) throws -> R {
    let clock = ContinuousClock()
    let end = clock.now + .seconds(timeout > 0 ? min(timeout, 1_000_000) : 0)
    var pause: UInt32 = 500
    var replacements = 0
    while true {
      do {
        let lock = try FolderLock(.together, of: store, timeout: timeout)
        return try withExtendedLifetime(lock) { try open() }
      } catch StoreError.busy where clock.now < end {
      } catch StoreError.replaced where replacements < 10 {
        // Where the file system has no such locks: the next attempt has the new file.
        replacements += 1
      }
      usleep(pause)
      pause = min(pause * 2, 20_000)
    }
  }
}
