import CDRuntime
import Foundation
import Testing

/// Contexts whose store is another context's memory.
@Suite struct ChildContextTests {
  private let store: TemporaryStore
  private let parent: ManagedObjectContext
  private let child: ManagedObjectContext
  private let author: Author
  private let book: Book

  init() throws {
    store = try TemporaryStore()
    parent = try store.freshContext()
    author = Author(name: "A", in: parent)
    book = Book(title: "T", isbn: "1", author: author, in: parent)
    try parent.save()
    child = ManagedObjectContext(parent: parent)
  }

  private func copy(_ isbn: String = "1", in context: ManagedObjectContext? = nil) throws -> Book {
    try #require(try Book.object(isbn: isbn, in: context ?? child))
  }

  @Test func aChildSeesItsParentsUnsavedChanges() throws {
    book.title = "unsaved"
    let other = Book(title: "new", isbn: "2", author: author, in: parent)
    let review = Review(stars: 5, in: parent)
    (other.reviews, other.sequel) = ([review], book)
    let gone = Book(title: "gone", isbn: "3", author: author, in: parent)
    parent.delete(gone)
    #expect(try Book.objects(in: child).map(\.title).sorted() == ["new", "unsaved"])
    #expect(try Book.fetch(where: \.title == "unsaved", in: child).map(\.isbn) == ["1"])
    #expect(
      try child.count(
        for: FetchRequest<Book>(
          where: FetchPredicate(.keyPath(["reviewCount"]), .equalTo, .constant(.int(1))))) == 1)
    let copy = try copy("2")
    #expect(copy.reviews.map(\.stars) == [5] && copy.sequel?.title == "unsaved")
    #expect(copy.objectID == other.objectID && copy !== other && !copy.isInserted && !child.hasChanges)
    #expect(try child.localInstance(of: author).publications.count == 2)
    #expect(throws: FetchError.self) { try child.existingObject(with: gone.objectID) }
  }

  @Test func changesStayWithTheChildUntilItIsSaved() throws {
    let copy = try copy()
    copy.title = "U"
    let made = Book(title: "new", isbn: "2", author: copy.author, in: child)
    made.reviews = [Review(stars: 1, in: child)]
    #expect(book.title == "T" && !parent.hasChanges)
    #expect(try Book.objects(in: parent).count == 1)
    #expect(try Book.fetch(where: \.title == "new", in: child) == [made])
    try child.save()
    #expect(book.title == "U" && book.isUpdated && !child.hasChanges && copy.changedValues.isEmpty)
    let given = try self.copy("2", in: parent)
    #expect(given.isInserted && given.reviews.map(\.stars) == [1] && given.author === author)
    #expect(given.objectID == made.objectID && !made.isInserted)
    #expect(try Book.objects(in: store.freshContext()).map(\.title) == ["T"])
    try parent.save()
    #expect(try Book.objects(in: store.freshContext()).map(\.title).sorted() == ["U", "new"])
    #expect(try self.copy("2", in: store.freshContext()).objectID == made.objectID)
  }

  @Test func whatIsDiscardedLeavesNoTrace() throws {
    do {
      let form = ManagedObjectContext(parent: parent)
      let copy = try copy(in: form)
      copy.title = "U"
      form.delete(copy.author)
      _ = Tag(name: "t", in: form)
    }
    let copy = try copy()
    copy.title = "V"
    child.delete(copy)
    child.rollback()
    #expect(copy.title == "T" && !copy.isDeleted && !child.hasChanges)
    #expect(book.title == "T" && !author.isDeleted && !parent.hasChanges)
  }

  @Test func deletionsFollowTheirRulesInTheParent() throws {
    book.reviews = [Review(stars: 1, in: parent)]
    try parent.save()
    let copy = try copy()
    // The child does not know of it.
    book.reviews.append(Review(stars: 2, in: parent))
    child.delete(copy)
    #expect(!book.isDeleted)
    try child.save()
    #expect(book.isDeleted && copy.isDeleted)
    #expect(try Review.objects(in: parent).isEmpty)
    try parent.save()
    #expect(try Book.objects(in: store.freshContext()).isEmpty)
  }

  @Test func aSaveValidatesAndGivesNothingWhereThatFails() throws {
    let draft = Book(in: child)
    draft.title = "draft"
    try copy().title = "U"
    #expect(throws: SaveError.self) { try child.save() }
    #expect(book.title == "T" && !parent.hasChanges && child.hasChanges)
    draft.isbn = "2"
    draft.author = try child.localInstance(of: author)
    try child.save()
    #expect(book.title == "U")
    try parent.save()
  }

  @Test func childrenNest() throws {
    let grandchild = ManagedObjectContext(parent: child)
    author.name = "B"
    try copy().title = "U"
    let copy = try copy(in: grandchild)
    #expect(copy.title == "U" && copy.author.name == "B" && grandchild.parent === child)
    copy.title = "V"
    _ = Book(title: "new", isbn: "2", author: copy.author, in: grandchild)
    try grandchild.save()
    #expect(book.title == "T")
    #expect(try self.copy().title == "V" && child.insertedObjects.count == 1)
    try child.save()
    #expect(book.title == "V" && author.publications.count == 2)
  }

  @Test func whatBothChangedIsAConflict() throws {
    let copy = try copy()
    (copy.title, copy.salesRank) = ("child", 1)
    (book.title, book.draft) = ("parent", true)
    #expect {
      try child.save()
    } throws: {
      guard case .conflict(let conflicts)? = $0 as? SaveError else { return false }
      return conflicts.map(\.objectID) == [book.objectID] && conflicts[0].keys.contains("title")
    }
    #expect(book.title == "parent" && book.salesRank == nil && copy.title == "child")
    child.mergePolicy = .mergeByPropertyStoreTrump
    try child.save()
    #expect(book.title == "parent" && book.salesRank == 1 && copy.title == "parent")
    copy.title = "again"
    book.title = "later"
    child.mergePolicy = .mergeByPropertyObjectTrump
    try child.save()
    #expect(book.title == "again")
  }

  @Test func whatOneSideChangedComesTogether() throws {
    let copy = try copy()
    copy.title = "child"
    book.salesRank = 7
    try child.save()
    #expect(book.title == "child" && book.salesRank == 7)
    child.refresh(copy, mergeChanges: false)
    #expect(copy.salesRank == 7)
  }

  // MARK: Drafts

  /// A new magazine of the parent, which has no issue yet.
  private func magazine() throws -> Magazine {
    let magazine = try #require(try parent.insert(entityNamed: "Magazine") as? Magazine)
    (magazine.title, magazine.author) = ("M", author)
    return magazine
  }

  /// The class holds this value before it is set too.
  @Test(arguments: [true, false])
  func anEmptyValueThatTheParentsDraftLacksIsAChange(isGrandchild: Bool) throws {
    let magazine = try magazine()
    let context = isGrandchild ? ManagedObjectContext(parent: child) : child
    let copy = try context.localInstance(of: magazine)
    copy.issue = 0
    #expect(context.hasChanges && context.updatedObjects == [copy])
    // A fetch forgets changes that have the former value again. This one is not among them.
    #expect(try Magazine.objects(in: context) == [copy] && context.hasChanges)
    try context.save()
    if isGrandchild { try child.save() }
    #expect(!context.hasChanges)
    try parent.save()
    #expect(try Magazine.objects(in: store.freshContext()).map(\.issue) == [0])
    copy.issue = 1
    copy.issue = 0
    #expect(!context.hasChanges)
  }

  @Test(arguments: [0, 1]) func anUndoTakesBackWhatTheParentsDraftLacks(issue: Int) throws {
    let copy = try child.localInstance(of: magazine())
    child.undoManager = ContextUndoManager()
    copy.issue = numericCast(issue)
    child.undo()
    #expect(copy.issue == 0 && !child.hasChanges)
    try child.save()
    #expect(throws: SaveError.self) { try parent.save() }
  }

  @Test func whatBothGaveToTheParentsDraftIsAConflict() throws {
    let magazine = try magazine()
    try child.localInstance(of: magazine).issue = 0
    magazine.issue = 1
    #expect(throws: SaveError.self) { try child.save() }
    #expect(magazine.issue == 1)
    child.mergePolicy = .mergeByPropertyObjectTrump
    try child.save()
    #expect(magazine.issue == 0)
  }

  // MARK: Conflicts

  @Test func whatTheParentHasDeletedIsAConflict() throws {
    let copy = try copy()
    copy.title = "child"
    parent.delete(book)
    #expect(throws: SaveError.self) { try child.save() }
    child.mergePolicy = .mergeByPropertyObjectTrump
    try child.save()
    #expect(!book.isDeleted && book.title == "child" && book.author === author)
    copy.title = "other"
    parent.delete(book)
    child.mergePolicy = .mergeByPropertyStoreTrump
    try child.save()
    #expect(book.isDeleted && copy.isDeleted && !child.hasChanges)
  }

  @Test func refreshesReadTheParent() throws {
    let copy = try copy()
    book.title = "U"
    child.refresh(copy, mergeChanges: false)
    #expect(copy.title == "U")
    parent.rollback()
    #expect(copy.title == "T")
    copy.title = "mine"
    book.salesRank = 3
    child.refresh(copy, mergeChanges: true)
    #expect(copy.title == "mine" && copy.salesRank == 3)
  }

  @Test func savesOfOthersAreSeen() throws {
    let copy = try copy()
    let other = try store.freshContext()
    try self.copy(in: other).title = "theirs"
    try other.save()
    #expect(try Book.objects(in: child) == [copy] && copy.title == "theirs")
  }

  @Test func theParentUndoesASaveAsOneGroup() throws {
    let undoManager = ContextUndoManager()
    parent.undoManager = undoManager
    let copy = try copy()
    copy.title = "U"
    copy.reviews = [Review(stars: 1, in: child), Review(stars: 2, in: child)]
    try child.save()
    #expect(book.reviews.map(\.stars) == [1, 2])
    parent.undo()
    #expect(book.title == "T" && book.reviews.isEmpty && !parent.hasChanges && !undoManager.canUndo)
    #expect(copy.title == "T" && copy.reviews.isEmpty)
    parent.redo()
    #expect(book.title == "U" && copy.reviews.map(\.stars) == [1, 2])
  }

  @Test func aChildHasAnUndoOfItsOwn() throws {
    child.undoManager = ContextUndoManager()
    let copy = try copy()
    let tag = Tag(name: "t", in: child)
    copy.tags = [tag]
    try child.save()
    #expect(book.tags.map(\.name) == ["t"])
    child.undo()
    #expect(copy.tags.isEmpty && tag.isDeleted && book.tags.count == 1)
    try child.save()
    #expect(book.tags.isEmpty)
    child.redo()
    try child.save()
    #expect(book.tags.map(\.name) == ["t"] && book.tags[0].objectID == tag.objectID)
    try parent.save()
    #expect(try self.copy(in: store.freshContext()).tags.map(\.name) == ["t"])
  }

  @Test func fetchesOfAllKindsCountBothContextsChanges() throws {
    for number in 2...6 { _ = Book(title: "p\(number)", isbn: "\(number)", author: author, in: parent) }
    let copy = try copy()
    copy.title = "p0"
    child.delete(try self.copy("6"))
    _ = Book(title: "p9", isbn: "9", author: copy.author, in: child)
    var request = FetchRequest<Book>()
    request.sortKeys = [SortKey("title")]
    #expect(try child.fetch(request).map(\.title) == ["p0", "p2", "p3", "p4", "p5", "p9"])
    #expect(try child.count(for: request) == 6 && parent.count(for: request) == 6)
    (request.limit, request.offset) = (2, 4)
    #expect(try child.fetch(request).map(\.title) == ["p5", "p9"])
    #expect(try child.objectIDs(for: request).count == 2)
    #expect(try child.lazyFetch(request).map { $0.title } == ["p5", "p9"])
    request.propertiesToFetch = ["title"]
    #expect(
      try child.dictionaries(for: request) == [
        ["title": .attribute(.string("p5"))], ["title": .attribute(.string("p9"))],
      ])
    request.includesPendingChanges = false
    (request.limit, request.offset) = (nil, 0)
    #expect(try child.fetch(request).count == 1)
    request = FetchRequest(
      where: FetchPredicate(.keyPath(["author", "name"]), .equalTo, .constant(.string("A"))))
    request.prefetch = ["author", "reviews"]
    #expect(try child.fetch(request).count == 6)
    copy.author.name = "B"
    #expect(try child.fetch(request).isEmpty)
  }

  /// The condition has no result for the parent's value, which the child has changed or deleted.
  @Test(arguments: [false, true], [false, true])
  func valuesThatTheChildHasReplacedFailNoFetch(isDeleted: Bool, isUnsaved: Bool) throws {
    let container = try PersistentContainer(scratchOf: [
      EntityDescription(
        name: "Item", attributes: [AttributeDescription(name: "number", type: .int64)])
    ])
    let parent = container.newContext()
    let item = try parent.insert(entityNamed: "Item")
    try item.setValue(0, forKey: "number")
    if !isUnsaved { try parent.save() }
    let child = ManagedObjectContext(parent: parent)
    let copy = try child.localInstance(of: item)
    if isDeleted { child.delete(copy) } else { try copy.setValue(2, forKey: "number") }
    let request = FetchRequest<ManagedObject>(
      entityName: "Item", where: try FetchPredicate(format: "10 / number == 5"))
    #expect(throws: FetchError.self) { try parent.fetch(request) }
    #expect(try child.fetch(request) == (isDeleted ? [] : [copy]))
    #expect(try child.count(for: request) == (isDeleted ? 0 : 1))
    let grandchild = ManagedObjectContext(parent: child)
    #expect(try grandchild.fetch(request).map(\.objectID) == (isDeleted ? [] : [copy.objectID]))
    // A value that the child has not changed counts.
    try child.insert(entityNamed: "Item").setValue(5, forKey: "number")
    try parent.insert(entityNamed: "Item").setValue(0, forKey: "number")
    #expect(throws: FetchError.self) { try child.fetch(request) }
  }

  @Test func derivedValuesCountTheParentsUnsavedChanges() throws {
    book.reviews = [Review(stars: 5, in: parent)]
    let sum = AggregateRequest<Book>([.sum(of: "reviewCount", as: "n")])
    #expect(try child.aggregates(for: sum) == [["n": .attribute(.int(1))]])
    book.reviews.append(Review(stars: 4, in: parent))
    var groups = AggregateRequest<Book>([.count(as: "n")])
    groups.groupBy = ["reviewCount"]
    #expect(
      try child.aggregates(for: groups) == [
        ["reviewCount": .attribute(.int(2)), "n": .attribute(.int(1))]
      ])
    book.reviews.append(Review(stars: 3, in: parent))
    var request = FetchRequest<Book>()
    request.propertiesToFetch = ["title", "reviewCount"]
    let grandchild = ManagedObjectContext(parent: child)
    let expected: [[String: FetchedValue]] = [
      ["title": .attribute(.string("T")), "reviewCount": .attribute(.int(3))]
    ]
    #expect(try grandchild.dictionaries(for: request) == expected)
    #expect(try child.dictionaries(for: request) == expected)
    // A change of its own makes the child evaluate what it has.
    book.reviews.append(Review(stars: 2, in: parent))
    _ = Tag(name: "t", in: child)
    #expect(try child.aggregates(for: sum) == [["n": .attribute(.int(4))]])
  }

  @MainActor @Test func aTurnEndsTheEventsOfChildrenToo() async throws {
    let container = try store.container()
    let child = ManagedObjectContext(parent: container.viewContext)
    child.undoManager = ContextUndoManager()
    let author = try #require(try Author.objects(in: child).first)
    author.name = "B"
    for _ in 0..<20 { await Task.yield() }
    author.name = "C"
    child.undo()
    #expect(author.name == "B")
  }
}
