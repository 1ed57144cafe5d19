extension FetchPredicate {
  /// Reads a predicate, `age >= %d AND name BEGINSWITH[c] %@`.
  ///
  /// - Parameters:
  ///   - format: The text. The article <doc:Expressions> has its grammar.
  ///   - arguments: What the specifiers in the text stand for, from left to right. More than there are
  ///     specifiers are ignored.
  /// - Throws: A ``FormatError`` with the place where the text goes wrong.
  public init(format: String, _ arguments: (any FormatArgument)?...) throws(FormatError) {
    try self.init(format: format, arguments: arguments)
  }

  /// Reads a predicate, with its arguments in an array.
  public init(format: String, arguments: [(any FormatArgument)?]) throws(FormatError) {
    var parser = FormatParser(format, arguments: arguments)
    self = try parser.parsePredicate()
  }
}

extension ValueExpression {
  /// Reads a value expression, `first + ' ' + last`.
  ///
  /// - Parameters:
  ///   - format: The text. The article <doc:Expressions> has its grammar.
  ///   - arguments: What the specifiers in the text stand for, from left to right.
  /// - Throws: A ``FormatError`` with the place where the text goes wrong.
  public init(format: String, _ arguments: (any FormatArgument)?...) throws(FormatError) {
    try self.init(format: format, arguments: arguments)
  }

  /// Reads a value expression, with its arguments in an array.
  public init(format: String, arguments: [(any FormatArgument)?]) throws(FormatError) {
    var parser = FormatParser(format, arguments: arguments)
    self = try parser.parseValue()
  }
}
