import CDModel
import Testing

struct KeyPathWalkTests {
  @Test(arguments: [
    ("a.b + a[c].d", ["a.b", "a.d", "c"]),
    ("SUBQUERY(a, $x, $x.b > c).@count", ["a", "a.b", "c", "a"]),
    ("SUBQUERY(a, $x, TRUEPREDICATE).b.@sum.c", ["a", "a.b.c"]),
    ("SUBQUERY(a, $x, SUBQUERY($x.b, $y, $y.c > $x.d).@count > 0)", ["a", "a.b", "a.b.c", "a.d", "a.b"]),
    // The inner SUBQUERY hides the outer variable in its own condition only.
    ("SUBQUERY(a, $x, SUBQUERY(b, $x, $x.c > 0).@count > $x.d)", ["a", "b", "b.c", "b", "a.d"]),
    ("SUBQUERY(a, $x, TRUEPREDICATE).@count + $x.b", ["a", "a"]),
    ("(a ?? b).c", ["a", "b", "a.c", "b.c"]),
    ("TERNARY(a > 0, b, SELF).c", ["a", "b", "b.c", "c"]),
    ("SUBQUERY(a UNION b, $x, $x.c > 0)", ["a", "b", "a.c", "b.c"]),
  ])
  func pathsOfVariablesContinueThoseOfTheirCollections(format: String, expected: [String]) throws {
    var walk = KeyPathWalk()
    walk.visit(try ValueExpression(format: format))
    let paths = walk.paths.map { steps -> String in
      let keys = steps.compactMap { step -> String? in
        if case .key(let key) = step { key } else { nil }
      }
      return keys.joined(separator: ".")
    }
    #expect(paths == expected)
  }

  @Test func nestedChoicesDoNotMultiplyWithoutBound() throws {
    var text = "$x29.c > 0"
    for level in (1..<30).reversed() {
      text = "SUBQUERY($x\(level - 1).c ?? $x\(level - 1).d, $x\(level), \(text)).@count > 0"
    }
    var walk = KeyPathWalk()
    walk.visit(try ValueExpression(format: "SUBQUERY(a, $x0, \(text))"))
    #expect(walk.paths.count > 30)
    #expect(walk.paths.count < 10_000)
  }
}
