import Foundation
import Testing

@testable import CDRuntime

/// What another coordinator saves, as another process does: seen in the next turn, and nothing lost.
@Suite struct OthersTests {
  private let store: TemporaryStore

  init() throws { store = try TemporaryStore() }

  private func fill() throws -> (ManagedObjectContext, Author, Book) {
    let context = try store.freshContext()
    let author = Author(name: "Thoreau", in: context)
    let book = Book(title: "Walden", isbn: "1", author: author, in: context)
    try context.save()
    return (context, author, book)
  }

  // Settled 10: what other processes save is seen.
  @Test func settled10ChangedValuesAreReadAgain() throws {
    let (context, author, book) = try fill()
    let other = try store.freshContext()
    let same = try #require(try other.perform { try other.existingObject(with: book.objectID) as? Book })
    same.title = "Walden; or, Life in the Woods"
    try other.save()
    // Without a new snapshot an object keeps what it has.
    #expect(book.title == "Walden")
    context.perform {
      _ = try? Author.objects(in: context)
      #expect(book.isFault)
      #expect(book.title == "Walden; or, Life in the Woods")
      #expect(author.name == "Thoreau")
    }
    // Known now: a change is no conflict.
    book.title = "W"
    try context.save()
    #expect(try (store.freshContext().existingObject(with: book.objectID) as? Book)?.title == "W")
  }

  @Test func aCountSeesWhatOthersHaveSavedToo() throws {
    let (context, author, book) = try fill()
    let other = try store.freshContext()
    let same = try #require(try other.existingObject(with: author.objectID) as? Author)
    _ = Book(title: "Cape Cod", isbn: "2", author: same, in: other)
    try #require(try other.existingObject(with: book.objectID) as? Book).title = "W"
    try other.save()
    #expect(try context.count(for: FetchRequest<Book>()) == 2)
    #expect(book.isFault && book.title == "W")
  }

  @Test func relationshipsAreReadAgain() throws {
    let (context, author, book) = try fill()
    #expect(author.publications == [book])
    #expect(book.tags == [])
    let other = try store.freshContext()
    let sameAuthor = try #require(try other.existingObject(with: author.objectID) as? Author)
    let sameBook = try #require(try other.existingObject(with: book.objectID) as? Book)
    _ = Book(title: "Cape Cod", isbn: "2", author: sameAuthor, in: other)
    sameBook.addToTags(Tag(name: "pond", in: other))
    try other.save()
    try context.perform {
      let books = try Book.objects(in: context)
      #expect(books.count == 2)
      #expect(author.publications.map(\.title) == ["Walden", "Cape Cod"])
      #expect(book.tags.map(\.name) == ["pond"])
    }
  }

  /// The context has released one of the objects. The relationship's own read tells of the save.
  @Test func aRelationshipIsReadAgainThatTellsOfTheSaveItself() throws {
    let (setup, author, book) = try fill()
    let heir = Author(name: "Emerson", in: setup)
    let released = Book(title: "Cape Cod", isbn: "2", author: author, in: setup)
    try setup.save()
    let context = try store.freshContext()
    let known = try #require(try context.existingObject(with: author.objectID) as? Author)
    let moved = try #require(try context.existingObject(with: book.objectID) as? Book)
    context.perform { #expect(known.publications.count == 2) }
    context.registry.sweep()
    #expect(context.registeredObject(for: released.objectID) == nil)
    book.author = heir
    _ = Book(title: "Excursions", isbn: "3", author: author, in: setup)
    try setup.save()
    try context.perform {
      // Stores in memory have no snapshots: only a fetch tells of saves.
      if store.hasOneOwner { _ = try Tag.objects(in: context) }
      for _ in 0..<2 { #expect(known.publications.map(\.title) == ["Cape Cod", "Excursions"]) }
      #expect(moved.author.name == "Emerson")
    }
  }

  @Test func relationshipsOfObjectsWithChangesAreReadAgainToo() throws {
    let (context, author, book) = try fill()
    #expect(author.publications == [book])
    #expect(book.tags == [])
    author.name = "Henry"
    book.addToTags(Tag(name: "mine", in: context))
    let other = try store.freshContext()
    let sameAuthor = try #require(try other.existingObject(with: author.objectID) as? Author)
    let sameBook = try #require(try other.existingObject(with: book.objectID) as? Book)
    _ = Magazine(title: "Dial", issue: 1, author: sameAuthor, in: other)
    sameBook.addToTags(Tag(name: "theirs", in: other))
    try other.save()
    _ = try Book.objects(in: context)
    #expect(author.publications.map(\.title) == ["Walden", "Dial"])
    #expect(Set(book.tags.map(\.name)) == ["mine", "theirs"])
    try context.save()
    #expect(Set(book.tags.map(\.name)) == ["mine", "theirs"])
  }

  @Test func deletedObjectsKeepTheirValuesAndSaySo() throws {
    let (context, _, book) = try fill()
    let other = try store.freshContext()
    other.delete(try other.existingObject(with: book.objectID))
    try other.save()
    try context.perform {
      let books = try Book.objects(in: context)
      #expect(books == [])
      #expect(book.isInaccessible && book.title == "Walden")
    }
    #expect(context.recentErrors.map(\.reason) == [.objectGone])
    #expect(throws: FetchError.unknownObject(book.objectID)) {
      try context.existingObject(with: book.objectID)
    }
  }

  @Test func unsavedChangesAreLeftToTheSave() throws {
    let (context, _, book) = try fill()
    book.title = "Mine"
    let other = try store.freshContext()
    let same = try #require(try other.existingObject(with: book.objectID) as? Book)
    same.title = "Theirs"
    try other.save()
    try context.perform {
      _ = try Book.objects(in: context)
      #expect(book.title == "Mine")
    }
    let conflict = SaveConflict(reason: .changed, objectID: book.objectID, keys: ["title"])
    #expect(throws: SaveError.conflict([conflict])) {
      try context.save()
    }
    context.refresh(book, mergeChanges: true)
    #expect(book.title == "Mine")
    try context.save()
    #expect(try (store.freshContext().existingObject(with: book.objectID) as? Book)?.title == "Mine")
  }

  @Test func ownSavesDisturbNothing() throws {
    let (context, author, book) = try fill()
    try context.perform { _ = try Book.objects(in: context) }
    book.title = "W"
    try context.save()
    try context.perform {
      _ = try Book.objects(in: context)
      #expect(!book.isFault && !author.isFault)
    }
  }

  @Test func aStoreInMemoryTellsItsOtherContextsToo() throws {
    let container = try PersistentContainer(scratchFor: LibraryModel.self)
    let first = container.newContext()
    let second = container.newContext()
    let tag = Tag(name: "a", in: first)
    try first.save()
    let same = try #require(try Tag.objects(in: second).first)
    tag.name = "b"
    try first.save()
    _ = try Author.objects(in: second)
    #expect(same.name == "b")
  }
}
