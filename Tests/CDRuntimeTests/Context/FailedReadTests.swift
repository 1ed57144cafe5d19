import Foundation
import Testing

@testable import CDRuntime

/// The store cannot be read for a moment. Nothing is taken for gone afterwards, and what could not be done is said.
@Suite(.onceForAllKinds) struct FailedReadTests {
  private let container: PersistentContainer
  private let context: ManagedObjectContext
  private let other: ManagedObjectContext

  init() throws {
    container = try PersistentContainer(scratchFor: LibraryModel.self, ScratchStore(.memory))
    context = container.newContext()
    other = container.newContext()
  }

  /// Runs a body while no context can read: a store in memory refuses reads during the thread's own write.
  private func withoutReads(_ body: @escaping () -> Void) throws {
    var isDone = false
    let rows = (0..<1).lazy.map { _ -> [String: FetchedValue] in
      if !isDone {
        isDone = true
        body()
      }
      return ["label": .value("of the batch")]
    }
    try other.execute(BatchInsertRequest<ManagedObject>(entityName: "Shelf", rows: rows))
    #expect(isDone)
  }

  private var failedReads: Int {
    context.recentErrors.count { if case .readFailed = $0.reason { true } else { false } }
  }

  private func savedTag() throws -> Tag {
    let tag = Tag(name: "a", in: context)
    try context.save()
    context.refreshAllObjects()
    #expect(tag.isFault)
    return tag
  }

  @Test func aFetchFindsTheObjectAgain() throws {
    let tag = try savedTag()
    try withoutReads { _ = tag.name }
    #expect(tag.isInaccessible && failedReads == 1)
    #expect(try Tag.objects(in: context) == [tag])
    #expect(!tag.isInaccessible && tag.name == "a")
    context.delete(tag)
    try context.save()
    #expect(try Tag.objects(in: container.newContext()).isEmpty)
  }

  /// The history was purged of all older saves, so that the context cannot know whether the row has changed.
  @Test func theObjectIsReadAgainAfterAPurge() throws {
    let tag = try savedTag()
    try withoutReads { _ = tag.name }
    #expect(tag.isInaccessible)
    let second = Tag(name: "b", in: other)
    try other.save()
    try container.persistentStoreCoordinator.purgeHistory(before: .distantFuture)
    #expect(try context.count(for: FetchRequest<ManagedObject>(entityName: "Shelf")) == 1)
    #expect(tag.name == "a" && !tag.isInaccessible)
    #expect(second.name == "b")
  }

  @Test func itsIdentifierFindsTheObjectAgain() throws {
    let tag = try savedTag()
    try withoutReads { _ = tag.name }
    #expect(tag.isInaccessible)
    #expect(try context.existingObject(with: tag.objectID) === tag)
    #expect(!tag.isInaccessible && tag.name == "a")
  }

  /// Nothing says that its row is gone.
  @Test(arguments: [false, true]) func aRefreshThatCannotReadKeepsTheObject(isRolledBack: Bool) throws {
    let tag = Tag(name: "a", in: context)
    try context.save()
    tag.name = "b"
    try withoutReads { [context] in context.refresh(tag, mergeChanges: true) }
    #expect(tag.name == "b" && !tag.isInaccessible && failedReads == 1)
    if isRolledBack { context.rollback() } else { try context.save() }
    #expect(tag.name == (isRolledBack ? "a" : "b") && !tag.isInaccessible)
    #expect(try Tag.objects(in: container.newContext()).map(\.name) == [tag.name])
    #expect(try Tag.objects(in: context) == [tag])
  }

  @Test func aDeletionThatCannotBeMadeIsAnErrorOfTheSave() throws {
    let tag = try savedTag()
    try withoutReads { [context] in context.delete(tag) }
    #expect(!tag.isDeleted && tag.isFault && failedReads == 1)
    #expect(context.hasChanges)
    #expect(throws: StoreError.self) { try context.save() }
    #expect(!context.hasChanges)
    context.delete(tag)
    try context.save()
    #expect(try Tag.objects(in: container.newContext()).isEmpty)
  }

  @Test func aDeletionAfterAFailedReadLooksForTheRowAgain() throws {
    let tag = try savedTag()
    try withoutReads { _ = tag.name }
    #expect(tag.isInaccessible)
    context.delete(tag)
    try context.save()
    #expect(try Tag.objects(in: container.newContext()).isEmpty)
  }

