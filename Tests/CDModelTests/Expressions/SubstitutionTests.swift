import CDModel
import Testing

struct SubstitutionTests {
  @Test(arguments: [
    ("a == $x AND b == $y", "a == 5 AND b == $y"),
    ("a BETWEEN {$x, 9}", "a BETWEEN {5, 9}"),
    ("$x.name == -$x", "(5).name == -(5)"),
    ("SUBQUERY($x, $x, $x == 1).@count == $x", "SUBQUERY(5, $x, $x == 1).@count == 5"),
    ("$x := $x + 1 == $x", "$x := 5 + 1 == $x"),
    (
      "a[$x] == TERNARY(a == $x, $x, CAST($x, 'String', $x))",
      "a[5] == TERNARY(a == 5, 5, CAST(5, \"String\", 5))"
    ),
    ("NOT (a == 1 OR sum($x, $y) == nothing($x) ?? $x)", "NOT (a == 1 OR sum(5, $y) == nothing(5) ?? 5)"),
    ("CAST($x, 'Date') == FUNCTION($x, 'f', $x)", "CAST(5.0, \"Date\") == FUNCTION(5, \"f\", 5)"),
    ("a == 1", "a == 1"),
  ])
  func variablesBecomeConstants(format: String, expected: String) throws {
    let predicate = try FetchPredicate(format: format)
    #expect(predicate.substituting(["x": 5, "z": nil]).canonicalText == expected)
    #expect(try FetchPredicate(format: expected) == predicate.substituting(["x": 5]))
  }

  @Test func namesOfVariablesInTheOrderOfTheText() throws {
    let predicate = try FetchPredicate(
      format: "b == $y AND SUBQUERY(a, $x, $x == $z OR $y == 1) == $w AND $v := $x == $v")
    #expect(predicate.variableNames == ["y", "z", "w", "x"])
    #expect(try ValueExpression(format: "$b + a[$a] + a.$c").variableNames == ["b", "a", "c"])
  }
}
