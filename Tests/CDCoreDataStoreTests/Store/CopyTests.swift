import CDCoreDataStore
import CDModel
import CDRuntime
import Foundation
import Testing

/// Stores of Apple's layout, copied and looked at with plain SQL, value by value.
@Suite("Copies of Core Data's stores") struct CopyTests {
  private func copy(
    _ store: ShelfStore, version: Int? = nil, acceptsLosses: Bool = false
  ) throws -> CoreDataStoreCopy {
    try CoreDataStore(at: store.url).copy(
      to: .sqlite(store.copy), model: ShelfModel.model(), version: version, acceptsLosses: acceptsLosses)
  }

  /// What is wrong with the copy by the runtime's own rules.
  private func findings(_ store: ShelfStore) throws -> [String] {
    let model = try PersistentStoreCoordinator.metadata(forStoreAt: store.copy).managedObjectModel
    return try PersistentStoreCoordinator(model: model, at: .sqlite(store.copy)).verify().map(\.description)
  }

  @Test func objectsAndReferencesAreTakenOver() throws {
    let store = try ShelfStore(rows: ShelfStore.rows)
    let before = try store.contents()
    let result = try copy(store)
    #expect(result.version.number == 1)
    #expect(result.counts == ["Author": 2, "Book": 3, "Magazine": 1, "Passport": 1, "Tag": 3])
    #expect(result.losses.count == 0)
    #expect(result.remarks == ["the store's metadata entry 'list' is not a text and was not copied"])
    #expect(
      try store.copied("SELECT _pk, _version, name, birth FROM Author ORDER BY _pk")
        == [["1", "3", "Ada", "86400.5"], ["2", "1", "Brontë", "NULL"]])
    #expect(
      try store.copied(
        "SELECT _pk, _version, _entity, title, rank, pages, \"Book.note\", \"Magazine.note\", issue FROM Item "
          + "ORDER BY _pk") == [
          ["1", "1", "Book", "One", "11", "100", "first", "NULL", "NULL"],
          ["2", "1", "Book", "Two", "NULL", "200", "NULL", "NULL", "NULL"],
          ["3", "2", "Book", "Three", "NULL", "300", "NULL", "NULL", "NULL"],
          ["4", "1", "Magazine", "Monthly", "NULL", "NULL", "NULL", "glossy", "12"],
        ])
    #expect(try store.contents() == before)
    #expect(try findings(store) == [])
  }

  @Test func relationshipsOfAllKindsAreTakenOver() throws {
    let store = try ShelfStore()
    _ = try copy(store)
    #expect(
      try store.copied("SELECT _pk, author, sequel FROM Item ORDER BY _pk")
        == [["1", "1", "4"], ["2", "1", "NULL"], ["3", "2", "1"], ["4", "NULL", "NULL"]])
    #expect(
      try store.copied("SELECT _pk FROM Item WHERE author = 1 ORDER BY \"author.position\"") == [
        ["2"], ["1"],
      ])
    #expect(try store.copied("SELECT _pk, number, holder FROM Passport") == [["1", "P-1", "1"]])
    #expect(
      try store.copied("SELECT _target FROM \"Book.tags\" WHERE _source = 1 ORDER BY _position")
        == [["2"], ["3"], ["1"]])
    #expect(
      try store.copied("SELECT _source FROM \"Book.tags\" WHERE _target = 1 ORDER BY 1") == [["1"], ["2"]])
    #expect(
      try store.copied("SELECT _source, _target FROM \"Author.friends\" ORDER BY 1") == [
        ["1", "2"], ["2", "1"],
      ])
  }

  /// A relationship that is its own inverse has a position in each direction, which the store has for some pairs only.
  @Test func bothDirectionsOfAnOrderAreTakenOverOnce() throws {
    let store = try ShelfStore(extra: [
      "ALTER TABLE Z_1FRIENDS ADD COLUMN Z_FOK_1FRIENDS INTEGER",
      "INSERT INTO ZAUTHOR VALUES (3, 1, 1, NULL, NULL, 'Clea')", "DELETE FROM Z_1FRIENDS",
      "INSERT INTO Z_1FRIENDS VALUES (1, 2, 1024), (2, 1, 2048), (3, 1, 3072), (3, 3, 4096)",
    ])
    let element = ShelfModel.element(1)
      .replacing(#"name="friends" optional="YES""#, with: #"name="friends" ordered="YES" optional="YES""#)
    _ = try CoreDataStore(at: store.url).copy(to: .sqlite(store.copy), model: ShelfModel.model([element]))
    #expect(
      try store.copied("SELECT _source, _target, _position FROM \"Author.friends\" ORDER BY 1, 2") == [
        ["1", "2", "2048"], ["1", "3", "3072"], ["2", "1", "1024"], ["3", "1", "3072"], ["3", "3", "4096"],
      ])
    #expect(try findings(store) == [])
  }

  @Test func theIdentityOfStoreAndObjectsStays() throws {
    let store = try ShelfStore()
    _ = try copy(store)
    let metadata = try PersistentStoreCoordinator.metadata(forStoreAt: store.copy)
    #expect(metadata.storeID.uuidString == ShelfStore.id)
    #expect(metadata.values == ["lastSync": "yesterday", "rounds": "3"])
    // Z_MAX is 9, though the highest key that is left is 2.
    #expect(try store.copied("SELECT next FROM _cdgen_keys WHERE entity = 'Author'") == [["10"]])
  }

  @Test(arguments: ["9223372036854775807", "9223372036854775000", "4611686018427387904", "-1"])
  func countersThatLeaveNoKeyAreNotTakenOver(_ counter: String) throws {
    let store = try ShelfStore(extra: [
      "UPDATE Z_PRIMARYKEY SET Z_MAX = \(counter) WHERE Z_NAME = 'Author'"
    ])
    _ = try copy(store)
    #expect(try store.copied("SELECT next FROM _cdgen_keys WHERE entity = 'Author'") == [["3"]])
    #expect(try findings(store) == [])
  }

  @Test func valuesOfEveryTypeAreTakenOver() throws {
    let words = try NSKeyedArchiver.archivedData(
      withRootObject: ["tea", "\"milk\""] as NSArray, requiringSecureCoding: false)
    let store = try ShelfStore(rows: [
      "INSERT INTO ZSAMPLE (Z_PK, Z_ENT, Z_OPT, ZFLAG, ZSMALL, ZMIDDLE, ZLARGE, ZMADE, ZSINGLE, ZTWICE, ZPRICE, ZTEXT, "
        + "ZLINK, ZBLOB, ZCODE, ZCOLOR, ZWORDS, ZSCAN) VALUES (1, 6, 1, 1, -32768, 2147483647, "
        + "-9223372036854775808, 1000, 0.5, 0.1, '9.99', 'a''b', 'https://example.com/a?b=c', x'00ff', "
        + "x'000102030405060708090a0b0c0d0e0f', x'62706c', \(PlainDatabase.hex(words)), x'01c0ffee')",
      "INSERT INTO ZSAMPLE (Z_PK, Z_ENT, Z_OPT, ZFLAG, ZMADE, ZTWICE, ZPRICE, ZBLOB, ZSCAN) VALUES "
        + "(2, 6, 1, 0, -0.25, 3, '-12345678901234567890.123456789', x'', x'01')",
      "INSERT INTO ZSAMPLE (Z_PK, Z_ENT, Z_OPT, ZPRICE) VALUES (3, 6, 1, 120)",
    ])
    _ = try copy(store)
    let list =
      "flag, small, middle, large, made, single, twice, substr(price, instr(price, ' ') + 1), text, link"
    #expect(
      try store.copied("SELECT \(list) FROM Sample ORDER BY _pk") == [
        [
          "1", "-32768", "2147483647", "-9223372036854775808", "1000.0", "0.5", "0.1", "9.99", "a'b",
          "https://example.com/a?b=c",
        ],
        ["0", "NULL", "NULL", "NULL", "-0.25", "NULL", "3.0", "-12345678901234567000", "NULL", "NULL"],
        ["NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "120", "NULL", "NULL"],
      ])
    #expect(
      try store.copied("SELECT hex(blob), hex(code), hex(color), words, hex(scan) FROM Sample ORDER BY _pk")
        == [
          ["00FF", "000102030405060708090A0B0C0D0E0F", "62706C", #"["tea","\"milk\""]"#, "C0FFEE"],
          ["", "", "", "NULL", ""], ["", "", "", "NULL", ""],
        ])
    #expect(
      try store.copied("SELECT typeof(blob), typeof(scan), typeof(color) FROM Sample ORDER BY _pk")
        == [["blob", "blob", "blob"], ["blob", "blob", "null"], ["null", "null", "null"]])
    #expect(try findings(store) == [])
  }

  @Test func decimalsOfAnySizeAreWrittenOut() throws {
    let store = try ShelfStore(rows: [
      "INSERT INTO ZSAMPLE (Z_PK, Z_ENT, Z_OPT, ZPRICE) VALUES (1, 6, 1, 1e30), (2, 6, 1, 1e-20), (3, 6, 1, -2.5), "
        + "(4, 6, 1, 0.1), (5, 6, 1, 9007199254740993)"
    ])
    _ = try copy(store)
    #expect(
      try store.copied("SELECT substr(price, instr(price, ' ') + 1) FROM Sample ORDER BY _pk") == [
        ["1000000000000000000000000000000"], ["0.00000000000000000001"], ["-2.5"], ["0.1"],
        ["9007199254740993"],
      ])
    let large = try ShelfStore(rows: [
      "INSERT INTO ZSAMPLE (Z_PK, Z_ENT, Z_OPT, ZPRICE) VALUES (1, 6, 1, 1e300)"
    ])
    #expect(throws: CoreDataStoreError.self) { try copy(large) }
  }

  @Test func externalDataComesFromItsFiles() throws {
    let (large, small) = ("5F2B1C1E-2A5D-4B6E-9C53-0D6A3E1B7F01", "5F2B1C1E-2A5D-4B6E-9C53-0D6A3E1B7F02")
    func record(_ name: String) -> String { PlainDatabase.hex(Data([2]) + Data(name.utf8) + Data([0])) }
    let store = try ShelfStore(rows: [
      "INSERT INTO ZSAMPLE (Z_PK, Z_ENT, Z_OPT, ZSCAN) VALUES (1, 6, 1, \(record(large))), (2, 6, 1, \(record(small)))"
    ])
    let files = store.folder.appending(path: ".Shelf_SUPPORT/_EXTERNAL_DATA")
    try FileManager.default.createDirectory(at: files, withIntermediateDirectories: true)
    let bytes = Data((0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
    try bytes.write(to: files.appending(path: large))
    try Data("small".utf8).write(to: files.appending(path: small))
    _ = try copy(store)
    // What is large goes to a file here too.
    #expect(
      try store.copied("SELECT typeof(scan), length(scan) FROM Sample ORDER BY _pk") == [
        ["text", "36"], ["blob", "5"],
      ])
    let model = try PersistentStoreCoordinator.metadata(forStoreAt: store.copy).managedObjectModel
    let context = try PersistentContainer(model: model, at: store.copy).newContext()
    let values = try context.fetch(FetchRequest<ManagedObject>(entityName: "Sample")).map { object in
      try object.value(forKey: "scan").attribute
    }
    #expect(Set(values) == [.data(bytes), .data(Data("small".utf8))])
    #expect(try findings(store) == [])
  }

  @Test(arguments: [false, true]) func aJournalThatWasLeftIsPartOfTheStore(isOnlyInTheJournal: Bool) throws {
    let store = try JournalledStore(isOnlyInTheJournal: isOnlyInTheJournal)
    let before = try store.contents()
    #expect(before["Shelf.sqlite-wal"]?.isEmpty == false)
    #expect(CoreDataStore.isStore(at: store.url))
    let result = try CoreDataStore(at: store.url).copy(to: .sqlite(store.copy), model: ShelfModel.model())
    #expect(result.counts["Tag"] == 1)
    #expect(try PlainDatabase(store.copy).rows("SELECT name FROM Tag") == [["late"]])
    #expect(try store.contents() == before)
  }

  /// A program that was killed while it wrote has left pages of both states in the file, and the old ones in the
  /// journal.
  @Test func aTransactionThatWasInterruptedIsRolledBack() throws {
    let origin = try ShelfStore(rows: [
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000) "
        + "INSERT INTO ZTAG SELECT i, 7, 1, printf('%0300d', i) FROM n"
    ])
    let store = try ShelfStore()
    let writer = try PlainDatabase(origin.url)
    try writer.run("PRAGMA cache_size = 2; PRAGMA cache_spill = 1; BEGIN; UPDATE ZTAG SET ZNAME = 'gone'")
    try FileManager.default.removeItem(at: store.url)
    for name in ["Shelf.sqlite", "Shelf.sqlite-journal"] {
      try FileManager.default.copyItem(
        at: origin.folder.appending(path: name), to: store.folder.appending(path: name))
    }
    try writer.run("ROLLBACK")
    let before = try store.contents()
    #expect(before["Shelf.sqlite"] != (try origin.contents()["Shelf.sqlite"]))
    _ = try copy(store)
    #expect(try store.copied("SELECT count(*) FROM Tag WHERE length(name) = 300") == [["2000"]])
    #expect(try store.contents() == before)
  }
}
