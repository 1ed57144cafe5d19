import Foundation
import Synchronization
import Testing

@testable import CDRuntime

/// Stores that are no SQLite files are migrated by the same steps.
@Suite(.onceForAllKinds) struct FileStoreMigrationTests {
  private static let first = MigrationFixture.version(
    1,
    [
      entity(
        "Person", [attribute("name", .string), attribute("age", .int32, isOptional: true)],
        relationships: [toMany("pets", "Pet", inverse: "owner", isOrdered: true)]),
      entity("Pet", [attribute("name", .string)], relationships: [toOne("owner", "Person", inverse: "pets")]),
    ])

  /// What SQLite does in place, and what takes a new file.
  private static let seconds: [(name: String, version: ModelVersion)] = [
    (
      "in place",
      MigrationFixture.version(
        2,
        [
          entity(
            "Person",
            [
              attribute("name", .string), attribute("age", .int32, isOptional: true),
              attribute("note", .string, .string("x")),
            ],
            relationships: [toMany("pets", "Pet", inverse: "owner", isOrdered: true)]),
          entity(
            "Pet", [attribute("name", .string)], relationships: [toOne("owner", "Person", inverse: "pets")]),
        ])
    ),
    (
      "beside",
      MigrationFixture.version(
        2,
        [
          entity("Being", isAbstract: true, [attribute("name", .string)]),
          entity(
            "Person", parent: "Being", [attribute("age", .int64, isOptional: true)],
            relationships: [toMany("pets", "Pet", inverse: "owner", isOrdered: true)]),
          entity("Pet", parent: "Being", relationships: [toOne("owner", "Person", inverse: "pets")]),
        ])
    ),
  ]

  private func create(_ fixture: MigrationFixture, _ kind: StoreKind) throws -> [URL] {
    try fixture.using(MigrationFixture.model([Self.first])) {
      $0.location = kind.location(fixture.url)
    } body: {
      context in
      var uris: [URL] = []
      for number in 1...3 {
        let person = try context.insert(entityNamed: "Person")
        try person.setValue(.attribute(.string("p\(number)")), forKey: "name")
        try person.setValue(.attribute(.int(Int64(number))), forKey: "age")
        let pets = try (1...2).map { place in
          let pet = try context.insert(entityNamed: "Pet")
          try pet.setValue(.attribute(.string("pet \(number).\(place)")), forKey: "name")
          return pet
        }
        try person.setValue(.objects(pets.reversed()), forKey: "pets")
        uris.append(person.objectID.uriRepresentation)
      }
      return uris
    }
  }

  private func check(
    _ fixture: MigrationFixture, _ kind: StoreKind, _ model: ManagedObjectModel, _ uris: [URL],
    keepsBackup: Bool = false
  ) throws {
    try fixture.using(model) {
      $0.location = kind.location(fixture.url)
      $0.keepsBackup = keepsBackup
    } body: { context in
      for (place, uri) in uris.enumerated() {
        let id = try #require(context.persistentStoreCoordinator.managedObjectID(forURIRepresentation: uri))
        let person = try context.existingObject(with: id)
        #expect(try person.value(forKey: "name") == .attribute(.string("p\(place + 1)")))
        #expect(try person.value(forKey: "age") == .attribute(.int(Int64(place + 1))))
        let pets = try person.value(forKey: "pets").objects.map { try $0.value(forKey: "name").attribute }
        #expect(pets == [.string("pet \(place + 1).2"), .string("pet \(place + 1).1")])
      }
      #expect(try context.persistentStoreCoordinator.verify().isEmpty)
    }
  }

