import CSQLite
import Foundation
import Testing

@testable import CDRuntime

/// Which versions a store comes through: long lines, branches, drafts, ways back, and merged models.
@Suite(.needs(.migrations)) struct MigrationVersionTests {
  // MARK: A long line

  /// Twenty versions: attributes that come, go, take another name or type, and a rename of the entity.
  static let line: [ModelVersion] = (1...20).map { number in
    var attributes = [attribute("text", .string)]
    for added in 1...number where added % 2 == 0 {
      attributes.append(attribute("a\(added)", .int32, .int(Int64(added))))
    }
    if number >= 7 {
      attributes.append(
        attribute("wide", number >= 13 ? .string : .int64, number >= 13 ? .string("7") : .int(7)))
    }
    if number >= 17, let place = attributes.firstIndex(where: { $0.name == "a2" }) {
      attributes[place].name = "second"
      if number == 17 { attributes[place].renamedFrom = "a2" }
    }
    let name = number >= 10 ? "Thing" : "Item"
    var result = entity(name, renamedFrom: number == 10 ? "Item" : nil, attributes)
    result.uniquenessConstraints = []
    return MigrationFixture.version(number, [result])
  }

  @Test(arguments: 1...19) func twentyVersionsAreGoneThroughFromEach(_ start: Int) throws {
    let fixture = try MigrationFixture()
    let version = Self.line[start - 1]
    let name = version.entities[0].name
    try fixture.using(
      MigrationFixture.model(Array(Self.line[..<start])),
      body: { context in
        for number in 0..<3 {
          let item = try context.insert(entityNamed: name)
          try item.setValue(.attribute(.string("t\(number)")), forKey: "text")
          if start >= 4 { try item.setValue(.attribute(.int(Int64(number * 100))), forKey: "a4") }
        }
      })
    let model = MigrationFixture.model(Self.line)
    var description = PersistentStoreDescription(fixture.location)
    description.keepsBackup = false
    do {
      let coordinator = try PersistentStoreCoordinator(model: model, stores: [description])
      let result = try #require(coordinator.migrations.first)
      #expect(result.steps.map(\.source) == Array(start..<20))
      #expect(result.source == start && result.destination == 20)
      #expect((result.backup == nil) == result.isInPlace)
    }
    try fixture.verify(model)
    #expect(
      try fixture.rows("SELECT text, second, a4, a20, wide FROM Thing ORDER BY _pk")
        == (0..<3).map { ["t\($0)", "2", start >= 4 ? "\($0 * 100)" : "4", "20", "7"] })
  }

  /// What is stored is the same before and after, but for the names.
  @Test func propertiesExchangeTheirNames() throws {
    let fixture = try MigrationFixture()
    let first = MigrationFixture.version(
      1, [entity("Item", [attribute("x", .string), attribute("y", .string)])])
    let second = MigrationFixture.version(
      2,
      [
        entity(
          "Item",
          [attribute("x", .string, renamedFrom: "y"), attribute("y", .string, renamedFrom: "x")])
      ])
    try fixture.create([first]) { context in
      let item = try context.insert(entityNamed: "Item")
      try item.setValue(.attribute(.string("1")), forKey: "x")
      try item.setValue(.attribute(.string("2")), forKey: "y")
    }
    for isFirst in [true, false] {
      let coordinator = try PersistentStoreCoordinator(
        model: MigrationFixture.model([first, second]),
        stores: [PersistentStoreDescription(fixture.location)])
      #expect(coordinator.migrations.count == (isFirst ? 1 : 0))
      #expect(try coordinator.verify().isEmpty)
    }
    #expect(try fixture.rows("SELECT x, y FROM Item") == [["2", "1"]])
  }

  @Test func fieldsOfACompositeExchangeTheirNames() throws {
    func version(_ number: Int, _ fields: [AttributeDescription]) -> ModelVersion {
      MigrationFixture.version(
        number, [entity("Item", [attribute("size", .composite("Size"), isOptional: true)])],
        composites: [CompositeDescription(name: "Size", fields: fields)])
    }
    let first = version(1, [attribute("width", .int32), attribute("height", .int32)])
    let second = version(
      2,
      [
        attribute("width", .int32, renamedFrom: "height"), attribute("height", .int32, renamedFrom: "width"),
      ])
    let fixture = try MigrationFixture()
    try fixture.create([first]) { context in
      let item = try context.insert(entityNamed: "Item")
      try item.setValue(.attribute(.composite(["width": .int(1), "height": .int(2)])), forKey: "size")
    }
    let model = MigrationFixture.model([first, second])
    for isFirst in [true, false] {
      let coordinator = try PersistentStoreCoordinator(
        model: model, stores: [PersistentStoreDescription(fixture.location)])
      #expect(coordinator.migrations.count == (isFirst ? 1 : 0))
      #expect(try coordinator.verify().isEmpty)
    }
    let size = try fixture.using(model) { context in
      let item = try #require(try context.fetch(FetchRequest<ManagedObject>(entityName: "Item")).first)
      return try item.value(forKey: "size").attribute
    }
    #expect(size == .composite(["width": .int(2), "height": .int(1)]))
  }

  /// One field becomes mandatory, and another one is new. The default and the rule are for composites that exist.
  @Test func aNilCompositeStaysNilWhateverItsFieldsBecome() throws {
    func version(_ number: Int, _ fields: [AttributeDescription]) -> ModelVersion {
      MigrationFixture.version(
        number,
        [
          entity(
            "Item", [attribute("name", .string), attribute("at", .composite("Place"), isOptional: true)])
        ],
        composites: [CompositeDescription(name: "Place", fields: fields)])
    }
    let street = attribute("street", .string)
    let old = version(1, [street, attribute("city", .string, isOptional: true)])
    let new = version(2, [street, attribute("city", .string, .string("-")), attribute("floor", .int16)])
    let rules = MappingRules(
      source: 1, destination: 2,
      entities: [
        EntityRule(
          destination: "Item",
          attributes: [PropertyMapping(name: "at.floor", value: try ValueExpression(format: "2"))])
      ])
    let fixture = try MigrationFixture()
    try fixture.create([old]) { try Self.addPlaces($0) }
    let model = MigrationFixture.model([old, new], mappings: [rules])
    try fixture.open(model)
    try fixture.verify(model)
    #expect(
      try fixture.rows(
        "SELECT name, \"at.street\", \"at.city\", \"at.floor\" FROM Item ORDER BY name")
        == [["I0", nil, nil, nil], ["I1", "s", "-", "2"], ["I2", "t", "c", "2"]])
  }

  /// Inserts items without a place, with a street, and with a street and a city.
  private static func addPlaces(_ context: ManagedObjectContext) throws {
    let places: [AttributeValue?] = [
      nil, .composite(["street": .string("s"), "city": .null]),
      .composite(["street": .string("t"), "city": .string("c")]),
    ]
    for (number, place) in places.enumerated() {
      let item = try context.insert(entityNamed: "Item")
      try item.setValue(.attribute(.string("I\(number)")), forKey: "name")
      if let place { try item.setValue(.attribute(place), forKey: "at") }
    }
  }

  /// The steps change the rows in place, write new tables, and run the app's own code.
  @Test func aNilCompositeThatBecomesMandatoryGetsItsWholeDefault() throws {
    func version(_ number: Int, _ at: AttributeDescription) -> ModelVersion {
      let fields = [attribute("street", .string), attribute("city", .string, isOptional: true)]
      return MigrationFixture.version(
        number, [entity("Item", [attribute("name", .string), at])],
        composites: [CompositeDescription(name: "Place", fields: fields)])
    }
    let place = AttributeValue.composite(["street": .string("-"), "city": .string("+")])
    let old = version(1, attribute("at", .composite("Place"), isOptional: true))
    let new = version(2, attribute("at", .composite("Place"), place))
    let steps: [[EntityRule]] = [
      [], [EntityRule(destination: "Item", filter: try FetchPredicate(format: "name != ''"))],
      [EntityRule(destination: "Item", name: "Item", isCustom: true)],
    ]
    for rules in steps {
      let fixture = try MigrationFixture()
      try fixture.create([old]) { try Self.addPlaces($0) }
      let model = MigrationFixture.model(
        [old, new], mappings: [MappingRules(source: 1, destination: 2, entities: rules)])
      try fixture.open(model) { description in
        guard rules.contains(where: \.isCustom) else { return }
        description.migrationPolicies["Item", from: 1, to: 2] = { TestPolicy() }
      }
      try fixture.verify(model)
      #expect(
        try fixture.rows("SELECT name, \"at.street\", \"at.city\" FROM Item ORDER BY name")
          == [["I0", "-", "+"], ["I1", "s", nil], ["I2", "t", "c"]], "\(rules)")
    }
  }

  // MARK: Branches

  private static let base = MigrationFixture.version(1, [entity("Item", [attribute("text", .string)])])

  /// Two versions that are based on the first, each with an attribute of its own.
  private static func sibling(_ number: Int, basedOn: [Int] = [1]) -> ModelVersion {
    ModelVersion(
      number: number, basedOn: basedOn,
      entities: [
        entity("Item", [attribute("text", .string), attribute("s\(number)", .string, .string("\(number)"))])
      ])
  }

  private func store(of model: ManagedObjectModel) throws -> MigrationFixture {
    let fixture = try MigrationFixture()
    try fixture.using(
      model,
      body: { try $0.insert(entityNamed: "Item").setValue(.attribute(.string("t")), forKey: "text") })
    return fixture
  }

  /// Expects a refusal that leaves every byte.
  @discardableResult private func refusal(
    _ fixture: MigrationFixture, _ model: ManagedObjectModel
  ) throws -> (any Error)? {
    let (bytes, files) = (try fixture.bytes(), fixture.files)
    let error = #expect(throws: (any Error).self) { try fixture.open(model) }
    #expect(try fixture.bytes() == bytes)
    #expect(fixture.files == files)
    return error
  }

  @Test func aSiblingNeedsAMappingOrABase() throws {
    let versions = [Self.base, Self.sibling(2), Self.sibling(3)]
    let fixture = try store(of: MigrationFixture.model(versions, current: 2))
    let error = try refusal(fixture, MigrationFixture.model(versions))
    #expect((error as? MigrationError)?.reason == .noPath)

    let rules = MappingRules(
      source: 2, destination: 3, entities: [EntityRule(destination: "Item", drops: ["s2"])])
    try fixture.open(MigrationFixture.model(versions, mappings: [rules]))
    #expect(try fixture.rows("SELECT text, s3 FROM Item") == [["t", "3"]])

    var both = Self.sibling(3, basedOn: [1, 2])
    both.entities[0].attributes.append(attribute("s2", .string, .string("none")))
    let other = try store(of: MigrationFixture.model(versions, current: 2))
    try other.open(MigrationFixture.model([Self.base, Self.sibling(2), both]))
    #expect(try other.rows("SELECT text, s2, s3 FROM Item") == [["t", "2", "3"]])
    let first = try store(of: MigrationFixture.model([Self.base]))
    try first.open(MigrationFixture.model([Self.base, Self.sibling(2), both]))
    #expect(try first.column("SELECT text FROM Item") == ["t"])
  }

  @Test func aMappedStepIsNeverJumpedOver() throws {
    func version(_ number: Int) -> ModelVersion {
      var result = Self.base
      result.number = number
      result.basedOn = [number - 1]
      return result
    }
    func rules(_ source: Int, _ destination: Int, _ mark: String) throws -> MappingRules {
      MappingRules(
        source: source, destination: destination,
        entities: [
          EntityRule(
            destination: "Item",
            attributes: [
              PropertyMapping(name: "text", value: try ValueExpression(format: "text + '\(mark)'"))
            ])
        ])
    }
    let versions = [Self.base, version(2), version(3)]
    let fixture = try store(of: MigrationFixture.model([Self.base]))
    try fixture.open(MigrationFixture.model(versions, mappings: [rules(1, 2, "a"), rules(2, 3, "b")]))
    #expect(try fixture.column("SELECT text FROM Item") == ["tab"])

    let jumping = try store(of: MigrationFixture.model([Self.base]))
    try jumping.open(
      MigrationFixture.model(versions, mappings: [rules(1, 2, "a"), rules(2, 3, "b"), rules(1, 3, "c")]))
    #expect(try jumping.column("SELECT text FROM Item") == ["tc"])
  }

  /// Two branches gave different versions one number.
  @Test func twoVersionsOfOneNumberAreToldApart() throws {
    let fixture = try store(of: MigrationFixture.model([Self.base, Self.sibling(2)]))
    var other = Self.sibling(2)
    other.entities[0].attributes[1] = attribute("mine", .string, .string("m"))
    let error = try refusal(fixture, MigrationFixture.model([Self.base, other]))
    guard case .losesData? = (error as? MigrationError)?.reason else {
      Issue.record("\(String(describing: error))")
      return
    }
    other.entities[0].attributes.append(attribute("s2", .string, .string("none")))
    try fixture.open(MigrationFixture.model([Self.base, other]))
    #expect(try fixture.rows("SELECT text, s2, mine FROM Item") == [["t", "2", "m"]])
  }

  // MARK: What is refused

  @Test func anotherIdentityIsRefused() throws {
    let fixture = try store(of: MigrationFixture.model([Self.base]))
    var model = MigrationFixture.model([Self.base, Self.sibling(2)])
    model.id = UUID()
    let error = try refusal(fixture, model)
    guard case StoreError.otherModel? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
  }

  @Test func aWayBackIsTakenWhereNothingIsLost() throws {
    var second = Self.base
    second.number = 2
    second.basedOn = [1]
    second.entities[0] = entity("Item", [attribute("title", .string, renamedFrom: "text")])
    let versions = [Self.base, second]
    let fixture = try MigrationFixture()
    try fixture.using(
      MigrationFixture.model(versions),
      body: { try $0.insert(entityNamed: "Item").setValue(.attribute(.string("t")), forKey: "title") })
    try fixture.open(MigrationFixture.model(versions, current: 1))
    #expect(try fixture.column("SELECT text FROM Item") == ["t"])

    let other = try store(of: MigrationFixture.model([Self.base, Self.sibling(2)]))
    let error = try refusal(other, MigrationFixture.model([Self.base, Self.sibling(2)], current: 1))
    #expect((error as? MigrationError)?.reason == .newerStore(current: 1))
  }

  /// Who may not migrate must not be told to migrate a store that is too new.
  @Test(arguments: [true, false]) func aNewerStoreIsNotCalledAnOlderOne(_ isReadOnly: Bool) throws {
    func change(_ description: inout PersistentStoreDescription) {
      description.isReadOnly = isReadOnly
      description.migratesStoreAutomatically = isReadOnly
    }
    let old = MigrationFixture.model([Self.base])
    let new = MigrationFixture.model([Self.base, Self.sibling(2)])
    let newer = try store(of: new)
    let refusal = #expect(throws: MigrationError.self) { try newer.open(old) { change(&$0) } }
    #expect(refusal?.reason == .newerStore(current: 1))
    #expect(refusal?.situation == .newerStore)
    // The model has the version.
    #expect(throws: StoreError.needsMigration(newer.shownURL, model: "Matrix", from: 2, to: 1)) {
      try newer.open(MigrationFixture.model([Self.base, Self.sibling(2)], current: 1)) { change(&$0) }
    }
    let older = try store(of: old)
    let error = #expect(throws: StoreError.self) { try older.open(new) { change(&$0) } }
    #expect(error?.situation == .olderStore)
    // The newest version stores the same as the first one, from which a migration would start.
    var third = Self.base
    third.number = 3
    third.basedOn = [1]
    let same = try store(of: MigrationFixture.model([Self.base, third]))
    #expect(throws: StoreError.self) { try same.open(new) { change(&$0) } }
  }

  /// The hash of the old version is the same, but its program does not know what a rule has done to the rows. It would write
  /// its own number, and the next program of the new version would follow the rule again.
  @Test func aProgramWithoutTheVersionOfTheRowsIsRefused() throws {
    var second = Self.base
    second.number = 2
    second.basedOn = [1]
    var third = second
    third.number = 3
    third.basedOn = [2]
    third.entities[0].indexes = [IndexDescription(elements: [SortKey("text")])]
    let text = PropertyMapping(name: "text", value: try ValueExpression(format: "text + '!'"))
    let rules = MappingRules(
      source: 1, destination: 2, entities: [EntityRule(destination: "Item", attributes: [text])])
    let old = MigrationFixture.model([Self.base])
    let new = MigrationFixture.model([Self.base, second], mappings: [rules])
    let newest = MigrationFixture.model([Self.base, second, third], mappings: [rules])
    let fixture = try store(of: old)
    func checkRefusal() throws {
      let error = try refusal(fixture, old)
      #expect((error as? MigrationError)?.reason == .newerStore(current: 1))
    }
    for _ in 0..<2 { try fixture.open(new) }
    try checkRefusal()
    // A version that changes no rows shuts nobody out, and does not let the old one in.
    for _ in 0..<2 {
      try fixture.open(newest)
      try checkRefusal()
      try fixture.open(new)
      try checkRefusal()
    }
    #expect(try fixture.column("SELECT text FROM Item") == ["t!"])
    // Nor may it open a store whose rows the second version has created.
    for model in [new, newest] {
      let created = try store(of: model)
      let error = try refusal(created, old)
      #expect((error as? MigrationError)?.reason == .newerStore(current: 1))
      try created.open(model)
      #expect(try created.column("SELECT text FROM Item") == ["t"])
    }
    // The way back would not take away what the rule has added, and the next way there would add it again.
    let back = MigrationFixture.model([Self.base, second], mappings: [rules], current: 1)
    let error = try refusal(fixture, back)
    #expect((error as? MigrationError)?.reason == .newerStore(current: 1))
  }

  /// The way back changes rows, because it takes back the other name.
  @Test(arguments: [("text + '!'", "t!"), ("text ?? '-'", "t")])
  func aWayBackThatDoesNotUndoACalculationIsRefused(value: String, expected: String) throws {
    let attributes = [
      attribute("text", .string, isOptional: true), attribute("a", .string, isOptional: true),
    ]
    let first = MigrationFixture.version(1, [entity("Item", attributes)])
    let renamed = attribute("b", .string, isOptional: true, renamedFrom: "a")
    let second = MigrationFixture.version(2, [entity("Item", [attributes[0], renamed])])
    let text = PropertyMapping(name: "text", value: try ValueExpression(format: value))
    let rules = MappingRules(
      source: 1, destination: 2, entities: [EntityRule(destination: "Item", attributes: [text])])
    let fixture = try store(of: MigrationFixture.model([first]))
    let new = MigrationFixture.model([first, second], mappings: [rules])
    try fixture.open(new)
    let back = MigrationFixture.model([first, second], mappings: [rules], current: 1)
    if expected == "t" {
      try fixture.open(back)
    } else {
      let error = try refusal(fixture, back)
      #expect((error as? MigrationError)?.reason == .newerStore(current: 1))
    }
    try fixture.open(new)
    #expect(try fixture.column("SELECT text FROM Item") == [expected])
  }

  /// The names have the same places in both versions, so that the hashes are the same.
  @Test func theWayBackExchangesNamesAgain() throws {
    let first = MigrationFixture.version(
      1, [entity("Item", [attribute("x", .string), attribute("y", .string)])])
    let second = MigrationFixture.version(
      2,
      [
        entity(
          "Item",
          [attribute("x", .string, renamedFrom: "y"), attribute("y", .string, renamedFrom: "x")])
      ])
    let fixture = try MigrationFixture()
    try fixture.create([first]) { context in
      let item = try context.insert(entityNamed: "Item")
      try item.setValue(.attribute(.string("1")), forKey: "x")
      try item.setValue(.attribute(.string("2")), forKey: "y")
    }
    for current in [2, 1, 2, 1] {
      for _ in 0..<2 { try fixture.open(MigrationFixture.model([first, second], current: current)) }
      let expected: [String?] = current == 1 ? ["1", "2"] : ["2", "1"]
      #expect(try fixture.rows("SELECT x, y FROM Item") == [expected])
    }
    try fixture.open(MigrationFixture.model([first]))
  }

  /// A version that nobody has released, edited between two starts of the program.
  @Test func yesterdaysStoreOpensAfterAnEdit() throws {
    let fixture = try store(of: MigrationFixture.model([Self.base, Self.sibling(2)]))
    var edited = Self.sibling(2)
    edited.entities[0].attributes[1].type = .url
    edited.entities[0].attributes[1].isOptional = true
    edited.entities[0].attributes[1].defaultValue = nil
    edited.entities[0].attributes.append(attribute("more", .int16, .int(1)))
    #expect(throws: MigrationError.self) { try fixture.open(MigrationFixture.model([Self.base, edited])) }
    edited.entities[0].attributes[1].type = .string
    edited.entities.append(entity("Tag", [attribute("label", .string)]))
    try fixture.open(MigrationFixture.model([Self.base, edited]))
    #expect(try fixture.rows("SELECT text, s2, more FROM Item") == [["t", "2", "1"]])
    try fixture.verify(MigrationFixture.model([Self.base, edited]))
  }

  /// The version stored the same as its base before the edit.
  @Test(arguments: [false, true], [false, true])
  func aRuleIsNotFollowedAgainAfterAnEdit(isCreated: Bool, isMerged: Bool) throws {
    var second = Self.base
    (second.number, second.basedOn) = (2, [1])
    var edited = second
    edited.entities[0].attributes.append(attribute("note", .string, isOptional: true))
    let text = PropertyMapping(name: "text", value: try ValueExpression(format: "text + '!'"))
    let rules = MappingRules(
      source: 1, destination: 2, entities: [EntityRule(destination: "Item", attributes: [text])])
    func model(_ versions: [ModelVersion]) throws -> ManagedObjectModel {
      let model = MigrationFixture.model(versions, mappings: versions.count > 1 ? [rules] : [])
      return isMerged ? try ManagedObjectModel(merging: [model, Self.tasks(1)]) : model
    }
    let fixture = try store(of: model([Self.base] + (isCreated ? [second] : [])))
    try fixture.open(model([Self.base, second]))
    for _ in 0..<2 { try fixture.open(model([Self.base, edited])) }
    #expect(try fixture.rows("SELECT text, note FROM Item") == [[isCreated ? "t" : "t!", nil]])
  }

  @Test func newUniqueConstraintsNameTheirProperties() throws {
    let fixture = try MigrationFixture()
    try fixture.using(
      MigrationFixture.model([Self.base]),
      body: { context in
        for _ in 0..<2 {
          try context.insert(entityNamed: "Item").setValue(.attribute(.string("t")), forKey: "text")
        }
      })
    var second = Self.base
    second.number = 2
    second.basedOn = [1]
    second.entities[0].uniquenessConstraints = [["text"]]
    let error = try refusal(fixture, MigrationFixture.model([Self.base, second]))
    let migration = try #require(error as? MigrationError)
    #expect(migration.reason == .duplicate(properties: ["text"]))
    #expect(migration.entity == "Item" && migration.objectKey == 2)
    #expect(migration.step?.description == "version 1 to version 2")
  }

  @Test func indexesAreMadeOnOpening() throws {
    let fixture = try store(of: MigrationFixture.model([Self.base]))
    var edited = Self.base
    edited.entities[0].indexes = [
      IndexDescription(elements: [SortKey("text")])
    ]
    let coordinator = try PersistentStoreCoordinator(
      model: MigrationFixture.model([edited]), at: fixture.location)
    #expect(coordinator.migrations.isEmpty)
    #expect(
      try fixture.column("SELECT count(*) FROM sqlite_master WHERE type = 'index' AND tbl_name = 'Item'")
        == ["1"])
  }

  // MARK: Merged models

  private static func part(_ name: String, _ id: String, _ versions: [ModelVersion]) -> ManagedObjectModel {
    ManagedObjectModel(
      name: name, id: UUID(uuidString: id) ?? UUID(), versions: versions,
      currentVersionNumber: versions.last?.number ?? 1)
  }

  private static func notes(_ last: Int) -> ManagedObjectModel {
    part(
      "Notes", "0E7C6B44-5B0B-4F2E-9C4F-52B8E6B6F7B1",
      (1...last).map { number in
        MigrationFixture.version(
          number,
          [
            entity(
              "Note",
              [attribute("text", .string)] + (1..<number).map { attribute("n\($0)", .int16, .int(Int64($0))) }
            )
          ])
      })
  }

  private static func tasks(_ last: Int) -> ManagedObjectModel {
    part(
      "Tasks", "0E7C6B44-5B0B-4F2E-9C4F-52B8E6B6F7B2",
      (1...last).map { number in
        MigrationFixture.version(
          number,
          [
            entity(
              "Job",
              [
                attribute("text", .string),
                attribute("size", number > 1 ? .string : .int32, number > 1 ? .string("5") : .int(5)),
              ])
          ])
      })
  }

  @Test func eachPartOfAMergedModelMovesAlongItsOwnLine() throws {
    let fixture = try MigrationFixture()
    let stores = ["Notes", "Tasks"].map {
      PersistentStoreDescription(
        StoreKind.ofEnvironment.location(fixture.folder.appending(path: $0)), configuration: $0)
    }
    func coordinator(_ notes: Int, _ tasks: Int) throws -> PersistentStoreCoordinator {
      try PersistentStoreCoordinator(
        model: ManagedObjectModel(merging: [Self.notes(notes), Self.tasks(tasks)]), stores: stores)
    }
    do {
      let context = ManagedObjectContext(try coordinator(1, 1))
      for name in ["Note", "Job"] {
        try context.insert(entityNamed: name).setValue(.attribute(.string(name)), forKey: "text")
      }
      try context.save()
    }
    do {
      let merged = try coordinator(3, 1)
      #expect(merged.migrations.map { [$0.source, $0.destination] } == [[1, 3]])
    }
    do {
      let merged = try coordinator(3, 2)
      #expect(merged.migrations.map { [$0.source, $0.destination] } == [[1, 2]])
      let context = ManagedObjectContext(merged)
      let note = try context.fetch(FetchRequest<ManagedObject>(entityName: "Note"))[0]
      #expect(try note.value(forKey: "n2").attribute == .int(2))
      let job = try context.fetch(FetchRequest<ManagedObject>(entityName: "Job"))[0]
      #expect(try job.value(forKey: "size").attribute == .string("5"))
      #expect(try merged.verify().isEmpty)
    }
    // A part's store is the part's: it opens with that alone, and goes on with it.
    let alone = try PersistentStoreCoordinator(
      model: Self.notes(4), at: stores[0].location)
    #expect(alone.migrations.map { [$0.source, $0.destination] } == [[3, 4]])
  }

  /// One store for all parts is of the merged model: see `SharedFileMigrationTests`.
  @Test func aStoreOfSeveralPartsMigrates() throws {
    let fixture = try MigrationFixture()
    func model(_ notes: Int, _ tasks: Int) throws -> ManagedObjectModel {
      try ManagedObjectModel(merging: [Self.notes(notes), Self.tasks(tasks)])
    }
    try fixture.using(
      model(1, 1),
      body: { context in
        for name in ["Note", "Job"] {
          try context.insert(entityNamed: name).setValue(.attribute(.string(name)), forKey: "text")
        }
      })
    try fixture.open(model(2, 2))
    #expect(try fixture.rows("SELECT text, n1 FROM Note") == [["Note", "1"]])
    #expect(try fixture.rows("SELECT text, size FROM Job") == [["Job", "5"]])
    try fixture.verify(model(2, 2))
  }
}
