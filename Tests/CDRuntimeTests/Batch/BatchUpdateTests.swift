import CDRuntime
import Foundation
import Testing

/// Values that are set without objects are what objects would have been given.
@Suite struct BatchUpdateTests {
  private let store: TemporaryStore
  private let context: ManagedObjectContext
  private let author: Author
  private let books: [Book]

  init() throws {
    store = try TemporaryStore()
    let context = try store.freshContext()
    let author = Author(name: "Thoreau", in: context)
    books = (0..<10).map { number in
      let book = Book(title: "T\(number)", isbn: "\(number)", author: author, in: context)
      book.salesRank = number < 5 ? Int64(number) : nil
      return book
    }
    try context.save()
    self.context = context
    self.author = author
  }

  @Test func valuesAreSetAndAnnouncedAndVersionsRise() throws {
    let result = try context.execute(
      BatchUpdateRequest<Book>(
        where: \.salesRank < 3, set: [.set(\.price, to: 1), .set(\.priority, to: .high)]))
    #expect(result.count == 3)
    #expect(result.changes == ObjectChanges(updated: ManagedObjectIDs(books[0..<3].map(\.objectID))))
    #expect(try Book.fetch(where: \.price == 1, in: context) == Array(books[0..<3]))
    #expect(books[0].priority == .high && books[3].priority == .normal)
    // The rows are known: a change is no conflict.
    books[0].title = "W"
    try context.save()
  }

