import Foundation
import Testing

@_spi(Generated) @testable import CDRuntime

/// Which objects the app's own code makes, and their values.
@Suite(.needs(.migrations)) struct CustomObjectTests {
  private static let custom = Notes.rules([EntityRule(destination: "Note", name: "Note", isCustom: true)])

  @Test func theDefaultMakesWhatTheRulesSay() throws {
    let fixture = try MigrationFixture()
    let rules = Notes.rules([
      EntityRule(
        destination: "Note", name: "Note", isCustom: true, filter: try FetchPredicate(format: "rank > 1"),
        attributes: [
          PropertyMapping(name: "text", value: try ValueExpression(format: "text + '!'"))
        ])
    ])
    try Notes.migrate(Notes.version(1), Notes.version(2), rules, ["Note": { TestPolicy() }], in: fixture)
    #expect(
      try fixture.rows("SELECT _pk, text, rank, category FROM Note ORDER BY _pk") == [
        ["3", "N2!", "2", "3"], ["4", "N3!", "3", "1"], ["5", "N4!", "4", "2"], ["6", "N5!", "5", nil],
      ])
    #expect(
      try fixture.rows("SELECT _pk, name FROM Category ORDER BY _pk") == [
        ["1", "C0"], ["2", "C1"], ["3", "C2"],
      ])
  }

  @Test func oneSourceObjectBecomesNoneOneOrSeveral() throws {
    let fixture = try MigrationFixture()
    try Notes.migrate(
      Notes.version(1), Notes.version(2), Self.custom,
      [
        "Note": {
          TestPolicy(create: { source, mapping, manager in
            for copy in 0..<(try source.int("rank") % 3) {
              let note = try manager.makeDestinationInstance(for: source, in: mapping)
              try note.setValue("\(try source.text("text")).\(copy)", forKey: "text")
            }
          })
        }
      ], in: fixture)
    // The first keeps the key; the others get new ones, behind all that were ever reserved: 1, 2 and 4 of them.
    #expect(
      try fixture.rows(Notes.pairs) == [
        ["N1.0", "C1"], ["N2.0", "C2"], ["N4.0", "C1"], ["N5.0", nil], ["N2.1", "C2"], ["N5.1", nil],
      ])
    #expect(try fixture.column("SELECT _pk FROM Note ORDER BY _pk") == ["2", "3", "5", "6", "8", "9"])
    #expect(try fixture.column("SELECT next FROM _cdgen_keys WHERE entity = 'Note'") == ["10"])
  }

  @Test func furtherObjectsOfNewEntitiesAreMade() throws {
    let fixture = try MigrationFixture()
    let new = Notes.version(
      2, more: [toOne("tag", "Tag", inverse: "notes", isOptional: false)],
      others: [
        entity("Tag", [attribute("name", .string)], relationships: [toMany("notes", "Note", inverse: "tag")])
      ])
    try Notes.migrate(
      Notes.version(1), new, Self.custom,
      [
        "Note": {
          // Kept for the whole step.
          let tags = Cache()
          return TestPolicy(create: { source, mapping, manager in
            let note = try manager.makeDestinationInstance(for: source, in: mapping)
            let kind = try source.int("rank") % 2
            let tag = try tags.objects[kind] ?? manager.destinationContext.insert(entityNamed: "Tag")
            tags.objects[kind] = tag
            try tag.setValue("T\(kind)", forKey: "name")
            try note.setValue(tag, forKey: "tag")
          })
        }
      ], in: fixture)
    #expect(
      try fixture.rows("SELECT n.text, t.name, t._pk FROM Note n JOIN Tag t ON t._pk = n.tag ORDER BY n._pk")
        == [
          ["N0", "T0", "1"], ["N1", "T1", "2"], ["N2", "T0", "1"], ["N3", "T1", "2"], ["N4", "T0", "1"],
          ["N5", "T1", "2"],
        ])
    #expect(try fixture.rows(Notes.pairs).map { $0[1] } == ["C0", "C1", "C2", "C0", "C1", nil])
    #expect(try fixture.column("SELECT next FROM _cdgen_keys WHERE entity = 'Tag'") == ["3"])
  }

  @Test func aMappingWithoutASourceMakesItsObjectsInBegin() throws {
    let fixture = try MigrationFixture()
    let new = Notes.version(
      2, others: [entity("Setting", [attribute("key", .string), attribute("n", .int64)])])
    let rules = Notes.rules([EntityRule(destination: "Setting", name: "Setting", isCustom: true)])
    try Notes.migrate(
      Notes.version(1), new, rules,
      [
        "Setting": {
          TestPolicy(
            begin: { _, manager in
              let notes = try manager.sourceContext.fetch(FetchRequest<ManagedObject>(entityName: "Note"))
              let setting = try manager.destinationContext.insert(entityNamed: "Setting")
              try setting.setValue("notes", forKey: "key")
              try setting.setValue(notes.count, forKey: "n")
            },
            relate: { setting, _, _ in try setting.setValue(try setting.int("n") + 100, forKey: "n") })
        }
      ], in: fixture)
    #expect(try fixture.rows("SELECT key, n FROM Setting") == [["notes", "106"]])
    #expect(try fixture.rows(Notes.pairs).count == 6)
  }

  @Test func hooksAreCalledInOrder() throws {
    let fixture = try MigrationFixture()
    let log = Log()
    try Notes.migrate(
      Notes.version(1), Notes.version(2), Self.custom,
      [
        "Note": {
          TestPolicy(
            begin: { _, manager in
              log.add("begin")
              #expect(manager.sourceModel.number == 1 && manager.destinationModel.number == 2)
              #expect(manager.mappingModel.entityMapping(named: "Note")?.kind == .custom)
            },
            create: {
              log.add("create")
              try $2.makeDestinationInstance(for: $0, in: $1)
            }, endCreation: { _, _ in log.add("endCreation") },
            relate: { _, _, _ in log.add("relate") }, endRelation: { _, _ in log.add("endRelation") },
            validate: { _, manager in
              log.add("validate")
              let notes = try manager.destinationContext.fetch(
                FetchRequest<ManagedObject>(entityName: "Note"))
              #expect(try notes.map { try $0.text("text") }.sorted() == ["N0", "N1", "N2", "N3", "N4", "N5"])
            }, end: { _, _ in log.add("end") })
        }
      ], in: fixture)
    #expect(
      log.entries == ["begin"] + Array(repeating: "create", count: 6) + ["endCreation"]
        + Array(repeating: "relate", count: 6) + ["endRelation", "validate", "end"])
  }

  @Test func everyKindOfValueGoesThrough() throws {
    let place = CompositeDescription(
      name: "Place", fields: [attribute("street", .string), attribute("city", .string, isOptional: true)])
    let attributes = [
      attribute("text", .string), attribute("rank", .int64), attribute("flag", .bool),
      attribute("small", .int16),
      attribute("ratio", .double), attribute("third", .float), attribute("price", .decimal),
      attribute("day", .date), attribute("id", .uuid), attribute("link", .url, isOptional: true),
      attribute("at", .composite("Place"), isOptional: true),
      AttributeDescription(name: "body", type: .data, isOptional: true, storesExternally: true),
    ]
    func version(_ number: Int, _ more: [AttributeDescription] = []) -> ModelVersion {
      Notes.version(number, note: attributes + more, composites: [place])
    }
    let id = try #require(UUID(uuidString: "6F9619FF-8B86-D011-B42D-00CF4FC964FF"))
    let link = try #require(URL(string: "https://example.org/a?b=c"))
    let large = Data(repeating: 7, count: 200_000)
    let values: [String: AttributeValue] = [
      "text": .string("é"), "rank": .int(.max), "flag": .bool(true), "small": .int(-7), "ratio": .double(0.1),
      "third": .double(Double(Float(1) / 3)), "price": .decimal(Decimal(string: "-12.50") ?? 0),
      "day": .date(Date(timeIntervalSinceReferenceDate: 0.125)), "id": .uuid(id), "link": .url(link),
      "at": .composite(["street": .string("s"), "city": .null]), "body": .data(large),
    ]
    let fixture = try MigrationFixture()
    let new = version(2, [attribute("mark", .string)])
    let model = MigrationFixture.model([version(1), new], mappings: [Self.custom])
    try fixture.create([version(1)]) { context in
      let note = try context.insert(entityNamed: "Note")
      for (key, value) in values { try note.setValue(.attribute(value), forKey: key) }
    }
    var policies = MigrationPolicies()
    policies["Note", from: 1, to: 2] = {
      TestPolicy(create: { source, mapping, manager in
        let note = try manager.makeDestinationInstance(for: source, in: mapping)
        for (key, value) in values {
          #expect(try source.value(forKey: key).attribute == value)
          #expect(try note.value(forKey: key).attribute == value)
        }
        try note.setValue("m", forKey: "mark")
      })
    }
    try fixture.using(
      model, { $0.migrationPolicies = policies },
      body: { context in
        let note = try #require(try context.fetch(FetchRequest<ManagedObject>(entityName: "Note")).first)
        for (key, value) in values { #expect(try note.value(forKey: key).attribute == value) }
        #expect(try note.text("mark") == "m")
      })
    try fixture.verify(model)
    #expect(!fixture.files.contains { $0.hasSuffix("-migrating-files") })
  }

  @Test func duplicatesOfWhatPoliciesMadeAreThinned() throws {
    let fixture = try MigrationFixture()
    let rules = Notes.rules(
      [EntityRule(destination: "Category", name: "Category", isCustom: true)],
      duplicates: [DuplicateRule(entity: "Category", properties: ["name"], survivor: .keepFirst)])
    var new = Notes.version(2)
    new.entities[1].uniquenessConstraints = [["name"]]
    try Notes.migrate(
      Notes.version(1), new, rules,
      [
        "Category": {
          TestPolicy(create: { source, mapping, manager in
            let category = try manager.makeDestinationInstance(for: source, in: mapping)
            if try source.text("name") == "C2" { try category.setValue("C0", forKey: "name") }
          })
        }
      ], in: fixture)
    #expect(try fixture.rows(Notes.pairs).map { $0[1] } == ["C0", "C1", "C0", "C0", "C1", nil])
    #expect(try fixture.column("SELECT name FROM Category ORDER BY _pk") == ["C0", "C1"])
  }

  @Test func derivedAttributesAreComputedOfWhatPoliciesMade() throws {
    let fixture = try MigrationFixture()
    var new = Notes.version(2)
    new.entities[1].attributes.append(
      AttributeDescription(
        name: "noteCount", type: .int64,
        derivation: .path(.object, [.key("notes"), .collectionOperator("count")])))
    try Notes.migrate(
      Notes.version(1), new, Self.custom,
      [
        "Note": {
          TestPolicy(create: {
            if try $0.int("rank") != 4 { try $2.makeDestinationInstance(for: $0, in: $1) }
          })
        }
      ],
      in: fixture)
    #expect(try fixture.column("SELECT noteCount FROM Category ORDER BY _pk") == ["2", "1", "1"])
  }

  @Test func subentitiesHaveMappingsOfTheirOwn() throws {
    func version(_ number: Int, _ more: [AttributeDescription] = []) -> ModelVersion {
      MigrationFixture.version(
        number,
        [
          entity("Animal", isAbstract: true, [attribute("name", .string)]),
          entity("Dog", parent: "Animal", [attribute("bark", .string)] + more),
          entity("Cat", parent: "Animal"),
        ])
    }
    let fixture = try MigrationFixture()
    try Notes.migrate(
      version(1), version(2, [attribute("age", .int64)]),
      Notes.rules([EntityRule(destination: "Dog", name: "Dog", isCustom: true)]),
      [
        "Dog": {
          TestPolicy(
            create: { source, mapping, manager in
              let dog = try manager.makeDestinationInstance(for: source, in: mapping)
              try dog.setValue(3, forKey: "age")
              let cat = try manager.destinationContext.insert(entityNamed: "Cat")
              try cat.setValue("of " + source.text("name"), forKey: "name")
            },
            relate: { dog, _, manager in
              #expect(
                try manager.sourceInstances(for: [dog]).map { try $0.text("name") } == [dog.text("name")])
              try dog.setValue(dog.text("name") + "!", forKey: "name")
            })
        }
      ], in: fixture,
      fill: { context in
        for number in 0..<4 {
          let animal = try context.insert(entityNamed: number % 2 == 0 ? "Dog" : "Cat")
          try animal.setValue("A\(number)", forKey: "name")
          if number % 2 == 0 { try animal.setValue("b", forKey: "bark") }
        }
      })
    #expect(
      try fixture.rows("SELECT _pk, _entity, name, bark, age FROM Animal ORDER BY _pk").map { $0.dropFirst() }
        == [
          ["Dog", "A0!", "b", "3"], ["Cat", "A1", nil, nil], ["Dog", "A2!", "b", "3"],
          ["Cat", "A3", nil, nil],
          ["Cat", "of A0", nil, nil], ["Cat", "of A2", nil, nil],
        ])
  }
}
