import CDModel
import Foundation
import Synchronization
import Testing

@testable import CDPostgresStore
@testable import CDRuntime

/// Saves on a server: what is written, once, and how often the server is asked.
@Suite(.needsServer) struct SaveTests {
  @Test func aSaveOfManyIsFewRoundTrips() throws {
    let store = try ServerStore()
    let proxy = try TestProxy(to: store.server)
    let context = try store.context(through: proxy)
    let shelf = try context.insert(entityNamed: "Shelf")
    try shelf.setValue("first", forKey: "name")
    for number in 0..<600 {
      let book = try context.addBook("book \(number)", pages: Int64(number))
      try book.setValue(shelf, forKey: "shelf")
    }
    try context.save()
    // 300 changed, 300 deleted, 400 new ones.
    let books = try context.objects(forEntityNamed: "Book", format: "TRUEPREDICATE")
    for (number, book) in books.enumerated() {
      if number % 2 == 0 { try book.setValue("changed", forKey: "title") } else { context.delete(book) }
    }
    for number in 0..<400 { try context.addBook("new \(number)") }
    _ = proxy.takeRoundTrips()
    try context.save()
    let trips = proxy.takeRoundTrips().filter { !$0.contains { $0.contains("_cdgen_keys\" AS k") } }
    #expect(trips.count <= 4, "\(trips)")
    #expect(try store.count("Book") == 700)
    #expect(try store.count("_cdgen_history") == 2)
  }

  @Test func manyNewRowsAreCopied() throws {
    let store = try ServerStore()
    let proxy = try TestProxy(to: store.server)
    let context = try store.context(through: proxy)
    for number in 0..<3000 {
      try context.addBook("book \(number)", pages: number % 2 == 0 ? nil : Int64(number))
    }
    try context.save()
    #expect(proxy.takeRoundTrips().joined().contains { $0.hasPrefix("COPY") })
    let fresh = try store.context()
    #expect(try fresh.titles().count == 3000)
    #expect(try fresh.titles("pages == 2999") == ["book 2999"])
  }

  /// Large values are sent in parts, because the server accepts no message above a gigabyte.
  @Test func manyLargeValuesAreNotSentTogether() throws {
    let store = try ServerStore()
    let proxy = try TestProxy(to: store.server)
    let context = try store.context(through: proxy)
    func trips(_ start: String) -> Int {
      let all = proxy.takeRoundTrips()
      return all.filter { $0.contains { $0.hasPrefix(start) && $0.contains("\"Book\"") } }.count
    }
    func text(_ letter: Character) -> String { String(repeating: letter, count: 1 << 20) }
    let books = try (0..<10).map { _ in try context.addBook(text("a")) }
    _ = proxy.takeRoundTrips()
    try context.save()
    #expect(trips("INSERT") == 3)
    for book in books { try book.setValue(text("b"), forKey: "title") }
    try context.save()
    #expect(trips("UPDATE") == 3)
    #expect(try store.sql("SELECT 1 FROM \(store.table("Book")) WHERE title LIKE 'b%'").rowCount == 10)
    #expect(try context.persistentStoreCoordinator.verify() == [])
  }

  // MARK: Lost replies

  private static func isCommit(_ statements: [String]) -> Bool { statements.contains("COMMIT") }

  /// The server has committed, but the program does not get the reply: the save is written once, and succeeds.
  @Test func aLostReplyToCommitIsFound() throws {
    let store = try ServerStore()
    let proxy = try TestProxy(to: store.server)
    let context = try store.context(through: proxy)
    for number in 0..<5 {
      let hasCut = Mutex(false)
      proxy.decide { statements in
        guard Self.isCommit(statements), hasCut.withLock({ !$0 }) else { return .forward }
        hasCut.withLock { $0 = true }
        return .cutAfter
      }
      let book = try context.addBook("book \(number)")
      try context.save()
      try book.setValue("changed \(number)", forKey: "title")
      proxy.decide { _ in .forward }
      try context.save()
      #expect(hasCut.withLock { $0 })
    }
    #expect(try store.count("Book") == 5)
    #expect(try store.count("_cdgen_history") == 10)
    #expect(try store.context().titles().sorted() == (0..<5).map { "changed \($0)" })
  }

