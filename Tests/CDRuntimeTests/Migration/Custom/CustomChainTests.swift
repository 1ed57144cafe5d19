import Foundation
import SeededRandom
import Synchronization
import Testing

@_spi(Generated) @testable import CDRuntime

/// Custom steps among others, what is left of them wherever they end, and what they hold in memory.
@Suite(.needs(.migrations)) struct CustomChainTests {
  private struct Fault: Error {}

  private static let body = AttributeDescription(
    name: "body", type: .data, isOptional: true, storesExternally: true)

  /// Inferred, custom, inferred with rows written anew, custom.
  private static let line: [ModelVersion] = {
    let plain = [attribute("text", .string), attribute("rank", .int64)]
    var second = Notes.version(2, note: plain + [attribute("extra", .int64, .int(7))])
    second.number = 2
    let third = Notes.version(
      3, note: plain + [attribute("extra", .int64, .int(7)), attribute("mark", .string), body])
    let fourth = Notes.version(
      4,
      note: [
        attribute("text", .string, isOptional: true), attribute("rank", .int64),
        attribute("extra", .int64, .int(7)), attribute("mark", .string), body,
      ])
    let fifth = Notes.version(
      5,
      note: [
        attribute("text", .string, isOptional: true), attribute("rank", .int64),
        attribute("extra", .int64, .int(7)), attribute("mark", .string), body,
      ], others: [entity("Tag", [attribute("name", .string)])])
    return [Notes.version(1), second, third, fourth, fifth]
  }()

  private static let model = MigrationFixture.model(
    line,
    mappings: [
      MappingRules(
        source: 2, destination: 3, entities: [EntityRule(destination: "Note", name: "Note", isCustom: true)]),
      MappingRules(
        source: 4, destination: 5, entities: [EntityRule(destination: "Tag", name: "Tag", isCustom: true)]),
    ])

  private static let policies: MigrationPolicies = {
    var policies = MigrationPolicies()
    policies["Note", from: 2, to: 3] = {
      TestPolicy(
        create: { source, mapping, manager in
          let note = try manager.makeDestinationInstance(for: source, in: mapping)
          try note.setValue("m" + source.text("text"), forKey: "mark")
          if try source.int("rank") == 2 {
            try note.setValue(.attribute(.data(Data(repeating: 9, count: 70_000))), forKey: "body")
          }
        },
        relate: { note, _, _ in
          let name = try note.value(forKey: "category").object?.text("name")
          try note.setValue(note.text("mark") + (name ?? "-"), forKey: "mark")
        })
    }
    policies["Tag", from: 4, to: 5] = {
      TestPolicy(begin: { _, manager in
        for note in try manager.sourceContext.fetch(FetchRequest<ManagedObject>(entityName: "Note")) {
          let tag = try manager.destinationContext.insert(entityNamed: "Tag")
          try tag.setValue(note.text("mark"), forKey: "name")
        }
      })
    }
    return policies
  }()

  private static func check(_ fixture: MigrationFixture) throws {
    try fixture.open(model) { $0.migrationPolicies = policies }
    try fixture.verify(model)
    // On a server, large values are in their rows.
    let files = ["store.cdstore", "store.cdstore-external"]
    #expect(fixture.files == (StoreKind.ofEnvironment.hasFiles ? files : [files[0]]))
    let marks = ["mN0C0", "mN1C1", "mN2C2", "mN3C0", "mN4C1", "mN5-"]
    #expect(try fixture.column("SELECT name FROM Tag ORDER BY _pk") == marks)
    #expect(try fixture.column("SELECT mark FROM Note ORDER BY _pk") == marks)
    #expect(try fixture.column("SELECT extra FROM Note") == Array(repeating: "7", count: 6))
    #expect(try fixture.rows(Notes.pairs).map { $0[1] } == ["C0", "C1", "C2", "C0", "C1", nil])
    try fixture.using(model) { context in
      let notes = try context.fetch(FetchRequest<ManagedObject>(entityName: "Note"))
      #expect(try notes[2].value(forKey: "body").attribute == .data(Data(repeating: 9, count: 70_000)))
    }
  }

  /// The names of the large values' files.
  private static func values(_ fixture: MigrationFixture) -> Set<String> {
    ExternalFiles(store: fixture.url).names
  }

  @Test func customStepsStandAmongOthers() throws {
    let fixture = try MigrationFixture()
    try fixture.create([Self.line[0]]) { try Notes.fill($0) }
    let fractions = Mutex<[Double]>([])
    try fixture.open(Self.model) { description in
      description.migrationPolicies = Self.policies
      description.migrationObserver = MigrationObserver { progress in
        fractions.withLock { $0.append(progress.fraction) }
      }
    }
    let seen = fractions.withLock { $0 }
    #expect(seen == seen.sorted() && seen.last == 1)
    try Self.check(fixture)
  }

  /// From one place where the migration can be interrupted to the next that is tried.
  private static let stride = isThorough ? 1 : 4

  @Test func aFaultAnywhereLeavesTheOldStore() throws {
    let fixture = try MigrationFixture()
    try fixture.create([Self.line[0]]) { try Notes.fill($0) }
    let content = try fixture.rows("SELECT * FROM Note")
    var limit = 0
    while true {
      let count = Mutex(0)
      let most = limit
      do {
        let hook: @Sendable (String) throws -> Void = { _ in
          let reached = count.withLock {
            $0 += 1
            return $0
          }
          if reached > most { throw Fault() }
        }
        try MigrationFaults.$hook.withValue(hook) {
          try fixture.open(Self.model) { $0.migrationPolicies = Self.policies }
        }
        break
      } catch {
        #expect(error is Fault || error is MigrationError)
        #expect(fixture.files.filter { $0 != "store.cdstore-external" } == ["store.cdstore"])
        #expect(try fixture.rows("SELECT * FROM Note") == content)
        #expect(Self.values(fixture).isEmpty)
      }
      limit += Self.stride
    }
    #expect(limit > 100)
    try Self.check(fixture)
  }

  @Test(.needsFile) func whatAKilledProcessLeavesIsCompletedOrCleaned() throws {
    let fixture = try MigrationFixture()
    try fixture.create([Self.line[0]]) { try Notes.fill($0) }
    let folder = fixture.folder
    let copies = Mutex<[URL]>([])
    let places = Mutex(0)
    let hook: @Sendable (String) throws -> Void = { _ in
      let place = places.withLock {
        $0 += 1
        return $0
      }
      guard place % Self.stride == 0 else { return }
      let copy = folder.deletingLastPathComponent().appending(path: "cdgen-\(UUID().uuidString)")
      try MigrationFaultTests.clone(folder, to: copy)
      copies.withLock { $0.append(copy) }
    }
    try MigrationFaults.$hook.withValue(hook) {
      try fixture.open(Self.model) { $0.migrationPolicies = Self.policies }
    }
    let left = copies.withLock { $0 }
    #expect(left.count * Self.stride > 100)
    for copy in left {
      let other = try MigrationFixture()
      try FileManager.default.removeItem(at: other.folder)
      try FileManager.default.moveItem(at: copy, to: other.folder)
      // The second opening removes the backup of the first.
      try other.open(Self.model) { $0.migrationPolicies = Self.policies }
      try Self.check(other)
      // A store that is read as a whole removes the values of the killed migration after an hour.
      try StoreKind.ofEnvironment.ageUnusedFiles(of: other.url)
      try other.open(Self.model) { $0.migrationPolicies = Self.policies }
      #expect(Self.values(other).count == 1)
    }
  }

  @Test(.onlyOnSQLite("a file that is read whole is in memory")) func memoryDoesNotGrowWithTheStore() throws {
    let fixture = try MigrationFixture()
    let count = isThorough ? 20_000 : 4_000
    let most = Mutex((source: 0, destination: 0))
    let rules = Notes.rules([EntityRule(destination: "Note", name: "Note", isCustom: true)])
    try Notes.migrate(
      Notes.version(1), Notes.version(2), rules,
      [
        "Note": {
          let kept = Cache()
          return TestPolicy(
            create: { source, mapping, manager in
              let note = try manager.makeDestinationInstance(for: source, in: mapping)
              // Followed, and not held.
              _ = try source.value(forKey: "category").object?.text("name")
              if kept.objects.isEmpty { kept.objects[0] = note }
              let rank = try source.int("rank")
              if rank % 500 == 0 {
                let live = (
                  source: manager.sourceContext.registeredObjects.count,
                  destination: manager.destinationContext.registeredObjects.count
                )
                most.withLock {
                  $0 = (max($0.source, live.source), max($0.destination, live.destination))
                }
              }
            },
            relate: { note, _, manager in
              if try note.int("rank") == Int64(count - 1) {
                // What a policy holds stays one object.
                #expect(try kept.objects[0]?.text("text") == "N0")
                #expect(
                  manager.destinationContext.registeredObject(for: try #require(kept.objects[0]).objectID)
                    === kept.objects[0])
              }
              let live = manager.destinationContext.registeredObjects.count
              most.withLock { $0.destination = max($0.destination, live) }
            })
        }
      ], in: fixture,
      fill: { context in
        let category = try context.insert(entityNamed: "Category")
        try category.setValue("C", forKey: "name")
        for number in 0..<count {
          let note = try context.insert(entityNamed: "Note")
          try note.setValue("N\(number)", forKey: "text")
          try note.setValue(number, forKey: "rank")
          try note.setValue(category, forKey: "category")
        }
      })
    #expect(try fixture.column("SELECT count(*) FROM Note") == ["\(count)"])
    let live = most.withLock { $0 }
    #expect(live.source <= 10)
    #expect(live.destination <= 1_100)
  }
}
