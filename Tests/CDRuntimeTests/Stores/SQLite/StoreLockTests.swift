#if os(Linux)
  import Foundation
  import Glibc
  import Synchronization
  import Testing

  @testable import CDRuntime

  /// The locks by which SQLite keeps other processes from a file that is open. A process loses them all when it closes
  /// any descriptor of the file: so nothing but SQLite may open it.
  @Suite(.onlyOnSQLite("its locks on files"))
  struct StoreLockTests {
    /// The locks of this process on a file, as the kernel lists them.
    private static func locks(on url: URL) throws -> Set<String> {
      var status = stat()
      guard stat(url.path, &status) == 0 else { return [] }
      let lines = try String(contentsOfFile: "/proc/locks", encoding: .utf8).split(separator: "\n")
      return Set(
        lines.compactMap { line in
          // "1: POSIX  ADVISORY  READ 123 fe:00:456 0 EOF"
          let words = line.split(separator: " ").map(String.init)
          guard words.count >= 8, words[1] == "POSIX", words[4] == "\(getpid())",
            words[5].hasSuffix(":\(status.st_ino)")
          else { return nil }
          return words[3...].joined(separator: " ")
        })
    }

    private func withFolder(_ body: (URL) throws -> Void) throws {
      let folder = FileManager.default.temporaryDirectory.appending(path: "cdgen-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: folder) }
      try body(folder)
    }

    enum Call: CaseIterable, Sendable {
      case metadata, recognize, secondContainer, readOnly, copy, destroy, verify, openAsXML, readAsXML,
        rehearse
      case metadataAsXML, anotherModel
    }

    @Test(arguments: Call.allCases)
    func anOpenStoreKeepsItsLocks(_ call: Call) throws {
      try withFolder { folder in
        let url = folder.appending(path: "library.sqlite")
        let container = try PersistentContainer(for: LibraryModel.self, at: url)
        let context = container.newContext()
        _ = Tag(name: "a", in: context)
        try context.save()
        let before = try Self.locks(on: url)
        #expect(!before.isEmpty, "a connection in WAL mode holds a lock all the time")
        switch call {
        case .metadata: _ = try PersistentStoreCoordinator.metadata(forStoreAt: url)
        case .recognize: _ = try StoreLocation(recognizing: url)
        case .secondContainer:
          let other = try PersistentContainer(for: LibraryModel.self, at: url).newContext()
          #expect(try Tag.objects(in: other).count == 1)
        case .readOnly:
          _ = try PersistentStoreCoordinator(
            for: LibraryModel.self, stores: [PersistentStoreDescription(.sqlite(url), isReadOnly: true)])
        case .copy:
          for location in [
            StoreLocation.sqlite(folder.appending(path: "copy")),
            .xml(folder.appending(path: "copy.xml")),
          ] { try PersistentStoreCoordinator.copyPersistentStore(at: url, to: location) }
        case .destroy:
          #expect(throws: StoreError.inUse(url)) {
            try PersistentStoreCoordinator.destroyPersistentStore(at: url)
          }
        case .verify: #expect(try container.persistentStoreCoordinator.verify() == [])
        case .openAsXML:
          #expect(throws: StoreError.unreadable(url, StoreFormatError(.otherFormat))) {
            try PersistentStoreCoordinator(for: LibraryModel.self, at: .xml(url))
          }
        case .readAsXML:
          #expect(throws: StoreError.unreadable(url, StoreFormatError(.otherFormat))) {
            try PersistentStoreCoordinator(
              for: LibraryModel.self, stores: [PersistentStoreDescription(.binary(url), isReadOnly: true)])
          }
        case .metadataAsXML:
          #expect(throws: StoreError.self) {
            try PersistentStoreMetadata(ofStoreAt: url, format: XMLStoreFormat())
          }
        case .rehearse:
          _ = try MigrationRehearsal(
            PersistentStoreDescription(.sqlite(url)), model: LibraryDescription.model
          ).run()
        case .anotherModel:
          let version = MigrationFixture.version(1, [entity("Other", [attribute("name", .string)])])
          #expect(throws: StoreError.self) {
            try PersistentStoreCoordinator(model: MigrationFixture.model([version]), at: .sqlite(url))
          }
        }
        #expect(try Self.locks(on: url) == before)
      }
    }

    /// In whatever way a store is migrated, others are kept from it from the first statement to the switch.
    @Test(arguments: [2, 3, 6])
    func aMigrationKeepsItsLock(_ end: Int) throws {
      let fixture = try MigrationFixture()
      try fixture.create([MigrationChainTests.line[0]]) { try MigrationChainTests.fill($0) }
      let model = try MigrationChainTests.model(MigrationChainTests.line[..<end])
      try expectLocked(fixture.url) { try fixture.open(model) }
    }

    @Test func aMigrationWithCodeOfTheAppKeepsItsLock() throws {
      let fixture = try MigrationFixture()
      let rules = Notes.rules([EntityRule(destination: "Note", name: "Note", isCustom: true)])
      let old = Notes.version(1)
      let new = Notes.version(2)
      try fixture.create([old]) { try Notes.fill($0) }
      try expectLocked(fixture.url) {
        try fixture.open(MigrationFixture.model([old, new], mappings: [rules])) { description in
          description.migrationPolicies["Note", from: 1, to: 2] = { TestPolicy() }
        }
      }
    }

    private func expectLocked(_ url: URL, _ migrate: () throws -> Void) throws {
      let points = Mutex((count: 0, isLocked: false))
      let hook: @Sendable (String) throws -> Void = { point in
        // By then the name leads to the new file.
        if point == "sync" { return }
        let isLocked = points.withLock { $0.isLocked }
        if isLocked {
          let locks = try Self.locks(on: url)
          #expect(locks.contains { $0.hasPrefix("WRITE") }, "before: \(point)")
          points.withLock { $0.count += 1 }
        } else if point.hasPrefix("BEGIN") {
          points.withLock { $0.isLocked = true }
        }
      }
      try MigrationFaults.$hook.withValue(hook) { try migrate() }
      #expect(points.withLock { $0.count } > 1)
    }
  }
#endif
