import CDModel
import Foundation
import Testing

struct FormatTests {
  private func value(_ format: String, _ arguments: (any FormatArgument)?...) throws -> ValueExpression {
    try ValueExpression(format: format, arguments: arguments)
  }

  // MARK: Precedence

  /// Each operator against its neighbours: the text with and without the parentheses that it implies.
  @Test(arguments: [
    ("a.b[0].c", "(a.b)[0].c"), ("-a.b", "-(a.b)"), ("-a ** b", "(-a) ** b"), ("~a ** b", "(~a) ** b"),
    ("a ** b ** c", "(a ** b) ** c"), ("a * b ** c", "a * (b ** c)"), ("a / b * c", "(a / b) * c"),
    ("a + b * c - d", "(a + (b * c)) - d"), ("a << b + c", "a << (b + c)"),
    ("a << b >> c", "(a << b) >> c"), ("a & b << c", "a & (b << c)"), ("a ^ b & c", "a ^ (b & c)"),
    ("a | b ^ c", "a | (b ^ c)"), ("a UNION b | c", "a UNION (b | c)"),
    ("a UNION b MINUS c", "(a UNION b) MINUS c"), ("a ?? b UNION c", "a ?? (b UNION c)"),
    ("a - b - c", "(a - b) - c"), ("2 * 3 + -4", "(2 * 3) + (-4)"), ("$x := a ?? b", "$x := (a ?? b)"),
  ])
  func valuePrecedence(text: String, explicit: String) throws {
    #expect(try ValueExpression(format: text) == ValueExpression(format: explicit))
  }

  @Test(arguments: [
    ("a == 1 OR b == 1 AND c == 1", "a == 1 OR (b == 1 AND c == 1)"),
    ("a == 1 AND b == 1 OR c == 1", "(a == 1 AND b == 1) OR c == 1"),
    ("NOT a == 1 AND b == 1", "(NOT a == 1) AND b == 1"),
    ("!a == 5", "NOT (a == 5)"),
    ("NOT ANY a == 1 OR b == 2", "(NOT (ANY a == 1)) OR b == 2"),
    ("ANY a == 1 AND b == 2", "(ANY a == 1) AND b == 2"),
    ("a & 4 == 4", "(a & 4) == 4"),
    ("(a) == 1", "a == 1"), ("((a) + 1) * 2 == (b)", "(a + 1) * 2 == b"),
    ("a ?? b == c ?? d", "(a ?? b) == (c ?? d)"),
  ])
  func predicatePrecedence(text: String, explicit: String) throws {
    #expect(try FetchPredicate(format: text) == FetchPredicate(format: explicit))
  }

  @Test func parenthesisedCompoundsStayParts() throws {
    let flat = try FetchPredicate(format: "a == 1 AND b == 1 AND c == 1")
    guard case .and(let parts) = flat.kind else { throw MissingTree() }
    #expect(parts.count == 3)
    #expect(try FetchPredicate(format: "(a == 1 AND b == 1) AND c == 1") != flat)
    #expect((parts[0] && parts[1] && parts[2]) == flat)
    #expect(FetchPredicate.and([]) == .truePredicate)
    #expect(FetchPredicate.or([]) == .falsePredicate)
    #expect(!(!flat) == flat)
  }

  // MARK: Lexical rules

  @Test(arguments: [
    ("0x1F", AttributeValue.int(31)), ("0X1f", .int(31)), ("0o17", .int(15)), ("0b101", .int(5)),
    ("001", .int(1)), ("9223372036854775807", .int(.max)), ("-9223372036854775808", .int(.min)),
    ("0x7fffffffffffffff", .int(.max)), ("1.5", .double(1.5)), ("10.", .double(10)), (".5", .double(0.5)),
    ("9.2e-5", .double(9.2e-5)), ("2.0E0", .double(2)), ("200e-2", .double(2)), ("1.e2", .double(100)),
    ("-.5", .double(-0.5)), ("1e3", .double(1000)), ("-0.0", .double(-0.0)),
    ("YES", .bool(true)), ("tRuE", .bool(true)), ("no", .bool(false)), ("NIL", .null), ("null", .null),
    ("'it\\'s'", .string("it's")), ("\"it's\"", .string("it's")), ("''", .string("")),
    ("'\\a\\b\\f\\n\\r\\t\\v'", .string("\u{7}\u{8}\u{C}\n\r\t\u{B}")),
    ("'\\101\\x41\\u0041\\0'", .string("AAA\0")),
    ("'\\uD83D\\uDE00'", .string("😀")), ("'\\q\\%\\\\'", .string("q%\\")), ("'\\xZ\\u12'", .string("xZu12")),
    ("'\\\\d{10}'", .string("\\d{10}")), ("'\\351'", .string("é")), ("'%@ %K %d'", .string("%@ %K %d")),
  ])
  func literals(text: String, expected: AttributeValue) throws {
    #expect(try ValueExpression(format: text) == .constant(expected))
  }

