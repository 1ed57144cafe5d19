import Foundation
import SeededRandom
import Testing

@testable import CDRuntime

/// What SQL has no exact form of, one construct at a time: it is left to the evaluator, is named in the log without
/// the values, and keeps the same answer.
@Suite(.onceForAllKinds) struct InexactConstructTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let format: String
    let reason: String
    /// What of a part within the construct is told before it.
    var inner: [String] = []
    /// What of the rest still narrows the rows down.
    var filter = "1"
    var testDescription: String { format }
  }

  static let cases = [
    // Values that the store has not.
    Case(format: "draft == 'x'", reason: "draft == …"),
    // Calculations with fractions that may divide by 0 or give no number.
    Case(format: "pages / rating > 2", reason: "pages / rating > …"),
    Case(format: "rating * rating > 2", reason: "rating * rating > …"),
    Case(format: "price + 1 > 2", reason: "price + … > …"),
    Case(format: "weight + 1 > 2", reason: "weight + … > …"),
    Case(format: "pages ** sold > 2", reason: "pages ** sold > …"),
    Case(format: "abs(rating) > 1", reason: "abs(…) > …"),
    // Functions and conversions.
    Case(format: "uppercase(title) == 'A'", reason: "uppercase(…) == …"),
    Case(format: "length:(title) > 1", reason: "length:(…) > …"),
    Case(format: "CAST(pages, 'String') == '1'", reason: "CAST(pages, 'String') == …"),
    Case(format: "FUNCTION(title, 'length') > 1", reason: "FUNCTION(…) > …"),
    Case(format: "title.length > 1", reason: "title.length > …"),
    // Numbers of kinds that are kept in different forms.
    Case(format: "price > rating", reason: "price > rating"),
    Case(format: "weight < rating", reason: "weight < rating"),
    Case(format: "pages == price", reason: "pages == price"),
    // Sums of fractions, whose last digits depend on the order.
    Case(format: "tags.books.@sum.rating > 1", reason: "tags.books.@sum.rating > …"),
    Case(format: "author.books.@avg.price > 1", reason: "author.books.@avg.price > …"),
    // Elements of collections by their number, sets, choices of different kinds.
    Case(format: "tags[FIRST].word == 'a'", reason: "tags[FIRST].word == …"),
    Case(format: "ANY (tags.word UNION {'a'}) == 'a'", reason: "tags.word UNION … == …"),
    Case(format: "(pages ?? rating) > 1", reason: "pages ?? rating > …"),
    Case(format: "(pages ?? CAST('7', 'Decimal')) / 2 == 3.5", reason: "pages ?? … / … == …"),
    Case(format: "(rating ?? CAST('0.1', 'Decimal')) * 3 == 0.3", reason: "rating ?? … * … == …"),
    Case(
      format: "TERNARY(pages > 1, pages, CAST('7', 'Decimal')) / 2 == 3.5",
      reason: "TERNARY(…) / … == …"),
    Case(format: "TERNARY(draft == 'x', pages, 1) > 1", reason: "TERNARY(…) > …", inner: ["draft == …"]),
    Case(
      format: "SUBQUERY(tags, $t, length:($t.word) > 1).@count > 0", reason: "SUBQUERY(tags, …).… > …",
      inner: ["length:(…) > …"]),
    Case(format: "place == place", reason: "place == place"),
    // The rest of an AND narrows the rows down.
    Case(
      format: "pages > 1 AND uppercase(title) == 'A'", reason: "uppercase(…) == …",
      filter: "t0.\"pages\" > ?"),
    Case(
      format: "NOT (pages > 1 OR uppercase(title) == 'A')", reason: "uppercase(…) == …",
      filter: "(t0.\"pages\" > ?) IS NOT 1"),
  ]

  @Test(arguments: cases) func staysWithTheEvaluator(test: Case) throws {
    var random = SplitMix(seed: 11)
    let library = try RandomLibrary(&random)
    let plan = try #require(library.rows.plan.entity("Book"))
    let predicate = ExpressionChecker(graph: library.rows.plan.graph)
      .check(try FetchPredicate(format: test.format), on: "Book").predicate
    let compiled = try SQLPredicate.compile(
      predicate, entity: plan, plan: library.rows.plan, dialect: .sqlite,
      key: { object, _ in Int64(object.uri) })
    #expect(!compiled.isExact)
    #expect(compiled.inexactParts == test.inner + [test.reason])
    #expect(compiled.sql == test.filter)
    // The rows that are left hold all that meet the predicate.
    let found = Set(try library.rows.keys(of: "Book", where: compiled))
    for object in library.objects where object.entity == "Book" {
      guard (try? PredicateEvaluator().matches(predicate, object)) == true else { continue }
      #expect(found.contains(object.key))
    }
  }

  @Test func exactPredicatesHaveNothingToTell() throws {
    let rows = try StoredRows(PredicateModel.version)
    let compiled = try SQLPredicate.compile(
      FetchPredicate(format: "title BEGINSWITH[cd] 'a' AND ANY tags.word == 'b'"),
      entity: try #require(rows.plan.entity("Book")), plan: rows.plan, dialect: .sqlite)
    #expect(compiled.isExact && compiled.inexactParts.isEmpty)
  }
}
