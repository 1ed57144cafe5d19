import Foundation
import Testing

@testable import CDRuntime

/// Large values of stores that are no SQLite files are files beside them, too.
@Suite(.onceForAllKinds) struct FileStoreExternalDataTests {
  private static let model = ManagedObjectModel(
    name: "Albums", id: UUID(uuidString: "0D5B1C0E-2B7A-4C58-9E7B-1E2D3C4B5A69") ?? UUID(),
    versions: [
      ModelVersion(
        number: 1,
        entities: [
          EntityDescription(
            name: "Photo",
            attributes: [
              AttributeDescription(name: "pixels", type: .data, isOptional: true, storesExternally: true)
            ])
        ])
    ], currentVersionNumber: 1)

  /// Who may not read a store may not read its large values either.
  @Test(arguments: StoreKind.files, [0o600, 0o660])
  func largeValuesHaveThePermissionsOfTheStore(_ kind: StoreKind, _ rights: Int) throws {
    let fixture = try MigrationFixture()
    let coordinator = try PersistentStoreCoordinator(model: Self.model, at: kind.location(fixture.url))
    #expect(chmod(fixture.url.path, mode_t(rights)) == 0)
    let context = ManagedObjectContext(coordinator)
    let photo = try context.insert(entityNamed: "Photo")
    try photo.setValue(.attribute(.data(Data(repeating: 7, count: 100_000))), forKey: "pixels")
    try context.save()
    let folder = fixture.folder.appending(path: "store.cdstore-external")
    func permissions(_ url: URL) throws -> Int? {
      try FileManager.default.attributesOfItem(atPath: url.path)[.posixPermissions] as? Int
    }
    #expect(try permissions(folder) == (rights == 0o600 ? 0o700 : 0o770))
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    #expect(names.count == 1)
    for name in names { #expect(try permissions(folder.appending(path: name)) == rights) }
  }

  @Test(arguments: StoreKind.whole) func largeValuesAreFiles(_ kind: StoreKind) throws {
    let fixture = try MigrationFixture()
    let folder = fixture.folder.appending(path: "store.cdstore-external")
    func names() -> [String] { (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? [] }
    let large = Data(repeating: 7, count: 100_000)
    let location = kind.location(fixture.url)
    let id = try {
      let coordinator = try PersistentStoreCoordinator(model: Self.model, at: location)
      let context = ManagedObjectContext(coordinator)
      let photo = try context.insert(entityNamed: "Photo")
      try photo.setValue(.attribute(.data(large)), forKey: "pixels")
      let small = try context.insert(entityNamed: "Photo")
      try small.setValue(.attribute(.data(Data([1, 2, 3]))), forKey: "pixels")
      try context.save()
      return photo.objectID
    }()
    #expect(names().count == 1)
    let size = try Data(contentsOf: fixture.url).count
    #expect(size < 50_000)
    try {
      let coordinator = try PersistentStoreCoordinator(model: Self.model, at: location)
      let context = ManagedObjectContext(coordinator)
      let photo = try context.existingObject(with: id)
      #expect(try photo.value(forKey: "pixels") == .attribute(.data(large)))
      let copy = fixture.folder.appending(path: "copy")
      try PersistentStoreCoordinator.copyPersistentStore(
        at: fixture.url, to: .xml(copy), formats: [JSONStoreFormat()])
      let copied = ManagedObjectContext(try PersistentStoreCoordinator(model: Self.model, at: .xml(copy)))
      #expect(try copied.existingObject(with: id).value(forKey: "pixels") == .attribute(.data(large)))
      try photo.setValue(.attribute(.null), forKey: "pixels")
      try context.save()
      withExtendedLifetime(copied) {}
    }()
    // The next opening finds that no row has it any more. One that is more than an hour later removes it.
    let files = ExternalFiles(store: fixture.url)
    for _ in 0..<2 {
      _ = try PersistentStoreCoordinator(model: Self.model, at: location)
      #expect(files.names.count == 1)
    }
    try kind.ageUnusedFiles(of: fixture.url)
    _ = try PersistentStoreCoordinator(model: Self.model, at: location)
    #expect(names().isEmpty)
  }

  private func write(_ pixels: Data, of id: ManagedObjectID?, at location: StoreLocation) throws
    -> ManagedObjectID
  {
    let context = ManagedObjectContext(try PersistentStoreCoordinator(model: Self.model, at: location))
    let photo =
      if let id { try context.existingObject(with: id) } else { try context.insert(entityNamed: "Photo") }
    try photo.setValue(.attribute(.data(pixels)), forKey: "pixels")
    try context.save()
    return photo.objectID
  }

  /// A coordinator that only reads takes no lock. It has the rows of an earlier file in memory, and reads a value when
  /// the value is needed.
  @Test(arguments: StoreKind.whole) func aReplacedValueStaysForThoseWhoOnlyRead(_ kind: StoreKind) throws {
    let fixture = try MigrationFixture()
    let location = kind.location(fixture.url)
    let first = Data(repeating: 1, count: 100_000)
    let id = try write(first, of: nil, at: location)
    let reader = ManagedObjectContext(
      try PersistentStoreCoordinator(
        model: Self.model, stores: [PersistentStoreDescription(location, isReadOnly: true)]))
    _ = try write(Data(repeating: 2, count: 100_000), of: id, at: location)
    for _ in 0..<2 { _ = try PersistentStoreCoordinator(model: Self.model, at: location) }
    let photo = try reader.existingObject(with: id)
    #expect(try photo.value(forKey: "pixels") == .attribute(.data(first)))
    #expect(reader.recentErrors.isEmpty)
    let files = ExternalFiles(store: fixture.url)
    #expect(files.names.count == 2)
    try kind.ageUnusedFiles(of: fixture.url)
    _ = try PersistentStoreCoordinator(model: Self.model, at: location)
    #expect(files.names.count == 1)
  }

  /// Somebody puts an earlier file in the store's place, for example with a tool for version control. The hour of a value
  /// begins when it has become unused last.
  @Test(arguments: StoreKind.whole) func aValueThatIsUsedAgainIsNotOldWhenItIsReplaced(_ kind: StoreKind)
    throws
  {
    let fixture = try MigrationFixture()
    let location = kind.location(fixture.url)
    let files = ExternalFiles(store: fixture.url)
    let id = try write(Data(repeating: 1, count: 100_000), of: nil, at: location)
    let first = files.names
    let earlier = try Data(contentsOf: fixture.url)
    _ = try write(Data(repeating: 2, count: 100_000), of: id, at: location)
    let later = try Data(contentsOf: fixture.url)
    for contents in [later, earlier, later] {
      try contents.write(to: fixture.url)
      _ = try PersistentStoreCoordinator(model: Self.model, at: location)
      #expect(files.names.count == 2)
      try kind.ageUnusedFiles(of: fixture.url)
    }
    _ = try PersistentStoreCoordinator(model: Self.model, at: location)
    #expect(files.names.count == 1 && files.names.isDisjoint(with: first))
  }

  /// A replaced value's file stays for a while, for those who still read the old row: the copy has nobody who does.
  @Test(arguments: StoreKind.files, [StoreKind.sqlite, .xml])
  func aCopyHasTheFilesThatItsRowsReferTo(_ kind: StoreKind, _ target: StoreKind) throws {
    let fixture = try MigrationFixture()
    let large = Data(repeating: 7, count: 100_000)
    let id = try {
      let context = ManagedObjectContext(
        try PersistentStoreCoordinator(model: Self.model, at: kind.location(fixture.url)))
      let photo = try context.insert(entityNamed: "Photo")
      for byte in [5, 6] as [UInt8] {
        try photo.setValue(.attribute(.data(Data(repeating: byte, count: 100_000))), forKey: "pixels")
        try context.save()
      }
      try photo.setValue(.attribute(.data(large)), forKey: "pixels")
      try context.save()
      return photo.objectID
    }()
    let old = fixture.folder.appending(path: "store.cdstore-external").path
    #expect(try FileManager.default.contentsOfDirectory(atPath: old).count > 1)
    let copy = fixture.folder.appending(path: "copy")
    try PersistentStoreCoordinator.copyPersistentStore(
      at: fixture.url, to: target.location(copy), formats: [JSONStoreFormat()])
    let folder = copy.path(percentEncoded: false) + "-external"
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder).count == 1)
    let context = ManagedObjectContext(
      try PersistentStoreCoordinator(model: Self.model, at: target.location(copy)))
    #expect(try context.existingObject(with: id).value(forKey: "pixels") == .attribute(.data(large)))
  }

