import Foundation
import Testing

@testable import CDRuntime

/// Other programs have changed the file. A step that keeps the tables meets their rows, indexes and tables.
@Suite(.onceForAllKinds) struct InPlaceStepTests {
  private static let dog = [
    toOne("owner", "Person", inverse: "dogs"), toMany("tags", "Tag", inverse: "dogs"),
  ]

  private static func version(
    _ number: Int, _ name: AttributeDescription, derived: [AttributeDescription] = []
  ) -> ModelVersion {
    MigrationFixture.version(
      number,
      [
        entity("Dog", [name] + derived, relationships: dog),
        entity(
          "Person", [attribute("name", .string)], relationships: [toMany("dogs", "Dog", inverse: "owner")]),
        entity("Tag", [attribute("name", .string)], relationships: [toMany("dogs", "Dog", inverse: "tags")]),
      ])
  }

  private static let first = version(1, attribute("name", .string))
  /// The name of dogs has another name.
  private static let renamed = version(2, attribute("title", .string, renamedFrom: "name"))

  /// Two dogs with a person each.
  private func filled(_ version: ModelVersion = Self.first) throws -> MigrationFixture {
    let fixture = try MigrationFixture()
    try fixture.create([version]) { context in
      for number in 1...2 {
        let person = try context.insert(entityNamed: "Person")
        try person.setValue(.attribute(.string("P\(number)")), forKey: "name")
        let dog = try context.insert(entityNamed: "Dog")
        try dog.setValue(.attribute(.string("D\(number)")), forKey: "name")
        try dog.setValue(.object(person), forKey: "owner")
      }
    }
    return fixture
  }

  /// The step in the file itself, and the step in a copy, which computes the names.
  @Test(arguments: [false, true]) func optionalReferencesToMissingRowsBecomeNil(isComputed: Bool) throws {
    let fixture = try filled()
    try PlainSQL.run(
      "PRAGMA foreign_keys = OFF; DELETE FROM Person WHERE name = 'P1'; "
        + "INSERT INTO \"Dog.tags\" (_source, _target) SELECT _pk, 99 FROM Dog", at: fixture.url)
    let before = FileIdentity(fixture.url.path(percentEncoded: false))
    let rules = MappingRules(
      source: 1, destination: 2,
      entities: [
        EntityRule(
          destination: "Dog",
          attributes: [PropertyMapping(name: "name", value: try ValueExpression(format: "name + '!'"))])
      ])
    let model =
      isComputed
      ? MigrationFixture.model(
        [Self.first, Self.version(2, attribute("name", .string))], mappings: [rules])
      : MigrationFixture.model([Self.first, Self.renamed])
    try fixture.open(model)
    #expect((FileIdentity(fixture.url.path(percentEncoded: false)) == before) == !isComputed)
    try fixture.verify(model)
    let column = isComputed ? "name" : "title"
    let owners = try fixture.rows(
      "SELECT d.\(column), p.name FROM Dog d LEFT JOIN Person p ON p._pk = d.owner ORDER BY d.\(column)")
    #expect(owners == (isComputed ? [["D1!", nil], ["D2!", "P2"]] : [["D1", nil], ["D2", "P2"]]))
    #expect(try fixture.rows("SELECT * FROM \"Dog.tags\"").isEmpty)
  }

  /// Without a broken reference, the step is made in the file itself.
  @Test(arguments: [false, true]) func valuesDerivedFromMissingRowsAreComputed(isBroken: Bool) throws {
    var ownerName = attribute("ownerName", .string, isOptional: true)
    ownerName.derivation = try ValueExpression(format: "owner.name")
    var tagCount = attribute("tagCount", .int64, isOptional: true)
    tagCount.derivation = try ValueExpression(format: "tags.@count")
    let first = Self.version(1, attribute("name", .string), derived: [ownerName, tagCount])
    let renamed = Self.version(
      2, attribute("title", .string, renamedFrom: "name"), derived: [ownerName, tagCount])
    let fixture = try filled(first)
    if isBroken {
      try PlainSQL.run(
        "PRAGMA foreign_keys = OFF; DELETE FROM Person WHERE name = 'P1'; "
          + "INSERT INTO \"Dog.tags\" (_source, _target) SELECT _pk, 99 FROM Dog WHERE name = 'D1'; "
          + "UPDATE Dog SET tagCount = 1 WHERE name = 'D1'", at: fixture.url)
    }
    let model = MigrationFixture.model([first, renamed])
    let report = try MigrationRehearsal(PersistentStoreDescription(fixture.location), model: model).run()
    #expect(report.succeeds)
    #expect(report.isInPlace == !isBroken)
    do {
      let coordinator = try PersistentStoreCoordinator(
        model: model, stores: [PersistentStoreDescription(fixture.location)])
      #expect(coordinator.migrations.map(\.isInPlace) == [!isBroken])
    }
    try fixture.verify(model)
    let dogs = try fixture.rows("SELECT title, ownerName, tagCount FROM Dog ORDER BY title")
    #expect(dogs == [["D1", isBroken ? nil : "P1", "0"], ["D2", "P2", "0"]])
  }

