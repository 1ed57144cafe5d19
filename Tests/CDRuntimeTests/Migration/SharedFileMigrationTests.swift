import Foundation
import Testing

@testable import CDRuntime

/// Several models in one file: each moves along its own line, with its own mappings.
@Suite(.onceForAllKinds) struct SharedFileMigrationTests {
  private let fixture: MigrationFixture

  init() throws { fixture = try MigrationFixture() }

  // MARK: Models

  private static let notesID = UUID(uuidString: "0E7C6B44-5B0B-4F2E-9C4F-52B8E6B6F7C1") ?? UUID()
  private static let tasksID = UUID(uuidString: "0E7C6B44-5B0B-4F2E-9C4F-52B8E6B6F7C2") ?? UUID()
  private static let peopleID = UUID(uuidString: "0E7C6B44-5B0B-4F2E-9C4F-52B8E6B6F7C3") ?? UUID()

  private static func rules(
    _ source: Int, _ destination: Int, _ entity: String, _ property: String, _ format: String
  ) throws -> MappingRules {
    MappingRules(
      source: source, destination: destination,
      entities: [
        EntityRule(
          destination: entity,
          attributes: [PropertyMapping(name: property, value: try ValueExpression(format: format))])
      ])
  }

  /// 1 → 2: the text gets a mark, and nothing else; 2 → 3: it is renamed, and an attribute is added.
  private static func notes(_ last: Int) throws -> ManagedObjectModel {
    let versions = (1...last).map { number in
      MigrationFixture.version(
        number,
        [
          entity(
            "Note",
            number < 3
              ? [attribute("text", .string)]
              : [
                attribute("body", .string, renamedFrom: number == 3 ? "text" : nil),
                attribute("length", .int32, .int(3)),
              ])
        ])
    }
    return ManagedObjectModel(
      name: "Notes", id: notesID, versions: versions, currentVersionNumber: last,
      mappings: last > 1 ? [try rules(1, 2, "Note", "text", "text + '!'")] : [])
  }

  /// 1 → 2: a size is a text, with a unit.
  private static func tasks(_ last: Int) throws -> ManagedObjectModel {
    let versions = (1...last).map { number in
      MigrationFixture.version(
        number,
        [
          entity("Job", [attribute("text", .string), attribute("size", number > 1 ? .string : .int32)])
        ])
    }
    return ManagedObjectModel(
      name: "Tasks", id: tasksID, versions: versions, currentVersionNumber: last,
      mappings: last > 1 ? [try rules(1, 2, "Job", "size", "CAST(size, 'String') + ' h'")] : [])
  }

  private static func merged(_ notes: Int, _ tasks: Int) throws -> ManagedObjectModel {
    try ManagedObjectModel(merging: [Self.notes(notes), Self.tasks(tasks)])
  }

  // MARK: Stores

  private func create(_ kind: StoreKind, _ notes: Int = 1, _ tasks: Int = 1) throws {
    try fixture.using(Self.merged(notes, tasks)) {
      $0.location = kind.location(fixture.url)
    } body: { context in
      for number in 0..<3 {
        let note = try context.insert(entityNamed: "Note")
        try note.setValue(.attribute(.string("n\(number)")), forKey: notes < 3 ? "text" : "body")
        let job = try context.insert(entityNamed: "Job")
        try job.setValue(.attribute(.string("j\(number)")), forKey: "text")
        try job.setValue(tasks < 2 ? .attribute(.int(5)) : .attribute(.string("5 h")), forKey: "size")
      }
    }
  }

  /// Opens the store, and gives its migration's steps and the values of an attribute of all objects.
  private func open(
    _ kind: StoreKind, _ model: ManagedObjectModel, _ entity: String, _ key: String,
    policies: MigrationPolicies? = nil
  ) throws -> (steps: [String], values: [AttributeValue?]) {
    var description = PersistentStoreDescription(kind.location(fixture.url))
    if let policies { description.migrationPolicies = policies }
    let coordinator = try PersistentStoreCoordinator(model: model, stores: [description])
    let context = ManagedObjectContext(coordinator)
    var request = FetchRequest<ManagedObject>(entityName: entity)
    request.sortKeys = [SortKey(key)]
    let values = try context.fetch(request).map { try $0.value(forKey: key).attribute }
    #expect(try coordinator.verify().isEmpty)
    return (coordinator.migrations.flatMap(\.steps).map(\.description), values)
  }

