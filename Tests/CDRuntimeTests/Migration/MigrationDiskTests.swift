import CFailingVFS
import Foundation
import SeededRandom
import Testing

@testable import CDRuntime

/// Disks that fail at any operation of a migration: the store is wholly the old one or wholly the new one after each,
/// and the next opening, on a disk that works, completes the migration. The rows of a store on a server are migrated on the
/// program's own disk, unless the server changes the tables where they are.
@Suite(.needs(.migrations)) struct MigrationDiskTests {
  enum Failure: String, CaseIterable, Sendable {
    case error, full, short

    var kind: failing_kind {
      switch self {
      case .error: FAILING_IO
      case .full: FAILING_FULL
      case .short: FAILING_SHORT
      }
    }
  }

  private static let old: [[String?]] = [["I0"], ["I1"], ["I2"]]

  /// In place, and into a new file.
  @Test(arguments: [2, 3], Failure.allCases) func aDiskThatFailsCostsNothing(
    _ end: Int, _ failure: Failure
  ) throws {
    #expect(failing_vfs_register() == 0)
    let model = try MigrationChainTests.model(MigrationChainTests.line[..<end])
    func make(_ fixture: MigrationFixture) throws {
      try fixture.create([MigrationChainTests.line[0]]) { try MigrationChainTests.fill($0) }
    }
    let template = try MigrationFixture()
    try make(template)
    // A store on a server cannot be copied as quickly, so that not each operation fails there.
    let stride = !StoreKind.ofEnvironment.hasFiles ? 5 : isThorough ? 1 : 6
    let number = Failure.allCases.firstIndex(of: failure) ?? 0
    for persists in [false, true] {
      // The failures begin at different operations, so that each operation fails in one of the six ways.
      var limit = (number + (persists ? 3 : 0)) % stride
      var failures = 0
      var usesDisk = StoreKind.ofEnvironment.hasFiles
      while true {
        let fixture = try MigrationFixture()
        if StoreKind.ofEnvironment.hasFiles {
          try FileManager.default.removeItem(at: fixture.folder)
          try FileManager.default.copyItem(at: template.folder, to: fixture.folder)
        } else {
          try make(fixture)
        }
        failing_vfs_arm(failure.kind, limit, persists ? 1 : 0)
        let result = Result { try fixture.open(model) }
        let count = failing_vfs_disarm()
        if count > 0 { usesDisk = true }
        if case .failure(let error) = result {
          failures += 1
          #expect(error is MigrationError || error is StoreError, "\(limit): \(error)")
        }
        // A fault that is not felt, when a connection is closed, say, is none.
        let rows = try fixture.rows("SELECT text FROM Item ORDER BY _pk")
        #expect(rows == Self.old, "\(limit): \(rows)")
        #expect(try fixture.rows("PRAGMA integrity_check") == [["ok"]], "\(limit)")
        let version = try fixture.column("SELECT value FROM _cdgen_metadata WHERE key = 'versionNumber'")
        #expect([["1"], ["\(end)"]].contains(version), "\(limit): \(version)")
        do {
          try fixture.open(model)
        } catch {
          Issue.record("\(limit) of \(count), \(result): \(fixture.files) \(error)")
        }
        try fixture.open(model)
        #expect(fixture.files == ["store.cdstore"], "\(limit)")
        #expect(
          try fixture.rows("SELECT text, count FROM Item ORDER BY _pk") == Self.old.map { $0 + ["3"] },
          "\(limit)")
        if count <= limit { break }
        limit += stride
      }
      #expect(
        (failures + 1) * stride > 15 || !usesDisk, "\(end) \(failure) \(persists): \(failures) of \(limit)")
    }
  }
}