  /// A migration has waited for the save, and keeps others from writing to the history when the program looks for it.
  @Test func aLostReplyToCommitIsFoundDuringAMigration() throws {
    let store = try ServerStore()
    let proxy = try TestProxy(to: store.server)
    let context = try store.context(through: proxy) {
      // The lock of the migration may take a while.
      $0.statementTimeout = 30
      $0.replayTimeout = 20
    }
    let isLocked = DispatchSemaphore(value: 0)
    let (mayEnd, hasEnded) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let hasCut = Mutex(false)
    let server = store.server
    proxy.decide { statements in
      if hasCut.withLock({ $0 }) {
        isLocked.wait()
        isLocked.signal()
      }
      guard Self.isCommit(statements), hasCut.withLock({ !$0 }) else { return .forward }
      hasCut.withLock { $0 = true }
      Thread.detachNewThread {
        do {
          let migration = try PostgresConnection.open(server, toWrite: true)
          try migration.run("BEGIN")
          try migration.run(PostgresTables.migrationLock(schema: server.schema))
          isLocked.signal()
          mayEnd.wait()
          migration.close()
        } catch { Issue.record(error) }
        isLocked.signal()
        hasEnded.signal()
      }
      return .cutAfter
    }
    try context.addBook("a")
    do { try context.save() } catch { Issue.record(error) }
    mayEnd.signal()
    hasEnded.wait()
    #expect(hasCut.withLock { $0 })
    #expect(try store.count("Book") == 1)
    #expect(try store.count("_cdgen_history") == 1)
  }

  /// A user who may only read the metadata cannot lock a row of them.
  @Test func aLostReplyToCommitIsFoundWithoutTheRightToTheMetadata() throws {
    let store = try ServerStore()
    _ = try store.coordinator()
    let role = try store.createWriter()
    defer { store.drop(role) }
    try store.sql("REVOKE INSERT, UPDATE, DELETE ON \(store.table("_cdgen_metadata")) FROM \(role)")
    let proxy = try TestProxy(to: store.server)
    let context = try store.context(through: proxy) { $0.user = role }
    let hasCut = Mutex(false)
    proxy.decide { statements in
      guard Self.isCommit(statements), hasCut.withLock({ !$0 }) else { return .forward }
      hasCut.withLock { $0 = true }
      return .cutAfter
    }
    try context.addBook("a")
    do { try context.save() } catch { Issue.record(error) }
    #expect(hasCut.withLock { $0 })
    #expect(try store.count("Book") == 1)
    #expect(try store.count("_cdgen_history") == 1)
  }

  /// A pooler switches to a server that lacks the save after the old server has shown it: the save is written again.
  @Test func aSaveThatTheNextServerLacksIsWrittenAgain() throws {
    let store = try ServerStore()
    let proxy = try TestProxy(to: store.server)
    let context = try store.context(through: proxy)
    try context.addBook("a")
    let hasCut = Mutex(false)
    let hasSwitched = Mutex(false)
    let tables = [store.table("Book"), store.table("_cdgen_history")]
    proxy.decide { statements in
      if Self.isCommit(statements), hasCut.withLock({ !$0 }) {
        hasCut.withLock { $0 = true }
        return .cutAfter
      }
      let isLast = statements.contains { $0.contains("FOR KEY SHARE") }
      guard isLast, hasSwitched.withLock({ !$0 }) else { return .forward }
      hasSwitched.withLock { $0 = true }
      do {
        for table in tables { try store.sql("DELETE FROM \(table)") }
      } catch { Issue.record(error) }
      return .forward
    }
    try context.save()
    proxy.decide { _ in .forward }
    #expect(hasSwitched.withLock { $0 })
    #expect(try store.count("Book") == 1)
    #expect(try store.count("_cdgen_history") == 1)
  }

