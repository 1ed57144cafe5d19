import CDRuntime
import Foundation
import Testing

/// Taking changes back, and making them again.
@Suite struct UndoTests {
  private let store: TemporaryStore
  private let context: ManagedObjectContext
  private let undoManager = ContextUndoManager()
  private let author: Author
  private let book: Book

  init() throws {
    store = try TemporaryStore()
    context = try store.freshContext()
    author = Author(name: "A", in: context)
    book = Book(title: "T", isbn: "1", author: author, in: context)
    try context.save()
    context.undoManager = undoManager
  }

  private func group(_ body: () throws -> Void) rethrows {
    undoManager.beginUndoGrouping()
    try body()
    undoManager.endUndoGrouping()
  }

  @Test func withoutAnUndoManagerNothingIsUndone() {
    context.undoManager = nil
    book.title = "U"
    context.undo()
    #expect(book.title == "U" && !undoManager.canUndo && undoManager.context == nil)
  }

  @Test func attributesAreUndoneAndRedone() throws {
    group { (book.title, book.salesRank, book.draft, book.shippedTo) = ("U", 3, true, Address(street: "S")) }
    group { book.title = "V" }
    context.undo()
    #expect(book.title == "U" && book.salesRank == 3)
    context.undo()
    #expect(book.title == "T" && book.salesRank == nil && !book.draft && book.shippedTo == nil)
    #expect(!context.hasChanges && book.changedValues.isEmpty && !undoManager.canUndo)
    context.redo()
    context.redo()
    #expect(book.title == "V" && book.salesRank == 3 && book.draft && book.shippedTo?.street == "S")
    #expect(!undoManager.canRedo)
    context.undo()
    book.title = "W"
    #expect(!undoManager.canRedo)
  }

  @Test func anAttributeThatAnUndoTakesFromADraftIsMissingAgain() throws {
    let draft = Book(in: context)
    (draft.isbn, draft.author) = ("2", author)
    undoManager.endEvent()
    group { draft.title = "U" }
    context.undo()
    let error = #expect(throws: SaveError.self) { try context.save() }
    guard case .validation(let errors) = error else {
      Issue.record("It is \(String(describing: error)).")
      return
    }
    #expect(errors.map(\.reason) == [.missingValue] && errors.map(\.property) == ["title"])
    context.redo()
    try context.save()
    #expect(draft.title == "U")
  }

  @Test func anInsertionIsUndoneWithWhatItWasRelatedTo() throws {
    var tag: Tag?
    group {
      tag = Tag(name: "t", in: context)
      book.tags = [tag].compactMap { $0 }
    }
    let made = try #require(tag)
    let id = made.objectID
    context.undo()
    #expect(book.tags.isEmpty && made.isDeleted && !context.hasChanges)
    #expect(try Tag.objects(in: context).isEmpty)
    context.redo()
    #expect(book.tags == [made] && made.books == [book] && made.name == "t" && made.objectID == id)
    #expect(try Tag.objects(in: context) == [made])
    try context.save()
    #expect(try Tag.objects(in: store.freshContext()).map { $0.books.map(\.isbn) } == [["1"]])
    context.undo()
    #expect(made.isDeleted && book.tags.isEmpty)
    try context.save()
    #expect(try Tag.objects(in: store.freshContext()).isEmpty)
    context.redo()
    try context.save()
    let read = try #require(try Tag.objects(in: store.freshContext()).first)
    #expect(read.objectID.uriRepresentation == id.uriRepresentation && read.books.map(\.isbn) == ["1"])
  }

