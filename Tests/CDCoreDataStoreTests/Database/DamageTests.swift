import CDCoreDataStore
import CDModel
import CDRuntime
import Foundation
import SeededRandom
import Testing

/// Files that Core Data would not leave: each is refused by an error that says why, and left as it is.
@Suite("Damaged and hostile stores") struct DamageTests {
  private func error(_ store: ShelfStore, acceptsLosses: Bool = true) throws -> String {
    let before = try store.contents()
    let model = try ShelfModel.model()
    var message = "none"
    do {
      try CoreDataStore(at: store.url).copy(
        to: .sqlite(store.copy), model: model, acceptsLosses: acceptsLosses)
    } catch let error as CoreDataStoreError {
      message = "\(error)"
    } catch let error as StoreError { message = "\(error)" }
    #expect(try store.contents() == before)
    if message != "none" { #expect(!FileManager.default.fileExists(atPath: store.copy.path())) }
    return message.replacing(store.url.path(), with: "FILE")
  }

  @Test(arguments: [
    ("DROP TABLE Z_METADATA", "FILE is not a store of Core Data: it has no table Z_METADATA"),
    ("DROP TABLE Z_PRIMARYKEY", "FILE is not a store of Core Data: it has no table Z_PRIMARYKEY"),
    ("DELETE FROM Z_METADATA", "the store FILE is damaged: Z_METADATA has no row"),
    (
      "INSERT INTO Z_METADATA SELECT 2, Z_UUID, Z_PLIST FROM Z_METADATA",
      "the store FILE is damaged: Z_METADATA has more than one row"
    ),
    ("UPDATE Z_METADATA SET Z_UUID = 'me'", "the store FILE is damaged: Z_METADATA has no UUID"),
    (
      "UPDATE Z_METADATA SET Z_PLIST = NULL",
      "the store FILE is damaged: Z_METADATA has no property list, or one of more than 67108864 bytes"
    ),
    (
      "UPDATE Z_METADATA SET Z_PLIST = zeroblob(70000000)",
      "the store FILE is damaged: Z_METADATA has no property list, or one of more than 67108864 bytes"
    ),
    (
      "UPDATE Z_METADATA SET Z_PLIST = x'62706c6973743030'",
      "the store FILE is damaged: the property list of Z_METADATA cannot be read"
    ),
    (
      "UPDATE Z_METADATA SET Z_PLIST = 'text'",
      "the store FILE is damaged: the property list of Z_METADATA cannot be read"
    ),
    (
      "ALTER TABLE Z_METADATA RENAME COLUMN Z_PLIST TO Z_LIST",
      "FILE is not a store of Core Data: Z_METADATA has no column Z_PLIST"
    ),
    (
      "UPDATE Z_PRIMARYKEY SET Z_SUPER = CASE Z_ENT WHEN 3 THEN 4 ELSE 3 END WHERE Z_ENT IN (3, 4)",
      "the store FILE is damaged: 'Book' inherits from itself by Z_SUPER"
    ),
    (
      "UPDATE Z_PRIMARYKEY SET Z_SUPER = 3 WHERE Z_ENT = 3",
      "the store FILE is damaged: 'Book' inherits from itself by Z_SUPER"
    ),
    (
      "UPDATE Z_PRIMARYKEY SET Z_SUPER = 999 WHERE Z_ENT = 3",
      "the store FILE is damaged: 'Book' inherits from entity 999, which Z_PRIMARYKEY does not contain"
    ),
    (
      "UPDATE Z_PRIMARYKEY SET Z_NAME = 'Book' WHERE Z_ENT = 4",
      "the store FILE is damaged: Z_PRIMARYKEY has 'Book', or its number, twice"
    ),
    (
      "UPDATE Z_PRIMARYKEY SET Z_NAME = NULL WHERE Z_ENT = 4",
      "the store FILE is damaged: a row of Z_PRIMARYKEY has no number or no name"
    ),
    (
      "UPDATE ZITEM SET Z_ENT = 99 WHERE Z_PK = 1",
      "the store FILE is damaged: 1 rows of ZITEM are of entity 99, which it does not have"
    ),
    (
      "UPDATE ZITEM SET Z_ENT = NULL WHERE Z_PK = 1",
      "the store FILE is damaged: 1 rows of ZITEM are of entity NULL, which it does not have"
    ),
    (
      "UPDATE ZITEM SET Z_ENT = 7 WHERE Z_PK = 1",
      "the store FILE is damaged: 1 rows of ZITEM are of entity 7, which it does not have"
    ),
    (
      "UPDATE ZITEM SET Z_ENT = 2 WHERE Z_PK = 1",
      "the store FILE is damaged: 1 rows of ZITEM are of 'Item', which is abstract"
    ),
    (
      "DROP TABLE ZTAG; CREATE VIEW ZTAG AS SELECT 1 Z_PK, 7 Z_ENT, 1 Z_OPT, 'x' ZNAME",
      "FILE is not a store of Core Data: ZTAG is not an ordinary table"
    ),
    (
      "ALTER TABLE Z_PRIMARYKEY RENAME TO P; CREATE VIEW Z_PRIMARYKEY AS SELECT * FROM P",
      "FILE is not a store of Core Data: Z_PRIMARYKEY is not an ordinary table"
    ),
    (
      "DROP TABLE ZTAG; CREATE VIRTUAL TABLE ZTAG USING fts5(Z_PK, Z_ENT, Z_OPT, ZNAME)",
      "FILE is not a store of Core Data: ZTAG is not an ordinary table"
    ),
    (
      "DROP TABLE ZTAG; CREATE TABLE ZTAG (Z_PK INTEGER, Z_ENT INTEGER, Z_OPT INTEGER, ZNAME VARCHAR)",
      "FILE is not a store of Core Data: Z_PK is not the key of ZTAG"
    ),
    (
      "DROP TABLE ZTAG; CREATE TABLE ZTAG (Z_PK TEXT PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZNAME VARCHAR)",
      "FILE is not a store of Core Data: Z_PK is not the key of ZTAG"
    ),
    (
      "ALTER TABLE ZTAG ADD COLUMN ZSUM INTEGER AS (Z_PK + 1)",
      "FILE is not a store of Core Data: ZTAG has columns that are calculated"
    ),
    (
      "UPDATE ZTAG SET Z_PK = -3 WHERE Z_PK = 3; DELETE FROM Z_3TAGS",
      "the store FILE cannot be read, and was not changed: a row of 'Tag' is invalid; correct or remove it"
    ),
  ]) func aFileThatCoreDataWouldNotLeaveIsRefused(sql: String, message: String) throws {
    #expect(try error(ShelfStore(extra: [sql])) == message)
  }

  /// `quick_check` does not compare indexes with tables, so that it does not find this damage.
  @Test func rowsThatAnIndexLacksAreCopied() throws {
    let store = try ShelfStore(extra: [
      "CREATE INDEX ZITEM_Z_ENT_INDEX ON ZITEM (Z_ENT) WHERE Z_PK <> 2",
      "PRAGMA writable_schema = ON",
      "UPDATE sqlite_master SET sql = 'CREATE INDEX ZITEM_Z_ENT_INDEX ON ZITEM (Z_ENT)' "
        + "WHERE name = 'ZITEM_Z_ENT_INDEX'",
    ])
    #expect(try error(store) == "none")
    #expect(try store.copied("SELECT count(*) FROM Item") == [["4"]])
  }

  @Test func pairsThatAnIndexLacksAreCopied() throws {
    let index = "CREATE INDEX Z_3TAGS_INDEX ON Z_3TAGS (Z_3BOOKS, Z_7TAGS, Z_FOK_7TAGS)"
    let store = try ShelfStore(extra: [
      index + " WHERE Z_7TAGS <> 3",
      "PRAGMA writable_schema = ON",
      "UPDATE sqlite_master SET sql = '\(index)' WHERE name = 'Z_3TAGS_INDEX'",
    ])
    #expect(try error(store) == "none")
    #expect(try store.copied("SELECT count(*) FROM \"Book.tags\"") == [["4"]])
  }

  @Test func triggersAreNeverRun() throws {
    let store = try ShelfStore(extra: [
      "CREATE TRIGGER bad AFTER INSERT ON ZTAG BEGIN DELETE FROM ZAUTHOR; END",
      "CREATE TABLE ATRANSACTION (Z_PK INTEGER PRIMARY KEY)",
      "INSERT INTO Z_PRIMARYKEY VALUES (16001, 'CHANGE', 0, 0), (16002, 'TRANSACTION', 0, 0)",
    ])
    #expect(try error(store) == "none")
    #expect(try store.copied("SELECT count(*) FROM Author") == [["2"]])
  }

  @Test func aPropertyListThatUnfoldsIsRefused() throws {
    // Each of 40 lists has the next one sixteen times.
    var bytes = Array("bplist00".utf8)
    for next in UInt8(1)...40 {
      bytes += [0xAE] + [UInt8](repeating: next, count: 14)
    }
    let table = bytes.count
    let places = (0..<40).map { 8 + $0 * 15 }
    bytes += places.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] } + [0, 8]
    bytes += [0, 0, 0, 0, 0, 0, 2, 1] + [0, 0, 0, 0, 0, 0, 0, 41] + [UInt8](repeating: 0, count: 8)
    bytes += (0..<8).reversed().map { UInt8(truncatingIfNeeded: table >> ($0 * 8)) }
    #expect(
      try error(ShelfStore(plist: Data(bytes)))
        == "the store FILE is damaged: the property list of Z_METADATA cannot be read")
  }

  @Test func aFileThatIsCutOffIsRefusedWhereverItIsCut() throws {
    let store = try ShelfStore()
    let whole = try Data(contentsOf: store.url)
    for length in stride(from: 0, to: whole.count, by: 1021) {
      try whole.prefix(length).write(to: store.url)
      let message = try error(store)
      #expect(
        message.hasPrefix("the store FILE is damaged") || message == "FILE is not a SQLite database",
        "\(length)"
      )
    }
  }

  /// Every byte of some hundred is another one. What matters is that there is an error or a copy, and no crash.
  @Test func noChangedByteEndsTheProgram() throws {
    let store = try ShelfStore()
    let whole = [UInt8](try Data(contentsOf: store.url))
    var generator = SplitMix(seed: 7)
    for _ in 0..<100 {
      var bytes = whole
      for _ in 0..<8 {
        bytes[Int(generator.next() % UInt64(bytes.count))] = UInt8(truncatingIfNeeded: generator.next())
      }
      try Data(bytes).write(to: store.url)
      try? FileManager.default.removeItem(at: store.copy)
      _ = try error(store)
    }
  }

  @Test func otherFilesAreNoStores() throws {
    let store = try ShelfStore()
    try Data("hello".utf8).write(to: store.folder.appending(path: "text"))
    let text = store.folder.appending(path: "text")
    #expect(throws: CoreDataStoreError.notADatabase(text)) { try CoreDataStore(at: text) }
    #expect(!CoreDataStore.isStore(at: text))
    let missing = store.folder.appending(path: "missing")
    #expect(throws: CoreDataStoreError.unreadable(missing, reason: "No such file or directory")) {
      try CoreDataStore(at: missing)
    }
    #expect(throws: CoreDataStoreError.unreadable(store.folder, reason: "it is not a regular file")) {
      try CoreDataStore(at: store.folder)
    }
  }
}
