@_spi(Generated) import CDRuntime
import Foundation
import Testing

extension Fields where Root == Book {
  fileprivate var added: Attribute<Date> { Attribute("added") }
}

/// Rows that are inserted without objects are what objects would have been.
@Suite struct BatchInsertTests {
  private let store: TemporaryStore
  private let context: ManagedObjectContext
  private let author: Author

  private struct Record {
    let title: String
    let isbn: String
    let rank: Int64?

    init(_ title: String, _ isbn: String, _ rank: Int64?) {
      self.title = title
      self.isbn = isbn
      self.rank = rank
    }
  }

  init() throws {
    store = try TemporaryStore()
    context = try store.freshContext()
    author = Author(name: "Thoreau", in: context)
    try context.save()
  }

  private func request(
    _ records: some Sequence<Record>
  ) -> BatchInsertRequest<Book> {
    let id = author.objectID
    return BatchInsertRequest(
      records,
      columns: [
        .set(\.title) { $0.title }, .set(\.isbn) { $0.isbn }, .set(\.salesRank) { $0.rank },
        .set(\.author) { _ in id },
        .set("uuid") { _ in .value(UUID()) },
      ])
  }

  @Test func rowsHaveTheirValuesDefaultsAndReferences() throws {
    let result = try context.execute(
      request((1...1000).lazy.map { Record("Volume \($0)", "\($0)", $0 % 2 == 0 ? nil : Int64($0)) }))
    #expect(result.count == 1000 && result.changes.inserted.count == 1000)
    #expect(result.changes.updated.isEmpty && result.changes.deleted.isEmpty)
    let other = try store.freshContext()
    let books = try Book.objects(in: other)
    #expect(books.map(\.objectID) == Array(result.changes.inserted))
    #expect(books.map(\.title) == (1...1000).map { "Volume \($0)" })
    for (number, book) in books.enumerated() {
      #expect(book.salesRank == (number % 2 == 0 ? Int64(number + 1) : nil))
    }
    #expect(books.allSatisfy { $0.price == Decimal(string: "9.99") && $0.priority == .normal })
    #expect(books.allSatisfy { abs($0.added.timeIntervalSinceNow) < 60 && $0.reviewCount == 0 })
    #expect(try Author.objects(in: other)[0].publications.count == 1000)
    // A context that has read the author before learns of them too.
    #expect(author.publications.count == 1000)
  }

