import CSQLite
import Foundation
import Testing

/// `cdstore` on a store that Core Data has made.
@Suite struct CoreDataStoreTests {
  private let folder: TemporaryFolder

  private static let model = """
    <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
    <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" lastSavedToolsVersion="21754"
        systemVersion="22A1" minimumToolsVersion="Automatic" sourceLanguage="Swift"
        userDefinedModelVersionIdentifier="">
      <entity name="Folder" representedClassName="Folder">
        <attribute name="name" attributeType="String"/>
        <relationship name="notes" optional="YES" toMany="YES" deletionRule="Nullify" ordered="YES"
            destinationEntity="Note" inverseName="folder" inverseEntity="Note"/>
      </entity>
      <entity name="Note" representedClassName="Note">
        <attribute name="rating" optional="YES" attributeType="Integer 16" usesScalarValueType="NO"/>
        <attribute name="text" attributeType="String"/>
        <relationship name="folder" optional="YES" maxCount="1" deletionRule="Nullify"
            destinationEntity="Folder" inverseName="notes" inverseEntity="Folder"/>
      </entity>
    </model>
    """

  private static let store = [
    "CREATE TABLE ZFOLDER (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZNAME VARCHAR)",
    "CREATE TABLE ZNOTE (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZRATING INTEGER, ZFOLDER INTEGER, "
      + "Z_FOK_FOLDER INTEGER, ZTEXT VARCHAR)",
    "CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER)",
    "CREATE TABLE Z_METADATA (Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB)",
    "INSERT INTO Z_PRIMARYKEY VALUES (1, 'Folder', 0, 1), (2, 'Note', 0, 2)",
    "INSERT INTO ZFOLDER VALUES (1, 1, 1, 'Home')",
    "INSERT INTO ZNOTE VALUES (1, 2, 1, 5, 1, 2048, 'tea'), (2, 2, 1, NULL, 1, 1024, 'milk')",
  ]

  init() throws {
    folder = try TemporaryFolder()
    try folder.write(Self.model, to: "Notes.xcdatamodeld/Notes.xcdatamodel/contents")
    try run(Self.store)
    let plist = try PropertyListSerialization.data(
      fromPropertyList: ["NSPersistenceFrameworkVersion": 1333, "lastSync": "yesterday"] as [String: Any],
      format: .binary, options: 0)
    let hex = plist.map { String(format: "%02x", $0) }.joined()
    try run(["INSERT INTO Z_METADATA VALUES (1, '6F2B1C1E-2A5D-4B6E-9C53-0D6A3E1B7F55', x'\(hex)')"])
  }

  private func run(_ statements: [String]) throws {
    var opened: OpaquePointer?
    let path = folder.url.appending(path: "old.sqlite").path(percentEncoded: false)
    #expect(sqlite3_open(path, &opened) == SQLITE_OK)
    defer { sqlite3_close_v2(opened) }
    for sql in statements {
      let code = sqlite3_exec(opened, sql, nil, nil, nil)
      try #require(code == SQLITE_OK, "\(sql)")
    }
  }

