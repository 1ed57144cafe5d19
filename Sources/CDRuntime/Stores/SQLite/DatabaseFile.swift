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
/// Nothing but SQLite may open a database file. SQLite guards it by POSIX locks, and a process loses all its locks on a
/// file when it closes *any* descriptor of that file. Another process could then remove the write-ahead log with saves
/// that it has not seen. SQLite itself keeps a descriptor until the process has no lock on the file, so that reading
/// through SQLite is safe at any time.
package final class DatabaseFile {
  private let url: URL
  private let connection: OpaquePointer
  /// The size in bytes when the file was opened.
  package let size: Int64

  /// The first bytes of every SQLite database.
  private static let signature = Array("SQLite format 3\u{0}".utf8)

  /// - Throws: ``StoreError/cannotCreate(_:reason:)`` where the file cannot be read, or
  ///   ``StoreError/inputOutput(_:reason:)`` where it may not. Pipes, which would be waited for, and folders are refused.
  package init(_ url: URL) throws(StoreError) {
    self.url = url
    let path = url.path(percentEncoded: false)
    if let file = FileIdentity(path), !file.isRegular {
      throw StoreError.cannotCreate(url, reason: "there is something that is no file")
    }
    var opened: OpaquePointer?
    // SQLite reads nothing yet, and writes nothing: whatever the file holds is as good as another.
    let code = sqlite3_open_v2(path, &opened, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, nil)
    // By the system: SQLite takes a file of one byte for an empty one.
    guard code == SQLITE_OK, let opened, let size = Disk.size(path) else {
      let number = sqlite3_system_errno(opened)
      sqlite3_close_v2(opened)
      let reason = number == 0 ? String(cString: sqlite3_errstr(code)) : String(cString: strerror(number))
      // A file that is there needs not be made.
      if let hindrance = Disk.hindrance(of: url, toWrite: false), FileIdentity(path) != nil {
        throw StoreError.inputOutput([url], reason: hindrance)
      }
      throw StoreError.cannotCreate(url, reason: reason)
    }
    connection = opened
    self.size = size
  }

  deinit { sqlite3_close_v2(connection) }

  /// As many bytes as the file has there, up to a count.
  package func read(at offset: Int64 = 0, upToCount count: Int) throws(StoreError) -> [UInt8] {
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

  /// Writes the bytes to a new file.
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

  /// Whether a file is a SQLite database, by its first bytes. False where there is no file, or none that can be read.
  package static func isDatabase(_ url: URL) -> Bool {
    guard FileIdentity(url.path(percentEncoded: false)) != nil else { return false }
    return (try? DatabaseFile(url).read(upToCount: signature.count)) == signature
  }

  // MARK: Opening as a store

  /// Refuses a file that is no database before SQLite touches it. An empty file becomes a store, as does one whose
  /// creation was interrupted.
  ///
  /// - Throws: ``StoreError/notADatabase(_:)``, or ``StoreError/foreignJournal(_:)``.
  package static func checkHeader(of url: URL) throws(StoreError) {
    guard FileIdentity(url.path(percentEncoded: false)) != nil else { return }
    if try namesAnotherFile(journal: journal(of: url)) { throw .foreignJournal(url) }
    let header = try DatabaseFile(url).read(upToCount: signature.count)
    if header.isEmpty || header == signature { return }
    // The power went while the first transaction was being written: the file has its length, but not yet its first
    // page. SQLite's journal beside it makes it empty again.
    if header.allSatisfy({ $0 == 0 }) {
      let start = try journal(of: url)?.read(upToCount: journalSignature.count)
      if start == journalSignature { return }
    }
    throw .notADatabase(url)
  }

  // MARK: Rollback journals

  /// The first bytes of a rollback journal, and the last ones where it names another file.
  private static let journalSignature: [UInt8] = [0xD9, 0xD5, 0x05, 0xF9, 0x20, 0xA1, 0x63, 0xD7]

  /// The rollback journal beside a file; nil where there is none.
  private static func journal(of url: URL) throws(StoreError) -> DatabaseFile? {
    let path = url.path(percentEncoded: false) + "-journal"
    let file = URL(filePath: path)
    // Others' transactions may end and begin between the look at the name and the opening.
    for _ in 1..<10 {
      guard FileIdentity(path) != nil else { return nil }
      if let journal = try? DatabaseFile(file) { return journal }
    }
    return try DatabaseFile(file)
  }

  /// Whether a journal names a super-journal, by which SQLite commits several files together. When SQLite rolls such a
  /// journal back it removes the file of that name, whatever it is. No release of cdgen makes one.
  private static func namesAnotherFile(journal: DatabaseFile?) throws(StoreError) -> Bool {
    guard let journal, journal.size >= 16 else { return false }
    let end = try journal.read(at: journal.size - 16, upToCount: 16)
    return Array(end.suffix(8)) == journalSignature && end.prefix(4).contains { $0 != 0 }
  }

  /// Whether SQLite would roll the journal beside a file back: its first byte is not 0.
  static func hasHotJournal(_ url: URL) -> Bool {
    guard let journal = try? journal(of: url) else { return false }
    return (try? journal.read(upToCount: 1).first ?? 0) != 0
  }
}
