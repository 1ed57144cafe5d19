/// A token of a format string and its position in UTF-8 bytes.
struct FormatToken {
  enum Kind {
    case end
    case identifier(String)
    case keyword(FormatKeyword)
    /// The magnitude of an integer. It may be 2^63, which fits in an `Int64` only with a minus sign before it.
    case integer(UInt64)
    case double(Double)
    case string(String)
    /// `$name`
    case variable(String)
    /// `#word` or `#"any text"`
    case escapedName(String)
    /// `#self`
    case escapedSelf
    /// `@name`
    case collectionOperator(String)
    /// `%@` or a conversion of printf, with the constant of its argument.
    case argument(ExpressionConstant)
    /// `%K`, with its argument.
    case keyPath(String)
    case symbol(FormatSymbol)
    /// A character that begins no token.
    case invalid
  }

  var kind: Kind
  var start: Int
  var end: Int
}

/// The symbols of a format string.
enum FormatSymbol: Equatable {
  case openParenthesis, closeParenthesis, openBracket, closeBracket, openBrace, closeBrace
  case comma, dot, assign, coalesce, not, and, or, complement
  case comparison(ComparisonOperator)
  case value(ExpressionOperator)
}

/// The words with a special meaning, in upper or lower case.
enum FormatKeyword: String, CaseIterable {
  case and, or, not, all, any, some, none
  case `in`, like, matches, contains, beginsWith, endsWith, between
  case null, `nil`, `self`, `true`, yes, `false`, no, anyKey
  case subquery, fetch, cast, truePredicate, falsePredicate, caseInsensitive, ci
  case utiConformsTo = "UTI-CONFORMS-TO"
  case utiEquals = "UTI-EQUALS"
  case ternary, function, union, intersect, minus, tokenMatches

  /// Whether the word is not on Apple's list of reserved words. Such a word is a key wherever its special meaning does
  /// not apply.
  var isContextual: Bool {
    switch self {
    case .ternary, .function, .union, .intersect, .minus, .tokenMatches: true
    default: false
    }
  }

  var comparison: ComparisonOperator? {
    Self.comparisons[self]
  }

  private static let comparisons: [FormatKeyword: ComparisonOperator] = Dictionary(
    uniqueKeysWithValues: allCases.compactMap { keyword in
      ComparisonOperator(rawValue: keyword.rawValue.uppercased()).map { (keyword, $0) }
    })

  var setOperator: ExpressionOperator? {
    switch self {
    case .union: .union
    case .intersect: .intersect
    case .minus: .minus
    default: nil
    }
  }

  /// The keyword that the bytes spell, in upper or lower case; nil for other text.
  static func keyword(_ bytes: ArraySlice<UInt8>) -> FormatKeyword? {
    guard bytes.count < byLength.count else { return nil }
    for (spelling, keyword) in byLength[bytes.count] {
      // All these keywords consist of letters. In ASCII, bit 0x20 is the only difference between the two cases of a
      // letter.
      if zip(spelling, bytes).allSatisfy({ $0 == $1 | 0x20 }) { return keyword }
    }
    return nil
  }

  /// The keyword that has this spelling; nil for other text.
  static func keyword(_ name: String) -> FormatKeyword? {
    keyword(Array(name.utf8)[...])
  }

  private static let byLength: [[([UInt8], FormatKeyword)]] = {
    var table: [[([UInt8], FormatKeyword)]] = []
    for keyword in allCases where !keyword.rawValue.contains("-") {
      let spelling = Array(keyword.rawValue.lowercased().utf8)
      while table.count <= spelling.count { table.append([]) }
      table[spelling.count].append((spelling, keyword))
    }
    return table
  }()
}
