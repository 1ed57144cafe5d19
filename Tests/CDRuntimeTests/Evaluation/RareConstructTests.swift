import Foundation
import Testing

@testable import CDRuntime

/// Constructs that few predicates have: what they mean, in memory and in a store.
@Suite struct RareConstructTests {
  private let context: ManagedObjectContext
  private let library: FetchLibrary

  init() throws {
    library = try FetchLibrary(.inMemory)
    context = library.container.newContext()
    for book in try Book.objects(in: context) where book.salesRank == 2 { book.priority = .high }
    try context.save()
  }

  private func found(_ format: String, _ entity: String = "Book") throws -> Int {
    let request = FetchRequest<ManagedObject>(entityName: entity, where: try FetchPredicate(format: format))
    let count = try context.count(for: request)
    // The evaluator alone, on all objects.
    let checked = ExpressionChecker(graph: context.model.graph)
      .check(try FetchPredicate(format: format), on: entity).predicate
    let all = try context.fetch(FetchRequest<ManagedObject>(entityName: entity))
    #expect(try all.count { try PredicateEvaluator().matches(checked, $0) } == count, "\(format)")
    return count
  }

  @Test func castToAnEnumeration() throws {
    let high = try Book.objects(matching: \.salesRank, 2, in: context).count
    #expect(high == 2)
    #expect(try found("priority == CAST(salesRank, 'Priority', nil)") == 4)
    #expect(try found("CAST('high', 'Priority') == priority") == high)
    // Two are low, and two have no case. Nil stays nil.
    #expect(try found("CAST(salesRank, 'Priority', 'low') == 'low'") == 2 + 2)
    #expect(try found("CAST(salesRank, 'Priority', 'low') == nil") == 4)
    #expect(try found("CAST(salesRank, 'Priority', nil) == nil") == 6)
    // 3 is no case's raw value.
    #expect(throws: FetchError.self) { try found("CAST(salesRank, 'Priority') == priority") }
    #expect(throws: FetchError.self) { try found("CAST(salesRank, 'Priorty') == priority") }
    let predicate = try FetchPredicate(format: "CAST(salesRank, 'Priority') == 2")
    #expect(predicate.canonicalText == "CAST(salesRank, \"Priority\") == 2")
  }

  @Test func tokenMatchesIsReadAndRefused() throws {
    let predicate = try FetchPredicate(format: "title tokenMatches 'a'")
    #expect(predicate.canonicalText == "title TOKENMATCHES \"a\"")
    #expect(try FetchPredicate(format: predicate.canonicalText) == predicate)
    #expect(throws: FetchError.self) { try context.fetch(FetchRequest<Book>(where: predicate)) }
    #expect(throws: EvaluationError.unsupported("TOKENMATCHES")) {
      try PredicateEvaluator().matches(predicate, .dictionary(["title": .value(.string("a"))]))
    }
    // No word of Apple's list of reserved ones: it may be a key.
    #expect(try FetchPredicate(format: "tokenMatches == 1").canonicalText == "#tokenMatches == 1")
  }

  @Test func collectionOperatorsBeforeTheWholePath() throws {
    for (before, behind) in [
      ("@sum.reviews.stars > 2", "reviews.@sum.stars > 2"),
      ("@max.reviews.stars == 3", "reviews.@max.stars == 3"),
      ("@min.reviews.stars == nil", "reviews.@min.stars == nil"),
      ("@avg.author.friends.name.length > 3", "author.friends.@avg.name.length > 3"),
    ] {
      #expect(try found(before) == found(behind), "\(before)")
    }
    #expect(try found("@sum.reviews.stars == 6") == 3)
    #expect(throws: FetchError.self) { try found("@sum.salesRank > 2") }
    let plan = try #require(context.model.entity("Book"))
    let compiled = try SQLPredicate.compile(
      FetchPredicate(format: "@sum.reviews.stars > 2"), entity: plan, plan: context.model, dialect: .sqlite)
    #expect(compiled.isExact)
  }

  /// The engine is stopped after a number of its steps, in memory and within SQL.
  @Test func costlyPatternsThrow() throws {
    let author = try #require(try Author.objects(in: context).first)
    author.name = String(repeating: "a", count: 50)
    func request(_ pattern: String) throws -> FetchRequest<Author> {
      FetchRequest(where: try FetchPredicate(format: "name MATCHES %@", arguments: [pattern]))
    }
    let tooCostly = FetchError.evaluation(EvaluationError.patternTooCostly.description)
    #expect(throws: tooCostly) { try context.fetch(request("(a|aa)+b")) }
    // Nested, and yet with an end.
    #expect(try context.fetch(request("(?=(a+))a*b\\1")).isEmpty)
    try context.save()
    #expect(throws: tooCostly) { try context.fetch(request("(a+)+b")) }
    #expect(throws: tooCostly) { try context.count(for: request("(.*a){30}b")) }
  }

  /// A store must not fail for a part that no object reaches.
  @Test func constantPartsWithoutValueFailOnlyWhereTheyAreReached() throws {
    #expect(try found("salesRank == nil AND salesRank != nil AND 1 / 0 == 1") == 0)
    #expect(try found("title != nil OR modulus:by:(1, 0) == 1") == found("title != nil"))
    var request = FetchRequest<Book>(where: try FetchPredicate(format: "TERNARY($n == 0, 0, 100 / $n) == 0"))
    request.variables = ["n": 0]
    #expect(try context.count(for: request) == context.count(for: FetchRequest<Book>()))
    #expect(throws: FetchError.evaluation(EvaluationError.divisionByZero(operation: "/").description)) {
      try context.count(for: FetchRequest<Book>(where: FetchPredicate(format: "1 / 0 == salesRank")))
    }
  }

  @Test func assignedVariablesAreReadInTheOrderOfTheText() throws {
    let format = "($v := salesRank) > 1 AND $v < 4"
    let expected = try found("salesRank > 1 AND salesRank < 4")
    #expect(try found(format) == expected && expected > 0)
    var request = FetchRequest<Book>(where: try FetchPredicate(format: format))
    // The variable of the request has the same name.
    request.variables = ["v": 100]
    #expect(try context.count(for: request) == expected)
    #expect(try found("SUBQUERY(tags, $t, ($n := $t.name) != nil AND $n == 'x').@count > 0") == 0)
  }

  @Test func sumsBeyondInt64Throw() throws {
    let books = try Book.objects(in: context)
    for book in books { book.salesRank = Int64.max }
    try context.save()
    #expect(throws: FetchError.evaluation("the result of @sum is too large")) {
      try found("SUBQUERY(tags, $t, $t.books.@sum.salesRank > 1).@count > 0")
    }
    // SQL comes to the sum; from left to right nothing does.
    #expect(try found("title == 'nothing' AND tags.books.@sum.salesRank > 1") == 0)
    #expect(try found("SUBQUERY(tags, $t, $t.name == 'x' AND $t.books.@sum.salesRank > 1).@count > 0") == 0)
    var request = FetchRequest<Tag>()
    request.sortKeys = [SortKey("books.@sum.salesRank")]
    #expect(throws: FetchError.evaluation("the result of @sum is too large")) { try context.fetch(request) }
  }
}
