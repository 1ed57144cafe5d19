import Foundation
import Testing

@testable import CDRuntime

@Suite struct StoreTests {
  private let store: TemporaryStore

  init() throws { store = try TemporaryStore() }

  private func sql(_ query: String) throws -> [String] {
    try PlainSQL.connection(to: store.url).rows(query).map { $0[0] ?? "" }
  }

  private func execute(_ sql: String) throws {
    try SQLiteConnection(path: store.url.path(percentEncoded: false), of: []).execute(sql)
  }

  @Test(.onlyOnSQLite("its schema")) func theSchemaIsAsDocumented() throws {
    _ = try store.container()
    let found = try sql("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY type DESC, name")
    #expect(found == LibrarySchema.statements)
  }

  @Test func aStoreIsOpenedAgainWithTheSameIdentity() throws {
    let first = try store.container().persistentStoreCoordinator.storeIDs
    #expect(try store.container().persistentStoreCoordinator.storeIDs == first)
  }

  @Test(.onlyOnSQLite("StoreFileDamageTests has the other kinds"))
  func whatIsNoDatabaseIsRefusedAndLeftAlone() throws {
    let bytes = Data("this is no database at all".utf8)
    try bytes.write(to: store.url)
    #expect(throws: StoreError.notADatabase(store.url)) { try store.container() }
    #expect(try Data(contentsOf: store.url) == bytes)
  }

  @Test(.onlyOnSQLite("its tables")) func anotherDatabaseIsRefusedAndLeftAlone() throws {
    try execute("CREATE TABLE theirs (x)")
    let bytes = try Data(contentsOf: store.url)
    #expect(throws: StoreError.foreignDatabase(store.url)) { try store.container() }
    #expect(try Data(contentsOf: store.url) == bytes)
  }

  @Test(.onlyOnSQLite("its metadata; StoreFileDamageTests has the other kinds")) func aNewerFormatIsRefused()
    throws
  {
    _ = try store.container()
    try execute("UPDATE _cdgen_metadata SET value = '2' WHERE key = 'formatVersion'")
    #expect(throws: StoreError.newerFormat(store.url, found: 2, supported: 1)) { try store.container() }
  }

  @Test(.needsReopening) func anotherModelIsRefused() throws {
    _ = try store.container()
    var other = LibraryDescription.model
    other.id = UUID()
    other.name = "Other"
    let found = ModelIdentity(name: "Library", id: LibraryDescription.model.id)
    #expect(
      throws: StoreError.otherModel(
        store.shownURL, found: found, expected: ModelIdentity(name: "Other", id: other.id))
    ) {
      try PersistentStoreCoordinator(model: other, at: store.location)
    }
    // Of two models with one name each is told by its identity.
    other.name = "Library"
    let error = try #require(throws: StoreError.self) {
      try PersistentStoreCoordinator(model: other, at: store.location)
    }
    for id in [found.id, other.id] { #expect("\(error)".contains(id.uuidString)) }
    #expect("\(error)".contains("'id' in model.yaml"))
  }

  @Test(.needsReopening) func otherDataNeedAMigration() throws {
    _ = try store.container()
    var other = LibraryDescription.model
    other.versions[0].number = 2
    other.currentVersionNumber = 2
    other.versions[0].entities[6].attributes[0].name = "sign"
    var description = PersistentStoreDescription(store.location)
    description.migratesStoreAutomatically = false
    #expect(throws: StoreError.needsMigration(store.shownURL, model: "Library", from: 1, to: 2)) {
      try PersistentStoreCoordinator(model: other, stores: [description])
    }
  }

  @Test(.needsReopening) func indexesAreBroughtUpToDate() throws {
    _ = try store.container()
    var other = LibraryDescription.model
    other.versions[0].entities[6].indexes = [IndexDescription(elements: [SortKey("label")])]
    other.versions[0].entities[0].indexes = []
    _ = try PersistentStoreCoordinator(model: other, at: store.location)
    #expect(
      try store.kind.indexes(store.url).filter { $0.contains(".index.") } == [
        "Book.index.priority.-salesRank", "Shelf.index.label",
      ])
  }

  // Settled 5: identifiers are permanent from insertion and never given again.
  @Test func settled5KeysAreNeverGivenAgain() throws {
    let context = try store.freshContext()
    let first = Author(name: "A", in: context)
    let id = first.objectID
    try context.save()
    #expect(first.objectID == id)
    #expect(ManagedObjectID(uri: id.uriRepresentation) == id)
    context.delete(first)
    try context.save()
    let other = try store.freshContext()
    let second = Author(name: "B", in: other)
    try other.save()
    #expect(second.objectID != id)
    #expect(throws: FetchError.unknownObject(id)) { try other.existingObject(with: id) }
  }
}
