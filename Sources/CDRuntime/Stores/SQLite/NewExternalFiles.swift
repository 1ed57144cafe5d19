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

/// The files of large values that a migration writes. They are removed if the migration fails.
final class NewExternalFiles {
  private let files: ExternalFiles
  private let journal: String
  /// The mark of the store as long as the migration's result has not replaced it.
  private let old: String
  private var names: [String] = []

  /// - Parameter url: The store that is being migrated.
  init(of url: URL, _ metadata: StoreMetadata) {
    files = ExternalFiles(store: url)
    journal = Self.journal(of: url)
    old = Self.mark(metadata)
  }

  /// A text that differs between the store before a migration and the store after it: the version and the hash. Merged models
  /// always have version 1, and a part can change its version without another hash. So their text has the parts' versions too.
  @_optimize(none)
  private static func mark(_ metadata: StoreMetadata) -> String {
    let parts = metadata.partVersions.map { "\($0.key.uuidString):\($0.value)" }.ordered()
    return (["\(metadata.versionNumber)", metadata.dataHash] + parts).joined(separator: " ")
  }

  private static func journal(of url: URL) -> String { url.path(percentEncoded: false) + "-migrating-files" }

  /// Writes the names of files to a journal before the files are written, so that another process can remove them after
  /// a crash.
  func willWrite(_ new: [String]) throws {
    names += new
    let lines = [old] + names
    do {
      try Data(lines.joined(separator: "\n").utf8).write(to: URL(filePath: journal), options: .atomic)
    } catch {
      throw StoreError.externalData(URL(filePath: journal), reason: "\(error)")
    }
  }

  /// Removes the files of a migration that failed.
  func discard() {
    for name in names { files.remove(name) }
    keep()
  }

  /// Keeps the files as part of the store.
  func keep() {
    guard !names.isEmpty else { return }
    names.removeAll()
    try? FileManager.default.removeItem(atPath: journal)
  }

  /// Removes the files of a migration that ended before its result replaced the store. The caller must hold the store's
  /// lock.
  ///
  /// - Parameter connection: A connection to the store.
  @_optimize(none)
  static func recover(_ url: URL, _ connection: SQLiteConnection) throws {
    let journal = journal(of: url)
    // The file could be of another type. Reading a pipe, for example, could wait forever.
    guard Disk.kind(of: journal) == S_IFREG, let data = FileManager.default.contents(atPath: journal) else {
      return
    }
    let lines = String(decoding: data, as: UTF8.self).split(
      separator: "\n", omittingEmptySubsequences: false)
    // Metadata that this release cannot read are not those of the old store.
    let entries = try connection.metadataEntries()
    let found = (try? StoreMetadata(entries: entries, url: url)).map(mark)
    if let old = lines.first, found == String(old) {
      let files = ExternalFiles(store: url)
      for name in lines.dropFirst() where UUID(uuidString: String(name)) != nil { files.remove(String(name)) }
    }
    try? FileManager.default.removeItem(atPath: journal)
  }

  /// Removes the journal of such files that an interrupted migration has left, but not the files.
  static func removeJournal(of url: URL) { unlink(journal(of: url)) }

  /// Returns whether an interrupted migration has left a journal of such files.
  static func hasLeftovers(_ url: URL) -> Bool { Disk.kind(of: journal(of: url)) == S_IFREG }
}

extension FileColumn {
  /// Returns the statement that selects the names of all files to which the column refers.
  ///
  /// - Parameter schema: The database that contains the table.
  @_optimize(none)
  func fileNames(in schema: String = "main") -> String {
    let column = SQLText.quoted(name)
    return "SELECT \(column) AS name FROM \(schema).\(SQLText.quoted(table)) WHERE typeof(\(column)) = 'text'"
  }
}
