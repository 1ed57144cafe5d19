import CDRuntime
import Foundation
import Testing

/// One object has one partner, whoever saves.
@Suite struct OneToOneTests {
  private let store: TemporaryStore
  private let context: ManagedObjectContext
  private let author: Author

  init() throws {
    store = try TemporaryStore()
    context = try store.freshContext()
    author = Author(name: "A", in: context)
  }

  private func book(_ isbn: String) -> Book { Book(title: "T", isbn: isbn, author: author, in: context) }

  private func book(_ isbn: String, in context: ManagedObjectContext) throws -> Book {
    try #require(try Book.object(isbn: isbn, in: context))
  }

  private func taken(_ book: Book) -> SaveError {
    .conflict([SaveConflict(reason: .partnerTaken, objectID: book.objectID, keys: ["prequel"])])
  }

  @Test func twoContextsCannotGiveOneObjectTwoPartners() throws {
    let (first, second, third) = (book("1"), book("2"), book("3"))
    try context.save()
    let other = try store.freshContext()
    try book("2", in: other).prequel = book("1", in: other)
    third.prequel = first
    try other.save()
    #expect(throws: taken(third)) { try context.save() }
    #expect(first.sequel === third && context.hasChanges)
    // Taken from the one who has it, as the error says.
    context.refresh(second, mergeChanges: true)
    #expect(second.prequel === first)
    second.prequel = nil
    #expect(first.sequel === third)
    try context.save()
    let read = try store.freshContext()
    #expect(try book("1", in: read).sequel?.isbn == "3")
    #expect(try book("2", in: read).prequel == nil)
    read.delete(try book("1", in: read))
    try read.save()
    #expect(try store.container().persistentStoreCoordinator.verify() == [])
  }

  @Test func aNewObjectCannotTakeAPartnerEither() throws {
    let first = book("1")
    _ = book("2")
    try context.save()
    let third = book("3")
    third.prequel = first
    let other = try store.freshContext()
    try book("2", in: other).prequel = book("1", in: other)
    try other.save()
    #expect(throws: taken(third)) { try context.save() }
    third.prequel = nil
    try context.save()
    #expect(try book("1", in: store.freshContext()).sequel?.isbn == "2")
  }

  @Test func partnersCanBeSwapped() throws {
    let books = ["1", "2", "3", "4", "5", "6"].map(book)
    for place in 0..<3 { books[place + 3].prequel = books[place] }
    try context.save()
    // In a circle, where none can go first.
    (books[3].prequel, books[4].prequel, books[5].prequel) = (books[1], books[2], books[0])
    try context.save()
    let read = try store.freshContext()
    let found = try ["4", "5", "6"].map { try book($0, in: read).prequel?.isbn }
    #expect(found == ["2", "3", "1"])
    #expect(try book("1", in: read).sequel?.isbn == "6")
    #expect(try store.container().persistentStoreCoordinator.verify() == [])
  }

  @Test func couplesCanBeSwapped() throws {
    let authors = ["B", "C", "D"].map { Author(name: $0, in: context) } + [author]
    authors[0].spouse = authors[1]
    authors[2].spouse = authors[3]
    try context.save()
    authors[0].spouse = authors[2]
    authors[1].spouse = authors[3]
    try context.save()
    let read = try Author.objects(in: store.freshContext())
    #expect(read.map { $0.spouse?.name } == read.map { ["A": "C", "B": "D", "C": "A", "D": "B"][$0.name] })
  }

  @Test(.onlyOnSQLite("its indexes")) func aStoreWithoutTheIndexGetsItWhenItIsOpened() throws {
    try context.save()
    let query = "SELECT sql FROM sqlite_master WHERE name = 'Publication.prequel'"
    try PlainSQL.run(
      "DROP INDEX \"Publication.prequel\";"
        + "CREATE INDEX \"Publication.prequel\" ON \"Publication\" (\"prequel\")", at: store.url)
    _ = try store.container()
    #expect(
      try PlainSQL.rows(query, at: store.url) == [
        "CREATE UNIQUE INDEX \"Publication.prequel\" ON \"Publication\" (\"prequel\")"
      ])
  }
}
