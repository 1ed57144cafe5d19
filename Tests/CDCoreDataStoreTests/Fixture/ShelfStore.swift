import Foundation

/// A store of Apple's layout for ``ShelfModel``, made with plain SQL.
final class ShelfStore {
  let folder: URL
  var url: URL { folder.appending(path: "Shelf.sqlite") }
  var copy: URL { folder.appending(path: "copy.sqlite") }

  static let id = "6F2B1C1E-2A5D-4B6E-9C53-0D6A3E1B7F55"

  /// The tables of version 1.
  static let tables = [
    "CREATE TABLE ZAUTHOR ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZPASSPORT INTEGER, "
      + "ZBIRTH TIMESTAMP, ZNAME VARCHAR )",
    "CREATE TABLE ZITEM ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, Z_RANK INTEGER, ZPAGES INTEGER, "
      + "ZAUTHOR INTEGER, ZSEQUEL INTEGER, Z2_SEQUEL INTEGER, ZISSUE INTEGER, Z_FOK_AUTHOR INTEGER, ZTITLE VARCHAR, "
      + "ZNOTE VARCHAR, ZNOTE1 VARCHAR )",
    "CREATE TABLE ZPASSPORT ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZHOLDER INTEGER, "
      + "ZNUMBER VARCHAR )",
    "CREATE TABLE ZSAMPLE ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZFLAG INTEGER, ZSMALL INTEGER, "
      + "ZMIDDLE INTEGER, ZLARGE INTEGER, ZMADE TIMESTAMP, ZSINGLE FLOAT, ZTWICE FLOAT, ZPRICE DECIMAL, ZTEXT VARCHAR, "
      + "ZLINK VARCHAR, ZBLOB BLOB, ZCODE BLOB, ZCOLOR BLOB, ZWORDS BLOB, ZSCAN BLOB )",
    "CREATE TABLE ZTAG ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZNAME VARCHAR )",
    "CREATE TABLE Z_1FRIENDS ( Z_1FRIENDS INTEGER, REFLEXIVE INTEGER, PRIMARY KEY (Z_1FRIENDS, REFLEXIVE) )",
    "CREATE TABLE Z_3TAGS ( Z_3BOOKS INTEGER, Z_7TAGS INTEGER, Z_FOK_7TAGS INTEGER, PRIMARY KEY (Z_3BOOKS, Z_7TAGS) )",
    "CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER)",
    "CREATE TABLE Z_METADATA (Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB)",
    "CREATE TABLE Z_MODELCACHE (Z_CONTENT BLOB)",
    "INSERT INTO Z_PRIMARYKEY VALUES (1, 'Author', 0, 9), (2, 'Item', 0, 5), (3, 'Book', 2, 0), "
      + "(4, 'Magazine', 2, 0), (5, 'Passport', 0, 1), (6, 'Sample', 0, 4), (7, 'Tag', 0, 3)",
  ]

  /// Two authors who are friends, three books in an order, a magazine, a passport, three tags.
  static let rows = [
    "INSERT INTO ZAUTHOR VALUES (1, 1, 3, 1, 86400.5, 'Ada'), (2, 1, 1, NULL, NULL, 'Brontë')",
    "INSERT INTO ZITEM (Z_PK, Z_ENT, Z_OPT, Z_RANK, ZPAGES, ZAUTHOR, Z_FOK_AUTHOR, ZSEQUEL, Z2_SEQUEL, ZTITLE, ZNOTE) "
      + "VALUES (1, 3, 1, 11, 100, 1, 2048, 4, 4, 'One', 'first'), (2, 3, 1, NULL, 200, 1, 1024, NULL, NULL, 'Two', "
      + "NULL), (3, 3, 2, NULL, 300, 2, 1024, 1, 3, 'Three', NULL)",
    "INSERT INTO ZITEM (Z_PK, Z_ENT, Z_OPT, ZISSUE, ZTITLE, ZNOTE1) VALUES (4, 4, 1, 12, 'Monthly', 'glossy')",
    "INSERT INTO ZPASSPORT VALUES (1, 5, 1, 1, 'P-1')",
    "INSERT INTO ZTAG VALUES (1, 7, 1, 'red'), (2, 7, 1, 'green'), (3, 7, 1, 'blue')",
    "INSERT INTO Z_1FRIENDS VALUES (1, 2)",
    "INSERT INTO Z_3TAGS VALUES (1, 1, 3072), (1, 2, 1024), (1, 3, 2048), (2, 1, 1024)",
  ]

  /// - Parameters:
  ///   - identifiers: Those of the version.
  ///   - extra: SQL that is run at the end.
  init(
    tables: [String] = tables, rows: [String] = rows, identifiers: [String] = ["shelf-1"], plist: Data? = nil,
    extra: [String] = [], hasMetadata: Bool = true
  ) throws {
    folder = FileManager.default.temporaryDirectory.resolvingSymlinksInPath()
      .appending(path: "cdgen-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let metadata = try plist ?? Self.plist(identifiers)
    let database = try PlainDatabase(url)
    for sql in tables + rows { try database.run(sql) }
    if hasMetadata {
      try database.run("INSERT INTO Z_METADATA VALUES (1, '\(Self.id)', \(PlainDatabase.hex(metadata)))")
    }
    for sql in extra { try database.run(sql) }
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  static func plist(_ identifiers: [String]) throws -> Data {
    try PropertyListSerialization.data(
      fromPropertyList: [
        "NSPersistenceFrameworkVersion": 1333, "NSStoreModelVersionHashesVersion": 3, "NSStoreType": "SQLite",
        "NSStoreModelVersionIdentifiers": identifiers, "lastSync": "yesterday", "rounds": 3, "list": ["a"],
      ] as [String: Any], format: .binary, options: 0)
  }

  /// The bytes of all files, to see that none has changed.
  func contents() throws -> [String: Data] { try Self.contents(of: folder) }

  static func contents(of folder: URL) throws -> [String: Data] {
    var result: [String: Data] = [:]
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path(percentEncoded: false))
    for name in names where !name.hasPrefix("copy") {
      let file = folder.appending(path: name)
      result[name] = (try? Data(contentsOf: file)) ?? Data()
    }
    return result
  }

  /// The rows of the copy, as plain SQL gives them.
  func copied(_ sql: String) throws -> [[String]] { try PlainDatabase(copy, isReadOnly: true).rows(sql) }
}
