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
}