  private func expect(
    _ arguments: String..., status: Int32 = 0, output: String = "", errors: String = "",
    location: SourceLocation = #_sourceLocation
  ) throws {
    let result = try BuiltTool.cdstore.run(arguments, in: folder.url)
    #expect(
      result == BuiltTool.Result(status: status, output: output, errors: errors), sourceLocation: location)
  }

  @Test func aStoreBecomesOneOfCdgen() throws {
    let before = try Data(contentsOf: folder.url.appending(path: "old.sqlite"))
    try expect(
      "convert", "old.sqlite", "new.sqlite", "--model", "Notes.xcdatamodeld",
      output: """
        new.sqlite: sqlite, Notes, version 1 ('Notes')

        Entity  Objects
        ------  -------
        Folder  1
        Note    2

        """,
      errors: """
        note: the model of the new store is one of its own; for a store that an app is to open, name the folder that \
        'cdgen import' made

        """)
    try expect(
      "fetch", "new.sqlite", "Note", "--where", "folder.name == 'Home'", "--sort", "text", "--format", "csv",
      output: """
        @id,rating,text,folder
        cdgen://6F2B1C1E-2A5D-4B6E-9C53-0D6A3E1B7F55/Note/p2,,milk,\
        cdgen://6F2B1C1E-2A5D-4B6E-9C53-0D6A3E1B7F55/Folder/p1
        cdgen://6F2B1C1E-2A5D-4B6E-9C53-0D6A3E1B7F55/Note/p1,5,tea,\
        cdgen://6F2B1C1E-2A5D-4B6E-9C53-0D6A3E1B7F55/Folder/p1

        """)
    try expect("verify", "new.sqlite", output: "new.sqlite is whole\n")
    #expect(try Data(contentsOf: folder.url.appending(path: "old.sqlite")) == before)
  }

  /// Which version the store is of is told by its tables, not by what came before.
  @Test func theOrderOfTheVersionsIsNotAskedFor() throws {
    let older = Self.model.replacing("name=\"text\"", with: "name=\"words\"")
    try folder.write(older, to: "Notes.xcdatamodeld/Winter.xcdatamodel/contents")
    let result = try BuiltTool.cdstore.run(
      "convert", "old.sqlite", "new.sqlite", "--model", "Notes.xcdatamodeld", in: folder.url)
    #expect(result.status == 0, "\(result.errors)")
    #expect(result.output.hasPrefix("new.sqlite: sqlite, Notes, version 1 ('Notes')\n"))
  }

  @Test func aStoreForAnAppHasTheModelThatWasImported() throws {
    #expect(
      try BuiltTool.cdgen.run("import", "Notes.xcdatamodeld", "--output", "Schemas", in: folder.url).status
        == 0)
    let result = try BuiltTool.cdstore.run(
      "convert", "old.sqlite", "new.xml", "--type", "xml", "--model", "Schemas/Notes.cdmodel", in: folder.url)
    #expect(result.status == 0)
    #expect(result.errors == "")
    try expect(
      "fetch", "new.xml", "Note", "--model", "Schemas/Notes.cdmodel", "--count", output: "2\n")
  }

  @Test func aStoreIsDescribed() throws {
    let size = try Data(contentsOf: folder.url.appending(path: "old.sqlite")).count
    func text(_ model: String) -> String {
      """
      type            Core Data, SQLite
      store           6F2B1C1E-2A5D-4B6E-9C53-0D6A3E1B7F55
      model           \(model)
      Core Data       1333
      size            \(size) bytes
      app's lastSync  yesterday

      Entity  Objects
      ------  -------
      Folder  1
      Note    2

      """
    }
    try expect(
      "info", "old.sqlite", output: text("not in the store; name it with --model to know the version"))
    try expect(
      "info", "old.sqlite", "--model", "Notes.xcdatamodeld", output: text("Notes, version 1 ('Notes')"))
  }

  @Test func theSizeOfAStoreIncludesItsLargeValues() throws {
    let size = try Data(contentsOf: folder.url.appending(path: "old.sqlite")).count
    try folder.write(String(repeating: "x", count: 200_000), to: ".old_SUPPORT/_EXTERNAL_DATA/\(UUID())")
    let result = try BuiltTool.cdstore.run("info", "old.sqlite", in: folder.url)
    #expect(result.output.contains("size            \(size + 200_000) bytes\n"), "\(result)")
  }

  @Test func aStoreIsFetchedFromAsItIs() throws {
    try expect(
      "fetch", "old.sqlite", "Note", "--model", "Notes.xcdatamodeld", "--where", "rating == 5", "--count",
      output: "1\n")
    try expect(
      "fetch", "old.sqlite", "Note", status: 1,
      errors: """
        Error: old.sqlite is a store of Core Data, which does not carry its model; name it with --model, or make a \
        store of cdgen with 'cdstore convert'

        """)
    for command in [["verify", "old.sqlite"], ["migrate", "old.sqlite", "--model", "Notes.xcdatamodeld"]] {
      let result = try BuiltTool.cdstore.run(command, in: folder.url)
      #expect(result.status == 1)
      #expect(
        result.errors
          == "Error: old.sqlite is a store of Core Data; convert it with 'cdstore convert'\n")
    }
    try folder.write("{}", to: "data.json")
    try expect(
      "load", "old.sqlite", "data.json", "--model", "Notes.xcdatamodeld", status: 1,
      errors: """
        Error: old.sqlite is a store of Core Data, which is never written to; convert it with 'cdstore convert'

        """)
  }

  @Test func aLossIsAnErrorUntilItIsAccepted() throws {
    try run(["UPDATE ZNOTE SET ZRATING = 99999 WHERE Z_PK = 1"])
    let path = folder.url.appending(path: "old.sqlite").path()
    try expect(
      "convert", "old.sqlite", "new.sqlite", "--model", "Notes.xcdatamodeld", status: 1,
      errors: """
        Error: some data of the store \(path) cannot be copied:
          Note p1, rating: a number that does not fit Int16
        nothing was created; --accept-losses continues without them

        """)
    let result = try BuiltTool.cdstore.run(
      "convert", "old.sqlite", "new.sqlite", "--model", "Notes.xcdatamodeld", "--accept-losses",
      in: folder.url)
    #expect(result.status == 0)
    #expect(
      result.errors.hasPrefix(
        "warning: 1 values were not copied:\n  Note p1, rating: a number that does not fit Int16\n"))
  }

  @Test func aStoreOfNoVersionIsRefused() throws {
    try run(["ALTER TABLE ZNOTE DROP COLUMN ZRATING"])
    let path = folder.url.appending(path: "old.sqlite").path()
    try expect(
      "convert", "old.sqlite", "new.sqlite", "--model", "Notes.xcdatamodeld", status: 1,
      errors: """
        Error: the store \(path) matches no version of model 'Notes':
          version 1: ZNOTE has no column ZRATING for 'rating' of 'Note'

        """)
    let described = try BuiltTool.cdstore.run(
      "info", "old.sqlite", "--model", "Notes.xcdatamodeld", in: folder.url)
    #expect(described.status == 1)
    #expect(described.output.contains("model           Notes, but none of its versions\n"))
    #expect(described.output.hasSuffix("Folder  1\nNote    2\n"))
    #expect(described.errors.contains("ZNOTE has no column ZRATING"))
    try expect(
      "convert", "old.sqlite", "new.sqlite", status: 1,
      errors: """
        Error: old.sqlite is a store of Core Data, which does not carry its model; name it with --model, as a folder \
        NAME.cdmodel or NAME.xcdatamodeld

        """)
  }

  @Test func whatCannotBeReadIsLeftOutOfWhatIsFetched() throws {
    try run(["UPDATE ZNOTE SET ZFOLDER = 9 WHERE Z_PK = 2"])
    try expect(
      "fetch", "old.sqlite", "Note", "--model", "Notes.xcdatamodeld", "--count", output: "2\n",
      errors: """
        warning: 1 value is left out:
          Note p2, folder: its object, p9, does not exist

        """)
  }

  @Test func aSpatialIndexIsNoTableOfTheModel() throws {
    try run([
      "CREATE VIRTUAL TABLE Z_RT_Note_byPlace USING RTREE (Z_PK, minX, maxX, minY, maxY)",
      "INSERT INTO Z_RT_Note_byPlace VALUES (1, 0, 1, 0, 1)",
    ])
    let result = try BuiltTool.cdstore.run(
      "convert", "old.sqlite", "new.sqlite", "--model", "Notes.xcdatamodeld", in: folder.url)
    #expect(result.status == 0, "\(result.errors)")
  }

  @Test func aStoreOfOneConfigurationIsLookedInto() throws {
    let model = Self.model.replacing(
      "</model>",
      with: """
        <entity name="Draft" representedClassName="Draft"><attribute name="text" optional="YES" attributeType="String"/>
        </entity>
        <configuration name="Cloud"><memberEntity name="Folder"/><memberEntity name="Note"/></configuration>
        <configuration name="Local"><memberEntity name="Draft"/></configuration></model>
        """)
    try folder.write(model, to: "Notes.xcdatamodeld/Notes.xcdatamodel/contents")
    #expect(
      try BuiltTool.cdstore.run(
        "convert", "old.sqlite", "new.sqlite", "--model", "Notes.xcdatamodeld", in: folder.url
      ).status == 0)
    try expect("verify", "new.sqlite", output: "new.sqlite is whole\n")
    try expect("fetch", "new.sqlite", "Note", "--count", output: "2\n")
    try expect("fetch", "old.sqlite", "Note", "--model", "Notes.xcdatamodeld", "--count", output: "2\n")
    let info = try BuiltTool.cdstore.run("info", "new.sqlite", in: folder.url)
    #expect(info.status == 0 && info.output.hasSuffix("Folder  1\nNote    2\n"), "\(info)")
  }

  /// The commands without the option --model do not recommend it.
  @Test(arguments: ["dump", "verify"]) func aStoreIsToBeConvertedFirst(_ command: String) throws {
    try expect(
      command, "old.sqlite", status: 1,
      errors: "Error: old.sqlite is a store of Core Data; convert it with 'cdstore convert'\n")
  }

  /// With a Core Data model named, each kind of other file is told by what it is.
  @Test func whatIsNoStoreOfCoreDataIsNamed() throws {
    try folder.write(Self.model, to: "Notes.xcdatamodeld/Notes.xcdatamodel/contents")
    try folder.write("no store", to: "text")
    try Data("SQLite format 3\u{0}".utf8 + [UInt8](repeating: 7, count: 30)).write(
      to: folder.url.appending(path: "cut"))
    try folder.write("", to: "no words")
    func expectErrors(_ name: String, _ words: String, location: SourceLocation = #_sourceLocation) throws {
      for arguments in [["info", name], ["convert", name, "new.sqlite"], ["fetch", name, "Note"]] {
        let result = try BuiltTool.cdstore.run(arguments + ["--model", "Notes.xcdatamodeld"], in: folder.url)
        #expect(result.status == 1 && result.output == "", sourceLocation: location)
        #expect(result.errors.contains(words), "\(arguments)", sourceLocation: location)
      }
    }
    try expectErrors("text", "text is not a SQLite database")
    // The path is as it was given.
    try expectErrors("no words", "no words is not a SQLite database")
    try expectErrors("cut", "is damaged: it ends within its header")
    let sound = try BuiltTool.cdstore.run(
      "convert", "old.sqlite", "own.sqlite", "--model", "Notes.xcdatamodeld", in: folder.url)
    #expect(sound.status == 0)
    try expectErrors("own.sqlite", "own.sqlite is a store of cdgen's, which carries its model; --model")
    let gone = try BuiltTool.cdstore.run(
      "info", "gone", "--model", "Notes.xcdatamodeld", in: folder.url)
    #expect(gone.status == 1 && gone.errors.contains("gone cannot be read: No such file or directory"))
  }
}
