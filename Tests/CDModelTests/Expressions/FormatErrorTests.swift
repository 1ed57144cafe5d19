import CDModel
import Testing

struct FormatErrorTests {
  @Test(arguments: [
    ("", 0, "expected a comparison, found end of text"),
    ("age", 3, "expected an operator after 'age', found end of text"),
    ("(age)", 5, "expected an operator after '(age)', found end of text"),
    ("(age", 4, "expected an operator after 'age', found end of text"),
    ("age ==", 6, "expected a value after '==', found end of text"),
    ("age == 1 AND", 12, "expected a comparison after 'AND', found end of text"),
    ("age == 1 b == 2", 9, "expected AND, OR or end of text after '1', found 'b'"),
    ("a == 1 == 2", 7, "expected AND, OR or end of text after '1', found '=='"),
    ("(a == 1", 7, "expected AND, OR or ')' after '1', found end of text"),
    ("a == 1)", 6, "expected AND, OR or end of text after '1', found ')'"),
    ("(a == 1) + 2 == 3", 9, "expected AND, OR or end of text after '(a == 1)', found '+'"),
    ("a AND b == 1", 2, "expected an operator after 'a', found 'AND'"),
    ("(NOT a) == 1", 6, "expected an operator after 'a', found ')'"),
    ("a == (b == c)", 8, "expected an operator or ')' after 'b', found '=='"),
    ("ANY (a == 1)", 7, "expected an operator or ')' after 'a', found '=='"),
    ("a NOT IN b", 2, "expected an operator after 'a', found 'NOT'"),
    ("a IN (1, 2)", 7, "expected an operator or ')' after '1', found ','"),
    ("a IN [1, 2]", 5, "expected a value, or options such as [cd], after 'IN', found '['"),
    ("a ==[x] 1", 4, "expected a value, or options such as [cd], after '==', found '['"),
    ("a IN {1, }", 9, "expected a value after ',', found '}'"),
    ("a IN {1 2}", 8, "expected an operator or ',' or '}' after '1', found '2'"),
    ("a == b.in", 7, "expected a key after '.' (written #in, being a reserved word), found 'in'"),
    ("in == 1", 0, "expected a comparison (a key that is a reserved word is written #in), found 'in'"),
    (
      "a == like", 5,
      "expected a value after '==' (a key that is a reserved word is written #like), found 'like'"
    ),
    ("a == b.5", 7, "expected a key after '.', found '5'"),
    ("a == 03a", 7, "expected AND, OR or end of text after '03', found 'a'"),
    ("SUBQUERY(a, x, b == 1) > 0", 12, "expected a variable such as $x, found 'x'"),
    ("SUBQUERY(a, $x, b) > 0", 17, "expected an operator after 'b', found ')'"),
    ("SUBQUERY == 1", 9, "expected '(' after SUBQUERY, found '=='"),
    ("TERNARY(a, b, c) == 1", 9, "expected an operator after 'a', found ','"),
    ("TERNARY(a == 1, b) == 1", 17, "expected an operator or ',' after 'b', found ')'"),
    ("TERNARY(a == 1, b, c, d) == 1", 20, "expected an operator or ')' after 'c', found ','"),
    ("CAST(a, Date) == 1", 8, "expected a type's name in quotes, found 'Date'"),
    ("FUNCTION(a, b) == 1", 12, "expected a selector in quotes, found 'b'"),
    ("max({1} == 2", 8, "expected an operator or ',' or ')' after '{1}', found '=='"),
    ("add:to == 1", 4, "expected '(' after add:, found 'to'"),
    ("a[1 == 2", 4, "expected an operator or ']' after '1', found '=='"),
    ("$ == 1", 0, "expected a comparison, found '$'"),
    ("a == #", 5, "expected a value after '==', found '#'"),
    ("a ; b", 2, "expected an operator after 'a', found ';'"),
    ("a == 1 /* x */", 8, "expected a value after '/', found '*'"),
    ("a == %d", 5, "%d has no argument: 0 given"),
    ("a == 'b", 5, "the string that begins here has no closing quote"),
    ("a == '\\uD83D!'", 6, "\\uD83D is half of a surrogate pair"),
    ("a == 9223372036854775808", 5, "the integer 9223372036854775808 does not fit in 64 bits"),
    ("a == -9223372036854775809", 6, "the integer 9223372036854775809 does not fit in 64 bits"),
    ("a == 0xFFFFFFFFFFFFFFFF", 5, "the integer 0xFFFFFFFFFFFFFFFF does not fit in 64 bits"),
    ("a == 1e999", 5, "the number 1e999 is too large"),
    ("a BETWEN {1, 2}", 2, "expected an operator after 'a', found 'BETWEN'; did you mean 'BETWEEN'?"),
    ("a beginsWit 'b'", 2, "expected an operator after 'a', found 'beginsWit'; did you mean 'BEGINSWITH'?"),
    ("a == 1 ADN b == 2", 7, "expected AND, OR or end of text after '1', found 'ADN'; did you mean 'AND'?"),
    ("a := 1 == 1", 2, "expected an operator after 'a', found ':='"),
    ("1 + $x := 1 == 1", 7, "expected an operator after '$x', found ':='"),
    ("a == %q", 5, "expected a value after '==', found '%'"),
  ])
  func messages(format: String, offset: Int, message: String) {
    #expect { try FetchPredicate(format: format) } throws: { error in
      guard let error = error as? FormatError else { return false }
      #expect(error.utf16Offset == offset)
      #expect(error.message == message)
      return true
    }
  }

  @Test func offsetsCountBytesAndUTF16Units() {
    #expect { try FetchPredicate(format: "é == '😀' AND") } throws: { error in
      let error = error as? FormatError
      return error?.utf16Offset == 13 && error?.utf8Offset == 16
        && error?.expected == "a comparison after 'AND'" && error?.found == "end of text"
        && error?.description == "character 14: expected a comparison after 'AND', found end of text"
    }
  }

  @Test(arguments: [
    (
      "%K == 1", ExpressionConstant.value(.int(1)),
      "%K takes a key path as a string, and argument 1 is another value"
    ),
    ("a == %d", .value(.string("1")), "%d takes an integer, and argument 1 is another value"),
    ("a == %ld", .value(.double(1.5)), "%ld takes an integer, and argument 1 is another value"),
    ("a == %f", .null, "%f takes a number, and argument 1 is another value"),
    ("a == %s", .value(.int(1)), "%s takes a string, and argument 1 is another value"),
  ])
  func argumentsThatDoNotFit(format: String, argument: ExpressionConstant, message: String) {
    #expect { try FetchPredicate(format: format, argument) } throws: { error in
      (error as? FormatError)?.message == message
    }
  }

  @Test func predicatesAreNoValues() {
    #expect { try ValueExpression(format: "a == 1") } throws: { error in
      (error as? FormatError)?.message == "expected an operator or end of text after 'a', found '=='"
    }
    #expect { try ValueExpression(format: "") } throws: { error in
      (error as? FormatError)?.message == "expected a value, found end of text"
    }
  }

  @Test func argumentsNestedTooDeepAreRefused() {
    var constant = ExpressionConstant.array([])
    for _ in 0..<200 { constant = .array([constant]) }
    #expect { try FetchPredicate(format: "a IN %@", constant) } throws: { error in
      (error as? FormatError)?.message
        == "the argument has collections in collections, more than 100 deep"
    }
  }
}
