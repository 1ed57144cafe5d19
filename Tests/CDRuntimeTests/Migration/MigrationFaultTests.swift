import Foundation
import Synchronization
import Testing

@testable import CDRuntime

/// What goes wrong at any point, and what a process that ends there leaves behind.
@Suite(.needs(.migrations)) struct MigrationFaultTests {
  private struct Fault: Error {}

  private func check(_ fixture: MigrationFixture, end: Int) throws {
    let model = try MigrationChainTests.model(MigrationChainTests.line[..<end])
    try fixture.open(model)
    try fixture.verify(model)
    #expect(fixture.files == ["store.cdstore"])
    if end == 6 {
      try MigrationChainTests.check(fixture)
    } else {
      #expect(try fixture.rows("SELECT text, count FROM Item") == [["I0", "3"], ["I1", "3"], ["I2", "3"]])
    }
  }

  /// Where anything throws, the store is the old one, and the next opening migrates it.
  @Test(arguments: [2, 6]) func aFaultAnywhereLeavesTheOldStore(_ end: Int) throws {
    let model = try MigrationChainTests.model(MigrationChainTests.line[..<end])
    let fixture = try MigrationFixture()
    try fixture.create([MigrationChainTests.line[0]]) { try MigrationChainTests.fill($0) }
    let content = try fixture.rows("SELECT * FROM Item")
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
        try MigrationFaults.$hook.withValue(hook) { try fixture.open(model) }
        break
      } catch is Fault {
        #expect(fixture.files == ["store.cdstore"])
        #expect(try fixture.rows("SELECT * FROM Item") == content)
      }
      limit += 1
    }
    #expect(limit > (end == 2 ? 3 : 50))
    try check(fixture, end: end)
  }

  /// Copies the folder before each thing that a migration does, as a process that is killed there would leave it.
  @Test(.needsFile, arguments: [2, 6]) func whatAKilledProcessLeavesIsCompletedOrCleaned(_ end: Int) throws {
    let model = try MigrationChainTests.model(MigrationChainTests.line[..<end])
    let fixture = try MigrationFixture()
    try fixture.create([MigrationChainTests.line[0]]) { try MigrationChainTests.fill($0) }
    let folder = fixture.folder
    let copies = Mutex<[URL]>([])
    let hook: @Sendable (String) throws -> Void = { _ in
      let copy = folder.deletingLastPathComponent().appending(path: "cdgen-\(UUID().uuidString)")
      try Self.clone(folder, to: copy)
      copies.withLock { $0.append(copy) }
    }
    try MigrationFaults.$hook.withValue(hook) { try fixture.open(model) }
    let left = copies.withLock { $0 }
    #expect(left.count > (end == 2 ? 3 : 50))
    for copy in left {
      let other = try MigrationFixture()
      try FileManager.default.removeItem(at: other.folder)
      try FileManager.default.moveItem(at: copy, to: other.folder)
      try other.open(model)
      try check(other, end: end)
    }
  }

  /// Copies files, and keeps those that are one file one file.
  static func clone(_ folder: URL, to copy: URL) throws {
    try FileManager.default.createDirectory(at: copy, withIntermediateDirectories: true)
    var seen: [FileIdentity: URL] = [:]
    for name in try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() {
      let target = copy.appending(path: name)
      let source = folder.appending(path: name)
      if let identity = FileIdentity(source.path), identity.isRegular, let first = seen[identity] {
        try FileManager.default.linkItem(at: first, to: target)
      } else {
        try FileManager.default.copyItem(at: source, to: target)
        if let identity = FileIdentity(source.path) { seen[identity] = target }
      }
    }
  }

  @Test(.needsFile) func aSwitchWithoutHardLinksIsCompleted() throws {
    let model = try MigrationChainTests.model(MigrationChainTests.line[...])
    let fixture = try MigrationFixture()
    try fixture.create([MigrationChainTests.line[0]]) { try MigrationChainTests.fill($0) }
    try fixture.open(model)
    // As it is between the two renames.
    try FileManager.default.moveItem(
      at: fixture.url, to: fixture.folder.appending(path: "store.cdstore-migrated"))
    try check(fixture, end: 6)
  }

  @Test(.onlyOnSQLite("its journal")) func aJournalOfTheOldStoreIsReadFirst() throws {
    let old = try MigrationChainTests.model(MigrationChainTests.line[..<1])
    let fixture = try MigrationFixture()
    let coordinator = try PersistentStoreCoordinator(model: old, at: .sqlite(fixture.url))
    let context = ManagedObjectContext(coordinator)
    try MigrationChainTests.fill(context)
    try context.save()
    let left = fixture.folder.deletingLastPathComponent().appending(path: "cdgen-\(UUID().uuidString)")
    try Self.clone(fixture.folder, to: left)
    let other = try MigrationFixture()
    try FileManager.default.removeItem(at: other.folder)
    try FileManager.default.moveItem(at: left, to: other.folder)
    #expect(other.files.contains("store.cdstore-wal"))
    try other.open(MigrationChainTests.model(MigrationChainTests.line[...]))
    try check(other, end: 6)
  }
}
