import CSQLite
import Foundation
import Testing

@testable import CDRuntime

/// SQLite files that a stranger has made: what they name is not touched, and what they contain is not run.
@Suite(.onlyOnSQLite("its schema and its list of files"))
struct UntrustedStoreTests {
  private let folder: URL
  private let url: URL

  private static let photos = entity(
    "Photo",
    [
      attribute("title", .string), attribute("rank", .int64, .int(0)),
      AttributeDescription(name: "pixels", type: .data, isOptional: true, storesExternally: true),
    ])
  private static let model = MigrationFixture.model([MigrationFixture.version(1, [photos])])
  private static let next = MigrationFixture.model([
    MigrationFixture.version(1, [photos]),
    MigrationFixture.version(
      2, [entity("Photo", photos.attributes + [attribute("note", .string, isOptional: true)])]),
  ])

  init() throws {
    folder = FileManager.default.temporaryDirectory.appending(path: "cdgen-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    url = folder.appending(path: "photos.sqlite")
    let context = try open()
    for number in 0..<3 {
      let photo = try context.insert(entityNamed: "Photo")
      try photo.setValue("photo \(number)", forKey: "title")
      try photo.setValue(number, forKey: "rank")
    }
    try context.save()
  }

  private func done() { try? FileManager.default.removeItem(at: folder) }

  private func open(_ model: ManagedObjectModel = model, isReadOnly: Bool = false) throws
    -> ManagedObjectContext
  {
    ManagedObjectContext(
      try PersistentStoreCoordinator(
        model: model, stores: [PersistentStoreDescription(.sqlite(url), isReadOnly: isReadOnly)]))
  }

  /// A connection without any of the defences.
  private func plant(_ sql: String) throws { try RawDatabase(url).execute(sql) }

  private func count(_ table: String) throws -> String? {
    try RawDatabase(url).rows("SELECT count(*) FROM \(table)").first?[0]
  }

  // MARK: Names that lead elsewhere

  @Test(arguments: ["../victim", "../../victim", "", ".", "..", "victim"])
  func noNameInTheListOfFilesLeadsOutOfTheirFolder(_ name: String) throws {
    defer { done() }
    let victims = [folder.appending(path: "victim"), folder.appending(path: "photos.sqlite-external/victim")]
    for victim in victims {
      try FileManager.default.createDirectory(at: victim, withIntermediateDirectories: true)
      try Data("mine".utf8).write(to: victim.appending(path: "file"))
    }
    try plant("INSERT INTO _cdgen_files VALUES ('\(name)', 0), ('\(folder.path)/victim', 0)")
    do {
      let context = try open()
      #expect(try context.count(for: FetchRequest<ManagedObject>(entityName: "Photo")) == 3)
    }
    for victim in victims {
      #expect(try Data(contentsOf: victim.appending(path: "file")) == Data("mine".utf8))
    }
    try PersistentStoreCoordinator.destroyPersistentStore(at: url)
    for victim in victims {
      #expect(try Data(contentsOf: victim.appending(path: "file")) == Data("mine".utf8))
    }
  }

  /// A folder, and a link to somebody's file, that have the name of a value.
  @Test func onlyPlainFilesAreValues() throws {
    defer { done() }
    let secret = folder.appending(path: "secret")
    try Data("mine".utf8).write(to: secret)
    let files = folder.appending(path: "photos.sqlite-external")
    let (asFolder, asLink) = (UUID().uuidString, UUID().uuidString)
    try FileManager.default.createDirectory(
      at: files.appending(path: asFolder).appending(path: "more"), withIntermediateDirectories: true)
    try FileManager.default.createSymbolicLink(
      at: files.appending(path: asLink), withDestinationURL: secret)
    try plant(
      """
      UPDATE Photo SET pixels = '\(asLink)' WHERE _pk = 1;
      UPDATE Photo SET pixels = '\(asFolder)' WHERE _pk = 2;
      INSERT INTO _cdgen_files VALUES ('\(asFolder)', 0);
      """)
    let context = try open()
    let photos = try context.fetch(FetchRequest<ManagedObject>(entityName: "Photo"))
    for photo in photos {
      #expect(try photo.value(forKey: "pixels").attribute != .data(Data("mine".utf8)))
    }
    #expect(context.recentErrors.count == 2)
    #expect(
      FileManager.default.fileExists(atPath: files.appending(path: asFolder).appending(path: "more").path))
    let copy = folder.appending(path: "copy.xml")
    #expect {
      try PersistentStoreCoordinator.copyPersistentStore(at: url, to: .xml(copy))
    } throws: { if case StoreError.externalData = $0 { true } else { false } }
    #expect(!FileManager.default.fileExists(atPath: copy.path + "-external/" + asLink))
  }

  /// The folder of an XML store's large values, which is a link to another store's.
  @Test func aLinkedFolderOfAnXMLStoreIsRefused() throws {
    defer { done() }
    let xml = folder.appending(path: "photos.xml")
    try PersistentStoreCoordinator.copyPersistentStore(at: url, to: .xml(xml))
    let theirs = folder.appending(path: "theirs")
    let value = theirs.appending(path: UUID().uuidString)
    try FileManager.default.createDirectory(at: theirs, withIntermediateDirectories: true)
    try Data("mine".utf8).write(to: value)
    try FileManager.default.createSymbolicLink(
      at: folder.appending(path: "photos.xml-external"), withDestinationURL: theirs)
    #expect {
      try PersistentStoreCoordinator(model: Self.model, at: .xml(xml))
    } throws: { if case StoreError.externalData = $0 { true } else { false } }
    #expect(FileManager.default.fileExists(atPath: value.path))
    try PersistentStoreCoordinator.destroyPersistentStore(at: xml)
    #expect(FileManager.default.fileExists(atPath: value.path))
  }

  /// The folder of the large values, which is a link to a folder of somebody else's.
  @Test func aLinkedFolderIsRefused() throws {
    defer { done() }
    let theirs = folder.appending(path: "theirs")
    let name = UUID().uuidString
    try FileManager.default.createDirectory(at: theirs, withIntermediateDirectories: true)
    try Data("mine".utf8).write(to: theirs.appending(path: name))
    let files = folder.appending(path: "photos.sqlite-external")
    try FileManager.default.createSymbolicLink(at: files, withDestinationURL: theirs)
    try plant("INSERT INTO _cdgen_files VALUES ('\(name)', 0); UPDATE Photo SET pixels = '\(name)'")
    let isRefused: @Sendable (any Error) -> Bool = { error in
      if case StoreError.externalData = error { true } else { false }
    }
    #expect { try open() } throws: { isRefused($0) }
    #expect { try open(isReadOnly: true) } throws: { isRefused($0) }
    #expect {
      try PersistentStoreCoordinator.copyPersistentStore(
        at: url, to: .xml(folder.appending(path: "copy.xml")))
    } throws: { isRefused($0) }
    try PersistentStoreCoordinator.destroyPersistentStore(at: url)
    #expect(try FileManager.default.contentsOfDirectory(atPath: theirs.path) == [name])
  }

  /// A journal may name a further file, which SQLite removes when it rolls the journal back.
  @Test func aJournalThatNamesAFileIsRefused() throws {
    defer { done() }
    let victim = folder.appending(path: "victim")
    try Data("mine".utf8).write(to: victim)
    try plant("PRAGMA journal_mode = DELETE")
    let bytes = try Data(contentsOf: url)
    func big(_ values: Int...) -> Data {
      Data(values.flatMap { value in (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * $0)) } })
    }
    let signature = Data([0xD9, 0xD5, 0x05, 0xF9, 0x20, 0xA1, 0x63, 0xD7])
    var head = signature + big(0, 0, bytes.count / 4096, 512, 4096)
    head += Data(count: 512 - head.count)
    let name = Data(victim.path.utf8)
    let sum = name.reduce(0) { $0 + Int($1) }
    let tail = big(0x4000_0000 / 4096 + 1) + name + big(name.count, sum) + signature
    let journal = URL(filePath: url.path + "-journal")
    try (head + tail).write(to: journal)
    let error = StoreError.foreignJournal(url)
    #expect(throws: error) { try open() }
    #expect(throws: error) { try open(Self.next) }
    #expect(throws: error) { try open(isReadOnly: true) }
    #expect(throws: error) { try PersistentStoreCoordinator.metadata(forStoreAt: url) }
    #expect(throws: error) { try StoreLocation(recognizing: url) }
    #expect(throws: error) { try PersistentStoreCoordinator.destroyPersistentStore(at: url) }
    #expect(throws: error) {
      try PersistentStoreCoordinator.copyPersistentStore(
        at: url, to: .xml(folder.appending(path: "copy.xml")))
    }
    #expect(throws: error) {
      try MigrationRehearsal(PersistentStoreDescription(.sqlite(url)), model: Self.next).run()
    }
    #expect(try Data(contentsOf: victim) == Data("mine".utf8))
    #expect(try Data(contentsOf: url) == bytes)
  }

  // MARK: Schemas that do something

  static let planted = [
    "CREATE TRIGGER t AFTER INSERT ON Photo BEGIN DELETE FROM Photo WHERE _pk < new._pk; END",
    "CREATE TRIGGER t AFTER UPDATE ON _cdgen_metadata BEGIN DELETE FROM Photo; END",
    "CREATE TRIGGER t AFTER INSERT ON _cdgen_history BEGIN DELETE FROM Photo; END",
    "CREATE VIEW v AS WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT n FROM r",
    """
    ALTER TABLE Photo RENAME TO Former;
    CREATE VIEW Photo AS WITH RECURSIVE r(_pk, _version, title, rank, pixels) AS
      (SELECT 1, 1, 'a', 1, NULL UNION ALL SELECT _pk + 1, 1, 'a', 1, NULL FROM r) SELECT * FROM r
    """,
    "CREATE VIRTUAL TABLE v USING fts5(text)",
    """
    ALTER TABLE Photo RENAME TO Former;
    CREATE TABLE Photo (_pk INTEGER PRIMARY KEY, _version INTEGER, title TEXT, rank INTEGER,
      pixels GENERATED ALWAYS AS (hex(title)));
    INSERT INTO Photo SELECT _pk, _version, title, rank FROM Former
    """,
    """
    ALTER TABLE Photo RENAME TO Former;
    CREATE TABLE Photo (_pk INTEGER PRIMARY KEY, _version INTEGER NOT NULL, title TEXT NOT NULL,
      rank INTEGER NOT NULL CHECK (length(hex(zeroblob(100000000))) > 0), pixels ANY) STRICT;
    """,
    """
    ALTER TABLE _cdgen_files RENAME TO theirs;
    CREATE TABLE _cdgen_files (name TEXT, time REAL);
    """,
    """
    ALTER TABLE _cdgen_metadata RENAME TO theirs;
    CREATE VIEW _cdgen_metadata AS SELECT * FROM theirs;
    """,
  ]

  @Test(arguments: planted.indices) func aSchemaThatIsNotOursIsRefused(_ index: Int) throws {
    defer { done() }
    try plant(Self.planted[index])
    let before = try Data(contentsOf: url)
    for model in [Self.model, Self.next] {
      #expect {
        try open(model)
      } throws: { error in
        if case StoreError.foreignSchema(url, _) = error { return true }
        if case MigrationError.Reason.store(.foreignSchema)? = (error as? MigrationError)?.reason {
          return true
        }
        return false
      }
    }
    #expect {
      try open(isReadOnly: true)
    } throws: { if case StoreError.foreignSchema(url, _) = $0 { true } else { false } }
    #expect {
      try PersistentStoreCoordinator.copyPersistentStore(at: url, to: .xml(folder.appending(path: "copy")))
    } throws: { if case StoreError.foreignSchema(url, _) = $0 { true } else { false } }
    #expect {
      try MigrationRehearsal(PersistentStoreDescription(.sqlite(url)), model: Self.next).run()
    } throws: { error in
      if case StoreError.foreignSchema = error { true } else { false }
    }
    #expect(try Data(contentsOf: url) == before)
  }

  /// SQLite takes the table for that of the entity.
  @Test func aTableWhoseNameDiffersInCapitalsIsRefused() throws {
    defer { done() }
    try plant(
      """
      ALTER TABLE Photo RENAME TO Former;
      CREATE TABLE photo (_pk INTEGER PRIMARY KEY, _version INTEGER, title TEXT, rank INTEGER, pixels);
      INSERT INTO photo SELECT _pk, _version, title, rank, pixels FROM Former;
      DROP TABLE Former;
      """)
    let error = StoreError.foreignSchema(url, objects: ["the table 'photo'"])
    #expect(throws: error) { try open() }
    #expect(throws: error) { try open(isReadOnly: true) }
    #expect(throws: error) {
      try PersistentStoreCoordinator.copyPersistentStore(at: url, to: .xml(folder.appending(path: "copy")))
    }
    #expect(throws: (any Error).self) { try open(Self.next) }
    #expect(try count("photo") == "3")
  }

  /// SQLite would order and compare the texts by other units.
  @Test func aFileInUTF16IsRefusedAndCanBeCopied() throws {
    defer { done() }
    let other = folder.appending(path: "utf16.sqlite")
    do {
      let source = try RawDatabase(url)
      let target = try RawDatabase(other)
      try target.execute("PRAGMA encoding = 'UTF-16le'; CREATE TABLE t (x); DROP TABLE t")
      let coordinator = { [other] in
        try PersistentStoreCoordinator(model: Self.model, at: .sqlite(other))
      }
      // There is a header, but no table.
      #expect { try coordinator() } throws: { if case StoreError.foreignSchema = $0 { true } else { false } }
      let tables = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT GLOB 'sqlite_*'"
      for row in try source.rows(tables) {
        try target.execute(try #require(row[0]))
      }
      for table in ["_cdgen_metadata", "Photo"] {
        for row in try source.rows("SELECT * FROM \(table)") {
          let values = row.map { text in text.map(SQLText.literal) ?? "NULL" }
          try target.execute("INSERT INTO \(table) VALUES (\(values.joined(separator: ", ")))")
        }
      }
      #expect { try coordinator() } throws: { if case StoreError.foreignSchema = $0 { true } else { false } }
    }
    let copy = folder.appending(path: "copy.sqlite")
    try PersistentStoreCoordinator.copyPersistentStore(at: other, to: .sqlite(copy))
    let context = ManagedObjectContext(
      try PersistentStoreCoordinator(model: Self.model, at: .sqlite(copy)))
    #expect(try context.count(for: FetchRequest<ManagedObject>(entityName: "Photo")) == 3)
  }

  /// Triggers that somebody adds while the store is open are not run either.
  @Test func aTriggerThatComesLaterIsNotRun() throws {
    defer { done() }
    let context = try open()
    try plant("CREATE TRIGGER t AFTER INSERT ON Photo BEGIN DELETE FROM Photo WHERE _pk < new._pk; END")
    let photo = try context.insert(entityNamed: "Photo")
    try photo.setValue("new", forKey: "title")
    try context.save()
    #expect(try count("Photo") == "4")
  }

  @Test func othersTablesAndPlainIndexesAreNamedByVerify() throws {
    defer { done() }
    try plant("CREATE TABLE theirs (x); CREATE INDEX theirs_too ON Photo (rank)")
    let context = try open()
    #expect(
      Set(try context.persistentStoreCoordinator.verify()) == [
        .foreignObject("the table 'theirs'"), .foreignObject("the index 'theirs_too' on 'Photo'"),
      ])
  }

  #if os(Linux)
    /// A file that the kernel makes up: to read it is to wait.
    @Test func aLinkToAFileOfTheKernelIsRefused() throws {
      defer { done() }
      let link = folder.appending(path: "link")
      try FileManager.default.createSymbolicLink(at: link, withDestinationURL: URL(filePath: "/proc/version"))
      #expect {
        try PersistentStoreCoordinator(model: Self.model, at: .sqlite(link))
      } throws: { if case StoreError.cannotCreate = $0 { true } else { false } }
    }
  #endif

  @Test func entriesOfNoEntityAreNamedByVerify() throws {
    defer { done() }
    try plant(
      "INSERT INTO _cdgen_keys VALUES ('Nobody', 4), ('', 5); INSERT INTO _cdgen_files VALUES ('x', 0)")
    let context = try open(isReadOnly: true)
    #expect(
      Set(try context.persistentStoreCoordinator.verify()) == [
        .foreignObject("a list with 1 names of files in _cdgen_files"),
        .foreignObject("a list with 2 counters of unknown entities in _cdgen_keys"),
      ])
  }

  /// An index that refuses rows, or calculates, goes when the store is opened to be written.
  @Test(arguments: [
    "CREATE UNIQUE INDEX i ON Photo (title)", "CREATE INDEX i ON Photo (length(hex(title)))",
    "CREATE INDEX i ON Photo (title) WHERE rank > 1",
  ]) func indexesThatChangeResultsAreDropped(_ sql: String) throws {
    defer { done() }
    try plant(sql)
    _ = try open()
    #expect(try RawDatabase(url).rows("SELECT name FROM sqlite_master WHERE name = 'i'").isEmpty)
  }

  /// An index without entries, which SQLite takes for one of all rows.
  private func empty(_ index: String) throws {
    let database = try RawDatabase(url)
    let sql = try #require(
      try database.rows("SELECT sql FROM sqlite_master WHERE name = '\(index)'").first?[0])
    try database.execute("DROP INDEX \"\(index)\"")
    try database.execute(String(sql.prefix { $0 != ")" }) + ") WHERE 0")
    try database.execute("PRAGMA writable_schema = ON")
    let text = sql.replacingOccurrences(of: "'", with: "''")
    try database.execute("UPDATE sqlite_master SET sql = '\(text)' WHERE name = '\(index)'")
  }

  /// In the new version the sub-entity has a table of its own, or the attribute another name.
  @Test(arguments: ["Item._entity", "Item.box", "Item.index.rank", "Special.index.more"], [false, true])
  func noRowIsLostToAnIndexThatLacksIt(_ index: String, isInPlace: Bool) throws {
    defer { done() }
    func item(_ rank: AttributeDescription) -> EntityDescription {
      var item = entity("Item", [rank], relationships: [toOne("box", "Box", inverse: nil)])
      item.indexes = [IndexDescription(elements: [SortKey(rank.name)])]
      return item
    }
    let rank = attribute("rank", .int64, .int(0))
    let box = entity("Box")
    let more = attribute("more", .string, isOptional: true)
    var special = entity("Special", parent: "Item", [more])
    special.indexes = [IndexDescription(elements: [SortKey("more")])]
    let first = MigrationFixture.version(1, [item(rank), special, box])
    let second = MigrationFixture.version(
      2,
      isInPlace
        ? [
          item(attribute("level", .int64, .int(0), renamedFrom: "rank")), special, box,
        ]
        : [
          item(rank), entity("Special", [rank, more], relationships: [toOne("box", "Box", inverse: nil)]),
          box,
        ])
    try PersistentStoreCoordinator.destroyPersistentStore(at: url)
    do {
      let context = try open(MigrationFixture.model([first]))
      let box = try context.insert(entityNamed: "Box")
      for name in ["Item", "Item", "Special", "Special"] {
        let item = try context.insert(entityNamed: name)
        try item.setValue(7, forKey: "rank")
        try item.setValue(box, forKey: "box")
      }
      try context.save()
    }
    try empty(index)
    let context = try open(MigrationFixture.model([first, second]))
    let key = isInPlace ? "level" : "rank"
    for condition in ["\(key) == 7", "box != NULL"] {
      let count = try (isInPlace ? ["Item"] : ["Item", "Special"]).map { name in
        try context.fetch(
          FetchRequest<ManagedObject>(entityName: name, where: FetchPredicate(format: condition))
        ).count
      }
      #expect(count.reduce(0, +) == 4)
    }
    #expect(try context.persistentStoreCoordinator.verify().isEmpty)
  }

  // MARK: Pages

  /// A table of some kilobytes with more rows than anybody can read: each page of its tree has the same page as all
  /// its children.
  private func plantEndlessTable() throws {
    let pageSize = 4096
    let root: Int = try {
      try plant("PRAGMA journal_mode = DELETE")
      let number = try RawDatabase(url).rows("SELECT rootpage FROM sqlite_master WHERE name = 'Photo'")[0][0]
      return try #require(number.flatMap { Int($0) })
    }()
    var bytes = [UInt8](try Data(contentsOf: url))
    func big(_ value: Int, _ count: Int) -> [UInt8] {
      (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * (count - 1 - $0))) }
    }
    func page(children child: Int) -> [UInt8] {
      var page = [UInt8](repeating: 0, count: pageSize)
      let count = 120
      page.replaceSubrange(
        0..<12, with: [5, 0, 0] + big(count, 2) + big(pageSize - 5 * count, 2) + [0] + big(child, 4))
      for cell in 0..<count {
        let start = pageSize - 5 * (cell + 1)
        page.replaceSubrange(12 + 2 * cell..<14 + 2 * cell, with: big(start, 2))
        page.replaceSubrange(start..<start + 5, with: big(child, 4) + [UInt8(cell + 1)])
      }
      return page
    }
    let leaf = Array(bytes[(root - 1) * pageSize..<root * pageSize])
    let first = bytes.count / pageSize + 1
    let levels = 8
    for level in 0..<levels - 1 { bytes += page(children: first + level + 1) }
    bytes += leaf
    bytes.replaceSubrange((root - 1) * pageSize..<root * pageSize, with: page(children: first))
    bytes.replaceSubrange(28..<32, with: big(bytes.count / pageSize, 4))
    try Data(bytes).write(to: url)
  }

  @Test(.timeLimit(.minutes(10))) func anEndlessTableIsDamage() throws {
    defer { done() }
    try plantEndlessTable()
    let isDamaged: @Sendable (any Error) -> Bool = { error in
      if case StoreError.damaged = error { return true }
      if case MigrationError.Reason.store(.damaged)? = (error as? MigrationError)?.reason { return true }
      return false
    }
    try {
      let context = try open()
      let request = FetchRequest<ManagedObject>(
        entityName: "Photo", where: try FetchPredicate(format: "rank == 77"))
      #expect { try context.count(for: request) } throws: { isDamaged($0) }
      #expect {
        try context.count(for: FetchRequest<ManagedObject>(entityName: "Photo"))
      } throws: { isDamaged($0) }
      #expect { try context.fetch(request) } throws: { isDamaged($0) }
    }()
    let rules = MappingRules(
      source: 1, destination: 2,
      entities: [
        EntityRule(
          destination: "Photo",
          attributes: [PropertyMapping(name: "rank", value: try ValueExpression(format: "rank + 1"))])
      ])
    let model = MigrationFixture.model(Self.next.versions, mappings: [rules])
    #expect { try open(model) } throws: { isDamaged($0) }
  }

  // MARK: Counters

  @Test(arguments: [
    "UPDATE _cdgen_keys SET next = 9223372036854775807", "UPDATE _cdgen_keys SET next = -5",
    "UPDATE _cdgen_keys SET next = 0", "UPDATE _cdgen_keys SET next = 2", "DELETE FROM _cdgen_keys",
    "INSERT INTO Photo (_pk, _version, title, rank) VALUES (9223372036854775807, 1, 'x', 9)",
  ]) func damagedCountersAreNamed(_ sql: String) throws {
    defer { done() }
    try plant(sql)
    let context = try open()
    let error = StoreError.damagedKeys(url, entity: "Photo")
    #expect(try context.persistentStoreCoordinator.verify().contains(.keyTaken(entity: "Photo")))
    #expect(throws: error) { try context.insert(entityNamed: "Photo") }
    #expect(throws: error) {
      try context.execute(
        BatchInsertRequest(entityName: "Photo", rows: [["title": "b", "rank": 1]]))
    }
    #expect(try context.count(for: FetchRequest<ManagedObject>(entityName: "Photo")) >= 3)
  }
}

/// A database as any program opens it, without the runtime's defences.
private final class RawDatabase {
  private struct Failure: Error { let text: String }
  private var handle: OpaquePointer?

  init(_ url: URL) throws {
    if sqlite3_open(url.path, &handle) != SQLITE_OK { throw Failure(text: "cannot open \(url.path)") }
  }

  deinit { sqlite3_close_v2(handle) }

  func execute(_ sql: String) throws {
    if sqlite3_exec(handle, sql, nil, nil, nil) != SQLITE_OK {
      throw Failure(text: String(cString: sqlite3_errmsg(handle)))
    }
  }

  func rows(_ sql: String) throws -> [[String?]] {
    var statement: OpaquePointer?
    guard sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK else {
      throw Failure(text: String(cString: sqlite3_errmsg(handle)))
    }
    defer { sqlite3_finalize(statement) }
    var rows: [[String?]] = []
    while sqlite3_step(statement) == SQLITE_ROW {
      rows.append(
        (0..<sqlite3_column_count(statement)).map { column in
          sqlite3_column_text(statement, column).map { String(cString: $0) }
        })
    }
    return rows
  }
}
