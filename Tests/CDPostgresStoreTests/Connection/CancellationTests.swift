import CDModel
import Foundation
import Synchronization
import Testing

@testable import CDPostgresStore
@testable import CDRuntime

/// Tasks that are cancelled while they wait for the server.
@Suite(.needsServer) struct CancellationTests {
  private final class Saved: Sendable {
    let titles = Mutex<Set<String>>([])
  }

  /// Runs a body in the background, cancels its task, and returns its error and the time between both. Other tests may
  /// keep Swift's own threads busy, so a thread cancels the task, and the body's thread takes the time.
  ///
  /// - Parameter wait: A function that is called when the body begins. The task is cancelled when the function returns.
  private func cancelled(
    _ container: PersistentContainer, when wait: @escaping @Sendable () -> Void,
    body: @escaping @Sendable (ManagedObjectContext) throws -> Void
  ) async -> (error: (any Error)?, time: Duration) {
    let times = Times()
    let task = Task {
      try await container.performBackgroundTask { context in
        defer { times.end.withLock { $0 = .now } }
        times.hasBegun.signal()
        try body(context)
      }
    }
    Thread.detachNewThread {
      times.hasBegun.wait()
      wait()
      times.cancellation.withLock { $0 = .now }
      task.cancel()
    }
    var error: (any Error)?
    do { try await task.value } catch let found { error = found }
    return (error, times.end.withLock(\.self) - times.cancellation.withLock(\.self))
  }

  private final class Times: Sendable {
    let hasBegun = DispatchSemaphore(value: 0)
    let cancellation = Mutex(ContinuousClock.now)
    let end = Mutex(ContinuousClock.now)
  }

  private func locked(
    _ store: ServerStore, _ table: String, _ mode: String = "ACCESS EXCLUSIVE"
  ) throws -> PostgresConnection {
    let connection = try PostgresConnection.open(TestServer.server(store.server.schema), toWrite: true)
    try connection.run("BEGIN")
    try connection.run("LOCK TABLE \(store.table(table)) IN \(mode) MODE")
    return connection
  }

  private func waitsForLock(of table: String, _ store: ServerStore) -> @Sendable () -> Void {
    { store.awaitWaiter(for: table) }
  }

  /// A container of a store with one book, which is saved.
  ///
  /// - Parameter name: The name that the connections give to the server; nil for the default.
  private func containerWithBook(
    _ store: ServerStore, _ name: String? = nil
  ) async throws -> PersistentContainer {
    let container = PersistentContainer(try store.coordinator { $0.applicationName = name })
    try await container.performBackgroundTask { context in
      try context.addBook("a")
      try context.save()
    }
    return container
  }

  /// The number of connections with a name, or of those that execute a statement.
  private func connections(_ store: ServerStore, _ name: String, isActive: Bool) throws -> Int64 {
    try store.sql(
      "SELECT count(*) FROM pg_stat_activity WHERE application_name = ?"
        + (isActive ? " AND state = 'active'" : ""),
      [.value(.string(name))]
    ).int(0, 0)
  }

  @Test(arguments: [true, false]) func aFetchEndsOnTheServerToo(inBlock: Bool) async throws {
    let store = try ServerStore()
    let name = "cancelled \(UUID())"
    let container = try await containerWithBook(store, name)
    let lock = try locked(store, "Book")
    let (error, time) = await cancelled(
      container, when: waitsForLock(of: "Book", store),
      body: { context in
        if inBlock { _ = try context.perform { try context.titles() } } else { _ = try context.titles() }
      })
    #expect(error is CancellationError, "\(String(describing: error))")
    // The server ends the statement by itself after a minute.
    #expect(time < .seconds(20), "\(time)")
    #expect(try connections(store, name, isActive: true) == 0)
    try lock.run("ROLLBACK")
    let titles = try await container.performBackgroundTask { try $0.titles() }
    #expect(titles == ["a"])
    // The same connection goes on.
    #expect(try connections(store, name, isActive: false) == 1)
  }