  /// One of the new versions renames a property, which is a step. The other one only adds an index, which is none.
  @Test(arguments: [false, true]) func indexesOfForeignTablesStay(isOnlyIndex: Bool) throws {
    let fixture = try filled()
    try PlainSQL.run(
      "CREATE TABLE theirs (a, b); CREATE UNIQUE INDEX theirs_a ON theirs (a); "
        + "CREATE INDEX theirs_b ON theirs (b); CREATE INDEX plain ON Dog (name)", at: fixture.url)
    var second = Self.renamed
    if isOnlyIndex {
      second = Self.version(2, attribute("name", .string))
      second.entities[0].indexes = [IndexDescription(elements: [SortKey("name")])]
    }
    let model = MigrationFixture.model([Self.first, second])
    try fixture.open(model)
    let indexes = try fixture.column("SELECT name FROM sqlite_master WHERE type = 'index' ORDER BY name")
    #expect(indexes.contains("theirs_a") && indexes.contains("theirs_b"))
    // An index of the store's own tables goes, as the model does not have it.
    #expect(!indexes.contains("plain"))
    #expect(indexes.contains("Dog.index.name") == isOnlyIndex)
  }

  /// SQLite compares names of indexes without case.
  @Test(arguments: [false, true]) func aForeignIndexThatIsInTheWayGoes(isOnlyIndex: Bool) throws {
    let fixture = try filled()
    let column = isOnlyIndex ? "name" : "title"
    try PlainSQL.run(
      "CREATE TABLE theirs (a); CREATE INDEX \"dog.INDEX.\(column)\" ON theirs (a)", at: fixture.url)
    var second = isOnlyIndex ? Self.version(2, attribute("name", .string)) : Self.renamed
    second.entities[0].indexes = [IndexDescription(elements: [SortKey(column)])]
    try fixture.open(MigrationFixture.model([Self.first, second]))
    let tables = try fixture.rows(
      "SELECT name, tbl_name FROM sqlite_master WHERE name LIKE 'Dog.index.%' ORDER BY name")
    #expect(tables == [["Dog.index.\(column)", "Dog"]])
  }

  /// The entity is new in the last version. The step to it keeps the tables, or fills new ones because of a filter.
  @Test(arguments: [1, 2], [false, true])
  func aForeignTableIsNoTableOfANewEntity(steps: Int, isFiltered: Bool) throws {
    let fixture = try filled()
    try PlainSQL.run("CREATE TABLE other (x); INSERT INTO other VALUES (7)", at: fixture.url)
    var last = Self.renamed
    last.number = 1 + steps
    last.basedOn = [steps]
    last.entities.append(entity("Other", [attribute("name", .string)]))
    if steps == 2 { last.entities[0].attributes = [attribute("title", .string)] }
    let rules = MappingRules(
      source: steps, destination: 1 + steps,
      entities: [EntityRule(destination: "Person", filter: try FetchPredicate(format: "name != 'P3'"))])
    let model = MigrationFixture.model(
      [Self.first] + (steps == 2 ? [Self.renamed] : []) + [last], mappings: isFiltered ? [rules] : [])
    let bytes = try fixture.bytes()
    #expect {
      try fixture.open(model)
    } throws: { error in
      var found = error as? StoreError
      if case .store(let reason)? = (error as? MigrationError)?.reason { found = reason }
      guard case .foreignSchema(_, let objects)? = found else { return false }
      return objects == ["the table 'other'"]
    }
    #expect(try fixture.bytes() == bytes)
    let rehearsal = MigrationRehearsal(PersistentStoreDescription(fixture.location), model: model)
    #expect(throws: (any Error).self) { try rehearsal.run() }
    #expect(try fixture.rows("SELECT x FROM other") == [["7"]])
  }
}