  @Test func theDeletionOfWhatIsGoneDoesNothing() throws {
    let tag = try savedTag()
    let theirs = try other.existingObject(with: tag.objectID)
    other.delete(theirs)
    try other.save()
    context.delete(tag)
    #expect(tag.isInaccessible && !context.hasChanges)
    try context.save()
  }

  @Test func aDeletionThatCannotCascadeIsNone() throws {
    let book = Book(title: "B", isbn: "1", author: Author(name: "A", in: context), in: context)
    let review = Review(stars: 3, in: context)
    book.reviews = [review]
    try context.save()
    context.refreshAllObjects()
    #expect(book.title == "B")
    try withoutReads { [context] in context.delete(book) }
    #expect(!book.isDeleted)
    #expect(throws: StoreError.self) { try context.save() }
    context.delete(book)
    #expect(review.isDeleted)
    try context.save()
  }

  @Test func aReplacementThatCannotBeMadeIsAnErrorOfTheSave() throws {
    let author = Author(name: "A", in: context)
    let tag = Tag(name: "a", in: context)
    let books = ["1", "2"].map { Book(title: $0, isbn: $0, author: author, in: context) }
    tag.books = books
    books[1].prequel = books[0]
    try context.save()
    context.refreshAllObjects()
    #expect(tag.name == "a" && books.map(\.title) == ["1", "2"])
    try withoutReads { tag.books = [books[1]] }
    #expect(throws: StoreError.self) { try context.save() }
    #expect(tag.books == books)
    try withoutReads { books[0].sequel = nil }
    #expect(throws: StoreError.self) { try context.save() }
    #expect(books[0].sequel == books[1])
    tag.books = [books[1]]
    books[0].sequel = nil
    try context.save()
    let fresh = container.newContext()
    #expect(try Tag.objects(in: fresh).map { $0.books.map(\.title) } == [["2"]])
    #expect(try Book.objects(in: fresh).allSatisfy { $0.prequel == nil })
  }

  // MARK: Order

  /// A store with the books "Ann" and "Zoe", whose authors have the same names.
  private func books() throws -> (container: PersistentContainer, engine: UnreadableEngine) {
    let (container, engine) = UnreadableEngine.container(
      of: try PersistentContainer(scratchFor: LibraryModel.self, ScratchStore(.memory))
        .persistentStoreCoordinator)
    let context = container.newContext()
    for (name, isbn) in [("Ann", "1"), ("Zoe", "2")] {
      _ = Book(title: name, isbn: isbn, author: Author(name: name, in: context), in: context)
    }
    try context.save()
    return (container, engine)
  }

