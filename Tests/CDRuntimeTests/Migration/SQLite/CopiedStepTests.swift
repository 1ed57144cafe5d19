import Foundation
import Synchronization
import Testing

@testable import CDRuntime

/// Steps that give rows other values where they are, in a copy of the file.
@Suite(.needs(.migrations))
struct CopiedStepTests {
  private static func task(_ attributes: [AttributeDescription], notes: Bool = true) -> EntityDescription {
    var result = entity(
      "Task",
      [
        attribute("title", .string),
        attribute("notes", .string, isOptional: notes, notes ? nil : .string("-")),
        attribute("priority", .int64),
      ] + attributes,
      relationships: [toOne("list", "List", inverse: nil)])
    result.indexes = [IndexDescription(elements: [SortKey("title")])]
    return result
  }

  private static let list = entity("List", [attribute("name", .string)])

  private static func version(_ number: Int, _ entities: [EntityDescription]) -> ModelVersion {
    MigrationFixture.version(number, entities + [list])
  }

  private static func rule(_ values: [String: String]) throws -> MappingRules {
    MappingRules(
      source: 1, destination: 2,
      entities: [
        EntityRule(
          destination: "Task",
          attributes: try values.sorted(by: { $0.key < $1.key }).map {
            PropertyMapping(name: $0.key, value: try ValueExpression(format: $0.value))
          })
      ])
  }

  /// Twelve tasks; every third without notes.
  private static func filled() throws -> MigrationFixture {
    let fixture = try MigrationFixture()
    try fixture.create([version(1, [task([])])]) { context in
      let list = try context.insert(entityNamed: "List")
      try list.setValue(.attribute(.string("L")), forKey: "name")
      for number in 0..<12 {
        let task = try context.insert(entityNamed: "Task")
        try task.setValue(.attribute(.string("t\(11 - number)")), forKey: "title")
        if number % 3 != 0 { try task.setValue(.attribute(.string("n\(number)")), forKey: "notes") }
        try task.setValue(.attribute(.int(Int64(number))), forKey: "priority")
        try task.setValue(.object(list), forKey: "list")
      }
    }
    return fixture
  }

  private static func statements(_ fixture: MigrationFixture, _ model: ManagedObjectModel) throws -> [String]
  {
    try MigrationRehearsal(PersistentStoreDescription(fixture.location), model: model).run()
      .steps.flatMap(\.statements).map(\.sql)
  }

