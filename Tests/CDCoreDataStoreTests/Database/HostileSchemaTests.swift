import CDCoreDataStore
import CDModel
import CDRuntime
import Foundation
import Testing

/// Databases that somebody has prepared: what their schema says is not what Core Data would have written, or their
/// pages have more rows than a file can hold.
@Suite("Prepared databases", .timeLimit(.minutes(10))) struct HostileSchemaTests {
  /// What a copy ends with; nil for a copy.
  private func refusal(_ store: ShelfStore) throws -> String? {
    let before = try store.contents()
    defer { #expect((try? store.contents())?.filter { $0.key != "copy.sqlite" } == before) }
    do {
      try CoreDataStore(at: store.url).copy(
        to: .sqlite(store.copy), model: ShelfModel.model(), acceptsLosses: true)
      return nil
    } catch let error as CoreDataStoreError {
      #expect(!FileManager.default.fileExists(atPath: store.copy.path()))
      return "\(error)".replacing(store.url.path(), with: "FILE")
    }
  }

  @Test(arguments: [
    (
      "CREATE VIEW ZEXTRA AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n",
      "FILE is not a store of Core Data: ZEXTRA is not an ordinary table"
    ),
    (
      "DROP TABLE ZTAG; CREATE VIEW ZTAG AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
        + "SELECT i Z_PK, 7 Z_ENT, 1 Z_OPT, 'x' ZNAME FROM n",
      "FILE is not a store of Core Data: ZTAG is not an ordinary table"
    ),
    (
      "ALTER TABLE ZTAG ADD COLUMN ZMANY AS (length(zeroblob(100000000)))",
      "FILE is not a store of Core Data: ZTAG has columns that are calculated"
    ),
    (
      "DROP TABLE ZTAG; CREATE TABLE ZTAG (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZNAME VARCHAR) "
        + "WITHOUT ROWID; INSERT INTO ZTAG VALUES ('x', 7, 1, 'a'), ('y', 7, 1, 'b')",
      "the store FILE is damaged: the rows of 'Tag' are not in the order of their keys"
    ),
  ]) func aSchemaThatCoreDataWouldNotWriteIsRefused(sql: String, message: String) throws {
    #expect(try refusal(ShelfStore(extra: [sql])) == message)
  }

  @Test(arguments: [
    "CREATE TRIGGER ZTAG2 INSTEAD OF INSERT ON v BEGIN DELETE FROM ZAUTHOR; END",
    "CREATE INDEX evil ON ZTAG (abs(Z_PK)) WHERE Z_ENT = 7",
    "CREATE INDEX covering ON ZTAG (Z_ENT, Z_OPT DESC, ZNAME, Z_PK DESC)",
    "CREATE TABLE other (a CHECK (a > (SELECT 1)))",
  ]) func whatIsBesideTheTablesIsNeverLookedAt(sql: String) throws {
    let view = "CREATE VIEW v AS SELECT 1 AS a"
    guard let store = try? ShelfStore(extra: [view, sql]) else { return }
    #expect(try refusal(store) == nil)
    #expect(try store.copied("SELECT group_concat(name, ' ') FROM Tag") == [["red green blue"]])
  }

  /// A constraint that the row breaks would end the copy if SQLite evaluated it.
  @Test func constraintsAreNotEvaluated() throws {
    let store = try ShelfStore(extra: [
      "CREATE TABLE other (a CHECK (a > 1))", "PRAGMA ignore_check_constraints = ON",
      "INSERT INTO other VALUES (0)",
    ])
    #expect(try refusal(store) == nil)
  }

  @Test(arguments: ["UTF-16le", "UTF-16be"]) func otherEncodingsAreRead(encoding: String) throws {
    let store = try ShelfStore(tables: ["PRAGMA encoding = '\(encoding)'"] + ShelfStore.tables)
    #expect(try refusal(store) == nil)
    #expect(try store.copied("SELECT name FROM Author WHERE _pk = 2") == [["Brontë"]])
  }

  /// Both tables then have the pages of one.
  @Test func aTableThatHasAnothersPagesIsRefused() throws {
    let store = try ShelfStore(extra: [
      "PRAGMA writable_schema = ON",
      "UPDATE sqlite_master SET rootpage = (SELECT rootpage FROM sqlite_master WHERE name = 'ZITEM') WHERE name = 'ZTAG'",
    ])
    #expect(try refusal(store) != nil)
  }

  /// Each page of some has the next one hundreds of times, so that the rows cannot be counted by anybody.
  @Test(arguments: [2, 8]) func pagesThatAreTheChildrenOfManyAreNotReadForever(levels: Int) throws {
    let store = try ShelfStore()
    let root = try PlainDatabase(store.url).scalar("SELECT rootpage FROM sqlite_master WHERE name = 'ZTAG'")
    var file = try PagedFile(store.url)
    file.unfold(page: try #require(Int(root)), levels: levels)
    try file.write(to: store.url)
    let message = try #require(try refusal(store))
    #expect(message.hasPrefix("the store FILE is damaged: "), "\(message)")
  }

  /// Each entity is the child of the one before.
  @Test func ancestorsWithoutEndAreNotFollowed() throws {
    let store = try ShelfStore(extra: [
      "WITH RECURSIVE n(i) AS (SELECT 8 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) "
        + "INSERT INTO Z_PRIMARYKEY SELECT i, 'E' || i, i - 1, 0 FROM n"
    ])
    #expect(
      try refusal(store) == "the store FILE is damaged: 'E1008' inherits from more than 1000 entities")
  }

  /// The pages of the schema itself do so.
  @Test func aSchemaWithoutEndIsNotReadForever() throws {
    let store = try ShelfStore()
    var file = try PagedFile(store.url)
    file.unfold(page: 1, levels: 8)
    try file.write(to: store.url)
    #expect(try refusal(store) != nil)
    #expect(!CoreDataStore.isStore(at: store.url))
  }
}

/// A database as pages, to be written as SQLite never would.
private struct PagedFile {
  private var bytes: [UInt8]
  private let pageSize: Int

  init(_ url: URL) throws {
    bytes = [UInt8](try Data(contentsOf: url))
    let size = Int(bytes[16]) << 8 | Int(bytes[17])
    pageSize = size == 1 ? 65_536 : size
  }

  /// Moves what is on a leaf page to a new one, and makes the page and some more the parents of it, each of the next.
  mutating func unfold(page: Int, levels: Int) {
    let start = (page - 1) * pageSize
    let header = page == 1 ? 100 : 0
    // On the first page the list of cells comes behind the file's header; the cells themselves stay where they are.
    var leaf = Array(bytes[start..<(start + pageSize)])
    let cells = Int(leaf[header + 3]) << 8 | Int(leaf[header + 4])
    leaf.replaceSubrange(0..<(8 + 2 * cells), with: leaf[header..<(header + 8 + 2 * cells)])
    let first = bytes.count / pageSize + 1
    for level in 0..<levels {
      let interior = interior(child: first + level, from: level == 0 ? header : 0)
      if level == 0 {
        bytes.replaceSubrange((start + header)..<(start + pageSize), with: interior)
      } else {
        bytes += interior
      }
    }
    bytes += leaf
    let count = bytes.count / pageSize
    for (place, shift) in zip(28..<32, [24, 16, 8, 0]) {
      bytes[place] = UInt8(truncatingIfNeeded: count >> shift)
    }
    // What is valid for the count of pages is valid for this change.
    bytes.replaceSubrange(92..<96, with: bytes[24..<28])
  }

  /// A page of a table's tree all of whose children are one page.
  private func interior(child: Int, from header: Int) -> [UInt8] {
    var page = [UInt8](repeating: 0, count: pageSize - header)
    func number(_ value: Int, _ count: Int) -> [UInt8] {
      (0..<count).reversed().map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }
    let cells = (page.count - 12) / 7 - 1
    let content = page.count - 5 * cells
    page.replaceSubrange(
      0..<12,
      with: [5] + number(0, 2) + number(cells, 2) + number(content + header, 2) + [0] + number(child, 4))
    for cell in 0..<cells {
      let place = content + 5 * cell
      page.replaceSubrange((12 + 2 * cell)..<(14 + 2 * cell), with: number(place + header, 2))
      page.replaceSubrange(place..<(place + 5), with: number(child, 4) + [UInt8(min(cell + 1, 127))])
    }
    return page
  }

  func write(to url: URL) throws { try Data(bytes).write(to: url) }
}
