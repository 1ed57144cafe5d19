import Foundation
import Testing

@testable import CDRuntime

/// Derived attributes whose derivation stays, in steps that change what it reads.
@Suite(.needs(.migrations)) struct StepDerivationTests {
  private static func derived(_ name: String, _ format: String) throws -> AttributeDescription {
    var result = attribute(name, .int64, isOptional: true)
    result.derivation = try ValueExpression(format: format)
    return result
  }

  /// Migrates a store with three objects of `Item`, whose attributes have the values 1 to 3 times a factor.
  ///
  /// - Parameters:
  ///   - values: The factor of each attribute.
  ///   - staysInFile: Whether a SQLite store is migrated in place.
  private func migrate(
    _ old: [EntityDescription], _ new: [EntityDescription], _ rules: EntityRule? = nil,
    values: [String: Int64], staysInFile: Bool = false, also fill: (ManagedObject) throws -> Void = { _ in }
  ) throws -> MigrationFixture {
    let fixture = try MigrationFixture()
    try fixture.create([MigrationFixture.version(1, old)]) { context in
      for number in Int64(1)...3 {
        let item = try context.insert(entityNamed: "Item")
        for (key, factor) in values { try item.setValue(.attribute(.int(number * factor)), forKey: key) }
        try fill(item)
      }
    }
    let model = MigrationFixture.model(
      [MigrationFixture.version(1, old), MigrationFixture.version(2, new)],
      mappings: rules.map { [MappingRules(source: 1, destination: 2, entities: [$0])] } ?? [])
    do {
      let coordinator = try PersistentStoreCoordinator(
        model: model, stores: [PersistentStoreDescription(fixture.location)])
      let result = try #require(coordinator.migrations.first)
      if StoreKind.ofEnvironment == .sqlite { #expect(result.isInPlace == staysInFile) }
    }
    try fixture.verify(model)
    return fixture
  }

  @Test func exchangedAttributesAreReadAgain() throws {
    let twice = try Self.derived("twice", "x * 2")
    let fixture = try migrate(
      [entity("Item", [attribute("x", .int64), attribute("y", .int64), twice])],
      [
        entity(
          "Item",
          [attribute("x", .int64, renamedFrom: "y"), attribute("y", .int64, renamedFrom: "x"), twice])
      ], values: ["x": 1, "y": 10])
    #expect(
      try fixture.rows("SELECT x, y, twice FROM Item ORDER BY _pk")
        == [["10", "1", "20"], ["20", "2", "40"], ["30", "3", "60"]])
  }

  @Test func anAttributeThatGetsTheNameOfARemovedOneIsRead() throws {
    let total = try Self.derived("total", "price * 2")
    let fixture = try migrate(
      [entity("Item", [attribute("price", .int64), attribute("newPrice", .int64), total])],
      [entity("Item", [attribute("price", .int64, renamedFrom: "newPrice"), total])],
      EntityRule(destination: "Item", drops: ["price"]), values: ["price": 1, "newPrice": 100])
    #expect(
      try fixture.rows("SELECT price, total FROM Item ORDER BY _pk")
        == [["100", "200"], ["200", "400"], ["300", "600"]])
  }

  /// On a server, both types have the same column.
  @Test func theTextOfADateThatBecomesANumberIsComputed() throws {
    var label = attribute("label", .string, isOptional: true)
    label.derivation = try ValueExpression(format: "CAST(at, 'String')")
    let old = [entity("Item", [attribute("at", .date), label])]
    let new = [entity("Item", [attribute("at", .double), label])]
    let date = AttributeValue.date(Date(timeIntervalSinceReferenceDate: 5))
    let fixture = try migrate(
      old, new, values: [:], also: { try $0.setValue(.attribute(date), forKey: "at") })
    let model = MigrationFixture.model([MigrationFixture.version(1, old), MigrationFixture.version(2, new)])
    try fixture.using(model) { context in
      let first = try #require(try context.fetch(FetchRequest<ManagedObject>(entityName: "Item")).first)
      try context.insert(entityNamed: "Item").setValue(first.value(forKey: "at"), forKey: "at")
    }
    #expect(try fixture.column("SELECT DISTINCT label FROM Item").count == 1)
  }

  @Test func aConstantRuleIsReadHereAndThroughARelationship() throws {
    let item = entity("Item", [attribute("state", .int64), try Self.derived("open", "state + 1")])
    let box = entity(
      "Box", [try Self.derived("open", "item.state + 5")],
      relationships: [toOne("item", "Item", inverse: nil)])
    let fixture = try migrate(
      [item, box], [item, box],
      EntityRule(
        destination: "Item",
        attributes: [PropertyMapping(name: "state", value: try ValueExpression(format: "0"))]),
      values: ["state": 7]
    ) { object in
      let box = try #require(try object.managedObjectContext?.insert(entityNamed: "Box"))
      try box.setValue(.object(object), forKey: "item")
    }
    #expect(try fixture.rows("SELECT state, open FROM Item") == [["0", "1"], ["0", "1"], ["0", "1"]])
    #expect(try fixture.column("SELECT open FROM Box") == ["5", "5", "5"])
  }

  /// The reader of a value is declared before the value, in an entity and among the entities.
  @Test func derivedAttributesMayReadOthers() throws {
    let box = entity(
      "Box",
      [try Self.derived("further", "item.shelf.width + 1"), try Self.derived("width", "item.total + 1")],
      relationships: [toOne("item", "Item", inverse: nil)])
    let item = entity(
      "Item",
      [attribute("n", .int64), try Self.derived("total", "more + n"), try Self.derived("more", "n + 1")],
      relationships: [toOne("shelf", "Shelf", inverse: nil)])
    let shelf = entity(
      "Shelf", [try Self.derived("width", "item.total + 2")],
      relationships: [toOne("item", "Item", inverse: nil)])
    let fixture = try migrate(
      [box, item, shelf], [box, item, shelf],
      EntityRule(
        destination: "Item",
        attributes: [PropertyMapping(name: "n", value: try ValueExpression(format: "n * 10"))]),
      values: ["n": 1]
    ) { object in
      let context = try #require(object.managedObjectContext)
      let shelf = try context.insert(entityNamed: "Shelf")
      let box = try context.insert(entityNamed: "Box")
      for owner in [shelf, box] { try owner.setValue(.object(object), forKey: "item") }
      try object.setValue(.object(shelf), forKey: "shelf")
    }
    #expect(
      try fixture.rows("SELECT n, more, total FROM Item ORDER BY _pk")
        == [["10", "11", "21"], ["20", "21", "41"], ["30", "31", "61"]])
    #expect(try fixture.column("SELECT width FROM Shelf ORDER BY width") == ["23", "43", "63"])
    #expect(
      try fixture.rows("SELECT width, further FROM Box ORDER BY width")
        == [["22", "24"], ["42", "44"], ["62", "64"]])
  }

  private static func keepFirst(_ entity: String, _ property: String) -> [DuplicateRule] {
    [DuplicateRule(entity: entity, properties: [property], survivor: .keepFirst)]
  }

  /// Only the new values say which objects are duplicates. What counts the objects is computed again.
  @Test func duplicatesAreFoundByNewDerivedAttributes() throws {
    func version(_ number: Int) throws -> ModelVersion {
      var key = attribute("key", .string, isOptional: true)
      key.derivation = try ValueExpression(format: "lowercase:(name)")
      return MigrationFixture.version(
        number,
        [
          entity(
            "User", [attribute("name", .string)] + (number == 1 ? [] : [key]),
            relationships: [toOne("team", "Team", inverse: "users")], unique: number == 1 ? [] : [["key"]]),
          entity(
            "Team", [try Self.derived("members", "users.@count")],
            relationships: [toMany("users", "User", inverse: "team")]),
          entity("Note", relationships: [toOne("user", "User", inverse: nil)]),
        ])
    }
    let (old, new) = (try version(1), try version(2))
    let fixture = try MigrationFixture()
    try fixture.create([old]) { context in
      let team = try context.insert(entityNamed: "Team")
      for name in ["Ada", "ada", "Bob"] {
        let user = try context.insert(entityNamed: "User")
        try user.setValue(.attribute(.string(name)), forKey: "name")
        try user.setValue(.object(team), forKey: "team")
        try context.insert(entityNamed: "Note").setValue(.object(user), forKey: "user")
      }
    }
    let rules = MappingRules(source: 1, destination: 2, duplicates: Self.keepFirst("User", "key"))
    let model = MigrationFixture.model([old, new], mappings: [rules])
    let report = try MigrationRehearsal(PersistentStoreDescription(fixture.location), model: model).run()
    #expect(report.succeeds, "\(String(describing: report.refusal))")
    #expect(report.steps.flatMap(\.losses).map(\.count) == [1])
    try fixture.open(model)
    try fixture.verify(model)
    #expect(
      try fixture.rows("SELECT name, key FROM User ORDER BY _pk") == [["Ada", "ada"], ["Bob", "bob"]])
    #expect(try fixture.column("SELECT members FROM Team") == ["2"])
    #expect(
      try fixture.column("SELECT u.name FROM Note n JOIN User u ON u._pk = n.user ORDER BY u._pk")
        == ["Ada", "Ada", "Bob"])
  }

  @Test(arguments: ["y", "x + 1"]) func oldDerivedValuesAreNoDuplicates(value: String) throws {
    let attributes = [attribute("x", .int64), attribute("y", .int64), try Self.derived("twice", "x * 2")]
    // Before the step, `x` is equal in all objects; or each object has the value that the next one gets.
    let isShifted = value != "y"
    let old = MigrationFixture.version(1, [entity("Item", attributes, unique: isShifted ? [["twice"]] : [])])
    let new = MigrationFixture.version(2, [entity("Item", attributes, unique: [["twice"]])])
    let fixture = try MigrationFixture()
    try fixture.create([old]) { context in
      for number in Int64(1)...3 {
        let item = try context.insert(entityNamed: "Item")
        try item.setValue(.attribute(.int(isShifted ? number : 1)), forKey: "x")
        try item.setValue(.attribute(.int(number + 1)), forKey: "y")
      }
    }
    let rule = EntityRule(
      destination: "Item",
      attributes: [PropertyMapping(name: "x", value: try ValueExpression(format: value))])
    let rules = MappingRules(
      source: 1, destination: 2, entities: [rule], duplicates: Self.keepFirst("Item", "twice"))
    let model = MigrationFixture.model([old, new], mappings: [rules])
    try fixture.open(model)
    try fixture.verify(model)
    #expect(
      try fixture.rows("SELECT x, twice FROM Item ORDER BY _pk") == [["2", "4"], ["3", "6"], ["4", "8"]])
  }

  /// What no derivation reads may change in place.
  @Test func newNamesStayInTheFile() throws {
    let twice = try Self.derived("twice", "x * 2")
    let fixture = try migrate(
      [entity("Item", [attribute("x", .int64), attribute("y", .int64), twice])],
      [
        entity(
          "Item",
          [
            attribute("x", .int64), attribute("z", .int64, renamedFrom: "y"),
            attribute("more", .int64, .int(4)), twice,
          ])
      ], values: ["x": 1, "y": 10], staysInFile: true)
    #expect(
      try fixture.rows("SELECT x, z, more, twice FROM Item ORDER BY _pk")
        == [["1", "10", "4", "2"], ["2", "20", "4", "4"], ["3", "30", "4", "6"]])
  }
}
