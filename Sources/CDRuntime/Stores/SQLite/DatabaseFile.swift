import CSQLite

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

/// The bytes of a file that may be an open database.
///
/// No code other than SQLite may open a database file. SQLite protects the file with POSIX locks, and a process loses
/// all its locks on a file when it closes *any* descriptor of that file. Another process could then remove the
/// write-ahead log, with saves that it has not read. SQLite itself keeps its descriptors open as long as the process
/// has a lock on the file. So it is always safe to read through SQLite.
package final class DatabaseFile {
  private let url: URL
  private let connection: OpaquePointer
  /// The size in bytes when the file was opened.
  package let size: Int64

  /// The first bytes of each SQLite database.
  private static let signature = Array("SQLite format 3\u{0}".utf8)

  /// - Throws: ``StoreError/cannotCreate(_:reason:)`` if the file cannot be read, or
  ///   ``StoreError/inputOutput(_:reason:)`` if the file exists but its permissions forbid reading. Folders are
  ///   refused, and so are pipes, because opening a pipe could wait forever.
  package init(_ url: URL) throws(StoreError) {
    self.url = url
    let path = url.path(percentEncoded: false)
    try Self.checkIsFile(url)
    var opened: OpaquePointer?
    // SQLite only opens the file here. It does not read or write, so any contents are accepted.
    let code = sqlite3_open_v2(path, &opened, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, nil)
    // The size comes from the system, because SQLite reports a file of one byte as empty.
    guard code == SQLITE_OK, let opened, let size = Disk.size(path) else {
      let number = sqlite3_system_errno(opened)
      sqlite3_close_v2(opened)
      let reason = number == 0 ? String(cString: sqlite3_errstr(code)) : String(cString: strerror(number))
      // The file exists, so "cannot create" would be the wrong error.
      if let hindrance = Disk.accessProblem(of: url, toWrite: false), FileIdentity(path) != nil {
        throw StoreError.inputOutput([url], reason: hindrance)
      }
      throw StoreError.cannotCreate(url, reason: reason)
    }
    connection = opened
    self.size = size
  }

  deinit { sqlite3_close_v2(connection) }

  /// Throws an error if a path leads to something other than a file.
  ///
  /// - Returns: Whether there is a file.
  @discardableResult
  static func checkIsFile(_ url: URL) throws(StoreError) -> Bool {
    guard let file = FileIdentity(url.path(percentEncoded: false)) else { return false }
    if !file.isRegular {
      throw StoreError.cannotCreate(url, reason: "the path leads to something that is not a file")
    }
    return true
  }

  /// Reads up to `count` bytes from an offset, or fewer at the end of the file.
  package func read(at offset: Int64 = 0, upToCount count: Int) throws(StoreError) -> [UInt8] {
    try Self.read(connection, of: url, size: size, at: offset, upToCount: count)
  }

  private static func read(
    _ connection: OpaquePointer, of url: URL, size: Int64, at offset: Int64, upToCount count: Int
  ) throws(StoreError) -> [UInt8] {
    let available = Int(clamping: min(Int64(count), size - offset))
    guard available > 0 else { return [] }
    var bytes = [UInt8](repeating: 0, count: available)
    let code = bytes.withUnsafeMutableBytes {
      csqlite_file_read(connection, $0.baseAddress, Int32(clamping: available), offset)
    }
    guard code == SQLITE_OK else {
      throw StoreError.inputOutput([url], reason: String(cString: sqlite3_errstr(code)))
    }
    return bytes
  }

  /// Copies the bytes to a new file.
  @_optimize(none)
  package func copy(to path: String) throws {
    let output = try NewFile(path)
    var offset: Int64 = 0
    while offset < size {
      let bytes = try read(at: offset, upToCount: 1 << 20)
      try output.write(bytes)
      offset += Int64(bytes.count)
    }
    try output.finish()
  }

  /// Returns whether the first bytes of a file are those of a SQLite database. Returns false if the file does not exist
  /// or cannot be read.
  package static func isDatabase(_ url: URL) -> Bool {
    guard FileIdentity(url.path(percentEncoded: false)) != nil else { return false }
    return (try? DatabaseFile(url).read(upToCount: signature.count)) == signature
  }

  // MARK: Opening as a store

  /// Checks that a file is a database before SQLite opens it as a store. An empty file is accepted, because SQLite can
  /// turn it into a store. A file is accepted too if its creation was interrupted.
  ///
  /// - Throws: ``StoreError/notADatabase(_:)`` or ``StoreError/foreignJournal(_:)``.
  package static func checkHeader(of url: URL) throws(StoreError) {
    guard FileIdentity(url.path(percentEncoded: false)) != nil else { return }
    try checkHeader(of: url) { () throws(StoreError) in
      try DatabaseFile(url).read(upToCount: signature.count)
    }
  }

  /// Like ``checkHeader(of:)``, for a file whose first bytes have been read.
  static func checkHeader(of url: URL, start: [UInt8]) throws(StoreError) {
    try checkHeader(of: url) { () throws(StoreError) in Array(start.prefix(signature.count)) }
  }

  /// Like ``checkHeader(of:)``, for a file that a connection has just opened. The connection must not have run a statement
  /// that reads: SQLite then has only opened the file.
  static func checkHeader(of url: URL, openedBy connection: SQLiteConnection) throws(StoreError) {
    try checkHeader(of: url) { () throws(StoreError) in
      try read(
        connection.handle, of: url, size: Disk.size(url.path(percentEncoded: false)) ?? 0, at: 0,
        upToCount: signature.count)
    }
  }

  /// - Parameter start: Returns the first bytes of the file.
  private static func checkHeader(of url: URL, _ start: () throws(StoreError) -> [UInt8]) throws(StoreError) {
    if try namesAnotherFile(journal: journal(of: url)) { throw .foreignJournal(url) }
    let header = try start()
    if header.isEmpty || header == signature { return }
    // A power failure during the first transaction: the file has its final size, but not yet its first page. SQLite
    // will use the journal to make the file empty again.
    if header.allSatisfy({ $0 == 0 }) {
      let start = try journal(of: url)?.read(upToCount: journalSignature.count)
      if start == journalSignature { return }
    }
    throw .notADatabase(url)
  }

  // MARK: The files beside a database

  /// Whether there is a journal, a log or the index of a log beside a database file.
  static func hasJournals(_ url: URL) -> Bool { journals(of: url).contains { Disk.kind(of: $0) != nil } }

  /// Removes the journals and the log of a file. No program may have the file open.
  ///
  /// SQLite finds them by the name of the file. It would take those of a file that is gone for those of a new one.
  ///
  /// - Returns: Whether there were any. The change is permanent after the folder is synced.
  @_optimize(none)
  @discardableResult
  static func removeJournals(of url: URL) throws(StoreError) -> Bool {
    var isChanged = false
    for path in journals(of: url) {
      if unlink(path) == 0 {
        isChanged = true
        continue
      }
      let code = errno
      if code != ENOENT { throw StoreError.system(code, url, during: "removing \(path)") }
    }
    return isChanged
  }

  private static func journals(of url: URL) -> [String] {
    ["-wal", "-shm", "-journal"].map { url.path(percentEncoded: false) + $0 }
  }

  // MARK: Rollback journals

  /// The first bytes of a rollback journal. A journal that names another file also ends with these bytes.
  private static let journalSignature: [UInt8] = [0xD9, 0xD5, 0x05, 0xF9, 0x20, 0xA1, 0x63, 0xD7]

  /// The rollback journal of a database file; nil if there is none.
  private static func journal(of url: URL) throws(StoreError) -> DatabaseFile? {
    let path = url.path(percentEncoded: false) + "-journal"
    let file = URL(filePath: path)
    // Another process may end or begin a transaction between this check and the opening of the journal.
    for _ in 1..<10 {
      guard FileIdentity(path) != nil else { return nil }
      if let journal = try? DatabaseFile(file) { return journal }
    }
    return try DatabaseFile(file)
  }

  /// Returns whether a journal names a super-journal, which SQLite uses to commit several files together. When SQLite
  /// rolls back such a journal, it removes the file with that name, whatever the file is. No release of cdgen creates
  /// such a journal.
  private static func namesAnotherFile(journal: DatabaseFile?) throws(StoreError) -> Bool {
    guard let journal, journal.size >= 16 else { return false }
    let end = try journal.read(at: journal.size - 16, upToCount: 16)
    return Array(end.suffix(8)) == journalSignature && end.prefix(4).contains { $0 != 0 }
  }

  /// Returns whether SQLite would roll back the journal of a file. This is so if the journal's first byte is not 0.
  static func hasHotJournal(_ url: URL) -> Bool {
    guard let journal = try? journal(of: url) else { return false }
    return (try? journal.read(upToCount: 1).first ?? 0) != 0
  }
}