  @Test(arguments: StoreKind.whole, [0, 1]) func anOldStoreIsMigrated(_ kind: StoreKind, _ way: Int) throws {
    let fixture = try MigrationFixture()
    let uris = try create(fixture, kind)
    let old = try fixture.bytes()
    let model = MigrationFixture.model([Self.first, Self.seconds[way].version])
    var refusing = PersistentStoreDescription(kind.location(fixture.url))
    refusing.migratesStoreAutomatically = false
    #expect(throws: StoreError.needsMigration(fixture.url, model: "Matrix", from: 1, to: 2)) {
      try PersistentStoreCoordinator(model: model, stores: [refusing])
    }
    try check(fixture, kind, model, uris)
    // The old one stays until the new one has been opened once.
    #expect(fixture.files == ["store.cdstore", "store.cdstore-before-1"])
    #expect(try Data(contentsOf: fixture.folder.appending(path: "store.cdstore-before-1")) == old)
    let metadata = try PersistentStoreCoordinator.metadata(
      forStoreAt: fixture.url, formats: [JSONStoreFormat()])
    #expect(metadata.modelVersion.number == 2)
    try check(fixture, kind, model, uris)
    #expect(fixture.files == ["store.cdstore"])
  }

  /// A new store removes what a former SQLite file of its name has left. Later such a file is none of the store's.
  @Test(arguments: StoreKind.whole, [0, 1]) func aLogBesideTheFileIsNoHindrance(_ kind: StoreKind, _ way: Int)
    throws
  {
    let fixture = try MigrationFixture()
    let logs = ["store.cdstore-journal", "store.cdstore-wal"]
    func writeLogs() throws {
      for name in logs { try Data("log".utf8).write(to: fixture.folder.appending(path: name)) }
    }
    try writeLogs()
    let uris = try create(fixture, kind)
    #expect(fixture.files == ["store.cdstore"])
    try writeLogs()
    let model = MigrationFixture.model([Self.first, Self.seconds[way].version])
    for _ in 0..<2 { try check(fixture, kind, model, uris) }
    #expect(fixture.files == ["store.cdstore"] + logs)
  }

  /// The indexes of the next version cannot be created, so its program must not remove the backup.
  @Test(arguments: StoreKind.files) func anOpeningThatFailsLeavesTheBackup(_ kind: StoreKind) throws {
    let fixture = try MigrationFixture()
    _ = try create(fixture, kind)
    let second = Self.seconds[1].version
    try fixture.using(MigrationFixture.model([Self.first, second])) {
      $0.location = kind.location(fixture.url)
    } body: { context in
      for _ in 0..<2 {
        try context.insert(entityNamed: "Pet").setValue(.attribute(.string("twin")), forKey: "name")
      }
    }
    var third = second
    third.number = 3
    third.basedOn = [2]
    third.entities[0].uniquenessConstraints = [["name"]]
    let error = #expect(throws: MigrationError.self) {
      try fixture.open(MigrationFixture.model([Self.first, second, third])) {
        $0.location = kind.location(fixture.url)
      }
    }
    #expect(error?.reason == .duplicate(properties: ["name"]))
    #expect(fixture.files == ["store.cdstore", "store.cdstore-before-1"])
    try fixture.open(MigrationFixture.model([Self.first, second])) {
      $0.location = kind.location(fixture.url)
    }
    #expect(fixture.files == ["store.cdstore"])
  }

  @Test func aBackupStaysWhereItIsAskedFor() throws {
    let fixture = try MigrationFixture()
    let uris = try create(fixture, .xml)
    let model = MigrationFixture.model([Self.first, Self.seconds[1].version])
    for _ in 0..<2 { try check(fixture, .xml, model, uris, keepsBackup: true) }
    #expect(fixture.files == ["store.cdstore", "store.cdstore-before-1"])
  }

  @Test(arguments: [StoreKind.xml, .binary], [0, 1])
  func aMigrationThatFailsAnywhereLeavesTheOldStore(_ kind: StoreKind, _ way: Int) throws {
    struct Fault: Error {}
    // The hook is called by the thread that opens the store, which is the test's.
    final class Count: @unchecked Sendable { var left = 0 }
    let model = MigrationFixture.model([Self.first, Self.seconds[way].version])
    var points = 0
    while true {
      let fixture = try MigrationFixture()
      let uris = try create(fixture, kind)
      let old = try fixture.bytes()
      let count = Count()
      count.left = points
      var failed = false
      do {
        let hook: @Sendable (String) throws -> Void = { _ in
          if count.left == 0 { throw Fault() }
          count.left -= 1
        }
        try MigrationFaults.$hook.withValue(hook) {
          try fixture.open(model) { $0.location = kind.location(fixture.url) }
        }
      } catch { failed = true }
      guard failed else { break }
      points += 1
      #expect(try fixture.bytes() == old, "after \(points) steps")
      try check(fixture, kind, model, uris)
    }
    #expect(points > 5)
  }

  /// Lets a migration fail when no file has the store's name, as on a file system without hard links.
  private func failSwitch(
    _ fixture: MigrationFixture, _ kind: StoreKind, _ model: ManagedObjectModel, alsoFailsBack: Bool
  ) throws {
    struct Fault: Error {}
    let backup = fixture.folder.appending(path: "store.cdstore-before-1")
    // The rows of a whole file are first migrated in a temporary file.
    let switches = Mutex(kind == .sqlite ? 1 : 2)
    let hook: @Sendable (String) throws -> Void = { point in
      switch point {
      case "link":
        let isLast = switches.withLock {
          $0 -= 1
          return $0 == 0
        }
        // A name that is taken refuses the link, as a file system without links does.
        if isLast { try Data().write(to: backup) }
      case "rename finished": throw Fault()
      case "rename back": if alsoFailsBack { throw Fault() }
      default: break
      }
    }
    #expect(throws: Fault.self) {
      try MigrationFaults.$hook.withValue(hook) {
        try fixture.open(model) { $0.location = kind.location(fixture.url) }
      }
    }
  }

  /// Without hard links, for a moment no file has the store's name.
  @Test(arguments: StoreKind.files, [false, true])
  func aSwitchWithoutHardLinksThatFailsLosesNothing(_ kind: StoreKind, _ alsoFailsBack: Bool) throws {
    let fixture = try MigrationFixture()
    let uris = try create(fixture, kind)
    let model = MigrationFixture.model([Self.first, Self.seconds[1].version])
    try failSwitch(fixture, kind, model, alsoFailsBack: alsoFailsBack)
    #expect(
      fixture.files
        == (alsoFailsBack ? ["store.cdstore-before-1", "store.cdstore-migrated"] : ["store.cdstore"]))
    for _ in 0..<2 { try check(fixture, kind, model, uris) }
    #expect(fixture.files == ["store.cdstore"])
  }

  @Test(arguments: StoreKind.files) func aStoreWithoutItsNameIsDestroyed(_ kind: StoreKind) throws {
    let fixture = try MigrationFixture()
    _ = try create(fixture, kind)
    let model = MigrationFixture.model([Self.first, Self.seconds[1].version])
    try failSwitch(fixture, kind, model, alsoFailsBack: true)
    #expect(fixture.files == ["store.cdstore-before-1", "store.cdstore-migrated"])
    try kind.destroy(fixture.url)
    #expect(fixture.files.isEmpty)
  }

  /// A migration that is still running has the lock of the folder until its result has the name.
  @Test func aSwitchThatIsRunningIsNotCompleted() throws {
    let fixture = try MigrationFixture()
    _ = try create(fixture, .sqlite)
    let model = MigrationFixture.model([Self.first, Self.seconds[1].version])
    try failSwitch(fixture, .sqlite, model, alsoFailsBack: true)
    let before = fixture.files
    let lock = try FolderLock(.exclusive, of: fixture.url, timeout: 0)
    defer { withExtendedLifetime(lock) {} }
    #expect(throws: StoreError.inUse(fixture.url)) { try StoreKind.sqlite.destroy(fixture.url) }
    #expect(fixture.files == before)
  }

  /// A migration always makes a backup before its result waits for the name.
  @Test func anotherStoreWithTheNameOfAResultIsNotDestroyed() throws {
    let fixture = try MigrationFixture()
    let other = fixture.folder.appending(path: "store.cdstore-migrated")
    try fixture.open(MigrationFixture.model([Self.first])) { $0.location = .sqlite(other) }
    try StoreKind.sqlite.destroy(fixture.url)
    #expect(fixture.files == ["store.cdstore-migrated"])
  }

  /// The store is the new file by then, and what the migration has written belongs to it.
  @Test(arguments: StoreKind.files) func aFolderThatIsNotSyncedIsNoFailure(_ kind: StoreKind) throws {
    struct Fault: Error {}
    let body = AttributeDescription(name: "body", type: .data, isOptional: true, storesExternally: true)
    let note = [attribute("text", .string), attribute("rank", .int64), body]
    let model = MigrationFixture.model(
      [Notes.version(1, note: note), Notes.version(2, note: note)],
      mappings: [Notes.rules([EntityRule(destination: "Note", name: "Keep", isCustom: true)])])
    let value = AttributeValue.data(Data(repeating: 1, count: 100_000))
    let fixture = try MigrationFixture()
    try fixture.using(MigrationFixture.model([Notes.version(1, note: note)])) {
      $0.location = kind.location(fixture.url)
    } body: { context in
      try Notes.fill(context)
    }
    let hook: @Sendable (String) throws -> Void = { point in
      if point == "sync" { throw Fault() }
    }
    try MigrationFaults.$hook.withValue(hook) {
      try fixture.open(model) { description in
        description.location = kind.location(fixture.url)
        description.migrationPolicies["Keep", from: 1, to: 2] = {
          TestPolicy(create: { source, mapping, manager in
            let note = try manager.makeDestinationInstance(for: source, in: mapping)
            try note.setValue(.attribute(value), forKey: "body")
          })
        }
      }
    }
    for _ in 0..<2 {
      try fixture.using(model) {
        $0.location = kind.location(fixture.url)
      } body: { context in
        let notes = try context.fetch(FetchRequest<ManagedObject>(entityName: "Note"))
        #expect(notes.count == 6)
        for note in notes { #expect(try note.value(forKey: "body") == .attribute(value)) }
        #expect(try context.persistentStoreCoordinator.verify().isEmpty)
      }
    }
    #expect(fixture.files == ["store.cdstore", "store.cdstore-external"])
  }

  /// A store that is private, and one that a group shares.
  @Test(arguments: StoreKind.files, [0o600, 0o660])
  func permissionsStay(_ kind: StoreKind, _ rights: Int) throws {
    for second in Self.seconds {
      let fixture = try MigrationFixture()
      let uris = try create(fixture, kind)
      #expect(chmod(fixture.url.path, mode_t(rights)) == 0)
      let model = MigrationFixture.model([Self.first, second.version])
      let folder = fixture.folder
      let hook: @Sendable (String) throws -> Void = { point in
        for (name, found) in try Self.permissions(in: folder) {
          #expect(found & ~rights == 0, "\(name) before \(point)")
        }
      }
      try MigrationFaults.$hook.withValue(hook) { try check(fixture, kind, model, uris) }
      #expect(try Self.permissions(in: folder)["store.cdstore"] == rights, "\(second.name)")
      try check(fixture, kind, model, uris)
      #expect(try Self.permissions(in: folder) == ["store.cdstore": rights], "\(second.name)")
    }
  }

  /// The permissions of all files of a folder that are neither folders nor links.
  private static func permissions(in folder: URL) throws -> [String: Int] {
    var result: [String: Int] = [:]
    for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
      let attributes = try FileManager.default.attributesOfItem(atPath: folder.appending(path: name).path)
      guard attributes[.type] as? FileAttributeType == .typeRegular else { continue }
      result[name] = attributes[.posixPermissions] as? Int
    }
    return result
  }

  @Test(arguments: [StoreKind.xml, .binary]) func aMigrationIsRehearsed(_ kind: StoreKind) throws {
    let fixture = try MigrationFixture()
    _ = try create(fixture, kind)
    let old = try fixture.bytes()
    let model = MigrationFixture.model([Self.first, Self.seconds[1].version])
    let report = try MigrationRehearsal(
      PersistentStoreDescription(kind.location(fixture.url)), model: model
    ).run()
    #expect(report.succeeds)
    #expect(try fixture.bytes() == old && fixture.files == ["store.cdstore"])
  }

  /// Other stores and notes can have names that begin like those of a migration's files.
  @Test(arguments: StoreKind.whole) func filesWithOtherNamesStay(_ kind: StoreKind) throws {
    let fixture = try MigrationFixture()
    let uris = try create(fixture, kind)
    let others = [
      "store.cdstore-migrating to Berlin.xml", "store.cdstore-migrating-before-noon",
      "store.cdstore-migrating-notes.txt", "store.cdstore-migrating3",
    ]
    for name in others { try Data(name.utf8).write(to: fixture.folder.appending(path: name)) }
    try check(fixture, kind, MigrationFixture.model([Self.first]), uris)
    #expect(fixture.files == ["store.cdstore"] + others)
    let model = MigrationFixture.model([Self.first, Self.seconds[1].version])
    for _ in 0..<2 { try check(fixture, kind, model, uris) }
    #expect(fixture.files == ["store.cdstore"] + others)
    for name in others {
      #expect(try Data(contentsOf: fixture.folder.appending(path: name)) == Data(name.utf8))
    }
  }

  @Test func whatAKilledMigrationLeftIsRemoved() throws {
    let fixture = try MigrationFixture()
    let uris = try create(fixture, .xml)
    let names = [
      "-migrating", "-migrating-journal", "-migrating2", "-migrating-migrating1",
      "-migrating-migrating1-journal", "-migrating-migrated", "-migrating-migrating-files",
      "-migrating-before-1", "-migrating-before-1-2", "-migrated", "-saving",
    ]
    for name in names {
      try Data("half".utf8).write(to: fixture.folder.appending(path: "store.cdstore\(name)"))
    }
    // The switch had begun: the backup is the store itself.
    try FileManager.default.linkItem(
      at: fixture.url, to: fixture.folder.appending(path: "store.cdstore-before-1"))
    try check(fixture, .xml, MigrationFixture.model([Self.first]), uris)
    #expect(fixture.files == ["store.cdstore"])
  }
}
