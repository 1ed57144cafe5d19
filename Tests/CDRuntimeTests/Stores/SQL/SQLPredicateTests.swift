import Foundation
import Testing

@testable import CDRuntime

/// The texts and parameters that predicates are compiled to.
@Suite(.onceForAllKinds) struct SQLPredicateTests {
  private let rows: StoredRows

  init() throws { rows = try StoredRows(PredicateModel.version) }

  private func compile(
    _ format: String, _ arguments: [(any FormatArgument)?] = [], on entity: String = "Book",
    variables: [String: EvaluationValue] = [:]
  ) throws -> SQLPredicate {
    let compiled = try SQLPredicate.compile(
      FetchPredicate(format: format, arguments: arguments), entity: try #require(rows.plan.entity(entity)),
      plan: rows.plan, dialect: .sqlite, variables: variables)
    // SQLite takes the text, whatever a test says of it.
    _ = try rows.keys(of: entity, where: compiled)
    return compiled
  }

  private func expect(
    _ format: String, _ sql: String, _ bindings: [AttributeValue] = [],
    arguments: [(any FormatArgument)?] = [], isExact: Bool = true, on entity: String = "Book",
    location: SourceLocation = #_sourceLocation
  ) throws {
    let compiled = try compile(format, arguments, on: entity)
    #expect(compiled.sql == sql, sourceLocation: location)
    #expect(compiled.bindings == bindings, sourceLocation: location)
    #expect(compiled.isExact == isExact, sourceLocation: location)
  }

  @Test func comparisons() throws {
    try expect("pages == 3", "t0.\"pages\" IS ?", [.int(3)])
    try expect("pages != 3", "t0.\"pages\" IS NOT ?", [.int(3)])
    try expect("NOT pages == 3", "t0.\"pages\" IS NOT ?", [.int(3)])
    try expect("3 < pages", "t0.\"pages\" > ?", [.int(3)])
    try expect("NOT pages > 3", "(t0.\"pages\" > ?) IS NOT 1", [.int(3)])
    try expect("pages == nil", "t0.\"pages\" IS NULL")
    try expect("pages != nil", "t0.\"pages\" IS NOT NULL")
    try expect("pages <= nil", "t0.\"pages\" IS NULL")
    try expect("pages < nil", "0")
    try expect(
      "pages <= sold", "t0.\"pages\" <= t0.\"sold\" OR (t0.\"pages\" IS NULL AND t0.\"sold\" IS NULL)")
    try expect("title == 3", "0")
    try expect("title != 3", "1")
    try expect(
      "pages BETWEEN {1, 5}", "t0.\"pages\" >= ? AND t0.\"pages\" <= ?", [.int(1), .int(5)])
    try expect("title <= 'b'", "t0.\"title\" <= ?", [.string("b")])
  }

  @Test func valuesAreBoundAsTheStoreKeepsThem() throws {
    let date = Date(timeIntervalSinceReferenceDate: 12.5)
    try expect("added >= %@", "t0.\"added\" >= ?", [.double(12.5)], arguments: [date])
    try expect("isNew == YES", "t0.\"isNew\" IS ?", [.int(1)])
    try expect("price == 9.99", "t0.\"price\" IS ?", [.string("2500999 9.99")])
    try expect("weight == 1.7", "t0.\"weight\" IS ?", [.double(Double(Float(1.7)))])
    try expect("rating > %@", "t0.\"rating\" > ?", [.double(0.1)], arguments: [Decimal(string: "0.1")])
    let uuid = try #require(UUID(uuidString: "00010203-0405-0607-0809-0A0B0C0D0E0F"))
    try expect("code == %@", "t0.\"code\" IS ?", [.data(Data(0...15))], arguments: [uuid])
    try expect("level == 5", "t0.\"level\" IS ?", [.int(5)])
    try expect("place.city == 'Rome'", "t0.\"place.city\" IS ?", [.string("Rome")])
  }

