import CSQLite
import Dispatch
import Synchronization

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Ends statements that would read a prepared file without end.
///
/// The pages of a table form a tree. In a file that somebody has prepared, a page can be the child of many pages, so
/// that a file of some kilobytes has more rows than anybody can read. SQLite does not notice while it reads. So when a
/// connection has taken more steps than a file of that size usually asks for, the file's pages are checked once. That
/// takes as long as reading the file once. A whole file is then read without any limit.
final class ScanGuard {
  /// How many of SQLite's instructions run between two looks at the limit.
  private static let interval = 100_000
  /// So many steps are no reason to check a file, however small it is. They take about a second.
  private static let baseLimit = 20_000_000
  private static let stepsPerByte = 20

  private let handle: OpaquePointer
  private let paths: [String]
  private let limit: Int
  private var steps = 0
  private var isChecked = false

  /// The connections whose statements were ended, for their errors to say so. SQLite's own code is that of any
  /// interruption.
  private static let ended = Mutex<Set<Int>>([])

  /// - Parameters:
  ///   - handle: The connection, which must not be closed before this object goes.
  ///   - paths: The files that it has open.
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

  /// Has SQLite ask this object. A connection has one such handler.
  func watch() {
    sqlite3_progress_handler(
      handle, Int32(Self.interval),
      { pointer in
        guard let pointer else { return 0 }
        return Unmanaged<ScanGuard>.fromOpaque(pointer).takeUnretainedValue().allows(ScanGuard.interval)
          ? 0 : 1
      }, Unmanaged.passUnretained(self).toOpaque())
  }

  /// Whether the connection may go on after so many steps.
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

  /// Runs a statement that counts all rows of a table. SQLite does that in one instruction, within which it asks nobody.
  func watchingCount<R>(_ count: () throws -> R) rethrows -> R {
    if isChecked { return try count() }
    let watch = CountWatch(handle)
    // A queue's closure holds what it needs, and no more of this object than values.
    let paths = paths
    DispatchQueue.global().asyncAfter(deadline: .now() + Self.patience) {
      guard watch.isWatching, paths.contains(where: Self.isDamaged) else { return }
      watch.interrupt()
    }
    defer { watch.end() }
    return try count()
  }

  /// A connection that one thread uses, and another one may interrupt until it is done.
  ///
  /// Unchecked: SQLite lets any thread interrupt a connection that is not being closed. The lock keeps the user, who may
  /// close the connection afterwards, until an interruption is over.
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

  /// Whether a connection's statement was ended because its file is damaged.
  static func hasEnded(_ handle: OpaquePointer?) -> Bool {
    let number = Int(bitPattern: handle)
    return ended.withLock { $0.contains(number) }
  }

  private static func isDamaged(_ path: String) -> Bool {
    let file = URL(filePath: path)
    // A connection of its own: the other one is in the middle of a statement.
    guard
      let connection = try? SQLiteConnection(path: file.absoluteURL.absoluteString + "?mode=ro", of: [file])
    else { return false }
    do {
      return try connection.scalar("PRAGMA quick_check(1)") != "ok"
    } catch StoreError.damaged {
      return true
    } catch {
      // A file that cannot be read now says nothing of its pages.
      return false
    }
  }
}