  /// The connection is lost before the server gets the COMMIT: the save is written again, and once.
  @Test func aSaveThatWasCutBeforeItsCommitIsWrittenAgain() throws {
    let store = try ServerStore()
    let proxy = try TestProxy(to: store.server)
    let context = try store.context(through: proxy)
    // The rows, the history, and the COMMIT.
    for place in 0..<3 {
      let passed = Mutex(0)
      let hasCut = Mutex(false)
      try context.addBook("book \(place)")
      proxy.decide { _ in
        let number = passed.withLock { passed in
          defer { passed += 1 }
          return passed
        }
        guard number == place, hasCut.withLock({ !$0 }) else { return .forward }
        hasCut.withLock { $0 = true }
        return .cutBefore
      }
      try context.save()
      #expect(hasCut.withLock { $0 } && !context.hasChanges)
      proxy.decide { _ in .forward }
    }
    #expect(try store.count("Book") == 3)
    #expect(try store.count("_cdgen_history") == 3)
  }

  /// No server accepts writes for longer than ten attempts take, as while another server takes over. Saves that begin
  /// before and meanwhile are written, soon after the end.
  @Test func savesOutlastTheAbsenceOfTheServer() throws {
    let store = try ServerStore()
    let proxy = try TestProxy(to: store.server)
    let coordinator = try store.coordinator(through: proxy) { $0.replayTimeout = 30 }
    let container = PersistentContainer(coordinator)
    let context = container.newContext()
    try context.addBook("before")
    try context.save()
    proxy.decide { _ in .cutBefore }
    let saved = Mutex(0)
    let saving = Thread {
      inThreads(4) { number in
        do {
          // The keys of new objects come from the server too.
          let context = container.newContext()
          for part in 0..<300 { try context.addBook("\(number) \(part)") }
          try context.save()
          saved.withLock { $0 += 1 }
        } catch { Issue.record(error) }
      }
    }
    saving.start()
    usleep(7_000_000)
    #expect(saved.withLock { $0 } == 0)
    proxy.decide { _ in .forward }
    let end = ContinuousClock.now
    while !saving.isFinished { usleep(10_000) }
    #expect(ContinuousClock.now - end < .seconds(15))
    #expect(saved.withLock { $0 } == 4)
    #expect(try store.count("Book") == 1201)
    #expect(try store.count("_cdgen_history") == 5)
  }

