import CDModel
import Testing

struct ValueCheckTests {
  private func check(
    _ format: String, expecting: ExpressionType? = nil, allowsNil: Bool = true
  ) throws -> CheckedExpression {
    LibraryModel.checker.check(
      try ValueExpression(format: format), on: "Book", expecting: expecting, allowsNil: allowsNil)
  }

  @Test(arguments: [
    ("title", "String", false), ("isbn", "String?", true), ("author.name", "String", false),
    ("author.born", "Date?", true), ("sequel.title", "String?", true), ("author", "Author", false),
    ("reviews", "[Review]", false), ("reviews.stars", "[Int32]", false), ("others", "[Book]", false),
    ("author.books.reviews", "[Review]", false), ("shippedTo.street", "String?", true),
    ("reviews.@count", "Int64", false), ("reviews.@sum.stars", "Int64", false),
    ("reviews.@avg.stars", "Double?", true), ("reviews.@max.text", "String?", true),
    ("author.books.@sum.price", "Decimal", false), ("author.books.@max.reviews.@count", "Int64?", true),
    ("reviews.@distinctUnionOfObjects.stars", "[Int32]", false), ("reviews.stars.@max.SELF", "Int32?", true),
    ("2020 - pages", "Int16", false), ("pages + 100000", "Int32", false), ("pages + sold", "Int64", false),
    ("pages / 2", "Int16", false), ("pages * 0.5", "Double", false), ("rating * 0.5", "Float", false),
    ("price * 1.5", "Decimal", false), ("price * weight", "Double?", true), ("-pages", "Int16", false),
    ("pages & 4", "Int16", false), ("title + ' ' + author.name", "String", false),
    ("title + isbn", "String?", true),
    ("lent - added", "Double?", true), ("added + 60", "Date", false), ("now()", "Date", false),
    ("uuid()", "UUID", false), ("canonical:(title)", "String", false), ("length(isbn)", "Int64?", true),
    ("isbn ?? 'none'", "String", false), ("isbn ?? nil", "String?", true), ("weight ?? 0", "Double", false),
    ("TERNARY(isLent == YES, 1, pages)", "Int16", false), ("TERNARY(isLent == YES, nil, 1)", "Int16?", true),
    ("CAST(title, 'Int64')", "Int64", false), ("CAST(isbn, 'Int64')", "Int64?", true),
    ("CAST(isbn, 'Int64', 0)", "Int64?", true),
    ("CAST(isbn, 'Int64', 0) ?? 0", "Int64", false), ("CAST(title, 'Int64', 0)", "Int64", false),
    ("max(pages, sold)", "Int64?", true),
    ("reviews[FIRST].text", "String?", true), ("reviews[SIZE]", "Int64", false),
    ("SUBQUERY(reviews, $r, $r.stars > 3)", "[Review]", false), ("{pages, 2.5}", "[Double]", false),
    ("priority", "Priority", false), ("nil", "nil?", true), ("SELF", "Book", false),
  ])
  func types(format: String, expected: String, isOptional: Bool) throws {
    let checked = try check(format)
    #expect(checked.diagnostics == [])
    #expect("\(checked.type)\(checked.isOptional ? "?" : "")" == expected)
    #expect(checked.isOptional == isOptional)
  }

  @Test(arguments: [
    ("pages", AttributeType.int64, false), ("pages", .double, false), ("2020 - pages", .int16, false),
    ("5", .int16, false), ("5", .decimal, false), ("5", .float, false), ("0.5", .decimal, false),
    ("isbn ?? ''", .string, false), ("isbn", .string, true), ("nil", .string, true),
    ("'high'", .enumeration("Priority"), false),
    ("title", .string, true), ("CAST(title, 'Float', 0)", .float, false), ("priority", .int16, false),
    ("rating", .double, false), ("sold", .decimal, false),
  ])
  func fits(format: String, expected: AttributeType, allowsNil: Bool) throws {
    #expect(try check(format, expecting: .attribute(expected), allowsNil: allowsNil).diagnostics == [])
  }

