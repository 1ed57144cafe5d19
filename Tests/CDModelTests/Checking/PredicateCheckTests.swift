import CDModel
import Testing

struct PredicateCheckTests {
  private func check(
    _ format: String, on entity: String = "Book", fetchSource: String? = nil, isTemplate: Bool = false
  ) throws -> CheckedPredicate {
    LibraryModel.checker.check(
      try FetchPredicate(format: format), on: entity, fetchSource: fetchSource, isTemplate: isTemplate)
  }

  /// The diagnostics as text: where, how bad, what.
  private func messages(_ checked: CheckedPredicate) -> [String] {
    checked.diagnostics.map { "\($0.span?.lowerBound ?? -1) \($0.severity) \($0)" }
  }

  @Test(arguments: [
    "title == 'a' AND pages > 3 AND price <= 9.99 AND weight != nil AND isLent == YES",
    "pages == 1.5 AND isLent == 1 AND price > pages AND sold < rating",
    "author.name BEGINSWITH[c] 'a' AND author == nil",
    "author.books.@count > 2 AND reviews.@avg.stars > 3.5 AND reviews.@max.text == 'x'",
    "ANY reviews.stars > 3 AND ALL author.books.pages < 100 AND NONE reviews.text CONTAINS 'x'",
    "ANY author.books.reviews.stars == 5",
    "reviews CONTAINS $r AND SELF IN author.books AND sequel.sequel == SELF",
    "SUBQUERY(reviews, $r, $r.stars > 3 AND $r.text != nil).@count > pages",
    "added BETWEEN {$a, $b} AND added > now() AND lent - added > 3600 AND added + 60 < lent",
    "title + ' ' + author.name == 'x' AND length(title) < 3 AND title.length > 1",
    "uppercase(title) MATCHES 'A.*' AND canonical:(title) LIKE 'a*'",
    "cover CONTAINS $bytes AND cover == nil AND uuid == CAST('E621E1F8-C36C-495A-93FC-0C247A3E6E5F', 'UUID')",
    "settings == nil AND settings != nil AND shippedTo == nil AND shippedTo.city == 'Rome'",
    "TERNARY(isLent == YES, 1, pages) > 2 AND (weight ?? 0) > 1 AND pages & 4 != 0",
    "title IN {'a', nil} AND 'a' IN title AND pages IN {1, 2.5} AND title IN CAST(pages, 'String')",
    "max({pages, sold}) > 2 AND sum(reviews.stars) > 3 AND count(reviews) > 1 AND abs(pages) > 2",
    "author.books[FIRST].title == 'x' AND author.books[0] == SELF AND author.books[SIZE] > 1",
    "ANY author.books.@distinctUnionOfObjects.pages > 3 AND (reviews UNION reviews) == {}",
    "$x := pages + 1 == 3 AND $x < 10",
    "TRUEPREDICATE OR NOT FALSEPREDICATE",
  ])
  func rightPredicatesHaveNoDiagnostics(format: String) throws {
    #expect(messages(try check(format)) == [])
  }

