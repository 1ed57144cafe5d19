import Foundation
import Testing

@testable import CDRuntime

/// Identifiers, texts and rows that no release writes, and that may come all the same: nothing traps, and nothing is
/// lost.
@Suite struct UnusualDataTests {
  private let store: TemporaryStore
  private let context: ManagedObjectContext
  private let book: Book

  init() throws {
    store = try TemporaryStore()
    let context = try store.freshContext()
    book = Book(title: "T", isbn: "1", author: Author(name: "A", in: context), in: context)
    try context.save()
    self.context = context
  }

  @Test func anIdentifierOfAnotherEntityOfTheHierarchyGivesTheRowsObject() throws {
    let id = ManagedObjectID(storeID: book.objectID.storeID, entityName: "Magazine", key: book.key)
    let other = try store.freshContext()
    #expect(try other.object(with: id) is Book)
    #expect(try Book.objects(in: other).map(\.isbn) == ["1"])
  }

  @Test(.onlyOnSQLite("nobody else changes the rows of a store in memory"))
  func anObjectOfAnotherEntityThanItsRowGivesWay() throws {
    let other = try store.freshContext()
    let nobody = try other.object(
      with: ManagedObjectID(storeID: book.objectID.storeID, entityName: "Magazine", key: 1000))
    #expect(nobody is Magazine)
    try store.run("UPDATE Publication SET _pk = 1000")
    #expect(try Book.objects(in: other).map(\.isbn) == ["1"])
    #expect(nobody.isInaccessible)
  }

  @Test(
    arguments: [
      "[[-9223372036854775808,9223372036854775807]]", "[[1,9223372036854775807],[1,9223372036854775807]]",
    ])
  func aHistoryOfAnyRangesIsRead(ranges: String) throws {
    let other = try store.freshContext()
    let same = try #require(try Book.objects(in: other).first)
    try store.run(#"UPDATE "Publication" SET title = 'U', _version = 2"#)
    try store.addToHistory(#"{"Book":{"updated":\#(ranges)}}"#)
    _ = try Author.objects(in: other)
    _ = try Book.objects(in: other)
    #expect(same.title == "U")
  }

  @Test(arguments: [true, false]) func positionsMayBeAtTheirEnd(isLoaded: Bool) throws {
    book.addToReviews(Review(stars: 1, in: context))
    try context.save()
    try store.run(#"UPDATE "Review" SET "book.position" = 9223372036854775807"#)
    let other = try store.freshContext()
    let same = try #require(try Book.objects(in: other).first)
    if isLoaded { #expect(same.reviews.count == 1) }
    for stars in 2...3 { same.addToReviews(Review(stars: Int16(stars), in: other)) }
    try other.save()
    #expect(try Book.objects(in: store.freshContext()).first?.reviews.map(\.stars) == [1, 2, 3])
  }

  @Test func quotesAreDoubledWhateverFollowsThem() throws {
    #expect(SQLText.literal("it'\u{301}s").utf8.elementsEqual("'it''\u{301}s'".utf8))
    #expect(SQLText.quoted("a\"\u{308}b").utf8.elementsEqual("\"a\"\"\u{308}b\"".utf8))
  }

  @Test func metadataMayBeginWithAnAccent() throws {
    let coordinator = context.persistentStoreCoordinator
    try coordinator.setMetadata(["\u{301}a": "1"], forStore: coordinator.storeIDs[0])
    #expect(try coordinator.metadata(forStore: coordinator.storeIDs[0])?.values == ["\u{301}a": "1"])
  }

  @Test func anOrderIsKeptWhereTheFirstSaveFails() throws {
    let shelf = Shelf(in: context)
    let books = (2...3).map { Book(title: "T", isbn: "\($0)", author: book.author, in: context) }
    try context.save()
    _ = try Author.objects(in: context)
    let other = try store.freshContext()
    other.delete(try other.existingObject(with: book.objectID))
    try other.save()
    shelf.books = [books[1], books[0]]
    shelf.favourite = book
    #expect(throws: SaveError.danglingReferences([shelf.objectID])) { try context.save() }
    shelf.favourite = nil
    try context.save()
    #expect(try Shelf.objects(in: store.freshContext()).first?.books.map(\.isbn) == ["3", "2"])
  }

  @Test func pairsThatLeadToNothingAreNamed() throws {
    let magazine = Magazine(title: "M", issue: 1, author: book.author, in: context)
    let tag = Tag(name: "t", in: context)
    try context.save()
    let other = try store.freshContext()
    other.delete(try other.existingObject(with: tag.objectID))
    try other.save()
    book.addToTags(tag)
    magazine.issue = 2
    #expect(throws: SaveError.danglingReferences([book.objectID])) { try context.save() }
  }
}