  @Test func rowsGetNewValuesWhereTheyAre() throws {
    let fixture = try Self.filled()
    let model = MigrationFixture.model(
      [
        Self.version(1, [Self.task([])]),
        Self.version(2, [Self.task([attribute("rank", .int64)], notes: false)]),
      ],
      mappings: [
        try Self.rule(["rank": "priority * 2 + 1", "notes": "notes ?? 'none'", "priority": "priority + 100"])
      ])
    let statements = try Self.statements(fixture, model)
    #expect(statements.contains { $0.hasPrefix("UPDATE \"Task\" AS t0 SET ") })
    #expect(!statements.contains { $0.contains("INDEX") })
    try fixture.open(model)
    try fixture.verify(model)
    #expect(
      try fixture.rows("SELECT title, notes, priority, rank, list FROM Task ORDER BY _pk")
        == (0..<12).map {
          ["t\(11 - $0)", $0 % 3 == 0 ? "none" : "n\($0)", "\($0 + 100)", "\($0 * 2 + 1)", "1"]
        })
    // Nothing is left of what SQLite was given to add a mandatory column.
    #expect(
      try fixture.rows(
        "SELECT name, \"notnull\", dflt_value FROM pragma_table_xinfo('Task') WHERE name IN ('rank', 'notes')"
      )
        == [["notes", "1", nil], ["rank", "1", nil]])
    #expect(
      try fixture.column("SELECT sql FROM sqlite_master WHERE name = 'Task'").first??.contains("DEFAULT")
        == false)
    let titles = try fixture.using(model) { context in
      try context.fetch(
        FetchRequest<ManagedObject>(
          entityName: "Task", where: FetchPredicate(format: "title BEGINSWITH 't1'"))
      ).count
    }
    #expect(titles == 3)
  }

  @Test func aRuleThatGoesLeavesTheRowsAlone() throws {
    // The mark's rows of before have its value from the definition of the column alone.
    let marked = Self.version(2, [Self.task([attribute("mark", .string, .string("it's"))])])
    let freed = Self.version(3, [Self.task([attribute("mark", .string, isOptional: true)])])
    let fixture = try Self.filled()
    let all = [Self.version(1, [Self.task([])]), marked, freed]
    try fixture.open(MigrationFixture.model(Array(all.prefix(2))))
    let model = MigrationFixture.model(all)
    let statements = try Self.statements(fixture, model)
    #expect(!statements.contains { $0.hasPrefix("UPDATE \"Task\"") || $0.hasPrefix("INSERT INTO fresh") })
    try fixture.open(model)
    try fixture.verify(model)
    #expect(try fixture.rows("SELECT DISTINCT mark FROM Task") == [["it's"]])
    try fixture.using(model) { context in
      for task in try context.fetch(FetchRequest<ManagedObject>(entityName: "Task")) {
        try task.setValue(.attribute(.null), forKey: "mark")
      }
    }
    #expect(try fixture.rows("SELECT DISTINCT mark FROM Task") == [[nil]])
  }

  @Test func indexesOfChangedColumnsAreMadeAnew() throws {
    let fixture = try Self.filled()
    let versions = [Self.version(1, [Self.task([])]), Self.version(2, [Self.task([])])]
    let model = MigrationFixture.model(versions, mappings: [try Self.rule(["title": "'x' + title"])])
    try fixture.open(model)
    try fixture.verify(model)
    #expect(
      try fixture.column(
        "SELECT title FROM Task INDEXED BY \"Task.index.title\" WHERE title > 'xt8' ORDER BY title")
        == ["xt9"])
  }

  @Test func eachEntityOfATableHasItsOwnRules() throws {
    func animals(_ number: Int, _ attributes: [AttributeDescription]) -> ModelVersion {
      MigrationFixture.version(
        number,
        [
          entity("Animal", [attribute("name", .string), attribute("weight", .int64)] + attributes),
          entity("Dog", parent: "Animal", [attribute("tricks", .int64, isOptional: true)]),
        ])
    }
    let fixture = try MigrationFixture()
    try fixture.create([animals(1, [])]) { context in
      for number in 0..<6 {
        let isDog = number % 2 == 0
        let animal = try context.insert(entityNamed: isDog ? "Dog" : "Animal")
        try animal.setValue(.attribute(.string("a\(number)")), forKey: "name")
        try animal.setValue(.attribute(.int(Int64(number))), forKey: "weight")
        if isDog { try animal.setValue(.attribute(.int(Int64(number * 10))), forKey: "tricks") }
      }
    }
    let second = animals(2, [attribute("grams", .int64)])
    let rules = MappingRules(
      source: 1, destination: 2,
      entities: [
        EntityRule(
          destination: "Animal",
          attributes: [PropertyMapping(name: "grams", value: try ValueExpression(format: "weight * 1000"))]),
        EntityRule(
          destination: "Dog",
          attributes: [
            PropertyMapping(
              name: "grams", value: try ValueExpression(format: "weight * 1000 + (tricks ?? 0)"))
          ]),
      ])
    let model = MigrationFixture.model([animals(1, []), second], mappings: [rules])
    #expect(try Self.statements(fixture, model).contains { $0.contains("WHEN 'Dog' THEN") })
    try fixture.open(model)
    try fixture.verify(model)
    #expect(
      try fixture.column("SELECT grams FROM Animal ORDER BY _pk")
        == (0..<6).map { "\($0 * 1000 + ($0 % 2 == 0 ? $0 * 10 : 0))" })
  }

  private static func scanned(_ number: Int, _ attributes: [AttributeDescription], scan: Bool = true)
    -> ModelVersion
  {
    var scanAttribute = attribute("scan", .data, isOptional: true)
    scanAttribute.storesExternally = true
    return MigrationFixture.version(
      number, [entity("Page", [attribute("title", .string)] + (scan ? [scanAttribute] : []) + attributes)])
  }

  /// Large values stay where they are while rows change, and their files go with their column: in place and in a copy.
  @Test(arguments: [false, true]) func filesBelongToTheirColumns(isCopied: Bool) throws {
    let fixture = try MigrationFixture()
    let scan = Data(repeating: 7, count: 100_000)
    try fixture.create([Self.scanned(1, [])]) { context in
      let page = try context.insert(entityNamed: "Page")
      try page.setValue(.attribute(.string("one")), forKey: "title")
      try page.setValue(.attribute(.data(scan)), forKey: "scan")
    }
    let name = try #require(try fixture.column("SELECT scan FROM Page").first ?? nil)
    let copy = try Self.pageRule(1, ["copy": "'copy of ' + title"])
    let second = Self.scanned(2, [attribute("copy", .string)])
    let model = MigrationFixture.model([Self.scanned(1, []), second], mappings: [copy])
    try fixture.using(model) { context in
      let page = try #require(try context.fetch(FetchRequest<ManagedObject>(entityName: "Page")).first)
      #expect(try page.value(forKey: "scan").attribute == .data(scan))
      #expect(try page.value(forKey: "copy").attribute == .string("copy of one"))
    }
    #expect(try fixture.column("SELECT name FROM _cdgen_files").isEmpty)
    var drop = MappingRules(
      source: 2, destination: 3, entities: [EntityRule(destination: "Page", drops: ["scan"])])
    if isCopied {
      drop.entities[0].attributes = try Self.pageRule(2, ["title": "title + '!'"]).entities[0].attributes
    }
    let third = Self.scanned(3, [attribute("copy", .string)], scan: false)
    let last = MigrationFixture.model([Self.scanned(1, []), second, third], mappings: [copy, drop])
    try fixture.open(last)
    try fixture.verify(last)
    // Other kinds find what no row refers to when they are opened.
    if StoreKind.ofEnvironment == .sqlite {
      #expect(try fixture.column("SELECT name FROM _cdgen_files") == [name])
    }
  }

  private static func publications(_ number: Int, areOfBooks: Bool) -> ModelVersion {
    var cover = attribute("cover", .data, isOptional: true)
    cover.storesExternally = true
    let moved = [attribute("code", .string, isOptional: true), cover]
    return MigrationFixture.version(
      number,
      [
        entity("Publication", isAbstract: true, [attribute("title", .string)] + (areOfBooks ? [] : moved)),
        entity("Book", parent: "Publication", areOfBooks ? moved : []),
        entity("Magazine", parent: "Publication"),
      ])
  }

  /// The entities of a hierarchy share a table, whose columns stay for the entity that keeps its values.
  @Test func valuesThatAnEntityLosesAreNotLeftInItsRows() throws {
    let fixture = try MigrationFixture()
    let old = Self.publications(1, areOfBooks: false)
    try fixture.create([old]) { context in
      for (number, kind) in ["Book", "Magazine"].enumerated() {
        let publication = try context.insert(entityNamed: kind)
        try publication.setValue(.attribute(.string(kind)), forKey: "title")
        try publication.setValue(.attribute(.string("code of \(kind)")), forKey: "code")
        let cover = Data(repeating: UInt8(number), count: 100_000)
        try publication.setValue(.attribute(.data(cover)), forKey: "cover")
      }
    }
    let name = try #require(
      try fixture.column("SELECT cover FROM Publication WHERE _entity = 'Magazine'").first ?? nil)
    let rules = MappingRules(
      source: 1, destination: 2, entities: [EntityRule(destination: "Magazine", drops: ["code", "cover"])])
    let model = MigrationFixture.model([old, Self.publications(2, areOfBooks: true)], mappings: [rules])
    try fixture.open(model)
    try fixture.verify(model)
    let rows = try fixture.rows("SELECT title, code, cover IS NULL FROM Publication ORDER BY title")
    #expect(rows == [["Book", "code of Book", "0"], ["Magazine", nil, "1"]])
    // Other kinds find what no row refers to when they are opened.
    if StoreKind.ofEnvironment == .sqlite {
      #expect(try fixture.column("SELECT name FROM _cdgen_files") == [name])
    }
  }

  /// A rule copies a large value, so that two columns name the same file. The file stays as long as one of them does.
  @Test(.onlyOnSQLite("other kinds find the unused files in the rows"))
  func aFileStaysAsLongAsAValueIsInIt() throws {
    let fixture = try MigrationFixture()
    let scan = Data(repeating: 7, count: 100_000)
    try fixture.create([Self.scanned(1, [])]) { context in
      let page = try context.insert(entityNamed: "Page")
      try page.setValue(.attribute(.string("one")), forKey: "title")
      try page.setValue(.attribute(.data(scan)), forKey: "scan")
    }
    let name = try #require(try fixture.column("SELECT scan FROM Page").first ?? nil)
    var backup = attribute("backup", .data, isOptional: true)
    backup.storesExternally = true
    let model = MigrationFixture.model(
      [Self.scanned(1, []), Self.scanned(2, [backup])], mappings: [try Self.pageRule(1, ["backup": "scan"])])
    try fixture.open(model)
    #expect(try fixture.rows("SELECT scan, backup FROM Page") == [[name, name]])
    try fixture.using(model) { context in
      let page = try #require(try context.fetch(FetchRequest<ManagedObject>(entityName: "Page")).first)
      try page.setValue(.attribute(.null), forKey: "scan")
    }
    #expect(try fixture.column("SELECT name FROM _cdgen_files") == [name])
    try PlainSQL.run("UPDATE _cdgen_files SET time = time - 7200", at: fixture.url)
    try fixture.using(model) { context in
      let page = try #require(try context.fetch(FetchRequest<ManagedObject>(entityName: "Page")).first)
      #expect(try page.value(forKey: "backup").attribute == .data(scan))
      context.delete(page)
    }
    // The last value is gone.
    #expect(try fixture.column("SELECT name FROM _cdgen_files") == [name])
    let file = URL(filePath: fixture.url.path(percentEncoded: false) + "-external").appending(path: name)
    #expect(FileManager.default.fileExists(atPath: file.path(percentEncoded: false)))
    try PlainSQL.run("UPDATE _cdgen_files SET time = time - 7200", at: fixture.url)
    try fixture.open(model)
    #expect(!FileManager.default.fileExists(atPath: file.path(percentEncoded: false)))
  }

  private static func pageRule(_ source: Int, _ values: [String: String]) throws -> MappingRules {
    MappingRules(
      source: source, destination: source + 1,
      entities: [
        EntityRule(
          destination: "Page",
          attributes: try values.map {
            PropertyMapping(name: $0.key, value: try ValueExpression(format: $0.value))
          })
      ])
  }

  @Test func aRowWithoutAResultIsNamed() throws {
    let fixture = try Self.filled()
    let before = try fixture.rows("SELECT * FROM Task")
    let model = MigrationFixture.model(
      [Self.version(1, [Self.task([])]), Self.version(2, [Self.task([attribute("far", .int64)])])],
      mappings: [try Self.rule(["far": "priority + 9223372036854775801"])])
    #expect {
      try fixture.open(model)
    } throws: { error in
      guard let error = error as? MigrationError else { return false }
      return error.entity == "Task" && error.objectKey == 8 && "\(error)".contains("far")
    }
    #expect(try fixture.rows("SELECT * FROM Task") == before && fixture.files == ["store.cdstore"])
  }

  @Test func aFaultAnywhereLeavesTheOldStore() throws {
    struct Fault: Error {}
    let model = MigrationFixture.model(
      [
        Self.version(1, [Self.task([])]),
        Self.version(2, [Self.task([attribute("rank", .int64)], notes: false)]),
      ],
      mappings: [try Self.rule(["rank": "priority + 1", "notes": "notes ?? ''"])])
    let fixture = try Self.filled()
    let before = try fixture.rows("SELECT * FROM Task")
    var point = 0
    while true {
      let left = Mutex(point)
      do {
        let hook: @Sendable (String) throws -> Void = { _ in
          let isNow = left.withLock {
            $0 -= 1
            return $0 < 0
          }
          if isNow { throw Fault() }
        }
        try MigrationFaults.$hook.withValue(hook) { try fixture.open(model) }
        break
      } catch is Fault {
        #expect(try fixture.rows("SELECT * FROM Task") == before, "point \(point)")
        #expect(fixture.files == ["store.cdstore"], "point \(point)")
      }
      point += 1
    }
    #expect(point > 12)
    try fixture.verify(model)
  }
}
