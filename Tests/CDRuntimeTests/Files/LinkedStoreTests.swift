import Foundation
import Testing

@testable import CDRuntime

/// Stores that have more than one name: symbolic links, which lead to the file itself, and hard links, which are
/// refused.
@Suite(.onceForAllKinds)
struct LinkedStoreTests {
  private let folder: URL
  private let real: URL
  private let link: URL

  private static let photos = entity(
    "Photo",
    [
      attribute("title", .string),
      AttributeDescription(name: "pixels", type: .data, isOptional: true, storesExternally: true),
    ])
  private static let first = MigrationFixture.version(1, [photos])
  /// Tables are made anew for it, in a new file.
  private static let beside = MigrationFixture.version(
    2,
    [
      entity("Photo", photos.attributes, relationships: [toOne("album", "Album", inverse: nil)]),
      entity("Album", [attribute("name", .string)]),
    ])
  private static let large = Data(repeating: 7, count: 100_000)

  init() throws {
    folder = FileManager.default.temporaryDirectory.appending(path: "cdgen-\(UUID().uuidString)")
    for name in ["real", "links"] {
      try FileManager.default.createDirectory(
        at: folder.appending(path: name), withIntermediateDirectories: true)
    }
    real = folder.appending(path: "real/photos.store")
    link = folder.appending(path: "links/photos.store")
  }

  private func done() { try? FileManager.default.removeItem(at: folder) }

  private func names(_ folder: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: self.folder.appending(path: folder).path).sorted()
  }

  private func pixels(_ location: StoreLocation, _ version: ModelVersion) throws
    -> [Data]
  {
    let versions = version == Self.first ? [Self.first] : [Self.first, version]
    let coordinator = try PersistentStoreCoordinator(model: MigrationFixture.model(versions), at: location)
    let context = ManagedObjectContext(coordinator)
    let photos = try context.fetch(FetchRequest<ManagedObject>(entityName: "Photo"))
    return try photos.compactMap { photo in
      if case .attribute(.data(let data)) = try photo.value(forKey: "pixels") { return data }
      return nil
    }
  }

  private func fill(_ location: StoreLocation) throws {
    let coordinator = try PersistentStoreCoordinator(
      model: MigrationFixture.model([Self.first]), at: location)
    let context = ManagedObjectContext(coordinator)
    let photo = try context.insert(entityNamed: "Photo")
    try photo.setValue("sunset", forKey: "title")
    try photo.setValue(Self.large, forKey: "pixels")
    try context.save()
  }

  private static let kinds: [@Sendable (URL) -> StoreLocation] = [
    { .sqlite($0) }, { .xml($0) }, { .binary($0) }, { .custom($0, JSONStoreFormat()) },
  ]

  @Test(arguments: kinds.indices) func aLinkLeadsToTheStoreWithItsLargeValues(_ kind: Int) throws {
    defer { done() }
    let location = Self.kinds[kind]
    try fill(location(real))
    try FileManager.default.createSymbolicLink(
      atPath: link.path, withDestinationPath: "../real/photos.store")
    #expect(try pixels(location(link), Self.first) == [Self.large])
    // What is written by the link is found without it.
    try fill(location(link))
    #expect(try pixels(location(real), Self.first) == [Self.large, Self.large])
    #expect(try names("links") == ["photos.store"])
    let metadata = try PersistentStoreCoordinator.metadata(forStoreAt: link, formats: [JSONStoreFormat()])
    #expect(metadata.modelVersion == Self.first)
    try PersistentStoreCoordinator.destroyPersistentStore(at: link, formats: [JSONStoreFormat()])
    #expect(try names("real") == [])
  }

  @Test(arguments: kinds.indices) func aMigrationByALinkChangesTheStoreItself(_ kind: Int) throws {
    defer { done() }
    let location = Self.kinds[kind]
    try fill(location(real))
    try FileManager.default.createSymbolicLink(
      atPath: link.path, withDestinationPath: "../real/photos.store")
    #expect(try pixels(location(link), Self.beside) == [Self.large])
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link.path) == "../real/photos.store")
    #expect(try pixels(location(real), Self.beside) == [Self.large])
    #expect(try names("links") == ["photos.store"])
  }

  @Test func aLinkToNoFileMakesTheStoreWhereItLeads() throws {
    defer { done() }
    try FileManager.default.createSymbolicLink(
      atPath: link.path, withDestinationPath: "../real/photos.store")
    try fill(.sqlite(link))
    #expect(try pixels(.sqlite(real), Self.first) == [Self.large])
  }

  @Test func linksInACircleAreRefused() throws {
    defer { done() }
    try FileManager.default.createSymbolicLink(atPath: link.path, withDestinationPath: "other")
    try FileManager.default.createSymbolicLink(
      atPath: folder.appending(path: "links/other").path, withDestinationPath: "photos.store")
    #expect(throws: StoreError.cannotCreate(link, reason: "its symbolic links form a circle")) {
      try fill(.sqlite(link))
    }
  }

  @Test(arguments: kinds.indices) func aFileOfTwoNamesIsRefused(_ kind: Int) throws {
    defer { done() }
    let location = Self.kinds[kind]
    try fill(location(real))
    let other = folder.appending(path: "real/other.store")
    try FileManager.default.linkItem(at: real, to: other)
    for url in [real, other] {
      #expect(throws: StoreError.severalNames(url, count: 2)) { try fill(location(url)) }
    }
    try FileManager.default.removeItem(at: other)
    #expect(try pixels(location(real), Self.first) == [Self.large])
  }

  /// The log is beside the name by which the store is open. By another name, its saves would not be found.
  @Test func aSecondNameIsNotCopiedAndNotRemoved() throws {
    defer { done() }
    try fill(.sqlite(real))
    let model = MigrationFixture.model([Self.first])
    let open = try PersistentStoreCoordinator(model: model, at: .sqlite(real))
    let other = folder.appending(path: "real/other.store")
    try FileManager.default.linkItem(at: real, to: other)
    let error = StoreError.severalNames(other, count: 2)
    let copy = StoreLocation.sqlite(folder.appending(path: "copy.store"))
    #expect(throws: error) { try PersistentStoreCoordinator.copyPersistentStore(at: other, to: copy) }
    #expect(throws: error) { try PersistentStoreCoordinator.metadata(forStoreAt: other) }
    #expect(throws: error) { try PersistentStoreCoordinator.destroyPersistentStore(at: other) }
    #expect(throws: error) {
      try MigrationRehearsal(PersistentStoreDescription(.sqlite(other)), model: model).run()
    }
    #expect(try names("real").contains("other.store"))
    #expect(try !names("").contains("copy.store"))
    withExtendedLifetime(open) {}
  }
}
