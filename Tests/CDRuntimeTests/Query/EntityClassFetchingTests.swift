import CDRuntime
import Foundation
import Testing

/// The static functions of generated classes that take a condition.
@Suite struct EntityClassFetchingTests {
  private let library: FetchLibrary
  private let context: ManagedObjectContext

  init() throws {
    library = try FetchLibrary(.inMemory)
    context = library.container.newContext()
  }

  @Test func theFirstObject() throws {
    #expect(try Book.first(sortedBy: .descending(\.isbn), in: context)?.isbn == "9")
    #expect(try Book.first(where: \.title == "c", sortedBy: .ascending(\.isbn), in: context)?.isbn == "10")
    #expect(try Book.first(where: { $0.title == "none" }, in: context) == nil)
    // Changes that are not saved count.
    _ = Book(title: "z", isbn: "z", author: try #require(try Author.first(in: context)), in: context)
    #expect(try Book.first(sortedBy: .descending(\.isbn), in: context)?.isbn == "z")
  }

  @Test func severalOrders() throws {
    let books = try Book.fetch(
      where: \.salesRank != nil, sortedBy: [.descending(\.salesRank), .ascending(\.isbn)], limit: 3,
      in: context)
    let expected = try Book.objects(in: context).filter { $0.salesRank != nil }
      .sorted { ($1.salesRank ?? 0, $0.isbn) < ($0.salesRank ?? 0, $1.isbn) }.prefix(3)
    #expect(books.map(\.isbn) == expected.map(\.isbn))
    #expect(try Book.fetch(sortedBy: .descending(\.isbn), limit: 1, in: context).map(\.isbn) == ["9"])
  }

  @Test func existence() throws {
    #expect(try Book.exists(in: context))
    #expect(try Book.exists(where: \.isbn == "3", in: context))
    #expect(try !Book.exists(where: { $0.isbn == "99" }, in: context))
  }

  /// As `ManagedObjectContext.delete` does: delete rules apply, and a rollback takes everything back.
  @Test func deletionByACondition() throws {
    let reviews = try Review.count(in: context)
    let doomed = try Book.fetch(where: \.title == "A", in: context)
    let lost = doomed.reduce(0) { $0 + $1.reviews.count }
    #expect(!doomed.isEmpty && lost > 0)
    #expect(try Book.delete(where: \.title == "A", in: context) == doomed.count)
    #expect(try !Book.exists(where: \.title == "A", in: context))
    #expect(try Review.count(in: context) == reviews - lost)
    context.rollback()
    #expect(try Review.count(in: context) == reviews)
    #expect(try Book.delete(where: { $0.isbn == "3" }, in: context) == 1)
    try context.save()
    #expect(try Book.object(isbn: "3", in: library.container.newContext()) == nil)
  }

  @Test func anObjectDeletesItself() throws {
    let book = try #require(try Book.object(isbn: "1", in: context))
    book.delete()
    #expect(book.isDeleted && context.deletedObjects.contains(book))
    try context.save()
    // Nothing happens to an object whose context is gone.
    context.reset()
    book.delete()
  }

  @Test func relationshipsMatch() throws {
    let author = try #require(try Author.first(where: \.name == "Thoreau", in: context))
    let books = try Book.objects(matching: \.author, author, in: context)
    #expect(!books.isEmpty && books.allSatisfy { $0.author === author })
    #expect(throws: FetchError.tooManyObjects(entity: "Book")) {
      try Book.object(matching: \.author, author, in: context)
    }
    let second = try #require(try Book.object(isbn: "1", in: context))
    #expect(try Book.object(matching: \.prequel, second.prequel, in: context) === second)
    let firsts = try Book.objects(matching: \.prequel, nil, in: context)
    #expect(!firsts.isEmpty && firsts.allSatisfy { $0.prequel == nil })
  }

  /// Variables and `%@` take Swift values, objects and identifiers.
  @Test func argumentsOfAllKinds() throws {
    let author = try #require(try Author.first(where: \.name == "Thoreau", in: context))
    let expected = try Book.objects(matching: \.author, author, in: context).map(\.isbn)
    for argument in [author, author.objectID] as [any FormatArgument] {
      let books = try context.fetch(
        FetchRequest<Book>(where: FetchPredicate(format: "author == %@", argument)))
      #expect(books.map(\.isbn) == expected)
      var request = FetchRequest<Book>(
        where: try FetchPredicate(format: "author == $author AND title IN $titles"))
      request.variables = ["author": argument, "titles": ["a", "A", "b", "B", "c", "Ä"]]
      #expect(try context.fetch(request).map(\.isbn) == expected)
      request.variables["titles"] = ["none"]
      #expect(try context.fetch(request).isEmpty)
      request.variables["titles"] = nil
      #expect(throws: FetchError.missingVariable("titles")) { try context.fetch(request) }
    }
    let many = try Book.fetch(where: { $0.author == author }, in: context)
    var request = FetchRequest<Review>(where: try FetchPredicate(format: "book IN $books AND stars > $stars"))
    request.variables = ["books": many, "stars": 1]
    #expect(
      try context.fetch(request).count == many.reduce(0) { $0 + $1.reviews.filter { $0.stars > 1 }.count })
  }
}
