import Foundation
import Testing

@testable import CDRuntime

/// Rows that another program has written by its own idea of them: each is read, what cannot be is reported, and
/// what nobody touched stays as it was.
@Suite(.onlyOnSQLite("a file that is read whole is refused with such a row")) struct UnusualRowTests {
  private let store: TemporaryStore
  private let book: ManagedObjectID

  init() throws {
    store = try TemporaryStore()
    let context = try store.freshContext()
    let author = Author(name: "Thoreau", in: context)
    let book = Book(title: "Walden", isbn: "1-2", author: author, in: context)
    book.salesRank = 3
    try context.save()
    self.book = book.objectID
  }

  private func change(_ sql: String) throws {
    try PlainSQL.run("PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON; " + sql, at: store.url)
  }

  /// The book, and what reading it was reported to lack.
  private func read() throws -> (book: Book, context: ManagedObjectContext, reports: [ObservedError]) {
    let context = try store.freshContext()
    let found = try #require(try Book.objects(in: context).first)
    _ = (found.title, found.price, found.uuid, found.added, found.settings, found.priority)
    return (found, context, context.recentErrors)
  }

  private func report(_ reason: ObservedError.Reason, _ property: String) -> ObservedError {
    ObservedError(reason: reason, entity: "Book", property: property, objectID: book)
  }

  @Test func textThatIsNoUTF8IsReportedAndLeftAlone() throws {
    try change("UPDATE Publication SET title = CAST(x'57FF61' AS TEXT)")
    let (book, context, reports) = try read()
    #expect(book.title == "W\u{FFFD}a")
    #expect(reports == [report(.wrongType, "title")])
    book.isbn = "3"
    try context.save()
    #expect(try PlainSQL.rows("SELECT hex(title) FROM Publication", at: store.url) == ["57FF61"])
  }

  @Test(arguments: ["x'0102'", "x''", "zeroblob(17)"])
  func anIdentifierOfAnotherLengthIsReported(value: String) throws {
    try change("UPDATE Publication SET uuid = \(value)")
    let (book, _, reports) = try read()
    #expect(book.uuid == EmptyValue.uuid)
    #expect(reports == [report(.wrongType, "uuid")])
  }

  @Test(arguments: ["9e999", "-9e999"])
  func aDateWithoutEndIsReported(value: String) throws {
    try change("UPDATE Publication SET added = \(value)")
    let (book, _, reports) = try read()
    #expect(book.added == EmptyValue.date)
    #expect(reports == [report(.wrongType, "added")])
  }

  @Test(arguments: ["70000", "9223372036854775807"])
  func anEnumerationsNumberBeyondItsTypeIsReported(value: String) throws {
    try change("UPDATE Publication SET priority = \(value)")
    let (book, _, reports) = try read()
    #expect(book.priority == .normal || book.priority == .low)
    #expect(reports.count == 1 && reports[0].property == "priority")
  }

  @Test func jsonThatIsNoneIsReported() throws {
    try change("UPDATE Publication SET settings = '{\"fontSize\": '")
    let (book, _, reports) = try read()
    #expect(book.settings == nil)
    #expect(reports == [report(.undecodableValue, "settings")])
  }

  @Test(arguments: ["Scroll", "Publication", "Book\u{0}s"])
  func aRowOfAnUnknownOrAbstractEntityIsNobodys(entity: String) throws {
    let literal = entity.replacingOccurrences(of: "\u{0}", with: "' || char(0) || '")
    try change("UPDATE Publication SET _entity = '\(literal)'")
    let context = try store.freshContext()
    #expect(try Book.objects(in: context).isEmpty)
    #expect(try Publication.objects(in: context).isEmpty)
    #expect(try context.objectIDs(for: FetchRequest<Publication>()).isEmpty)
    let author = try #require(try Author.objects(in: context).first)
    #expect(author.publications.isEmpty)
    #expect(throws: FetchError.unknownObject(book)) { try context.existingObject(with: book) }
    #expect(
      try store.container().persistentStoreCoordinator.verify() == [
        .unknownEntity(entity: "Publication", key: book.key, name: entity)
      ])
  }

  @Test func aReferenceToNothingGivesAnEmptyObjectAndSaysSo() throws {
    try change("DELETE FROM Author")
    let (book, context, _) = try read()
    let author = book.author
    #expect(author.name == "" && author.isInaccessible)
    #expect(context.recentErrors.contains { $0.entity == "Author" && $0.reason == .objectGone })
    // What is not about the reference can be saved, and another object can take the place of what is gone.
    book.salesRank = 4
    try context.save()
    book.author = Author(name: "Emerson", in: context)
    try context.save()
    let read = try #require(try store.freshContext().existingObject(with: self.book) as? Book)
    #expect(read.author.name == "Emerson" && read.salesRank == 4)
  }

  @Test func aKeyThatIsTakenIsAnErrorOfTheSave() throws {
    try change("UPDATE _cdgen_keys SET next = 1")
    let context = try store.freshContext()
    _ = Author(name: "Second", in: context)
    #expect(throws: StoreError.damagedKeys(store.url, entity: "Author")) { try context.save() }
    #expect(try Author.objects(in: store.freshContext()).map(\.name) == ["Thoreau"])
  }

  @Test(arguments: [0, -1, Int64.min])
  func rowsWithoutAKeyThatAnObjectCanHaveArePassedOver(key: Int64) throws {
    try change("INSERT INTO Author (_pk, _version, name) VALUES (\(key), 1, 'Nobody')")
    let report = ObservedError(reason: .unusableKey(key), entity: "Author", property: nil, objectID: nil)
    for _ in 1...2 {
      let context = try store.freshContext()
      #expect(try Author.objects(in: context).map(\.name) == ["Thoreau"])
      #expect(context.recentErrors == [report])
      let request = FetchRequest<Author>()
      #expect(try context.objectIDs(for: request).count == 1)
      #expect(try context.lazyFetch(request).map(\.name) == ["Thoreau"])
      #expect(context.registeredObjects.count == 1)
    }
    // A reference to one is a reference to nothing.
    try change("UPDATE Author SET spouse = \(key) WHERE _pk > 0")
    let context = try store.freshContext()
    #expect(try #require(try Author.objects(in: context).first).spouse == nil)
  }

  @Test func anObjectThatCouldNotBeMadeFailsOneSave() throws {
    try change("UPDATE _cdgen_keys SET next = 9223372036854775807 WHERE entity = 'Author'")
    let context = try store.freshContext()
    let author = Author(name: "Second", in: context)
    #expect(author.isInaccessible && context.hasChanges)
    let tag = Tag(name: "t", in: context)
    #expect(throws: (any Error).self) { try context.save() }
    #expect(tag.isInserted && context.hasChanges)
    try context.save()
    #expect(!context.hasChanges)
    #expect(try Tag.objects(in: store.freshContext()).map(\.name) == ["t"])
    #expect(try Author.objects(in: store.freshContext()).map(\.name) == ["Thoreau"])
  }

  @Test func keysThatHaveComeToTheirEndAreAnErrorOfTheSave() throws {
    try change("UPDATE _cdgen_keys SET next = 9223372036854775807")
    let context = try store.freshContext()
    _ = Author(name: "Second", in: context)
    #expect(throws: (any Error).self) { try context.save() }
    #expect(try Author.objects(in: store.freshContext()).map(\.name) == ["Thoreau"])
  }

  @Test func positionsAtTheEndOfTheNumbersAreNumberedAnew() throws {
    let context = try store.freshContext()
    let tag = Tag(name: "t", in: context)
    let first = try #require(try context.existingObject(with: book) as? Book)
    tag.books = [first]
    try context.save()
    try change("UPDATE \"Book.tags\" SET _inverse_position = 9223372036854775807")
    for isLoaded in [false, true] {
      let context = try store.freshContext()
      let tag = try #require(try Tag.objects(in: context).first)
      if isLoaded { _ = tag.books }
      let author = try #require(try Author.objects(in: context).first)
      tag.addToBooks(Book(title: "\(isLoaded)", isbn: isLoaded ? "5" : "4", author: author, in: context))
      try context.save()
    }
    let read = try #require(try Tag.objects(in: store.freshContext()).first)
    #expect(read.books.map(\.title) == ["Walden", "false", "true"])
  }

  // MARK: Numbers of saves

  @Test func aSaveWithTheLastNumberIsRead() throws {
    let context = try store.freshContext()
    #expect(try Book.objects(in: context).count == 1)
    let coordinator = context.persistentStoreCoordinator
    let token = try coordinator.currentHistoryToken()
    try change(
      "INSERT INTO _cdgen_history (id, time, origin, changes) VALUES (9223372036854775807, 0, 'x', '{}')")
    #expect(try Book.objects(in: context).count == 1)
    #expect(try coordinator.history().count == 2)
    #expect(throws: HistoryError.self) { try coordinator.history(after: token) }
    #expect(try coordinator.history(after: coordinator.currentHistoryToken()).isEmpty)
    _ = try coordinator.verify()
    _ = Tag(name: "t", in: context)
    #expect(throws: StoreError.damagedKeys(store.url, entity: "_cdgen_history")) { try context.save() }
    #expect(context.hasChanges)
    #expect(try Tag.objects(in: store.freshContext()).isEmpty)
  }

  @Test(arguments: [Int64.max, Int64.max - 1, KeyRanges.largestKey, KeyRanges.largestKey - 1])
  func savesThatHaveNoNumberAreRefused(last: Int64) throws {
    try change("UPDATE sqlite_sequence SET seq = \(last) WHERE name = '_cdgen_history'")
    let context = try store.freshContext()
    _ = Tag(name: "t", in: context)
    #expect(throws: StoreError.damagedKeys(store.url, entity: "_cdgen_history")) { try context.save() }
    #expect(context.hasChanges)
    #expect(try Tag.objects(in: store.freshContext()).isEmpty)
  }

  /// The list of keys that migrations have changed.
  @Test(arguments: [
    ("9223372036854775807", "9223372036854775807"), ("4611686018427387905", "1"), ("5", "-1"),
  ])
  func changesOfKeysThatNoMigrationMakesAreLeftOut(below: String, offset: String) throws {
    let list = #"[{"entity":"Book","below":"\#(below)","offset":"\#(offset)"}]"#
    try change("INSERT INTO _cdgen_metadata (key, value) VALUES ('movedKeys', '\(list)')")
    let coordinator = try store.container().persistentStoreCoordinator
    for key in [book.key, .max] {
      let id = ManagedObjectID(storeID: book.storeID, entityName: "Book", key: key)
      #expect(coordinator.managedObjectID(forURIRepresentation: id.uriRepresentation) == id)
    }
  }

  @Test func aVersionOfAnySizeIsAVersion() throws {
    for version in ["-1", "4294967295", "9223372036854775807"] {
      try change("UPDATE Publication SET _version = \(version)")
      let (book, context, _) = try read()
      book.title = "v" + version
      try? context.save()
      #expect(try store.freshContext().existingObject(with: self.book) is Book)
    }
  }
}
