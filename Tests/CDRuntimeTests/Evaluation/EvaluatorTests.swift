import CDRuntime
import Foundation
import Testing

/// What the evaluator does at the edges of the language.
@Suite(.onceForAllKinds) struct EvaluatorTests {
  private let evaluator = PredicateEvaluator(now: Date(timeIntervalSinceReferenceDate: 100))

  private func holds(
    _ format: String, _ arguments: (any FormatArgument)?..., self object: EvaluationValue = .null
  )
    throws -> Bool
  {
    try evaluator.matches(FetchPredicate(format: format, arguments: arguments), object)
  }

  private func error(_ format: String, _ arguments: (any FormatArgument)?...) throws -> EvaluationError? {
    let predicate = try FetchPredicate(format: format, arguments: arguments)
    do throws(EvaluationError) {
      _ = try evaluator.matches(predicate, EvaluationValue.null)
      return nil
    } catch {
      return error
    }
  }

  @Test func calculationsThatFailThrow() throws {
    #expect(try error("9223372036854775807 + 1 > 0") == .overflow(operation: "+"))
    #expect(try error("-9223372036854775808 / -1 > 0") == .overflow(operation: "/"))
    #expect(try error("2 ** 64 > 0") == .overflow(operation: "**"))
    #expect(try error("sum({9223372036854775807, 1}) > 0") == .overflow(operation: "sum"))
    #expect(try error("1 / 0 == 0") == .divisionByZero(operation: "/"))
    #expect(try error("1.0 / 0 == 0") == .divisionByZero(operation: "/"))
    #expect(try error("modulus:by:(1, 0) == 0") == .divisionByZero(operation: "modulus:by:"))
    #expect(try error("sqrt(-1) == 0") == .notANumber(operation: "sqrt"))
    #expect(try error("abs(-9223372036854775808) > 0") == .overflow(operation: "-"))
  }

  /// Foundation's own product traps below 1e-128.
  @Test func productsOfSmallDecimalsNeverTrap() throws {
    func decimal(_ text: String) -> Decimal? { Decimal(string: text) }
    let small = decimal("1e-100")
    #expect(try error("%@ * %@ > 0", small, small) == .overflow(operation: "*"))
    #expect(try error("%@ * 0.01 > 0", decimal("4e-127")) == .overflow(operation: "*"))
    #expect(try error("%@ ** 2 > 0", decimal("-1e-127")) == .overflow(operation: "**"))
    #expect(try error("%@ ** 1000 < 1", decimal("0.5")) == .overflow(operation: "**"))
    #expect(try holds("%@ * %@ == %@", decimal("-1e-64"), decimal("1e-64"), decimal("-1e-128")))
    // Digits below the lowest exponent are rounded.
    #expect(try holds("%@ * %@ == %@", decimal("6e-64"), decimal("1e-65"), decimal("1e-128")))
    #expect(try holds("%@ * 0.01 == %@", decimal("9.99e-124"), decimal("9.99e-126")))
    #expect(try holds("%@ * %@ == 0", small, decimal("0")) && holds("%@ ** 0 == 1", small))
  }