  @Test func compounds() throws {
    try expect(
      "(pages == 1 OR sold > 2) AND isNew == NO",
      "(t0.\"pages\" IS ? OR t0.\"sold\" > ?) AND t0.\"isNew\" IS ?", [.int(1), .int(2), .int(0)])
    try expect(
      "NOT (pages == 1 AND (sold == 2 OR isNew == YES))",
      "t0.\"pages\" IS NOT ? OR (t0.\"sold\" IS NOT ? AND t0.\"isNew\" IS NOT ?)",
      [.int(1), .int(2), .int(1)])
    try expect(
      "pages == 1 OR pages == 2 OR pages == nil OR pages == 1",
      "t0.\"pages\" IN (?, ?) OR t0.\"pages\" IS NULL", [.int(1), .int(2)])
    try expect("TRUEPREDICATE AND pages == 1", "t0.\"pages\" IS ?", [.int(1)])
    try expect("FALSEPREDICATE AND pages == 1", "0")
  }

  @Test func lists() throws {
    try expect("pages IN {1, 2}", "t0.\"pages\" IN (?, ?)", [.int(1), .int(2)])
    try expect("NOT pages IN {1, 2}", "(t0.\"pages\" IN (?, ?)) IS NOT 1", [.int(1), .int(2)])
    try expect("NOT title IN {'a', 'b'}", "NOT t0.\"title\" IN (?, ?)", [.string("a"), .string("b")])
    try expect(
      "pages IN {1, 2, nil}", "t0.\"pages\" IN (?, ?) OR t0.\"pages\" IS NULL", [.int(1), .int(2)])
    try expect("pages IN {}", "0")
    try expect("title IN {1, 'a', 2}", "t0.\"title\" IN (?)", [.string("a")])
    let many = try compile("sold IN %@", [Array(0..<600)])
    #expect(many.sql == "t0.\"sold\" IN (SELECT value FROM json_each(?))")
    #expect(many.bindings == [.string("[" + (0..<600).map(String.init).joined(separator: ",") + "]")])
  }

  @Test func strings() throws {
    try expect("title ==[c] 'a'", "cdgen_order(t0.\"title\", ?, 1) IS 0", [.string("a")])
    try expect("title !=[cd] 'a'", "cdgen_order(t0.\"title\", ?, 3) IS NOT 0", [.string("a")])
    try expect("title ==[n] 'a'", "t0.\"title\" IS ?", [.string("a")])
    try expect("title CONTAINS 'x'", "cdgen_search(t0.\"title\", ?, 2, 0)", [.string("x")])
    try expect("NOT title ENDSWITH[d] 'x'", "NOT cdgen_search(t0.\"title\", ?, 1, 2)", [.string("x")])
    try expect(
      "title BEGINSWITH 'ab'",
      "t0.\"title\" >= ? AND t0.\"title\" < ? AND cdgen_search(t0.\"title\", ?, 0, 0)",
      [.string("ab"), .string("ac"), .string("ab")])
    try expect("title BEGINSWITH 'é'", "cdgen_search(t0.\"title\", ?, 0, 0)", [.string("é")])
    try expect("title LIKE 'a*'", "cdgen_like(t0.\"title\", ?, 0)", [.string("a*")])
    try expect("title MATCHES[c] 'a.'", "cdgen_matches(t0.\"title\", ?, 1)", [.string("a.")])
    try expect("'abc' CONTAINS title", "cdgen_search(?, t0.\"title\", 2, 0)", [.string("abc")])
    try expect(
      "title + '!' == 'a!'", "(t0.\"title\" || ?) IS ?", [.string("!"), .string("a!")])
    #expect(throws: EvaluationError.badPattern) { try compile("title MATCHES 'a('") }
  }

  @Test func paths() throws {
    try expect(
      "author.name == 'Thoreau'",
      "(SELECT r1.\"name\" FROM \"Author\" AS r1 WHERE r1._pk = t0.\"author\") IS ?", [.string("Thoreau")])
    try expect(
      "author.mentor.name == nil",
      "(SELECT r2.\"name\" FROM \"Author\" AS r2 WHERE r2._pk = "
        + "(SELECT r1.\"mentor\" FROM \"Author\" AS r1 WHERE r1._pk = t0.\"author\")) IS NULL")
    try expect("author == nil", "t0.\"author\" IS NULL")
    let id = ManagedObjectID(storeID: UUID(), entityName: "Author", key: 7)
    let reference = ObjectReference(entity: "Author", uri: id.description, identifier: id)
    try expect("author == %@", "t0.\"author\" IS ?", [.int(7)], arguments: [reference])
    try expect("SELF IN %@", "t0._pk IS ?", [.int(7)], arguments: [[reference]], on: "Author")
  }

