import Foundation
import Testing

@_spi(Generated) @testable import CDRuntime

/// Relationships between what the app's own code makes, and what rules make.
@Suite(.needs(.migrations)) struct CustomRelationshipTests {
  private static let note = Notes.rules([EntityRule(destination: "Note", name: "Note", isCustom: true)])
  private static let category = Notes.rules([
    EntityRule(destination: "Category", name: "Category", isCustom: true)
  ])
  private static let both = Notes.rules([
    EntityRule(destination: "Note", name: "Note", isCustom: true),
    EntityRule(destination: "Category", name: "Category", isCustom: true),
  ])
  private static let names = ["C0", "C1", "C2", "C0", "C1", nil]

  /// Each category becomes one of a new key, as if it had been made anew.
  private static func remade() -> TestPolicy {
    TestPolicy(create: { source, mapping, manager in
      let category = try manager.destinationContext.insert(entityNamed: "Category")
      try category.setValue(source.text("name") + "'", forKey: "name")
      manager.associate(source, with: category, in: mapping)
    })
  }

  /// C1 goes.
  private static func leavingOut() -> TestPolicy {
    TestPolicy(create: { source, mapping, manager in
      if try source.text("name") != "C1" { try manager.makeDestinationInstance(for: source, in: mapping) }
    })
  }

  @Test func mappedObjectsFollowCustomOnes() throws {
    let cases: [(@Sendable () -> TestPolicy, [String?])] = [
      ({ TestPolicy() }, Self.names), ({ Self.remade() }, Self.names.map { $0.map { $0 + "'" } }),
      ({ Self.leavingOut() }, Self.names.map { $0 == "C1" ? nil : $0 }),
    ]
    for (make, names) in cases {
      let fixture = try MigrationFixture()
      try Notes.migrate(Notes.version(1), Notes.version(2), Self.category, ["Category": make], in: fixture)
      #expect(try fixture.rows(Notes.pairs).map { $0[1] } == names)
    }
  }

  /// C0 becomes two objects, of which the first one goes. C1 becomes one that goes.
  @Test func noReferenceLeadsToAnAssociatedObjectThatIsDeleted() throws {
    let fixture = try MigrationFixture()
    try Notes.migrate(
      Notes.version(1), Notes.version(2), Self.category,
      [
        "Category": {
          TestPolicy(create: { source, mapping, manager in
            let name = try source.text("name")
            let suffixes = ["C0": ["-", "'"], "C1": ["-"], "C2": ["'"]]
            for suffix in suffixes[name] ?? [] {
              let category = try manager.destinationContext.insert(entityNamed: "Category")
              try category.setValue(name + suffix, forKey: "name")
              manager.associate(source, with: category, in: mapping)
              if suffix == "-" { manager.destinationContext.delete(category) }
            }
          })
        }
      ], in: fixture)
    #expect(try fixture.rows(Notes.pairs).map { $0[1] } == ["C0'", nil, "C2'", "C0'", nil, nil])
  }

  @Test func mandatoryReferencesOfMappedObjectsFollowCustomOnes() throws {
    let old = Notes.version(1, category: toOne("category", "Category", inverse: "notes", isOptional: false))
    var new = old
    (new.number, new.basedOn) = (2, [1])
    func fill(_ context: ManagedObjectContext) throws {
      for number in 0..<3 {
        let category = try context.insert(entityNamed: "Category")
        try category.setValue("C\(number)", forKey: "name")
        let note = try context.insert(entityNamed: "Note")
        try note.setValue("N\(number)", forKey: "text")
        try note.setValue(number, forKey: "rank")
        try note.setValue(category, forKey: "category")
      }
    }
    let fixture = try MigrationFixture()
    try Notes.migrate(old, new, Self.category, ["Category": { Self.remade() }], in: fixture, fill: fill)
    #expect(try fixture.rows(Notes.pairs) == [["N0", "C0'"], ["N1", "C1'"], ["N2", "C2'"]])

    let other = try MigrationFixture()
    let error = #expect(throws: MigrationError.self) {
      try Notes.migrate(old, new, Self.category, ["Category": { Self.leavingOut() }], in: other, fill: fill)
    }
    #expect(error?.reason == .missingValue(property: "category"))
    #expect(error?.entity == "Note")
    #expect(error?.objectKey == 2)
    #expect(other.files == ["store.cdstore"])
    #expect(try other.column("SELECT name FROM Category ORDER BY _pk") == ["C0", "C1", "C2"])
  }

  /// The object that is left out stores the reference.
  @Test func mandatoryInversesOfMappedObjectsNeedCustomOnes() throws {
    func version(_ number: Int) -> ModelVersion {
      MigrationFixture.version(
        number,
        [
          entity(
            "Invoice", [attribute("name", .string)],
            relationships: [toOne("order", "Order", inverse: "invoice", isOptional: false)]),
          entity(
            "Order", [attribute("name", .string)],
            relationships: [toOne("invoice", "Invoice", inverse: "order", isOptional: false)]),
        ])
    }
    func fill(_ context: ManagedObjectContext) throws {
      for number in 0..<3 {
        let order = try context.insert(entityNamed: "Order")
        try order.setValue("O\(number)", forKey: "name")
        let invoice = try context.insert(entityNamed: "Invoice")
        try invoice.setValue("C\(number)", forKey: "name")
        try invoice.setValue(order, forKey: "order")
        // Keys are in this order.
        try context.save()
      }
    }
    let rules = Notes.rules([EntityRule(destination: "Invoice", name: "Invoice", isCustom: true)])
    let fixture = try MigrationFixture()
    try Notes.migrate(version(1), version(2), rules, ["Invoice": { TestPolicy() }], in: fixture, fill: fill)

    let other = try MigrationFixture()
    let error = #expect(throws: MigrationError.self) {
      try Notes.migrate(
        version(1), version(2), rules, ["Invoice": { Self.leavingOut() }], in: other, fill: fill)
    }
    #expect(error?.reason == .missingValue(property: "invoice"))
    #expect(error?.entity == "Order" && error?.objectKey == 2)
    #expect(other.files == ["store.cdstore"])
  }

  @Test func bothSidesMayBeCustom() throws {
    let fixture = try MigrationFixture()
    try Notes.migrate(
      Notes.version(1), Notes.version(2), Self.both,
      ["Note": { TestPolicy() }, "Category": { Self.remade() }],
      in: fixture)
    #expect(try fixture.rows(Notes.pairs).map { $0[1] } == Self.names.map { $0.map { $0 + "'" } })
  }

  @Test func ordersStay() throws {
    let old = Notes.version(1, notes: toMany("notes", "Note", inverse: "category", isOrdered: true))
    var new = old
    (new.number, new.basedOn) = (2, [1])
    func fill(_ context: ManagedObjectContext) throws {
      try Notes.fill(context)
      let category = try context.fetch(FetchRequest<ManagedObject>(entityName: "Category"))[0]
      let notes = try context.fetch(FetchRequest<ManagedObject>(entityName: "Note"))
      try category.setValue([5, 3, 1, 0].map { notes[$0] }, forKey: "notes")
    }
    let cases: [(MappingRules, [String: @Sendable () -> TestPolicy])] = [
      (Self.note, ["Note": { TestPolicy() }]), (Self.category, ["Category": { Self.remade() }]),
      (Self.both, ["Note": { TestPolicy() }, "Category": { Self.remade() }]),
    ]
    for (rules, policies) in cases {
      let fixture = try MigrationFixture()
      try Notes.migrate(old, new, rules, policies, in: fixture, fill: fill)
      #expect(
        try fixture.column(
          "SELECT n.text FROM Note n JOIN Category c ON c._pk = n.category WHERE c.name LIKE 'C0%' "
            + "ORDER BY n.\"category.position\"") == ["N5", "N3", "N1", "N0"])
    }
  }

  @Test func policiesSetOrders() throws {
    let fixture = try MigrationFixture()
    let new = Notes.version(2, notes: toMany("notes", "Note", inverse: "category", isOrdered: true))
    try Notes.migrate(
      Notes.version(1), new, Self.category,
      [
        "Category": {
          TestPolicy(relate: { category, _, _ in
            let notes = try category.value(forKey: "notes").objects
            try category.setValue(Array(notes.reversed()), forKey: "notes")
          })
        }
      ], in: fixture)
    #expect(
      try fixture.rows(
        "SELECT c.name, n.text FROM Note n JOIN Category c ON c._pk = n.category ORDER BY c._pk, n.\"category.position\""
      ) == [["C0", "N3"], ["C0", "N0"], ["C1", "N4"], ["C1", "N1"], ["C2", "N2"]])
  }

  /// The members come by rules, and some of them have a new owner, whom the app's code gave them as a whole.
  @Test(arguments: [false, true]) func aWholeSetOfMembersGoesBeforeTheRules(isOrdered: Bool) throws {
    let old = Notes.version(1, notes: toMany("notes", "Note", inverse: "category", isOrdered: isOrdered))
    var new = old
    (new.number, new.basedOn) = (2, [1])
    let fixture = try MigrationFixture()
    try Notes.migrate(
      old, new, Self.category,
      [
        "Category": {
          TestPolicy(create: { source, mapping, manager in
            let category = try manager.makeDestinationInstance(for: source, in: mapping)
            let notes = try manager.destinationContext.fetch(
              FetchRequest<ManagedObject>(entityName: "Note"))
            // C0 loses N0 to nobody and keeps N3; N5, of none, comes to it. C2 is emptied. C1 is left to the rules.
            switch try source.text("name") {
            case "C0": try category.setValue([notes[5], notes[3]], forKey: "notes")
            case "C2": try category.setValue([ManagedObject](), forKey: "notes")
            default: break
            }
          })
        }
      ], in: fixture)
    #expect(
      try fixture.rows(Notes.pairs) == [
        ["N0", nil], ["N1", "C1"], ["N2", nil], ["N3", "C0"], ["N4", "C1"], ["N5", "C0"],
      ])
    if isOrdered {
      #expect(
        try fixture.column(
          "SELECT n.text FROM Note n JOIN Category c ON c._pk = n.category WHERE c.name = 'C0' "
            + "ORDER BY n.\"category.position\"") == ["N5", "N3"])
    }
  }

  @Test func membersOfOthersComeAsAWhole() throws {
    let fixture = try MigrationFixture()
    try Notes.migrate(
      Notes.version(1), Notes.version(2), Self.category,
      [
        "Category": {
          TestPolicy(create: { source, mapping, manager in
            let category = try manager.makeDestinationInstance(for: source, in: mapping)
            guard try source.text("name") == "C2" else { return }
            let notes = try manager.destinationContext.fetch(
              FetchRequest<ManagedObject>(entityName: "Note"))
            // N0 is C0's by the rules, N1 is C1's.
            try category.setValue([notes[0], notes[1]], forKey: "notes")
          })
        }
      ], in: fixture)
    #expect(try fixture.rows(Notes.pairs).map { $0[1] } == ["C2", "C2", nil, "C0", "C1", nil])
  }

  @Test func whatPoliciesSetGoesBeforeTheRules() throws {
    let fixture = try MigrationFixture()
    try Notes.migrate(
      Notes.version(1), Notes.version(2), Self.both,
      [
        "Category": { TestPolicy() },
        "Note": {
          TestPolicy(
            create: { source, mapping, manager in
              let note = try manager.makeDestinationInstance(for: source, in: mapping)
              // Nil counts too.
              if try source.int("rank") == 0 { try note.setValue(nil, forKey: "category") }
              if try source.int("rank") == 1 {
                let category = try manager.destinationContext.insert(entityNamed: "Category")
                try category.setValue("new", forKey: "name")
                try note.setValue(category, forKey: "category")
              }
            },
            relate: { note, _, manager in
              if try note.int("rank") == 5 {
                let old = try manager.sourceContext.fetch(FetchRequest<ManagedObject>(entityName: "Category"))
                let first = try manager.destinationInstances(for: old)
                #expect(try first.map { try $0.text("name") } == ["C0", "C1", "C2"])
                try note.setValue(first[2], forKey: "category")
              }
            })
        },
      ], in: fixture)
    #expect(try fixture.rows(Notes.pairs).map { $0[1] } == [nil, "new", "C2", "C0", "C1", "C2"])
  }

  // MARK: Many to many

  private static let tags = toMany("tags", "Tag", inverse: "notes", isOrdered: true)

  private static func tagged(_ number: Int) -> ModelVersion {
    Notes.version(
      number, more: [tags],
      others: [
        entity("Tag", [attribute("name", .string)], relationships: [toMany("notes", "Note", inverse: "tags")])
      ])
  }

  private static func fillTags(_ context: ManagedObjectContext) throws {
    try Notes.fill(context)
    var tags: [ManagedObject] = []
    for number in 0..<3 {
      let tag = try context.insert(entityNamed: "Tag")
      try tag.setValue("T\(number)", forKey: "name")
      tags.append(tag)
    }
    let notes = try context.fetch(FetchRequest<ManagedObject>(entityName: "Note"))
    try notes[0].setValue([tags[2], tags[0]], forKey: "tags")
    try notes[1].setValue([tags[1]], forKey: "tags")
    try notes[2].setValue([tags[1], tags[2], tags[0]], forKey: "tags")
  }

  private func tagPairs(_ fixture: MigrationFixture) throws -> [[String?]] {
    try fixture.rows(
      "SELECT text, group_concat(name, ' ') FROM (SELECT n._pk AS pk, n.text AS text, t.name AS name "
        + "FROM \"Note.tags\" j JOIN Note n ON n._pk = j._source JOIN Tag t ON t._pk = j._target "
        + "ORDER BY n._pk, j._position) GROUP BY pk ORDER BY pk")
  }

  @Test func pairsFollowBothSides() throws {
    let renamed: @Sendable () -> TestPolicy = {
      TestPolicy(create: { source, mapping, manager in
        let tag = try manager.destinationContext.insert(entityNamed: "Tag")
        try tag.setValue(source.text("name") + "'", forKey: "name")
        manager.associate(source, with: tag, in: mapping)
      })
    }
    let twice: @Sendable () -> TestPolicy = {
      TestPolicy(create: { source, mapping, manager in
        try manager.makeDestinationInstance(for: source, in: mapping)
        if try source.int("rank") == 1 {
          let copy = try manager.makeDestinationInstance(for: source, in: mapping)
          try copy.setValue("copy", forKey: "text")
        }
      })
    }
    let both = Notes.rules([
      EntityRule(destination: "Note", name: "Note", isCustom: true),
      EntityRule(destination: "Tag", name: "Tag", isCustom: true),
    ])
    let fixture = try MigrationFixture()
    try Notes.migrate(
      Self.tagged(1), Self.tagged(2), both, ["Note": twice, "Tag": renamed], in: fixture, fill: Self.fillTags)
    #expect(
      try tagPairs(fixture) == [
        ["N0", "T2' T0'"], ["N1", "T1'"], ["N2", "T1' T2' T0'"], ["copy", "T1'"],
      ])
  }

  @Test func policiesAddToPairsOrReplaceThem() throws {
    let fixture = try MigrationFixture()
    try Notes.migrate(
      Self.tagged(1), Self.tagged(2), Self.note,
      [
        "Note": {
          TestPolicy(
            create: { source, mapping, manager in
              let note = try manager.makeDestinationInstance(for: source, in: mapping)
              let tags = try manager.destinationContext.fetch(FetchRequest<ManagedObject>(entityName: "Tag"))
              if try source.int("rank") == 2 { try note.setValue([tags[0]], forKey: "tags") }
            },
            relate: { note, _, manager in
              guard try note.int("rank") == 1 else { return }
              let tags = try manager.destinationContext.fetch(FetchRequest<ManagedObject>(entityName: "Tag"))
              try note.setValue(note.value(forKey: "tags").objects + [tags[2]], forKey: "tags")
            })
        }
      ], in: fixture, fill: Self.fillTags)
    #expect(try tagPairs(fixture) == [["N0", "T2 T0"], ["N1", "T1 T2"], ["N2", "T0"]])
  }

  private static func deleteTag(_ mapping: EntityMapping, _ manager: MigrationManager) throws {
    for tag in try manager.destinationContext.fetch(FetchRequest<ManagedObject>(entityName: "Tag")) {
      if try tag.text("name") == "T1" { manager.destinationContext.delete(tag) }
    }
  }

  /// Rules create the tags, and the policy deletes T1, before or after the pairs are written. A pin refers to each tag
  /// without an inverse.
  @Test(arguments: [false, true], [false, true])
  func nothingLeadsToAMappedObjectThatIsDeleted(isLate: Bool, isOptional: Bool) throws {
    func version(_ number: Int) -> ModelVersion {
      var version = Self.tagged(number)
      version.entities.append(
        entity(
          "Pin", [attribute("name", .string)],
          relationships: [toOne("tag", "Tag", inverse: nil, isOptional: isOptional)]))
      return version
    }
    let fixture = try MigrationFixture()
    func migrate() throws {
      try Notes.migrate(
        version(1), version(2), Self.category,
        [
          "Category": {
            isLate ? TestPolicy(endRelation: Self.deleteTag) : TestPolicy(endCreation: Self.deleteTag)
          }
        ], in: fixture,
        fill: { context in
          try Self.fillTags(context)
          for tag in try context.fetch(FetchRequest<ManagedObject>(entityName: "Tag")) {
            let pin = try context.insert(entityNamed: "Pin")
            try pin.setValue(try tag.text("name"), forKey: "name")
            try pin.setValue(tag, forKey: "tag")
          }
        })
    }
    guard isOptional else {
      let error = #expect(throws: MigrationError.self) { try migrate() }
      #expect(error?.reason == .missingValue(property: "tag") && error?.entity == "Pin")
      return
    }
    try migrate()
    #expect(try tagPairs(fixture) == [["N0", "T2 T0"], ["N2", "T2 T0"]])
    #expect(try fixture.column("SELECT count(*) FROM \"Note.tags\"") == ["4"])
    #expect(
      try fixture.rows("SELECT p.name, t.name FROM Pin p LEFT JOIN Tag t ON t._pk = p.tag ORDER BY p.name")
        == [["T0", "T0"], ["T1", nil], ["T2", "T2"]])
  }

  // MARK: One to one

  @Test(arguments: [["Note"], ["Cover"], ["Note", "Cover"]]) func partnersStay(_ custom: [String]) throws {
    func version(_ number: Int) -> ModelVersion {
      Notes.version(
        number, more: [toOne("cover", "Cover", inverse: "note")],
        others: [
          entity(
            "Cover", [attribute("name", .string)],
            relationships: [toOne("note", "Note", inverse: "cover", isOptional: false)])
        ])
    }
    let fixture = try MigrationFixture()
    let rules = Notes.rules(custom.map { EntityRule(destination: $0, name: $0, isCustom: true) })
    var policies: [String: @Sendable () -> TestPolicy] = [:]
    for name in custom { policies[name] = { TestPolicy() } }
    try Notes.migrate(
      version(1), version(2), rules, policies, in: fixture,
      fill: { context in
        try Notes.fill(context)
        let notes = try context.fetch(FetchRequest<ManagedObject>(entityName: "Note"))
        for number in [4, 1] {
          let cover = try context.insert(entityNamed: "Cover")
          try cover.setValue("K\(number)", forKey: "name")
          try cover.setValue(notes[number], forKey: "note")
        }
      })
    #expect(
      try fixture.rows("SELECT k.name, n.text FROM Cover k JOIN Note n ON n._pk = k.note ORDER BY k._pk") == [
        ["K4", "N4"], ["K1", "N1"],
      ])
  }

  @Test func twoEntitiesBecomeOneWithKeysOfTheirOwn() throws {
    let old = Notes.version(1, others: [entity("Memo", [attribute("text", .string)])])
    let rules = Notes.rules([
      EntityRule(destination: "Note", source: "Note", name: "Note"),
      EntityRule(destination: "Note", source: "Memo", name: "Memo", isCustom: true),
    ])
    let fixture = try MigrationFixture()
    try Notes.migrate(
      old, Notes.version(2), rules,
      [
        "Memo": {
          TestPolicy(create: { source, mapping, manager in
            let note = try manager.makeDestinationInstance(for: source, in: mapping)
            try note.setValue(100, forKey: "rank")
            let further = try manager.makeDestinationInstance(for: source, in: mapping)
            try further.setValue(200, forKey: "rank")
            #expect(try manager.destinationInstances(for: [source]) == [note, further])
            #expect(try manager.destinationInstances(for: [source], in: "Note").isEmpty)
            #expect(try manager.sourceInstances(for: [further, note], in: "Memo") == [source, source])
          })
        }
      ], in: fixture,
      fill: { context in
        try Notes.fill(context)
        for number in 0..<2 {
          let memo = try context.insert(entityNamed: "Memo")
          try memo.setValue("M\(number)", forKey: "text")
        }
      })
    #expect(
      try fixture.rows("SELECT text, rank FROM Note ORDER BY _pk") == [
        ["N0", "0"], ["N1", "1"], ["N2", "2"], ["N3", "3"], ["N4", "4"], ["N5", "5"], ["M0", "100"],
        ["M1", "100"], ["M0", "200"], ["M1", "200"],
      ])
  }
}
