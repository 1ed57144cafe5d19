import CDModel
import Foundation
import Synchronization
import Testing

@testable import CDPostgresStore
@testable import CDRuntime

/// A server that has no connections left, ends those that are idle, or has no space left on its disk.
@Suite(.needsServer, .serialized) struct ServerLimitTests {
  private func container(
    _ own: OwnServer, _ change: (inout PostgresServer) -> Void = { _ in }
  ) throws -> PersistentContainer {
    var server = own.server
    change(&server)
    return PersistentContainer(try PersistentStoreCoordinator(model: ServerStore.model, at: .server(server)))
  }

  /// The code of the typed error that a body throws; nil if it throws none.
  private func code(_ body: () throws -> Void) -> String? {
    do { try body() } catch StoreError.engine(_, let reason) {
      #expect(reason.isOfConnection && reason.engine == "PostgreSQL")
      return reason.code
    } catch {
      Issue.record("\(error)")
      return ""
    }
    return nil
  }

  // MARK: Connections

  /// The number of the server's connections.
  private func connections(_ connection: PostgresConnection) throws -> Int64 {
    try connection.run("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'").int(
      0, 0)
  }

  @Test func whoGetsNoConnectionIsTold() throws {
    let own = try OwnServer("max_connections = 8\n")
    let container = try container(own) {
      $0.replayTimeout = 0.5
      $0.connectTimeout = 2
    }
    let context = container.newContext()
    try context.addBook("before")
    try context.save()
    // The keys of new objects come from the server too.
    try context.addBook("during")
    // Others have all connections but those of the pool, and then these too.
    var others: [PostgresConnection] = []
    while let other = try? PostgresConnection.open(own.server, toWrite: true) { others.append(other) }
    #expect(others.count >= 5)
    let pids = try others.map { try $0.run("SELECT pg_backend_pid()").int(0, 0) }
    try others[0].run(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' "
        + "AND NOT pid = ANY(CAST(? AS bigint[]))", [.keys(pids)])
    while try connections(others[0]) < 8 || others.count < 8 {
      if let other = try? PostgresConnection.open(own.server, toWrite: true) { others.append(other) }
    }
    let fresh = container.newContext()
    #expect(code { _ = try fresh.titles() } == "08001")
    #expect(code { try context.save() } == "08001")
    #expect(throws: StoreError.self) { try self.container(own) }
    // As soon as there are connections again, the same contexts go on.
    for other in others[1...] { other.close() }
    // The server needs a moment to end them.
    while try connections(others[0]) > 1 { usleep(10_000) }
    others[0].close()
    try context.save()
    #expect(try fresh.titles().sorted() == ["before", "during"])
  }

  /// Many threads save through a pool that may have more connections than the server has. None hangs, and each save is
  /// either written or refused.
  @Test func aPoolThatIsLargerThanTheServer() throws {
    let own = try OwnServer("max_connections = 8\n")
    let container = try container(own) {
      $0.poolSize = 32
      $0.connectTimeout = 5
    }
    let written = Mutex<Set<String>>([])
    let refused = Mutex(0)
    inThreads(24) { thread in
      let context = container.newContext()
      for number in 0..<10 {
        do {
          try context.addBook("\(thread) \(number)")
          try context.save()
          _ = written.withLock { $0.insert("\(thread) \(number)") }
        } catch {
          refused.withLock { $0 += 1 }
          context.rollback()
        }
      }
    }
    let found = try container.newContext().titles()
    #expect(Set(found) == written.withLock { $0 } && found.count == Set(found).count)
    #expect(found.count + refused.withLock { $0 } == 240)
    #expect(found.count > 100, "\(refused.withLock { $0 }) saves were refused")
    #expect(try container.persistentStoreCoordinator.verify().isEmpty)
  }

  // MARK: Standbys

  /// Whether a commit waits for a standby that does not exist.
  private func commitsWait(_ own: OwnServer) throws -> Bool {
    var server = own.server
    server.statementTimeout = 0.5
    let connection = try PostgresConnection.open(server, toWrite: true)
    connection.hasWarned = false
    do {
      try connection.run("BEGIN")
      try connection.run("SELECT pg_logical_emit_message(true, 'test', 'test')")
      try connection.run("COMMIT")
    } catch {
      guard error.code == PostgresFailure.queryCanceled else { throw error }
      return true
    }
    return connection.hasWarned
  }

  private func setStandby(_ name: String, _ own: OwnServer) throws {
    let connection = try PostgresConnection.open(own.server, toWrite: true)
    try connection.run("ALTER SYSTEM SET synchronous_standby_names = '\(name)'")
    try connection.run("SELECT pg_reload_conf()")
    // Another process of the server tells all sessions, a little later, whether commits wait.
    while try commitsWait(own) == name.isEmpty { usleep(10_000) }
  }

