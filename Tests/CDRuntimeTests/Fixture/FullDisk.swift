import CSQLite
import Foundation
import Synchronization

/// Journals that SQLite cannot write to while a test says so, as on a disk that is full: those of stores whose file is
/// named `full.sqlite`. All other files are as they are.
enum FullDisk {
  /// The threads for which the disk is full, so that tests can run at the same time. Each has what it does before its next
  /// write fails.
  private static let threads = Mutex<[ObjectIdentifier: @Sendable () -> Void]>([:])

  /// Lets the writes of this thread fail while a body runs.
  @discardableResult
  static func whileFull<R>(_ body: () throws -> R) rethrows -> R {
    try whileFull(beforeFirstFailure: {}, body)
  }

  /// Lets the writes of this thread fail while a body runs.
  ///
  /// - Parameter action: Called before the first write fails.
  @discardableResult
  static func whileFull<R>(
    beforeFirstFailure action: @escaping @Sendable () -> Void, _ body: () throws -> R
  ) rethrows -> R {
    let thread = ObjectIdentifier(Thread.current)
    threads.withLock { $0[thread] = action }
    defer { threads.withLock { $0[thread] = nil } }
    return try body()
  }

  /// Returns whether the disk is full for this thread.
  private static func isFull() -> Bool {
    let thread = ObjectIdentifier(Thread.current)
    let action = threads.withLock { threads in
      let action = threads[thread]
      if action != nil { threads[thread] = {} }
      return action
    }
    action?()
    return action != nil
  }

  /// Puts itself between SQLite and the files that are opened from now on.
  static func install() throws {
    guard own != nil else { throw CocoaError(.featureUnsupported) }
  }

  // Unsafe in name only: each is made once, and only read from then on.
  nonisolated(unsafe) private static let original = sqlite3_vfs_find("unix")

  nonisolated(unsafe) private static let own: UnsafeMutablePointer<sqlite3_vfs>? = {
    guard let original else { return nil }
    let own = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
    own.initialize(to: original.pointee)
    own.pointee.zName = UnsafePointer(strdup("cdgen-full-disk"))
    own.pointee.xOpen = { _, path, file, flags, outFlags in FullDisk.open(path, file, flags, outFlags) }
    return sqlite3_vfs_register(own, 1) == SQLITE_OK ? own : nil
  }()

  /// What the system's files can do, and the same with writes that may fail.
  nonisolated(unsafe) private static var methods:
    (original: UnsafePointer<sqlite3_io_methods>, own: UnsafePointer<sqlite3_io_methods>)?
  private static let making = Mutex<Void>(())

  private static func open(
    _ path: sqlite3_filename?, _ file: UnsafeMutablePointer<sqlite3_file>?, _ flags: Int32,
    _ outFlags: UnsafeMutablePointer<Int32>?
  ) -> Int32 {
    guard let original, let open = original.pointee.xOpen else { return SQLITE_ERROR }
    let code = open(original, path, file, flags, outFlags)
    guard code == SQLITE_OK, let path, let file, let found = file.pointee.pMethods,
      String(cString: path).hasSuffix("full.sqlite-wal")
    else { return code }
    making.withLock { _ in
      if methods == nil {
        var changed = found.pointee
        changed.xWrite = { file, bytes, count, offset in FullDisk.write(file, bytes, count, offset) }
        let own = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
        own.initialize(to: changed)
        methods = (found, UnsafePointer(own))
      }
      if let methods, methods.original == found { file.pointee.pMethods = methods.own }
    }
    return code
  }

  private static func write(
    _ file: UnsafeMutablePointer<sqlite3_file>?, _ bytes: UnsafeRawPointer?, _ count: Int32, _ offset: Int64
  ) -> Int32 {
    if isFull() { return SQLITE_FULL }
    guard let methods, let write = methods.original.pointee.xWrite else { return SQLITE_ERROR }
    return write(file, bytes, count, offset)
  }
}
