import Foundation
import Testing

@testable import CDRuntime

/// What becomes of relationships.
@Suite(.needs(.migrations)) struct MigrationRelationshipTests {
  private static let name = attribute("name", .string)

  private static func version(
    _ number: Int, _ dog: [RelationshipDescription], _ person: [RelationshipDescription],
    extra: [AttributeDescription] = []
  ) -> ModelVersion {
    MigrationFixture.version(
      number,
      [entity("Dog", [name] + extra, relationships: dog), entity("Person", [name], relationships: person)])
  }

  /// Three persons; dog n has person n % 3, dog 5 nobody.
  private static func fill(_ context: ManagedObjectContext, key: String? = "owner") throws {
    var persons: [ManagedObject] = []
    for number in 0..<3 {
      let person = try context.insert(entityNamed: "Person")
      try person.setValue(.attribute(.string("P\(number)")), forKey: "name")
      persons.append(person)
    }
    for number in 0..<6 {
      let dog = try context.insert(entityNamed: "Dog")
      try dog.setValue(.attribute(.string("D\(number)")), forKey: "name")
      if let key, number < 5 { try dog.setValue(.object(persons[number % 3]), forKey: key) }
    }
  }

  private static let owner = [toOne("owner", "Person", inverse: "dogs")]
  private static let dogs = [toMany("dogs", "Dog", inverse: "owner")]
  private static let expected: [[String?]] = [
    ["D0", "P0"], ["D1", "P1"], ["D2", "P2"], ["D3", "P0"], ["D4", "P1"], ["D5", nil],
  ]

  private func migrate(
    _ old: ModelVersion, _ new: ModelVersion, _ rules: MappingRules? = nil, inPlace: Bool,
    fill: (ManagedObjectContext) throws -> Void = { try MigrationRelationshipTests.fill($0) },
    check: (MigrationFixture) throws -> Void
  ) throws {
    for isEmpty in [true, false] {
      let fixture = try MigrationFixture()
      try fixture.create([old]) { if !isEmpty { try fill($0) } }
      let before = FileIdentity(fixture.url.path(percentEncoded: false))
      let model = MigrationFixture.model([old, new], mappings: rules.map { [$0] } ?? [])
      try fixture.open(model)
      // A store that is read whole is a new file in any case.
      let isInPlace = inPlace && StoreKind.ofEnvironment == .sqlite
      if StoreKind.ofEnvironment.hasFiles {
        #expect((FileIdentity(fixture.url.path(percentEncoded: false)) == before) == isInPlace)
      }
      try fixture.verify(model)
      if !isEmpty { try check(fixture) }
    }
  }

  private func owners(_ fixture: MigrationFixture, _ column: String = "owner") throws -> [[String?]] {
    try fixture.rows(
      "SELECT d.name, p.name FROM Dog d LEFT JOIN Person p ON p._pk = d.\"\(column)\" ORDER BY d._pk")
  }

  @Test func relationshipsAreAdded() throws {
    try migrate(
      Self.version(1, [], []), Self.version(2, Self.owner, Self.dogs), inPlace: true,
      fill: { try Self.fill($0, key: nil) },
      check: { fixture throws in
        #expect(try fixture.column("SELECT DISTINCT owner FROM Dog") == [nil])
      })
  }

  /// In place, the rows of the other entities would keep what their objects do not have.
  @Test func aRelationshipThatMovesToASubentityLeavesNoReferences() throws {
    let owner = [toOne("owner", "Person", inverse: nil)]
    func version(
      _ number: Int, _ animal: [RelationshipDescription], _ dog: [RelationshipDescription]
    ) -> ModelVersion {
      MigrationFixture.version(
        number,
        [
          entity("Animal", isAbstract: true, [Self.name], relationships: animal),
          entity("Cat", parent: "Animal"), entity("Dog", parent: "Animal", relationships: dog),
          entity("Person", [Self.name]),
        ])
    }
    let rules = MappingRules(
      source: 1, destination: 2, entities: [EntityRule(destination: "Cat", drops: ["owner"])])
    try migrate(
      version(1, owner, []), version(2, [], owner), rules, inPlace: false,
      fill: { context in
        let person = try context.insert(entityNamed: "Person")
        try person.setValue(.attribute(.string("P")), forKey: "name")
        for kind in ["Cat", "Dog"] {
          let animal = try context.insert(entityNamed: kind)
          try animal.setValue(.attribute(.string(kind)), forKey: "name")
          try animal.setValue(.object(person), forKey: "owner")
        }
      },
      check: { fixture throws in
        #expect(
          try fixture.rows("SELECT name, owner FROM Animal ORDER BY name") == [["Cat", nil], ["Dog", "1"]])
      })
  }

  /// The pairs of the other entities would be those of objects of the wrong entity.
  @Test func pairsThatMoveToASubentityLeaveNoOthers() throws {
    func version(
      _ number: Int, _ book: [RelationshipDescription], _ tag: [RelationshipDescription],
      _ publication: [RelationshipDescription] = []
    ) -> ModelVersion {
      MigrationFixture.version(
        number,
        [
          entity("Publication", isAbstract: true, [Self.name], relationships: publication),
          entity("Book", parent: "Publication", relationships: book),
          entity("Magazine", parent: "Publication"), entity("Tag", [Self.name], relationships: tag),
        ])
    }
    let old = version(1, [], [], [toMany("tags", "Tag", inverse: nil)])
    let new = version(
      2, [toMany("tags", "Tag", inverse: "books")], [toMany("books", "Book", inverse: "tags")])
    let rules = MappingRules(
      source: 1, destination: 2, entities: [EntityRule(destination: "Magazine", drops: ["tags"])])
    try migrate(
      old, new, rules, inPlace: false,
      fill: { context in
        for kind in ["Book", "Magazine"] {
          let tag = try context.insert(entityNamed: "Tag")
          try tag.setValue(.attribute(.string("tag of \(kind)")), forKey: "name")
          let publication = try context.insert(entityNamed: kind)
          try publication.setValue(.attribute(.string(kind)), forKey: "name")
          try publication.setValue(.objects([tag]), forKey: "tags")
        }
      },
      check: { fixture throws in
        #expect(
          try fixture.rows(
            "SELECT p.name, t.name FROM \"Book.tags\" j JOIN Publication p ON p._pk = j._source "
              + "JOIN Tag t ON t._pk = j._target") == [["Book", "tag of Book"]])
        #expect(try fixture.column("SELECT count(*) FROM \"Book.tags\"") == ["1"])
      })
  }

  @Test func relationshipsAreRenamed() throws {
    let new = Self.version(
      2, [toOne("keeper", "Person", inverse: "pack", renamedFrom: "owner")],
      [toMany("pack", "Dog", inverse: "keeper", renamedFrom: "dogs")])
    try migrate(
      Self.version(1, Self.owner, Self.dogs), new, inPlace: true,
      check: { fixture throws in
        #expect(try owners(fixture, "keeper") == Self.expected)
      })
  }

  @Test func aRelationshipIsRemovedWhereThatIsMeant() throws {
    let rules = MappingRules(
      source: 1, destination: 2,
      entities: [
        EntityRule(destination: "Dog", drops: ["owner"]), EntityRule(destination: "Person", drops: ["dogs"]),
      ])
    let old = Self.version(1, Self.owner, Self.dogs)
    let fixture = try MigrationFixture()
    try fixture.create([old]) { try Self.fill($0) }
    let model = MigrationFixture.model([old, Self.version(2, [], [])], mappings: [rules])
    try fixture.open(model)
    try fixture.verify(model)
    #expect(try fixture.column("SELECT name FROM Dog ORDER BY _pk") == Self.expected.map { $0[0] })
  }

  @Test(arguments: [("Dog", "owner"), ("Person", "dogs")])
  func aRuleForNoObjectsEmptiesBothSides(entity: String, name: String) throws {
    let rules = MappingRules(
      source: 1, destination: 2,
      entities: [
        EntityRule(destination: entity, relationships: [PropertyMapping(name: name, value: .null)])
      ])
    let fixture = try MigrationFixture()
    let old = Self.version(1, Self.owner, Self.dogs)
    let new = Self.version(
      2, Self.owner, Self.dogs, extra: [attribute("note", .string, isOptional: true)])
    try fixture.create([old]) { try Self.fill($0) }
    let model = MigrationFixture.model([old, new], mappings: [rules])
    try fixture.open(model)
    try fixture.verify(model)
    #expect(try fixture.column("SELECT DISTINCT owner FROM Dog") == [nil])
  }

  @Test func aMandatoryReferenceLeadsToEitherPartOfADividedEntity() throws {
    let attributes = [Self.name, attribute("kind", .int64, isOptional: true)]
    func note(_ destination: String) -> EntityDescription {
      entity(
        "Note", [Self.name],
        relationships: [toOne("contact", destination, inverse: nil, isOptional: false)])
    }
    let old = MigrationFixture.version(1, [entity("Contact", attributes), note("Contact")])
    let new = MigrationFixture.version(
      2,
      [
        entity("Party", isAbstract: true, attributes), entity("Person", parent: "Party"),
        entity("Company", parent: "Party"), note("Party"),
      ])
    let rules = try [("Person", "kind == 1"), ("Company", "kind != 1")].map { name, filter in
      EntityRule(destination: name, source: "Contact", filter: try FetchPredicate(format: filter))
    }
    let fixture = try MigrationFixture()
    try fixture.create([old]) { context in
      for (number, kind) in [AttributeValue.int(1), .int(2), .null].enumerated() {
        let contact = try context.insert(entityNamed: "Contact")
        try contact.setValue(.attribute(.string("C\(number)")), forKey: "name")
        try contact.setValue(.attribute(kind), forKey: "kind")
        let note = try context.insert(entityNamed: "Note")
        try note.setValue(.attribute(.string("N\(number)")), forKey: "name")
        try note.setValue(.object(contact), forKey: "contact")
      }
    }
    let mapping = MappingRules(source: 1, destination: 2, entities: rules)
    let model = MigrationFixture.model([old, new], mappings: [mapping])
    try fixture.open(model)
    try fixture.verify(model)
    #expect(
      try fixture.rows(
        "SELECT n.name, p.name, p._entity FROM Note n JOIN Party p ON p._pk = n.contact ORDER BY n._pk")
        == [["N0", "C0", "Person"], ["N1", "C1", "Company"], ["N2", "C2", "Company"]])
  }

  @Test func toOneBecomesToMany() throws {
    let new = Self.version(
      2, [toMany("owner", "Person", inverse: "dogs")], [toMany("dogs", "Dog", inverse: "owner")])
    try migrate(
      Self.version(1, Self.owner, Self.dogs), new, inPlace: false,
      check: { fixture throws in
        #expect(
          try fixture.rows(
            "SELECT d.name, p.name FROM Dog d LEFT JOIN \"Dog.owner\" j ON j._source = d._pk "
              + "LEFT JOIN Person p ON p._pk = j._target ORDER BY d._pk") == Self.expected)
      })
  }

  /// The pairs come from the side that has no order, which is declared first.
  @Test func theOrderOfTheInverseStaysWhenToOneBecomesToMany() throws {
    let dogs = [toMany("dogs", "Dog", inverse: "owner", isOrdered: true)]
    let owners = [toMany("owners", "Person", inverse: "dogs", renamedFrom: "owner")]
    let newDogs = [toMany("dogs", "Dog", inverse: "owners", isOrdered: true)]
    try migrate(
      Self.version(1, Self.owner, dogs), Self.version(2, owners, newDogs), inPlace: false,
      fill: { context in
        try Self.fill(context, key: nil)
        let dogs = try context.fetch(FetchRequest<ManagedObject>(entityName: "Dog"))
        let person = try context.fetch(FetchRequest<ManagedObject>(entityName: "Person"))[0]
        let sorted = dogs.sorted { $0.objectID.key > $1.objectID.key }
        try person.setValue(.objects(sorted), forKey: "dogs")
      },
      check: { fixture throws in
        #expect(
          try fixture.column(
            "SELECT d.name FROM \"Dog.owners\" j JOIN Dog d ON d._pk = j._source "
              + "ORDER BY j._inverse_position")
            == ["D5", "D4", "D3", "D2", "D1", "D0"])
      })
  }

  /// The tables of version 1 contain each pair once.
  @Test(arguments: [nil, "followers"] as [String?])
  func pairsLeadBackWhereARelationshipBecomesItsOwnInverse(inverse: String?) throws {
    var before = [toMany("friends", "Person", inverse: inverse)]
    if let inverse { before.append(toMany(inverse, "Person", inverse: "friends")) }
    let old = MigrationFixture.version(1, [entity("Person", [Self.name], relationships: before)])
    let new = MigrationFixture.version(
      2, [entity("Person", [Self.name], relationships: [toMany("friends", "Person", inverse: "friends")])])
    let friends = PropertyMapping(name: "friends", value: try ValueExpression(format: "friends"))
    let rules = MappingRules(
      source: 1, destination: 2, entities: [EntityRule(destination: "Person", relationships: [friends])])
    try migrate(
      old, new, rules, inPlace: false,
      fill: { context in
        var persons: [ManagedObject] = []
        for number in 0..<3 {
          let person = try context.insert(entityNamed: "Person")
          try person.setValue(.attribute(.string("P\(number)")), forKey: "name")
          persons.append(person)
        }
        try persons[0].setValue(.objects([persons[1], persons[2]]), forKey: "friends")
        try persons[1].setValue(.objects([persons[0]]), forKey: "friends")
      },
      check: { fixture throws in
        #expect(
          try fixture.rows(
            "SELECT s.name, t.name FROM \"Person.friends\" j JOIN Person s ON s._pk = j._source "
              + "JOIN Person t ON t._pk = j._target ORDER BY s.name, t.name")
            == [["P0", "P1"], ["P0", "P2"], ["P1", "P0"], ["P2", "P0"]])
      })
  }

  /// Opens a store that must not be migrated, and returns the open changes of the step.
  private func refusal(
    _ old: ModelVersion, _ new: ModelVersion, fill: (ManagedObjectContext) throws -> Void
  ) throws -> [String] {
    let fixture = try MigrationFixture()
    try fixture.create([old]) { try fill($0) }
    let error = try #require(throws: MigrationError.self) {
      try fixture.open(MigrationFixture.model([old, new]))
    }
    guard case .notProven(let changes) = error.reason else { throw error }
    #expect(fixture.files == ["store.cdstore"])
    return changes
  }

  /// D0 belongs to P0 and P1. A to-one inverse could not contain both.
  private static func share(_ context: ManagedObjectContext) throws {
    try fill(context, key: nil)
    let dogs = try context.fetch(FetchRequest<ManagedObject>(entityName: "Dog"))
      .sorted { $0.objectID.key < $1.objectID.key }
    let persons = try context.fetch(FetchRequest<ManagedObject>(entityName: "Person"))
      .sorted { $0.objectID.key < $1.objectID.key }
    try persons[0].setValue(.objects([dogs[0], dogs[1]]), forKey: "dogs")
    try persons[1].setValue(.objects([dogs[0]]), forKey: "dogs")
  }

  @Test func sharedObjectsGetNoToOneInverseUnasked() throws {
    let plain = Self.version(1, [], [toMany("dogs", "Dog", inverse: nil)])
    let new = Self.version(2, Self.owner, Self.dogs)
    #expect(try refusal(plain, new, fill: Self.share).count == 1)

    let pairs = Self.version(
      1, [toMany("owners", "Person", inverse: "dogs")], [toMany("dogs", "Dog", inverse: "owners")])
    #expect(try refusal(pairs, new, fill: Self.share).count == 1)
    let rules = MappingRules(
      source: 1, destination: 2,
      entities: [
        EntityRule(
          destination: "Dog",
          relationships: [
            PropertyMapping(name: "owner", value: try ValueExpression(format: "owners[FIRST]"))
          ])
      ])
    try migrate(
      pairs, new, rules, inPlace: false, fill: Self.share,
      check: { fixture throws in
        #expect(
          try owners(fixture) == [
            ["D0", "P0"], ["D1", "P0"], ["D2", nil], ["D3", nil], ["D4", nil], ["D5", nil],
          ])
      })
  }

  /// Persons and companies have keys of their own in version 1, and become parties with one table.
  @Test func aRuleLeadsToObjectsOfItsEntityIfAnotherSharesTheirNewTable() throws {
    let title = attribute("title", .string)
    let old = MigrationFixture.version(
      1,
      [
        entity("Person", [Self.name]), entity("Company", [Self.name]),
        entity("Contract", [title], relationships: [toMany("sellers", "Company", inverse: nil)]),
      ])
    let new = MigrationFixture.version(
      2,
      [
        entity("Party", isAbstract: true, [Self.name]), entity("Person", parent: "Party"),
        entity("Company", parent: "Party"),
        entity("Contract", [title], relationships: [toOne("seller", "Party", inverse: nil)]),
      ])
    let rules = MappingRules(
      source: 1, destination: 2,
      entities: [
        EntityRule(
          destination: "Contract",
          relationships: [
            PropertyMapping(name: "seller", value: try ValueExpression(format: "sellers[FIRST]"))
          ])
      ])
    try migrate(
      old, new, rules, inPlace: false,
      fill: { context in
        for number in 0..<2 {
          let person = try context.insert(entityNamed: "Person")
          try person.setValue(.attribute(.string("P\(number)")), forKey: "name")
          let company = try context.insert(entityNamed: "Company")
          try company.setValue(.attribute(.string("C\(number)")), forKey: "name")
          let contract = try context.insert(entityNamed: "Contract")
          try contract.setValue(.attribute(.string("T\(number)")), forKey: "title")
          try contract.setValue(.objects([company]), forKey: "sellers")
        }
      },
      check: { fixture throws in
        #expect(
          try fixture.rows(
            "SELECT c.title, p.name, p._entity FROM Contract c LEFT JOIN Party p ON p._pk = c.seller "
              + "ORDER BY c.title") == [["T0", "C0", "Company"], ["T1", "C1", "Company"]])
      })
  }

  /// Several dogs have one owner, who can have one dog now.
  @Test(arguments: [nil, "dogs"] as [String?])
  func severalObjectsDoNotBecomeOneUnasked(_ inverse: String?) throws {
    let old = Self.version(
      1, [toOne("owner", "Person", inverse: inverse)],
      inverse.map { [toMany($0, "Dog", inverse: "owner")] } ?? [])
    let new = Self.version(
      2, [toOne("owner", "Person", inverse: "dog")], [toOne("dog", "Dog", inverse: "owner")])
    let changes = try refusal(old, new, fill: { try Self.fill($0) })
    #expect(changes.count == 1, "\(changes)")
  }

  /// The inverse contains which objects are related, but not their order.
  @Test func theOrderOfARemovedRelationshipIsNotLostUnasked() throws {
    let old = Self.version(1, Self.owner, [toMany("dogs", "Dog", inverse: "owner", isOrdered: true)])
    let new = Self.version(
      2, [toOne("owner", "Person", inverse: "pack")],
      [toMany("pack", "Dog", inverse: "owner", isOrdered: true)])
    let changes = try refusal(old, new, fill: { try Self.fill($0) })
    #expect(changes.count == 1, "\(changes)")
    let rules = MappingRules(
      source: 1, destination: 2, entities: [EntityRule(destination: "Person", drops: ["dogs"])])
    let fixture = try MigrationFixture()
    try fixture.create([old]) { try Self.fill($0) }
    let model = MigrationFixture.model([old, new], mappings: [rules])
    let report = try MigrationRehearsal(PersistentStoreDescription(fixture.location), model: model).run()
    #expect(report.succeeds, "\(String(describing: report.refusal))")
    try fixture.open(model)
    try fixture.verify(model)
    #expect(try owners(fixture) == Self.expected)
  }

  /// The rule `noAction` leaves references to deleted objects, which a mandatory relationship with another rule refuses.
  @Test func referencesToDeletedObjectsAreLeftOutByAFilter() throws {
    func version(_ number: Int, _ rule: DeleteRule) -> ModelVersion {
      var dogs = Self.dogs
      dogs[0].deleteRule = rule
      return Self.version(number, [toOne("owner", "Person", inverse: "dogs", isOptional: false)], dogs)
    }
    let (old, new) = (version(1, .noAction), version(2, .cascade))
    func fill(_ context: ManagedObjectContext) throws {
      var persons: [ManagedObject] = []
      for number in 0..<2 {
        let person = try context.insert(entityNamed: "Person")
        try person.setValue(.attribute(.string("P\(number)")), forKey: "name")
        let dog = try context.insert(entityNamed: "Dog")
        try dog.setValue(.attribute(.string("D\(number)")), forKey: "name")
        try dog.setValue(.object(person), forKey: "owner")
        persons.append(person)
      }
      try context.save()
      context.delete(persons[0])
    }
    #expect(try refusal(old, new, fill: fill).count == 1)
    let rules = MappingRules(
      source: 1, destination: 2,
      entities: [EntityRule(destination: "Dog", filter: try FetchPredicate(format: "owner != nil"))])
    try migrate(
      old, new, rules, inPlace: false, fill: fill,
      check: { fixture throws in
        #expect(try owners(fixture) == [["D1", "P1"]])
      })
  }

  /// Another program has broken a reference. The steps of all kinds of stores run in a SQLite file.
  @Test(.onceForAllKinds, arguments: [true, false])
  func aBrokenReferenceBecomesNilIfItCan(isOptional: Bool) throws {
    let owner = [toOne("owner", "Person", inverse: "dogs", isOptional: isOptional)]
    let old = Self.version(1, owner, Self.dogs)
    let rules = MappingRules(
      source: 1, destination: 2,
      entities: [EntityRule(destination: "Dog", filter: try FetchPredicate(format: "name != 'D4'"))])
    let model = MigrationFixture.model([old, Self.version(2, owner, Self.dogs)], mappings: [rules])
    let fixture = try MigrationFixture()
    try fixture.create([old]) { context in
      try Self.fill(context)
      if isOptional { return }
      for dog in try context.fetch(FetchRequest<ManagedObject>(entityName: "Dog")) {
        if try dog.value(forKey: "name").attribute == .string("D5") { context.delete(dog) }
      }
    }
    let row = try #require(try fixture.column("SELECT _pk FROM Dog WHERE name = 'D1'").first ?? nil)
    try PlainSQL.run(
      "PRAGMA foreign_keys = OFF; UPDATE Dog SET owner = 99 WHERE _pk = \(row)", at: fixture.url)
    guard isOptional else {
      let error = #expect(throws: MigrationError.self) { try fixture.open(model) }
      #expect(error?.reason == .danglingReference(table: "Dog"))
      #expect(error?.objectKey == Int64(row))
      #expect(fixture.files == ["store.cdstore"])
      return
    }
    try fixture.open(model)
    try fixture.verify(model)
    let kept = Self.expected.filter { $0[0] != "D4" }
    let expected: [[String?]] = kept.map { $0[0] == "D1" ? ["D1", nil] : $0 }
    #expect(try owners(fixture) == expected)
  }

  /// Each person becomes an employee and a customer, and P0 is the only member.
  @Test func aToManyRelationshipContainsAllObjectsThatWereCreatedFromOne() throws {
    func team(_ destination: String) -> EntityDescription {
      entity("Team", [Self.name], relationships: [toMany("members", destination, inverse: nil)])
    }
    let old = MigrationFixture.version(1, [entity("Person", [Self.name]), team("Person")])
    let new = MigrationFixture.version(
      2,
      [
        entity("Party", isAbstract: true, [Self.name]), entity("Employee", parent: "Party"),
        entity("Customer", parent: "Party"), team("Party"),
      ])
    let rules = MappingRules(
      source: 1, destination: 2,
      entities: [
        EntityRule(destination: "Employee", source: "Person"),
        EntityRule(destination: "Customer", source: "Person"),
      ])
    try migrate(
      old, new, rules, inPlace: false,
      fill: { context in
        let persons = try (0..<2).map { number in
          let person = try context.insert(entityNamed: "Person")
          try person.setValue(.attribute(.string("P\(number)")), forKey: "name")
          return person
        }
        let team = try context.insert(entityNamed: "Team")
        try team.setValue(.attribute(.string("T")), forKey: "name")
        try team.setValue(.objects([persons[0]]), forKey: "members")
      },
      check: { fixture throws in
        #expect(
          try fixture.rows(
            "SELECT p.name, p._entity FROM \"Team.members\" j JOIN Party p ON p._pk = j._target "
              + "ORDER BY p._entity") == [["P0", "Customer"], ["P0", "Employee"]])
        #expect(try fixture.column("SELECT count(*) FROM Party") == ["4"])
      })
  }

  @Test func toManyBecomesOrdered() throws {
    let new = Self.version(2, Self.owner, [toMany("dogs", "Dog", inverse: "owner", isOrdered: true)])
    try migrate(
      Self.version(1, Self.owner, Self.dogs), new, inPlace: true,
      check: { fixture throws in
        #expect(try owners(fixture) == Self.expected)
      })
  }

  @Test func theOrderStays() throws {
    let old = Self.version(1, Self.owner, [toMany("dogs", "Dog", inverse: "owner", isOrdered: true)])
    let new = Self.version(
      2, Self.owner, [toMany("dogs", "Dog", inverse: "owner", isOrdered: true)],
      extra: [attribute("tag", .uuid, isOptional: true), attribute("stamp", .string, .string("x"))])
    var rewriting = new
    rewriting.entities[0].attributes[0].isOptional = true
    for version in [new, rewriting] {
      try migrate(
        old, version, inPlace: version == new,
        fill: { context in
          try Self.fill(context, key: nil)
          let dogs = try context.fetch(FetchRequest<ManagedObject>(entityName: "Dog"))
          let person = try context.fetch(FetchRequest<ManagedObject>(entityName: "Person"))[0]
          let sorted = dogs.sorted { $0.objectID.key > $1.objectID.key }
          try person.setValue(.objects(sorted), forKey: "dogs")
        },
        check: { fixture throws in
          #expect(
            try fixture.column("SELECT name FROM Dog ORDER BY \"owner.position\"") == [
              "D5", "D4", "D3", "D2", "D1", "D0",
            ])
        })
    }
  }

  /// Code of an app: it marks the names, and leaves out those without an owner where it is to.
  private struct Marking: EntityMigrationPolicy {
    let leavesOut: Bool

    func createDestinationInstances(
      for source: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
    ) throws {
      if leavesOut, try source.value(forKey: "owner").object == nil { return }
      guard case .string(let name)? = try source.value(forKey: "name").attribute else { return }
      let dog = try manager.makeDestinationInstance(for: source, in: mapping)
      try dog.setValue(name + "*", forKey: "name")
    }
  }

  private func migrateByPolicy(leavingOut: Bool, _ fixture: MigrationFixture) throws {
    let old = Self.version(1, Self.owner, Self.dogs)
    let new = Self.version(2, [toOne("owner", "Person", inverse: "dogs", isOptional: false)], Self.dogs)
    let rules = MappingRules(
      source: 1, destination: 2,
      entities: [
        EntityRule(destination: "Dog", name: "KeepDogs", isCustom: true)
      ])
    let model = MigrationFixture.model([old, new], mappings: [rules])
    try fixture.create([old]) { try Self.fill($0) }
    let error = #expect(throws: MigrationError.self) { try fixture.open(model) }
    #expect(error?.reason == .missingPolicy(mapping: "KeepDogs"))
    #expect(error?.entity == "Dog")
    var policies = MigrationPolicies()
    policies["KeepDogs", from: 1, to: 2] = { Marking(leavesOut: leavingOut) }
    try fixture.open(model) { $0.migrationPolicies = policies }
    try fixture.verify(model)
  }

  @Test func aPolicyMakesObjects() throws {
    let fixture = try MigrationFixture()
    try migrateByPolicy(leavingOut: true, fixture)
    #expect(try owners(fixture) == Self.expected.prefix(5).map { [$0[0].map { $0 + "*" }, $0[1]] })
  }

  @Test func aMandatoryRelationshipWithoutAnObjectNamesTheRow() throws {
    let fixture = try MigrationFixture()
    let error = #expect(throws: MigrationError.self) { try migrateByPolicy(leavingOut: false, fixture) }
    #expect(error?.step?.source == 1 && error?.step?.destination == 2)
    #expect(error?.entity == "Dog")
    #expect(error?.reason == .missingValue(property: "owner"))
    #expect(error?.objectKey == 6)
    #expect(fixture.files == ["store.cdstore"])
    try fixture.verify(MigrationFixture.model([Self.version(1, Self.owner, Self.dogs)]))
  }

  @Test func parentsChange() throws {
    let old = MigrationFixture.version(
      1,
      [
        entity("Animal", isAbstract: true, [Self.name]),
        entity(
          "Dog", parent: "Animal", [attribute("bark", .string)],
          relationships: [toOne("friend", "Cat", inverse: "friends")]),
        entity("Cat", [Self.name], relationships: [toMany("friends", "Dog", inverse: "friend")]),
      ])
    let new = MigrationFixture.version(
      2,
      [
        entity("Animal", isAbstract: true, [Self.name]),
        entity(
          "Dog", parent: "Animal", [attribute("bark", .string)],
          relationships: [toOne("friend", "Cat", inverse: "friends")]),
        entity("Cat", parent: "Animal", relationships: [toMany("friends", "Dog", inverse: "friend")]),
      ])
    try migrate(
      old, new, inPlace: false,
      fill: { context in
        for number in 0..<3 {
          let dog = try context.insert(entityNamed: "Dog")
          let cat = try context.insert(entityNamed: "Cat")
          try dog.setValue(.attribute(.string("D\(number)")), forKey: "name")
          try dog.setValue(.attribute(.string("B\(number)")), forKey: "bark")
          try cat.setValue(.attribute(.string("C\(number)")), forKey: "name")
          try dog.setValue(.object(cat), forKey: "friend")
        }
      },
      check: { fixture throws in
        #expect(
          try fixture.rows(
            "SELECT d.name, d.bark, c.name, c._entity FROM Animal d JOIN Animal c ON c._pk = d.friend ORDER BY d._pk"
          ) == [
            ["D0", "B0", "C0", "Cat"], ["D1", "B1", "C1", "Cat"], ["D2", "B2", "C2", "Cat"],
          ])
      })
  }

  @Test func identifiersOfMovedAndRenamedEntitiesLeadToTheirObjects() throws {
    let old = MigrationFixture.version(
      1,
      [
        entity("Animal", isAbstract: true, [Self.name]), entity("Dog", parent: "Animal"),
        entity("Cat", [Self.name]),
      ])
    var new = old
    new.number = 2
    new.basedOn = [1]
    new.entities[2] = entity("Feline", parent: "Animal", renamedFrom: "Cat")
    let fixture = try MigrationFixture()
    let uris = try fixture.using(
      MigrationFixture.model([old]),
      body: { context in
        try ["Dog", "Cat", "Cat", "Cat"].enumerated().map { number, name in
          let object = try context.insert(entityNamed: name)
          try object.setValue(.attribute(.string("\(name)\(number)")), forKey: "name")
          return object.objectID.uriRepresentation
        }
      })
    let model = MigrationFixture.model([old, new])
    let names = try fixture.using(
      model,
      body: { context in
        try uris.map { uri in
          let id = context.persistentStoreCoordinator.managedObjectID(forURIRepresentation: uri)
          let object = try id.map { try context.existingObject(with: $0) }
          // The URI of now leads to the same object.
          let again = object.flatMap {
            context.persistentStoreCoordinator.managedObjectID(
              forURIRepresentation: $0.objectID.uriRepresentation)
          }
          #expect(again == id)
          return try object?.value(forKey: "name").attribute
        }
      })
    #expect(names == [.string("Dog0"), .string("Cat1"), .string("Cat2"), .string("Cat3")])
    try fixture.verify(model)
  }

  /// The rename is in a version that the step jumps over.
  @Test func identifiersLeadToTheirObjectsAfterAJump() throws {
    let old = MigrationFixture.version(
      1,
      [
        entity("Animal", isAbstract: true, [Self.name]), entity("Dog", parent: "Animal"),
        entity("Cat", [Self.name]),
      ])
    var second = old
    second.number = 2
    second.basedOn = [1]
    second.entities[2] = entity("Feline", renamedFrom: "Cat", [Self.name])
    var third = second
    third.number = 3
    third.basedOn = [2]
    third.entities[2] = entity("Feline", parent: "Animal")
    let jump = MappingRules(
      source: 1, destination: 3,
      entities: [
        EntityRule(
          destination: "Feline",
          attributes: [PropertyMapping(name: "name", value: try ValueExpression(format: "name + '!'"))])
      ])
    let fixture = try MigrationFixture()
    let uris = try fixture.using(MigrationFixture.model([old])) { context in
      try ["Dog", "Dog", "Cat", "Cat"].enumerated().map { number, name in
        let object = try context.insert(entityNamed: name)
        try object.setValue(.attribute(.string("\(name)\(number)")), forKey: "name")
        return object.objectID.uriRepresentation
      }
    }
    let model = MigrationFixture.model([old, second, third], mappings: [jump])
    let names = try fixture.using(model) { context in
      try uris.map { uri in
        let id = context.persistentStoreCoordinator.managedObjectID(forURIRepresentation: uri)
        return try id.map { try context.existingObject(with: $0) }?.value(forKey: "name").attribute
      }
    }
    #expect(names == [.string("Dog0"), .string("Dog1"), .string("Cat2!"), .string("Cat3!")])
    try fixture.verify(model)
  }

  /// The keys change when an entity gets a parent. It gets one twice, and a new name in between, with new tables or in
  /// place.
  @Test(arguments: [false, true])
  func identifiersFromBeforeARenameLeadToTheirObjectsAfterAnotherMove(isInPlace: Bool) throws {
    let cat = entity("Cat", [Self.name])
    let child = entity("Cat", parent: "Animal")
    let feline = entity("Feline", [Self.name])
    let felineChild = entity("Feline", parent: "Animal")
    let renamed =
      isInPlace
      ? [cat, entity("Feline", renamedFrom: "Cat", [Self.name])]
      : [entity("Feline", parent: "Animal", renamedFrom: "Cat"), feline]
    let entities: [EntityDescription] = [cat, child] + renamed + [felineChild]
    let versions = entities.enumerated().map { index, own in
      MigrationFixture.version(
        index + 1,
        [entity("Animal", isAbstract: true, [Self.name]), entity("Dog", parent: "Animal"), own])
    }
    let fixture = try MigrationFixture()
    var known: [(uri: URL, name: AttributeValue?)] = []
    for (index, own) in entities.enumerated() {
      let model = MigrationFixture.model(Array(versions[...index]))
      try fixture.using(model) { context in
        if index == 0 {
          for (number, name) in ["Dog", "Dog", "Cat", "Cat", "Cat"].enumerated() {
            let object = try context.insert(entityNamed: name)
            try object.setValue(.attribute(.string("\(name)\(number)")), forKey: "name")
          }
          try context.save()
        }
        for name in ["Dog", own.name] {
          for object in try context.fetch(FetchRequest<ManagedObject>(entityName: name)) {
            known.append((object.objectID.uriRepresentation, try object.value(forKey: "name").attribute))
          }
        }
        for (uri, name) in known {
          let id = context.persistentStoreCoordinator.managedObjectID(forURIRepresentation: uri)
          let object = try id.map { try context.existingObject(with: $0) }
          #expect(try object?.value(forKey: "name").attribute == name, "\(uri) in version \(index + 1)")
        }
      }
    }
    #expect(known.count == 25)
  }

  /// The objects that were of the entity before keep their keys, whichever mapping comes first, and each identifier leads
  /// to its own object.
  @Test(arguments: [false, true], [false, true])
  func identifiersOfMergedEntitiesLeadToTheirObjects(isPlainLast: Bool, isRenamed: Bool) throws {
    let old = MigrationFixture.version(1, [entity("Comment", [Self.name]), entity("Letter", [Self.name])])
    let name = isRenamed ? "Remark" : "Comment"
    var new = MigrationFixture.version(
      2, [entity(name, renamedFrom: isRenamed ? "Comment" : nil, [Self.name])])
    new.basedOn = [1]
    let sources = isPlainLast ? ["Letter", "Comment"] : ["Comment", "Letter"]
    let rules = MappingRules(
      source: 1, destination: 2, entities: sources.map { EntityRule(destination: name, source: $0) })
    let fixture = try MigrationFixture()
    func read(_ context: ManagedObjectContext, _ uri: URL) throws -> AttributeValue? {
      let id = context.persistentStoreCoordinator.managedObjectID(forURIRepresentation: uri)
      return try id.map { try context.existingObject(with: $0) }?.value(forKey: "name").attribute
    }
    let uris = try fixture.using(
      MigrationFixture.model([old]),
      body: { context in
        try ["Comment", "Comment", "Letter", "Letter", "Letter"].enumerated().map { number, name in
          let object = try context.insert(entityNamed: name)
          try object.setValue(.attribute(.string("\(name)\(number)")), forKey: "name")
          return object.objectID.uriRepresentation
        }
      })
    let model = MigrationFixture.model([old, new], mappings: [rules])
    try fixture.using(
      model,
      body: { context in
        #expect(
          try uris.prefix(2).map { try read(context, $0) } == [.string("Comment0"), .string("Comment1")])
        let all = try context.fetch(FetchRequest<ManagedObject>(entityName: name))
        #expect(all.count == 5)
        for object in all {
          #expect(
            try read(context, object.objectID.uriRepresentation) == object.value(forKey: "name").attribute)
        }
        let kept = all.filter { [1, 2].contains($0.objectID.key) }
        #expect(
          try Set(kept.map { try $0.value(forKey: "name").attribute }) == [
            .string("Comment0"), .string("Comment1"),
          ])
      })
    try fixture.verify(model)
  }

  @Test func compositesAndLargeValuesGoOn() throws {
    let place = CompositeDescription(
      name: "Place", fields: [attribute("street", .string), attribute("city", .string, isOptional: true)])
    func version(_ number: Int, _ extra: [AttributeDescription], isOptional: Bool) -> ModelVersion {
      MigrationFixture.version(
        number,
        [
          entity(
            "Doc",
            [
              attribute("name", .string, isOptional: isOptional),
              attribute("at", .composite("Place"), isOptional: true),
              AttributeDescription(name: "body", type: .data, isOptional: true, storesExternally: true),
            ] + extra)
        ], composites: [place])
    }
    let fixture = try MigrationFixture()
    let large = Data(repeating: 7, count: 100_000)
    let old = version(1, [], isOptional: false)
    try fixture.create([old]) { context in
      let doc = try context.insert(entityNamed: "Doc")
      try doc.setValue(.attribute(.string("d")), forKey: "name")
      try doc.setValue(.attribute(.composite(["street": .string("s"), "city": .null])), forKey: "at")
      try doc.setValue(.attribute(.data(large)), forKey: "body")
    }
    // The values of the second step are converted an object at a time, from a file of the first.
    let second = version(2, [], isOptional: true)
    var third = second
    third.number = 3
    third.basedOn = [2]
    third.entities[0].attributes[2].storesExternally = false
    let model = MigrationFixture.model([old, second, third])
    let body = try fixture.using(
      model, { $0.keepsBackup = true },
      body: { context in
        let doc = try context.fetch(FetchRequest<ManagedObject>(entityName: "Doc"))[0]
        #expect(
          try doc.value(forKey: "at").attribute == .composite(["street": .string("s"), "city": .null]))
        return try doc.value(forKey: "body").attribute
      })
    #expect(body == .data(large))
    try fixture.verify(model)
  }

  @Test func derivedAttributesAreComputed() throws {
    let old = Self.version(1, Self.owner, Self.dogs)
    var new = Self.version(2, Self.owner, Self.dogs)
    new.entities[1].attributes.append(
      AttributeDescription(
        name: "dogCount", type: .int64, isOptional: true,
        derivation: .path(.object, [.key("dogs"), .collectionOperator("count")])))
    try migrate(
      old, new, inPlace: false,
      check: { fixture throws in
        #expect(try fixture.column("SELECT dogCount FROM Person ORDER BY _pk") == ["2", "2", "1"])
      })
  }
}