  /// A book whose author could not be read would be the last one.
  @Test(arguments: 1...12) func noAuthorIsMissedInSilenceByAnOrder(failingRead: Int) throws {
    let (container, engine) = try books()
    let context = container.newContext()
    // An unsaved author makes the evaluator sort.
    _ = Author(name: "M", in: context)
    var request = FetchRequest<Book>()
    request.sortKeys = [SortKey("author.name", ascending: false)]
    request.limit = 1
    engine.failRead(failingRead)
    let found = try? context.fetch(request)
    engine.failRead(0)
    if let found { #expect(found.map(\.title) == ["Zoe"]) }
    #expect(try context.fetch(request).map(\.title) == ["Zoe"])
  }

  /// The evaluator reads the changed book's author, and the store sorts the other book.
  @Test(arguments: 1...12) func noAuthorOfAChangedBookIsMissedInSilence(failingRead: Int) throws {
    let (container, engine) = try books()
    let context = container.newContext()
    let zoes = try #require(try Book.object(isbn: "2", in: context))
    zoes.salesRank = 1
    var request = FetchRequest<Book>()
    request.sortKeys = [SortKey("author.name", ascending: false)]
    request.limit = 1
    engine.failRead(failingRead)
    let found = try? context.objectIDs(for: request)
    engine.failRead(0)
    if let found { #expect(found == [zoes.objectID]) }
    #expect(try context.objectIDs(for: request) == [zoes.objectID])
  }

  /// A book whose author could not be read would be in a section without a name.
  @Test(arguments: 1...12) func noAuthorIsMissedInSilenceByASection(failingRead: Int) throws {
    let (container, engine) = try books()
    let context = container.newContext()
    func controller() throws -> FetchedResultsController<Book> {
      try FetchedResultsController(FetchRequest<Book>(), sectionKeyPath: "author.name", in: context)
    }
    let names: [FetchedValue] = [.attribute(.string("Ann")), .attribute(.string("Zoe"))]
    engine.failRead(failingRead)
    let first = try? controller()
    engine.failRead(0)
    if let first { #expect(first.sections.map(\.value) == names) }
    let results = try controller()
    #expect(results.sections.map(\.value) == names)
    // An update that fails leaves the results as they are.
    context.refreshAllObjects()
    engine.failRead(failingRead)
    _ = try? results.update()
    engine.failRead(0)
    #expect(results.sections.map(\.value) == names)
  }

  // MARK: Evaluation

  /// The getter has reported the failure, and given an empty author. An evaluation must not take that for the stored one.
  @Test func anEvaluationReadsARelatedObjectAgain() throws {
    _ = Book(title: "a", isbn: "1", author: Author(name: "Ann", in: other), in: other)
    try other.save()
    let book = try #require(try Book.objects(in: context).first)
    let author = book.author
    context.refreshAllObjects()
    #expect(author.isFault)
    try withoutReads { _ = author.name }
    #expect(author.isInaccessible && failedReads == 1)
    // An unsaved author makes the evaluator decide.
    _ = Author(name: "Ben", in: context)
    #expect(try Book.count(where: \.author.name == "Ann", in: context) == 1)
    #expect(!author.isInaccessible)
  }

  @Test func anEvaluationReadsItsObjectAgain() throws {
    let tag = try savedTag()
    let theirs = try #require(try other.existingObject(with: tag.objectID) as? Tag)
    theirs.name = "b"
    try other.save()
    try withoutReads { _ = tag.name }
    #expect(tag.isInaccessible)
    let predicate = try FetchPredicate(format: "name == 'b'")
    #expect(try PredicateEvaluator().matches(predicate, tag))
  }

  /// The store still cannot be read, so the evaluation has no result.
  @Test func anEvaluationThatCannotReadItsObjectFails() throws {
    let tag = try savedTag()
    let predicate = try FetchPredicate(format: "name == 'b'")
    try withoutReads {
      _ = tag.name
      #expect(throws: EvaluationError.self) { try PredicateEvaluator().matches(predicate, tag) }
    }
  }

  /// A book without a row, whose author and tag have rows that a getter could not read. The book has changed both of them.
  private func bookOfUnreadObjects() throws -> Book {
    let author = Author(name: "Ann", in: context)
    let tag = try savedTag()
    let book = Book(title: "B", isbn: "1", author: author, in: context)
    book.tags = [tag]
    #expect(author.isFault && author.isPending && tag.isFault && tag.isPending)
    try withoutReads { _ = (author.name, tag.name) }
    #expect(author.isInaccessible && tag.isInaccessible && failedReads == 2)
    return book
  }

  /// To read it again could replace its changes.
  @Test func aFetchDoesNotDecideWithoutTheValuesOfAnObjectWithChanges() throws {
    let book = try bookOfUnreadObjects()
    let condition = try FetchPredicate(format: "ANY tags.name == 'a'")
    #expect(throws: FetchError.self) { try Tag.count(where: \.name == "a", in: context) }
    #expect(throws: FetchError.self) { try Book.count(where: \.author.name == "Ann", in: context) }
    #expect(throws: FetchError.self) { try context.count(for: FetchRequest<Book>(where: condition)) }
    context.refresh(book.tags[0], mergeChanges: true)
    #expect(try Tag.count(where: \.name == "a", in: context) == 1)
    #expect(try context.count(for: FetchRequest<Book>(where: condition)) == 1)
  }

  @Test func theFetchOfAChildDoesNotDecideWithoutTheValuesOfItsParent() throws {
    let author = try bookOfUnreadObjects().author
    let child = ManagedObjectContext(parent: context)
    // An unsaved author makes the evaluator decide.
    _ = Author(name: "Ben", in: child)
    #expect(throws: FetchError.self) { try Book.count(where: \.author.name == "Ann", in: child) }
    context.refresh(author, mergeChanges: true)
    #expect(try Book.count(where: \.author.name == "Ann", in: child) == 1)
  }

  /// Nothing more can be read of it.
  @Test func aFetchDecidesWithTheLastValuesOfAnObjectThatIsGone() throws {
    let tag = try bookOfUnreadObjects().tags[0]
    other.delete(try other.existingObject(with: tag.objectID))
    try other.save()
    #expect(try Tag.count(where: \.name == "b", in: context) == 0)
  }

  // MARK: Derived attributes

  /// Another context has given a changed object to another owner, and one of the reads that follow this fails.
  @Test(arguments: 1...8) func noNewOwnerIsMissedInSilence(failingRead: Int) throws {
    let (container, engine) = UnreadableEngine.container(
      of: try PersistentContainer(
        scratchOf: [
          EntityDescription(
            name: "Shop", attributes: [try .derived("sales", .int64, "orders.@sum.amount")],
            relationships: [
              RelationshipDescription(name: "orders", destination: "Order", isToMany: true, inverse: "shop")
            ]),
          EntityDescription(
            name: "Order", attributes: [AttributeDescription(name: "amount", type: .int64)],
            relationships: [RelationshipDescription(name: "shop", destination: "Shop", inverse: "orders")]),
        ], ScratchStore(.memory)
      ).persistentStoreCoordinator)
    let (context, other) = (container.newContext(), container.newContext())
    let (first, second) = (try other.insert(entityNamed: "Shop"), try other.insert(entityNamed: "Shop"))
    let order = try other.insert(entityNamed: "Order")
    try order.setValue(1, forKey: "amount")
    try order.setValue(first, forKey: "shop")
    try other.save()
    try context.existingObject(with: order.objectID).setValue(5, forKey: "amount")
    try order.setValue(second, forKey: "shop")
    try other.save()
    let predicate = try FetchPredicate(format: "sales == 5")
    engine.failRead(failingRead)
    do {
      let found = try context.fetch(FetchRequest<ManagedObject>(entityName: "Shop", where: predicate))
      let isReported = context.recentErrors.contains { error in
        if case .readFailed = error.reason { true } else { false }
      }
      #expect(isReported || found.map(\.objectID) == [second.objectID])
    } catch {
      #expect(error is StoreError || error is FetchError)
    }
  }

  /// The fetch derives the count of a changed book, and one of the reads that follow this fails.
  @Test(arguments: 1...8) func noReviewIsMissedInSilence(failingRead: Int) throws {
    let (container, engine) = try books()
    let setup = container.newContext()
    let saved = try #require(try Book.object(isbn: "1", in: setup))
    saved.reviews = [Review(stars: 1, in: setup), Review(stars: 2, in: setup)]
    try setup.save()
    let context = container.newContext()
    let book = try #require(try context.existingObject(with: saved.objectID) as? Book)
    let review = Review(stars: 3, in: context)
    review.book = book
    let request = FetchRequest<Book>(where: try FetchPredicate(format: "reviewCount == 3"))
    engine.failRead(failingRead)
    let count = try? context.count(for: request)
    engine.failRead(0)
    if let count { #expect(count == 1) }
    #expect(try context.count(for: request) == 1)
  }

  // MARK: Children

  /// What a child changes before its parent cannot read.
  enum ChildChange: CaseIterable { case deletion, pair, reference, value, insertion }

  @Test(arguments: ChildChange.allCases, [MergePolicy.error, .mergeByPropertyStoreTrump])
  func aChildsSaveThatCannotBeMadeChangesNothing(_ change: ChildChange, _ policy: MergePolicy) throws {
    let author = Author(name: "A", in: context)
    let tag = Tag(name: "a", in: context)
    let books = ["1", "2"].map { Book(title: $0, isbn: $0, author: author, in: context) }
    try context.save()
    let child = ManagedObjectContext(parent: context)
    child.mergePolicy = policy
    let childTag = try child.localInstance(of: tag)
    let drafts = try books.map { try child.localInstance(of: $0) }
    let childAuthor = drafts[0].author
    #expect(childTag.name == "a" && childAuthor.name == "A")
    switch change {
    case .deletion: child.delete(childTag)
    case .pair: childTag.books = [drafts[0]]
    case .reference: drafts[1].prequel = drafts[0]
    case .value: drafts[0].title = "changed"
    case .insertion: _ = Book(title: "3", isbn: "3", author: childAuthor, in: child)
    }
    context.refreshAllObjects()
    #expect(tag.isFault && author.isFault && books.allSatisfy(\.isFault))
    try withoutReads { #expect(throws: StoreError.self) { try child.save() } }
    #expect(child.hasChanges && !context.hasChanges)
    try child.save()
    #expect(!child.hasChanges && context.hasChanges)
    try context.save()
    let fresh = container.newContext()
    let stored = try Book.objects(in: fresh).sorted { $0.isbn < $1.isbn }
    #expect(try Tag.objects(in: fresh).count == (change == .deletion ? 0 : 1))
    var titles = [change == .value ? "changed" : "1", "2"]
    if change == .insertion { titles.append("3") }
    #expect(stored.map(\.title) == titles)
    #expect(stored[0].tags.count == (change == .pair ? 1 : 0))
    #expect(stored[1].prequel == (change == .reference ? stored[0] : nil))
    #expect(stored.allSatisfy { $0.author.name == "A" })
  }

  @Test func aReplacementThatAChildCannotMakeIsAnErrorOfItsSave() throws {
    let author = Author(name: "A", in: context)
    let tag = Tag(name: "a", in: context)
    let books = ["1", "2"].map { Book(title: $0, isbn: $0, author: author, in: context) }
    tag.books = books
    try context.save()
    let child = ManagedObjectContext(parent: context)
    let childTag = try child.localInstance(of: tag)
    let drafts = try books.map { try child.localInstance(of: $0) }
    context.refreshAllObjects()
    try withoutReads { childTag.books = [drafts[1]] }
    #expect(throws: StoreError.self) { try child.save() }
    #expect(childTag.books == drafts)
    childTag.books = [drafts[1]]
    try child.save()
    try context.save()
    #expect(try Tag.objects(in: container.newContext()).map { $0.books.map(\.title) } == [["2"]])
  }

  @Test func aFaultOfAChildIsReadAgain() throws {
    let tag = try savedTag()
    let child = ManagedObjectContext(parent: context)
    let fault = try child.object(with: tag.objectID)
    #expect(fault.isFault)
    try withoutReads { #expect(throws: StoreError.self) { try child.existingObject(with: tag.objectID) } }
    #expect(try child.existingObject(with: tag.objectID) === fault)
    #expect(!fault.isInaccessible && !tag.isInaccessible)
  }

  /// A child with an object that a getter could not read. The parent's object is a fault, which can be read again.
  private func unreadInChild() throws -> (child: ManagedObjectContext, held: Tag) {
    let tag = try savedTag()
    let child = ManagedObjectContext(parent: context)
    let held = try child.localInstance(of: tag)
    try failToRead(held, in: child)
    return (child, held)
  }

  private func failToRead(_ held: Tag, in child: ManagedObjectContext) throws {
    context.refreshAllObjects()
    child.refreshAllObjects()
    try withoutReads { _ = held.name }
    #expect(held.isInaccessible)
  }

  @Test func anIdentifierFindsTheObjectOfAChildAgain() throws {
    let (child, held) = try unreadInChild()
    #expect(try child.existingObject(with: held.objectID) === held)
    #expect(!held.isInaccessible && held.name == "a")
  }

  @Test func aDeletionInAChildLooksForTheObjectAgain() throws {
    let (child, held) = try unreadInChild()
    child.delete(held)
    try child.save()
    try context.save()
    #expect(try Tag.objects(in: container.newContext()).isEmpty)
  }

  @Test func aGrandchildsSaveFindsTheObjectOfAChildAgain() throws {
    let (child, held) = try unreadInChild()
    let grandchild = ManagedObjectContext(parent: child)
    let theirs = try grandchild.localInstance(of: held)
    theirs.name = "b"
    try failToRead(held, in: child)
    grandchild.mergePolicy = .mergeByPropertyStoreTrump
    try grandchild.save()
    try child.save()
    try context.save()
    #expect(try Tag.objects(in: container.newContext()).map(\.name) == ["b"])
  }

  @Test func whatWasSetMeanwhileInAChildIsLostLoudly() throws {
    let (child, held) = try unreadInChild()
    held.name = "b"
    #expect(try child.existingObject(with: held.objectID) === held)
    #expect(held.name == "a")
    let lost = LostChange(entity: "Tag", property: "name", objectID: held.objectID)
    #expect(throws: SaveError.changesLost([lost])) { try child.save() }
    held.name = "b"
    try child.save()
    try context.save()
    #expect(try Tag.objects(in: container.newContext()).map(\.name) == ["b"])
  }

  @Test func whatWasSetMeanwhileIsLostLoudly() throws {
    let tag = try savedTag()
    try withoutReads { tag.name = "b" }
    #expect(try Tag.objects(in: context).map(\.name) == ["a"])
    let lost = LostChange(entity: "Tag", property: "name", objectID: tag.objectID)
    #expect(throws: SaveError.changesLost([lost])) { try context.save() }
    tag.name = "b"
    try context.save()
    #expect(try Tag.objects(in: container.newContext()).map(\.name) == ["b"])
  }
}