  @Test(arguments: [
    ("name", ["name"]), ("nullified.SELFish", ["nullified", "SELFish"]), ("größe.用户", ["größe", "用户"]),
    ("_a1", ["_a1"]), ("#in.#like", ["in", "like"]), ("first.size.last", ["first", "size", "last"]),
    ("union.minus", ["union", "minus"]), ("function", ["function"]), (" a\t.\n b ", ["a", "b"]),
  ])
  func keyPaths(text: String, keys: [String]) throws {
    #expect(try ValueExpression(format: text) == .keyPath(keys))
  }

  @Test func keywordsEndWhereIdentifiersDo() throws {
    let predicate = try FetchPredicate(format: "a==aANDb and truepredicates = NOTb")
    #expect(predicate.canonicalText == "a == aANDb AND truepredicates == NOTb")
  }

  // MARK: Arguments

  @Test func argumentsAreConstants() throws {
    let date = Date(timeIntervalSinceReferenceDate: 1)
    #expect(try value("%@", "a") == .constant(.string("a")))
    #expect(try value("%@", 5) == .constant(.int(5)))
    #expect(try value("%@", UInt8(5)) == .constant(.int(5)))
    #expect(try value("%@", UInt64.max) == .constant(.decimal(Decimal(string: "18446744073709551615") ?? 0)))
    #expect(try value("%@", Float(0.5)) == .constant(.double(0.5)))
    #expect(try value("%@", true) == .constant(.bool(true)))
    #expect(try value("%@", date) == .constant(.date(date)))
    #expect(try value("%@", nil) == .null)
    #expect(try value("%@", Int?.none) == .null)
    #expect(try value("%@", [1, nil]) == value("{1, nil}"))
    #expect(try value("%@", ["a": 1]) == .constant(.dictionary(["a": .value(.int(1))])))
    #expect(try value("%@", Set(["a"])) == .constant(.set([.value(.string("a"))])))
    #expect(try value("%@", ["x", "y"]) == value("{'x', 'y'}"))
    #expect(try value("{%@, %@}", 1, 2) == value("{1, 2}"))
    #expect(try value("%@", Weekday.tuesday) == .constant(.int(2)))
    #expect(try value("%d", 7) == .constant(.int(7)))
    #expect(try value("%lu + %hhd", 7, true) == value("7 + 1"))
    #expect(try value("%f", 7) == .constant(.double(7)))
    #expect(try value("%la", Decimal(string: "1.5")) == .constant(.double(1.5)))
    #expect(try value("%s", "x", 1, 2) == .constant(.string("x")), "surplus arguments are ignored")
  }

  private enum Weekday: Int, FormatArgument {
    case monday = 1
    case tuesday
  }

  @Test func keyPathArgumentsAreNeverReadAsFormat() throws {
    #expect(try value("%K", "a.b") == .keyPath(["a", "b"]))
    #expect(try value("%K.%K.c", "a", "b") == .keyPath(["a", "b", "c"]))
    #expect(try value("a.%K", "@avg.b") == value("a.@avg.b"))
    #expect(try value("%K", "SELF.a") == value("a"))
    #expect(try value("%K", "$x.a") == value("$x.a"))
    #expect(try value("%K", "in") == value("#in"))
    let injected = "a == 1 OR b"
    #expect(try FetchPredicate(format: "%K == 1", injected).canonicalText == "#\"a == 1 OR b\" == 1")
    let text = "' OR '1'='1"
    #expect(try FetchPredicate(format: "a == %@", text).canonicalText == "a == \"' OR '1'='1\"")
  }

  @Test func castsOfLiteralsAreConstants() throws {
    #expect(try value("CAST(0, 'NSDate')") == value("%@", Date(timeIntervalSinceReferenceDate: 0)))
    #expect(try value("CAST('AQI=', 'Data')") == value("%@", Data([1, 2])))
    #expect(try value("CAST('1.50', 'Decimal')") == value("%@", Decimal(string: "1.5")))
    guard case .cast = try value("CAST('1.5x', 'Decimal')").kind else { throw MissingTree() }
    guard case .cast = try value("CAST('1', 'Int64')").kind else { throw MissingTree() }
  }
}
