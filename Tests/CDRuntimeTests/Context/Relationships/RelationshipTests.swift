import CDRuntime
import Foundation
import Testing

@Suite struct RelationshipTests {
  private let store: TemporaryStore
  private let container: PersistentContainer
  private let context: ManagedObjectContext
  private let author: Author

  init() throws {
    store = try TemporaryStore()
    container = try store.container()
    context = container.newContext()
    author = Author(name: "A", in: context)
  }

  private func book(_ isbn: String) -> Book {
    Book(title: "B" + isbn, isbn: isbn, author: author, in: context)
  }

  @Test func orderedOneToManyKeepsItsOrder() throws {
    let book = book("1")
    let reviews = (1...3).map { Review(stars: Int16($0), in: context) }
    book.reviews = reviews
    #expect(reviews.allSatisfy { $0.book === book })
    try context.save()
    #expect(book.reviewCount == 3)
    let first = Review(stars: 5, in: context)
    book.insertIntoReviews(first, at: 1)
    #expect(book.reviews.map(\.stars) == [1, 5, 2, 3])
    book.removeFromReviews(reviews[1])
    #expect(reviews[1].book == nil)
    try context.save()
    let read = try #require(try Book.object(isbn: "1", in: store.freshContext()))
    #expect(read.reviews.map(\.stars) == [1, 5, 3])
    #expect(read.reviewCount == 3)
  }

  // Settled 6: adding to what has not been loaded does not load it.
  @Test func settled6AddingDoesNotLoad() throws {
    let book = book("1")
    book.addToReviews(Review(stars: 1, in: context))
    try context.save()
    let other = try store.freshContext()
    let read = try #require(try Book.object(isbn: "1", in: other))
    read.addToReviews(Review(stars: 2, in: other))
    #expect(other.registeredObjects.filter { $0 is Review }.count == 1)
    #expect(read.reviews.map(\.stars) == [1, 2])
    try other.save()
    let third = try #require(try Book.object(isbn: "1", in: store.freshContext()))
    #expect(third.reviews.map(\.stars) == [1, 2])
  }

  @Test func manyToManyFollowsBothSides() throws {
    let books = ["1", "2", "3"].map(book)
    let tag = Tag(name: "t", in: context)
    tag.books = [books[2], books[0]]
    #expect(books[0].tags == [tag])
    books[1].addToTags(tag)
    #expect(tag.books == [books[2], books[0], books[1]])
    try context.save()
    tag.insertIntoBooks(books[1], at: 0)
    books[0].removeFromTags(tag)
    try context.save()
    let read = try #require(try Tag.objects(in: store.freshContext()).first)
    #expect(read.books.map(\.isbn) == ["2", "3"])
    #expect(read.books.first?.tags == [read])
  }

  // What is not loaded is not known: neither change may be taken to cancel the other.
  @Test func whatIsRemovedAndAddedUnloadedIsRelated() throws {
    let (one, two) = (book("1"), book("2"))
    let tag = Tag(name: "t", in: context)
    tag.books = [one, two]
    let other = Tag(name: "u", in: context)
    try context.save()
    context.refreshAllObjects()
    one.removeFromTags(other)
    one.addToTags(other)
    one.removeFromTags(tag)
    one.removeFromTags(tag)
    one.addToTags(tag)
    two.addToTags(tag)
    try context.save()
    #expect(other.books == [one])
    #expect(tag.books == [two, one])
    let read = try store.freshContext()
    #expect(try Tag.objects(in: read).map { $0.books.map(\.isbn) } == [["2", "1"], ["1"]])
  }

  @Test func anOrderIsKeptThatTheOtherSideWritesThePairsOf() throws {
    let tag = Tag(name: "t", in: context)
    let books = ["1", "2", "3"].map(book)
    tag.books = [books[2], books[0], books[1]]
    try context.save()
    #expect(try Tag.objects(in: store.freshContext()).first?.books.map(\.isbn) == ["3", "1", "2"])
  }

  @Test func oneToOneMovesItsPartner() throws {
    let (one, two, three) = (book("1"), book("2"), book("3"))
    one.sequel = two
    #expect(two.prequel === one)
    three.sequel = two
    #expect(one.sequel == nil)
    #expect(two.prequel === three)
    try context.save()
    let other = try store.freshContext()
    let read = try #require(try Book.object(isbn: "2", in: other))
    #expect(read.prequel?.isbn == "3")
    #expect(read.prequel?.sequel === read)
    read.prequel = nil
    try other.save()
    #expect(try Book.object(isbn: "3", in: store.freshContext())?.sequel == nil)
  }

  @Test func symmetricRelationshipsStaySo() throws {
    let (b, c) = (Author(name: "B", in: context), Author(name: "C", in: context))
    author.spouse = b
    #expect(b.spouse === author)
    c.spouse = b
    #expect(author.spouse == nil)
    author.addToFriends(c)
    #expect(c.friends == [author])
    try context.save()
    let read = try #require(try Author.object(matching: \.name, "C", in: store.freshContext()))
    #expect(read.spouse?.name == "B")
    #expect(read.friends.map(\.name) == ["A"])
    #expect(read.friends.first?.friends == [read])
  }

  @Test func oneSidedRelationshipsLoseWhatIsDeleted() throws {
    let (one, two) = (book("1"), book("2"))
    let shelf = Shelf(in: context)
    shelf.favourite = one
    shelf.books = [two, one]
    try context.save()
    context.delete(one)
    #expect(shelf.books == [two])
    try context.save()
    #expect(shelf.books == [two])
    let read = try #require(try Shelf.objects(in: store.freshContext()).first)
    #expect(read.favourite == nil)
    #expect(read.books.map(\.isbn) == ["2"])
  }

  @Test func deletionFollowsItsRules() throws {
    let book = book("1")
    let review = Review(stars: 1, in: context)
    book.addToReviews(review)
    let tag = Tag(name: "t", in: context)
    tag.addToBooks(book)
    try context.save()
    context.delete(author)
    #expect(throws: SaveError.self) { try context.save() }
    context.delete(book)
    #expect(review.isDeleted)
    #expect(tag.books.isEmpty)
    try context.save()
    let other = try store.freshContext()
    #expect(try Book.count(in: other) == 0)
    #expect(try Review.count(in: other) == 0)
    #expect(try Author.count(in: other) == 0)
    #expect(try Tag.objects(in: other).first?.books.isEmpty == true)
  }

  @Test func anObjectOfAnotherContextIsRefusedAtTheSave() throws {
    let book = book("1")
    book.addToTags(Tag(name: "t", in: try store.freshContext()))
    #expect(
      throws: SaveError.validation([
        .init(reason: .foreignObject, entity: "Book", property: "tags", objectID: book.objectID)
      ])
    ) { try context.save() }
    book.tags = []
    try context.save()
  }
}
