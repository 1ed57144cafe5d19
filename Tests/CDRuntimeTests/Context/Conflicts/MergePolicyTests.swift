import CDRuntime
import Foundation
import Testing

/// What a save does under each merge policy where others have been faster.
@Suite struct MergePolicyTests {
  private let store: TemporaryStore
  private let context: ManagedObjectContext
  private let other: ManagedObjectContext
  private let author: Author

  init() throws {
    store = try TemporaryStore()
    context = try store.freshContext()
    other = try store.freshContext()
    author = Author(name: "A", in: context)
  }

  private static let deciding: [MergePolicy] = [
    .mergeByPropertyStoreTrump, .mergeByPropertyObjectTrump, .overwrite, .rollback,
  ]

  private func book(_ isbn: String, title: String = "T") -> Book {
    Book(title: title, isbn: isbn, author: author, in: context)
  }

  private func book(_ isbn: String, in context: ManagedObjectContext) throws -> Book {
    try #require(try Book.object(isbn: isbn, in: context))
  }

  /// The title, rank and price after two contexts have changed a book: both its title, each one of the others.
  private func contended(_ policy: MergePolicy) throws -> [String] {
    let book = book("1")
    try context.save()
    let theirs = try self.book("1", in: other)
    (theirs.title, theirs.salesRank) = ("theirs", 7)
    try other.save()
    (book.title, book.price) = ("mine", 5)
    context.mergePolicy = policy
    try context.save()
    #expect(!context.hasChanges)
    let read = try self.book("1", in: store.freshContext())
    #expect(
      [read.title, "\(read.salesRank ?? 0)", "\(read.price)"] == [
        book.title, "\(book.salesRank ?? 0)", "\(book.price)",
      ])
    return [read.title, "\(read.salesRank ?? 0)", "\(read.price)"]
  }

  /// A policy that throws an error, for example to ask a person first, decides nothing. Each later save meets the conflict
  /// again, with the values from before.
  @Test(arguments: ["error", "store", "object"]) func aPolicyThatThrowsLeavesTheConflict(next: String) throws
  {
    struct Undecided: Error {}
    let book = book("1")
    try context.save()
    let theirs = try self.book("1", in: other)
    (theirs.title, theirs.salesRank) = ("theirs", 7)
    try other.save()
    (book.title, book.price) = ("mine", 5)
    for _ in 0..<2 {
      context.mergePolicy = MergePolicy { conflict in
        #expect(conflict.reason == .changed && conflict.keys.contains("title"))
        throw Undecided()
      }
      #expect(throws: Undecided.self) { try context.save() }
      #expect(book.title == "mine" && book.price == 5 && context.hasChanges)
      #expect(try self.book("1", in: store.freshContext()).title == "theirs")
    }
    switch next {
    case "error":
      context.mergePolicy = .error
      #expect(throws: SaveError.self) { try context.save() }
      #expect(try self.book("1", in: store.freshContext()).title == "theirs")
    case "store":
      context.mergePolicy = .mergeByPropertyStoreTrump
      try context.save()
      let read = try self.book("1", in: store.freshContext())
      #expect(read.title == "theirs" && read.salesRank == 7 && read.price == 5)
    default:
      context.mergePolicy = .mergeByPropertyObjectTrump
      try context.save()
      let read = try self.book("1", in: store.freshContext())
      #expect(read.title == "mine" && read.salesRank == 7 && read.price == 5)
    }
  }

  /// A policy may choose values that the object cannot have. Then no value is set, and the conflict stays.
  @Test func valuesThatCannotBeSetLeaveTheConflict() throws {
    let book = book("1")
    try context.save()
    try self.book("1", in: other).title = "theirs"
    try other.save()
    let unknown = Author(name: "B", in: other).objectID
    book.title = "mine"
    let choices: [[String: FetchedValue]] = [
      ["nothing": .object(nil)], ["salesRank": .attribute(.int(1)), "title": .attribute(.int(1))],
      ["author": .object(unknown)], ["salesRank": .attribute(.int(1)), "tags": .object(nil)],
    ]
    for values in choices {
      context.mergePolicy = MergePolicy { _ in .values(values) }
      #expect(throws: (any Error).self, "\(values.keys)") { try context.save() }
      #expect(book.title == "mine" && book.salesRank == nil)
    }
    context.mergePolicy = .error
    #expect(throws: SaveError.self) { try context.save() }
    #expect(try self.book("1", in: store.freshContext()).title == "theirs")
    context.mergePolicy = MergePolicy { _ in .values(["title": .attribute(.string("both"))]) }
    try context.save()
    #expect(try self.book("1", in: store.freshContext()).title == "both")
  }

  @Test func theStoreWinsPropertyByProperty() throws {
    #expect(try contended(.mergeByPropertyStoreTrump) == ["theirs", "7", "5"])
  }

  @Test func theObjectWinsPropertyByProperty() throws {
    #expect(try contended(.mergeByPropertyObjectTrump) == ["mine", "7", "5"])
  }

  @Test func overwritingSavesTheWholeObject() throws {
    #expect(try contended(.overwrite) == ["mine", "0", "5"])
  }

  @Test func rollingBackKeepsTheWholeRow() throws {
    #expect(try contended(.rollback) == ["theirs", "7", "9.99"])
  }

  @Test func aPolicyOfOnesOwnSeesThreeVersionsAndDecides() throws {
    let policy = MergePolicy { conflict in
      #expect(conflict.keys == ["title", "salesRank"])
      #expect(conflict.values.map(\.key) == ["title", "salesRank", "price"])
      #expect(
        conflict.value(forKey: "title")
          == .init(
            key: "title", object: .attribute(.string("mine")), snapshot: .attribute(.string("T")),
            store: .attribute(.string("theirs"))))
      return .values(["title": .attribute(.string("both"))])
    }
    #expect(try contended(policy) == ["both", "7", "5"])
  }

  @Test func whatAPolicyThrowsTheSaveThrows() throws {
    struct Refusal: Error {}
    #expect(throws: Refusal.self) { try contended(MergePolicy { _ in throw Refusal() }) }
    #expect(context.hasChanges)
    #expect(throws: PropertyError.self) {
      context.mergePolicy = .init { _ in .values(["nothing": .object(nil)]) }
      let theirs = try self.book("1", in: store.freshContext())
      theirs.title = "again"
      try theirs.managedObjectContext?.save()
      try context.save()
    }
  }

  @Test func anErrorHasTheThreeVersions() throws {
    let book = book("1")
    try context.save()
    let theirs = try self.book("1", in: other)
    theirs.author = Author(name: "B", in: other)
    try other.save()
    let mine = Author(name: "C", in: context)
    book.author = mine
    do {
      try context.save()
      Issue.record("saved")
    } catch SaveError.conflict(let conflicts) {
      #expect(conflicts.map(\.keys) == [["author"]])
      #expect(
        conflicts.first?.values == [
          .init(
            key: "author", object: .object(mine.objectID), snapshot: .object(author.objectID),
            store: .object(theirs.author.objectID))
        ])
    }
  }

  @Test func referencesFollowThePolicyOnBothSides() throws {
    for (number, policy) in Self.deciding.enumerated() {
      let book = book("\(number)")
      let mine = Author(name: "mine", in: context)
      try context.save()
      let theirs = try self.book("\(number)", in: other)
      theirs.author = Author(name: "theirs", in: other)
      try other.save()
      book.author = mine
      context.mergePolicy = policy
      try context.save()
      let winner = number % 3 == 0 ? "theirs" : "mine"
      #expect(book.author.name == winner, "\(policy)")
      #expect(book.author.publications.contains(book))
      #expect(mine.publications.contains(book) == (winner == "mine"))
      #expect(try self.book("\(number)", in: store.freshContext()).author.name == winner)
    }
    #expect(try store.container().persistentStoreCoordinator.verify() == [])
  }

  @Test func pairsOfSeveralSaversComeTogether() throws {
    for (number, policy) in (Self.deciding + [.error]).enumerated() {
      let book = book("\(number)")
      let names = ["a\(number)", "b\(number)", "c\(number)"]
      let tags = names.map { Tag(name: $0, in: context) }
      book.tags = [tags[0]]
      try context.save()
      let theirs = try self.book("\(number)", in: other)
      theirs.tags = try Tag.objects(in: other).filter { $0.name == names[1] }
      try other.save()
      book.addToTags(tags[2])
      context.mergePolicy = policy
      try context.save()
      let read = try self.book("\(number)", in: store.freshContext())
      #expect(Set(read.tags.map(\.name)) == Set(names.dropFirst()), "\(policy)")
    }
  }

  // MARK: Rows that are gone

  @Test func aRowThatOthersHaveDeletedIsWrittenAnewWhereTheObjectWins() throws {
    for (number, policy) in [MergePolicy.mergeByPropertyObjectTrump, .overwrite].enumerated() {
      let book = book("\(number)")
      let tag = Tag(name: "t\(number)", in: context)
      book.tags = [tag]
      try context.save()
      let id = book.objectID
      other.delete(try self.book("\(number)", in: other))
      try other.save()
      book.title = "mine"
      context.mergePolicy = policy
      try context.save()
      #expect(book.objectID == id && !book.isInaccessible && !context.hasChanges)
      let read = try self.book("\(number)", in: store.freshContext())
      #expect(read.objectID.uriRepresentation == id.uriRepresentation && read.title == "mine")
      #expect(read.tags.map(\.name) == ["t\(number)"] && read.author.name == "A")
      // The row goes on counting, so that it can be changed again.
      book.title = "again"
      try context.save()
      #expect(try self.book("\(number)", in: store.freshContext()).title == "again")
    }
    #expect(try store.container().persistentStoreCoordinator.verify() == [])
  }

  @Test func aRowThatOthersHaveDeletedIsGoneWhereTheStoreWins() throws {
    for (number, policy) in [MergePolicy.mergeByPropertyStoreTrump, .rollback].enumerated() {
      let book = book("\(number)")
      let review = Review(stars: 3, in: context)
      try context.save()
      other.delete(try self.book("\(number)", in: other))
      try other.save()
      book.title = "mine"
      review.book = book
      context.mergePolicy = policy
      try context.save()
      #expect(book.isDeleted && book.isInaccessible && review.book == nil)
      let read = try store.freshContext()
      #expect(try Book.object(isbn: "\(number)", in: read) == nil)
      #expect(try Review.objects(in: read).count == number + 1)
    }
  }

  @Test func aDeletionOfWhatOthersHaveChangedFollowsThePolicy() throws {
    for (number, policy) in Self.deciding.enumerated() {
      let book = book("\(number)")
      let tag = Tag(name: "t\(number)", in: context)
      let sequel = self.book("9\(number)")
      book.tags = [tag]
      book.sequel = sequel
      try context.save()
      try self.book("\(number)", in: other).title = "theirs"
      try other.save()
      context.delete(book)
      context.mergePolicy = policy
      try context.save()
      let read = try store.freshContext()
      let isKept = number % 3 == 0
      #expect(book.isDeleted != isKept, "\(policy)")
      #expect(try Book.object(isbn: "\(number)", in: read)?.title == (isKept ? "theirs" : nil))
      guard isKept else { continue }
      #expect(book.title == "theirs" && author.publications.contains(book))
      #expect(tag.books == [book] && book.tags == [tag] && sequel.prequel === book)
      let stored = try self.book("\(number)", in: read)
      #expect(stored.tags.map(\.name) == [tag.name] && stored.sequel?.isbn == "9\(number)")
    }
    #expect(try store.container().persistentStoreCoordinator.verify() == [])
  }

  @Test func aReferenceToWhatOthersHaveDeletedIsCleared() throws {
    let book = book("1")
    try context.save()
    let shelf = Shelf(in: context)
    shelf.favourite = book
    other.delete(try self.book("1", in: other))
    try other.save()
    #expect(throws: SaveError.danglingReferences([shelf.objectID])) { try context.save() }
    context.mergePolicy = .mergeByPropertyObjectTrump
    try context.save()
    #expect(shelf.favourite == nil)
    #expect(try Shelf.objects(in: store.freshContext()).map { $0.favourite == nil } == [true])
  }

  // MARK: Partners

  @Test func aPartnerThatOthersHaveTakenFollowsThePolicy() throws {
    for (number, policy) in Self.deciding.enumerated() {
      let isbns = (0..<3).map { "\(number)\($0)" }
      let books = isbns.map { book($0) }
      try context.save()
      books[2].prequel = books[0]
      try book(isbns[1], in: other).prequel = book(isbns[0], in: other)
      try other.save()
      context.mergePolicy = policy
      try context.save()
      let isTheirs = number % 3 == 0
      let read = try book(isbns[0], in: store.freshContext())
      #expect(read.sequel?.isbn == (isTheirs ? isbns[1] : isbns[2]), "\(policy)")
      #expect(books[0].sequel === (isTheirs ? books[1] : books[2]))
      #expect(books[isTheirs ? 2 : 1].prequel == nil)
    }
    #expect(try store.container().persistentStoreCoordinator.verify() == [])
  }

  // MARK: Pairs

  private func names(_ authors: [Author]) -> [String] { authors.map(\.name).sorted() }

  private func tag(_ name: String, in context: ManagedObjectContext) throws -> Tag {
    try #require(try Tag.fetch(where: \.name == name, in: context).first)
  }

  private func author(_ name: String, in context: ManagedObjectContext) throws -> Author {
    try #require(try Author.fetch(where: \.name == name, in: context).first)
  }

  @Test(arguments: [true, false], [true, false])
  func aDeletionThatIsTakenBackKeepsAllPairs(isLoaded: Bool, isChild: Bool) throws {
    let friends = ["f", "g", "h"].map { Author(name: $0, in: context) }
    (friends[0].friends, friends[0].spouse) = (friends, friends[1])
    let tags = ["s", "t"].map { Tag(name: $0, in: context) }
    let books = ["1", "2", "3"].map { book($0) }
    for book in books.reversed() { book.tags = tags }
    books[0].reviews = [3, 1, 2].map { Review(stars: $0, in: context) }
    try context.save()
    let mine = isLoaded && !isChild ? context : try store.freshContext()
    let work = isChild ? ManagedObjectContext(parent: mine) : mine
    let theirs = isChild ? mine : other
    let author = try author("f", in: work)
    let tag = try self.tag("t", in: work)
    if isLoaded {
      #expect(author.friends.count == 3 && tag.books.map(\.isbn) == ["3", "2", "1"])
      for friend in author.friends { #expect(friend.friends.contains(author)) }
    }
    work.delete(author)
    work.delete(tag)
    try self.author("f", in: theirs).name = "ff"
    try self.tag("t", in: theirs).name = "tt"
    if !isChild { try theirs.save() }
    work.mergePolicy = .mergeByPropertyStoreTrump
    try work.save()
    if isChild { try mine.save() }
    let fresh = try store.freshContext()
    for context in [work, fresh] {
      let author = try self.author("ff", in: context)
      #expect(names(author.friends) == ["ff", "g", "h"] && author.spouse?.name == "g")
      #expect(try names(self.author("g", in: context).friends) == ["ff"])
      #expect(try names(self.author("h", in: context).friends) == ["ff"])
      #expect(try self.author("g", in: context).spouse === author)
      let tag = try self.tag("tt", in: context)
      #expect(tag.books.map(\.isbn) == ["3", "2", "1"])
      for isbn in ["1", "2", "3"] {
        #expect(try self.book(isbn, in: context).tags.map(\.name).sorted() == ["s", "tt"])
      }
    }
    #expect(try store.container().persistentStoreCoordinator.verify() == [])
  }

  @Test func aDeletionThatIsTakenBackKeepsThePlacesInOrders() throws {
    let books = ["1", "2", "3"].map { book($0) }
    let tag = Tag(name: "t", in: context)
    for book in books { book.tags = [tag] }
    let reviews = [1, 2, 3].map { Review(stars: $0, in: context) }
    books[0].reviews = reviews
    try context.save()
    #expect(tag.books.count == 3 && books[0].reviews.count == 3)
    // The orders have changes of their own.
    tag.books = [books[2], books[0], books[1]]
    books[0].reviews = [reviews[2], reviews[0], reviews[1]]
    context.delete(books[1])
    context.delete(reviews[1])
    try book("2", in: other).title = "theirs"
    try #require(try Review.fetch(where: \.stars == 2, in: other).first).text = "theirs"
    try other.save()
    context.mergePolicy = .mergeByPropertyStoreTrump
    try context.save()
    for context in [context, try store.freshContext()] {
      let tag = try self.tag("t", in: context)
      #expect(tag.books.map(\.isbn) == ["3", "1", "2"])
      #expect(try book("1", in: context).reviews.map(\.stars) == [3, 1, 2])
    }
  }

  @Test func aRowWrittenAnewHasItsSymmetricPairsBothWays() throws {
    let friends = ["f", "g", "h"].map { Author(name: $0, in: context) }
    friends[0].friends = friends
    try context.save()
    #expect(friends[0].friends.count == 3)
    let gone = try author("f", in: other)
    other.delete(gone)
    try other.save()
    friends[0].name = "ff"
    context.mergePolicy = .mergeByPropertyObjectTrump
    try context.save()
    for context in [context, try store.freshContext()] {
      #expect(try names(author("ff", in: context).friends) == ["ff", "g", "h"])
      #expect(try names(author("g", in: context).friends) == ["ff"])
    }
    #expect(try store.container().persistentStoreCoordinator.verify() == [])
  }

  // MARK: Several conflicts

  @Test func aUniqueConflictIsNamedBesideOneThatIsSettled() throws {
    let books = ["1", "2", "3"].map { book($0) }
    try context.save()
    try book("1", in: other).title = "theirs"
    try other.save()
    (books[0].title, books[1].isbn) = ("mine", "3")
    context.mergePolicy = .mergeByPropertyObjectTrump
    do {
      try context.save()
      Issue.record("two books have one ISBN")
    } catch SaveError.notUnique(let conflicts) {
      #expect(conflicts.map(\.properties) == [["isbn"]])
      #expect(conflicts.first.map { Set($0.objectIDs) } == [books[1].objectID, books[2].objectID])
    }
    books[1].isbn = "4"
    try context.save()
    #expect(try book("1", in: store.freshContext()).title == "mine")
  }

  // MARK: References that the store clears

  @Test(arguments: [true, false])
  func aReferenceThatTheStoreHasClearedDoesNotComeBackWithTheRow(isBatch: Bool) throws {
    let book = self.book("1")
    let shelves = [Shelf(in: context), Shelf(in: context)]
    (shelves[0].label, shelves[1].label) = ("a", "b")
    for shelf in shelves { shelf.favourite = book }
    try context.save()
    let third = try store.freshContext()
    let held = try Shelf.objects(in: third).sorted { ($0.label ?? "") < ($1.label ?? "") }
    let form = ManagedObjectContext(parent: third)
    let copies = try held.map { try form.localInstance(of: $0) }
    #expect(held.allSatisfy { $0.favourite != nil } && copies.allSatisfy { $0.favourite != nil })
    // One of them has changes.
    held[1].label = "c"
    if isBatch {
      _ = try other.execute(BatchDeleteRequest<Book>(where: \.isbn == "1"))
    } else {
      other.delete(try self.book("1", in: other))
      try other.save()
    }
    book.title = "mine"
    context.mergePolicy = .mergeByPropertyObjectTrump
    try context.save()
    #expect(try self.book("1", in: store.freshContext()).title == "mine")
    #expect(try Shelf.objects(in: store.freshContext()).allSatisfy { $0.favourite == nil })
    // Whoever had read the reference.
    #expect(try Shelf.objects(in: third).count == 2)
    #expect(held.allSatisfy { $0.favourite == nil })
    #expect(try Shelf.objects(in: form).count == 2)
    #expect(copies.allSatisfy { $0.favourite == nil })
    #expect(try Shelf.objects(in: context).count == 2)
    #expect(shelves.allSatisfy { $0.favourite == nil })
    try third.save()
    #expect(try Shelf.objects(in: store.freshContext()).allSatisfy { $0.favourite == nil })
  }
}