  /// A snapshot of which one read was cancelled goes on.
  @Test func aBlockGoesOnAfterACancelledRead() async throws {
    let store = try ServerStore()
    let container = try await containerWithBook(store)
    let lock = try locked(store, "Book")
    let seen = Mutex<[Int]>([])
    let (error, _) = await cancelled(
      container, when: waitsForLock(of: "Book", store),
      body: { context in
        try context.perform {
          let before = try context.count(for: FetchRequest<ManagedObject>(entityName: "Shelf"))
          #expect(throws: CancellationError.self) { try context.titles() }
          let after = try context.count(for: FetchRequest<ManagedObject>(entityName: "Shelf"))
          seen.withLock { $0 = [before, after] }
        }
      })
    #expect(error == nil && seen.withLock { $0 } == [0, 0], "\(String(describing: error))")
    try lock.run("ROLLBACK")
  }

  @Test func aSaveWritesNothingAndCanBeSavedLater() async throws {
    let store = try ServerStore()
    let name = "cancelled \(UUID())"
    let container = try await containerWithBook(store, name)
    // Others can read.
    let lock = try locked(store, "Book", "SHARE")
    let left = Mutex(0)
    let (error, time) = await cancelled(
      container, when: waitsForLock(of: "Book", store),
      body: { context in
        try context.addBook("b")
        do { try context.save() } catch {
          left.withLock { $0 = context.insertedObjects.count }
          throw error
        }
      })
    #expect(error is CancellationError, "\(String(describing: error))")
    #expect(time < .seconds(20) && left.withLock { $0 } == 1)
    #expect(try connections(store, name, isActive: true) == 0)
    try lock.run("ROLLBACK")
    #expect(try store.count("Book") == 1 && store.count("_cdgen_history") == 1)
    // A task that is cancelled before can still save what it has, for example at the end of its work.
    let (second, _) = await cancelled(
      container, when: {},
      body: { context in
        usleep(200_000)
        try context.addBook("c")
        try context.save()
      })
    #expect(second == nil)
    #expect(try store.count("Book") == 2)
  }

