import CDModel
import Dispatch
import Foundation
import Synchronization
import Testing

@testable import CDPostgresStore
@testable import CDRuntime

/// The second version of the small model, and what tests do with it.
enum MovedShelves {
  /// How the server makes the migration.
  enum Way: CaseIterable {
    /// It changes the tables where they are.
    case inPlace
    /// It gets the rows in new tables, because a value of each row is converted.
    case rows
    /// It gets the rows in tables of another schema, because it has common features only.
    case beside

    /// Those that lock the tables.
    static let locking: [Way] = [.inPlace, .rows]

    /// A store that will be migrated in this way.
    func store() throws -> ServerStore {
      try ServerStore {
        guard self == .beside else { return }
        $0.features = .common
        $0.leaseDuration = 0.5
      }
    }

    var model: ManagedObjectModel {
      MovedShelves.model {
        $0.entities[1].attributes.append(
          AttributeDescription(name: "place", type: .string, defaultValue: .value(.string("top"))))
        if self != .inPlace { $0.entities[1].attributes[1].type = .string }
      }
    }
  }

  static func model(
    change: (inout ModelVersion) -> Void = {
      $0.entities[1].attributes.append(
        AttributeDescription(name: "place", type: .string, defaultValue: .value(.string("top"))))
    }
  ) -> ManagedObjectModel {
    var version = ServerStore.version
    version.number = 2
    version.basedOn = [1]
    change(&version)
    return ManagedObjectModel(
      name: ServerStore.model.name, id: ServerStore.model.id, versions: [ServerStore.version, version],
      currentVersionNumber: 2)
  }

  /// A model without the prices of books, whose first version is locked.
  static func withoutPrices() -> ManagedObjectModel {
    model { $0.entities[1].attributes.removeAll { $0.name == "price" } }
  }

  /// The model whose draft has changed: a store with a book without pages cannot be migrated.
  static let changedDraft: ManagedObjectModel = {
    var draft = ServerStore.version
    draft.entities[1].attributes[1].isOptional = false
    return ManagedObjectModel(
      name: ServerStore.model.name, id: ServerStore.model.id, versions: [draft], currentVersionNumber: 1)
  }()

  static func places(_ coordinator: PersistentStoreCoordinator) throws -> [String] {
    let context = PersistentContainer(coordinator).newContext()
    return try context.objects(forEntityNamed: "Book", format: "TRUEPREDICATE").compactMap {
      if case .attribute(.string(let text)) = try $0.value(forKey: "place") { return text }
      return nil
    }
  }
}

/// Migrations of stores on a server.
@Suite(.needsServer) struct MigrationTests {
  private func context(_ coordinator: PersistentStoreCoordinator) -> ManagedObjectContext {
    PersistentContainer(coordinator).newContext()
  }

  /// Starts threads, all of which run at the same time.
  private static func start(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) -> DispatchGroup {
    let group = DispatchGroup()
    for number in 0..<count {
      group.enter()
      Thread.detachNewThread {
        body(number)
        group.leave()
      }
    }
    return group
  }

  private func isReplaced(_ error: (any Error)?) -> Bool {
    if case StoreError.replaced? = error { true } else { false }
  }

