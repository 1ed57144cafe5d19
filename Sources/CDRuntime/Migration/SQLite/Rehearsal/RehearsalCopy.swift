#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A copy of a store at one moment, in a folder of its own that is removed with the copy. The store is only read.
///
/// Large values are not copied. The copy has links to their files, and removing a link leaves the file alone.
final class RehearsalCopy {
  let url: URL
  private let folder: TemporaryFolder

  /// Copies a store.
  ///
  /// - Parameters:
  ///   - format: The store's format; nil for a SQLite file. The copy is always a SQLite file.
  ///   - transfer: The access to a store of another engine; nil for a file.
  /// - Throws: ``StoreError``, or ``MigrationError`` if the disk has too little space.
  @_optimize(none)
  init(
    of original: URL, _ format: (any StoreFormat)?, _ transfer: (any StoreTransfer)?, in workFolder: URL
  ) throws {
    folder = try TemporaryFolder(prefix: "cdgen-rehearsal-", in: workFolder)
    url = folder.url.appending(path: original.isFileURL ? original.lastPathComponent : "store.cdstore")
    if let transfer {
      try copyRows(original, transfer)
    } else {
      try copyFile(original, format)
      try linkLargeValues(of: original)
    }
    // The list of files to remove concerns the original's files.
    let connection = try SQLiteConnection(path: path, of: [original])
    guard try connection.scalar("PRAGMA journal_mode = DELETE") == "delete" else {
      throw MigrationError(original, .inUse)
    }
    try connection.execute("DELETE FROM _cdgen_files")
  }

  var location: StoreLocation { .sqlite(url) }

  private var path: String { url.path(percentEncoded: false) }

  private func copyRows(_ original: URL, _ transfer: any StoreTransfer) throws {
    let copy = try SQLiteConnection(path: path, of: [original], isDefensive: false)
    try transfer.read { try $0.add(to: StoreBuilder(copy, url: original)) }
  }

  @_optimize(none)
  private func copyFile(_ original: URL, _ format: (any StoreFormat)?) throws {
    let source: SQLiteConnection
    if let format {
      source = try SQLiteConnection.inMemory(":memory:", of: original)
      try StoreFile(original, format, isReadOnly: true).read(into: StoreBuilder(source, url: original))
    } else {
      source = try SQLiteConnection.reading(original, rollsBack: false)
    }
    if let size = try source.scalar("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"),
      let needed = Int64(size), let free = Disk.freeSpace(folder.url.path(percentEncoded: false)),
      free < needed
    {
      throw MigrationError(original, .diskFull(needed: needed))
    }
    let copy = try SQLiteConnection(path: path, of: [original])
    // All pages are copied in one step. Otherwise a writer in between would make the copy start again.
    try source.copy(to: copy)
  }

  @_optimize(none)
  private func linkLargeValues(of original: URL) throws {
    let links = ExternalFiles(store: url).folder
    // The values of a backup can be in the folder of its store.
    for store in [original, BackupFiles.store(of: original)].compactMap(\.self) {
      let large = ExternalFiles(store: store)
      guard large.isOwn else { continue }
      let files = large.folder
      do {
        try FileManager.default.createDirectory(at: links, withIntermediateDirectories: true)
        for name in large.names {
          let link = links.appending(path: name)
          if Disk.kind(of: link.path(percentEncoded: false)) != nil { continue }
          try FileManager.default.createSymbolicLink(
            at: link, withDestinationURL: files.appending(path: name).absoluteURL)
        }
      } catch { throw StoreError.externalData(files, reason: "\(error)") }
    }
  }
}
