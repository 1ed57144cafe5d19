import Foundation
import Testing

@testable import CDRuntime

/// What is set of objects that no save writes: it is reported at once, and the next save throws.
@Suite struct LostChangeTests {
  private let store: TemporaryStore
  private let context: ManagedObjectContext
  private let author: Author
  private let book: Book

  init() throws {
    store = try TemporaryStore()
    let context = try store.freshContext()
    let author = Author(name: "A", in: context)
    book = Book(title: "B", isbn: "1", author: author, in: context)
    (self.context, self.author) = (context, author)
    try context.save()
  }

  private func lost(_ properties: [String], of object: ManagedObject) -> [LostChange] {
    properties.map { LostChange(entity: object.entity.name, property: $0, objectID: object.objectID) }
  }

  private func titles() throws -> [String] { try Book.objects(in: store.freshContext()).map(\.title) }

  @Test(arguments: [false, true]) func whatIsSetOfADeletedObjectIsLoud(_ isSaved: Bool) throws {
    context.delete(book)
    if isSaved { try context.save() }
    book.title = "new"
    book.title = "newer"
    book.addToTags(Tag(name: "t", in: context))
    book.author = author
    let reported = context.recentErrors.filter { $0.reason == .changeLost }
    #expect(reported.map(\.property) == ["title", "title", "tags", "author"])
    #expect(reported.allSatisfy { $0.objectID == book.objectID && $0.entity == "Book" })
    #expect(context.hasChanges)
    author.name = "kept"
    #expect(throws: SaveError.changesLost(lost(["title", "tags", "author"], of: book))) { try context.save() }
    // Once said, the rest is saved.
    try context.save()
    #expect(try Author.objects(in: store.freshContext()).map(\.name) == ["kept"])
    #expect(try titles().isEmpty)
  }

  @Test func aNewObjectThatHasBeenDeletedIsOneToo() throws {
    let other = Book(title: "O", isbn: "2", author: author, in: context)
    context.delete(other)
    other.title = "P"
    #expect(throws: SaveError.changesLost(lost(["title"], of: other))) { try context.save() }
    try context.save()
    #expect(try titles() == ["B"])
  }

  @Test func whatOthersHaveDeletedIsOneToo() throws {
    let other = try store.freshContext()
    let theirs = try #require(try Book.object(isbn: "1", in: other))
    context.delete(book)
    try context.save()
    other.refreshAllObjects()
    theirs.title = "late"
    #expect(other.recentErrors.map(\.reason).contains(.changeLost))
    #expect(throws: SaveError.changesLost(lost(["title"], of: theirs))) { try other.save() }
    try other.save()
    #expect(throws: PropertyError.self) { try theirs.setValue("later", forKey: "title") }
  }

  @Test func aDeletionThatIsTakenBackLosesNothing() throws {
    context.undoManager = ContextUndoManager()
    context.delete(book)
    book.title = "new"
    context.undoManager?.undo()
    #expect(!book.isDeleted)
    try context.save()
    context.delete(book)
    book.title = "newer"
    context.rollback()
    try context.save()
    #expect(try titles().count == 1)
  }

  @Test func aResetContextTellsOfItsFormerObjects() throws {
    context.reset()
    book.title = "new"
    book.author = author
    let errors = context.recentErrors
    #expect(errors.map(\.reason) == [.contextGone, .contextGone])
    #expect(errors.map(\.property) == ["title", "author"])
    #expect(throws: SaveError.changesLost(lost(["title", "author"], of: book))) { try context.save() }
    try context.save()
    #expect(try titles() == ["B"])
  }

  /// A deletion takes an object out of relationships, which is no change that anybody has lost.
  @Test func whatADeletionDoesItselfIsNone() throws {
    let tag = Tag(name: "t", in: context)
    book.addToTags(tag)
    book.sequel = Book(title: "S", isbn: "2", author: author, in: context)
    try context.save()
    context.undoManager = ContextUndoManager()
    context.delete(tag)
    context.delete(book)
    context.undoManager?.undo()
    context.undoManager?.redo()
    try context.save()
    #expect(context.recentErrors.isEmpty)
  }

  /// Hooks may set an object's own properties whatever becomes of it.
  @Test func whatHooksSetIsNone() throws {
    context.transactionAuthor = "hooks"
    let tag = Tag(name: "lower", in: context)
    try context.save()
    tag.name = "lower"
    context.delete(tag)
    try context.save()
    #expect(context.recentErrors.isEmpty)
  }

  @Test func aChildTellsOfItsOwn() throws {
    let child = ManagedObjectContext(parent: context)
    let copy = try #require(try Book.object(isbn: "1", in: child))
    child.delete(copy)
    copy.title = "late"
    #expect(child.recentErrors.map(\.reason).contains(.changeLost))
    #expect(throws: SaveError.changesLost(lost(["title"], of: copy))) { try child.save() }
    try child.save()
    try context.save()
    #expect(try titles().isEmpty)
    #expect(context.recentErrors.isEmpty)
  }
}