  @Test func aNewObjectNeverHasAKeyOfTheBatch() throws {
    let before = Author(name: "before", in: context)
    let result = try context.execute(
      BatchInsertRequest<Author>((1...10).map(String.init), columns: [.set(\.name) { $0 }]))
    let after = Author(name: "after", in: context)
    try context.save()
    let other = Author(name: "other", in: try store.freshContext())
    for object in [before, after, other] { #expect(!result.changes.inserted.contains(object.objectID)) }
    #expect(try Author.count(in: context) == 13)
  }

  @Test func everyBrokenRuleIsNamedWithItsRowAndNothingIsWritten() throws {
    var mistakes: [BatchMistake] = []
    do {
      try context.execute(
        BatchInsertRequest<Review>([1, 0, 5, 6] as [Int16], columns: [.set(\.stars) { $0 }]))
    } catch BatchError.invalid(let found) {
      mistakes = found
    }
    #expect(
      mistakes.map(\.row) == [1, 3]
        && mistakes.allSatisfy { $0.property == "stars" && $0.reason == .outOfRange })
    #expect(try Review.count(in: context) == 0)
    #expect(throws: BatchError.self) {
      try context.execute(BatchInsertRequest<Book>(["a"], columns: [.set(\.title) { $0 }]))
    }
  }

  @Test func aDateThatIsNoneIsRefusedAndAMissingValueToo() throws {
    let id = author.objectID
    func reasons(_ added: BatchColumn<Book, Date?>) throws -> [Int?: ValidationError.Reason] {
      let request = BatchInsertRequest<Book>(
        [Date(), Date(timeIntervalSinceReferenceDate: .nan), nil],
        columns: [
          .set("title") { _ in "A" },
          .set("isbn") { _ in .value("\(Int64.random(in: 1_000_000_000...9_999_999_999))") },
          .set("author") { _ in .object(id) }, .set("uuid") { _ in .value(UUID()) }, added,
        ])
      do {
        try context.execute(request)
        return [:]
      } catch BatchError.invalid(let found) {
        return Dictionary(found.map { ($0.row, $0.reason) }) { first, _ in first }
      }
    }
    let byName = BatchColumn<Book, Date?>.set("added") { .attribute($0.map(AttributeValue.date) ?? .null) }
    #expect(try reasons(byName) == [1: .notANumber, 2: .missingValue])
    let typed = BatchColumn<Book, Date?>.set(\.added) {
      $0 ?? Date(timeIntervalSinceReferenceDate: .infinity)
    }
    #expect(try reasons(typed) == [1: .notANumber, 2: .notANumber])
    #expect(try Book.count(in: context) == 0)
  }

  @Test func aRowWithTakenUniqueValuesIsRefusedKeptOrUpdatesTheOther() throws {
    try context.execute(request([Record("A", "1", 1)]))
    #expect(throws: BatchError.notUnique(entity: "Book", properties: ["isbn"], row: 1)) {
      try context.execute(request([Record("B", "2", 2), Record("C", "1", 3)]))
    }
    #expect(try Book.count(in: context) == 1)
    var keeping = request([Record("B", "2", 2), Record("C", "1", 3)])
    keeping.uniqueness = .keep
    let kept = try context.execute(keeping)
    #expect(kept.count == 1 && kept.changes.inserted.count == 1)
    #expect(try Book.objects(in: context).map(\.title) == ["A", "B"])
    var updating = request([Record("D", "1", nil), Record("E", "3", 3)])
    updating.uniqueness = .update
    let updated = try context.execute(updating)
    #expect(updated.count == 2 && updated.changes.inserted.count == 1 && updated.changes.updated.count == 1)
    #expect(try Book.objects(in: context).map(\.title) == ["D", "B", "E"])
    #expect(try Book.object(isbn: "1", in: context)?.salesRank == nil)
  }

  @Test func aRowThatNothingElseDependsOnUpdatesTheOtherByItsColumns() throws {
    func request(_ names: [String]) -> BatchInsertRequest<Tag> {
      var request = BatchInsertRequest<Tag>(names, columns: [.set(\.name) { $0 }])
      request.uniqueness = .update
      return request
    }
    let first = try context.execute(request(["a", "b"]))
    #expect(first.count == 2 && first.changes.inserted.count == 2)
    let second = try context.execute(request(["b", "c", "c"]))
    #expect(second.count == 3 && second.changes.inserted.count == 1 && second.changes.updated.count == 1)
    #expect(try Tag.objects(in: context).map(\.name) == ["a", "b", "c"])
  }

  @Test(arguments: [BatchUniqueness.refuse, .update])
  func theLaterOfTwoColumnsForAFieldApplies(_ uniqueness: BatchUniqueness) throws {
    let id = author.objectID
    func insert(_ street: String?, isbn: String, _ isWholeFirst: Bool) throws {
      let address = street.map { AttributeValue.composite(["street": .string($0), "city": .string("A")]) }
      let whole = BatchColumn<Book, String>.set("shippedTo") { _ in .attribute(address ?? .null) }
      let field = BatchColumn<Book, String>.set("shippedTo.city") { _ in "B" }
      let others: [BatchColumn<Book, String>] = [
        .set("title") { .value($0) }, .set("isbn") { .value($0) }, .set("author") { _ in .object(id) },
        .set("uuid") { _ in .value(UUID()) },
      ]
      var request = BatchInsertRequest<Book>(
        [isbn], columns: (isWholeFirst ? [whole, field] : [field, whole]) + others)
      request.uniqueness = uniqueness
      try context.execute(request)
    }
    try insert("Main", isbn: "1", true)
    try insert("Main", isbn: "2", false)
    try insert(nil, isbn: "3", false)
    let addresses = [Address(street: "Main", city: "B"), Address(street: "Main", city: "A"), nil]
    #expect(try Book.objects(in: context).map(\.shippedTo) == addresses)
    do {
      try insert(nil, isbn: "4", true)
      Issue.record("a city without a street is no address")
    } catch BatchError.invalid(let mistakes) {
      #expect(mistakes.map(\.property) == ["shippedTo.street"] && mistakes.map(\.row) == [0])
    }
    #expect(try Book.count(in: context) == 3)
  }

  @Test func dictionariesDoWhereThereIsNoClass() throws {
    let rows: [[String: FetchedValue]] = [
      ["title": "A", "isbn": "1", "author": .object(author.objectID), "uuid": .value(UUID())],
      [
        "title": "B", "isbn": "2", "author": .object(author.objectID), "uuid": .value(UUID()), "price": 5,
        "shippedTo": .attribute(.composite(["street": .string("Main"), "city": .null])),
      ],
    ]
    try context.execute(BatchInsertRequest<ManagedObject>(entityName: "Book", rows: rows))
    let books = try Book.objects(in: context)
    #expect(books.map(\.price) == [Decimal(string: "9.99"), 5])
    #expect(books.map(\.shippedTo) == [nil, Address(street: "Main")])
    #expect(throws: PropertyError.unknownKey(entity: "Tag", key: "nam", suggestion: "name")) {
      try context.execute(
        BatchInsertRequest<ManagedObject>(entityName: "Tag", rows: [["name": "a", "nam": "b"]]))
    }
    #expect(throws: BatchError.notWritable(entity: "Tag", key: "books")) {
      try context.execute(
        BatchInsertRequest<ManagedObject>(entityName: "Tag", rows: [["name": "a", "books": nil]]))
    }
    #expect(throws: FetchError.abstractEntity("Publication")) {
      try context.execute(BatchInsertRequest<ManagedObject>(entityName: "Publication", rows: []))
    }
  }

  @Test func dictionariesUpdateWhatTheyNameAndNoMore() throws {
    try context.execute(request([Record("A", "1", 7)]))
    let book = try #require(try Book.object(isbn: "1", in: context))
    book.prequel = Book(title: "B", isbn: "2", author: author, in: context)
    (book.priority, book.shippedTo) = (.high, Address(street: "Main"))
    try context.save()
    let (uuid, added) = (book.uuid, book.added)
    var upsert = BatchInsertRequest<ManagedObject>(
      entityName: "Book", rows: [["isbn": "1", "title": "D", "author": .object(author.objectID)]])
    upsert.uniqueness = .update
    #expect(try context.execute(upsert).changes.updated == ManagedObjectIDs([book.objectID]))
    let read = try store.freshContext()
    let found = try #require(try Book.object(isbn: "1", in: read))
    #expect(found.title == "D" && found.salesRank == 7 && found.uuid == uuid && found.added == added)
    #expect(found.priority == .high && found.shippedTo == Address(street: "Main"))
    #expect(found.prequel?.isbn == "2")
    // A new row has the defaults of what it does not name, and a row has to have what is mandatory, for it may be new.
    upsert = BatchInsertRequest(
      entityName: "Book", rows: [["isbn": "3", "title": "E", "author": .object(author.objectID)]])
    upsert.uniqueness = .update
    try context.execute(upsert)
    #expect(try Book.object(isbn: "3", in: read)?.price == Decimal(string: "9.99"))
    upsert = BatchInsertRequest(entityName: "Book", rows: [["isbn": "1", "salesRank": 8]])
    upsert.uniqueness = .update
    #expect(throws: BatchError.self) { try context.execute(upsert) }
  }

  @Test func rowsGoBehindTheOthersOfAnOrderedRelationshipAndCountInDerivedAttributes() throws {
    try context.execute(request([Record("A", "1", nil)]))
    let book = try #require(try Book.objects(in: context).first)
    let first = Review(stars: 1, in: context)
    book.addToReviews(first)
    try context.save()
    let id = book.objectID
    let result = try context.execute(
      BatchInsertRequest<Review>(
        [2, 3, 4] as [Int16], columns: [.set(\.stars) { $0 }, .set(\.book) { _ in id }]))
    #expect(result.changes.updated.contains(id))
    #expect(book.reviews.map(\.stars) == [1, 2, 3, 4])
    #expect(book.reviewCount == 4)
    #expect(throws: BatchError.self) {
      try context.execute(
        BatchInsertRequest<Review>(
          repeatElement(1, count: 497), columns: [.set(\.stars) { $0 }, .set(\.book) { _ in id }]))
    }
    #expect(book.reviews.count == 4)
  }

  @Test func aReferenceThatLeadsNowhereIsRefused() throws {
    let gone = Book(title: "A", isbn: "1", author: author, in: context).objectID
    context.rollback()
    #expect(throws: BatchError.danglingReferences(entity: "Review")) {
      try context.execute(
        BatchInsertRequest<Review>(
          [1] as [Int16], columns: [.set(\.stars) { $0 }, .set(\.book) { _ in gone }]))
    }
    let wrong = author.objectID
    #expect(throws: PropertyError.self) {
      try context.execute(
        BatchInsertRequest<Review>(
          [1] as [Int16], columns: [.set(\.stars) { $0 }, .set(\.book) { _ in wrong }]))
    }
    #expect(try Review.count(in: context) == 0)
  }
}
