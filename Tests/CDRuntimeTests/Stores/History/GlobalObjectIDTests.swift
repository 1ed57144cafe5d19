import Foundation
import Testing

@testable import CDRuntime

/// Objects have an identifier that is the same in all replicas of a store.
@Suite struct GlobalObjectIDTests {
  private static let name = attribute("name", .string)

  private static let first = MigrationFixture.version(
    1,
    [
      entity("Animal", isAbstract: true, [name]), entity("Dog", parent: "Animal"), entity("Cat", [name]),
      entity("Note", [name]), entity("Old", [name]),
    ])

  /// A table that comes into another, so that its keys change; a table with another name; one that is gone.
  private static var second: ModelVersion {
    var result = MigrationFixture.version(
      2,
      [
        entity("Animal", isAbstract: true, [name]), entity("Dog", parent: "Animal"),
        entity("Feline", parent: "Animal", renamedFrom: "Cat"), entity("Memo", renamedFrom: "Note", [name]),
      ])
    result.basedOn = [1]
    return result
  }

  private static let old = MigrationFixture.model([first])
  private static let new = MigrationFixture.model(
    [first, second], mappings: [MappingRules(source: 1, destination: 2, drops: ["Old"])])

  private func fill(_ context: ManagedObjectContext, _ prefix: String = "") throws {
    for entity in ["Dog", "Cat", "Cat", "Note", "Cat", "Old"].enumerated() {
      try ReplicaFixture.insert(entity.element, "\(prefix)\(entity.element)\(entity.offset)", context)
      try context.save()
    }
  }

  // MARK: One store

