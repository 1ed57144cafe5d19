import Foundation
import Synchronization
import Testing

@testable import CDRuntime

/// The events that the log reports. Other suites run at the same time, so each test keeps only events of its own store.
@Suite(.needsReopening, .serialized) struct StoreLogTests {
  private static let first = MigrationFixture.version(1, [entity("LoggedNote", [attribute("text", .string)])])
  private static let second = MigrationFixture.version(
    2, [entity("LoggedNote", [attribute("text", .string), attribute("more", .string, .string(""))])])

  private final class Events: Sendable {
    private let kept = Mutex<[StoreLogEvent]>([])
    var all: [StoreLogEvent] { kept.withLock { $0 } }

    init(where isOwn: @escaping @Sendable (StoreLogEvent) -> Bool) {
      StoreLog.setHandler { [weak self] event in
        if isOwn(event) { self?.kept.withLock { $0.append(event) } }
      }
    }

    deinit { StoreLog.setHandler(nil) }
  }

  @Test(.needs(.migrations)) func statementsAndMigrations() throws {
    let fixture = try MigrationFixture()
    let url = fixture.shownURL
    let events = Events { event in
      switch event {
      case .statement(let text, _): text.contains("LoggedNote")
      case .migration(let store, _, _, _): store == url
      case .evaluationInMemory, .conflicts, .slowFetch: false
      }
    }
    try fixture.create([Self.first]) { context in
      try context.insert(entityNamed: "LoggedNote").setValue(.attribute(.string("secret")), forKey: "text")
    }
    #expect(!events.all.contains { "\($0)".contains("secret") })
    try fixture.using(MigrationFixture.model([Self.first, Self.second])) { context in
      _ = try context.fetch(FetchRequest<ManagedObject>(entityName: "LoggedNote"))
    }
    let migrations = events.all.filter { if case .migration = $0 { true } else { false } }
    guard case .migration(_, 1, 2, let duration)? = migrations.first else {
      Issue.record("there is no migration in \(events.all)")
      return
    }
    #expect(migrations.count == 1 && duration > .zero)
    let name = url.isFileURL ? "store.cdstore" : url.absoluteString
    #expect("\(migrations[0])".hasSuffix("ms  migrated \(name) from version 1 to 2"))
    let insertion = #/INSERT INTO ("test_\w+"\.)?"LoggedNote"/#
    if [.sqlite, .postgresql].contains(StoreKind.ofEnvironment) {
      #expect(events.all.contains { "\($0)".contains(insertion) })
      #expect(
        events.all.contains { if case .statement(_, let time) = $0 { time > .zero } else { false } })
    }
  }

  @Test func conflictsAndEvaluationInMemory() throws {
    let fixture = try MigrationFixture()
    let events = Events { event in
      switch event {
      case .evaluationInMemory(let entity, _): entity == "LoggedNote"
      case .conflicts(let objects): objects.contains { $0.entityName == "LoggedNote" }
      case .statement, .migration, .slowFetch: false
      }
    }
    try fixture.create([Self.first]) { context in
      let note = try context.insert(entityNamed: "LoggedNote")
      try note.setValue(.attribute(.string("a")), forKey: "text")
      try context.save()
      let other = ManagedObjectContext(context.persistentStoreCoordinator)
      let same = try other.existingObject(with: note.objectID)
      try same.setValue(.attribute(.string("b")), forKey: "text")
      try note.setValue(.attribute(.string("c")), forKey: "text")
      try context.save()
      #expect(throws: SaveError.self) { try other.save() }
      #expect(events.all == [.conflicts([note.objectID])])
      let lower = FetchRequest<ManagedObject>(
        entityName: "LoggedNote", where: try FetchPredicate(format: "lowercase(text) == 'c'"))
      #expect(try context.fetch(lower).count == 1)
    }
    #expect(events.all.count == 2)
    #expect("\(events.all.last.map(String.init(describing:)) ?? "")".contains("evaluated in memory"))
  }

  @Test func fetchesAboveTheThresholdAreSlow() throws {
    let fixture = try MigrationFixture()
    final class Kept: Sendable { let events = Mutex<[StoreLogEvent]>([]) }
    let kept = Kept()
    func watch(_ threshold: Duration?) {
      StoreLog.setHandler(slowFetches: threshold) { event in
        if case .slowFetch("LoggedNote", _) = event { kept.events.withLock { $0.append(event) } }
      }
    }
    defer { StoreLog.setHandler(nil) }
    try fixture.create([Self.first]) { context in
      try context.insert(entityNamed: "LoggedNote").setValue(.attribute(.string("a")), forKey: "text")
      try context.save()
      let request = FetchRequest<ManagedObject>(entityName: "LoggedNote")
      func runAll() throws {
        _ = try context.fetch(request)
        _ = try context.count(for: request)
        _ = try context.objectIDs(for: request)
        _ = try context.dictionaries(for: request)
        _ = try context.lazyFetch(request)
      }
      for threshold in [nil, Duration.seconds(1_000_000), .seconds(Int64.max)] {
        watch(threshold)
        try runAll()
        #expect(kept.events.withLock { $0 }.isEmpty)
      }
      watch(.zero)
      try runAll()
      let events = kept.events.withLock { $0 }
      #expect(events.count == 5)
      #expect(events.allSatisfy { "\($0)".hasSuffix("ms  slow fetch of LoggedNote") })
      StoreLog.setHandler(slowFetches: .zero, nil)
      try runAll()
      #expect(kept.events.withLock { $0 }.count == 5 && !StoreLog.isOn)
    }
  }

  @Test func withoutAHandlerNothingIsMade() {
    StoreLog.setHandler(nil)
    #expect(!StoreLog.isOn)
    var made = 0
    func event() -> StoreLogEvent {
      made += 1
      return .conflicts([])
    }
    StoreLog.report(event())
    #expect(made == 0)
  }
}
