extension FetchPredicate {
  /// Reads a predicate, such as `age >= %d AND name BEGINSWITH[c] %@`.
  ///
  /// - Parameters:
  ///   - format: The text. The article <doc:Expressions> describes its grammar.
  ///   - arguments: The values for the specifiers in the text, from left to right. Extra arguments are ignored.
  /// - Throws: ``FormatError`` with the position of the first error.
  public init(format: String, _ arguments: (any FormatArgument)?...) throws(FormatError) {
    try self.init(format: format, arguments: arguments)
  }

  /// Reads a predicate, with the arguments in an array.
  public init(format: String, arguments: [(any FormatArgument)?]) throws(FormatError) {
    var parser = FormatParser(format, arguments: arguments)
    self = try parser.parsePredicate()
  }
}

extension ValueExpression {
  /// Reads a value expression, such as `first + ' ' + last`.
  ///
  /// - Parameters:
  ///   - format: The text. The article <doc:Expressions> describes its grammar.
  ///   - arguments: The values for the specifiers in the text, from left to right. Extra arguments are ignored.
  /// - Throws: ``FormatError`` with the position of the first error.
  public init(format: String, _ arguments: (any FormatArgument)?...) throws(FormatError) {
    try self.init(format: format, arguments: arguments)
  }

  /// Reads a value expression, with the arguments in an array.
  public init(format: String, arguments: [(any FormatArgument)?]) throws(FormatError) {
    var parser = FormatParser(format, arguments: arguments)
    self = try parser.parseValue()
  }
}
