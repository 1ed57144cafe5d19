import CDRuntime
import Foundation  // FileHandle

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// The files of a Core Data store, which must not be written to, and the URI with which SQLite opens them.
///
/// A journal that a program has left is part of the store. SQLite would replay it or roll it back, and write to the
/// file. Therefore SQLite then gets a copy of the files, which is removed with this object. If there is no journal, a
/// database in WAL mode is opened as immutable, because SQLite would otherwise create files beside it even for reading.
/// After everything is read, ``checkUnchanged()`` finds out whether another program has changed the file.
final class SourceFiles {
  let url: URL
  /// The path of the file itself, if symbolic links lead to it. The other files of the store are beside it.
  let path: String
  /// The URI that SQLite opens.
  private(set) var uri = ""
  private var copy: TemporaryFolder?
  private var state: [FileState?] = []

  /// The attributes of a file that change when another program writes to it.
  private struct FileState: Equatable {
    private var device: UInt64
    private var inode: UInt64
    var size: Int64
    private var seconds: Int
    private var nanoseconds: Int

    init?(_ path: String) {
      var status = stat()
      guard stat(path, &status) == 0 else { return nil }
      device = UInt64(truncatingIfNeeded: status.st_dev)
      inode = UInt64(status.st_ino)
      size = Int64(status.st_size)
      #if canImport(Glibc)
        (seconds, nanoseconds) = (status.st_mtim.tv_sec, status.st_mtim.tv_nsec)
      #else
        (seconds, nanoseconds) = (status.st_mtimespec.tv_sec, status.st_mtimespec.tv_nsec)
      #endif
    }
  }

  init(_ url: URL, ignoresJournal: Bool = false) throws(CoreDataStoreError) {
    self.url = url
    let given = url.path(percentEncoded: false)
    path =
      realpath(given, nil).map { resolved in
        defer { free(resolved) }
        return String(cString: resolved)
      } ?? given
    let header = try readHeader()
    if !ignoresJournal {
      do { try DatabaseFile.checkHeader(of: URL(filePath: path)) } catch {
        throw .unreadable(url, reason: "\(error)")
      }
    }
    let isWAL = header[18] == 2 || header[19] == 2
    state = states
    if ignoresJournal {
      uri = Self.uri(path) + "?mode=ro&immutable=1"
    } else if (size("-wal") ?? 0) > 0 || isHot(journal: path + "-journal") {
      uri = Self.uri(try makeCopy()) + "?mode=rw"
    } else {
      uri = Self.uri(path) + (isWAL ? "?mode=ro&immutable=1" : "?mode=ro")
    }
  }

  private static func uri(_ path: String) -> String { URL(filePath: path).absoluteURL.absoluteString }

  /// The size of the database and its journals in bytes.
  var size: Int64 { state.reduce(0) { $0 + ($1?.size ?? 0) } }

  /// The states of the database and its journals.
  private var states: [FileState?] { ["", "-wal", "-journal"].map { FileState(path + $0) } }

  private func size(_ end: String) -> Int64? { FileState(path + end)?.size }

  /// Checks that no other program has written to the store.
  ///
  /// - Throws: ``CoreDataStoreError/changing(_:)`` if the store was changed after it was opened.
  func checkUnchanged() throws(CoreDataStoreError) {
    if states != state { throw .changing(url) }
  }

  // MARK: The header

  private func readHeader() throws(CoreDataStoreError) -> [UInt8] {
    var status = stat()
    guard stat(path, &status) == 0 else { throw .unreadable(url, reason: String(cString: strerror(errno))) }
    // Reading a pipe would wait.
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw .unreadable(url, reason: "it is not a regular file")
    }
    let start: [UInt8]
    do {
      // The header is read through SQLite, because an app on Apple systems may have the store open with Core Data in
      // this process.
      start = try DatabaseFile(URL(filePath: path)).read(upToCount: 100)
    } catch {
      throw .unreadable(url, reason: "\(error)")
    }
    guard start.starts(with: "SQLite format 3\u{0}".utf8) else { throw .notADatabase(url) }
    guard start.count == 100 else { throw .damaged(url, reason: "it ends within its header") }
    try checkLength(start, Int64(status.st_size))
    return start
  }

  /// Throws if the file was cut off. SQLite reads missing pages as zeros in a read-only database.
  private func checkLength(_ header: [UInt8], _ size: Int64) throws(CoreDataStoreError) {
    func number(_ place: Int, _ count: Int) -> Int64 {
      header[place..<(place + count)].reduce(0) { $0 << 8 | Int64($1) }
    }
    let pageSize = number(16, 2) == 1 ? 65_536 : number(16, 2)
    // The page count is valid only if the two change counters are equal. A WAL has further pages, so the check is not
    // made.
    guard number(24, 4) == number(92, 4), (self.size("-wal") ?? 0) == 0 else { return }
    if number(28, 4) * pageSize > size { throw .damaged(url, reason: "it is truncated") }
  }

  /// Whether a rollback journal is hot: a killed program has left changes to roll back.
  private func isHot(journal: String) -> Bool {
    guard let handle = try? FileHandle(forReadingFrom: URL(filePath: journal)) else { return false }
    defer { try? handle.close() }
    let start = (try? handle.read(upToCount: 8)) ?? Data()
    return start.count == 8 && start.contains { $0 != 0 }
  }

  // MARK: The copy

  private func makeCopy() throws(CoreDataStoreError) -> String {
    let database: URL
    do {
      let folder = try TemporaryFolder(prefix: "cdgen-core-data-")
      copy = folder
      database = folder.url.appending(path: "store", directoryHint: .notDirectory)
      // SQLite writes to the copies, so they must be writable even if the originals are not.
      for end in ["", "-wal", "-journal"] where FileManager.default.fileExists(atPath: path + end) {
        try DatabaseFile(URL(filePath: path + end)).copy(to: database.path(percentEncoded: false) + end)
      }
    } catch {
      throw .unreadable(url, reason: "replaying its journal on a copy failed: \(error)")
    }
    // Both files must be from the same moment.
    try checkUnchanged()
    return database.path(percentEncoded: false)
  }
}