  @Test func mistakesThrow() throws {
    #expect(try error("$x == 1") == .unboundVariable("x"))
    #expect(try error("1 < 'a'") == .incomparable(operator: "<", left: "an integer", right: "a string"))
    #expect(try error("ANY 1 == 1") == .notACollection(operation: "ANY", found: "an integer"))
    #expect(try error("1 BETWEEN {1, 2, 3}") == .wrongBounds(count: 3))
    #expect(try error("{1}[4] == 1") == .indexOutOfRange)
    #expect(try error("'a'.size == 1") == .unknownKey("size", entity: "a string"))
    #expect(try error("{1}.@average.SELF == 1") == .unsupported("@average"))
    #expect(try error("ANYKEY == 1") == .unsupported("ANYKEY"))
    #expect(try error("'a' UTI-EQUALS 'b'") == .unsupported("UTI-EQUALS"))
    #expect(try error("nothing(1) == 1") == .unsupported("the function 'nothing'"))
    #expect(
      try error("FUNCTION('a', 'release') == 1")
        == .unsupported("FUNCTION with the method 'release' of a string"))
    #expect(try error("'a' MATCHES 'a)(b'") == .badPattern)
    #expect(
      try error("%@ MATCHES '(a+)+b'", String(repeating: "a", count: 60)) == .patternTooCostly)
    #expect(try error("CAST('x', 'Int64') == 1") == .failedConversion(type: "Int64", from: "a string"))
    var deep = ValueExpression.constant(.int(1))
    for _ in 0..<200 { deep = .negated(deep) }
    #expect(throws: EvaluationError.tooDeep(depth: 202)) {
      try evaluator.matches(FetchPredicate(deep, .equalTo, .null), .null)
    }
  }

  @Test func numbersCompareByValue() throws {
    #expect(try holds("%@ < %@", 9_007_199_254_740_992.0, 9_007_199_254_740_993))
    #expect(try holds("%@ > %@", 9.3e18, Int64.max))
    #expect(try holds("%@ == %@", Decimal(string: "9.99"), 9.99))
    #expect(try holds("SELF == 1.7", self: .float(1.7)))
    #expect(try holds("SELF IN {1.5, 1.7}", self: .float(1.7)))
    #expect(try holds("SELF * 2 == 3.4", self: .float(1.7)))
    #expect(try !holds("%@ == %@", Double.nan, Double.nan))
  }

  /// Their literals take the type of the other number, as those of the operators do.
  @Test func functionsAreTheSameAsTheirOperators() throws {
    func decimal(_ text: String) throws -> EvaluationValue {
      .value(.decimal(try #require(Decimal(string: text))))
    }
    let three = try decimal("3")
    let fraction = try decimal("0.3")
    let long = try decimal("12345678901234567890.12")
    #expect(try holds("multiply:by:(SELF, 0.1) == 0.3 AND SELF * 0.1 == 0.3", self: three))
    #expect(try holds("divide:by:(0.3, SELF) == 0.1 AND from:subtract:(SELF, 2.7) == 0.3", self: three))
    #expect(try holds("modulus:by:(SELF, 0.1) == 0", self: fraction))
    #expect(try holds("add:to:(SELF, 0.1) == %@", Decimal(string: "12345678901234567890.22"), self: long))
    #expect(try holds("multiply:by:(SELF, 1.1) == SELF * 1.1", self: .float(1.7)))
    // A Float stays one.
    #expect(try holds("SELF ** 1 == 0.1 AND raise:toPower:(SELF, 1) == 0.1", self: .float(0.1)))
    #expect(try holds("modulus:by:(SELF, 1) == 0.1", self: .float(0.1)))
  }

  @Test func theTypeOfAMedianDoesNotDependOnTheCount() throws {
    #expect(try holds("median({3}) / 2 == 1.5 AND median({3, 3}) / 2 == 1.5"))
    #expect(try holds("median({1, 3, 9}) / 2 == 1.5"))
    #expect(try holds("median({%@}) * 0.1 == 0.3", Decimal(3)))
    #expect(try holds("median({}) == nil"))
  }

  @Test func nilIsAValue() throws {
    #expect(try holds("nil <= nil AND nil == nil AND nil != 1 AND NOT nil < nil"))
    #expect(try holds("nil + 1 == nil AND -nil == nil AND nil ?? 2 == 2"))
    #expect(try holds("nil IN {1, nil} AND NOT nil IN {1}"))
    #expect(try holds("NONE SELF == 1 AND ALL SELF == 1 AND SELF.@count == 0"))
  }

  @Test func conversions() throws {
    #expect(try holds("CAST(2.5, 'Int64', 7) == 7 AND CAST(2.0, 'Int64', 7) == 2"))
    #expect(try holds("CAST(70000, 'Int16', -1) == -1 AND CAST(nil, 'Int16', -1) == nil"))
    #expect(try holds("CAST(nil, 'Int16') == nil AND CAST(YES, 'String') == 'YES'"))
    #expect(try holds("CAST(CAST(0.5, 'Date'), 'String') == '2001-01-01T00:00:00.500Z'"))
    #expect(try holds("CAST('2001-01-01T00:00:01Z', 'Date', nil) == CAST(1, 'Date')"))
    #expect(try holds("CAST('no', 'Bool', nil) == NO AND CAST('maybe', 'Bool', nil) == nil"))
    #expect(try holds("now() == CAST(100, 'Date') AND now() - 40 == CAST(60, 'Date')"))
    #expect(try holds("canonical('Ünïcode ß') == 'unicode ss'"))
  }

  @Test func lengthsCountUnitsOfUTF16() throws {
    #expect(try holds("length(%@) == 2 AND length(%@) == 1 AND length('') == 0", "\u{1F600}", "\u{E9}"))
    #expect(try holds("FUNCTION(%@, 'length') == 2", "e\u{301}"))
  }

  @Test func searchesFindEquivalentTextThatIsNotEqual() throws {
    let (composed, decomposed) = ("caf\u{E9}", "cafe\u{301}")
    #expect(try holds("%@ != %@ AND %@ CONTAINS %@", composed, decomposed, composed, decomposed))
    #expect(try holds("%@ BEGINSWITH %@ AND %@ ENDSWITH %@", composed, decomposed, decomposed, composed))
    #expect(try holds("NOT %@ CONTAINS %@ AND NOT %@ BEGINSWITH 'cafe'", decomposed, "e", decomposed))
  }

  @Test func likeTakesLinearStepsAndFolds() throws {
    #expect(try holds("'straße' LIKE[c] 'STRA?E' AND 'straße' LIKE[c] 'STRASSE'"))
    #expect(try holds("'a*b' LIKE %@ AND NOT 'axb' LIKE %@", "a\\*b", "a\\*b"))
    #expect(try holds("NOT %@ LIKE %@", String(repeating: "a", count: 5000), "*a*a*a*a*a*a*a*a*a*b"))
  }

  @Test func assignmentsAndScopes() throws {
    #expect(try holds("$x := 3 == 3 AND $x == 3"))
    #expect(try holds("SUBQUERY({1, 2, 3}, $x, SUBQUERY({2, 3}, $y, $x == $y).@count == 1).@count == 2"))
  }
}