  @Test(arguments: MovedShelves.Way.allCases)
  func objectsIdentifiersAndHistoryStay(way: MovedShelves.Way) throws {
    let store = try way.store()
    let old = try store.context()
    let shelf = try old.insert(entityNamed: "Shelf")
    try shelf.setValue("one", forKey: "name")
    let book = try old.addBook("a", pages: 7)
    try book.setValue(.object(shelf), forKey: "shelf")
    try book.setValue(
      .attribute(.decimal(try #require(Decimal(string: "12345678901234567890.125")))), forKey: "price")
    let date = Date(timeIntervalSinceReferenceDate: 0.1 + 0.2)
    try book.setValue(.attribute(.date(date)), forKey: "added")
    try old.save()
    let id = book.objectID
    let history = try store.sql(
      #"SELECT "id", "save", "changes" FROM \#(store.table("_cdgen_history")) ORDER BY 1"#)

    let coordinator = try PersistentStoreCoordinator(
      model: way.model, at: .server(store.server))
    let result = try #require(coordinator.migrations.first)
    #expect(result.source == 1 && result.destination == 2 && result.isInPlace && result.backup == nil)
    let new = context(coordinator)
    let found = try new.existingObject(with: id)
    #expect(try found.value(forKey: "title").attribute == .string("a"))
    #expect(try found.value(forKey: "place").attribute == .string("top"))
    #expect(
      try found.value(forKey: "price").attribute
        == .decimal(#require(Decimal(string: "12345678901234567890.125"))))
    #expect(try found.value(forKey: "added").attribute == .date(date))
    #expect(try found.value(forKey: "shelf").object?.objectID == shelf.objectID)
    #expect(try coordinator.verify().isEmpty)
    let later = try store.sql(
      #"SELECT "id", "save", "changes" FROM \#(store.table("_cdgen_history")) ORDER BY 1"#)
    #expect(later.rowCount == history.rowCount)
    for row in 0..<later.rowCount {
      #expect(later.int(row, 0) == history.int(row, 0) && later.uuid(row, 1) == history.uuid(row, 1))
      #expect(later.string(row, 2) == history.string(row, 2))
    }
    // New objects get keys that no object has had, and the history goes on.
    let next = try new.addBook("b")
    try new.save()
    #expect(next.objectID != id)
    #expect(try store.count("_cdgen_history") == 2)
    // The next opening has nothing to do.
    let again = try PersistentStoreCoordinator(model: way.model, at: .server(store.server))
    #expect(again.migrations.isEmpty)
    #expect(try MovedShelves.places(again) == ["top", "top"])
  }

  /// A program of the old version gets an error that names the migration, whatever it does next.
  @Test(arguments: MovedShelves.Way.allCases)
  func theOldVersionIsShutOut(way: MovedShelves.Way) throws {
    let store = try way.store()
    let old = try store.context()
    let book = try old.addBook("a")
    try old.save()
    let idle = try store.context()
    let idleBook = try idle.existingObject(with: book.objectID)
    _ = try PersistentStoreCoordinator(model: way.model, at: .server(store.server))

    try book.setValue("b", forKey: "title")
    let save = #expect(throws: (any Error).self) { try old.save() }
    #expect(isReplaced(save))
    #expect("\(try #require(save))".contains("new version"))
    old.rollback()
    // Outside of a block and in one.
    #expect(isReplaced(#expect(throws: (any Error).self) { try old.titles() }))
    #expect(
      isReplaced(#expect(throws: (any Error).self) { try idle.perform { try idle.titles() } }))
    _ = idleBook
    // A new object needs a key first.
    let fresh = try #require(
      #expect(throws: (any Error).self) {
        try old.addBook("c")
        try old.save()
      })
    #expect(isReplaced(fresh))
    #expect(try store.count("Book") == 1)
    #expect(throws: (any Error).self) { try store.coordinator() }
  }

  /// Two versions of a model of notes whose data hashes are the same, although the migration changes rows.
  ///
  /// - Parameter isRule: Whether a rule computes new titles; otherwise authors and titles exchange their names.
  private static func notes(isRule: Bool) throws -> (old: ManagedObjectModel, new: ManagedObjectModel) {
    let first = ModelVersion(
      number: 1,
      entities: [
        EntityDescription(
          name: "Note",
          attributes: ["author", "title"].map { AttributeDescription(name: $0, type: .string) })
      ])
    var second = first
    second.number = 2
    second.basedOn = [1]
    var rules: [MappingRules] = []
    if isRule {
      let title = PropertyMapping(name: "title", value: try ValueExpression(format: "title + '!'"))
      rules.append(
        MappingRules(
          source: 1, destination: 2, entities: [EntityRule(destination: "Note", attributes: [title])]))
    } else {
      second.entities[0].attributes[0].renamedFrom = "title"
      second.entities[0].attributes[1].renamedFrom = "author"
    }
    let id = UUID()
    return (
      ManagedObjectModel(name: "Notes", id: id, versions: [first], currentVersionNumber: 1),
      ManagedObjectModel(
        name: "Notes", id: id, versions: [first, second], currentVersionNumber: 2, mappings: rules)
    )
  }

  /// A program of the old version would write and read values in the places that they had before.
  @Test(arguments: [false, true]) func anUnchangedHashShutsTheOldVersionOut(isRule: Bool) throws {
    let store = try ServerStore()
    let models = try Self.notes(isRule: isRule)
    let old = context(try PersistentStoreCoordinator(model: models.old, at: .server(store.server)))
    let note = try old.insert(entityNamed: "Note")
    try note.setValue("Ada", forKey: "author")
    try note.setValue("Engines", forKey: "title")
    try old.save()
    let coordinator = try PersistentStoreCoordinator(model: models.new, at: .server(store.server))
    #expect(coordinator.migrations.count == 1)

    try note.setValue("Notes", forKey: "title")
    #expect(isReplaced(#expect(throws: (any Error).self) { try old.save() }))
    old.rollback()
    #expect(isReplaced(#expect(throws: (any Error).self) { try old.objects(forEntityNamed: "Note") }))
    // Whoever opens the store afterwards is not shut out.
    let new = try PersistentStoreCoordinator(model: models.new, at: .server(store.server))
    #expect(new.migrations.isEmpty)
    for each in [coordinator, new] {
      let context = context(each)
      let found = try #require(try context.objects(forEntityNamed: "Note").first)
      #expect(try found.text("title") == (isRule ? "Engines!" : "Ada"))
      try found.setValue("Ada L.", forKey: "author")
      try context.save()
      #expect(try each.verify().isEmpty)
    }
  }

  /// A transaction that has its snapshot from before the migration does not read the new tables as if they were empty.
  @Test(arguments: MovedShelves.Way.locking)
  func anOldSnapshotReadsNothing(way: MovedShelves.Way) throws {
    let store = try way.store()
    let old = try store.context()
    try old.addBook("a")
    try old.save()
    let hash = try #require(
      try store.sql(#"SELECT "value" FROM \#(store.table("_cdgen_metadata")) WHERE "key" = 'dataHash'"#)
        .string(0, 0))
    let storeID = try #require(old.persistentStoreCoordinator.storeIDs.first)
    let reader = try PostgresConnection.open(store.server, toWrite: false)
    _ = try reader.run("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")
    _ = try reader.run("SELECT count(*) FROM pg_class")
    _ = try PersistentStoreCoordinator(model: way.model, at: .server(store.server))
    // A table that stays has its rows still.
    let count = try reader.run("SELECT count(*) FROM \(store.table("Book"))").int(0, 0)
    #expect(count == (way == .rows ? 0 : 1))
    let mark = VersionMark([
      (StoreSchemas(store.server.schema), hash, storeID, nil, URL(filePath: "/store"))
    ])
    let failure = #expect(throws: PostgresFailure.self) { try reader.run(mark.statements) }
    #expect(isReplaced(failure.flatMap { mark.refusal($0, start: 0) }))
  }

  /// A migration that excludes others for longer than a statement may take. Another transaction has its locks.
  @Test(arguments: [false, true]) func othersAreToldOfALongMigration(isPooled: Bool) throws {
    let store = try ServerStore()
    func impatient(_ server: inout PostgresServer) {
      server.statementTimeout = 1.5
      server.isPooled = isPooled
    }
    func isBusy(_ body: () throws -> Void) -> Bool {
      do { try body() } catch StoreError.busy { return true } catch { Issue.record(error) }
      return false
    }
    let context = try store.context(impatient)
    try context.addBook("a")
    let (history, metadata) = (store.table("_cdgen_history"), store.table("_cdgen_metadata"))
    let lock = try PostgresConnection.open(store.server, toWrite: true)
    try lock.run("BEGIN")
    try lock.run("LOCK TABLE \(history) IN EXCLUSIVE MODE")
    let save = isBusy { try context.save() }
    try lock.run("LOCK TABLE \(metadata) IN ACCESS EXCLUSIVE MODE")
    let fetch = isBusy { _ = try context.titles() }
    var server = store.server
    impatient(&server)
    let reading = isBusy { _ = try PersistentStoreCoordinator.metadata(forStoreAt: .server(server)) }
    try lock.run("ROLLBACK")
    #expect(save && fetch && reading)
    try context.save()
    #expect(try context.titles() == ["a"])
  }

  /// A migration changes the tables in a short time. A lock that somebody has forgotten looks the same, and may never end.
  @Test(arguments: [PostgresServer.Features.postgresql, .common], [false, true])
  func openingsWaitForALockUpToALimit(features: PostgresServer.Features, mayMigrate: Bool) throws {
    let store = try ServerStore()
    _ = try store.coordinator()
    let lock = try PostgresConnection.open(store.server, toWrite: true)
    defer { lock.close() }
    try lock.run("BEGIN")
    try lock.run(TableReplacement.lock("_cdgen_metadata", schema: store.server.schema))
    var server = store.server
    server.features = features
    server.statementTimeout = 0.5
    var description = PersistentStoreDescription(.server(server), busyTimeout: 0.5)
    description.migratesStoreAutomatically = mayMigrate
    let error = #expect(throws: StoreError.self) {
      try PersistentStoreCoordinator(model: ServerStore.model, stores: [description])
    }
    guard case .busy? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    try lock.run("ROLLBACK")
    _ = try store.coordinator()
  }

  @Test(arguments: MovedShelves.Way.locking)
  func aReaderIsWaitedFor(way: MovedShelves.Way) throws {
    let store = try way.store()
    let old = try store.context()
    try old.addBook("a")
    try old.save()
    var description = PersistentStoreDescription(.server(store.server), busyTimeout: 0.5)
    let begun = DispatchSemaphore(value: 0)
    let go = DispatchSemaphore(value: 0)
    let done = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      do {
        let reader = try store.context()
        try reader.perform { () throws -> Void in
          _ = try reader.titles()
          begun.signal()
          go.wait()
          #expect(try reader.titles() == ["a"])
        }
      } catch { Issue.record(error) }
      done.signal()
    }
    begun.wait()
    let error = #expect(throws: MigrationError.self) {
      try PersistentStoreCoordinator(model: way.model, stores: [description])
    }
    #expect(error?.reason == .inUse && error?.table == "_cdgen_metadata")
    #expect("\(try #require(error))".contains("_cdgen_metadata"))
    // Nothing has changed, and the old version goes on.
    try old.addBook("b")
    try old.save()
    description.busyTimeout = 20
    Thread.detachNewThread {
      usleep(300_000)
      go.signal()
    }
    let coordinator = try PersistentStoreCoordinator(model: way.model, stores: [description])
    done.wait()
    #expect(try MovedShelves.places(coordinator) == ["top", "top"])
    #expect(try coordinator.verify().isEmpty)
  }

  /// Several programs start at once. One of them migrates, and the others wait for it.
  @Test(arguments: MovedShelves.Way.allCases)
  func oneOfManyMigrates(way: MovedShelves.Way) throws {
    let store = try way.store()
    let old = try store.context()
    for number in 0..<200 { try old.addBook("\(number)") }
    try old.save()
    let migrations = Mutex(0)
    let failures = Mutex<[String]>([])
    let programs = Self.start(8) { number in
      do {
        let coordinator = try PersistentStoreCoordinator(
          model: way.model, at: .server(store.server))
        migrations.withLock { $0 += coordinator.migrations.count }
        let context = PersistentContainer(coordinator).newContext()
        try context.addBook("new \(number)").setValue("low", forKey: "place")
        try context.save()
      } catch { failures.withLock { $0.append("\(error)") } }
    }
    programs.wait()
    #expect(failures.withLock { $0 } == [])
    #expect(migrations.withLock { $0 } == 1)
    let coordinator = try PersistentStoreCoordinator(model: way.model, at: .server(store.server))
    #expect(try MovedShelves.places(coordinator).count == 208)
    #expect(try coordinator.verify().isEmpty)
  }

  /// Whatever was saved before the migration is in the new store, and nothing is saved to the old one afterwards.
  @Test(arguments: MovedShelves.Way.allCases)
  func whoSavesDuringAMigrationLosesNothing(way: MovedShelves.Way) throws {
    let store = try way.store()
    _ = try store.context().titles()
    let saved = Mutex<Set<String>>([])
    let errors = Mutex<[String]>([])
    let isDone = Mutex(false)
    let writers = Self.start(3) { writer in
      var number = 0
      do {
        let context = try store.context()
        while !isDone.withLock({ $0 }) {
          number += 1
          try context.addBook("\(writer) \(number)")
          try context.save()
          _ = saved.withLock { $0.insert("\(writer) \(number)") }
        }
      } catch StoreError.replaced {} catch { errors.withLock { $0.append("\(error)") } }
    }
    func hasBegun(_ writer: Int) -> Bool { saved.withLock { $0.contains("\(writer) 10") } }
    while !(0..<3).allSatisfy(hasBegun), errors.withLock({ $0.isEmpty }) { usleep(1000) }
    let coordinator = try PersistentStoreCoordinator(model: way.model, at: .server(store.server))
    isDone.withLock { $0 = true }
    writers.wait()
    #expect(errors.withLock { $0 } == [])
    let titles = try context(coordinator).titles()
    #expect(titles.count == Set(titles).count)
    #expect(Set(titles) == saved.withLock { $0 })
    #expect(try coordinator.verify().isEmpty)
  }

  @Test(arguments: MovedShelves.Way.allCases)
  func aRefusedMigrationChangesNothing(way: MovedShelves.Way) throws {
    let store = try way.store()
    let old = try store.context()
    try old.addBook("a", pages: nil)
    try old.addBook("b", pages: 1)
    try old.save()
    func state() throws -> String {
      #expect(try store.besides() == [])
      // The numbers of schemas are never used again.
      let result = try store.sql(
        #"SELECT string_agg("key" || "value", ',' ORDER BY "key"), (SELECT count(*) FROM \#(store.table("Book"))) "#
          + #"FROM \#(store.table("_cdgen_metadata")) WHERE "key" <> 'tableSchemas'"#)
      return "\(result.string(0, 0) ?? "") \(result.int(0, 1))"
    }
    var before = try state()
    // A value is missing.
    let mandatory = MovedShelves.model { version in
      version.entities[1].attributes[1].isOptional = false
    }
    let missing = #expect(throws: MigrationError.self) {
      try PersistentStoreCoordinator(model: mandatory, at: .server(store.server))
    }
    #expect(missing?.url == store.server.url)
    #expect(try state() == before)
    // A text that no server stores comes from a default.
    let zero = MovedShelves.model {
      $0.entities[1].attributes.append(
        AttributeDescription(name: "place", type: .string, defaultValue: .value(.string("a\0b"))))
    }
    let unstorable = #expect(throws: MigrationError.self) {
      try PersistentStoreCoordinator(model: zero, at: .server(store.server))
    }
    #expect(unstorable?.entity == "Book" && unstorable?.objectKey != nil)
    guard case .invalidValue("place", let reason)? = unstorable?.reason, reason.contains("U+0000") else {
      Issue.record("\(String(describing: unstorable))")
      return
    }
    #expect(try state() == before)
    // The observer cancels, at each moment.
    for most in 0..<40 {
      let count = Mutex(0)
      var description = PersistentStoreDescription(.server(store.server))
      description.migrationObserver = MigrationObserver(isCancelled: {
        count.withLock {
          $0 += 1
          return $0 > most * 3
        }
      })
      do {
        let coordinator = try PersistentStoreCoordinator(model: way.model, stores: [description])
        #expect(try MovedShelves.places(coordinator).count == 3)
        break
      } catch let error as MigrationError {
        #expect(error.reason == .cancelled)
        #expect(try state() == before)
        if most == 0 {
          // The old version goes on.
          try old.addBook("c")
          try old.save()
          #expect(try old.perform { try old.titles().count } == 3)
          before = try state()
        }
      }
    }
  }

  @Test func progressNeverDecreases() throws {
    let store = try ServerStore()
    let old = try store.context()
    for number in 0..<600 { try old.addBook("\(number)") }
    try old.save()
    let seen = Mutex<[MigrationProgress]>([])
    var description = PersistentStoreDescription(.server(store.server))
    description.migrationObserver = MigrationObserver(progress: { one in seen.withLock { $0.append(one) } })
    _ = try PersistentStoreCoordinator(model: MovedShelves.Way.rows.model, stores: [description])
    let fractions = seen.withLock { $0.map(\.fraction) }
    #expect(fractions == fractions.sorted() && fractions.last == 1 && fractions.count > 10)
    #expect(seen.withLock { $0.allSatisfy { $0.source == 1 && $0.destination == 2 } })
    #expect(seen.withLock { $0.contains { $0.entity == "Book" } })
  }

  /// The connection is lost at points at which the program waits. At some of them it stays lost.
  @Test(arguments: [TestProxy.Action.cutBefore, .cutAfter], MovedShelves.Way.allCases)
  func aLostConnectionLeavesTheOldOrTheNewStore(action: TestProxy.Action, way: MovedShelves.Way) throws {
    var point = 0
    var isOver = false
    while !isOver {
      let store = try way.store()
      let old = try store.context()
      try old.addBook("a")
      try old.save()
      let proxy = try TestProxy(to: store.server)
      let count = Mutex(0)
      let number = point
      let staysLost = point % 4 == 0
      proxy.decide { _ in
        count.withLock {
          $0 += 1
          if $0 < number { return .forward }
          return $0 == number ? action : staysLost ? .cutBefore : .forward
        }
      }
      var server = store.server
      server.hosts = [PostgresServer.Host("127.0.0.1", port: proxy.port)]
      server.connectTimeout = 2
      do {
        let coordinator = try PersistentStoreCoordinator(model: way.model, at: .server(server))
        if count.withLock({ $0 < number }) {
          isOver = true
          #expect(coordinator.migrations.count == 1)
        }
      } catch {
        // Who cannot be reached at first is not asked again.
        #expect((staysLost || number < 3) && (error is StoreError || error is MigrationError), "\(error)")
      }
      proxy.cutAll()
      let coordinator = try PersistentStoreCoordinator(model: way.model, at: .server(store.server))
      #expect(try MovedShelves.places(coordinator) == ["top"])
      #expect(try coordinator.verify().isEmpty)
      point += point < 6 ? 1 : 3
      if point > 300 { isOver = true }
    }
    print("\(point) points")
  }

  /// The server ends the connections once, at any moment of the migration. The opening goes on by another one.
  @Test(arguments: MovedShelves.Way.allCases)
  func anEndedConnectionIsNoFailure(way: MovedShelves.Way) throws {
    for delay in stride(from: 0, to: 100_000, by: 9_000) {
      let store = try way.store()
      let old = try store.context()
      for number in 0..<50 { try old.addBook("\(number)") }
      try old.save()
      var server = store.server
      server.applicationName = "migration \(UUID())"
      let name = server.applicationName ?? ""
      let begun = DispatchSemaphore(value: 0)
      let ended = DispatchSemaphore(value: 0)
      var description = PersistentStoreDescription(.server(server))
      description.migrationObserver = MigrationObserver(progress: { _ in begun.signal() })
      Thread.detachNewThread {
        begun.wait()
        // Changes of tables take less time.
        usleep(UInt32(way == .rows ? delay : delay / 10))
        _ = try? store.sql(
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = ?",
          [.value(.string(name))])
        ended.signal()
      }
      let coordinator = try PersistentStoreCoordinator(model: way.model, stores: [description])
      ended.wait()
      #expect(try MovedShelves.places(coordinator).count == 50)
      #expect(try coordinator.verify().isEmpty)
    }
  }

  @Test func aReadOnlyStoreIsNotMigrated() throws {
    let store = try ServerStore()
    _ = try store.coordinator()
    let error = #expect(throws: StoreError.self) {
      try PersistentStoreCoordinator(
        model: MovedShelves.model(),
        stores: [PersistentStoreDescription(.server(store.server), isReadOnly: true)])
    }
    guard case .needsMigration? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    _ = try store.coordinator()
  }

