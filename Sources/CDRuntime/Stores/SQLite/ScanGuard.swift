import CSQLite
import Dispatch
import Synchronization

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Stops statements that would read a manipulated file without end.
///
/// The pages of a table form a tree. In a manipulated file, several pages can have the same child page. A file of a few
/// kilobytes can then have so many rows that no program can read them all. SQLite does not notice this while it reads.
///
/// So the guard counts SQLite's steps. When a connection has taken more steps than a file of this size normally needs,
/// the guard checks the file's pages once. The check takes as long as reading the file once. After a successful check,
/// the connection has no limit.
final class ScanGuard {
  /// The number of SQLite's instructions between two checks of the limit.
  private static let interval = 100_000
  /// The number of steps that any file may use without a check, however small the file is. They take about one second.
  private static let baseLimit = 20_000_000
  private static let stepsPerByte = 20

  private let handle: OpaquePointer
  private let paths: [String]
  private let limit: Int
  private var steps = 0
  private var isChecked = false

  /// The connections whose statements a guard has stopped. SQLite's own code is the same for any interruption, so
  /// errors look here.
  private static let ended = Mutex<Set<Int>>([])

  /// - Parameters:
  ///   - handle: The connection. It must stay open as long as this object exists.
  ///   - paths: The files that the connection has open.
  @_optimize(none)
  init(_ handle: OpaquePointer, paths: [String]) {
    self.handle = handle
    self.paths = paths
    let bytes = paths.compactMap { Disk.size($0) }.reduce(0, +)
    limit = Self.baseLimit + Int(clamping: min(max(bytes, 0), 1 << 40)) * Self.stepsPerByte
  }

  deinit {
    let number = Int(bitPattern: handle)
    Self.ended.withLock { _ = $0.remove(number) }
  }

  /// Installs this object as the connection's progress handler. A connection can have only one.
  func watch() {
    sqlite3_progress_handler(
      handle, Int32(Self.interval),
      { pointer in
        guard let pointer else { return 0 }
        return Unmanaged<ScanGuard>.fromOpaque(pointer).takeUnretainedValue().allows(ScanGuard.interval)
          ? 0 : 1
      }, Unmanaged.passUnretained(self).toOpaque())
  }

  /// Counts steps, and returns whether the connection may continue.
  func allows(_ count: Int) -> Bool {
    if isChecked { return true }
    steps += count
    if steps < limit { return true }
    isChecked = true
    guard paths.contains(where: Self.isDamaged) else { return true }
    isChecked = false
    let number = Int(bitPattern: handle)
    Self.ended.withLock { _ = $0.insert(number) }
    return false
  }

  // MARK: Counting

  /// How many seconds one of SQLite's instructions may run before the file is checked.
  private static let patience = 2.0

  /// Runs a statement that counts all rows of a table. SQLite counts in a single instruction, and does not call the
  /// progress handler during it.
  func watchingCount<R>(_ count: () throws -> R) rethrows -> R {
    if isChecked { return try count() }
    let watch = CountWatch(handle)
    // The closure on the queue captures only these values, not this object.
    let paths = paths
    DispatchQueue.global().asyncAfter(deadline: .now() + Self.patience) {
      guard watch.isWatching, paths.contains(where: Self.isDamaged) else { return }
      watch.interrupt()
    }
    defer { watch.end() }
    return try count()
  }

  /// Lets another thread interrupt a connection until the connection's own thread calls ``end()``.
  ///
  /// Unchecked: SQLite allows any thread to interrupt a connection that is not being closed. The lock makes ``end()``
  /// wait until an interruption is over, because the connection may be closed afterwards.
  private final class CountWatch: @unchecked Sendable {
    private let handle: OpaquePointer
    private let lock = Mutex(true)

    init(_ handle: OpaquePointer) { self.handle = handle }

    var isWatching: Bool { lock.withLock { $0 } }

    func end() { lock.withLock { $0 = false } }

    func interrupt() {
      lock.withLock { isWatching in
        guard isWatching else { return }
        let number = Int(bitPattern: handle)
        ScanGuard.ended.withLock { _ = $0.insert(number) }
        sqlite3_interrupt(handle)
      }
    }
  }

  /// Returns whether a statement of the connection was stopped because its file is damaged.
  static func hasEnded(_ handle: OpaquePointer?) -> Bool {
    let number = Int(bitPattern: handle)
    return ended.withLock { $0.contains(number) }
  }

  private static func isDamaged(_ path: String) -> Bool {
    let file = URL(filePath: path)
    // A separate connection, because the first one is in the middle of a statement.
    guard
      let connection = try? SQLiteConnection(path: file.absoluteURL.absoluteString + "?mode=ro", of: [file])
    else { return false }
    do {
      return try connection.scalar("PRAGMA quick_check(1)") != "ok"
    } catch StoreError.damaged {
      return true
    } catch {
      // An unreadable file gives no information about its pages.
      return false
    }
  }
}
