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
}