  @Test(arguments: StoreKind.files, [StoreKind.sqlite, .xml])
  func aCopyThatWouldLackAValueIsRefused(_ kind: StoreKind, _ target: StoreKind) throws {
    let fixture = try MigrationFixture()
    let files = ExternalFiles(store: fixture.url)
    for byte in [1, 2] as [UInt8] {
      _ = try write(Data(repeating: byte, count: 100_000), of: nil, at: kind.location(fixture.url))
    }
    files.remove(try #require(files.names.min()))
    #expect {
      try PersistentStoreCoordinator.copyPersistentStore(
        at: fixture.url, to: target.location(fixture.folder.appending(path: "copy")),
        formats: [JSONStoreFormat()])
    } throws: { error in
      if case StoreError.externalData = error { true } else { false }
    }
    #expect(!fixture.files.contains { $0.hasPrefix("copy") })
  }

  /// A copy to another disk writes the values anew. Whatever an interrupted one has left, the next one begins again.
  @Test(arguments: [StoreKind.sqlite, .xml]) func aPartOfAValueIsNotTakenForTheValue(_ target: StoreKind)
    throws
  {
    let fixture = try MigrationFixture()
    let large = Data(repeating: 7, count: 100_000)
    let id = try write(large, of: nil, at: .sqlite(fixture.url))
    let name = try #require(ExternalFiles(store: fixture.url).names.first)
    let copy = fixture.folder.appending(path: "copy")
    let folder = ExternalFiles(store: copy).folder
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    for end in ["", "-writing"] {
      try large.prefix(50_000).write(to: folder.appending(path: name + end))
    }
    try PersistentStoreCoordinator.copyPersistentStore(at: fixture.url, to: target.location(copy))
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [name])
    let context = ManagedObjectContext(
      try PersistentStoreCoordinator(model: Self.model, at: target.location(copy)))
    #expect(try context.existingObject(with: id).value(forKey: "pixels") == .attribute(.data(large)))
  }

  @Test(arguments: StoreKind.whole) func anUnfinishedFileIsRemovedLikeAnUnusedOne(_ kind: StoreKind) throws {
    let fixture = try MigrationFixture()
    let location = kind.location(fixture.url)
    _ = try write(Data(repeating: 7, count: 100_000), of: nil, at: location)
    let files = ExternalFiles(store: fixture.url)
    let used = files.names
    let unfinished = files.folder.appending(path: UUID().uuidString + "-writing")
    try Data([1]).write(to: unfinished)
    _ = try PersistentStoreCoordinator(model: Self.model, at: location)
    #expect(FileManager.default.fileExists(atPath: unfinished.path))
    try kind.ageUnusedFiles(of: fixture.url)
    _ = try PersistentStoreCoordinator(model: Self.model, at: location)
    #expect(files.names == used && !FileManager.default.fileExists(atPath: unfinished.path))
  }

  /// A prepared store must not have files made outside its copy's folder.
  @Test func aCopyTakesNothingThatIsNoFilesName() throws {
    let fixture = try MigrationFixture()
    do {
      let context = ManagedObjectContext(
        try PersistentStoreCoordinator(model: Self.model, at: .sqlite(fixture.url)))
      let photo = try context.insert(entityNamed: "Photo")
      try photo.setValue(.attribute(.data(Data(repeating: 7, count: 100_000))), forKey: "pixels")
      try context.save()
    }
    let copies = fixture.folder.appending(path: "copies")
    try FileManager.default.createDirectory(at: copies, withIntermediateDirectories: false)
    try Data("kept".utf8).write(to: fixture.folder.appending(path: "other"))
    try PlainSQL.run("UPDATE Photo SET pixels = '../other'", at: fixture.url)
    try? PersistentStoreCoordinator.copyPersistentStore(
      at: fixture.url, to: .xml(copies.appending(path: "copy")))
    #expect(!FileManager.default.fileExists(atPath: copies.appending(path: "other").path))
  }
}
