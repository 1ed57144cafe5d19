/// A comparison of two values: `left operator[options] right`, with ANY or ALL before it or without.
public struct Comparison: Hashable, Sendable {
  /// What is compared: a collection where there is an ANY or ALL.
  public var left: ValueExpression
  /// How it is compared.
  public var `operator`: ComparisonOperator
  /// What it is compared with.
  public var right: ValueExpression
  /// How many of the left side's elements it must hold for.
  public var modifier: ComparisonModifier
  /// How strings are compared; without effect on other values.
  public var options: ComparisonOptions

  /// A comparison; without options strings are compared by their code units.
  public init(
    left: ValueExpression, operator: ComparisonOperator, right: ValueExpression,
    modifier: ComparisonModifier = .direct, options: ComparisonOptions = []
  ) {
    self.left = left
    self.operator = `operator`
    self.right = right
    self.modifier = modifier
    self.options = options
  }
}

/// The operator of a comparison. The raw value is its canonical text.
public enum ComparisonOperator: String, Hashable, Sendable, CaseIterable {
  /// The same value, or nil on both sides; numbers of different types by what they count.
  case equalTo = "=="
  /// The opposite of `==`: nil is unequal to every value.
  case notEqualTo = "!="
  /// Before the right side. No order with nil is true, but `<=` and `>=` of two nils.
  case lessThan = "<"
  /// Before the right side, or equal to it.
  case lessThanOrEqualTo = "<="
  /// Behind the right side.
  case greaterThan = ">"
  /// Behind the right side, or equal to it.
  case greaterThanOrEqualTo = ">="
  /// lower <= left <= upper; the right side is an array of the two bounds.
  case between = "BETWEEN"
  /// The right side, a collection, has the left one as an element; or, of two strings, as a part.
  case `in` = "IN"
  /// IN with its sides exchanged.
  case contains = "CONTAINS"
  /// The string begins with the right one.
  case beginsWith = "BEGINSWITH"
  /// The string ends with the right one.
  case endsWith = "ENDSWITH"
  /// The whole string is the pattern's, in which `*` is any text and `?` one character.
  case like = "LIKE"
  /// The whole string matches a regular expression.
  case matches = "MATCHES"
  /// Conformance of uniform type identifiers: read, and refused when evaluated.
  case utiConformsTo = "UTI-CONFORMS-TO"
  /// Equality of uniform type identifiers: read, and refused when evaluated.
  case utiEquals = "UTI-EQUALS"
  /// A match of words, as a search index has them: read, and refused when evaluated.
  case tokenMatches = "TOKENMATCHES"
}

/// How many of a collection's elements a comparison must hold for.
public enum ComparisonModifier: Hashable, Sendable, CaseIterable {
  /// The left side is compared as it is.
  case direct
  /// One element of the left side at least. Never true of an empty collection.
  case any
  /// Every element of the left side. True of an empty collection.
  case all
}

/// How strings are compared. Without options they are compared by their code units.
public struct ComparisonOptions: OptionSet, Hashable, Sendable {
  /// The options as bits.
  public let rawValue: UInt8

  /// Options of bits.
  public init(rawValue: UInt8) {
    self.rawValue = rawValue
  }

  /// `[c]`: upper and lower case are the same.
  public static let caseInsensitive = ComparisonOptions(rawValue: 1)
  /// `[d]`: a letter with a diacritic and without are the same.
  public static let diacriticInsensitive = ComparisonOptions(rawValue: 2)
  /// `[n]`: the strings are normalised already; compared by code units whatever `[c]` and `[d]` say.
  public static let normalized = ComparisonOptions(rawValue: 4)
  /// `[l]`: ordered by the rules of a language.
  public static let localeSensitive = ComparisonOptions(rawValue: 8)

  /// The options in brackets and in the order `cdnl`, `[cd]` for instance; empty where there are none.
  public var canonicalText: String { isEmpty ? "" : "[\(letters)]" }

  /// The letters of the options, in the order `cdnl`.
  public var letters: String {
    Self.byLetter.reduce(into: "") { text, pair in
      if contains(pair.option) { text.append(pair.letter) }
    }
  }

  /// The options of letters in any order and case. Letters that stand for none are passed over.
  public init(letters: String) {
    self = letters.lowercased().reduce(into: []) { options, letter in
      if let pair = Self.byLetter.first(where: { $0.letter == letter }) { options.insert(pair.option) }
    }
  }

  private static let byLetter: [(option: ComparisonOptions, letter: Character)] = [
    (.caseInsensitive, "c"), (.diacriticInsensitive, "d"), (.normalized, "n"), (.localeSensitive, "l"),
  ]
}
