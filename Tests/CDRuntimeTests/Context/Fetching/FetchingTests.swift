import CDRuntime
import Foundation
import Testing

@Suite struct FetchingTests {
  private let context: ManagedObjectContext

  init() throws {
    let container = try PersistentContainer(scratchFor: LibraryModel.self)
    context = container.newContext()
    let thoreau = Author(name: "Thoreau", in: context)
    let melville = Author(name: "Melville", in: context)
    Book(title: "Walden", isbn: "1", author: thoreau, in: context).salesRank = 3
    Book(title: "Moby-Dick", isbn: "2", author: melville, in: context).salesRank = 1
    _ = Book(title: "Typee", isbn: "3", author: melville, in: context)
    try context.save()
  }

  @Test func helpersGiveWhatMatches() throws {
    #expect(try Book.objects(matching: \.title, "Walden", in: context).map(\.isbn) == ["1"])
    #expect(try Book.objects(matching: \.salesRank, nil, in: context).map(\.isbn) == ["3"])
    #expect(try Book.object(matching: \.isbn, "2", in: context)?.title == "Moby-Dick")
    #expect(try Book.object(matching: \.isbn, "9", in: context) == nil)
    #expect(try Book.object(isbn: "3", in: context)?.title == "Typee")
    #expect(try Book.bestsellers(atMost: 3, in: context).map(\.isbn) == ["2", "1"])
    #expect(try Book.objects(matching: [:], in: context).count == 3)
    #expect(
      try Book.objects(matching: [.isbn: "1", .isbn: "2"], using: .or, in: context).map(\.isbn) == [
        "1", "2",
      ])
    #expect(try Book.objects(matching: [.isbn: "1", .title: "Typee"], in: context).isEmpty)
    #expect(try Book.object(matching: [.isbn: "1", .salesRank: 3], in: context)?.title == "Walden")
  }

  @Test func typedQueriesFollowToOne() throws {
    let found = try Book.fetch(
      where: \.author.name == "Melville" && \.isbn != "3", sortedBy: \.title, in: context)
    #expect(found.map(\.isbn) == ["2"])
    #expect(try Book.fetch(sortedBy: \.title, limit: 1, offset: 1, in: context).map(\.isbn) == ["3"])
    #expect(try Book.fetch(sortedBy: [.descending(\.isbn)], in: context).map(\.isbn) == ["3", "2", "1"])
    #expect(try Book.count(where: \.salesRank < 3, in: context) == 1)
    #expect(try Book.count(in: context) == 3)
  }

  @Test func severalWhereOneWasAskedForThrows() throws {
    #expect(throws: FetchError.tooManyObjects(entity: "Book")) {
      try Book.object(matching: [.salesRank: 1, .title: "Typee"], using: .or, in: context)
    }
  }

  @Test func wrongKeysAndTypesThrow() throws {
    #expect(
      throws: FetchError.wrongType(entity: "Book", key: "isbn", expected: "String", given: "Int")
    ) {
      try Book.objects(matching: [.isbn: 5], in: context)
    }
    #expect(throws: FetchError.unknownKey(entity: "Book", key: "nothing")) {
      try context.objects(forEntityNamed: "Book", matching: ["nothing": 1])
    }
    #expect(throws: FetchError.unknownEntity("Nobody")) {
      try context.objects(forEntityNamed: "Nobody")
    }
    let predicate = try FetchPredicate(format: "titel == 'x'")
    #expect(throws: FetchError.self) { try context.fetch(FetchRequest<Book>(where: predicate)) }
    let variable = try FetchPredicate(format: "title == $name")
    #expect(throws: FetchError.missingVariable("name")) {
      try context.fetch(FetchRequest<Book>(where: variable))
    }
  }

  // Settled 4: pending changes count in every fetch.
  @Test func settled4PendingChangesCount() throws {
    let walden = try #require(try Book.object(isbn: "1", in: context))
    walden.title = "Walden Pond"
    walden.author.name = "H. D. Thoreau"
    #expect(try Book.objects(matching: \.title, "Walden", in: context).isEmpty)
    #expect(try Book.fetch(where: \.author.name == "H. D. Thoreau", in: context) == [walden])
    let typee = try #require(try Book.object(isbn: "3", in: context))
    context.delete(typee)
    let new = Book(title: "Omoo", isbn: "4", author: walden.author, in: context)
    #expect(try Book.fetch(sortedBy: \.title, limit: 2, in: context).map(\.isbn) == ["2", "4"])
    #expect(try Book.count(in: context) == 3)
    #expect(new.others == [new])
  }

  /// A fetch that leaves unsaved changes out reads the snapshot of the block, whoever decides about the rows.
  @Test func leftOutChangesDoNotEndTheSnapshot() throws {
    let store = try TemporaryStore()
    let (reader, writer) = try (store.freshContext(), store.freshContext())
    let author = Author(name: "Thoreau", in: writer)
    _ = Book(title: "Walden", isbn: "1", author: author, in: writer)
    try writer.save()
    let requests = try ["title != 'x'", "lowercase(title) != 'x'"].map { format -> FetchRequest<Book> in
      let predicate = try FetchPredicate(format: format)
      var request = FetchRequest<Book>(where: predicate)
      request.includesPendingChanges = false
      request.propertiesToFetch = ["title"]
      return request
    }
    try reader.perform {
      try #require(try reader.fetch(requests[0]).first).salesRank = 1
      _ = Book(title: "Typee", isbn: "2", author: author, in: writer)
      try writer.save()
      let counts = try requests.map { try reader.count(for: $0) }
      #expect(counts[0] == counts[1])
      let rows = try requests.map { try reader.dictionaries(for: $0) }
      #expect(rows[0].count == counts[0] && rows[0] == rows[1])
      let books = try requests.map { try reader.fetch($0) }
      #expect(books[0].count == counts[0] && books[0] == books[1])
      #expect(books[1].map { ["title": FetchedValue.value($0.title)] } == rows[1])
    }
  }
}
