import CSQLite
import Foundation
import Synchronization
import Testing

@testable import CDRuntime

/// Stores whose rows are in memory, with or without a file.
@Suite(.onceForAllKinds) struct StoresInMemoryTests {
  @Test(arguments: [StoreKind.memory, .xml]) func theirSizeHasNoLimitOfSQLite(_ kind: StoreKind) throws {
    let fixture = try MigrationFixture()
    let coordinator = try PersistentStoreCoordinator(
      model: DiaryStores.model, stores: [PersistentStoreDescription(kind.location(fixture.url))])
    let limit = try coordinator.database.writer.use { connection in
      // A negative number asks for the limit and changes nothing.
      var limit: Int64 = -1
      sqlite3_file_control(connection.handle, "main", SQLITE_FCNTL_SIZE_LIMIT, &limit)
      return limit
    }
    #expect(limit >= 1 << 40)
  }

  /// What the threads of a test tell each other.
  private final class Signals: Sendable {
    let isSlow = Atomic<Bool>(false)
    let isWriting = DispatchSemaphore(value: 0)
    let isReading = DispatchSemaphore(value: 0)
    let isRead = DispatchSemaphore(value: 0)
    let count = Mutex<Result<Int, any Error>>(.success(0))
  }

  /// A format that is still writing when another thread reads.
  private struct SlowFormat: StoreFormat {
    let name = "slow"
    let json = JSONStoreFormat()
    let signals: Signals

    func recognizes(_ start: [UInt8]) -> Bool { json.recognizes(start) }

    func read(_ input: StoreInput, into builder: StoreBuilder) throws {
      try json.read(input, into: builder)
    }

    func write(_ contents: StoreContents, to output: StoreOutput) throws {
      if signals.isSlow.exchange(false, ordering: .sequentiallyConsistent) {
        signals.isWriting.signal()
        signals.isReading.wait()
        usleep(50_000)
      }
      try json.write(contents, to: output)
    }
  }

  /// The stores of a coordinator.
  enum Stores: CaseIterable {
    case one
    case several
    case besideSQLite
  }

  /// Each connection to several stores reads their schemas when it is made.
  @Test(.timeLimit(.minutes(10)), arguments: Stores.allCases)
  func aReadWaitsForASaveOfItsCoordinator(_ stores: Stores) throws {
    let fixture = try MigrationFixture()
    let signals = Signals()
    let configurations: [String?] = stores == .one ? [nil] : ["People", "Notes"]
    let descriptions = configurations.map { configuration in
      let url = fixture.folder.appending(path: configuration ?? "all")
      var location = StoreLocation.custom(url, SlowFormat(signals: signals))
      if stores == .besideSQLite, configuration == "Notes" { location = .sqlite(url) }
      return PersistentStoreDescription(location, configuration: configuration, busyTimeout: 0)
    }
    let coordinator = try PersistentStoreCoordinator(model: DiaryStores.model, stores: descriptions)
    let context = ManagedObjectContext(coordinator)
    try context.insert(entityNamed: "Person").setValue("Grace", forKey: "name")
    signals.isSlow.store(true, ordering: .sequentiallyConsistent)
    Thread.detachNewThread {
      signals.isWriting.wait()
      signals.isReading.signal()
      let count: Result<Int, any Error> = Result {
        let reader = ManagedObjectContext(coordinator)
        return try reader.count(for: FetchRequest<ManagedObject>(entityName: "Person"))
      }
      signals.count.withLock { $0 = count }
      signals.isRead.signal()
    }
    try context.save()
    signals.isRead.wait()
    let count = try signals.count.withLock { $0 }.get()
    #expect(count == 1)
  }
}