  @Test func anObjectHasTheIdentifierOfItsInsertion() throws {
    let store = try TemporaryStore()
    let container = try store.container()
    let coordinator = container.persistentStoreCoordinator
    let context = container.newContext()
    let tag = Tag(name: "a", in: context)
    let id = try #require(try coordinator.globalID(of: tag.objectID))
    #expect(id.storeID == coordinator.storeIDs[0] && id.entityName == "Tag" && id.key == tag.objectID.key)
    #expect(try coordinator.managedObjectID(of: id) == nil)
    try context.save()
    #expect(try coordinator.managedObjectID(of: id) == tag.objectID)
    tag.name = "b"
    try context.save()
    context.delete(tag)
    try context.save()
    #expect(try coordinator.managedObjectID(of: id) == nil)
    #expect(try coordinator.globalID(of: tag.objectID) == id)
    #expect(try coordinator.globalHistory() == [[[id], [], []], [[], [id], []], [[], [], [id]]])
    let transaction = try coordinator.history()[1]
    #expect(transaction.updatedProperties(of: id) == ["name"])
    #expect(
      transaction.globalChanges.updated.contains(id) && !transaction.globalChanges.inserted.contains(id))
    let text = try JSONEncoder().encode(id)
    #expect(try JSONDecoder().decode(GlobalObjectID.self, from: text) == id)
  }

  @Test func identifiersOfNothingLeadToNothing() throws {
    let store = try TemporaryStore()
    let container = try store.container()
    let coordinator = container.persistentStoreCoordinator
    let context = container.newContext()
    let tag = Tag(name: "a", in: context)
    try context.save()
    let storeID = tag.objectID.storeID
    for id in [
      ManagedObjectID(storeID: UUID(), entityName: "Tag", key: 1),
      ManagedObjectID(storeID: storeID, entityName: "Nothing", key: 1),
      ManagedObjectID(storeID: storeID, entityName: "Tag", key: 0),
      ManagedObjectID(storeID: storeID, entityName: "Tag", key: .max),
    ] {
      #expect(try coordinator.globalID(of: id) == nil)
    }
    for key in [0, -1, .min, .max, 99, 1 << 62] as [Int64] {
      #expect(
        try coordinator.managedObjectID(of: GlobalObjectID(storeID: storeID, entityName: "Tag", key: key))
          == nil)
    }
    for (store, name) in [(UUID(), "Tag"), (storeID, "Nothing"), (storeID, "")] {
      let id = GlobalObjectID(storeID: store, entityName: name, key: tag.objectID.key)
      #expect(try coordinator.managedObjectID(of: id) == nil)
    }
  }

  // MARK: Replicas

  @Test(.needsReopening) func replicasAgreeOnWhatTheyShareAndOnNothingElse() throws {
    let fixture = try ReplicaFixture()
    let shared = try fixture.using("a", Self.old) { context in
      try fill(context)
      return try ReplicaFixture.ids(context)
    }
    try fixture.copy("a", to: "b")
    try fixture.using("a", Self.old) { try fill($0, "a") }
    try fixture.using("b", Self.old) { try fill($0, "b") }
    try fixture.copy("b", to: "c")
    try fixture.using("b", Self.old) { try fill($0, "late") }
    try fixture.using("c", Self.old) { try fill($0, "c") }
    let ids = try ["a", "b", "c"].map { try fixture.ids($0, Self.old) }
    #expect(ids.map(\.count) == [12, 18, 18])
    for each in ids { #expect(shared.allSatisfy { each[$0.key] == $0.value }) }
    var all: [GlobalObjectID: String] = [:]
    for (name, id) in ids.joined() { #expect(all.updateValue(name, forKey: id) ?? name == name) }
    #expect(all.count == 6 + 6 + 6 + 6 + 6)
    let stores = Set(
      try ["a", "b", "c"].map {
        try fixture.using($0, Self.old) { $0.persistentStoreCoordinator.storeIDs[0] }
      })
    #expect(stores.count == 3)
  }

  @Test(.onceForAllKinds, arguments: StoreKind.files, StoreKind.files)
  func conversionsKeepIdentifiers(_ kind: StoreKind, _ other: StoreKind) throws {
    let fixture = try ReplicaFixture()
    try fixture.using("a", Self.old, kind) { try fill($0) }
    try fixture.copy("a", to: "b", other)
    let ids = try fixture.using("b", Self.old, other) { context in
      try fill(context, "b")
      return try ReplicaFixture.ids(context)
    }
    try fixture.copy("b", to: "c", kind, asReplica: false)
    #expect(try fixture.ids("c", Self.old, kind) == ids)
    try fixture.copy("c", to: "d", other, asReplica: false)
    #expect(try fixture.ids("d", Self.old, other) == ids)
    #expect(try fixture.using("d", Self.old, other) { try $0.persistentStoreCoordinator.verify() }.isEmpty)
  }

  /// A dump begins with what an empty store needs, and has no history.
  @Test(.onceForAllKinds) func anEmptyStoreThatContinuesAnotherKeepsIdentifiers() throws {
    struct Beginning: StoreFormat {
      let name = "beginning"
      let metadata: [String: String]
      var isReadOnly: Bool { true }
      func recognizes(_ start: [UInt8]) -> Bool { true }
      func read(_ input: StoreInput, into builder: StoreBuilder) throws {
        _ = try builder.begin(metadata: metadata)
      }
      func write(_ contents: StoreContents, to output: StoreOutput) throws {}
    }
    let fixture = try ReplicaFixture()
    try fixture.using("a", Self.old, .sqlite) { try fill($0) }
    try fixture.copy("a", to: "b", .sqlite)
    let former = try fixture.using("b", Self.old, .sqlite) {
      try ReplicaFixture.allObjects($0).map(\.objectID)
    }
    func identifiers(_ name: String) throws -> [GlobalObjectID?] {
      try fixture.using(name, Self.new, .sqlite) { context in
        let coordinator = context.persistentStoreCoordinator
        return try former.map { id -> GlobalObjectID? in
          guard let now = coordinator.managedObjectID(forURIRepresentation: id.uriRepresentation) else {
            return nil
          }
          return try coordinator.globalID(of: now)
        }
      }
    }
    let expected = try identifiers("b")
    #expect(expected.compactMap { $0 }.count == 5 && !expected.contains { $0?.storeID == former[0].storeID })
    let metadata = try fixture.using("b", Self.new, .sqlite) { context -> [String: String] in
      let coordinator = context.persistentStoreCoordinator
      return try #require(try coordinator.beginning(ofStore: former[0].storeID)).metadata
    }
    let origins = try #require(metadata[InsertionOrigins.metadataKey])
    #expect(!origins.contains("\"past\"") && metadata[MovedKeys.metadataKey] != nil)
    try Data("header".utf8).write(to: fixture.url("header"))
    try PersistentStoreCoordinator.copyPersistentStore(
      at: fixture.url("header"), to: .sqlite(fixture.url("c")), formats: [Beginning(metadata: metadata)])
    #expect(try identifiers("c") == expected)
  }

  @Test(.needsReopening) func aReplicaHasTheHistoryOfTheOriginal() throws {
    let fixture = try ReplicaFixture()
    func history(_ name: String) throws -> [[Set<GlobalObjectID>]] {
      try fixture.using(name, Self.old) { try $0.persistentStoreCoordinator.globalHistory() }
    }
    try fixture.using("a", Self.old) { context in
      try fill(context)
      for object in try ReplicaFixture.allObjects(context).prefix(2) { context.delete(object) }
    }
    let before = try history("a")
    #expect(before.count == 7 && before.last?.last?.count == 2)
    try fixture.copy("a", to: "b")
    #expect(try history("b") == before)
    try fixture.using("b", Self.old) { try fill($0, "b") }
    let after = try history("b")
    #expect(after.prefix(7) == before[...])
    let storeID = try fixture.using("b", Self.old) { $0.persistentStoreCoordinator.storeIDs[0] }
    #expect(after.dropFirst(7).allSatisfy { $0[0].allSatisfy { $0.storeID == storeID } })
  }

  // MARK: Migrations

  @Test(.needs(.migrations)) func replicasThatMigrateSeparatelyAgree() throws {
    let fixture = try ReplicaFixture()
    let shared = try fixture.using("a", Self.old) { context in
      try fill(context)
      return try ReplicaFixture.ids(context)
    }
    try fixture.copy("a", to: "b")
    try fixture.using("a", Self.old) { try fill($0, "a") }
    let others = try fixture.using("b", Self.old) { context in
      // The tables grow apart, so that keys move to different ones.
      for _ in 0..<3 {
        try fill(context, "b")
        try ReplicaFixture.allObjects(context).filter { try $0.text("name").hasPrefix("b") }.forEach(
          context.delete)
      }
      try context.save()
      try fill(context, "b")
      return try ReplicaFixture.ids(context)
    }
    let names = shared.filter { !$0.key.hasPrefix("Old") }
    for (name, wanted) in [("a", shared), ("b", others)] {
      let ids = try fixture.ids(name, Self.new)
      #expect(wanted.allSatisfy { $0.key.contains("Old") || ids[$0.key] == $0.value })
      #expect(names.allSatisfy { ids[$0.key] == $0.value })
      try fixture.using(name, Self.new) { context in
        for entity in ["Dog", "Feline", "Memo"] {
          try ReplicaFixture.insert(entity, "\(name)new\(entity)", context)
        }
      }
    }
    // New objects are inserted by the new names.
    let (a, b) = (try fixture.ids("a", Self.new), try fixture.ids("b", Self.new))
    #expect(a["anewFeline"]?.entityName == "Animal" && a["anewMemo"]?.entityName == "Memo")
    let common = Set(a.values).intersection(b.values)
    #expect(common == Set(names.values))
    #expect(try fixture.using("b", Self.new) { try $0.persistentStoreCoordinator.verify() }.isEmpty)
    // A replica of the migrated store, and one of another kind.
    try fixture.copy("b", to: "c", .xml)
    #expect(try fixture.ids("c", Self.new, .xml) == b)
  }

  /// An object that goes to another table of the same store while its siblings stay.
  @Test(.needs(.migrations)) func anEntityThatLeavesItsParentKeepsItsIdentifiers() throws {
    let both = MigrationFixture.version(
      1,
      [
        entity("Animal", isAbstract: true, [Self.name]), entity("Dog", parent: "Animal"),
        entity("Cat", parent: "Animal"),
      ])
    var apart = MigrationFixture.version(
      2,
      [
        entity("Animal", isAbstract: true, [Self.name]), entity("Dog", parent: "Animal"),
        entity("Cat", [Self.name]),
      ])
    apart.basedOn = [1]
    var again = both
    again.number = 3
    again.basedOn = [2]
    let fixture = try ReplicaFixture()
    var ids = try fixture.using("a", MigrationFixture.model([both])) { context in
      for number in 0..<3 {
        for entity in ["Dog", "Cat"] { try ReplicaFixture.insert(entity, "\(entity)\(number)", context) }
      }
      try context.save()
      return try ReplicaFixture.ids(context)
    }
    try fixture.copy("a", to: "b")
    for version in [[both, apart], [both, apart, again]] {
      let model = MigrationFixture.model(version)
      for name in ["a", "b"] {
        #expect(try fixture.ids(name, model).filter { ids[$0.key] != nil } == ids)
      }
      ids.merge(
        try fixture.using("a", model) { context in
          for entity in ["Dog", "Cat"] {
            try ReplicaFixture.insert(entity, "\(entity)of\(version.count)", context)
          }
          try context.save()
          return try ReplicaFixture.ids(context)
        }
      ) { $1 }
      try fixture.remove("b")
      try fixture.copy("a", to: "b")
    }
  }

  /// Names that change places, and one that comes again after it was gone.
  @Test(.needs(.migrations)) func aNameThatComesAgainGivesNoIdentifierAgain() throws {
    func version(_ number: Int, _ entities: [EntityDescription]) -> ModelVersion {
      var result = MigrationFixture.version(number, entities)
      result.basedOn = number > 1 ? [number - 1] : []
      return result
    }
    let versions = [
      version(1, [entity("A", [Self.name]), entity("B", [Self.name])]),
      version(2, [entity("A", renamedFrom: "B", [Self.name]), entity("B", renamedFrom: "A", [Self.name])]),
      version(3, [entity("B", [Self.name])]),
      version(4, [entity("A", [Self.name]), entity("B", [Self.name])]),
    ]
    let mappings = [MappingRules(source: 2, destination: 3, drops: ["A"])]
    let fixture = try ReplicaFixture()
    var seen: [GlobalObjectID: String] = [:]
    var uris: Set<ManagedObjectID> = []
    for count in 1...4 {
      let model = MigrationFixture.model(Array(versions.prefix(count)), mappings: count > 2 ? mappings : [])
      try fixture.using("a", model) { context in
        for (name, id) in try ReplicaFixture.ids(context) { #expect(seen[id] == name) }
        for number in 0..<5 {
          for entity in versions[count - 1].entities {
            let object = try ReplicaFixture.insert(
              entity.name, "\(entity.name)\(number) of \(count)", context)
            #expect(uris.insert(object.objectID).inserted)
          }
        }
        try context.save()
        for (name, id) in try ReplicaFixture.ids(context) {
          #expect(seen.updateValue(name, forKey: id) ?? name == name)
        }
        #expect(try context.persistentStoreCoordinator.verify().isEmpty)
      }
    }
    #expect(seen.count == 10 + 10 + 5 + 10)
  }

  /// Rules that make two objects of one: each has an identifier of its own, which is the same wherever it is made.
  @Test(.needs(.migrations)) func objectsThatRulesMakeOfOneAreToldApart() throws {
    let old = MigrationFixture.version(1, [entity("Contact", [Self.name, attribute("years", .int64)])])
    var new = MigrationFixture.version(
      2,
      [
        entity("Person", [Self.name]), entity("Company", [Self.name]), entity("Backup", [Self.name]),
        entity("Ghost", parent: "Person"),
      ])
    new.basedOn = [1]
    func rule(_ destination: String, _ condition: String?, _ prefix: String? = nil) throws -> EntityRule {
      EntityRule(
        destination: destination, source: "Contact",
        filter: try condition.map { try FetchPredicate(format: $0) },
        attributes: try prefix.map {
          [PropertyMapping(name: "name", value: try ValueExpression(format: "'\($0)' + name"))]
        } ?? [], drops: ["years"])
    }
    let rules = MappingRules(
      source: 1, destination: 2,
      entities: [
        try rule("Person", "years < 10"), try rule("Company", "years >= 10"),
        try rule("Backup", nil, "backup of "),
        try rule("Ghost", "years < 5", "ghost of "),
      ])
    let model = MigrationFixture.model([old, new], mappings: [rules])
    let fixture = try ReplicaFixture()
    func add(_ name: String, _ prefix: String, _ years: ClosedRange<Int>) throws {
      try fixture.using(name, MigrationFixture.model([old])) { context in
        for number in years {
          try ReplicaFixture.insert("Contact", "\(prefix)\(number)", context).setValue(
            .attribute(.int(Int64(number))), forKey: "years")
        }
      }
    }
    try add("a", "c", 1...20)
    try fixture.copy("a", to: "b")
    try add("a", "a", 1...12)
    try add("b", "b", 1...30)
    let before = try fixture.ids("b", MigrationFixture.model([old]))
    let (a, b) = (try fixture.ids("a", model), try fixture.ids("b", model))
    #expect(a.count == (20 + 12) * 2 + 4 + 4 && b.count == (20 + 30) * 2 + 4 + 4)
    let shared = a.filter { $0.key.hasSuffix("c") || b[$0.key] != nil }
    #expect(shared.count == 44 && shared.allSatisfy { b[$0.key] == $0.value })
    #expect(Set(a.values).intersection(b.values).count == 44)
    // The first rule's objects are the source's.
    for number in 1..<10 { #expect(b["c\(number)"] == before["c\(number)"]) }
  }

  @Test(.needs(.migrations)) func objectsOfACustomStepAreThoseOfTheirSources() throws {
    let old = MigrationFixture.version(1, [entity("Task", [Self.name]), entity("Note", [Self.name])])
    var new = MigrationFixture.version(
      2,
      [
        entity("Item", [Self.name]), entity("Job", parent: "Item", renamedFrom: "Task"),
        entity("Note", parent: "Item"),
      ])
    new.basedOn = [1]
    let rules = MappingRules(
      source: 1, destination: 2,
      entities: [
        EntityRule(destination: "Job", source: "Task", name: "Jobs", isCustom: true),
        EntityRule(destination: "Note", name: "Notes", isCustom: true),
      ])
    let model = MigrationFixture.model([old, new], mappings: [rules])
    func setPolicies(_ description: inout PersistentStoreDescription) {
      for name in ["Jobs", "Notes"] {
        description.migrationPolicies[name, from: 1, to: 2] = {
          TestPolicy(create: { source, mapping, manager in
            try manager.makeDestinationInstance(for: source, in: mapping).setValue(
              source.text("name"), forKey: "name")
            // A second one is a new object.
            try manager.makeDestinationInstance(for: source, in: mapping).setValue(
              source.text("name") + " of \(manager.sourceContext.persistentStoreCoordinator.storeIDs[0])",
              forKey: "name")
          })
        }
      }
    }
    let fixture = try ReplicaFixture()
    func add(_ name: String, _ prefix: String) throws {
      try fixture.using(name, MigrationFixture.model([old])) { context in
        for number in 0..<4 {
          for entity in ["Task", "Note"] {
            try ReplicaFixture.insert(entity, "\(prefix)\(entity)\(number)", context)
          }
        }
      }
    }
    try add("a", "")
    let shared = try fixture.ids("a", MigrationFixture.model([old]))
    try fixture.copy("a", to: "b")
    try add("b", "b")
    let a = try fixture.ids("a", model, .ofEnvironment, setPolicies)
    let b = try fixture.ids("b", model, .ofEnvironment, setPolicies)
    #expect(a.count == 16 && b.count == 32)
    #expect(Set(a.values).intersection(b.values) == Set(shared.values))
    for (name, id) in shared { #expect(a[name] == id && b[name] == id) }
  }

  // MARK: History

  @Test(.needs(.migrations)) func theHistoryOfBeforeAMigrationNamesTheSameObjects() throws {
    let fixture = try ReplicaFixture()
    let (ids, before) = try fixture.using("a", Self.old) { context in
      try fill(context)
      let ids = try ReplicaFixture.ids(context)
      for object in try ReplicaFixture.allObjects(context) {
        if ["Cat2", "Old5"].contains(try object.text("name")) { context.delete(object) }
        if try object.text("name") == "Cat1" {
          try object.setValue(.attribute(.string("cat")), forKey: "name")
        }
      }
      try context.save()
      return (ids, try context.persistentStoreCoordinator.globalHistory())
    }
    func id(_ name: String) throws -> GlobalObjectID { try #require(ids[name]) }
    #expect(before.last == [[], [try id("Cat1")], [try id("Cat2"), try id("Old5")]])
    // A migration, and a save after each.
    for round in 0..<2 {
      try fixture.using("a", Self.new) { context in
        let coordinator = context.persistentStoreCoordinator
        #expect(try coordinator.globalHistory().prefix(7) == before[...])
        let transaction = try coordinator.history()[6]
        #expect(transaction.updatedProperties(of: try id("Cat1")) == ["name"])
        #expect(transaction.updatedProperties(of: try id("Cat4")).isEmpty)
        // Identifiers are those of now; those of entities that are gone are left out.
        let cat = try #require(try coordinator.managedObjectID(of: try id("Cat1")))
        #expect(cat.entityName == "Feline" && Array(transaction.changes.updated) == [cat])
        #expect(transaction.updatedProperties(of: cat) == ["name"])
        #expect(transaction.changes.deleted.map(\.entityName) == ["Feline"])
        let deleted = try #require(transaction.changes.deleted.first)
        #expect(try coordinator.globalID(of: deleted) == (try id("Cat2")))
        try ReplicaFixture.insert("Feline", "new\(round)", context)
        try context.save()
        let inserted = try #require(try coordinator.history().last)
        #expect(
          Array(inserted.globalChanges.inserted)
            == (try inserted.changes.inserted.map { try #require(try coordinator.globalID(of: $0)) }))
      }
      try fixture.copy("a", to: "b\(round)", .binary)
      try fixture.remove("a")
      try fixture.copy("b\(round)", to: "a", asReplica: false)
    }
  }

  /// The name of an entity may be that of another one after a migration: two entities exchange their names, or a new entity
  /// gets the old name.
  @Test(.needs(.migrations), arguments: [true, false])
  func theHistoryFollowsANameThatIsUsedAgain(isExchange: Bool) throws {
    let old = MigrationFixture.version(
      1, [entity("A", [Self.name])] + (isExchange ? [entity("B", [Self.name])] : []))
    let new = MigrationFixture.version(
      2,
      [
        entity("A", renamedFrom: isExchange ? "B" : nil, [Self.name]),
        entity("B", renamedFrom: "A", [Self.name]),
      ])
    let fixture = try ReplicaFixture()
    try fixture.using("a", MigrationFixture.model([old])) { context in
      for entity in old.entities { try ReplicaFixture.insert(entity.name, "old \(entity.name)", context) }
    }
    try fixture.using("a", MigrationFixture.model([old, new])) { context in
      let transaction = try #require(try context.persistentStoreCoordinator.history().first)
      let found = try transaction.changes.inserted.map { id in
        let name = try context.existingObject(with: id).text("name")
        return "\(id.entityName): \(name)"
      }
      #expect(found == (isExchange ? ["A: old B", "B: old A"] : ["B: old A"]))
    }
  }

  // MARK: Files that somebody else has written

  private static let interval =
    #"{"first":1,"last":9,"store":"0E7C6B44-5B0B-4F2E-9C4F-52B8E6B6F7A1","entity":"Cat","key":1}"#
  private static let big =
    #"{"first":1,"last":9223372036854775806,"store":"0E7C6B44-5B0B-4F2E-9C4F-52B8E6B6F7A1","entity":"Cat","key":1}"#

  private static let wrong = [
    "", "x", "[]", "null", "{}", #"{"tables":[]}"#, #"{"tables":{"Cat":{}}}"#, #"{"tables":{"Cat":[1]}}"#,
    "{\"tables\":{\"Cat\":[\(interval),\(interval)]}}", "{\"tables\":{\"Cat\":[\(big),\(interval)]}}",
    "{\"tables\":{\"Cat\":[\(interval.replacing("\"first\":1", with: "\"first\":0"))]}}",
    "{\"tables\":{\"Cat\":[\(interval.replacing("\"first\":1", with: "\"first\":-5"))]}}",
    "{\"tables\":{\"Cat\":[\(interval.replacing("\"first\":1", with: "\"first\":10"))]}}",
    "{\"tables\":{\"Cat\":[\(interval.replacing("\"last\":9", with: "\"last\":9223372036854775807"))]}}",
    "{\"tables\":{\"Cat\":[\(interval.replacing("\"last\":9", with: "\"last\":1e3"))]}}",
    "{\"tables\":{\"Cat\":[\(interval.replacing("\"key\":1", with: "\"key\":9223372036854775800"))]}}",
    "{\"tables\":{\"Cat\":[\(interval.replacing("\"key\":1", with: "\"key\":-1"))]}}",
    "{\"tables\":{\"Cat\":[\(interval.replacing("0E7C", with: "0E7"))]}}",
    "{\"tables\":{\"Cat\":[\(interval.replacing("\"Cat\"", with: "\"\""))]}}",
    #"{"tables":{},"past":{}}"#, #"{"tables":{},"past":[1]}"#,
    #"{"tables":{},"past":[{"lastSave":-1,"roots":{},"store":"0E7C6B44-5B0B-4F2E-9C4F-52B8E6B6F7A1","tables":{}}]}"#,
    #"{"tables":{},"past":[{"lastSave":1,"roots":{"a":1},"store":"0E7C6B44-5B0B-4F2E-9C4F-52B8E6B6F7A1","tables":{}}]}"#,
    #"{"tables":{},"formerKeys":{"a":0}}"#, #"{"tables":{},"formerKeys":{"a":9223372036854775807}}"#,
    #"{"tables":{},"formerKeys":[]}"#, String(repeating: "[", count: 100_000),
  ]

  private func put(_ text: String, into url: URL) throws {
    try PlainSQL.run(
      "INSERT OR REPLACE INTO _cdgen_metadata (key, value) VALUES ('births', \(SQLText.literal(text)))",
      at: url)
  }

  @Test(.onlyOnSQLite("the file is changed by SQL"), arguments: wrong)
  func unreadableNotesAreAnError(_ text: String) throws {
    let fixture = try ReplicaFixture()
    try fixture.using("a", Self.old) { try fill($0) }
    try put(text, into: fixture.url("a"))
    let damaged = StoreError.damagedMetadata(fixture.url("a"), key: "births")
    try fixture.using("a", Self.old) { context in
      let coordinator = context.persistentStoreCoordinator
      let object = try #require(try ReplicaFixture.allObjects(context).first)
      #expect(throws: damaged) { try coordinator.globalID(of: object.objectID) }
      let id = GlobalObjectID(storeID: object.objectID.storeID, entityName: "Cat", key: 1)
      #expect(throws: damaged) { try coordinator.managedObjectID(of: id) }
      #expect(throws: damaged) { try coordinator.history() }
      #expect(try coordinator.verify() == [.unreadableMetadata(key: "births")])
      // The rest goes on.
      try ReplicaFixture.insert("Cat", "new", context)
      try context.save()
      // A connection keeps the notes that it has read, as long as their text is the same.
      try put(#"{"tables":{}}"#, into: fixture.url("a"))
      for _ in 0..<2 {
        let id = try #require(try coordinator.globalID(of: object.objectID))
        #expect(try coordinator.managedObjectID(of: id) == object.objectID)
      }
      try put(text, into: fixture.url("a"))
      #expect(throws: damaged) { try coordinator.globalID(of: object.objectID) }
    }
    #expect(throws: damaged) { try fixture.copy("a", to: "b") }
    #expect(!FileManager.default.fileExists(atPath: fixture.url("b").path))
    try fixture.copy("a", to: "c", .xml, asReplica: false)
    #expect(throws: StoreError.damagedMetadata(fixture.url("c"), key: "births")) {
      try fixture.ids("c", Self.old, .xml)
    }
    #expect(throws: MigrationError.self) { try fixture.ids("a", Self.new) }
    #expect(throws: MigrationError.self) { try fixture.ids("c", Self.new, .xml) }
  }

  /// Notes that can be read and say nonsense.
  @Test(.onlyOnSQLite("the file is changed by SQL"))
  func nonsenseIsNoTrap() throws {
    let store = "0E7C6B44-5B0B-4F2E-9C4F-52B8E6B6F7A1"
    let texts = [
      "{\"tables\":{\"Cat\":[\(Self.big)],\"Animal\":[\(Self.big)],\"Note\":[\(Self.big)]}}",
      "{\"tables\":{\"Cat\":[\(Self.big.replacing("\"first\":1", with: "\"first\":9223372036854775806").replacing("\"key\":1", with: "\"key\":9223372036854775806"))]},\"formerKeys\":{\"Memo\":9223372036854775806,\"Animal\":4611686018427387904}}",
      "{\"tables\":{\"Cat\":[]},\"past\":[{\"lastSave\":9223372036854775807,\"roots\":{\"Cat\":\"Cat\",\"Dog\":\"x\"},\"store\":\"\(store)\",\"tables\":{\"Cat\":[\(Self.big)]}}]}",
    ]
    for (number, text) in texts.enumerated() {
      let fixture = try ReplicaFixture()
      try fixture.using("a", Self.old) { try fill($0) }
      try put(text, into: fixture.url("a"))
      try PlainSQL.run(
        #"UPDATE _cdgen_history SET changes = '{"Cat":{"inserted":[[1,9223372036854775807]],"updated":[[9223372036854775807,9223372036854775807]],"properties":{"name":true}}}' WHERE id = 2"#,
        at: fixture.url("a"))
      func look(_ model: ManagedObjectModel, _ name: String) throws {
        try fixture.using(name, model) { context in
          let coordinator = context.persistentStoreCoordinator
          for object in try ReplicaFixture.allObjects(context) {
            let id = try coordinator.globalID(of: object.objectID)
            _ = try id.map { try coordinator.managedObjectID(of: $0) }
          }
          for transaction in try coordinator.history() {
            for id in transaction.globalChanges.inserted.prefix(3) {
              _ = try coordinator.managedObjectID(of: id)
              _ = transaction.updatedProperties(of: id)
            }
          }
          _ = try coordinator.verify()
        }
      }
      try look(Self.old, "a")
      try fixture.copy("a", to: "b")
      try look(Self.old, "b")
      // A counter that leaves no room is an error of its own.
      do { try look(Self.new, "a") } catch is StoreError {} catch is MigrationError {} catch is SaveError {}
      #expect(number < 3)
    }
  }
}
