import Foundation
import Testing

@testable import CDRuntime

/// Each kind of change, with an empty store and a small one, value by value.
@Suite(.needs(.migrations)) struct MigrationMatrixTests {
  private static let names = ["", "a", "b ' \" quoted", "ü", "e"]

  private static func people(_ attributes: [AttributeDescription]) -> EntityDescription {
    entity("Person", [attribute("name", .string), attribute("age", .int32, isOptional: true)] + attributes)
  }

  /// Fills `Person` and whatever else a body sets.
  private static func fill(
    _ context: ManagedObjectContext, _ body: (ManagedObject, Int) throws -> Void = { _, _ in }
  ) throws {
    for (number, name) in names.enumerated() {
      let person = try context.insert(entityNamed: "Person")
      try person.setValue(.attribute(.string(name)), forKey: "name")
      if number != 2 { try person.setValue(.attribute(.int(Int64(number * 10))), forKey: "age") }
      try body(person, number)
    }
  }

  /// Migrates an empty store and a filled one.
  private func migrate(
    _ old: ModelVersion, _ new: ModelVersion, _ rules: MappingRules? = nil, inPlace: Bool,
    fill: (ManagedObjectContext) throws -> Void, check: (MigrationFixture) throws -> Void
  ) throws {
    for isEmpty in [true, false] {
      let fixture = try MigrationFixture()
      try fixture.create([old]) { if !isEmpty { try fill($0) } }
      let before = FileIdentity(fixture.url.path(percentEncoded: false))
      let store = try fixture.column("SELECT value FROM _cdgen_metadata WHERE key = 'storeUUID'")
      let history = try fixture.rows("SELECT * FROM _cdgen_history")
      let model = MigrationFixture.model([old, new], mappings: rules.map { [$0] } ?? [])
      try fixture.open(model)
      // A store that is read whole is a new file in any case.
      let isInPlace = inPlace && StoreKind.ofEnvironment == .sqlite
      if StoreKind.ofEnvironment.hasFiles {
        #expect((FileIdentity(fixture.url.path(percentEncoded: false)) == before) == isInPlace)
      }
      #expect(try fixture.column("SELECT value FROM _cdgen_metadata WHERE key = 'storeUUID'") == store)
      #expect(try fixture.rows("SELECT * FROM _cdgen_history") == history)
      try fixture.verify(model)
      if !isEmpty { try check(fixture) }
      // It can be written to as if it had always been so.
      try fixture.open(model)
      #expect(fixture.files == ["store.cdstore"])
    }
  }

  private static let first = MigrationFixture.version(1, [people([])])
  private static let ages: [String?] = ["0", "10", nil, "30", "40"]

  @Test func attributesAreAdded() throws {
    let new = MigrationFixture.version(
      2,
      [
        Self.people([
          attribute("note", .string, isOptional: true), attribute("mark", .string, .string("it's \"so\"")),
          attribute("count", .int64, .int(7)), attribute("price", .decimal, .decimal(Decimal(1.5))),
          attribute("on", .bool, .bool(true)), attribute("ratio", .double, .double(0.1)),
        ])
      ])
    try migrate(
      Self.first, new, inPlace: true, fill: { try Self.fill($0) },
      check: { fixture throws in
        #expect(try fixture.column("SELECT name FROM Person ORDER BY _pk") == Self.names)
        #expect(try fixture.column("SELECT age FROM Person ORDER BY _pk") == Self.ages)
        #expect(
          try fixture.rows(
            "SELECT DISTINCT note, mark, count, substr(price, instr(price, ' ') + 1), \"on\", ratio = 0.1 FROM Person"
          ) == [
            [nil, "it's \"so\"", "7", "1.5", "1", "1"]
          ])
      })
  }

  /// A text may have any character, also where a statement would end at it.
  @Test func aDefaultMayHaveAnyCharacter() throws {
    let new = MigrationFixture.version(2, [Self.people([attribute("mark", .string, .string("a\0b"))])])
    if StoreKind.ofEnvironment == .postgresql {
      // A server has no such text. Nothing of the store is changed, and the error says why.
      let fixture = try MigrationFixture()
      try fixture.create([Self.first]) { try Self.fill($0) }
      let before = try fixture.bytes()
      let error = try #require(throws: MigrationError.self) {
        try fixture.open(MigrationFixture.model([Self.first, new]))
      }
      guard case .invalidValue(property: "mark", _) = error.reason else { throw error }
      #expect(error.entity == "Person" && error.objectKey != nil)
      #expect(try fixture.bytes() == before && fixture.files == ["store.cdstore"])
      return
    }
    try migrate(
      Self.first, new, inPlace: false, fill: { try Self.fill($0) },
      check: { fixture throws in
        #expect(try fixture.column("SELECT DISTINCT hex(mark) FROM Person") == ["610062"])
      })
  }

  @Test func anAttributeIsRemovedWhereThatIsMeant() throws {
    let new = MigrationFixture.version(2, [entity("Person", [attribute("name", .string)])])
    let rules = MappingRules(
      source: 1, destination: 2, entities: [EntityRule(destination: "Person", drops: ["age"])])
    try migrate(
      Self.first, new, rules, inPlace: true, fill: { try Self.fill($0) },
      check: { fixture throws in
        #expect(try fixture.column("SELECT name FROM Person ORDER BY _pk") == Self.names)
        #expect(
          try fixture.column("SELECT name FROM pragma_table_info('Person')") == ["_pk", "_version", "name"])
      })
  }

  @Test func attributesAreRenamedInACircle() throws {
    let old = MigrationFixture.version(
      1,
      [entity("Person", [attribute("name", .string), attribute("age", .string), attribute("Town", .string)])])
    let new = MigrationFixture.version(
      2,
      [
        entity(
          "Person",
          [
            attribute("age", .string, renamedFrom: "name"), attribute("name", .string, renamedFrom: "age"),
            attribute("town", .string, renamedFrom: "Town"),
          ])
      ])
    try migrate(
      old, new, inPlace: true,
      fill: { context in
        let person = try context.insert(entityNamed: "Person")
        for key in ["name", "age", "Town"] {
          try person.setValue(.attribute(.string("was \(key)")), forKey: key)
        }
      },
      check: { fixture throws in
        #expect(
          try fixture.rows("SELECT age, name, town FROM Person") == [["was name", "was age", "was Town"]])
      })
  }

  @Test func typesAreWidened() throws {
    let new = MigrationFixture.version(
      2, [entity("Person", [attribute("name", .string), attribute("age", .double, isOptional: true)])])
    try migrate(
      Self.first, new, inPlace: false, fill: { try Self.fill($0) },
      check: { fixture throws in
        #expect(
          try fixture.column("SELECT age FROM Person ORDER BY _pk") == ["0.0", "10.0", nil, "30.0", "40.0"])
      })
  }

  @Test func numbersBecomeText() throws {
    let new = MigrationFixture.version(
      2, [entity("Person", [attribute("name", .string), attribute("age", .string, isOptional: true)])])
    try migrate(
      Self.first, new, inPlace: false, fill: { try Self.fill($0) },
      check: { fixture throws in
        #expect(try fixture.column("SELECT age FROM Person ORDER BY _pk") == Self.ages)
      })
  }

  @Test func decimalsAreConvertedByTheEvaluator() throws {
    let new = MigrationFixture.version(
      2, [entity("Person", [attribute("name", .string), attribute("age", .decimal, isOptional: true)])])
    try migrate(
      Self.first, new, inPlace: false, fill: { try Self.fill($0) },
      check: { fixture throws in
        #expect(
          try fixture.column("SELECT substr(age, instr(age, ' ') + 1) FROM Person ORDER BY _pk") == Self.ages)
      })
  }

  @Test func anOptionalAttributeBecomesMandatoryWithItsDefault() throws {
    let new = MigrationFixture.version(
      2, [entity("Person", [attribute("name", .string), attribute("age", .int32, .int(-1))])])
    try migrate(
      Self.first, new, inPlace: false, fill: { try Self.fill($0) },
      check: { fixture throws in
        #expect(try fixture.column("SELECT age FROM Person ORDER BY _pk") == ["0", "10", "-1", "30", "40"])
      })
  }

  @Test func entitiesAreAddedAndRenamed() throws {
    let new = MigrationFixture.version(
      2,
      [
        entity(
          "person", renamedFrom: "Person",
          [attribute("name", .string), attribute("age", .int32, isOptional: true)]),
        entity("Log", [attribute("text", .string)]),
      ])
    try migrate(
      Self.first, new, inPlace: true, fill: { try Self.fill($0) },
      check: { fixture throws in
        #expect(try fixture.column("SELECT name FROM person ORDER BY _pk") == Self.names)
        #expect(
          try fixture.column("SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'person'")
            == [
              "person"
            ])
        #expect(try fixture.column("SELECT entity FROM _cdgen_keys WHERE entity LIKE 'person'") == ["person"])
      })
  }

  @Test func anEntityIsRemovedWhereThatIsMeant() throws {
    let old = MigrationFixture.version(1, [Self.people([]), entity("Log", [attribute("text", .string)])])
    let new = MigrationFixture.version(2, [Self.people([])])
    let rules = MappingRules(source: 1, destination: 2, drops: ["Log"])
    try migrate(
      old, new, rules, inPlace: true,
      fill: { context in
        try Self.fill(context)
        try context.insert(entityNamed: "Log").setValue(.attribute(.string("x")), forKey: "text")
      },
      check: { fixture throws in
        #expect(try fixture.column("SELECT name FROM Person ORDER BY _pk") == Self.names)
      })
  }

  @Test func casesAreAdded() throws {
    func version(_ number: Int, _ cases: [(String, Int64)]) -> ModelVersion {
      MigrationFixture.version(
        number, [Self.people([attribute("rank", .enumeration("Rank"), .int(0))])],
        enums: [
          EnumDescription(
            name: "Rank", rawType: .int16, cases: cases.map { .init(name: $0.0, rawValue: .int($0.1)) })
        ])
    }
    try migrate(
      version(1, [("low", 0)]), version(2, [("low", 0), ("high", 1)]), inPlace: true,
      fill: { try Self.fill($0) },
      check: { fixture throws in
        #expect(try fixture.column("SELECT rank FROM Person") == ["0", "0", "0", "0", "0"])
      })
  }

  @Test func aUniqueConstraintIsAdded() throws {
    let new = MigrationFixture.version(
      2,
      [
        entity(
          "Person", [attribute("name", .string), attribute("age", .int32, isOptional: true)],
          unique: [["name"]])
      ])
    let rules = MappingRules(
      source: 1, destination: 2,
      duplicates: [DuplicateRule(entity: "Person", properties: ["name"], survivor: .keepLast)])
    try migrate(
      Self.first, new, rules, inPlace: false,
      fill: { context in
        try Self.fill(context)
        try Self.fill(context)
      },
      check: { fixture throws in
        #expect(try fixture.column("SELECT name FROM Person ORDER BY _pk") == Self.names)
        #expect(try fixture.column("SELECT _pk FROM Person ORDER BY _pk") == ["6", "7", "8", "9", "10"])
      })
  }

  @Test func valuesFollowRules() throws {
    let new = MigrationFixture.version(
      2, [entity("Person", [attribute("label", .string), attribute("born", .int64)])])
    let rules = MappingRules(
      source: 1, destination: 2,
      entities: [
        EntityRule(
          destination: "Person", filter: try FetchPredicate(format: "age != 10"),
          attributes: [
            PropertyMapping(name: "label", value: try ValueExpression(format: "name + '!'")),
            PropertyMapping(name: "born", value: try ValueExpression(format: "2020 - (age ?? 0)")),
          ])
      ])
    try migrate(
      Self.first, new, rules, inPlace: false, fill: { try Self.fill($0) },
      check: { fixture throws in
        #expect(
          try fixture.rows("SELECT _pk, label, born FROM Person ORDER BY _pk") == [
            ["1", "!", "2020"], ["3", "b ' \" quoted!", "2020"], ["4", "ü!", "1990"], ["5", "e!", "1980"],
          ])
      })
  }
}
