import CDRuntime
import Foundation
import Testing

/// A batch deletes what objects would have deleted.
@Suite struct BatchDeleteTests {
  private let store: TemporaryStore
  private let context: ManagedObjectContext
  private let author: Author
  private let books: [Book]

  init() throws {
    store = try TemporaryStore()
    let context = try store.freshContext()
    let author = Author(name: "Thoreau", in: context)
    books = (0..<4).map { number in
      let book = Book(title: "T\(number)", isbn: "\(number)", author: author, in: context)
      for stars in 1...3 { book.addToReviews(Review(stars: Int16(stars), in: context)) }
      return book
    }
    books[0].sequel = books[1]
    books[0].addToTags(Tag(name: "pond", in: context))
    try context.save()
    self.context = context
    self.author = author
  }

  @Test func rowsWithoutOthersGoByOneStatement() throws {
    let result = try context.execute(BatchDeleteRequest<Tag>(where: \.name == "pond"))
    #expect(result.count == 1 && result.changes.deleted.count == 1)
    #expect(try Tag.count(in: context) == 0)
    #expect(books[0].tags == [])
  }

  @Test func everyRuleIsFollowed() throws {
    let shelf = Shelf(in: context)
    shelf.favourite = books[0]
    try context.save()
    let tag = try #require(books[0].tags.first)
    let result = try context.execute(BatchDeleteRequest<Book>(where: \.isbn == "0"))
    #expect(result.count == 1)
    // The book and its reviews.
    #expect(result.changes.deleted.count == 4 && result.changes.deleted.contains(books[0].objectID))
    // The sequel, whose reference was to it, and the tag.
    #expect(
      result.changes.updated.contains(books[1].objectID) && result.changes.updated.contains(tag.objectID))
    #expect(try Review.count(in: context) == 9)
    #expect(books[0].isInaccessible)
    #expect(books[1].prequel == nil && tag.books == [] && shelf.favourite == nil)
    #expect(author.publications == Array(books[1...]))
    #expect(try store.container().persistentStoreCoordinator.verify().isEmpty)
  }

  @Test func aDenialNamesItsObjectsAndNothingGoes() throws {
    #expect(
      throws: BatchError.deleteDenied(entity: "Author", relationship: "publications", [author.objectID])
    ) {
      try context.execute(BatchDeleteRequest<Author>())
    }
    #expect(try Author.count(in: context) == 1 && Book.count(in: context) == 4)
    try context.execute(BatchDeleteRequest<Publication>())
    #expect(try context.execute(BatchDeleteRequest<Author>()).count == 1)
    #expect(try Review.count(in: context) == 0)
  }

  @Test func bothSidesOfASymmetricRelationshipLetGo() throws {
    let wife = Author(name: "Ellen", in: context)
    wife.spouse = author
    author.addToFriends(wife)
    try context.save()
    try context.execute(BatchDeleteRequest<Author>(where: \.name == "Ellen"))
    #expect(author.spouse == nil && author.friends == [])
    #expect(try store.container().persistentStoreCoordinator.verify().isEmpty)
  }

  @Test func derivedAttributesOfThoseThatStayFollow() throws {
    let result = try context.execute(BatchDeleteRequest<Review>(where: \.stars == 1))
    #expect(result.count == 4)
    #expect(books.map(\.reviewCount) == [2, 2, 2, 2])
    #expect(books[0].reviews.map(\.stars) == [2, 3])
  }

  @Test func otherContextsLearnOfABatchAtOnceIfTold() throws {
    let other = try store.freshContext()
    let same = try Book.objects(in: other)
    let result = try context.execute(BatchDeleteRequest<Book>(where: \.isbn == "3"))
    #expect(!same[3].isInaccessible)
    other.mergeChanges(from: result.changes)
    #expect(same[3].isInaccessible && !same[2].isInaccessible)
  }
}
