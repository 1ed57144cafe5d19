import Foundation
import Testing

@testable import CDPostgresStore
@testable import CDRuntime

/// Others save while a context follows the history, and it tells its observers of each save once.
@Suite(.needsServer) struct FollowedSaveTests {
  /// The save comes after the number of the newest one has been read, and before the history.
  @Test func aSaveBetweenTwoStatementsIsToldOnce() throws {
    let store = try ServerStore()
    let context = try store.context()
    let other = try store.context()
    #expect(try context.titles().isEmpty)
    try other.addBook("1")
    try other.save()
    var inserted = 0
    context.changeNotices.addObserver(store) { inserted += $0.inserted.count }
    let link = try #require(try context.reader() as? PostgresSession).link
    defer { link.observer = nil }
    var hasSaved = false
    link.observer = { text in
      if hasSaved || !text.contains(#""changes""#) || !text.contains("_cdgen_history") { return }
      hasSaved = true
      do {
        try other.addBook("2")
        try other.save()
      } catch { Issue.record(error) }
    }
    #expect(try context.titles() == ["1"])
    #expect(hasSaved && inserted == 1)
    #expect(try context.titles().sorted() == ["1", "2"])
    #expect(inserted == 2)
  }

  /// The purge comes after the number of the newest save has been read, and before the history.
  @Test func aSaveThatIsPurgedMeanwhileIsFollowed() throws {
    let store = try ServerStore()
    let context = try store.context()
    let other = try store.context()
    let book = try context.addBook("1")
    try context.save()
    let same = try other.existingObject(with: book.objectID)
    try same.setValue("2", forKey: "title")
    try other.save()
    let link = try #require(try context.reader() as? PostgresSession).link
    defer { link.observer = nil }
    var hasPurged = false
    link.observer = { text in
      if hasPurged || !text.contains(#""changes""#) || !text.contains("_cdgen_history") { return }
      hasPurged = true
      do {
        try other.addBook("3")
        try other.save()
        try other.persistentStoreCoordinator.purgeHistory(before: .distantFuture)
      } catch { Issue.record(error) }
    }
    // The count reads no row.
    #expect(try context.count(for: FetchRequest<ManagedObject>(entityName: "Book")) >= 1)
    #expect(try context.count(for: FetchRequest<ManagedObject>(entityName: "Book")) == 2)
    #expect(hasPurged)
    #expect(try book.text("title") == "2")
  }

  /// An observer of the first store's changes fetches, after another save to the second store.
  @Test func aStoreThatAnObserverHasFollowedLacksNoSaves() throws {
    let shelves = try ServerStore()
    let books = try ServerStore()
    func newContext() throws -> ManagedObjectContext {
      let coordinator = try PersistentStoreCoordinator(
        model: MixedFailureTests.model,
        stores: [
          PersistentStoreDescription(.server(shelves.server), configuration: "Shelves"),
          PersistentStoreDescription(.server(books.server), configuration: "Books"),
        ])
      return PersistentContainer(coordinator).newContext()
    }
    let context = try newContext()
    let other = try newContext()
    let book = try context.addBook("1")
    try context.save()
    let shelfRequest = FetchRequest<ManagedObject>(entityName: "Shelf")
    #expect(try context.count(for: shelfRequest) == 0)
    try other.insert(entityNamed: "Shelf").setValue("a", forKey: "name")
    try other.addBook("2")
    try other.save()
    var told: [ObjectChanges] = []
    context.changeNotices.addObserver(books) { [unowned context] changes in
      told.append(changes)
      if told.count > 1 { return }
      do {
        try other.addBook("3")
        try other.save()
        _ = try context.titles()
      } catch { Issue.record(error) }
    }
    #expect(try context.count(for: shelfRequest) == 1)
    #expect(try context.titles().count == 3)
    #expect(told.map(\.inserted.count) == [1, 2] && told.map(\.refreshed.count) == [0, 0])
    #expect(try book.text("title") == "1")
  }
}