  @Test func aDeletionIsUndoneWithAllThatItsRulesDid() throws {
    let reviews = (1...3).map { Review(stars: Int16($0), in: context) }
    book.reviews = [reviews[1], reviews[0], reviews[2]]
    let tag = Tag(name: "t", in: context)
    let sequel = Book(title: "S", isbn: "2", author: author, in: context)
    (book.tags, book.sequel) = ([tag], sequel)
    let shelf = Shelf(in: context)
    (shelf.favourite, shelf.books) = (book, [sequel, book])
    try context.save()
    for isSaving in [false, true] {
      group { context.delete(book) }
      #expect(reviews.allSatisfy(\.isDeleted) && tag.books.isEmpty && sequel.prequel == nil)
      if isSaving { try context.save() }
      context.undo()
      func expectAll(_ author: Author, _ book: Book) throws {
        #expect(!book.isDeleted && book.author === author && book.reviews.map(\.stars) == [2, 1, 3])
        #expect(book.tags.map(\.name) == ["t"] && book.tags.first?.books == [book])
        #expect(
          book.sequel?.isbn == "2" && book.sequel?.prequel === book && author.publications.contains(book))
        let context = try #require(book.managedObjectContext)
        let shelf = try #require(try Shelf.objects(in: context).first)
        #expect(shelf.favourite === book && shelf.books.map(\.isbn) == ["2", "1"])
      }
      try expectAll(author, book)
      if isSaving { try context.save() } else { #expect(!context.hasChanges) }
      let read = try store.freshContext()
      let copy = try #require(try Book.object(isbn: "1", in: read))
      try expectAll(copy.author, copy)
      #expect(copy.objectID.uriRepresentation == book.objectID.uriRepresentation)
    }
    #expect(try store.container().persistentStoreCoordinator.verify() == [])
    context.redo()
    try context.save()
    #expect(try Review.objects(in: store.freshContext()).isEmpty)
  }

  @Test func ordersAreUndone() throws {
    let reviews = (1...4).map { Review(stars: Int16($0), in: context) }
    group { book.reviews = reviews }
    try context.save()
    group { book.reviews = reviews.reversed() }
    group { book.removeFromReviews(reviews[2]) }
    context.undo()
    #expect(book.reviews.map(\.stars) == [4, 3, 2, 1])
    context.undo()
    #expect(book.reviews.map(\.stars) == [1, 2, 3, 4])
    try context.save()
    let read = try #require(try Book.object(isbn: "1", in: store.freshContext()))
    #expect(read.reviews.map(\.stars) == [1, 2, 3, 4])
  }

  @Test func derivedAttributesFollow() throws {
    group { book.reviews = [Review(stars: 1, in: context)] }
    try context.save()
    #expect(book.reviewCount == 1)
    context.undo()
    #expect(book.reviewCount == 0)
    context.redo()
    #expect(book.reviewCount == 1)
  }

  @Test func anUndoAfterASaveIsAChangeThatCanBeSaved() throws {
    group { book.title = "U" }
    try context.save()
    context.undo()
    #expect(book.title == "T" && context.hasChanges)
    try context.save()
    #expect(try Book.objects(in: store.freshContext()).map(\.title) == ["T"])
  }

  @Test func whatOthersAddStays() throws {
    let (one, two) = (Tag(name: "one", in: context), Tag(name: "two", in: context))
    try context.save()
    group { book.tags = [one] }
    try context.save()
    let other = try store.freshContext()
    let theirTag = try #require(try Tag.objects(in: other).first { $0.name == "two" })
    let theirBook = try #require(try Book.object(isbn: "1", in: other))
    theirBook.addToTags(theirTag)
    try other.save()
    context.refreshAllObjects()
    context.undo()
    #expect(book.tags == [two])
    try context.save()
    #expect(try Book.objects(in: store.freshContext()).map { $0.tags.map(\.name) } == [["two"]])
  }

  @Test func changesOfAnEventMakeOneGroup() throws {
    context.perform {
      book.title = "U"
      author.name = "B"
    }
    context.perform { book.title = "V" }
    author.name = "C"
    try context.save()
    author.name = "D"
    context.undo()
    #expect(author.name == "C" && book.title == "V")
    context.undo()
    #expect(author.name == "B" && book.title == "V")
    context.undo()
    #expect(book.title == "U")
    context.undo()
    #expect(book.title == "T" && author.name == "A" && !undoManager.canUndo)
  }

