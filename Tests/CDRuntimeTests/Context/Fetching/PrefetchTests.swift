import Foundation
import Testing

@testable import CDRuntime

@Suite struct PrefetchTests {
  private func books(_ paths: [String], _ context: ManagedObjectContext) throws -> [Book] {
    var request = FetchRequest<Book>()
    request.prefetch = paths
    return try context.fetch(request)
  }

  /// What a walk over relationships finds.
  private func walk(_ books: [Book]) -> [String] {
    books.map { book in
      let friends = book.author.friends.map(\.name).sorted().joined(separator: ",")
      let spouse = book.author.spouse?.name ?? "-"
      let reviews = book.reviews.map { "\($0.stars)" }.joined(separator: ",")
      let tags = book.tags.map(\.name).sorted().joined(separator: ",")
      let others = book.author.publications.map(\.title).sorted().joined(separator: ",")
      return [
        book.isbn, book.author.name, friends, spouse, reviews, tags, book.prequel?.isbn ?? "-",
        book.sequel?.isbn ?? "-", others,
      ].joined(separator: "|")
    }
  }

  private static let paths = ["author.friends", "author.spouse", "reviews", "tags", "prequel", "sequel"]

  @Test(.needs(.statements), arguments: FetchLibrary.Kind.allCases) func onePathIsOneStatement(
    kind: FetchLibrary.Kind
  ) throws {
    let library = try FetchLibrary(kind)
    for (path, statements) in [
      ("author", 2), ("author.friends", 3), ("reviews", 2), ("tags", 2), ("prequel", 1), ("sequel", 2),
    ] {
      let context = library.container.newContext()
      let trace = try StatementTrace(context)
      let books = try books([path], context)
      // The prequels are among the books already.
      #expect(trace.taken().count == statements, "\(path)")
      withExtendedLifetime(books) {
        for book in books {
          switch path {
          case "author", "author.friends":
            _ = book.author.name
            if path != "author" { _ = book.author.friends.map(\.name) }
          case "reviews": _ = book.reviews.map(\.stars)
          case "tags": _ = book.tags.map(\.name)
          case "prequel": _ = book.prequel?.isbn
          default: _ = book.sequel?.isbn
          }
        }
        #expect(trace.taken().isEmpty, "\(path)")
      }
    }
  }

  @Test(arguments: FetchLibrary.Kind.allCases) func prefetchingChangesNoAnswer(kind: FetchLibrary.Kind) throws
  {
    let library = try FetchLibrary(kind)
    func changed(_ context: ManagedObjectContext) throws {
      let books = try Book.objects(in: context)
      books[3].author = books[0].author
      books[5].addToReviews(Review(stars: 4, in: context))
      context.delete(books[7].reviews[0])
      books[4].addToTags(try #require(try Tag.objects(matching: \.name, "old", in: context).first))
      books[6].removeFromTags(books[6].tags[0])
      books[1].prequel = nil
      books[9].prequel = books[2]
      context.delete(books[10])
      books[0].author.addToFriends(books[3].author.friends[0])
      _ = Book(title: "new", isbn: "99", author: books[0].author, in: context)
    }
    for hasChanges in [false, true] {
      let plain = library.container.newContext()
      if hasChanges { try changed(plain) }
      let expected = walk(try books([], plain))
      let context = library.container.newContext()
      if hasChanges { try changed(context) }
      #expect(walk(try books(Self.paths, context)) == expected)
      // What is loaded already stays as it is.
      #expect(walk(try books(Self.paths + ["author.publications"], context)) == expected)
    }
  }

  @Test func aPartnerWhoseDeletionIsTakenBackIsThePartnerAgain() throws {
    let library = try FetchLibrary(.inMemory)
    let context = library.container.newContext()
    let second = try #require(try Book.object(isbn: "1", in: context))
    context.delete(second)
    var request = FetchRequest<Book>(where: \.isbn == "0")
    request.prefetch = ["sequel"]
    let first = try #require(try context.fetch(request).first)
    #expect(first.sequel == nil)
    context.rollback()
    #expect(first.sequel === second)
  }

  @Test func orderedRelationshipsKeepTheirOrder() throws {
    let library = try FetchLibrary(.inMemory)
    let context = library.container.newContext()
    let tag = try #require(try Tag.objects(matching: \.name, "new", in: context).first)
    tag.insertIntoBooks(try #require(try Book.object(isbn: "11", in: context)), at: 1)
    try context.save()
    let other = library.container.newContext()
    var request = FetchRequest<Tag>()
    request.prefetch = ["books"]
    let tags = try other.fetch(request)
    #expect(tags[0].books.map(\.isbn) == ["0", "11", "2", "4", "6", "8", "10"])
    // Its positions are known: another insertion writes one row.
    tags[0].insertIntoBooks(try #require(try Book.object(isbn: "1", in: other)), at: 1)
    try other.save()
    let third = library.container.newContext()
    let found = try #require(try Tag.objects(matching: \.name, "new", in: third).first)
    #expect(found.books.map(\.isbn) == ["0", "1", "11", "2", "4", "6", "8", "10"])
  }

  @Test func whatIsNoRelationshipIsRefused() throws {
    let library = try FetchLibrary(.inMemory)
    let context = library.container.newContext()
    #expect(throws: FetchError.notARelationship(entity: "Book", key: "title")) {
      try books(["title"], context)
    }
    #expect(throws: FetchError.notARelationship(entity: "Author", key: "titles")) {
      try books(["author.titles"], context)
    }
  }
}