  @Test func manyObjects() throws {
    try expect(
      "ANY books.pages > 3",
      "EXISTS (SELECT 1 FROM \"Item\" AS r1 WHERE r1.\"author\" = t0._pk AND r1.\"pages\" > ?)", [.int(3)],
      on: "Author")
    try expect(
      "ALL books.pages > 3",
      "NOT EXISTS (SELECT 1 FROM \"Item\" AS r1 WHERE r1.\"author\" = t0._pk "
        + "AND (r1.\"pages\" > ?) IS NOT 1)", [.int(3)], on: "Author")
    try expect(
      "tags.@count > 2",
      "(SELECT count(*) FROM \"Book.tags\" AS r2, \"Tag\" AS r1 WHERE r2._source = t0._pk "
        + "AND r1._pk = r2._target) > ?", [.int(2)])
    try expect(
      "ANY books.tags.word == 'x'",
      "EXISTS (SELECT 1 FROM \"Item\" AS r1, \"Book.tags\" AS r3, \"Tag\" AS r2 "
        + "WHERE r1.\"author\" = t0._pk AND r3._source = r1._pk AND r2._pk = r3._target AND r2.\"word\" IS ?)",
      [.string("x")], on: "Author")
    try expect(
      "SUBQUERY(books, $b, $b.pages > 3 AND $b.isNew == YES).@count == 0",
      "(SELECT count(*) FROM \"Item\" AS r1 WHERE r1.\"author\" = t0._pk AND r1.\"pages\" > ? "
        + "AND r1.\"isNew\" IS ?) IS ?", [.int(3), .int(1), .int(0)], on: "Author")
    try expect(
      "books.@max.price < 5",
      "(SELECT max(r1.\"price\") FROM \"Item\" AS r1 WHERE r1.\"author\" = t0._pk) < ?",
      [.string("25005 5")], on: "Author")
    try expect(
      "books.@sum.pages == 0",
      "(SELECT coalesce(sum(r1.\"pages\"), 0) FROM \"Item\" AS r1 WHERE r1.\"author\" = t0._pk) IS ?",
      [.int(0)], on: "Author")
  }

  @Test func arithmeticThatCannotFail() throws {
    try expect("pages * 2 + 1 > 9", "((t0.\"pages\" * ?) + ?) > ?", [.int(2), .int(1), .int(9)])
    try expect("sold / 2 == 1", "(t0.\"sold\" / ?) IS ?", [.int(2), .int(1)])
    try expect("rating * 2.0 > 1", "(t0.\"rating\" * ?) > ?", [.double(2), .int(1)])
    try expect("-pages < 3", "(-t0.\"pages\") < ?", [.int(3)])
    try expect("pages ?? 0 == 0", "coalesce(t0.\"pages\", ?) IS ?", [.int(0), .int(0)])
  }

  @Test func choices() throws {
    try expect(
      "TERNARY(author == nil, nil, author.books.@count) == 0",
      "(CASE WHEN t0.\"author\" IS NULL THEN NULL ELSE (SELECT count(*) FROM \"Item\" AS r1 "
        + "WHERE r1.\"author\" = t0.\"author\") END) IS ?", [.int(0)])
    try expect(
      "TERNARY(pages == nil, nil, TERNARY(pages > 3, YES, NO)) ?? NO == YES",
      "coalesce((CASE WHEN t0.\"pages\" IS NULL THEN NULL ELSE "
        + "(CASE WHEN t0.\"pages\" > ? THEN ? ELSE ? END) END), ?) IS ?",
      [.int(3), .int(1), .int(0), .int(0), .int(1)])
  }

