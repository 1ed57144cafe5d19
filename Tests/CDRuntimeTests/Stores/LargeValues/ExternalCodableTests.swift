import Foundation
import Testing

@testable import CDRuntime

/// Codable values stay in their rows, also if they are declared as external and are large.
@Suite struct ExternalCodableTests {
  private static let model = MigrationFixture.model([
    MigrationFixture.version(
      1,
      [
        entity(
          "Doc",
          [
            attribute("title", .string),
            AttributeDescription(
              name: "settings", type: .codable(type: "App.Settings", codec: 1), isOptional: true,
              storesExternally: true),
          ])
      ])
  ])

  private static let values: [String: String] = {
    let text = String(repeating: "x", count: 100_000)
    return ["small": #"{"a":1}"#, "large": "{\"a\":\"\(text)\"}"]
  }()

  private func fill(_ context: ManagedObjectContext) throws {
    for (title, json) in Self.values {
      let doc = try context.insert(entityNamed: "Doc")
      try doc.setValue(.attribute(.string(title)), forKey: "title")
      try doc.setValue(.attribute(.string(json)), forKey: "settings")
    }
    try context.save()
  }

  private func check(_ location: StoreLocation) throws {
    let coordinator = try PersistentStoreCoordinator(model: Self.model, at: location)
    let context = ManagedObjectContext(coordinator)
    let docs = try context.fetch(FetchRequest<ManagedObject>(entityName: "Doc"))
    #expect(docs.count == 2)
    for doc in docs {
      guard case .string(let title)? = try doc.value(forKey: "title").attribute else {
        Issue.record("a document has no title")
        continue
      }
      #expect(try doc.value(forKey: "settings").attribute == Self.values[title].map { .string($0) })
    }
    #expect(try coordinator.verify().isEmpty)
  }

  @Test(.needsReopening) func valuesAreReadChangedAndDeleted() throws {
    let fixture = try MigrationFixture()
    try fixture.using(Self.model) { try fill($0) }
    try check(fixture.location)
    let coordinator = try PersistentStoreCoordinator(model: Self.model, at: fixture.location)
    let context = ManagedObjectContext(coordinator)
    let docs = try context.fetch(FetchRequest<ManagedObject>(entityName: "Doc"))
    try docs[0].setValue(.attribute(.string("[]")), forKey: "settings")
    try context.save()
    context.delete(docs[1])
    try context.save()
    #expect(try docs[0].value(forKey: "settings").attribute == .string("[]"))
    // No value is listed as the name of a file.
    #expect(try coordinator.verify().isEmpty)
  }

  @Test(.onceForAllKinds, arguments: StoreKind.files)
  func aStoreIsCopiedToAnotherKind(_ kind: StoreKind) throws {
    let fixture = try MigrationFixture()
    let location = kind.location(fixture.url)
    try fill(ManagedObjectContext(try PersistentStoreCoordinator(model: Self.model, at: location)))
    try check(location)
    for (name, target) in [("copy.sqlite", StoreKind.sqlite), ("copy.xml", .xml), ("copy.bin", .binary)] {
      let copy = target.location(fixture.folder.appending(path: name))
      try PersistentStoreCoordinator.copyPersistentStore(
        at: fixture.url, to: copy, formats: [JSONStoreFormat()])
      try check(copy)
    }
    #expect(!FileManager.default.fileExists(atPath: fixture.url.path + "-external"))
  }

  /// The column of an existing store keeps its declaration.
  @Test(.onceForAllKinds) func theColumnIsDeclaredAsBefore() throws {
    let fixture = try MigrationFixture()
    try fixture.using(Self.model) { try fill($0) }
    #expect(
      try fixture.rows("SELECT type FROM pragma_table_info('Doc') WHERE name = 'settings'") == [["ANY"]])
    #expect(try fixture.rows("SELECT DISTINCT typeof(settings) FROM Doc") == [["text"]])
    #expect(try fixture.rows("SELECT name FROM _cdgen_files").isEmpty)
  }
}