  /// A pooler leads the connection to a server that follows another one: the save is written by another connection. If all
  /// servers only follow, the save fails in the end, and is not written.
  @Test func aServerThatOnlyFollowsIsLeft() throws {
    let store = try ServerStore()
    let proxy = try TestProxy(to: store.server)
    let context = try store.context(through: proxy) { $0.replayTimeout = 6 }
    try context.addBook("before")
    try context.save()
    var written = 1
    for (code, place) in [("0A000", 0), ("25006", 0), ("25006", 3), ("25006", 8), ("25006", 100)] {
      let hasFailed = Mutex(false)
      try context.addBook("book \(written)")
      proxy.decide { _ in
        guard hasFailed.withLock({ !$0 }) else { return .forward }
        hasFailed.withLock { $0 = true }
        return .fail(code: code, at: place)
      }
      try context.save()
      written += 1
      #expect(hasFailed.withLock { $0 } && !context.hasChanges)
      #expect(try store.count("Book") == written)
    }
    try context.addBook("never")
    proxy.decide { $0.contains { $0.hasSuffix("READ WRITE") } ? .fail(code: "0A000", at: 0) : .forward }
    #expect {
      try context.save()
    } throws: {
      if case StoreError.notWritable = $0 { true } else { false }
    }
    proxy.decide { _ in .forward }
    #expect(try store.count("Book") == written)
    #expect(try store.count("_cdgen_history") == written)
  }

  /// The server ends connections at random moments, while several contexts save. What was acknowledged is there once,
  /// and nothing else is.
  @Test func savesSurviveConnectionsThatEnd() throws {
    let store = try ServerStore()
    _ = try store.context().titles()
    let isDone = Mutex(false)
    let acknowledged = Mutex<[String]>([])
    let killer = Thread {
      var seen = -1
      while !isDone.withLock({ $0 }) {
        usleep(20_000)
        // A busy machine may need longer to open a connection than the pause, and each save is tried a few times only.
        let count = acknowledged.withLock { $0.count }
        if count == seen { continue }
        seen = count
        _ = try? store.sql(
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
            + "AND application_name = ? AND random() < 0.5", [.value(.string("killed"))])
      }
    }
    killer.start()
    inThreads(4) { writer in
      do {
        let context = try store.context { $0.applicationName = "killed" }
        for number in 0..<40 {
          let title = "\(writer) \(number)"
          try context.addBook(title)
          do {
            try context.save()
            acknowledged.withLock { $0.append(title) }
          } catch {
            Issue.record(error)
            context.rollback()
          }
        }
      } catch { Issue.record(error) }
    }
    isDone.withLock { $0 = true }
    while !killer.isFinished { usleep(10_000) }
    #expect(try store.context().titles().sorted() == acknowledged.withLock { $0.sorted() })
    #expect(try store.count("_cdgen_history") == 160)
    let numbers = try store.sql("SELECT min(id), max(id) FROM \(store.table("_cdgen_history"))")
    #expect(numbers.int(0, 0) == 1 && numbers.int(0, 1) == 160)
    #expect(try store.coordinator().verify().isEmpty)
  }

  // MARK: Refusals

  @Test func noTextHasAZero() throws {
    let store = try ServerStore()
    let context = try store.context()
    let book = try context.addBook("a\0b")
    let error = #expect(throws: SaveError.self) { try context.save() }
    guard case .validation(let errors)? = error, let first = errors.first else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(first.property == "title" && "\(first)".contains("U+0000"), "\(first)")
    try book.setValue("ab", forKey: "title")
    try context.save()
    // No text equals one that no store can hold.
    #expect(try context.titles("title == 'a\0b'").isEmpty)
    #expect(try context.titles("title != 'a\0b'") == ["ab"])
  }

  @Test func twoWhoChangeTheSameRow() throws {
    let store = try ServerStore()
    let first = try store.context()
    let own = try first.addBook("old")
    try first.save()
    let second = try store.context()
    let other = try second.existingObject(with: own.objectID)
    try other.setValue("second", forKey: "title")
    try own.setValue("first", forKey: "title")
    try second.save()
    let error = #expect(throws: SaveError.self) { try first.save() }
    guard case .conflict(let conflicts)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(conflicts.map(\.objectID) == [own.objectID])
    first.mergePolicy = .mergeByPropertyObjectTrump
    try first.save()
    #expect(try store.context().titles() == ["first"])
  }

  @Test func uniqueValuesMayBeExchanged() throws {
    let store = try ServerStore()
    let context = try store.context()
    let shelves = try ["a", "b"].map { name in
      let shelf = try context.insert(entityNamed: "Shelf")
      try shelf.setValue(name, forKey: "name")
      return shelf
    }
    try context.save()
    try shelves[0].setValue("b", forKey: "name")
    try shelves[1].setValue("a", forKey: "name")
    try context.save()
    try shelves[0].setValue("a", forKey: "name")
    #expect(throws: SaveError.self) { try context.save() }
    context.rollback()
    #expect(try store.sql("SELECT name FROM \(store.table("Shelf")) ORDER BY _pk").string(0, 0) == "b")
  }

  /// A program of another version cannot save, nor read.
  @Test func anotherVersionIsNoticed() throws {
    let store = try ServerStore()
    let context = try store.context()
    let book = try context.addBook("a")
    try context.save()
    try store.sql("UPDATE \(store.table("_cdgen_metadata")) SET value = 'other' WHERE key = 'dataHash'")
    // A new object needs a key.
    let insertion = #expect(throws: StoreError.self) {
      try context.addBook("b")
      try context.save()
    }
    guard case .replaced? = insertion else {
      Issue.record("\(String(describing: insertion))")
      return
    }
    context.rollback()
    try book.setValue("c", forKey: "title")
    let error = #expect(throws: StoreError.self) { try context.save() }
    guard case .replaced? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(try store.count("Book") == 1)
    #expect(try store.sql("SELECT title FROM \(store.table("Book"))").string(0, 0) == "a")
    #expect(throws: StoreError.self) { try context.perform { try context.titles() } }
    #expect(throws: StoreError.self) { try context.titles() }
  }

  // MARK: Several programs

  @Test func aBlockReadsOneState() throws {
    let store = try ServerStore()
    let context = try store.context()
    try context.addBook("a")
    try context.save()
    let other = try store.context()
    let found = try context.perform {
      let before = try context.titles().count
      try other.addBook("b")
      try other.save()
      return (before, try context.titles().count)
    }
    #expect(found == (1, 1))
    #expect(try context.perform { try context.titles().count } == 2)
  }

  @Test func manyWriteAtOnce() throws {
    let store = try ServerStore()
    _ = try store.context().titles()
    let coordinators = try (0..<3).map { _ in try store.coordinator() }
    inThreads(12) { writer in
      do {
        let context = PersistentContainer(coordinators[writer % 3]).newContext()
        for number in 0..<10 {
          try context.addBook("\(writer) \(number)")
          try context.save()
        }
        withExtendedLifetime(context) {}
      } catch { Issue.record(error) }
    }
    let history = try coordinators[0].history()
    #expect(history.count == 120)
    #expect(try store.count("Book") == 120)
    #expect(try coordinators[0].verify().isEmpty)
  }

  /// Tasks wait for connections on threads of their own, so that all of them end.
  @Test func manyTasksShareFewConnections() async throws {
    let store = try ServerStore()
    let name = "tasks \(UUID())"
    let container = PersistentContainer(try store.coordinator { $0.applicationName = name })
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<64 {
        group.addTask {
          try await container.performBackgroundTask { context in
            try context.addBook("\(number)")
            try context.save()
            _ = try context.titles("title == '\(number)'")
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try store.count("Book") == 64)
    let open = try store.sql(
      "SELECT count(*) FROM pg_stat_activity WHERE application_name = ?", [.value(.string(name))])
    #expect(open.int(0, 0) <= 4)
  }

  @Test func manyOpenANewStoreAtOnce() throws {
    let store = try ServerStore()
    #expect(storeIDs(ofOpenings: 8) { try store.coordinator() }.count == 1)
  }

  @Test func aSchemaOfAnotherProgramIsLeftAlone() throws {
    let store = try ServerStore()
    try store.sql("CREATE SCHEMA \(SQLText.quoted(store.server.schema))")
    // An empty one may be used.
    try store.sql("CREATE TABLE \(store.table("theirs")) (x integer)")
    let error = #expect(throws: StoreError.self) { try store.coordinator() }
    guard case .foreignDatabase? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    try store.sql("DROP TABLE \(store.table("theirs"))")
    _ = try store.coordinator()
  }

  /// With a pooler, no statement depends on an earlier transaction.
  @Test func nothingIsKeptWithAPooler() throws {
    let store = try ServerStore()
    let proxy = try TestProxy(to: store.server)
    let context = try store.context(through: proxy) { $0.isPooled = true }
    for number in 0..<5 {
      try context.addBook("book \(number)")
      try context.save()
      #expect(try context.titles("title == 'book \(number)'").count == 1)
    }
    let statements = proxy.takeRoundTrips().joined()
    #expect(
      !statements.contains {
        $0.hasPrefix("SET ") && !$0.hasPrefix("SET LOCAL") && !$0.hasPrefix("SET CONSTR")
      })
    #expect(try store.count("Book") == 5)
  }
}
