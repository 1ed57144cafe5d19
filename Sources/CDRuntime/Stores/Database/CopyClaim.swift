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
///
/// The file also lists the large values that no store needs if the process is killed: those that an unfinished copy has
/// written, and those that an unfinished removal has not removed yet. The folder of the large values cannot show this. It can
/// have the values of a store whose file somebody has moved away for a while.
final class CopyClaim {
  private let target: URL
  private let path: String
  private let descriptor: Int32
  /// Whether the file can have a list. Without a lock, a list could be that of a copy that is still running. And whoever writes
  /// to a pipe could wait forever.
  private let canList: Bool

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
    self.target = target
    path = Self.lockPath(target)
    work = Self.workPath(target)
    let file = try Self.lock(path, target)
    descriptor = file.descriptor
    canList = file.isLocked && FileIdentity(descriptor: file.descriptor)?.isRegular == true
    // A killed copy has left it.
    unlink(work)
  }

  deinit {
    // Removed while it is locked, so that nobody else has a lock on it. Somebody may have put another file there.
    if let own = FileIdentity(descriptor: descriptor), own == FileIdentity(path) { unlink(path) }
    close(descriptor)
  }

  /// - Returns: The file, and whether it is locked. Some file systems have no such locks.
  @_optimize(none)
  private static func lock(
    _ path: String, _ target: URL
  ) throws(StoreError) -> (descriptor: Int32, isLocked: Bool) {
    // The owner of the file may remove it between the opening and the lock. Then the next attempt creates another one.
    for _ in 0..<100 {
      let descriptor = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0o600)
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
        if code != EINTR { return (descriptor, false) }
      } else if let own = FileIdentity(descriptor: descriptor), own == FileIdentity(path) {
        return (descriptor, true)
      }
      close(descriptor)
    }
    throw .inUse(target)
  }

  /// Removes the files that a killed copy or removal has left. If there is a store at the place, the listed values stay. Does
  /// nothing if a copy is running.
  ///
  /// Call it without a lock on the folder, because it can read backups.
  ///
  /// - Parameter formats: The app's own formats, if backups may have one of them.
  @_optimize(none)
  static func removeLeftovers(of target: URL, formats: [any StoreFormat]) {
    guard Disk.kind(of: lockPath(target)) != nil || Disk.kind(of: workPath(target)) != nil,
      let claim = try? CopyClaim(of: target)
    else { return }
    claim.removeListedValues(formats: formats)
  }

  // MARK: The list of large values

  /// Removes what a killed copy or removal has left, if there is a list. An opening calls this, because the store may need the
  /// listed values from then on.
  @_optimize(none)
  static func removeList(of target: URL, formats: [any StoreFormat] = []) {
    let path = lockPath(target)
    // A store can have this name. Only SQLite may open the file of a database.
    guard Disk.kind(of: path) == S_IFREG, Disk.size(path) != 0,
      !DatabaseFile.isDatabase(URL(filePath: path, directoryHint: .notDirectory)), !names(at: path).isEmpty
    else { return }
    removeLeftovers(of: target, formats: formats)
  }

  /// The names in a list; empty if the file is not a list.
  private static func names(at path: String) -> Set<String> {
    guard let data = FileManager.default.contents(atPath: path) else { return [] }
    let lines = String(decoding: data, as: UTF8.self).split(separator: "\n").map(String.init)
    return Set(lines.filter { UUID(uuidString: $0) != nil })
  }

  /// Adds names to the list of the large values that no store needs if the process is killed now.
  @_optimize(none)
  func list(_ names: some Sequence<String>) throws(StoreError) {
    guard canList else { return }
    let bytes = Array(names.map { $0 + "\n" }.joined().utf8)
    let count = write(descriptor, bytes, bytes.count)
    guard count == bytes.count else {
      throw .system(count < 0 ? errno : ENOSPC, target, during: "writing to \(path)")
    }
  }

  /// Empties the list before the file of the copy gets the name of the store.
  ///
  /// If the process is killed directly after this, values without a store stay. In the other order, the list could have the
  /// values of a complete copy, which somebody then moves away for a while.
  @_optimize(none)
  func clearList() throws(StoreError) {
    guard canList, Disk.size(of: descriptor) != 0 else { return }
    guard ftruncate(descriptor, 0) == 0, fsync(descriptor) == 0 else {
      throw .system(errno, target, during: "writing to \(path)")
    }
  }

  /// Removes the large values of the list that a killed copy or removal has left, unless there is a store at the place. If a
  /// backup cannot be read, all values stay.
  ///
  /// Call it without a lock on the folder, because it can read backups.
  ///
  /// - Parameter formats: The app's own formats, if backups may have one of them.
  @_optimize(none)
  func removeListedValues(formats: [any StoreFormat]) {
    guard canList, FileIdentity(target.path(percentEncoded: false)) == nil else { return }
    let names = Self.names(at: path)
    guard !names.isEmpty else { return }
    let files = ExternalFiles(store: target)
    guard files.isOwn, let kept = StoreBackups(store: target, formats: formats).fileNames() else { return }
    files.removeAll(names.subtracting(kept))
    try? clearList()
  }
}