  @Test func aWaitForAConnectionEnds() async throws {
    let store = try ServerStore()
    let container = PersistentContainer(try store.coordinator { $0.poolSize = 1 })
    let isHeld = DispatchSemaphore(value: 0)
    let mayEnd = DispatchSemaphore(value: 0)
    let holder = Task {
      try await container.performBackgroundTask { context in
        try context.perform {
          _ = try context.titles()
          isHeld.signal()
          mayEnd.wait()
        }
      }
    }
    await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
      DispatchQueue.global().async {
        isHeld.wait()
        done.resume()
      }
    }
    for _ in 0..<2 {
      let (error, time) = await cancelled(container, when: { usleep(300_000) }, body: { _ = try $0.titles() })
      #expect(error is CancellationError, "\(String(describing: error))")
      // Without the cancellation, the wait ends after ten seconds.
      #expect(time < .seconds(9), "\(time)")
    }
    mayEnd.signal()
    try await holder.value
    let count = try await container.performBackgroundTask { try $0.titles().count }
    #expect(count == 0)
  }

  /// A server that does not reply any more cannot end the statement: its connection is given up.
  @Test func aSilentServerIsGivenUp() async throws {
    let store = try ServerStore()
    let proxy = try TestProxy(to: store.server)
    let container = PersistentContainer(try store.coordinator(through: proxy))
    let isSilent = DispatchSemaphore(value: 0)
    proxy.decide { _ in
      isSilent.signal()
      return .silence
    }
    let (error, time) = await cancelled(container, when: { isSilent.wait() }, body: { _ = try $0.titles() })
    #expect(error is CancellationError, "\(String(describing: error))")
    #expect(time < .seconds(20), "\(time)")
    proxy.decide { _ in .forward }
    let count = try await container.performBackgroundTask { try $0.titles().count }
    #expect(count == 0)
  }

  /// The task is cancelled while a save is tried again and again. The server is back for the next attempt.
  @Test func aSaveIsNotTriedAgain() async throws {
    let store = try ServerStore()
    let proxy = try TestProxy(to: store.server)
    // The proxy stays until here.
    defer { proxy.cutAll() }
    let container = PersistentContainer(try store.coordinator(through: proxy))
    let isBeginning: @Sendable ([String]) -> Bool = { statements in
      statements.contains { $0.hasPrefix("BEGIN") && $0.hasSuffix("READ WRITE") }
    }
    proxy.decide { isBeginning($0) ? .cutBefore : .forward }
    let left = Mutex(0)
    let task = Task {
      try await container.performBackgroundTask { context in
        try context.addBook("a")
        do { try context.save() } catch {
          left.withLock { $0 = context.insertedObjects.count }
          throw error
        }
      }
    }
    proxy.decide { statements in
      guard isBeginning(statements), !task.isCancelled else { return .forward }
      task.cancel()
      return .cutBefore
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(left.withLock { $0 } == 1)
    #expect(try store.count("Book") == 0)
  }

  /// A server that accepts a connection, and then says nothing.
  @Test func aConnectionThatIsBeingOpenedIsGivenUp() async throws {
    let store = try ServerStore()
    let container = PersistentContainer(try store.coordinator())
    let (listener, port) = try listeningSocket()
    defer { close(listener) }
    var server = store.server
    server.hosts = [PostgresServer.Host("127.0.0.1", port: port)]
    let pool = ConnectionPool(server, toWrite: true)
    let (error, _) = await cancelled(
      container, when: {}, body: { _ in pool.give(try pool.take(isCancellable: true)) })
    #expect((error as? PostgresFailure)?.isCancellation == true, "\(String(describing: error))")
  }

  /// Getters have no error to throw: they wait for the reply, and the object is not taken for a deleted one.
  @Test func aGetterIsNotCancelled() async throws {
    let store = try ServerStore()
    let container = try await containerWithBook(store)
    let title = Mutex("")
    let lock = Mutex<PostgresConnection?>(nil)
    let waits = waitsForLock(of: "Book", store)
    let (error, time) = await cancelled(container) {
      waits()
      // The lock stays for a while after the cancellation.
      Thread.detachNewThread {
        usleep(500_000)
        lock.withLock { _ = try? $0?.run("ROLLBACK") }
      }
    } body: { context in
      let id = try context.objects(forEntityNamed: "Book")[0].objectID
      context.refreshAllObjects()
      try lock.withLock { $0 = try self.locked(store, "Book") }
      guard case .attribute(.string(let text)) = try context.object(with: id).value(forKey: "title") else {
        return
      }
      title.withLock { $0 = text }
    }
    #expect(error == nil && time > .milliseconds(200), "\(String(describing: error)) \(time)")
    #expect(title.withLock { $0 } == "a")
  }

  /// Cancelled and other tasks at random: each one ends with its result or with the cancellation, and all connections
  /// stay usable.
  @Test func manyAreCancelled() async throws {
    let store = try ServerStore()
    let container = PersistentContainer(try store.coordinator())
    try await container.performBackgroundTask { context in
      for number in 0..<50 { try context.addBook("\(number)", pages: Int64(number)) }
      try context.save()
    }
    let saved = Saved()
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<120 {
        group.addTask {
          let task = Task {
            try await container.performBackgroundTask { context in
              _ = try context.titles("pages >= \(number % 40)")
              try context.addBook("new \(number)")
              try context.save()
              saved.titles.withLock { _ = $0.insert("new \(number)") }
            }
          }
          if number % 2 == 0 {
            try? await Task.sleep(for: .microseconds(Int.random(in: 0...60_000)))
            task.cancel()
          }
          do { try await task.value } catch {
            if !(error is CancellationError) { Issue.record(error) }
          }
        }
      }
    }
    let titles = try await container.performBackgroundTask { try $0.titles("title BEGINSWITH 'new'") }
    #expect(Set(titles) == saved.titles.withLock { $0 } && titles.count >= 60)
    #expect(try container.persistentStoreCoordinator.verify() == [])
  }
}