  /// Expects a refusal that leaves every byte.
  private func refusal(_ kind: StoreKind, _ model: ManagedObjectModel) throws -> MigrationError {
    let bytes = try fixture.bytes()
    let error = #expect(throws: MigrationError.self) {
      try fixture.open(model) { $0.location = kind.location(fixture.url) }
    }
    #expect(try fixture.bytes() == bytes)
    #expect(fixture.files == ["store.cdstore"])
    return try #require(error)
  }

  private func texts(_ values: String...) -> [AttributeValue?] { values.map { .string($0) } }

  // MARK: Lines

  @Test(arguments: StoreKind.files) func eachPartGoesByItsOwnMappings(_ kind: StoreKind) throws {
    try create(kind)
    let notes = try open(kind, Self.merged(3, 2), "Note", "body")
    #expect(
      notes.steps == [
        "version 1 to version 2 of 'Notes'", "version 2 to version 3 of 'Notes'",
        "version 1 to version 2 of 'Tasks'",
      ])
    #expect(notes.values == texts("n0!", "n1!", "n2!"))
    let jobs = try open(kind, Self.merged(3, 2), "Job", "size")
    #expect(jobs.steps.isEmpty && jobs.values == texts("5 h", "5 h", "5 h"))
  }

  @Test(arguments: StoreKind.files) func onePartMovesWhileTheOtherStays(_ kind: StoreKind) throws {
    try create(kind, 1, 2)
    // What both versions store is the same, and still there is something to be done, once.
    let marked = try open(kind, Self.merged(2, 2), "Note", "text")
    #expect(marked.steps == ["version 1 to version 2 of 'Notes'"] && marked.values.first == .string("n0!"))
    let again = try open(kind, Self.merged(2, 2), "Note", "text")
    #expect(again.steps.isEmpty && again.values.first == .string("n0!"))
    let further = try open(kind, Self.merged(3, 2), "Note", "body")
    #expect(further.steps == ["version 2 to version 3 of 'Notes'"])
    #expect(further.values == texts("n0!", "n1!", "n2!"))
    #expect(try open(kind, Self.merged(3, 2), "Job", "size").values == texts("5 h", "5 h", "5 h"))
  }

  @Test(arguments: StoreKind.files) func theOrderOfThePartsDoesNotMatter(_ kind: StoreKind) throws {
    try create(kind)
    let turned = try ManagedObjectModel(merging: [Self.tasks(2), Self.notes(3)])
    let result = try open(kind, turned, "Note", "body")
    #expect(result.steps.first == "version 1 to version 2 of 'Tasks'" && result.steps.count == 3)
    #expect(try open(kind, Self.merged(3, 2), "Job", "size").steps.isEmpty)
  }

  /// The store says which versions its parts have, as plain SQL and text can read.
  @Test func theMetadataNoteTheVersions() throws {
    try create(.sqlite, 2, 1)
    let notes = Self.notesID.uuidString
    let tasks = Self.tasksID.uuidString
    #expect(
      try fixture.column("SELECT value FROM _cdgen_metadata WHERE key = 'parts'")
        == ["{\"\(notes)\":2,\"\(tasks)\":1}"])
    _ = try open(.sqlite, Self.merged(3, 2), "Note", "body")
    #expect(
      try fixture.column("SELECT value FROM _cdgen_metadata WHERE key = 'parts'")
        == ["{\"\(notes)\":3,\"\(tasks)\":2}"])
  }

  @Test func versionsThatAreNotNotedAreFoundByWhatIsStored() throws {
    for noted in [nil, "no JSON", "[]", "{\"x\":1}"] as [String?] {
      try? FileManager.default.removeItem(at: fixture.url)
      try create(.sqlite, 2, 1)
      try PlainSQL.run("DELETE FROM _cdgen_metadata WHERE key = 'parts'", at: fixture.url)
      if let noted {
        try PlainSQL.run("INSERT INTO _cdgen_metadata VALUES ('parts', '\(noted)')", at: fixture.url)
      }
      let result = try open(.sqlite, Self.merged(3, 2), "Note", "body")
      // Of two versions that store the same, the newer one is all that can be known.
      #expect(result.steps.first == "version 2 to version 3 of 'Notes'" && result.steps.count == 2)
      #expect(result.values == texts("n0", "n1", "n2"))
    }
  }

  // MARK: Refusals

  @Test(arguments: StoreKind.files) func aPartWithoutARuleIsRefused(_ kind: StoreKind) throws {
    try create(kind)
    var tasks = try Self.tasks(1)
    tasks.versions.append(MigrationFixture.version(2, [entity("Job", [attribute("text", .string)])]))
    tasks.currentVersionNumber = 2
    let model = try ManagedObjectModel(merging: [Self.notes(3), tasks])
    let error = try refusal(kind, model)
    #expect(error.step?.description == "version 1 to version 2 of 'Tasks'")
    guard case .notProven(let changes) = error.reason else {
      Issue.record("\(error)")
      return
    }
    #expect(changes.contains { $0.contains("size") })
  }

  @Test(arguments: StoreKind.files) func aPartOfALaterVersionIsRefused(_ kind: StoreKind) throws {
    try create(kind, 3, 1)
    #expect(try refusal(kind, Self.merged(2, 1)).reason == .newerStore(current: 2))
    // One that the model has, from which the way back costs something.
    var notes = try Self.notes(3)
    notes.currentVersionNumber = 2
    let error = try refusal(kind, ManagedObjectModel(merging: [notes, Self.tasks(2)]))
    #expect(error.reason == .newerStore(current: 2) && error.step?.model == "Notes")
  }

  @Test func aStoreOfOtherPartsIsRefused() throws {
    try create(.sqlite)
    let bytes = try fixture.bytes()
    let notes = try Self.notes(3)
    let merged = try ManagedObjectModel(merging: [Self.notes(1), Self.tasks(1)])
    #expect(
      throws: StoreError.otherModel(
        fixture.url, found: ModelIdentity(name: "Notes+Tasks", id: merged.id),
        expected: ModelIdentity(name: "Notes", id: notes.id))
    ) { try fixture.open(notes) { $0.location = .sqlite(fixture.url) } }
    #expect(try fixture.bytes() == bytes)
  }

  // MARK: Drafts

  @Test(arguments: StoreKind.files) func aDraftOfAPartBecomesItsVersionFirst(_ kind: StoreKind) throws {
    try create(kind)
    var poorer = try Self.notes(1)
    poorer.versions[0].entities[0].attributes = [attribute("other", .string, .string("x"))]
    let refused = try refusal(kind, ManagedObjectModel(merging: [poorer, Self.tasks(2)]))
    if case .losesData = refused.reason {} else { Issue.record("\(refused)") }
    var notes = try Self.notes(2)
    notes.versions[0].entities[0].attributes.append(attribute("more", .int16, .int(1)))
    notes.versions[1].entities[0].attributes.append(attribute("more", .int16, .int(1)))
    let model = try ManagedObjectModel(merging: [notes, Self.tasks(2)])
    let result = try open(kind, model, "Note", "text")
    #expect(
      result.steps == [
        "version 1 to version 1", "version 1 to version 2 of 'Notes'", "version 1 to version 2 of 'Tasks'",
      ])
    #expect(result.values == texts("n0!", "n1!", "n2!"))
  }

  // MARK: Custom steps

  private final class Marking: EntityMigrationPolicy {
    func createDestinationInstances(
      for source: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
    ) throws {
      guard case .string(let text)? = try source.value(forKey: "text").attribute else { return }
      let new = try manager.makeDestinationInstance(for: source, in: mapping)
      try new.setValue(.attribute(.string("<\(text)>")), forKey: "text")
    }
  }

  @Test(arguments: StoreKind.files) func aPartsOwnCodeMakesItsObjects(_ kind: StoreKind) throws {
    func model(_ last: Int) throws -> ManagedObjectModel {
      var tasks = try Self.tasks(1)
      if last > 1 {
        var version = tasks.versions[0]
        (version.number, version.basedOn) = (2, [1])
        tasks.versions.append(version)
        tasks.currentVersionNumber = 2
        tasks.mappings = [
          MappingRules(
            source: 1, destination: 2, entities: [EntityRule(destination: "Job", name: "Job", isCustom: true)]
          )
        ]
      }
      return try ManagedObjectModel(merging: [Self.notes(last == 1 ? 1 : 3), tasks])
    }
    try create(kind)
    #expect(try refusal(kind, model(2)).reason == .missingPolicy(mapping: "Job"))
    var policies = MigrationPolicies()
    policies["Job", from: 1, to: 2] = { Marking() }
    let result = try open(kind, model(2), "Job", "text", policies: policies)
    #expect(result.values == texts("<j0>", "<j1>", "<j2>"))
    #expect(try open(kind, model(2), "Note", "body").values == texts("n0!", "n1!", "n2!"))
  }

  // MARK: What parts share

  /// Two models that declare an enumeration alike, and change it together.
  @Test(arguments: StoreKind.files) func aSharedTypeMayChangeInAllParts(_ kind: StoreKind) throws {
    func part(_ name: String, _ id: UUID, _ last: Int) -> ManagedObjectModel {
      let versions = (1...last).map { number in
        MigrationFixture.version(
          number, [entity("\(name)Thing", [attribute("colour", .enumeration("Colour"), .int(1))])],
          enums: [
            EnumDescription(
              name: "Colour", rawType: .int16,
              cases: [.init(name: "red", rawValue: .int(1))]
                + (number > 1 ? [.init(name: "blue", rawValue: .int(2))] : []))
          ])
      }
      return ManagedObjectModel(name: name, id: id, versions: versions, currentVersionNumber: last)
    }
    func model(_ last: Int) throws -> ManagedObjectModel {
      try ManagedObjectModel(merging: [
        part("Notes", Self.notesID, last), part("Tasks", Self.tasksID, last),
        part("People", Self.peopleID, last),
      ])
    }
    try fixture.using(model(1)) {
      $0.location = kind.location(fixture.url)
    } body: { context in
      for name in ["Notes", "Tasks", "People"] { _ = try context.insert(entityNamed: "\(name)Thing") }
    }
    let result = try open(kind, model(2), "PeopleThing", "colour")
    #expect(result.values == [.int(1)])
    #expect(try open(kind, model(2), "NotesThing", "colour").steps.isEmpty)
  }

  /// An entity of one model becomes one of the other, which can only be where the first has given it up before.
  @Test(arguments: [true, false]) func anEntityMayLeaveAPartBeforeAnotherTakesIt(_ isFirst: Bool) throws {
    func part(_ name: String, _ id: UUID, _ entities: [[String]]) -> ManagedObjectModel {
      let versions = entities.enumerated().map { place, names in
        MigrationFixture.version(place + 1, names.map { entity($0, [attribute("text", .string)]) })
      }
      let drops = Set(entities[0]).subtracting(entities.last ?? [])
      return ManagedObjectModel(
        name: name, id: id, versions: versions, currentVersionNumber: versions.count,
        mappings: versions.count > 1 && !drops.isEmpty
          ? [MappingRules(source: 1, destination: 2, entities: [], drops: drops.sorted())] : [])
    }
    func model(_ notes: [[String]], _ tasks: [[String]]) throws -> ManagedObjectModel {
      let parts = [part("Notes", Self.notesID, notes), part("Tasks", Self.tasksID, tasks)]
      return try ManagedObjectModel(merging: isFirst ? parts : parts.reversed())
    }
    try fixture.open(model([["Note", "Tag"]], [["Job"]]))
    try fixture.open(model([["Note", "Tag"], ["Note"]], [["Job"], ["Job", "Tag"]]))
    // Each takes what the other has.
    let bytes = try fixture.bytes()
    let swapped = try model([["Note"], ["Job", "Tag"]], [["Job", "Tag"], ["Note"]])
    let other = try MigrationFixture()
    try other.open(model([["Note"]], [["Job", "Tag"]]))
    let error = #expect(throws: MigrationError.self) { try other.open(swapped) }
    #expect(error?.reason == .collidingModels(isFirst ? ["Notes", "Tasks"] : ["Tasks", "Notes"]))
    #expect(try fixture.bytes() == bytes)
  }

  // MARK: Several files

  /// Two parts in one file, and the third in its own.
  @Test func onlySomePartsMayShareAFile() throws {
    let people = ManagedObjectModel(
      name: "People", id: Self.peopleID,
      versions: (1...2).map {
        MigrationFixture.version(
          $0,
          [
            entity(
              "Person", [attribute("name", .string)] + ($0 > 1 ? [attribute("age", .int32, .int(9))] : []))
          ])
      }, currentVersionNumber: 2)
    var early = people
    early.versions.removeLast()
    early.currentVersionNumber = 1
    let stores = [
      PersistentStoreDescription(.sqlite(fixture.url)),
      PersistentStoreDescription(.sqlite(fixture.folder.appending(path: "people")), configuration: "People"),
    ]
    do {
      let model = try ManagedObjectModel(merging: [Self.notes(1), early, Self.tasks(1)])
      let context = ManagedObjectContext(try PersistentStoreCoordinator(model: model, stores: stores))
      for (name, key) in [("Note", "text"), ("Person", "name"), ("Job", "text")] {
        let object = try context.insert(entityNamed: name)
        try object.setValue(.attribute(.string("x")), forKey: key)
        if name == "Job" { try object.setValue(.attribute(.int(1)), forKey: "size") }
      }
      try context.save()
    }
    let model = try ManagedObjectModel(merging: [Self.notes(3), people, Self.tasks(2)])
    let coordinator = try PersistentStoreCoordinator(model: model, stores: stores)
    #expect(coordinator.migrations.map { $0.steps.count }.sorted() == [1, 3])
    let context = ManagedObjectContext(coordinator)
    for (name, key, value) in [
      ("Note", "body", AttributeValue.string("x!")), ("Person", "age", .int(9)),
      ("Job", "size", .string("1 h")),
    ] {
      let object = try #require(try context.fetch(FetchRequest<ManagedObject>(entityName: name)).first)
      #expect(try object.value(forKey: key).attribute == value)
    }
    #expect(try coordinator.verify().isEmpty)
  }

  // MARK: Rehearsals

  @Test func aRehearsalTakesTheSameSteps() throws {
    try create(.sqlite)
    let bytes = try fixture.bytes()
    let report = try MigrationRehearsal(
      PersistentStoreDescription(.sqlite(fixture.url)), model: Self.merged(3, 2)
    ).run()
    #expect(report.succeeds && report.steps.map(\.isDone) == [true, true, true])
    #expect(report.parts.map(\.model) == ["Notes", "Tasks"])
    #expect(report.parts.map(\.source) == [1, 1])
    #expect(report.parts.map(\.destination) == [3, 2] && report.parts.map(\.reached) == [3, 2])
    #expect(report.entities.map(\.after) == [3, 3])
    #expect(try fixture.bytes() == bytes)
  }

  @Test func aRehearsalTellsHowFarEachModelCame() throws {
    try create(.sqlite, 2, 1)
    // No text of these is a number.
    var tasks = try Self.tasks(2)
    tasks.versions[1] = MigrationFixture.version(
      2, [entity("Job", [attribute("text", .string), attribute("size", .int64)])])
    tasks.mappings = [try Self.rules(1, 2, "Job", "size", "CAST(text, 'Int64')")]
    let model = try ManagedObjectModel(merging: [Self.notes(3), tasks])
    let report = try MigrationRehearsal(
      PersistentStoreDescription(.sqlite(fixture.url)), model: model
    ).run()
    #expect(!report.succeeds)
    #expect(report.parts.map(\.source) == [2, 1] && report.parts.map(\.reached) == [3, 1])
  }

  @Test(arguments: StoreKind.files) func whoMayNotMigrateIsToldWhichModelMoves(_ kind: StoreKind) throws {
    try create(kind, 1, 1)
    #expect(throws: StoreError.needsMigration(fixture.url, model: "Tasks", from: 1, to: 2)) {
      try fixture.open(Self.merged(1, 2)) {
        $0.location = kind.location(fixture.url)
        $0.migratesStoreAutomatically = false
      }
    }
  }
}