  @Test(arguments: [
    // Keys.
    ("titel == 'a'", ["0 error Book has no 'titel'; did you mean 'title'?"]),
    ("isLent == YES AND author.nam == 'a'", ["18 error Author has no 'nam'; did you mean 'name'?"]),
    ("title.first == 'a'", ["0 error String has no key 'first'"]),
    ("shippedTo.cty == 'a'", ["0 error Address has no 'cty'; did you mean 'city'?"]),
    ("settings.dark == YES", ["0 error Settings has no key 'dark'"]),
    ("a == 1 AND b == 2", ["0 error Book has no 'a'", "11 error Book has no 'b'"]),
    // A text without quotes.
    ("title == Bob", ["9 error Book has no 'Bob'; a text is written in quotes: 'Bob'"]),
    ("author.name BEGINSWITH[c] Bob", ["26 error Book has no 'Bob'; a text is written in quotes: 'Bob'"]),
    (
      "title IN {Bob, 'Al', Bob}",
      [
        "10 error Book has no 'Bob'; a text is written in quotes: 'Bob'",
        "21 error Book has no 'Bob'; a text is written in quotes: 'Bob'",
      ]
    ),
    (
      "title == titel",
      ["9 error Book has no 'titel'; a text is written in quotes: 'titel'; did you mean 'title'?"]
    ),
    ("pages == Bob", ["9 error Book has no 'Bob'"]),
    ("title == author.nm", ["9 error Author has no 'nm'"]),
    // Types.
    ("title == 3", ["0 mistake 'title' (String) is never equal to 3"]),
    ("pages != '3'", ["0 mistake 'pages' (Int16) is never equal to \"3\""]),
    ("title IN {'a', 1}", ["9 mistake 'title' (String) is never equal to 1"]),
    ("author == sequel", ["0 mistake 'author' (Author) is never equal to 'sequel' (Book)"]),
    ("title < 3", ["0 error 'title' (String) cannot be ordered against 3; compare it with a text in quotes"]),
    ("uuid < uuid", ["0 error 'uuid' (UUID) has no order for <"]),
    ("author > nil", ["0 error 'author' (Author) has no order for >"]),
    (
      "settings == 'x'",
      ["0 error 'settings' (Settings) is a codable value, which can only be compared with nil"]
    ),
    ("pages LIKE '1*'", ["0 error LIKE needs strings, but 'pages' (Int16) is not a string"]),
    ("title MATCHES 3", ["14 error MATCHES needs strings, but 3 is not a string; write it in quotes: '3'"]),
    ("pages BEGINSWITH 'a'", ["0 error BEGINSWITH needs a string or data, but 'pages' (Int16) is neither"]),
    (
      "pages CONTAINS 1",
      ["0 error CONTAINS needs a collection or a string, but 'pages' (Int16) is neither"]
    ),
    ("title CONTAINS 1", ["15 mistake 1 is never a part of 'title' (String)"]),
    (
      "title UTI-EQUALS 'a'",
      ["0 error UTI-EQUALS needs a table of type identifiers, which cdgen does not have"]
    ),
    ("title MATCHES 'a('", ["14 error bad regular expression \"a(\": '(' is not closed"]),
    ("title MATCHES '*a'", ["14 error bad regular expression \"*a\": '*' repeats nothing"]),
    ("title MATCHES '[a'", ["14 error bad regular expression \"[a\": '[' is not closed"]),
    ("title MATCHES 'a)b'", ["14 error bad regular expression \"a)b\": ')' closes nothing"]),
    // Many values.
    (
      "reviews.stars > 3",
      [
        "0 error 'reviews.stars' is a collection, but a comparison needs a single value: "
          + "write ANY, ALL or NONE before it, or an operator such as @count after it"
      ]
    ),
    (
      "pages == reviews.stars",
      [
        "9 error 'reviews.stars' is a collection, but a comparison needs a single value: write an operator such as "
          + "@count after it"
      ]
    ),
    (
      "reviews.stars IN {1, 2}",
      [
        "0 error 'reviews.stars' is a collection, but IN needs a single value: write ANY, ALL or NONE before it"
      ]
    ),
    ("ANY pages > 3", ["4 error ANY needs a collection, but 'pages' is a single Int16"]),
    ("title.@count > 3", ["0 error @count needs a collection, but this is a single String"]),
    ("reviews.@sum > 3", ["0 error @sum needs a key after it: @sum.SELF for the values themselves"]),
    ("reviews.@sum.text > 3", ["0 error @sum needs numbers, but the values are String"]),
    (
      "reviews.@average.stars > 3",
      ["0 error there is no collection operator '@average'; did you mean '@avg'?"]
    ),
    (
      "SUBQUERY(title, $x, $x == 1) == {}",
      ["9 error SUBQUERY needs a collection, but 'title' is a single String"]
    ),
    ("title[0] == 'a'", ["0 error brackets need a collection, but this is a single String"]),
    // BETWEEN.
    ("pages BETWEEN {1}", ["14 error BETWEEN takes two bounds, not 1"]),
    ("pages BETWEEN {1, pages, 3}", ["14 error BETWEEN takes two bounds, not 3"]),
    ("pages BETWEEN 3", ["14 error BETWEEN takes an array of two bounds, but 3 is not an array"]),
    (
      "pages BETWEEN {'a', 'b'}",
      ["0 error 'pages' (Int16) cannot be ordered against {\"a\", \"b\"}; compare it with a number"]
    ),
    // Functions and operators.
    ("lenght(title) > 1", ["0 error there is no function 'lenght'; did you mean 'length:'?"]),
    ("sqrt(pages, 1) > 1", ["0 error sqrt takes one argument, not 2"]),
    ("now(1) > added", ["0 error now takes no arguments, not 1"]),
    ("uppercase(pages) == 'A'", ["10 error uppercase needs strings, but 'pages' is Int16"]),
    ("title - 1 == 2", ["0 error - needs numbers, but 'title' is String"]),
    (
      "title + 1 == 'a1'",
      [
        "8 error + joins two strings or adds two numbers, but the operands are String and Int16: write CAST(…, "
          + "'String')"
      ]
    ),
    ("weight & 1 == 0", ["0 error & needs integers, but 'weight' is Double"]),
    ("title ?? 3 == 'a'", ["9 error ?? has String on its left and '3' (Int16) on its right"]),
    ("CAST(title, 'Integer') == 1", ["0 error CAST has no type 'Integer'"]),
    ("CAST(cover, 'Int64') == 1", ["0 error CAST cannot convert 'cover' (Data) to Int64"]),
    ("ANYKEY == 1", ["0 error ANYKEY searches files, which cdgen does not support"]),
    // Enumerations.
    ("priority == 'hgh'", ["12 error Priority has no case 'hgh'; did you mean 'high'?"]),
    ("priority == 7", ["12 warning Priority has no case with the raw value 7"]),
    ("priority IN {'low', 'hih'}", ["12 error Priority has no case 'hih'; did you mean 'high'?"]),
    // Transient attributes.
    (
      "draft == YES",
      ["0 warning 'draft' of Book is transient: it exists in memory only, so a store cannot search it"]
    ),
    // Variables.
    ("title == $a AND pages > $a", ["24 error $a is used as String and as Int16"]),
  ])
  func wrongPredicates(format: String, expected: [String]) throws {
    #expect(messages(try check(format)) == expected)
  }

