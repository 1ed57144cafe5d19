import Foundation
import Testing

@testable import CDRuntime

/// The table of the article "Typed queries": each row says the same in Swift, in a format string and in SQL.
@Suite(.onceForAllKinds) struct QueryLanguageTableTests {
  private struct Row {
    let swift: String
    let condition: @Sendable (Fields<Book>) -> FetchPredicate
    let format: String
    let sql: String

    init(
      _ swift: String, _ format: String, _ sql: String,
      _ condition: @escaping @Sendable (Fields<Book>) -> FetchPredicate
    ) {
      (self.swift, self.condition, self.format, self.sql) = (swift, condition, format, sql)
    }

    /// The row as the article has it.
    var text: String {
      let cells = [swift, format, sql].map {
        $0.isEmpty ? "in memory" : "`\($0.replacing("|", with: "\\|"))`"
      }
      return "| \(cells.joined(separator: " | ")) |"
    }
  }

  private static let rows = [
    Row("book.title == \"Walden\"", "title == 'Walden'", #"t0."title" IS ?"#) { $0.title == "Walden" },
    Row("book.salesRank != 3", "salesRank != 3", #"t0."salesRank" IS NOT ?"#) { $0.salesRank != 3 },
    Row("book.salesRank == nil", "salesRank == nil", #"t0."salesRank" IS NULL"#) { $0.salesRank == nil },
    Row("book.salesRank < 10", "salesRank < 10", #"t0."salesRank" < ?"#) { $0.salesRank < 10 },
    Row("book.salesRank.isIn([1, 2])", "salesRank IN {1, 2}", #"t0."salesRank" IN (?, ?)"#) {
      $0.salesRank.isIn([1, 2])
    },
    Row(
      "book.salesRank.isBetween(1, 9)", "salesRank BETWEEN {1, 9}",
      #"t0."salesRank" >= ? AND t0."salesRank" <= ?"#
    ) { $0.salesRank.isBetween(1, 9) },
    Row(
      "book.salesRank.isIn(1..<9)", "salesRank >= 1 AND salesRank < 9",
      #"t0."salesRank" >= ? AND t0."salesRank" < ?"#
    ) { $0.salesRank.isIn(1..<9) },
    Row("book.title == book.isbn", "title == isbn", #"t0."title" IS t0."isbn""#) { $0.title == $0.isbn },
    Row(
      "book.title.hasPrefix(\"W\")", "title BEGINSWITH 'W'",
      #"t0."title" >= ? AND t0."title" < ? AND cdgen_search(t0."title", ?, 0, 0)"#
    ) { $0.title.hasPrefix("W") },
    Row("book.title.hasSuffix(\"n\")", "title ENDSWITH 'n'", #"cdgen_search(t0."title", ?, 1, 0)"#) {
      $0.title.hasSuffix("n")
    },
    Row("book.title.contains(\"al\")", "title CONTAINS 'al'", #"cdgen_search(t0."title", ?, 2, 0)"#) {
      $0.title.contains("al")
    },
    Row(
      "book.title.contains(\"AL\", options: .caseInsensitive)", "title CONTAINS[c] 'AL'",
      #"cdgen_search(t0."title", ?, 2, 1)"#
    ) {
      $0.title.contains("AL", options: .caseInsensitive)
    },
    Row("book.title.like(\"W*n\")", "title LIKE 'W*n'", #"cdgen_like(t0."title", ?, 0)"#) {
      $0.title.like("W*n")
    },
    Row("book.title.matches(\"W.+\")", "title MATCHES 'W.+'", #"cdgen_matches(t0."title", ?, 0)"#) {
      $0.title.matches("W.+")
    },
    Row("book.title.lowercased() == \"walden\"", "lowercase(title) == 'walden'", "") {
      $0.title.lowercased() == "walden"
    },
    Row(
      "book.salesRank + 1 < 10", "salesRank + 1 < 10",
      #"(CASE WHEN t0."salesRank" > ? THEN cdgen_add(t0."salesRank", ?) ELSE t0."salesRank" + ? END) < ?"#
    ) { $0.salesRank + 1 < 10 },
    Row("(book.salesRank ?? 0) > 5", "salesRank ?? 0 > 5", #"coalesce(t0."salesRank", ?) > ?"#) {
      ($0.salesRank ?? 0) > 5
    },
    Row(
      "book.author.name == \"Thoreau\"", "author.name == 'Thoreau'",
      #"(SELECT r1."name" FROM "Author" AS r1 WHERE r1._pk = t0."author") IS ?"#
    ) { $0.author.name == "Thoreau" },
    Row("book.prequel == nil", "prequel == nil", #"t0."prequel" IS NULL"#) { $0.prequel == nil },
    Row(
      "book.reviews.isEmpty", "reviews.@count == 0",
      #"(SELECT count(*) FROM "Review" AS r1 WHERE r1."book" = t0._pk) IS ?"#
    ) { $0.reviews.isEmpty },
    Row(
      "book.reviews.count > 2", "reviews.@count > 2",
      #"(SELECT count(*) FROM "Review" AS r1 WHERE r1."book" = t0._pk) > ?"#
    ) { $0.reviews.count > 2 },
    Row(
      "book.reviews.stars.any == 5", "ANY reviews.stars == 5",
      #"EXISTS (SELECT 1 FROM "Review" AS r1 WHERE r1."book" = t0._pk AND r1."stars" IS ?)"#
    ) { $0.reviews.stars.any == 5 },
    Row(
      "book.reviews.stars.all > 3", "ALL reviews.stars > 3",
      #"NOT EXISTS (SELECT 1 FROM "Review" AS r1 WHERE r1."book" = t0._pk AND (r1."stars" > ?) IS NOT 1)"#
    ) { $0.reviews.stars.all > 3 },
    Row(
      "book.tags.name.none == \"old\"", "NONE tags.name == 'old'",
      #"NOT EXISTS (SELECT 1 FROM "Book.tags" AS r2, "Tag" AS r1 WHERE r2._source = t0._pk AND r1._pk = r2._target AND r1."name" IS ?)"#
    ) { $0.tags.name.none == "old" },
    Row(
      "book.reviews.stars.max > 4", "reviews.@max.stars > 4",
      #"(SELECT max(r1."stars") FROM "Review" AS r1 WHERE r1."book" = t0._pk) > ?"#
    ) { $0.reviews.stars.max > 4 },
    Row(
      "book.reviews.contains(where: { $0.stars == 5 && $0.text != nil })",
      "SUBQUERY(reviews, $x, $x.stars == 5 AND $x.text != nil).@count > 0",
      #"(SELECT count(*) FROM "Review" AS r1 WHERE r1."book" = t0._pk AND r1."stars" IS ? AND r1."text" IS NOT NULL) > ?"#
    ) { $0.reviews.contains(where: { $0.stars == 5 && $0.text != nil }) },
    Row(
      "book.reviews.contains(where: best)", "SUBQUERY(reviews, $x, $x.stars == 5).@count > 0",
      #"(SELECT count(*) FROM "Review" AS r1 WHERE r1."book" = t0._pk AND r1."stars" IS ?) > ?"#
    ) { $0.reviews.contains(where: FetchPredicate(.keyPath("stars"), .equalTo, .constant(.int(5)))) },
    Row(
      "book.salesRank < 5 && !(book.title == \"x\")", "salesRank < 5 AND NOT title == 'x'",
      #"t0."salesRank" < ? AND t0."title" IS NOT ?"#
    ) {
      $0.salesRank < 5 && !($0.title == "x")
    },
  ]

  /// The format string means the condition, and SQLite gets the SQL of the row.
  @Test func eachRowSaysTheSameThreeTimes() throws {
    let library = try FetchLibrary(.inMemory)
    let plan = library.container.persistentStoreCoordinator.plan
    let entity = try #require(plan.entity("Book"))
    for row in Self.rows {
      let conditions = [
        TypedPredicate<Book>(row.condition).predicate, try FetchPredicate(format: row.format),
      ]
      for condition in conditions {
        let compiled = try SQLPredicate.compile(condition, entity: entity, plan: plan, dialect: .sqlite)
        #expect(compiled.isExact == !row.sql.isEmpty, "\(row.swift)")
        if compiled.isExact { #expect(compiled.sql == row.sql, "\(row.swift)") }
      }
    }
  }

  @Test func theArticleHasTheRows() throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    let article = try String(
      contentsOf: root.appending(path: "Sources/CDRuntime/CDRuntime.docc/TypedQueries.md"), encoding: .utf8)
    let lines = article.split(separator: "\n").map(String.init)
    for row in Self.rows { #expect(lines.contains(row.text), "TypedQueries.md lacks the line \(row.text)") }
  }
}
