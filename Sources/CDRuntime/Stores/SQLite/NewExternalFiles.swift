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
  /// The version and hash of the store as long as the migration's result has not replaced it.
  private let old: String
  private var names: [String] = []

  /// - Parameter url: The store that is being migrated.
  init(of url: URL, _ metadata: StoreMetadata) {
    files = ExternalFiles(store: url)
    journal = Self.journal(of: url)
    old = Self.mark("\(metadata.versionNumber)", metadata.dataHash)
  }

  private static func mark(_ version: String, _ hash: String) -> String { "\(version) \(hash)" }

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
    let found = try connection.rows(
      "SELECT v.value, h.value FROM _cdgen_metadata AS v, _cdgen_metadata AS h "
        + "WHERE v.key = 'versionNumber' AND h.key = 'dataHash'"
    ).first.map { mark($0[0] ?? "", $0[1] ?? "") }
    if let old = lines.first, found == String(old) {
      let files = ExternalFiles(store: url)
      for name in lines.dropFirst() where UUID(uuidString: String(name)) != nil { files.remove(String(name)) }
    }
    try? FileManager.default.removeItem(atPath: journal)
  }

  /// Returns whether an interrupted migration has left a journal of such files.
  static func hasLeftovers(_ url: URL) -> Bool { Disk.kind(of: journal(of: url)) == S_IFREG }
}

extension FileColumn {
  /// Returns the statement that selects the names of all files to which the column refers.
  ///
  /// - Parameter schema: The database that contains the table.
  func fileNames(in schema: String = "main") -> String {
    let column = SQLText.quoted(name)
    return "SELECT \(column) AS name FROM \(schema).\(SQLText.quoted(table)) WHERE typeof(\(column)) = 'text'"
  }
}