  @Test func allMistakesOfATextAreReportedInItsOrder() throws {
    let checked = try check("tilte == 1 AND ANY pages == 2 OR NOT (reviews > 3 AND $x < uuid)")
    #expect(
      checked.diagnostics.map { $0.span?.lowerBound } == [0, 19, 38, 54])
    #expect(checked.hasErrors)
  }

  @Test func unknownEntities() throws {
    #expect(
      messages(try check("title == 'a'", on: "Bok")) == [
        "-1 error unknown entity 'Bok'; did you mean 'Book'?"
      ])
  }

  @Test(arguments: [
    ("priority == 'high'", "priority == 2"),
    ("'low' != priority", "0 != priority"),
    ("priority == 2", "priority == 2"),
    ("priority IN {'low', 2, nil} AND pages > 1", "priority IN {0, 2, nil} AND pages > 1"),
    ("NOT (priority BETWEEN {'low', 'high'} OR pages == 1)", "NOT (priority BETWEEN {0, 2} OR pages == 1)"),
    ("ANY author.books.priority == 'high'", "ANY author.books.priority == 2"),
    (
      "SUBQUERY(author.books, $b, $b.priority == 'low').@count == 0",
      "SUBQUERY(author.books, $b, $b.priority == 0).@count == 0"
    ),
    (
      "author.books[TERNARY(priority == 'low', 0, 1)].title == 'a'",
      "author.books[TERNARY(priority == 0, 0, 1)].title == \"a\""
    ),
    ("genre == 'novel'", "genre == \"n\""),
    // A raw value goes before a case's name.
    ("genre == 'n'", "genre == \"n\""),
  ])
  func caseNamesBecomeRawValues(format: String, expected: String) throws {
    let checked = try check(format)
    #expect(messages(checked) == [])
    #expect(checked.predicate.canonicalText == expected)
  }

  @Test(arguments: [
    (
      "added >= $from AND added < $to",
      [
        CheckedVariable(name: "from", type: .attribute(.date), isOptional: false),
        CheckedVariable(name: "to", type: .attribute(.date), isOptional: false),
      ]
    ),
    ("lent == $x", [CheckedVariable(name: "x", type: .attribute(.date), isOptional: true)]),
    ("lent == $x AND lent < $x", [CheckedVariable(name: "x", type: .attribute(.date), isOptional: false)]),
    (
      "$x == nil OR lent == $x",
      [CheckedVariable(name: "x", type: .attribute(.date), isOptional: true)]
    ),
    (
      "nil == $x OR lent == $x",
      [CheckedVariable(name: "x", type: .attribute(.date), isOptional: true)]
    ),
    (
      "lent == $x AND $x != nil",
      [CheckedVariable(name: "x", type: .attribute(.date), isOptional: true)]
    ),
    (
      "$x == nil OR title == $x",
      [CheckedVariable(name: "x", type: .attribute(.string), isOptional: false)]
    ),
    ("title == $x", [CheckedVariable(name: "x", type: .attribute(.string), isOptional: false)]),
    ("$x == pages AND $x == sold", [CheckedVariable(name: "x", type: .attribute(.int64), isOptional: false)]),
    (
      "$a == $b AND title == $b",
      [
        CheckedVariable(name: "a", type: .attribute(.string), isOptional: false),
        CheckedVariable(name: "b", type: .attribute(.string), isOptional: false),
      ]
    ),
    (
      "title IN $x",
      [CheckedVariable(name: "x", type: .collection(of: .attribute(.string)), isOptional: false)]
    ),
    (
      "title IN $x ?? {'a', 'b'}",
      [CheckedVariable(name: "x", type: .collection(of: .attribute(.string)), isOptional: true)]
    ),
    ("$x IN author.books", [CheckedVariable(name: "x", type: .object(entity: "Book"), isOptional: false)]),
    ("reviews CONTAINS $x", [CheckedVariable(name: "x", type: .object(entity: "Review"), isOptional: false)]),
    (
      "author == $x AND $x.name == $y",
      [
        CheckedVariable(name: "x", type: .object(entity: "Author"), isOptional: false),
        CheckedVariable(name: "y", type: .attribute(.string), isOptional: false),
      ]
    ),
    (
      "$x.name == 'a' AND author == $x",
      [CheckedVariable(name: "x", type: .object(entity: "Author"), isOptional: false)]
    ),
    (
      "priority == $p",
      [CheckedVariable(name: "p", type: .attribute(.enumeration("Priority")), isOptional: false)]
    ),
    (
      "shippedTo == $a",
      [CheckedVariable(name: "a", type: .attribute(.composite("Address")), isOptional: true)]
    ),
    ("pages + $n > 3", [CheckedVariable(name: "n", type: .attribute(.int16), isOptional: false)]),
    ("ANY reviews.stars > $n", [CheckedVariable(name: "n", type: .attribute(.int32), isOptional: false)]),
    ("title BEGINSWITH[c] $t", [CheckedVariable(name: "t", type: .attribute(.string), isOptional: false)]),
    (
      "pages BETWEEN $r",
      [CheckedVariable(name: "r", type: .collection(of: .attribute(.int16)), isOptional: false)]
    ),
    ("price > CAST($x, 'Double')", [CheckedVariable(name: "x", type: .attribute(.double), isOptional: true)]),
    (
      "SUBQUERY(reviews, $r, $r.stars > $n).@count > $c",
      [
        CheckedVariable(name: "n", type: .attribute(.int32), isOptional: false),
        CheckedVariable(name: "c", type: .attribute(.int64), isOptional: false),
      ]
    ),
  ])
  func variablesGetTheirTypesFromUses(format: String, expected: [CheckedVariable]) throws {
    let checked = try check(format, isTemplate: true)
    #expect(messages(checked) == [])
    #expect(checked.variables == expected)
  }

  @Test func templatesNeedATypeForEachVariable() throws {
    #expect(
      messages(try check("$x == $y", isTemplate: true)) == [
        "-1 error the type of $x is unknown: compare it with a property, or write a CAST of it"
      ])
    #expect(messages(try check("$x == $y")) == [])
  }

  @Test func fetchSourceHasATypeAndIsNoParameter() throws {
    let checked = try check("title == $FETCH_SOURCE.name AND $FETCH_SOURCE.nme == $x", fetchSource: "Author")
    #expect(messages(checked) == ["32 error Author has no 'nme'; did you mean 'name'?"])
    #expect(checked.variables.map(\.name) == ["x"])
  }

  /// `novel` is a case, and `n` is the raw value of a case. A part of a text need not be either.
  @Test(
    arguments: [
      ("genre CONTAINS 'novel'", nil), ("genre CONTAINS 'ove'", nil), ("genre IN 'novel n'", nil),
      ("'novels' CONTAINS genre", nil), ("genre BEGINSWITH 'nov'", nil),
      ("genre IN {'novel'}", "genre IN {\"n\"}"),
      ("{'novel', 'n'} CONTAINS genre", "{\"n\", \"n\"} CONTAINS genre"),
    ] as [(String, String?)])
  func partsOfTextsAreNoCases(format: String, expected: String?) throws {
    let checked = try check(format)
    #expect(messages(checked) == [])
    #expect(try checked.predicate.canonicalText == (expected ?? FetchPredicate(format: format).canonicalText))
  }

  @Test func storesCannotEvaluateTransients() throws {
    #expect(try check("title == 'a'").isStorable)
    #expect(try !check("title == 'a' AND NOT draft == YES").isStorable)
    #expect(try !check("FUNCTION(title, 'capitalizedString') == 'A'").isStorable)
  }
}
