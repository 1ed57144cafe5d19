import Foundation
import Testing

@testable import CDRuntime

/// What becomes of the objects that those own which a mapping's filter leaves behind.
@Suite(.needs(.migrations)) struct OwnedObjectsTests {
  private static let name = attribute("name", .string)

  /// Trips have errands, and these have steps and notes. Steps cannot be without their errand.
  private static func version(
    _ number: Int, trips: DeleteRule = .cascade, steps: DeleteRule = .cascade, notes: DeleteRule = .nullify,
    isStepMandatory: Bool = true
  ) -> ModelVersion {
    func owned(_ name: String, _ entity: String, by inverse: String, _ rule: DeleteRule)
      -> RelationshipDescription
    {
      var relationship = toMany(name, entity, inverse: inverse)
      relationship.deleteRule = rule
      return relationship
    }
    return MigrationFixture.version(
      number,
      [
        entity("Trip", [name], relationships: [owned("errands", "Errand", by: "trip", trips)]),
        entity("Task", isAbstract: true, [name]),
        entity(
          "Errand", parent: "Task",
          relationships: [
            toOne("trip", "Trip", inverse: "errands"), owned("steps", "Step", by: "errand", steps),
            owned("notes", "Note", by: "errand", notes),
          ]),
        entity("Chore", parent: "Task"),
        entity(
          "Step", [name],
          relationships: [toOne("errand", "Errand", inverse: "steps", isOptional: !isStepMandatory)]),
        entity("Note", [name], relationships: [toOne("errand", "Errand", inverse: "notes")]),
      ])
  }

  /// Two trips with two errands each, each with two steps and a note, an errand without a trip, and a chore.
  private static func fill(_ context: ManagedObjectContext) throws {
    func make(_ entity: String, _ name: String, _ key: String? = nil, _ owner: ManagedObject? = nil) throws
      -> ManagedObject
    {
      let object = try context.insert(entityNamed: entity)
      try object.setValue(.attribute(.string(name)), forKey: "name")
      if let key { try object.setValue(.object(owner), forKey: key) }
      return object
    }
    for trip in ["A", "B", ""] {
      let owner = trip.isEmpty ? nil : try make("Trip", trip)
      for number in trip.isEmpty ? [0] : [1, 2] {
        let errand = try make("Errand", "\(trip)\(number)", "trip", owner)
        _ = try make("Step", "\(trip)\(number)a", "errand", errand)
        _ = try make("Step", "\(trip)\(number)b", "errand", errand)
        _ = try make("Note", "\(trip)\(number)n", "errand", errand)
      }
    }
    _ = try make("Chore", "A1")
  }

  private func migrate(
    _ old: ModelVersion, _ new: ModelVersion, _ rules: [EntityRule], custom: Bool = false
  ) throws -> MigrationFixture {
    let fixture = try MigrationFixture()
    try fixture.create([old], Self.fill)
    let model = MigrationFixture.model(
      [old, new], mappings: [MappingRules(source: 1, destination: 2, entities: rules)])
    try fixture.open(model)
    try fixture.verify(model)
    return fixture
  }

  private func names(_ fixture: MigrationFixture, _ table: String, _ condition: String = "1") throws
    -> [String]
  {
    try fixture.column("SELECT name FROM \(table) WHERE \(condition) ORDER BY name").compactMap(\.self)
  }

  private func errands(_ filter: String, owned: OwnedObjects = .drop) throws -> EntityRule {
    EntityRule(destination: "Errand", filter: try FetchPredicate(format: filter), owned: owned)
  }

  @Test(arguments: ["name != 'A1'", "NOT (name MATCHES 'A1')"]) func whatIsOwnedGoesWithItsOwner(
    _ filter: String
  ) throws {
    let fixture = try migrate(Self.version(1), Self.version(2), [errands(filter)])
    #expect(try names(fixture, "Task", "_entity = 'Errand'") == ["0", "A2", "B1", "B2"])
    #expect(try names(fixture, "Task", "_entity = 'Chore'") == ["A1"])
    #expect(try names(fixture, "Step") == ["0a", "0b", "A2a", "A2b", "B1a", "B1b", "B2a", "B2b"])
    // By another rule they stay, without it.
    #expect(try names(fixture, "Note") == ["0n", "A1n", "A2n", "B1n", "B2n"])
    #expect(try names(fixture, "Note", "errand IS NULL") == ["A1n"])
  }

  @Test func whatIsOwnedByWhatIsOwnedGoesToo() throws {
    let rule = EntityRule(destination: "Trip", filter: try FetchPredicate(format: "name == 'B'"))
    let fixture = try migrate(Self.version(1), Self.version(2), [rule])
    #expect(try names(fixture, "Task", "_entity = 'Errand'") == ["0", "B1", "B2"])
    #expect(try names(fixture, "Step") == ["0a", "0b", "B1a", "B1b", "B2a", "B2b"])
    #expect(try names(fixture, "Note", "errand IS NULL") == ["A1n", "A2n"])
  }

  /// A filter of the owned objects' own holds beside.
  @Test func aFilterOfWhatIsOwnedHoldsToo() throws {
    let steps = EntityRule(destination: "Step", filter: try FetchPredicate(format: "name ENDSWITH 'a'"))
    let fixture = try migrate(Self.version(1), Self.version(2), [errands("trip.name == 'A'"), steps])
    #expect(try names(fixture, "Step") == ["A1a", "A2a"])
  }

  /// An owned object may go by several ways, and have values that are evaluated.
  @Test func whatIsOwnedMayHaveRulesOfItsOwn() throws {
    let steps = EntityRule(
      destination: "Step",
      attributes: [
        PropertyMapping(
          name: "name",
          value: try ValueExpression(format: "TERNARY(name MATCHES '.*a', uppercase(name), name)"))
      ])
    let fixture = try migrate(Self.version(1), Self.version(2), [errands("trip.name == 'A'"), steps])
    #expect(try names(fixture, "Step") == ["A1A", "A1b", "A2A", "A2b"])
  }

  @Test func whatIsOwnedCanBeKept() throws {
    let (old, new) = (Self.version(1, isStepMandatory: false), Self.version(2, isStepMandatory: false))
    let fixture = try migrate(old, new, [errands("name != 'A1'", owned: .keep)])
    #expect(try names(fixture, "Step").count == 10)
    #expect(try names(fixture, "Step", "errand IS NULL") == ["A1a", "A1b"])
  }

  @Test func anOwnerCanBeRefused() throws {
    let fixture = try MigrationFixture()
    let (old, new) = (Self.version(1), Self.version(2))
    try fixture.create([old], Self.fill)
    func model(_ filter: String) throws -> ManagedObjectModel {
      let steps = EntityRule(destination: "Step", filter: try FetchPredicate(format: "errand.name != 'B2'"))
      return MigrationFixture.model(
        [old, new],
        mappings: [
          MappingRules(source: 1, destination: 2, entities: [try errands(filter, owned: .refuse), steps])
        ])
    }
    let bytes = try fixture.bytes()
    let refused = MigrationStep(from: old, to: new, rules: try model("name != 'A1'").mappings[0])
    // A step cannot go on without its errand, which nobody can promise of this mapping.
    #expect(!refused.isProven)
    let (loose, looser) = (Self.version(1, isStepMandatory: false), Self.version(2, isStepMandatory: false))
    let other = try MigrationFixture()
    try other.create([loose], Self.fill)
    func refusing(_ filter: String) throws -> ManagedObjectModel {
      var model = try model(filter)
      model.versions = [loose, looser]
      return model
    }
    let error = #expect(throws: MigrationError.self) { try other.open(try refusing("name != 'A1'")) }
    #expect(error?.reason == .ownsObjects(relationship: "steps") && error?.entity == "Errand")
    #expect(error?.objectKey == 1)
    #expect(try fixture.bytes() == bytes)
    // Those of B2 are left behind by their own filter: nothing is parted.
    try other.open(try refusing("name != 'B2'"))
    #expect(try names(other, "Step").count == 8)
  }

  /// Where the rule is another, a mandatory reference is a question that the step's proof asks.
  @Test func aMandatoryReferenceToWhatIsLeftBehindIsAsked() throws {
    let rules = MappingRules(source: 1, destination: 2, entities: [try errands("name != 'A1'")])
    let nullify = MigrationStep(
      from: Self.version(1, steps: .nullify), to: Self.version(2, steps: .nullify), rules: rules)
    #expect(!nullify.isProven)
    let cascade = MigrationStep(from: Self.version(1), to: Self.version(2), rules: rules)
    #expect(cascade.isProven, "\(cascade.openChanges)")
    #expect(
      cascade.losses.map(\.kind)
        == [.ownedObjectsLeft("Step", owners: [PropertyName("Errand", "steps")]), .objectsFiltered("Errand")]
        || cascade.losses.map(\.kind)
          == [
            .objectsFiltered("Errand"), .ownedObjectsLeft("Step", owners: [PropertyName("Errand", "steps")]),
          ]
    )
    let kept = MigrationStep(
      from: Self.version(1), to: Self.version(2),
      rules: MappingRules(source: 1, destination: 2, entities: [try errands("name != 'A1'", owned: .keep)]))
    #expect(!kept.isProven)
  }

  /// The rule has a filter that reads the same relationship, so it is accepted. But the filter lets an object pass whose
  /// owner is left behind, and only the rows show this.
  @Test func theErrorNamesTheOwnerThatIsLeftBehind() throws {
    let fixture = try MigrationFixture()
    let (old, new) = (Self.version(1, steps: .nullify), Self.version(2, steps: .nullify))
    try fixture.create([old], Self.fill)
    let steps = EntityRule(
      destination: "Step", filter: try FetchPredicate(format: "errand != nil"),
      relationships: [PropertyMapping(name: "errand", value: try ValueExpression(format: "errand"))])
    let model = MigrationFixture.model(
      [old, new],
      mappings: [MappingRules(source: 1, destination: 2, entities: [try errands("name != 'A2'"), steps])])
    let error = #expect(throws: MigrationError.self) { try fixture.open(model) }
    #expect(error?.reason == .leftBehind(property: "errand", owner: "Errand", ownerKey: 2), "\(error as Any)")
    #expect(error?.entity == "Step" && error?.objectKey == 3)
  }

  @Test func aRehearsalCountsWhatGoes() throws {
    let fixture = try MigrationFixture()
    try fixture.create([Self.version(1)], Self.fill)
    let model = MigrationFixture.model(
      [Self.version(1), Self.version(2)],
      mappings: [MappingRules(source: 1, destination: 2, entities: [try errands("trip.name == 'A'")])])
    let report = try MigrationRehearsal(PersistentStoreDescription(fixture.location), model: model).run()
    #expect(report.succeeds)
    let losses = Dictionary(uniqueKeysWithValues: report.steps[0].losses.map { ($0.description, $0.count) })
    #expect(losses.count == 2)
    #expect(losses.first { $0.key.contains("exclude objects of entity 'Errand' of version 1") }?.value == 3)
    #expect(losses.first { $0.key.contains("objects of entity 'Step'") }?.value == 6)
  }
}