  /// The store of a draft is created anew where that is asked for. It is another store then, and uses no key again.
  @Test(arguments: [MovedShelves.Way.rows, .beside])
  func aChangedDraftIsErasedWhereThatIsAskedFor(way: MovedShelves.Way) throws {
    let store = try way.store()
    let old = try store.context()
    let book = try old.addBook("a")
    try old.save()
    let model = MovedShelves.changedDraft
    var description = PersistentStoreDescription(.server(store.server))
    #expect(throws: MigrationError.self) {
      try PersistentStoreCoordinator(model: model, stores: [description])
    }
    #expect(try old.titles() == ["a"])
    description.changedDraftPolicy = .eraseInEveryBuild
    let coordinator = try PersistentStoreCoordinator(model: model, stores: [description])
    #expect(coordinator.migrations.map(\.hasErasedStore) == [true])
    #expect(coordinator.storeIDs.first != book.objectID.storeID)
    #expect(try context(coordinator).titles().isEmpty)
    let fresh = context(coordinator)
    #expect(try fresh.addBook("b").objectID.key > book.objectID.key)
    #expect(try coordinator.verify().isEmpty)
    #expect(isReplaced(#expect(throws: (any Error).self) { try old.titles() }))
    #expect(try store.count("_cdgen_history") == 0)
  }

  /// A program of an older version would take the new rows for its own, because the data hash is the same.
  @Test(arguments: [MovedShelves.Way.rows, .beside])
  func anErasedDraftShutsTheOldVersionOut(way: MovedShelves.Way) throws {
    let store = try way.store()
    let models = try Self.notes(isRule: false)
    var draft = models.new.versions[1]
    draft.entities[0].attributes.append(
      AttributeDescription(name: "mood", type: .string, isOptional: true))
    let model = ManagedObjectModel(
      name: models.new.name, id: models.new.id, versions: [models.new.versions[0], draft],
      currentVersionNumber: 2)
    let first = context(try PersistentStoreCoordinator(model: model, at: .server(store.server)))
    let note = try first.insert(entityNamed: "Note")
    for key in ["author", "title", "mood"] { try note.setValue("a", forKey: key) }
    try first.save()
    var description = PersistentStoreDescription(.server(store.server))
    description.changedDraftPolicy = .eraseInEveryBuild
    let coordinator = try PersistentStoreCoordinator(model: models.new, stores: [description])
    #expect(coordinator.migrations.map(\.hasErasedStore) == [true])
    let error = #expect(throws: MigrationError.self) {
      try PersistentStoreCoordinator(model: models.old, at: .server(store.server))
    }
    #expect(error?.reason == .newerStore(current: 1))
  }

  /// A view of somebody else depends on a table.
  @Test func whatDependsOnATableIsNotDropped() throws {
    let store = try ServerStore()
    let old = try store.context()
    try old.addBook("a")
    try old.save()
    let view = SQLText.quoted(store.server.schema + "_view")
    try store.sql("CREATE SCHEMA \(view)")
    try store.sql("CREATE VIEW \(view).books AS SELECT title FROM \(store.table("Book"))")
    let error = #expect(throws: MigrationError.self) {
      try PersistentStoreCoordinator(model: MovedShelves.Way.rows.model, at: .server(store.server))
    }
    #expect("\(String(describing: error))".contains("books"))
    try old.addBook("b")
    try old.save()
    try store.sql("DROP SCHEMA \(view) CASCADE")
    _ = try PersistentStoreCoordinator(model: MovedShelves.Way.rows.model, at: .server(store.server))
  }

  /// The program that has the lease was killed together with its machine, or is only slow.
  @Test func aLeaseEnds() throws {
    let store = try ServerStore()
    _ = try store.coordinator()
    let table = store.table("_cdgen_metadata")
    func setLease(process: String, seconds: Double) throws {
      try store.sql(
        #"INSERT INTO \#(table) ("key", "value") VALUES ('migrationLease', 'somebody \#(process) ' || "#
          + "CAST(extract(epoch FROM clock_timestamp()) + \(seconds) AS text)) "
          + #"ON CONFLICT ("key") DO UPDATE SET "value" = excluded."value""#)
    }
    // A process that the server does not have.
    try setLease(process: "999999999", seconds: 1000)
    let start = ContinuousClock.now
    _ = try PersistentStoreCoordinator(model: MovedShelves.model(), at: .server(store.server))
    #expect(ContinuousClock.now - start < .seconds(100))
    let other = try ServerStore()
    _ = try other.coordinator()
    // This one lives, but does not renew its lease.
    let alive = try PostgresConnection.open(other.server, toWrite: true)
    let process = try alive.run("SELECT pg_backend_pid()").int(0, 0)
    let second = ContinuousClock.now
    try other.sql(
      #"INSERT INTO \#(other.table("_cdgen_metadata")) ("key", "value") VALUES ('migrationLease', 'somebody \#(process) ' || "#
        + "CAST(extract(epoch FROM clock_timestamp()) + 3 AS text))")
    let coordinator = try PersistentStoreCoordinator(model: MovedShelves.model(), at: .server(other.server))
    #expect(ContinuousClock.now - second > .seconds(2.9))
    #expect(coordinator.migrations.count == 1)
    alive.close()
    #expect(
      try other.sql(
        #"SELECT count(*) FROM \#(other.table("_cdgen_metadata")) WHERE "key" = 'migrationLease'"#
      ).int(0, 0) == 0)
  }

  /// A program can be killed after another one has ended the migration. Then nobody takes its lease over.
  @Test(arguments: [true, false]) func aLeftLeaseIsRemoved(isOver: Bool) throws {
    let store = try ServerStore()
    _ = try store.coordinator()
    let table = store.table("_cdgen_metadata")
    func lease(_ process: String, _ seconds: Double) throws -> Int64 {
      try store.sql(
        #"INSERT INTO \#(table) ("key", "value") VALUES ('migrationLease', 'somebody \#(process) ' || "#
          + "CAST(extract(epoch FROM clock_timestamp()) + \(seconds) AS text))")
      _ = try store.coordinator()
      return try store.sql(
        #"SELECT count(*) FROM \#(table) WHERE "key" = 'migrationLease'"#
      ).int(0, 0)
    }
    #expect(try lease(isOver ? "-" : "999999999", isOver ? -1 : 1000) == 0)
    #expect(try lease("-", 1000) == 1)
  }
}
