import Foundation
import Testing

@testable import CDRuntime

/// The forms in which a request's objects come, with nothing unsaved and with unsaved changes.
@Suite struct FetchFormTests {
  private static let formats = [
    nil, "title ==[cd] 'a'", "salesRank == nil", "salesRank >= 2 OR title == 'c'", "author.name == 'Thoreau'",
    "ANY reviews.stars > 1", "CAST(title, 'String') == 'b'", "tags.@count == 2",
  ]
  private static let orders: [[SortKey]] = [
    [], [SortKey("title")], [SortKey("title", options: [.caseInsensitive, .diacriticInsensitive])],
    [SortKey("author.name", ascending: false, options: .diacriticInsensitive), SortKey("isbn")],
    [SortKey("salesRank"), SortKey("reviews.@count", ascending: false)],
  ]

  /// Every form gives what filtering and sorting all objects in memory gives.
  @Test(arguments: FetchLibrary.Kind.allCases, [false, true])
  func allFormsAgree(kind: FetchLibrary.Kind, hasChanges: Bool) throws {
    let library = try FetchLibrary(kind)
    let context = library.container.newContext()
    if hasChanges { try change(context) }
    let all = try context.fetch(FetchRequest<Book>())
    #expect(all.count == 12)
    let evaluator = PredicateEvaluator()
    for format in Self.formats {
      for order in Self.orders {
        var request = FetchRequest<Book>(where: try format.map { try FetchPredicate(format: $0) })
        request.sortKeys = order
        let predicate = request.predicate
        let matching = try all.filter { book in try predicate.map { try evaluator.matches($0, book) } ?? true
        }
        let sorted = try evaluator.sorted(matching, by: order)
        for (limit, offset) in [(nil, 0), (3, 0), (2, 1), (0, 0), (nil, 4), (Int.max, Int.max)]
          as [(Int?, Int)]
        {
          request.limit = limit
          request.offset = offset
          let rest = sorted.dropFirst(offset)
          let expected = Array(limit.map { rest.prefix($0) } ?? rest)
          let what: Comment = "\(format ?? "all") \(order.map(\.keyPath)) \(limit as Any) \(offset)"
          #expect(try context.fetch(request) == expected, what)
          #expect(try context.objectIDs(for: request) == expected.map(\.objectID), what)
          #expect(try Array(context.lazyFetch(request)) == expected, what)
          #expect(try context.count(for: request) == expected.count, what)
          request.propertiesToFetch = ["isbn", "author.name"]
          let values = try context.dictionaries(for: request)
          #expect(values.map { $0["isbn"]?.attribute } == expected.map { .string($0.isbn) }, what)
          #expect(
            values.map { $0["author.name"]?.attribute } == expected.map { .string($0.author.name) }, what)
        }
      }
    }
  }

  /// `now()` is the same for the rows that the store selects, for objects with changes, and in a child for the parent's.
  @Test(arguments: [false, true]) func aFetchHasOneTime(isChild: Bool) throws {
    let container = try PersistentContainer(scratchFor: LibraryModel.self)
    let parent = container.newContext()
    let author = Author(name: "A", in: parent)
    _ = Book(title: "saved", isbn: "1", author: author, in: parent)
    try parent.save()
    let context = isChild ? ManagedObjectContext(parent: parent) : parent
    let same = try isChild ? context.localInstance(of: author) : author
    _ = Book(title: "unsaved", isbn: "2", author: same, in: context)
    let plan = try #require(context.model.entity("Book"))
    let request = FetchRequest<Book>(where: try FetchPredicate(format: "added < now()"))
    for (time, count) in [(Date.distantPast, 0), (Date.distantFuture, 2)] {
      #expect(try FetchRun(request, of: plan, in: context, now: time).count() == count)
    }
  }

  private func change(_ context: ManagedObjectContext) throws {
    let books = try context.fetch(FetchRequest<Book>())
    context.delete(books[3])
    books[4].title = "a"
    books[5].salesRank = nil
    books[6].author.name = "Thoreau"
    let new = Book(title: "Ab", isbn: "99", author: books[0].author, in: context)
    new.addToReviews(Review(stars: 5, in: context))
    books[8].removeFromTags(books[8].tags[0])
  }

  @Test func stringOptionsOrderTheStoreAsMemory() throws {
    let library = try FetchLibrary(.inMemory)
    let context = library.container.newContext()
    var request = FetchRequest<Book>()
    func titles(_ key: SortKey) throws -> [String] {
      request.sortKeys = [key]
      return try context.fetch(request).map(\.title)
    }
    #expect(try titles(SortKey("title")) == ["A", "A", "B", "B", "a", "a", "b", "b", "c", "c", "Ä", "Ä"])
    #expect(
      try titles(SortKey("title", options: .caseInsensitive)) == [
        "A", "a", "A", "a", "Ä", "Ä", "b", "B", "b", "B", "c", "c",
      ])
    #expect(
      try titles(SortKey("title", options: [.caseInsensitive, .diacriticInsensitive])) == [
        "A", "a", "Ä", "A", "a", "Ä", "b", "B", "b", "B", "c", "c",
      ])
    #expect(
      try Book.fetch(sortedBy: [.descending(\.title, options: .caseInsensitive)], limit: 3, in: context)
        .map(\.title) == ["c", "c", "b"])
    #expect(throws: FetchError.optionsOfNoString(entity: "Book", key: "salesRank")) {
      try titles(SortKey("salesRank", options: .caseInsensitive))
    }
  }

  @Test func subentitiesCountAsWanted() throws {
    let library = try FetchLibrary(.inMemory)
    let context = library.container.newContext()
    var request = FetchRequest<Publication>()
    _ = Magazine(title: "new", issue: 9, author: try Author.objects(in: context)[0], in: context)
    #expect(try context.count(for: request) == 16)
    #expect(Set(try context.objectIDs(for: request).map(\.entityName)) == ["Book", "Magazine"])
    request.includesSubentities = false
    #expect(try context.count(for: request) == 0)
    #expect(try context.objectIDs(for: request).isEmpty)
  }

  @Test(arguments: FetchLibrary.Kind.allCases)
  func withoutPendingChangesTheStoreDecides(kind: FetchLibrary.Kind) throws {
    let library = try FetchLibrary(kind)
    let context = library.container.newContext()
    let books = try context.fetch(FetchRequest<Book>())
    books[0].title = "changed"
    context.delete(books[2])
    _ = Book(title: "b", isbn: "99", author: books[0].author, in: context)
    // By SQL alone, and with the evaluator.
    for format in ["title IN {'a', 'b'}", "CAST(title, 'String') IN {'a', 'b'}"] {
      var request = FetchRequest<Book>(where: try FetchPredicate(format: format))
      request.includesPendingChanges = false
      request.sortKeys = [SortKey("title", ascending: false)]
      #expect(try context.fetch(request) == [books[0], books[6], books[2], books[8]])
      #expect(try context.count(for: request) == 4)
      #expect(try context.objectIDs(for: request).count == 4)
      request.propertiesToFetch = ["title"]
      #expect(
        try context.dictionaries(for: request).map { $0["title"]?.attribute } == [
          .string("b"), .string("b"), .string("a"), .string("a"),
        ])
      request.includesPendingChanges = true
      #expect(try context.fetch(request).map(\.isbn) == ["6", "99", "8"])
    }
  }

  @Test(.needs(.statements)) func identifiersReadNoRows() throws {
    let library = try FetchLibrary(.file)
    let context = library.container.newContext()
    let trace = try StatementTrace(context)
    var request = FetchRequest<Book>(where: try FetchPredicate(format: "salesRank == 1"))
    #expect(try context.objectIDs(for: request).count == 2)
    request.sortKeys = [SortKey("author.name")]
    _ = try context.objectIDs(for: request)
    let (equality, order) =
      StoreKind.ofEnvironment == .postgresql ? ("=", #" COLLATE "C" NULLS FIRST"#) : ("IS", "")
    let start =
      #"SELECT t0._pk FROM "Publication" AS t0 WHERE t0._entity IN ('Book') "#
      + #"AND (t0."salesRank" \#(equality) ?) "#
    #expect(
      trace.taken() == [
        start + "ORDER BY t0._pk",
        start
          + #"ORDER BY (SELECT r1."name" FROM "Author" AS r1 WHERE r1._pk = t0."author")\#(order), t0._pk"#,
      ])
    #expect(context.registeredObjects.isEmpty)
  }

  @Test(.needs(.statements)) func aLimitBoundsWhatIsReadBesideUnsavedChanges() throws {
    let library = try FetchLibrary(.file)
    let context = library.container.newContext()
    let changed = try #require(try Book.object(isbn: "0", in: context))
    changed.title = "zz"
    var request = FetchRequest<Book>()
    request.sortKeys = [SortKey("isbn")]
    request.limit = 2
    let trace = try StatementTrace(context)
    #expect(try context.fetch(request).map(\.isbn) == ["0", "1"])
    let end =
      StoreKind.ofEnvironment == .postgresql
      ? #"ORDER BY t0."isbn" COLLATE "C" NULLS FIRST, t0._pk LIMIT 3"#
      : #"ORDER BY t0."isbn", t0._pk LIMIT 3 OFFSET 0"#
    #expect(trace.taken().map { $0.hasSuffix(end) } == [true])
    #expect(context.registeredObjects.count == 3)
  }
}