  @Test func arithmeticThatFailsFailsTheStatement() throws {
    try expect(
      "sold + 1 > 2",
      "(CASE WHEN t0.\"sold\" > ? THEN cdgen_add(t0.\"sold\", ?) ELSE t0.\"sold\" + ? END) > ?",
      [.int(.max - 1), .int(1), .int(1), .int(2)])
    try expect(
      "1 + sold > 2",
      "(CASE WHEN t0.\"sold\" > ? THEN cdgen_add(t0.\"sold\", ?) ELSE t0.\"sold\" + ? END) > ?",
      [.int(.max - 1), .int(1), .int(1), .int(2)])
    try expect("pages / sold > 2", "cdgen_divide(t0.\"pages\", t0.\"sold\") > ?", [.int(2)])
    try expect("sold - sold > 2", "cdgen_subtract(t0.\"sold\", t0.\"sold\") > ?", [.int(2)])
    try expect("-sold < 3", "cdgen_subtract(?, t0.\"sold\") < ?", [.int(0), .int(3)])
    try expect(
      "sold / 2 > 1 AND modulus:by:(sold, 2) == 1", "(t0.\"sold\" / ?) > ? AND (t0.\"sold\" % ?) IS ?",
      [.int(2), .int(1), .int(2), .int(1)])
  }

  @Test func whatHasNoExactFormIsLeftOut() throws {
    // It may divide by 0, or give no number.
    try expect("rating / pages > 2", "1", isExact: false)
    try expect("rating * rating > 2", "1", isExact: false)
    // Neither SQL nor the store has these.
    try expect("draft == 'x'", "1", isExact: false)
    try expect("uppercase(title) == 'X'", "1", isExact: false)
    try expect("pages > 1 AND draft == 'x'", "t0.\"pages\" > ?", [.int(1)], isExact: false)
    try expect("pages > 1 OR draft == 'x'", "1", isExact: false)
    try expect("NOT (pages > 1 OR draft == 'x')", "(t0.\"pages\" > ?) IS NOT 1", [.int(1)], isExact: false)
  }

  @Test func mistakesThrow() throws {
    #expect(throws: EvaluationError.unknownKey("nothing", entity: "Book")) { try compile("nothing == 1") }
    #expect(throws: EvaluationError.unboundVariable("x")) { try compile("pages == $x") }
    let bound = try compile("pages == $x", variables: ["x": .value(.int(4))])
    #expect(bound.bindings == [.int(4)])
  }

  @Test func orders() throws {
    let book = try #require(rows.plan.entity("Book"))
    let order = try SQLPredicate.order(
      by: [SortKey("pages"), SortKey("author.name", ascending: false)], entity: book, plan: rows.plan,
      dialect: .sqlite)
    #expect(
      order
        == "t0.\"pages\", (SELECT r1.\"name\" FROM \"Author\" AS r1 WHERE r1._pk = t0.\"author\") DESC")
    #expect(
      try SQLPredicate.order(by: [SortKey("draft")], entity: book, plan: rows.plan, dialect: .sqlite) == nil)
    #expect(
      try SQLPredicate.order(by: [SortKey("tags.word")], entity: book, plan: rows.plan, dialect: .sqlite)
        == nil)
  }

  /// Predicates as long and as deep as the parser takes them: SQLite has limits of its own.
  @Test func deepAndLongPredicates() throws {
    let long = (0..<5000).map { "pages < \($0) OR sold > \($0)" }.joined(separator: " OR ")
    #expect(try compile(long).isExact)
    var deep = "pages < 0"
    for level in 1..<FetchPredicate.maximumDepth - 5 {
      deep = "(\(deep) \(level.isMultiple(of: 2) ? "AND" : "OR") sold > \(level))"
    }
    let unrestricted = try compile(deep)
    #expect(unrestricted.sql == "1" && !unrestricted.isExact)
    #expect(unrestricted.inexactParts == ["a predicate beyond SQLite's limits"])
    let equalities = (0..<40_000).map { "sold == \($0)" }.joined(separator: " OR ")
    #expect(try compile(equalities).sql == "t0.\"sold\" IN (SELECT value FROM json_each(?))")
  }
}
