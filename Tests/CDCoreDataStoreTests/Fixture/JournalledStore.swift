import Foundation

/// A store whose program was killed: what it saved last is in the journal beside it.
final class JournalledStore {
  let folder: URL
  var url: URL { folder.appending(path: "Shelf.sqlite") }
  var copy: URL { folder.appending(path: "copy.sqlite") }

  /// - Parameter isOnlyInTheJournal: Whether the file itself has no table yet.
  init(isOnlyInTheJournal: Bool) throws {
    let origin = try ShelfStore(tables: [], rows: [], hasMetadata: false)
    let writer = try PlainDatabase(origin.url)
    try writer.run("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0")
    for sql in ShelfStore.tables { try writer.run(sql) }
    try writer.run(
      "INSERT INTO Z_METADATA VALUES (1, '\(ShelfStore.id)', \(PlainDatabase.hex(try ShelfStore.plist([]))))")
    if !isOnlyInTheJournal { try writer.run("PRAGMA wal_checkpoint(TRUNCATE)") }
    try writer.run("INSERT INTO ZTAG VALUES (1, 7, 1, 'late')")
    folder = FileManager.default.temporaryDirectory.resolvingSymlinksInPath()
      .appending(path: "cdgen-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    for name in ["Shelf.sqlite", "Shelf.sqlite-wal"] {
      try FileManager.default.copyItem(
        at: origin.folder.appending(path: name), to: folder.appending(path: name))
    }
    withExtendedLifetime(writer) {}
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  func contents() throws -> [String: Data] { try ShelfStore.contents(of: folder) }
}
