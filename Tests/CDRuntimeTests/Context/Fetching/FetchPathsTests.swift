import Foundation
import Testing

@testable import CDPostgresStore
@testable import CDRuntime

/// One request has one answer, whichever of the store and the context gives it.
@Suite struct FetchPathsTests {
  private let container: PersistentContainer

  init() throws {
    container = try PersistentContainer(scratchFor: LibraryModel.self)
    let context = container.newContext()
    let authors = ["Thoreau", "Melville", "Ångström"].map { Author(name: $0, in: context) }
    for number in 0..<60 {
      let book = Book(
        title: "Title \(number % 7)", isbn: String(number), author: authors[number % 3], in: context)
      if number % 4 != 0 { book.salesRank = Int64(number % 5) }
    }
    try context.save()
  }

  static let formats = [
    "salesRank == 3", "salesRank != 3", "salesRank == nil", "NOT salesRank > 2", "salesRank BETWEEN {1, 2}",
    "title BEGINSWITH 'Title 1'", "title ENDSWITH '5' OR salesRank IN {0, 4}", "title LIKE '*3'",
    "author.name == 'Melville' AND salesRank >= 2", "author.name ==[cd] 'angstrom'",
    "salesRank + 1 == 3", "TRUEPREDICATE",
  ]

  @Test(arguments: formats)
  func theStoreAndTheContextAgree(format: String) throws {
    let predicate = try FetchPredicate(format: format)
    let clean = container.newContext()
    let expected = try answer(predicate, in: clean)

    // A change of another entity, which leaves the store to choose where the objects alone decide.
    let elsewhere = container.newContext()
    _ = Author(name: "Nobody", in: elsewhere)
    #expect(try answer(predicate, in: elsewhere) == expected)

    // Changes that come to nothing: every book is pending, with the values that it had.
    let touched = container.newContext()
    for book in try Book.objects(in: touched) { book.title = book.title }
    #expect(try answer(predicate, in: touched) == expected)
    #expect(try Book.count(in: touched) == 60)
  }

  private func answer(_ predicate: FetchPredicate, in context: ManagedObjectContext) throws -> [[String]] {
    var request = FetchRequest<Book>(where: predicate)
    let all = try context.fetch(request).map(\.isbn)
    let count = try context.count(for: request)
    request.sortKeys = [SortKey("title", ascending: false), SortKey("author.name")]
    let sorted = try context.fetch(request).map(\.isbn)
    request.limit = 5
    request.offset = 2
    let window = try context.fetch(request).map(\.isbn)
    #expect(window == Array(sorted.dropFirst(2).prefix(5)))
    return [all, ["\(count)"], sorted, window]
  }

  @Test func unsavedChangesCountInEveryPlace() throws {
    let context = container.newContext()
    let book = try #require(try Book.object(isbn: "7", in: context))
    book.salesRank = 100
    let other = try #require(try Book.object(isbn: "8", in: context))
    context.delete(other)
    let new = Book(title: "New", isbn: "new", author: book.author, in: context)
    new.salesRank = 101
    #expect(
      try Book.fetch(where: \.salesRank > 99, sortedBy: \.salesRank, in: context).map(\.isbn) == ["7", "new"])
    #expect(try Book.object(isbn: "8", in: context) == nil)
    #expect(try Book.object(isbn: "new", in: context) === new)
    #expect(try Book.count(in: context) == 60)
    book.author.name = "Renamed"
    let renamed = try Book.fetch(where: \.author.name == "Renamed", in: context)
    #expect(renamed.count == 21)
    #expect(try Book.count(where: \.author.name == "Melville", in: context) == 0)
  }

  @Test(.needs(.statements)) func aUniqueLookUpUsesItsIndex() throws {
    let context = container.newContext()
    let entity = try #require(context.model.entity("Book"))
    let session = try context.reader()
    let (sql, dialect): (ModelSQL, any SQLDialect) =
      if let session = session as? PostgresSession {
        (session.sql, session.sql.dialect)
      } else {
        (try context.persistentStoreCoordinator.database.sql, .sqlite)
      }
    let compiled = try SQLPredicate.compile(
      try FetchPredicate(format: "isbn == '7'"), entity: entity, plan: context.model, dialect: dialect)
    #expect(compiled.isExact)
    let select = sql.selects[entity.index]
    let query =
      select.sql + " WHERE " + (select.condition ?? "") + " AND "
      + compiled.sql.replacingOccurrences(of: "?", with: "'7'")
    if session is PostgresSession {
      let step = #"Index Scan using "Book.unique.isbn" on "Publication" t0"#
      let plan = try TestServer.plan(query, on: dialect.table(entity.table))
      #expect(plan.contains(step), "\(query): \(plan)")
      return
    }
    let steps = try context.connection().rows("EXPLAIN QUERY PLAN " + query)
    #expect(steps.map { $0[3] } == ["SEARCH t0 USING INDEX Book.unique.isbn (isbn=?)"])
  }
}
