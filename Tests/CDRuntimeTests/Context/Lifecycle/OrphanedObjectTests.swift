import Foundation
import Testing

@testable import CDRuntime

/// Objects whose context nobody holds any more: they stay readable and can be changed and saved, and nothing leaks.
@Suite struct OrphanedObjectTests {
  private let store: TemporaryStore

  init() throws {
    store = try TemporaryStore()
    let context = try store.freshContext()
    for (place, name) in ["A", "B"].enumerated() {
      let author = Author(name: name, in: context)
      for number in 1...3 {
        let book = Book(title: "\(name)\(number)", isbn: "\(place + 1)\(number)", author: author, in: context)
        book.addToReviews(Review(stars: Int16(number), in: context))
      }
    }
    try context.save()
  }

  /// A container that goes with the call.
  private func books() throws -> [Book] {
    let context = try store.container().newContext()
    return try Book.objects(in: context).sorted { $0.title < $1.title }
  }

  @Test func relationshipsAreReadAllTheSame() throws {
    let books = try books()
    #expect(books.map(\.author.name) == ["A", "A", "A", "B", "B", "B"])
    #expect(books.map(\.reviews.count) == [1, 1, 1, 1, 1, 1])
    #expect(books.allSatisfy { !$0.isInaccessible })
    let author = books[0].author
    #expect(author.name == "A" && !author.isInaccessible)
    // There is one instance a row.
    #expect(books[1].author === author)
    #expect(
      Set(try #require(author.managedObjectContext.map { try Book.objects(in: $0) })).isSuperset(of: books))
    #expect(author.managedObjectContext?.recentErrors == [])
  }

  @Test func faultsAreRead() throws {
    let author = try {
      let context = try store.container().newContext()
      return try #require(try Book.object(isbn: "11", in: context)).author
    }()
    #expect(author.isFault)
    #expect(author.name == "A")
  }

  @Test func changesAreSavedByWayOfTheObject() throws {
    let books = try books()
    books[0].title = "new"
    books[1].author = books[5].author
    let context = try #require(books[0].managedObjectContext)
    #expect(context.hasChanges && context.updatedObjects.count >= 2)
    #expect(books[1].managedObjectContext === context)
    try context.save()
    let fresh = try store.freshContext()
    #expect(try Book.object(isbn: "11", in: fresh)?.title == "new")
    #expect(try Book.object(isbn: "12", in: fresh)?.author.name == "B")
  }

  @Test func unsavedObjectsAreStillTheirs() throws {
    let (author, book) = try {
      let context = try store.container().newContext()
      let author = Author(name: "C", in: context)
      return (author, Book(title: "C1", isbn: "31", author: author, in: context))
    }()
    #expect(book.isInserted && book.author === author)
    book.title = "C2"
    try book.managedObjectContext?.save()
    #expect(!book.isInserted)
    #expect(try Book.object(isbn: "31", in: store.freshContext())?.title == "C2")
  }

  @Test func aDeletionAndARollbackWork() throws {
    let books = try books()
    let context = try #require(books[0].managedObjectContext)
    context.delete(books[0])
    #expect(books[0].isDeleted)
    context.rollback()
    #expect(!books[0].isDeleted && books[0].title == "A1")
  }

  @Test func whatOthersSaveIsLearntOf() throws {
    let books = try books()
    #expect(books[0].title == "A1")
    let other = try store.freshContext()
    try #require(try Book.object(isbn: "11", in: other)).title = "theirs"
    try #require(try Author.objects(in: other).first { $0.name == "B" }).name = "BB"
    try other.save()
    #expect(books[3].author.name == "BB")
    #expect(books[0].title == "theirs")
  }

  @Test func aConflictIsNoticedAsInAnyContext() throws {
    let books = try books()
    books[0].title = "mine"
    let other = try store.freshContext()
    try #require(try Book.object(isbn: "11", in: other)).title = "theirs"
    try other.save()
    #expect(throws: SaveError.self) { try books[0].managedObjectContext?.save() }
  }

  @Test func theSettingsAndTheErrorsStay() throws {
    let (book, errors) = try {
      let context = try store.container().newContext()
      context.mergePolicy = .mergeByPropertyObjectTrump
      context.transactionAuthor = "me"
      return (try #require(try Book.object(isbn: "11", in: context)), context.errors)
    }()
    let context = try #require(book.managedObjectContext)
    #expect(context.transactionAuthor == "me" && !context.mergePolicy.isError)
    context.delete(book)
    book.title = "late"
    #expect(context.recentErrors.map(\.reason) == [.changeLost])
    withExtendedLifetime(errors) {}
  }

  @Test func aChildsObjectsKeepTheirParent() throws {
    let book = try {
      let parent = try store.container().newContext()
      let child = ManagedObjectContext(parent: parent)
      return try #require(try Book.object(isbn: "11", in: child))
    }()
    #expect(book.author.name == "A")
    book.title = "child"
    let child = try #require(book.managedObjectContext)
    let parent = try #require(child.parent)
    try child.save()
    try parent.save()
    #expect(try Book.object(isbn: "11", in: store.freshContext())?.title == "child")
  }

  /// Nothing of an abandoned context stays, whatever its objects have read of each other and changed.
  @Test func nothingLeaks() throws {
    weak var context: ManagedObjectContext?
    weak var coordinator: PersistentStoreCoordinator?
    weak var revived: ManagedObjectContext?
    var objects: [WeakObject] = []
    do {
      var books: [Book] = []
      do {
        let container = try store.container()
        let own = container.newContext()
        own.undoManager = ContextUndoManager()
        (context, coordinator) = (own, container.persistentStoreCoordinator)
        books = try Book.objects(in: own)
        for book in books {
          book.title += "!"
          objects.append(WeakObject(book.author))
          objects += book.reviews.map(WeakObject.init) + book.author.publications.map(WeakObject.init)
        }
        _ = Author(name: "unsaved", in: own)
        own.delete(try #require(books.first))
      }
      #expect(context == nil && coordinator != nil)
      for book in books {
        objects.append(WeakObject(book))
        objects += book.reviews.map(WeakObject.init) + book.author.publications.map(WeakObject.init)
        book.title += "!"
      }
      revived = books[0].managedObjectContext
      #expect(revived == nil)
    }
    // Of any other kind the fixture has one coordinator, which it keeps.
    if StoreKind.ofEnvironment == .sqlite { #expect(coordinator == nil) }
    #expect(objects.allSatisfy { $0.object == nil })
  }

  /// Each object that is read makes no new context for all the others.
  @Test func manyObjectsAreReadInLinearTime() throws {
    let context = try store.freshContext()
    let author = try #require(try Author.objects(in: context).first)
    for number in 0..<3000 { _ = Book(title: "\(number)", isbn: "9\(number)", author: author, in: context) }
    try context.save()
    let books = try books()
    let names = Set(books.map(\.author.name))
    #expect(names == ["A", "B"])
    #expect(books.count == 3006)
  }
}