  @Test func anObjectWithChangesConflictsAtItsSave() throws {
    books[0].title = "Mine"
    try context.execute(BatchUpdateRequest<Book>(set: [.set(\.price, to: 1)]))
    #expect(
      throws: SaveError.conflict([
        SaveConflict(reason: .changed, objectID: books[0].objectID, keys: ["price"])
      ])
    ) {
      try context.save()
    }
  }

  @Test func calculationsReadTheValuesFromBefore() throws {
    try context.execute(
      BatchUpdateRequest<Book>(
        FetchRequest(where: { $0.salesRank != nil }),
        set: [
          .set("title", to: try ValueExpression(format: "title + '!'")),
          .set(\.salesRank, to: { $0.salesRank * 2 }),
        ]))
    #expect(books.map(\.title).prefix(6) == ["T0!", "T1!", "T2!", "T3!", "T4!", "T5"])
    #expect(books.map(\.salesRank).prefix(6) == [0, 2, 4, 6, 8, nil])
    // Over the objects of others, of which some are in the batch.
    try context.execute(
      BatchUpdateRequest<Book>(
        FetchRequest(entityName: "Book"),
        set: [
          .set("salesRank", to: try ValueExpression(format: "author.publications.@count + (salesRank ?? 0)"))
        ]))
    #expect(books.map(\.salesRank).prefix(6) == [10, 12, 14, 16, 18, 10])
  }

  @Test func aResultThatDoesNotFitIsRefusedWithItsObject() throws {
    books[4].salesRank = .max
    try context.save()
    #expect(throws: FetchError.self) {
      try context.execute(BatchUpdateRequest<Book>(set: [.set(\.salesRank, to: { $0.salesRank + 1 })]))
    }
    do {
      try context.execute(
        BatchUpdateRequest<Book>(
          FetchRequest(entityName: "Book"),
          set: [.set("price", to: try ValueExpression(format: "salesRank - 2"))]))
      Issue.record("prices below 0 are refused")
    } catch BatchError.invalid(let mistakes) {
      #expect(mistakes.first?.objectID == books[0].objectID && mistakes.first?.reason == .outOfRange)
      #expect(mistakes.contains { $0.objectID == books[5].objectID && $0.reason == .missingValue })
    }
    #expect(books.allSatisfy { $0.price == Decimal(string: "9.99") })
  }

  /// Whether SQL calculates the value or the evaluator.
  @Test(arguments: ["title", "lowercase:(title)"])
  func aBooleanIsNoIntegerWithoutACast(text: String) throws {
    func update(_ format: String) throws {
      try context.execute(
        BatchUpdateRequest<Book>(
          FetchRequest(entityName: "Book"),
          set: [.set("salesRank", to: try ValueExpression(format: format))]))
    }
    let isFirst = "TERNARY(\(text) IN {'T1', 't1'}, YES, NO)"
    let error = BatchError.wrongExpression(
      entity: "Book", key: "salesRank", reason: "it takes Int64, but the expression is Bool")
    #expect(throws: error) { try update(isFirst) }
    try update("CAST(\(isFirst), 'Int64')")
    #expect(books.map(\.salesRank).prefix(3) == [0, 1, 0])
  }

  @Test func aConditionWithoutAnAnswerIsRefusedAsInAFetch() throws {
    books[4].salesRank = .max
    try context.save()
    let request = FetchRequest<Book>(where: try FetchPredicate(format: "salesRank + 1 > 3"))
    #expect(throws: FetchError.self) { try context.fetch(request) }
    #expect(throws: FetchError.self) {
      try context.execute(BatchUpdateRequest<Book>(request, set: [.set(\.price, to: 1)]))
    }
    // What memory settles before it comes to the sum is no mistake.
    let guarded = FetchRequest<Book>(
      where: try FetchPredicate(format: "salesRank < 100 AND salesRank + 1 > 3"))
    #expect(
      try context.execute(BatchUpdateRequest<Book>(guarded, set: [.set(\.price, to: 1)])).count
        == context.fetch(guarded).count)
    #expect(books.map { $0.price == 1 } == (0..<10).map { $0 == 3 })
  }

  @Test func referencesAreSetWithTheirOrderAndDerivedAttributes() throws {
    let reviews = ([1, 2, 3, 4] as [Int16]).map { Review(stars: $0, in: context) }
    for review in reviews { books[0].addToReviews(review) }
    books[1].addToReviews(Review(stars: 5, in: context))
    try context.save()
    #expect(books[0].reviewCount == 4)
    let target = books[1].objectID
    let result = try context.execute(
      BatchUpdateRequest<Review>(where: \.stars <= 2, set: [.set(\.book, to: target)]))
    #expect(
      result.count == 2 && result.changes.updated.contains(books[0].objectID)
        && result.changes.updated.contains(target))
    #expect(books[0].reviews.map(\.stars) == [3, 4] && books[1].reviews.map(\.stars) == [5, 1, 2])
    #expect(books[0].reviewCount == 2 && books[1].reviewCount == 3)
  }

  @Test func whoStaysWithItsOwnerKeepsItsPlace() throws {
    for stars in [1, 2, 3] as [Int16] { books[0].addToReviews(Review(stars: stars, in: context)) }
    for stars in [4, 5] as [Int16] { books[1].addToReviews(Review(stars: stars, in: context)) }
    try context.save()
    let request = FetchRequest<Review>(where: try FetchPredicate(format: "stars IN {1, 4}"))
    let target = books[0].objectID
    #expect(
      try context.execute(BatchUpdateRequest<Review>(request, set: [.set(\.book, to: target)])).count == 2)
    let read = try store.freshContext()
    func order(_ isbn: String) throws -> [Int16] {
      try #require(try Book.object(isbn: isbn, in: read)).reviews.map(\.stars)
    }
    #expect(try order("0") == [1, 2, 3, 4])
    #expect(try order("1") == [5])
    // Away from all, and back.
    try context.execute(BatchUpdateRequest<Review>(where: \.stars == 2, set: [.set(\.book, to: nil)]))
    try context.execute(BatchUpdateRequest<Review>(where: \.stars == 2, set: [.set(\.book, to: target)]))
    #expect(try order("0") == [1, 3, 4, 2])
  }

  @Test func aConditionBeyondSQLChoosesTheSameObjects() throws {
    let odd = try FetchPredicate(format: "title MATCHES 'T[13579]' AND title.length == 2")
    #expect(
      try context.execute(BatchUpdateRequest<Book>(FetchRequest(where: odd), set: [.set(\.price, to: 2)]))
        .count == 5)
    #expect(try Book.fetch(where: \.price == 2, in: context).map(\.isbn) == ["1", "3", "5", "7", "9"])
    var two = FetchRequest<Book>()
    two.sortKeys = [SortKey("title", ascending: false)]
    two.limit = 2
    #expect(try context.execute(BatchUpdateRequest(two, set: [.set(\.price, to: 3)])).count == 2)
    #expect(try Book.fetch(where: \.price == 3, in: context).map(\.isbn) == ["8", "9"])
  }

  @Test func noPartOfACompositeIsSetWhereItsMandatoryFieldIsMissing() throws {
    for book in books[0..<2] { book.shippedTo = Address(street: "Main") }
    try context.save()
    func set(_ condition: String, _ city: FetchedValue) throws -> Int {
      let request = FetchRequest<Book>(where: try FetchPredicate(format: condition))
      return try context.execute(BatchUpdateRequest(request, set: [.set("shippedTo.city", to: city)])).count
    }
    do {
      _ = try set("isbn IN {'1', '2', '3'}", "Concord")
      Issue.record("a city without a street is no address")
    } catch BatchError.invalid(let mistakes) {
      #expect(Set(mistakes.compactMap(\.objectID)) == Set(books[2...3].map(\.objectID)))
      #expect(mistakes.count == 2)
      #expect(mistakes.allSatisfy { $0.property == "shippedTo.street" && $0.reason == .missingValue })
    }
    #expect(books.compactMap(\.shippedTo?.city).isEmpty)
    // The field can be set if there is a street, and it can be set to nil.
    #expect(try set("shippedTo.street == 'Main'", "Concord") == 2)
    #expect(try set("isbn IN {'1', '2'}", nil) == 2)
    #expect(books[0].shippedTo == Address(street: "Main", city: "Concord"))
    #expect(books[1].shippedTo == Address(street: "Main") && books[2].shippedTo == nil)
    // Both fields together make a composite.
    try context.execute(
      BatchUpdateRequest<Book>(
        set: [.set("shippedTo.city", to: "Boston"), .set("shippedTo.street", to: "Tremont")]))
    #expect(books.allSatisfy { $0.shippedTo == Address(street: "Tremont", city: "Boston") })
  }

  @Test func theLaterOfTwoValuesForAFieldApplies() throws {
    let whole = BatchAssignment<Book>.set(
      "shippedTo", to: .attribute(.composite(["street": .string("Main"), "city": .string("A")])))
    let field = BatchAssignment<Book>.set("shippedTo.city", to: "B")
    try context.execute(BatchUpdateRequest<Book>(set: [whole, field]))
    #expect(books.allSatisfy { $0.shippedTo == Address(street: "Main", city: "B") })
    try context.execute(BatchUpdateRequest<Book>(set: [field, whole]))
    #expect(books.allSatisfy { $0.shippedTo == Address(street: "Main", city: "A") })
    let none = BatchAssignment<Book>.set("shippedTo", to: nil as FetchedValue)
    #expect(throws: BatchError.self) {
      try context.execute(BatchUpdateRequest<Book>(set: [none, field]))
    }
    try context.execute(BatchUpdateRequest<Book>(set: [field, none]))
    #expect(books.allSatisfy { $0.shippedTo == nil })
  }

  @Test func takenUniqueValuesAreRefused() throws {
    #expect(throws: BatchError.notUnique(entity: "Book", properties: ["isbn"], row: nil)) {
      try context.execute(BatchUpdateRequest<Book>(set: [.set(\.isbn, to: "1")]))
    }
    #expect(Set(books.map(\.isbn)).count == 10)
  }
}
