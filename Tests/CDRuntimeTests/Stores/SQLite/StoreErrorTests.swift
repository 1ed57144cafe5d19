import Foundation
import Testing

@testable import CDRuntime

/// What the codes of SQLite become.
@Suite(.onceForAllKinds) struct StoreErrorTests {
  @Test func sharedMemoryWithoutSpaceIsAFullDisk() {
    let url = URL(filePath: "/store.sqlite")
    // SQLITE_IOERR_SHMSIZE, then SQLITE_IOERR_READ.
    #expect(
      StoreError(code: 4874, message: "disk I/O error", of: [url], during: "preparing") == .diskFull([url]))
    #expect(
      StoreError(code: 266, message: "disk I/O error", of: [url], during: "preparing") != .diskFull([url]))
  }
}