  /// The server does not wait for its standby for longer than a statement may take. It then says that the save was written,
  /// but another server may take over without it. So the save does not succeed before the standby has it.
  @Test func aSaveWithoutItsStandbyDoesNotSucceed() throws {
    let own = try OwnServer()
    let container = try container(own) {
      $0.statementTimeout = 1.5
      $0.replayTimeout = 4
    }
    let context = container.newContext()
    try context.addBook("before")
    try context.save()
    try context.addBook("without a standby")
    let patient = try self.container(own) {
      $0.statementTimeout = 1.5
      $0.replayTimeout = 40
    }
    // Its key is reserved before the standby is gone: the server would not answer.
    let (isReady, maySave) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let isSaved = Mutex(false)
    let saving = Thread {
      do {
        let late = patient.newContext()
        try late.addBook("late")
        isReady.signal()
        maySave.wait()
        try late.save()
        isSaved.withLock { $0 = true }
      } catch { Issue.record(error) }
    }
    saving.start()
    isReady.wait()
    try setStandby("nobody", own)
    #expect(code { try context.save() } == "08007")
    context.rollback()
    // Nobody but the server knows whether it will be there. Here it is, because no other server takes over.
    #expect(try container.newContext().titles().sorted() == ["before", "without a standby"])

    // The standby comes while the save waits.
    try context.addBook("with a standby")
    maySave.signal()
    usleep(4_000_000)
    #expect(!isSaved.withLock { $0 })
    try setStandby("", own)
    while !saving.isFinished { usleep(10_000) }
    try context.save()
    #expect(isSaved.withLock { $0 })
    let titles = try container.newContext().titles().sorted()
    #expect(titles == ["before", "late", "with a standby", "without a standby"])
    #expect(try container.persistentStoreCoordinator.verify().isEmpty)
    #expect(try container.persistentStoreCoordinator.history().count == 4)
  }

  // MARK: Idle connections

  /// The server ends sessions that are idle. Nobody notices.
  @Test func idleConnectionsAreReplaced() throws {
    let own = try OwnServer("idle_session_timeout = 200\n")
    let container = try container(own)
    let context = container.newContext()
    for number in 0..<4 {
      try context.addBook("book \(number)")
      usleep(400_000)
      try context.save()
      usleep(400_000)
      #expect(try context.titles().count == number + 1)
      usleep(400_000)
      #expect(try container.newContext().titles().count == number + 1)
    }
    // Many connections at once.
    inThreads(4) { _ in
      let count = try? container.newContext().titles().count
      #expect(count == 4)
    }
    usleep(400_000)
    inThreads(4) { _ in
      let count = try? container.newContext().titles().count
      #expect(count == 4)
    }
  }

  /// A block that pauses for too long between two reads loses its snapshot, and is told so.
  @Test func aBlockThatPausesTooLong() throws {
    let store = try ServerStore()
    let context = try store.context()
    try context.addBook("a")
    try context.save()
    let other = try store.context { $0.statementTimeout = 1.5 }
    let error = #expect(throws: StoreError.self) {
      try other.perform {
        #expect(try other.titles() == ["a"])
        usleep(5_000_000)
        _ = try other.titles("pages == 0")
      }
    }
    guard case .engine(_, let reason)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(reason.isOfConnection || reason.code == "25P03", "\(reason)")
    #expect(try other.perform { try other.titles() } == ["a"])
  }

  // MARK: Full disks

  @Test(.enabled(if: OwnServer.canLimitDisks, "a disk of limited size needs the rights of root"))
  func aFullDisk() throws {
    // An empty server needs about 40 MB.
    let own = try OwnServer(
      "min_wal_size = 32MB\nmax_wal_size = 32MB\nwal_recycle = off\ncheckpoint_timeout = 30s\n", disk: "140m")
    let container = try container(own)
    let context = container.newContext()
    try context.addBook("first")
    try context.save()
    // Texts that cannot be compressed, until no more fit.
    var count = 1
    var failure: (any Error)?
    let noise = try #require(FileHandle(forReadingAtPath: "/dev/urandom"))
    while failure == nil, count < 400 {
      do {
        for _ in 0..<4 {
          let bytes = try #require(try noise.read(upToCount: 187_500))
          try context.addBook("\(count) " + bytes.base64EncodedString())
        }
        try context.save()
        count += 4
      } catch {
        failure = error
        context.rollback()
      }
    }
    var isUnknown = false
    switch failure {
    case StoreError.diskFull?: break
    // PostgreSQL restarts if it cannot write its log.
    case StoreError.engine(_, let reason)?:
      isUnknown = reason.code == PostgresFailure.unknownResult
      #expect(reason.isOfConnection || isUnknown, "\(reason)")
    default: Issue.record("\(String(describing: failure)) after \(count) objects")
    }
    // All of each save that succeeded is there, and nothing of the one that failed.
    let other = container.newContext()
    var found: Int?
    // A server that cannot write its log may stop, and cannot start before there is room.
    try own.grow()
    for _ in 0..<400 {
      found = try? other.count(for: FetchRequest<ManagedObject>(entityName: "Book"))
      if found != nil { break }
      usleep(200_000)
    }
    #expect(found == count || isUnknown && found == count + 4)
    try context.addBook("last")
    try context.save()
  }
}
