import CSQLite
import Foundation
import Testing

@testable import CDRuntime

/// Migrations that are tried on a copy: what is found, and that the store is not touched.
@Suite(.needs(.migrations)) struct MigrationRehearsalTests {
  private static let name = attribute("name", .string)

  private static func note(_ attributes: [AttributeDescription], unique: [[String]] = []) -> EntityDescription
  {
    entity("Note", [name] + attributes, unique: unique)
  }

  private static let first = MigrationFixture.version(
    1,
    [
      note([attribute("age", .int32, isOptional: true), attribute("extra", .string, isOptional: true)]),
      entity("Log", [attribute("text", .string)]),
    ])

  /// Notes with the ages 0, nil, 2, nil, …; every third has an extra; two logs.
  private static func fill(_ context: ManagedObjectContext) throws {
    for number in 0..<12 {
      let note = try context.insert(entityNamed: "Note")
      try note.setValue(.attribute(.string("n\(number % 10)")), forKey: "name")
      if number % 2 == 0 { try note.setValue(.attribute(.int(Int64(number))), forKey: "age") }
      if number % 3 == 0 { try note.setValue(.attribute(.string("x")), forKey: "extra") }
    }
    for text in ["a", "b"] {
      try context.insert(entityNamed: "Log").setValue(.attribute(.string(text)), forKey: "text")
    }
  }

  private static func filled() throws -> MigrationFixture {
    let fixture = try MigrationFixture()
    try fixture.create([first]) { try fill($0) }
    return fixture
  }

  /// Rehearses, and expects the folder to be as it was, to the byte.
  private func rehearse(
    _ fixture: MigrationFixture, _ model: ManagedObjectModel,
    _ change: (inout MigrationRehearsal) -> Void = { _ in }
  ) throws -> MigrationReport {
    func contents() throws -> [String: Data] {
      var result: [String: Data] = [:]
      // SQLite's readers share a file beside the store's, which says nothing of its contents.
      for name in fixture.files where !name.hasSuffix("-shm") && !name.hasSuffix("-external") {
        result[name] =
          StoreKind.ofEnvironment.hasFiles
          ? try Data(contentsOf: fixture.folder.appending(path: name)) : try fixture.bytes()
      }
      return result.filter { !($0.key.hasSuffix("-wal") && $0.value.isEmpty) }
    }
    let before = try contents()
    let work = fixture.folder.deletingLastPathComponent().appending(path: "cdgen-work-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: work, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: work) }
    var rehearsal = MigrationRehearsal(PersistentStoreDescription(fixture.location), model: model)
    rehearsal.workFolder = work
    change(&rehearsal)
    let report = try rehearsal.run()
    #expect(try contents() == before)
    #expect(try FileManager.default.contentsOfDirectory(atPath: work.path) == [])
    return report
  }

  @Test func nothingIsToBeDone() throws {
    let report = try rehearse(Self.filled(), MigrationFixture.model([Self.first]))
    #expect(report.succeeds && report.steps.isEmpty && report.entities.isEmpty)
    #expect(report.source == 1 && report.reached == 1)
  }

  @Test func lossesAreCounted() throws {
    let fixture = try Self.filled()
    let second = MigrationFixture.version(2, [Self.note([attribute("age", .int32, isOptional: true)])])
    let third = MigrationFixture.version(3, [Self.note([attribute("age", .string, isOptional: true)])])
    let rules = MappingRules(
      source: 1, destination: 2, entities: [EntityRule(destination: "Note", drops: ["extra"])], drops: ["Log"]
    )
    let model = MigrationFixture.model([Self.first, second, third], mappings: [rules])
    let report = try rehearse(fixture, model)
    #expect(report.succeeds && report.reached == 3 && !report.isInPlace)
    #expect(report.steps.map(\.kind) == [.mapped, .automatic])
    #expect(report.steps.allSatisfy { $0.isDone })
    let losses = report.steps[0].losses
    #expect(Set(losses.map { "\($0.count ?? -1) \($0.unit)" }) == ["4 values", "2 objects"])
    #expect(losses.allSatisfy { $0.isConfirmed })
    #expect(report.steps[1].losses.isEmpty)
    #expect(
      report.entities == [
        MigrationReport.EntityCount(source: "Note", destination: "Note", before: 12, after: 12),
        MigrationReport.EntityCount(source: "Log", destination: nil, before: 2, after: nil),
      ])
    #expect(report.steps[0].statements.contains { $0.sql == "ALTER TABLE \"Note\" DROP COLUMN \"extra\"" })
    #expect(report.fileSize > 0 && report.neededSpace > 0 && report.freeSpace ?? 0 > 0)
    // What was rehearsed is what happens.
    try fixture.open(model)
    #expect(try fixture.column("SELECT count(*) FROM Note") == ["12"])
  }

  /// A mapping leads from version 1 to version 3. The names in the store are those of version 1, and each `renamedFrom` is
  /// a name of the version directly before.
  @Test func lossesOfAStepOverRenamesAreCounted() throws {
    func version(
      _ number: Int, _ time: AttributeDescription, _ notes: RelationshipDescription
    ) -> ModelVersion {
      MigrationFixture.version(
        number,
        [
          entity(
            "Note", [Self.name, time], relationships: [toOne("owner", "Person", inverse: notes.name)]),
          entity("Person", [Self.name], relationships: [notes]),
        ])
    }
    let first = version(
      1, attribute("made", .date, isOptional: true),
      toMany("notes", "Note", inverse: "owner", isOrdered: true))
    let second = version(
      2, attribute("created", .date, isOptional: true, renamedFrom: "made"),
      toMany("texts", "Note", inverse: "owner", isOrdered: true, renamedFrom: "notes"))
    // The attribute is renamed again. The relationship keeps its name, so it has no `renamedFrom` any more.
    let third = version(
      3, attribute("begun", .string, isOptional: true, renamedFrom: "created"),
      toMany("texts", "Note", inverse: "owner"))
    let rules = MappingRules(
      source: 1, destination: 3,
      entities: [
        EntityRule(destination: "Note", drops: ["made"]), EntityRule(destination: "Person", drops: ["notes"]),
      ])
    let fixture = try MigrationFixture()
    try fixture.create([first]) { context in
      var notes: [ManagedObject] = []
      for number in 0..<5 {
        let note = try context.insert(entityNamed: "Note")
        try note.setValue(.attribute(.string("n\(number)")), forKey: "name")
        if number > 1 {
          let time = Date(timeIntervalSinceReferenceDate: Double(number))
          try note.setValue(.attribute(.date(time)), forKey: "made")
        }
        notes.append(note)
      }
      let person = try context.insert(entityNamed: "Person")
      try person.setValue(.attribute(.string("p")), forKey: "name")
      try person.setValue(Array(notes.dropFirst()), forKey: "notes")
    }
    let report = try rehearse(fixture, MigrationFixture.model([first, second, third], mappings: [rules]))
    #expect(report.succeeds && report.steps.count == 1, "\(String(describing: report.refusal))")
    let losses = report.steps.first?.losses.map { "\($0.count ?? -1) \($0.unit)" } ?? []
    #expect(Set(losses) == ["3 values", "4 relations"])
  }

  /// The stored draft has the new name already. It is not the name that `renamedFrom` gives.
  @Test func lossesOfADraftAreCountedByItsNames() throws {
    let first = MigrationFixture.version(1, [Self.note([attribute("made", .date, isOptional: true)])])
    func second(_ type: AttributeType) -> ModelVersion {
      MigrationFixture.version(
        2, [Self.note([attribute("begun", type, isOptional: true, renamedFrom: "made")])])
    }
    let fixture = try MigrationFixture()
    try fixture.create([first, second(.date)]) { context in
      for number in 0..<3 {
        let note = try context.insert(entityNamed: "Note")
        try note.setValue(.attribute(.string("n\(number)")), forKey: "name")
        if number > 0 {
          let time = Date(timeIntervalSinceReferenceDate: Double(number))
          try note.setValue(.attribute(.date(time)), forKey: "begun")
        }
      }
    }
    let report = try rehearse(fixture, MigrationFixture.model([first, second(.string)]))
    guard case .losesData? = report.refusal?.reason else {
      Issue.record("\(report)")
      return
    }
    #expect(report.steps[0].losses.map(\.count) == [2])
  }

  @Test func whatNobodyConfirmedIsCounted() throws {
    let second = MigrationFixture.version(2, [Self.note([attribute("age", .int32, isOptional: true)])])
    let fixture = try Self.filled()
    let report = try rehearse(fixture, MigrationFixture.model([Self.first, second]))
    guard case .notProven(let changes)? = report.refusal?.reason else {
      Issue.record("\(report)")
      return
    }
    #expect(changes.count == 2 && report.steps.count == 1 && !report.steps[0].isDone)
    #expect(report.reached == 1)
    #expect(report.steps[0].losses.map(\.isConfirmed) == [false, false])
    #expect(Set(report.steps[0].losses.compactMap(\.count)) == [4, 2])
    #expect(report.refusal?.url.lastPathComponent == fixture.shownURL.lastPathComponent)
  }

  @Test func inPlaceItIsOneTransaction() throws {
    var second = Self.first
    second.number = 2
    second.basedOn = [1]
    second.entities[0].attributes.append(attribute("mark", .string, .string("m")))
    let report = try rehearse(Self.filled(), MigrationFixture.model([Self.first, second]))
    #expect(report.succeeds && report.isInPlace)
    #expect(
      report.steps[0].statements.map(\.sql).contains {
        $0.hasPrefix("ALTER TABLE \"Note\" ADD COLUMN \"mark\"")
      })
    #expect(report.neededSpace > 0)
  }

  /// All objects that lack a value, and all that are equal: not the first alone.
  @Test func everyObjectInTheWayIsFound() throws {
    let fixture = try Self.filled()
    let second = MigrationFixture.version(
      2,
      [
        Self.note(
          [
            attribute("age", .int32), attribute("extra", .string, isOptional: true),
            attribute("size", .int64),
          ],
          unique: [["name"]]), entity("Log", [attribute("text", .string)]),
      ])
    let report = try rehearse(fixture, MigrationFixture.model([Self.first, second]))
    guard case .notProven(let changes)? = report.refusal?.reason else {
      Issue.record("\(report)")
      return
    }
    #expect(changes.count == 3)
    let problems = report.steps[0].problems
    #expect(
      Set(problems.map { "\($0.property ?? "") \($0.rule) \($0.count)" }) == [
        "age is mandatory and has no value 6", "size is mandatory and has no value 12",
      ])
    let age = problems.first { $0.property == "age" }
    #expect(age?.objects.map { $0.lastPathComponent } == ["p2", "p4", "p6", "p8", "p10"])
    let store = try fixture.column("SELECT value FROM _cdgen_metadata WHERE key = 'storeUUID'")[0]
    #expect(age?.objects.first?.absoluteString == "cdgen://\(store ?? "")/Note/p2")
  }

  /// An attribute that is mandatory now was renamed in a version which the step leads over.
  @Test func missingValuesOfAStepOverARenameAreFound() throws {
    let log = entity("Log", [attribute("text", .string)])
    let extra = attribute("extra", .string, isOptional: true)
    let second = MigrationFixture.version(
      2, [Self.note([attribute("years", .int32, isOptional: true, renamedFrom: "age"), extra]), log])
    let third = MigrationFixture.version(3, [Self.note([attribute("years", .int32), extra]), log])
    let model = MigrationFixture.model(
      [Self.first, second, third], mappings: [MappingRules(source: 1, destination: 3)])
    let report = try rehearse(Self.filled(), model)
    guard case .notProven? = report.refusal?.reason, report.steps.count == 1 else {
      Issue.record("\(report)")
      return
    }
    #expect(report.steps[0].problems.map { "\($0.property ?? "") \($0.count)" } == ["years 6"])
  }

  @Test func duplicatesAreFoundAndCounted() throws {
    func version(_ rules: Bool) -> ManagedObjectModel {
      var second = Self.first
      second.number = 2
      second.basedOn = [1]
      second.entities[0].uniquenessConstraints = [["name"]]
      let rule = MappingRules(
        source: 1, destination: 2,
        duplicates: [DuplicateRule(entity: "Note", properties: ["name"], survivor: .keepFirst)])
      return MigrationFixture.model([Self.first, second], mappings: rules ? [rule] : [])
    }
    let refused = try rehearse(Self.filled(), version(false))
    #expect(refused.steps[0].problems.map(\.count) == [4])
    #expect(refused.steps[0].problems[0].objects.map(\.lastPathComponent) == ["p1", "p2", "p11", "p12"])
    let report = try rehearse(Self.filled(), version(true))
    #expect(report.succeeds)
    #expect(report.steps[0].losses.map(\.count) == [2])
    #expect(report.entities[0].after == 10)
  }

  @Test func rulesThatAreBrokenAreCounted() throws {
    var second = Self.first
    second.number = 2
    second.basedOn = [1]
    second.entities[0].attributes[0].minimumLength = 3
    second.entities[0].attributes[1].maximum = .int(5)
    let report = try rehearse(Self.filled(), MigrationFixture.model([Self.first, second]))
    #expect(report.succeeds)
    #expect(
      Set(report.brokenRules.map { "\($0.property ?? "") \($0.count)" }) == ["name 12", "age 3"])
    #expect(
      report.brokenRules.first { $0.property == "age" }?.objects.map(\.lastPathComponent) == [
        "p7", "p9", "p11",
      ])
    #expect(report.brokenRules.first { $0.property == "name" }?.description.hasSuffix("and others") == true)
  }

  @Test func valuesThatARuleCannotMakeAreFound() throws {
    let second = MigrationFixture.version(
      2,
      [
        Self.note([
          attribute("age", .int32, isOptional: true), attribute("extra", .string, isOptional: true),
          attribute("score", .int16),
        ]), entity("Log", [attribute("text", .string)]),
      ])
    let rules = MappingRules(
      source: 1, destination: 2,
      entities: [
        EntityRule(
          destination: "Note",
          attributes: [
            PropertyMapping(
              name: "score", value: try ValueExpression(format: "CAST(32760 + (age ?? 0), 'Int16', -1)"))
          ])
      ])
    let model = MigrationFixture.model([Self.first, second], mappings: [rules])
    let report = try rehearse(Self.filled(), model)
    #expect(report.succeeds == (report.refusal == nil))
    let fixture = try Self.filled()
    let isMade = (try? fixture.open(model)) != nil
    #expect(report.succeeds == isMade)
  }

  @Test func aStepWithTheAppsCodeIsNamed() throws {
    var second = Self.first
    second.number = 2
    second.basedOn = [1]
    second.entities[0].attributes.append(attribute("mark", .string, .string("m")))
    var third = second
    third.number = 3
    third.basedOn = [2]
    let rules = MappingRules(
      source: 2, destination: 3,
      entities: [EntityRule(destination: "Note", name: "MarkNotes", isCustom: true)])
    let report = try rehearse(
      Self.filled(), MigrationFixture.model([Self.first, second, third], mappings: [rules]))
    #expect(report.refusal?.reason == .missingPolicy(mapping: "MarkNotes"))
    #expect(report.steps.map(\.isDone) == [true, false])
    #expect(report.steps.map(\.kind) == [.automatic, .custom])
    #expect(report.reached == 2)
  }

  @Test func aStoreInUseIsRead() throws {
    let fixture = try Self.filled()
    let coordinator = try PersistentStoreCoordinator(
      model: MigrationFixture.model([Self.first]), at: fixture.location)
    let context = ManagedObjectContext(coordinator)
    try context.insert(entityNamed: "Note").setValue(.attribute(.string("late")), forKey: "name")
    try context.save()
    #expect(fixture.files.contains("store.cdstore-wal") == (StoreKind.ofEnvironment == .sqlite))
    var second = Self.first
    second.number = 2
    second.basedOn = [1]
    second.entities[0].attributes.append(attribute("mark", .string, .string("m")))
    let report = try rehearse(fixture, MigrationFixture.model([Self.first, second]))
    #expect(report.entities[0].before == 13 && report.entities[0].after == 13)
    withExtendedLifetime(coordinator) {}
  }

  /// A program that was killed has left its journal, which is read and stays.
  @Test(.onlyOnSQLite("its journal")) func aJournalThatWasLeftIsReadAndStays() throws {
    let fixture = try Self.filled()
    let left = try MigrationFixture()
    do {
      let coordinator = try PersistentStoreCoordinator(
        model: MigrationFixture.model([Self.first]), at: .sqlite(fixture.url))
      let context = ManagedObjectContext(coordinator)
      try context.insert(entityNamed: "Note").setValue(.attribute(.string("late")), forKey: "name")
      try context.save()
      for end in ["", "-wal"] {
        try FileManager.default.copyItem(
          at: fixture.folder.appending(path: "store.cdstore" + end),
          to: left.folder.appending(path: "store.cdstore" + end))
      }
      withExtendedLifetime(coordinator) {}
    }
    let journal = try Data(contentsOf: left.folder.appending(path: "store.cdstore-wal"))
    #expect(!journal.isEmpty)
    var second = Self.first
    second.number = 2
    second.basedOn = [1]
    second.entities[0].attributes.append(attribute("mark", .string, .string("m")))
    let report = try rehearse(left, MigrationFixture.model([Self.first, second]))
    #expect(report.entities[0].after == 13)
  }

  @Test(.needsFile) func largeValuesAreNotCopiedAndStay() throws {
    func version(_ number: Int, _ isExternal: Bool) -> ModelVersion {
      MigrationFixture.version(
        number,
        [
          entity(
            "Doc",
            [
              Self.name,
              AttributeDescription(name: "body", type: .data, isOptional: true, storesExternally: isExternal),
            ])
        ])
    }
    let fixture = try MigrationFixture()
    try fixture.create([version(1, true)]) { context in
      let doc = try context.insert(entityNamed: "Doc")
      try doc.setValue(.attribute(.string("d")), forKey: "name")
      try doc.setValue(.attribute(.data(Data(repeating: 1, count: 100_000))), forKey: "body")
      try context.save()
      try doc.setValue(.attribute(.data(Data(repeating: 2, count: 100_000))), forKey: "body")
    }
    // The replaced file is listed, and old enough for any opening to remove it.
    if StoreKind.ofEnvironment == .sqlite {
      try PlainSQL.run("UPDATE _cdgen_files SET time = 0", at: fixture.url)
    }
    let folder = fixture.folder.appending(path: "store.cdstore-external").path
    let files = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
    #expect(files.count == 2)
    let report = try rehearse(fixture, MigrationFixture.model([version(1, true), version(2, false)]))
    #expect(report.succeeds && report.brokenRules.isEmpty)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder).sorted() == files)
  }

  @Test func anotherModelsStoreIsRefused() throws {
    var model = MigrationFixture.model([Self.first])
    model.id = UUID()
    let fixture = try Self.filled()
    #expect(throws: StoreError.self) { try rehearse(fixture, model) }
  }

  @Test func aDraftThatWouldLoseIsExplained() throws {
    let fixture = try Self.filled()
    var draft = Self.first
    draft.entities[0].attributes.removeLast()
    let report = try rehearse(fixture, MigrationFixture.model([draft]))
    guard case .losesData? = report.refusal?.reason else {
      Issue.record("\(report)")
      return
    }
    #expect(report.steps[0].losses.map(\.count) == [4])
  }

  @Test func aRehearsalCanBeCancelled() throws {
    var second = Self.first
    second.number = 2
    second.basedOn = [1]
    second.entities[0].attributes[1].type = .int64
    let fixture = try Self.filled()
    let error = #expect(throws: MigrationError.self) {
      try rehearse(fixture, MigrationFixture.model([Self.first, second])) {
        $0.store.migrationObserver = MigrationObserver(isCancelled: { true })
      }
    }
    #expect(error?.reason == .cancelled)
    #expect(error?.url == fixture.shownURL)
  }

  @Test func relationsThatGoAreCounted() throws {
    let old = MigrationFixture.version(
      1,
      [
        entity("Note", [Self.name], relationships: [toOne("owner", "Person", inverse: "notes")]),
        entity(
          "Person", [Self.name], relationships: [toMany("notes", "Note", inverse: "owner", isOrdered: true)]),
      ])
    let new = MigrationFixture.version(2, [entity("Note", [Self.name]), entity("Person", [Self.name])])
    let rules = MappingRules(
      source: 1, destination: 2,
      entities: [
        EntityRule(
          destination: "Note", filter: try FetchPredicate(format: "name != 'n1'"), drops: ["owner"]),
        EntityRule(destination: "Person", drops: ["notes"]),
      ])
    let fixture = try MigrationFixture()
    try fixture.create([old]) { context in
      let person = try context.insert(entityNamed: "Person")
      try person.setValue(.attribute(.string("p")), forKey: "name")
      for number in 0..<5 {
        let note = try context.insert(entityNamed: "Note")
        try note.setValue(.attribute(.string("n\(number)")), forKey: "name")
        if number > 1 { try note.setValue(.object(person), forKey: "owner") }
      }
    }
    let report = try rehearse(fixture, MigrationFixture.model([old, new], mappings: [rules]))
    #expect(report.succeeds)
    let losses = Set(report.steps[0].losses.map { "\($0.count ?? -1) \($0.unit)" })
    #expect(losses == ["3 relations", "1 objects"])
    #expect(report.entities.first { $0.destination == "Note" }?.after == 4)
  }

  /// Code of an app, which cannot do anything with some of the objects.
  private struct Marking: EntityMigrationPolicy {
    struct TooOld: Error {}
    let limit: Int64

    func createDestinationInstances(
      for source: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
    ) throws {
      let note = try manager.makeDestinationInstance(for: source, in: mapping)
      if case .int(let age)? = try source.value(forKey: "age").attribute, age >= limit { throw TooOld() }
      try note.setValue("marked", forKey: "mark")
    }
  }

  @Test func theAppsCodeIsRehearsed() throws {
    var second = Self.first
    second.number = 2
    second.basedOn = [1]
    second.entities[0].attributes.append(attribute("mark", .string))
    let rules = MappingRules(
      source: 1, destination: 2,
      entities: [EntityRule(destination: "Note", name: "MarkNotes", isCustom: true)])
    let model = MigrationFixture.model([Self.first, second], mappings: [rules])
    func report(_ limit: Int64) throws -> MigrationReport {
      try rehearse(Self.filled(), model) {
        $0.store.migrationPolicies["MarkNotes", from: 1, to: 2] = { Marking(limit: limit) }
      }
    }
    let done = try report(1000)
    #expect(done.succeeds, "\(String(describing: done.refusal))")
    #expect(done.entities[0].after == 12 && done.steps[0].kind == .custom)
    let failed = try report(6)
    guard case .policyFailed? = failed.refusal?.reason else {
      Issue.record("\(String(describing: failed.refusal))")
      return
    }
    #expect(failed.steps[0].problems.map(\.count) == [3])
    #expect(failed.steps[0].problems[0].objects.map(\.lastPathComponent) == ["p7", "p9", "p11"])
  }

  /// Code of an app, which forgets a value of some objects.
  private struct Forgetting: EntityMigrationPolicy {
    let saves: Bool

    func createDestinationInstances(
      for source: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
    ) throws {
      let note = try manager.makeDestinationInstance(for: source, in: mapping)
      if case .int(let age)? = try source.value(forKey: "age").attribute, age % 700 != 0 {
        try note.setValue("marked", forKey: "mark")
      }
      // One of no row, and with a name that is too short.
      if source.objectID.key == 5 {
        let other = try manager.destinationContext.insert(entityNamed: "Note")
        try other.setValue("marked", forKey: "mark")
        try other.setValue("", forKey: "name")
      }
      if saves { try manager.destinationContext.save() }
    }
  }

  @Test(arguments: [true, false]) func valuesThatTheAppsCodeForgetsAreAllFound(saves: Bool) throws {
    let first = MigrationFixture.version(
      1, [Self.note([attribute("age", .int32, isOptional: true)])])
    var second = first
    second.number = 2
    second.basedOn = [1]
    second.entities[0].attributes[0].minimumLength = 1
    second.entities[0].attributes.append(attribute("mark", .string))
    let rules = MappingRules(
      source: 1, destination: 2,
      entities: [EntityRule(destination: "Note", name: "MarkNotes", isCustom: true)])
    let model = MigrationFixture.model([first, second], mappings: [rules])
    let fixture = try MigrationFixture()
    // Of several batches.
    try fixture.create([first]) { context in
      for number in 1...2500 {
        let note = try context.insert(entityNamed: "Note")
        try note.setValue(.attribute(.string("n\(number)")), forKey: "name")
        try note.setValue(number, forKey: "age")
      }
    }
    let keys = try fixture.column("SELECT _pk FROM Note WHERE age % 700 = 0 ORDER BY _pk")
    let report = try rehearse(fixture, model) {
      $0.store.migrationPolicies["MarkNotes", from: 1, to: 2] = { Forgetting(saves: saves) }
    }
    let problems = report.steps[0].problems
    #expect(problems.map(\.count).sorted() == [1, 3])
    let marks = problems.first { $0.property == "mark" }
    #expect(marks?.rule == "is mandatory and has no value")
    #expect(marks?.objects.map(\.lastPathComponent) == keys.map { "p\($0 ?? "")" })
    let name = problems.first { $0.property == "name" }
    #expect(name?.objects == [])
    #expect(!report.succeeds && report.refusal?.entity == "Note")
  }

  @Test func mandatoryReferencesThatNothingSetsAreAllFound() throws {
    let old = Notes.version(1)
    let new = Notes.version(2, category: toOne("category", "Category", inverse: "notes", isOptional: false))
    let fixture = try MigrationFixture()
    try fixture.create([old]) { try Notes.fill($0) }
    let model = MigrationFixture.model(
      [old, new], mappings: [Notes.rules([EntityRule(destination: "Note", name: "Note", isCustom: true)])])
    let report = try rehearse(fixture, model) {
      $0.store.migrationPolicies["Note", from: 1, to: 2] = {
        TestPolicy(create: { source, mapping, manager in
          let note = try manager.makeDestinationInstance(for: source, in: mapping)
          // Nil, which goes before what rules give, and is found when it is saved.
          if try source.int("rank") < 2 { try note.setValue(nil, forKey: "category") }
        })
      }
    }
    let problems = report.steps[0].problems
    #expect(problems.allSatisfy { $0.property == "category" && $0.entity == "Note" })
    #expect(problems.map(\.count).reduce(0, +) == 3)
    #expect(report.refusal?.reason == .missingValue(property: "category"))
  }
}