  @Test(arguments: [
    (
      "title", AttributeType.int64, true,
      "'title' is String, but Int64 is needed: write CAST(…, 'Int64'), with a third argument for values that do not fit"
    ),
    (
      "sold", .int16, true,
      "'sold' is Int64, but Int16 is needed: write CAST(…, 'Int16'), with a third argument for values that do not fit"
    ),
    (
      "isbn", .string, false, "'isbn' may be nil, but a value is needed: write ?? and a value after it"
    ),
    ("nil", .string, false, "nil is not allowed here; a value of type String is needed"),
    (
      "70000", .int16, false,
      "'70000' is Int32, but Int16 is needed: write CAST(…, 'Int16'), with a third argument for values that do not fit"
    ),
    ("author", .string, true, "'author' is Author, but String is needed"),
    ("'hih'", .enumeration("Priority"), true, "Priority has no case 'hih'; did you mean 'high'?"),
    (
      "CAST(isbn, 'Int64', 'x')", .int64, true,
      "'\"x\"' is String, but Int64 is needed: write CAST(…, 'Int64'), with a third argument for values that do not fit"
    ),
  ])
  func doesNotFit(format: String, expected: AttributeType, allowsNil: Bool, message: String) throws {
    let checked = try check(format, expecting: .attribute(expected), allowsNil: allowsNil)
    #expect(checked.diagnostics.map(\.description) == [message])
  }

  @Test func caseNamesBecomeRawValues() throws {
    let checked = try check(
      "TERNARY(isLent == YES, 'high', 'low')", expecting: .attribute(.enumeration("Priority")))
    #expect(checked.diagnostics == [])
    #expect(checked.expression.canonicalText == "TERNARY(isLent == YES, 2, 0)")
  }

  /// The evaluator sees only values. So the checked expression has them in the types that the checker determines.
  @Test(arguments: [
    ("weight ?? 0", AttributeType.double, "weight ?? 0.0"),
    ("(weight ?? 1) / 2", .double, "(weight ?? 1.0) / 2"),
    ("price ?? 0.5", .decimal, #"price ?? CAST("0.5", "Decimal")"#),
    (
      "TERNARY(isLent == YES, 0.5, price)", .decimal,
      #"TERNARY(isLent == YES, CAST("0.5", "Decimal"), price)"#
    ),
    ("CAST(title, 'Decimal', 1)", .decimal, #"CAST(title, "Decimal", CAST("1", "Decimal"))"#),
    ("0.5", .decimal, #"CAST("0.5", "Decimal")"#), ("5", .double, "5"),
    ("isLent ?? 0", .int16, #"CAST(isLent, "Int16") ?? 0"#),
    ("author.books.@sum.price * 1.5", .decimal, #"CAST(author.books.@sum.price, "Decimal") * 1.5"#),
    ("author.books.@sum.price", .decimal, "author.books.@sum.price"),
    ("pages ?? 0", .int64, "pages ?? 0"), ("rating ?? 0.5", .float, "rating ?? 0.5"),
  ])
  func valuesAreWrittenInTheirTypes(format: String, type: AttributeType, text: String) throws {
    let checked = try check(format, expecting: .attribute(type))
    #expect(checked.diagnostics == [])
    #expect(checked.expression.canonicalText == text)
    // Checked again, it stays the same.
    let again = try check(text, expecting: .attribute(type))
    #expect(again.diagnostics == [] && again.expression == checked.expression)
    #expect(again.isTotal == checked.isTotal && again.isOptional == checked.isOptional)
  }

  @Test(arguments: [
    ("price ** 2", "Decimal"), ("price ** 0.5", "Double"), ("pages ** -1", "Double"), ("pages ** 2", "Int16"),
    ("raise:toPower:(price, 0.5)", "Double"), ("rating ** 0.5", "Float"), ("price ** pages", "Decimal"),
  ])
  func powers(format: String, expected: String) throws {
    let checked = try check(format)
    #expect(checked.diagnostics == [] && "\(checked.type)" == expected)
  }

  /// Expressions with translated keys are for other programs, which have no literals of decimals.
  @Test func translatedExpressionsKeepTheirLiterals() throws {
    let checker = ExpressionChecker(graph: LibraryModel.checker.graph) { key, _ in (name: key, key: key) }
    let checked = checker.check(try ValueExpression(format: "price ?? 0.5"), on: "Book")
    #expect(checked.expression.canonicalText == "price ?? 0.5")
  }

  @Test(arguments: [
    ("title + '!'", true), ("CAST(title, 'Int64', 0)", true), ("CAST(pages, 'String')", true),
    ("CAST(title, 'Int64')", false), ("CAST(sold, 'Int16') ?? 0", false), ("CAST(pages, 'Int64')", true),
    ("FUNCTION(title, 'f')", false),
  ])
  func totality(format: String, isTotal: Bool) throws {
    #expect(try check(format).isTotal == isTotal)
  }
}
