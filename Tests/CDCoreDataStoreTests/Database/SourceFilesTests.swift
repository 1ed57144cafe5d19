import Foundation
import Testing

@testable import CDCoreDataStore

/// How the files of a store are opened that is not ours to write to.
@Suite("Files of Core Data's stores") struct SourceFilesTests {
  @Test func aStoreThatSomebodyWritesToIsNoticed() throws {
    let store = try ShelfStore()
    let database = try SourceDatabase(store.url)
    try database.files.checkUnchanged()
    let handle = try FileHandle(forWritingTo: store.url)
    try handle.seekToEnd()
    try handle.write(contentsOf: Data(count: 4096))
    try handle.close()
    #expect(throws: CoreDataStoreError.changing(store.url)) { try database.files.checkUnchanged() }
  }

  @Test func aFileOfAnotherProgramFindsNoFunctionsOfOurs() throws {
    let store = try ShelfStore()
    let database = try SourceDatabase(store.url)
    #expect(try database.number("SELECT upper('a') = 'A'") == 1)
    #expect(throws: CoreDataStoreError.self) {
      _ = try database.statement("SELECT cdgen_canonical('a')")
    }
  }

  @Test func aJournalThatAppearsIsNoticed() throws {
    let store = try ShelfStore()
    let database = try SourceDatabase(store.url)
    try Data(count: 10).write(to: store.folder.appending(path: "Shelf.sqlite-wal"))
    #expect(throws: CoreDataStoreError.changing(store.url)) { try database.files.checkUnchanged() }
  }

  @Test func theCopyOfAJournalGoesWithTheDatabase() throws {
    let store = try JournalledStore(isOnlyInTheJournal: false)
    var database: SourceDatabase? = try SourceDatabase(store.url)
    let uri = try #require(database?.files.uri)
    let copy = try #require(URL(string: uri)?.path())
    #expect(copy != store.url.path())
    #expect(FileManager.default.fileExists(atPath: copy))
    database = nil
    #expect(!FileManager.default.fileExists(atPath: copy))
  }

  @Test func aLinkLeadsToTheFilesThemselves() throws {
    let store = try JournalledStore(isOnlyInTheJournal: false)
    let link = store.folder.appending(path: "link.sqlite")
    try FileManager.default.createSymbolicLink(at: link, withDestinationURL: store.url)
    let tags = try CoreDataStore(at: link).entities.first { $0.name == "Tag" }
    #expect(tags?.count == 1)
  }
}
