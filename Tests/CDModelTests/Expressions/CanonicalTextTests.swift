import CDModel
import Foundation
import SeededRandom
import Testing

struct CanonicalTextTests {
  @Test(arguments: 0..<(isThorough ? 20 : 8))
  func everyTreeReadsBackFromItsText(seed: Int) throws {
    var random = RandomExpressions(seed: UInt64(seed))
    for _ in 0..<150 {
      let predicate = random.predicate(depth: 5)
      let text = predicate.canonicalText
      let again = try FetchPredicate(format: text)
      #expect(again == predicate, "\(text)")
      #expect(again.hashValue == predicate.hashValue, "\(text)")
      #expect(again.canonicalText == text)
      let value = random.value(depth: 5)
      #expect(try ValueExpression(format: value.canonicalText) == value, "\(value)")
    }
  }

  @Test(arguments: [
    // Aliases, words and options.
    ("a = 1 && b <> 2", "a == 1 AND b != 2"),
    ("a =< 1 || b => 2", "a <= 1 OR b >= 2"),
    ("not a like[DC] 'x'", "NOT a LIKE[cd] \"x\""),
    ("a ==[lndc] b", "a ==[cdnl] b"),
    ("NONE a == 1", "NOT ANY a == 1"),
    ("SOME a == 1", "ANY a == 1"),
    ("a == true or b == no", "a == YES OR b == NO"),
    ("a == null", "a == nil"),
    ("NOT NOT a == 1", "a == 1"),
    ("NOT NONE a == 1", "ANY a == 1"),
    // Parentheses.
    ("a == 1 AND b == 2 OR c == 3", "(a == 1 AND b == 2) OR c == 3"),
    ("((a == 1))", "a == 1"),
    ("(a == 1 AND b == 2) AND c == 3", "(a == 1 AND b == 2) AND c == 3"),
    ("NOT (a == 1 OR b == 2)", "NOT (a == 1 OR b == 2)"),
    ("a + b - c == 1", "(a + b) - c == 1"),
    ("(a + b) - c == 1", "(a + b) - c == 1"),
    ("a + (b - c) == 1", "a + (b - c) == 1"),
    ("a + b * c == 1", "a + (b * c) == 1"),
    ("(a ?? b) ?? c == 1", "(a ?? b) ?? c == 1"),
    ("a ?? b ?? c == 1", "a ?? b ?? c == 1"),
    ("-a == -5 AND -(5) == - -5", "-a == -5 AND -(5) == --5"),
    ("(1)[0] == 2", "(1)[0] == 2"),
    // Key paths.
    ("SELF.a.b == SELF", "a.b == SELF"),
    ("#in == 1 AND a.#like == 2", "#in == 1 AND a.#like == 2"),
    ("a.@max.#self == 1", "a.@max.SELF == 1"),
    ("a[first] == a[#first]", "a[FIRST] == a[#first]"),
    ("a[size]['k'][b + 1] == 1", "a[SIZE][\"k\"][b + 1] == 1"),
    ("#'first name' == 1", "#\"first name\" == 1"),
    // Calls.
    ("sum:(a) == count(b)", "sum(a) == count(b)"),
    ("now:() > length(a)", "now() > length:(a)"),
    ("cast(a, 'NSDate') > CAST(b, 'Int64', 0)", "CAST(a, \"Date\") > CAST(b, \"Int64\", 0)"),
    ("ternary(a == 1, 'x', b) == 'x'", "TERNARY(a == 1, \"x\", b) == \"x\""),
    ("subquery (a, $x, $x == 1).@count == 0", "SUBQUERY(a, $x, $x == 1).@count == 0"),
    ("function(a, 'f:g:', 1, 2) == 3", "FUNCTION(a, \"f:g:\", 1, 2) == 3"),
    ("$x := a + 1 == $x", "$x := a + 1 == $x"),
    ("a IN b union c minus d", "a IN (b UNION c) MINUS d"),
    ("nothing(1) == other:of:(2)", "nothing(1) == other:of:(2)"),
  ])
  func textHasOneForm(format: String, expected: String) throws {
    #expect(try FetchPredicate(format: format).canonicalText == expected)
  }

  @Test func constantsWithoutLiteralsAreCasts() throws {
    let predicate = try FetchPredicate(
      format: "a IN %@",
      arguments: [
        ExpressionConstant.array([
          .value(.date(Date(timeIntervalSinceReferenceDate: 0.5))), .value(.data(Data([1, 2]))),
          .value(.decimal(Decimal(string: "1.50") ?? 0)), .value(.double(-.infinity)),
          .value(.uuid(try #require(UUID(uuidString: "E621E1F8-C36C-495A-93FC-0C247A3E6E5F")))),
          .value(.url(try #require(URL(string: "https://example.org/a?b=c")))),
          .set([.value(.int(2)), .value(.int(1))]),
          .dictionary(["b": .value(.bool(true)), "a": .null]),
          .value(.composite(["city": .string("Rome")])),
          .object(ObjectReference(entity: "Book", uri: "x-cdgen://1/Book/7")),
        ])
      ])
    let expected =
      #"a IN {CAST(0.5, "Date"), CAST("AQI=", "Data"), CAST("1.5", "Decimal"), CAST("-inf", "Double"), "#
      + #"CAST("E621E1F8-C36C-495A-93FC-0C247A3E6E5F", "UUID"), CAST("https://example.org/a?b=c", "URL"), "#
      + #"SET(1, 2), DICTIONARY("a", nil, "b", YES), COMPOSITE("city", "Rome"), "#
      + #"OBJECT("Book", "x-cdgen://1/Book/7")}"#
    #expect(predicate.canonicalText == expected)
    #expect(try FetchPredicate(format: expected) == predicate)
  }

  @Test func spansTakeNoPartInEquality() throws {
    let tight = try FetchPredicate(format: "a==1 AND b==2")
    let wide = try FetchPredicate(format: "  a  ==  1  &&  (b = 2)  ")
    #expect(tight == wide)
    #expect(tight.hashValue == wide.hashValue)
    guard case .and(let parts) = wide.kind else { throw MissingTree() }
    #expect(parts[1].span?.text(in: "  a  ==  1  &&  (b = 2)  ") == "b = 2")
    #expect(wide.span?.text(in: "  a  ==  1  &&  (b = 2)  ") == "a  ==  1  &&  (b = 2)")
    #expect(FetchPredicate.and([parts[0], parts[1]]) == tight)
  }

  @Test func constantsThatDifferAsTextAreDifferent() throws {
    let composed = try FetchPredicate(format: "a == %@", "caf\u{E9}")
    let decomposed = try FetchPredicate(format: "a == %@", "cafe\u{301}")
    #expect(composed != decomposed)
    #expect(try FetchPredicate(format: "a == 1") != FetchPredicate(format: "a == 1.0"))
    #expect(try FetchPredicate(format: "a == 0.0") != FetchPredicate(format: "a == -0.0"))
    #expect(
      try FetchPredicate(format: "a == %@", Double.nan) == FetchPredicate(format: "a == %@", Double.nan))
  }
}

struct MissingTree: Error {}