  @MainActor @Test func aTurnOfTheMainActorIsAnEvent() async throws {
    let container = try store.container()
    let context = container.viewContext
    let undoManager = ContextUndoManager()
    context.undoManager = undoManager
    let author = try #require(try Author.objects(in: context).first)
    author.name = "B"
    for _ in 0..<20 { await Task.yield() }
    author.name = "C"
    for _ in 0..<20 { await Task.yield() }
    context.undo()
    #expect(author.name == "B")
  }

  @Test func groupsNestAndHaveNames() {
    undoManager.groupsByEvent = false
    book.title = "unnoted"
    #expect(!undoManager.canUndo)
    undoManager.beginUndoGrouping()
    book.title = "U"
    undoManager.beginUndoGrouping()
    author.name = "B"
    undoManager.endUndoGrouping()
    undoManager.setActionName("Rename")
    #expect(undoManager.groupingLevel == 1 && undoManager.undoActionName == "Rename")
    undoManager.endUndoGrouping()
    undoManager.endUndoGrouping()
    context.undo()
    #expect(book.title == "unnoted" && author.name == "A" && undoManager.redoActionName == "Rename")
    context.redo()
    #expect(book.title == "U" && undoManager.undoActionName == "Rename")
  }

  @Test func aGroupIsNamedBeforeItsFirstChange() {
    group {
      undoManager.setActionName("Rename")
      book.title = "U"
    }
    // A group without changes leaves no name behind: neither to the former group nor to the next one.
    group { undoManager.setActionName("Nothing") }
    #expect(undoManager.undoActionName == "Rename")
    undoManager.beginUndoGrouping()
    group { undoManager.setActionName("Inner") }
    undoManager.setActionName("Outer")
    undoManager.endUndoGrouping()
    #expect(undoManager.undoActionName == "Rename")
    author.name = "B"
    undoManager.endEvent()
    #expect(undoManager.undoActionName == "")
    undoManager.setActionName("Later")
    #expect(undoManager.undoActionName == "Later")
    context.undo()
    #expect(undoManager.undoActionName == "Rename" && undoManager.redoActionName == "Later")
    // Neither an undo nor a rollback in the group lets the name come back.
    undoManager.beginUndoGrouping()
    undoManager.setActionName("Undone")
    context.undo()
    book.title = "V"
    undoManager.endEvent()
    #expect(undoManager.undoActionName == "")
    undoManager.beginUndoGrouping()
    undoManager.setActionName("Rolled back")
    context.rollback()
    book.title = "W"
    undoManager.endEvent()
    #expect(undoManager.undoActionName == "")
  }

  @Test func registrationCanBeDisabled() {
    undoManager.disableUndoRegistration()
    book.title = "U"
    undoManager.enableUndoRegistration()
    #expect(!undoManager.canUndo && undoManager.isUndoRegistrationEnabled)
    author.name = "B"
    context.undo()
    #expect(book.title == "U" && author.name == "A")
  }

  @Test func levelsBoundWhatIsKept() {
    undoManager.levelsOfUndo = 3
    weak var oldest: Tag?
    group {
      let tag = Tag(name: "t", in: context)
      oldest = tag
      context.delete(tag)
    }
    for number in 1...5 { group { book.title = "\(number)" } }
    var count = 0
    while undoManager.canUndo {
      context.undo()
      count += 1
    }
    #expect(count == 3 && book.title == "2")
    undoManager.removeAllActions()
    context.rollback()
    #expect(!undoManager.canRedo && oldest == nil)
  }

  @Test func aRollbackForgetsAllActions() {
    group { book.title = "U" }
    context.rollback()
    #expect(!undoManager.canUndo && book.title == "T")
  }
}
