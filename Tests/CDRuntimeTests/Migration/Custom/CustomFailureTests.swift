import Foundation
import Synchronization
import Testing

@_spi(Generated) @testable import CDRuntime

/// What the app's own code does wrong, and what is left then.
@Suite(.needs(.migrations)) struct CustomFailureTests {
  private static let custom = Notes.rules([EntityRule(destination: "Note", name: "Keep", isCustom: true)])
  private struct Mishap: Error {}

  /// Migrates by a policy that is to fail, and gives the error. The store is as it was.
  private func failure(
    _ new: ModelVersion = Notes.version(2), _ rules: MappingRules = custom,
    _ make: @escaping @Sendable () -> TestPolicy,
    _ change: (inout PersistentStoreDescription) -> Void = { _ in }
  ) throws -> MigrationError? {
    let fixture = try MigrationFixture()
    let error = #expect(throws: MigrationError.self) {
      try Notes.migrate(Notes.version(1), new, rules, ["Keep": make], in: fixture, change)
    }
    #expect(fixture.files == ["store.cdstore"])
    try fixture.verify(MigrationFixture.model([Notes.version(1)]))
    #expect(try fixture.column("SELECT text FROM Note ORDER BY _pk") == ["N0", "N1", "N2", "N3", "N4", "N5"])
    if let step = error?.step { #expect(step.source == 1 && step.destination == 2) }
    return error
  }

  @Test func anErrorOfAPolicyNamesTheRow() throws {
    let error = try failure {
      TestPolicy(create: { source, mapping, manager in
        if try source.int("rank") == 3 { throw Mishap() }
        try manager.makeDestinationInstance(for: source, in: mapping)
      })
    }
    #expect(error?.reason == .policyFailed("Mishap()"))
    #expect(error?.entity == "Note" && error?.objectKey == 4 && error?.step != nil)
  }

  @Test func everyHookMayThrow() throws {
    let makers: [@Sendable () -> TestPolicy] = [
      { TestPolicy(begin: { _, _ in throw Mishap() }) },
      { TestPolicy(endCreation: { _, _ in throw Mishap() }) },
      { TestPolicy(relate: { note, _, _ in if try note.int("rank") == 2 { throw Mishap() } }) },
      { TestPolicy(endRelation: { _, _ in throw Mishap() }) },
      { TestPolicy(validate: { _, _ in throw Mishap() }) },
      { TestPolicy(end: { _, _ in throw Mishap() }) },
    ]
    for (place, make) in makers.enumerated() {
      let error = try failure(Notes.version(2), Self.custom, make)
      #expect(error?.reason == .policyFailed("Mishap()"))
      #expect(error?.objectKey == (place == 2 ? 3 : nil))
    }
  }

  @Test func aMandatoryValueThatIsLeftOutNamesTheRow() throws {
    let new = Notes.version(
      2, note: [attribute("text", .string), attribute("rank", .int64), attribute("mark", .string)])
    let error = try failure(new) {
      TestPolicy(create: { source, mapping, manager in
        let note = try manager.makeDestinationInstance(for: source, in: mapping)
        if try source.int("rank") != 1 { try note.setValue("m", forKey: "mark") }
      })
    }
    #expect(error?.reason == .missingValue(property: "mark"))
    #expect(error?.entity == "Note" && error?.objectKey == 2)
  }

  @Test func aValueThatBreaksARuleNamesTheRow() throws {
    var rank = attribute("rank", .int64)
    rank.maximum = .int(3)
    let error = try failure(Notes.version(2, note: [attribute("text", .string), rank])) { TestPolicy() }
    #expect(error?.objectKey == 5 && error?.entity == "Note")
    // The error contains no data of the store.
    #expect(
      error?.reason
        == .invalidValue(property: "rank", reason: "it is below its minimum or above its maximum"))
  }

  @Test func aValueOfAWrongKindIsRefused() throws {
    let error = try failure {
      TestPolicy(create: { source, mapping, manager in
        let note = try manager.makeDestinationInstance(for: source, in: mapping)
        try note.setValue("many", forKey: "rank")
      })
    }
    guard case .policyFailed(let reason)? = error?.reason else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(reason.contains("rank") && !reason.contains("many"))
    #expect(error?.objectKey == 1)
  }

  @Test func aMandatoryRelationshipThatNobodySetsNamesTheRow() throws {
    let new = Notes.version(
      2, more: [toOne("tag", "Tag", inverse: nil, isOptional: false)], others: [entity("Tag", [])])
    let error = try failure(new) {
      TestPolicy(create: { source, mapping, manager in
        let note = try manager.makeDestinationInstance(for: source, in: mapping)
        guard try source.int("rank") != 4 else { return }
        try note.setValue(try manager.destinationContext.insert(entityNamed: "Tag"), forKey: "tag")
      })
    }
    #expect(error?.reason == .missingValue(property: "tag"))
    #expect(error?.entity == "Note" && error?.objectKey == 5)
  }

  @Test func duplicatesOfAUniqueConstraintAreRefused() throws {
    let error = try failure(Notes.version(2, unique: [["text"]])) {
      TestPolicy(create: { source, mapping, manager in
        let note = try manager.makeDestinationInstance(for: source, in: mapping)
        if try source.int("rank") == 5 { try note.setValue("N0", forKey: "text") }
      })
    }
    #expect(error?.reason == .duplicate(properties: ["text"]))
  }

  @Test func aMissingPolicyIsRefusedBeforeAnythingIsTouched() throws {
    let fixture = try MigrationFixture()
    let points = Log()
    let error = #expect(throws: MigrationError.self) {
      let hook: @Sendable (String) throws -> Void = { points.add($0) }
      try MigrationFaults.$hook.withValue(hook) {
        try Notes.migrate(Notes.version(1), Notes.version(2), Self.custom, [:], in: fixture)
      }
    }
    #expect(error?.reason == .missingPolicy(mapping: "Keep"))
    #expect(error?.entity == "Note")
    #expect(points.entries.isEmpty)
  }

  @Test func changesOfTheOldObjectsAreRefused() throws {
    let error = try failure {
      TestPolicy(create: { source, mapping, manager in
        try source.setValue("x", forKey: "text")
        try manager.makeDestinationInstance(for: source, in: mapping)
      })
    }
    #expect(error?.reason == .policyFailed("objects of the old version were changed"))
    let saved = try failure {
      TestPolicy(create: { source, _, manager in
        try source.setValue("x", forKey: "text")
        try manager.sourceContext.save()
      })
    }
    #expect(saved != nil)
  }

  @Test func objectsOfRulesAreNotMadeByPolicies() throws {
    let error = try failure {
      TestPolicy(create: { source, _, manager in
        guard let other = manager.mappingModel.entityMappings.first(where: { $0.destination == "Category" })
        else {
          return
        }
        try manager.makeDestinationInstance(for: source, in: other)
      })
    }
    guard case .policyFailed(let reason)? = error?.reason else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(reason.contains("is not custom"))
  }

  @Test func anErrorThatAPolicySwallowsCountsAllTheSame() throws {
    let error = try failure {
      TestPolicy(create: { source, mapping, manager in
        let note = try manager.makeDestinationInstance(for: source, in: mapping)
        try note.setValue(nil, forKey: "text")
        try? manager.destinationContext.save()
      })
    }
    #expect(error?.reason == .missingValue(property: "text"))
  }

  @Test func policiesAndObserversCancel() throws {
    let error = try failure {
      TestPolicy(create: { source, mapping, manager in
        try manager.makeDestinationInstance(for: source, in: mapping)
        if try source.int("rank") == 3 { manager.cancel() }
      })
    }
    #expect(error?.reason == .cancelled)
    let isCancelled = Mutex(false)
    let log = Log()
    let observed = try failure(
      Notes.version(2), Self.custom,
      {
        TestPolicy(create: { source, mapping, manager in
          try manager.makeDestinationInstance(for: source, in: mapping)
          log.add("\(manager.progress)")
          isCancelled.withLock { $0 = true }
        })
      },
      { description in
        description.migrationObserver = MigrationObserver(isCancelled: { isCancelled.withLock { $0 } })
      })
    #expect(observed?.reason == .cancelled)
    #expect(log.entries.allSatisfy { (Double($0) ?? -1) >= 0 } && !log.entries.isEmpty)
  }

  @Test(.needsFile) func largeValuesOfAFailedMigrationAreRemoved() throws {
    let fixture = try MigrationFixture()
    let body = AttributeDescription(name: "body", type: .data, isOptional: true, storesExternally: true)
    let attributes = [attribute("text", .string), attribute("rank", .int64), body]
    let log = Log()
    let folder = fixture.folder
    #expect(throws: MigrationError.self) {
      try Notes.migrate(
        Notes.version(1, note: attributes), Notes.version(2, note: attributes), Self.custom,
        [
          "Keep": {
            TestPolicy(
              create: { source, mapping, manager in
                let note = try manager.makeDestinationInstance(for: source, in: mapping)
                try note.setValue(.attribute(.data(Data(repeating: 1, count: 100_000))), forKey: "body")
              },
              validate: { _, _ in
                let names = try FileManager.default.contentsOfDirectory(
                  atPath: folder.appending(path: "store.cdstore-external").path)
                log.add("\(names.count)")
                throw Mishap()
              })
          }
        ], in: fixture)
    }
    #expect(log.entries == ["6"])
    // Where the folder was made for them it may be gone too.
    let left = try? FileManager.default.contentsOfDirectory(
      atPath: folder.appending(path: "store.cdstore-external").path)
    #expect(left?.isEmpty ?? true)
  }
}
