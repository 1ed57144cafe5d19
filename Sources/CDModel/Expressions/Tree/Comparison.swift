/// A comparison of two values: `left operator[options] right`, optionally with ANY or ALL before it.
package struct Comparison: Hashable, Sendable {
  /// The left side. With ANY or ALL, it is a collection.
  package var left: ValueExpression
  /// The operator.
  package var `operator`: ComparisonOperator
  /// The right side.
  package var right: ValueExpression
  /// How many elements of the left side must satisfy the comparison.
  package var modifier: ComparisonModifier
  /// How strings are compared. The options have no effect on other values.
  package var options: ComparisonOptions

  /// Creates a comparison. Without options, strings are compared by their code units.
  package init(
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
package enum ComparisonOperator: String, Hashable, Sendable, CaseIterable {
  /// Equal values, or nil on both sides. Numbers of different types are compared by their numeric value.
  case equalTo = "=="
  /// The opposite of `==`: nil is unequal to every value.
  case notEqualTo = "!="
  /// The left side is before the right side. An order with nil is false, except `<=` and `>=` between two nils.
  case lessThan = "<"
  /// The left side is before the right side or equal to it.
  case lessThanOrEqualTo = "<="
  /// The left side is after the right side.
  case greaterThan = ">"
  /// The left side is after the right side or equal to it.
  case greaterThanOrEqualTo = ">="
  /// lower <= left <= upper; the right side is an array of the two bounds.
  case between = "BETWEEN"
  /// The left side is an element of the right side, a collection; or, if both are strings, a part of it.
  case `in` = "IN"
  /// IN with the sides exchanged.
  case contains = "CONTAINS"
  /// The left string begins with the right one.
  case beginsWith = "BEGINSWITH"
  /// The left string ends with the right one.
  case endsWith = "ENDSWITH"
  /// The whole string matches a pattern in which `*` is any text and `?` is one character.
  case like = "LIKE"
  /// The whole string matches a regular expression.
  case matches = "MATCHES"
  /// Conformance of uniform type identifiers. It can be read, but not evaluated.
  case utiConformsTo = "UTI-CONFORMS-TO"
  /// Equality of uniform type identifiers. It can be read, but not evaluated.
  case utiEquals = "UTI-EQUALS"
  /// A match of words, as in a search index. It can be read, but not evaluated.
  case tokenMatches = "TOKENMATCHES"

  /// A set of operators that take the same operands.
  package enum Form: Sendable {
    /// Two values of one type.
    case equality
    /// Two values of one type that has an order.
    case order
    /// A value and its two bounds.
    case between
    /// An element and a collection, or a part and a string or data.
    case membership
    /// A membership with the sides exchanged.
    case containment
    /// Two strings, or two values of data.
    case part
    /// A string and a pattern.
    case pattern
    /// The operator can be read, but not evaluated.
    case unsupported
  }

  /// The operator's operands.
  package var form: Form {
    switch self {
    case .equalTo, .notEqualTo: .equality
    case .lessThan, .lessThanOrEqualTo, .greaterThan, .greaterThanOrEqualTo: .order
    case .between: .between
    case .in: .membership
    case .contains: .containment
    case .beginsWith, .endsWith: .part
    case .like, .matches: .pattern
    case .utiConformsTo, .utiEquals, .tokenMatches: .unsupported
    }
  }
}

/// How many elements of a collection must satisfy a comparison.
package enum ComparisonModifier: Hashable, Sendable, CaseIterable {
  /// The left side itself is compared.
  case direct
  /// At least one element of the left side. False for an empty collection.
  case any
  /// Every element of the left side. True for an empty collection.
  case all
}

/// How strings are compared. Without options they are compared by their code units.
public struct ComparisonOptions: OptionSet, Hashable, Sendable {
  /// The options as bits.
  public let rawValue: UInt8

  /// Creates options from bits.
  public init(rawValue: UInt8) {
    self.rawValue = rawValue
  }

  /// `[c]`: ignores the difference between upper and lower case.
  public static let caseInsensitive = ComparisonOptions(rawValue: 1)
  /// `[d]`: ignores diacritics.
  public static let diacriticInsensitive = ComparisonOptions(rawValue: 2)
  /// `[n]`: the strings are already normalised. They are compared by code units, and `[c]` and `[d]` have no effect.
  public static let normalized = ComparisonOptions(rawValue: 4)
  /// `[l]`: compares by the rules of a language.
  public static let localeSensitive = ComparisonOptions(rawValue: 8)

  /// The options in brackets in the order `cdnl`, such as `[cd]`; empty if there are no options.
  public var canonicalText: String { isEmpty ? "" : "[\(letters)]" }

  /// The letters of the options, in the order `cdnl`.
  public var letters: String {
    Self.byLetter.reduce(into: "") { text, pair in
      if contains(pair.option) { text.append(pair.letter) }
    }
  }

  /// Creates options from letters in any order and case. Unknown letters are ignored.
  public init(letters: String) {
    self = letters.lowercased().reduce(into: []) { options, letter in
      if let pair = Self.byLetter.first(where: { $0.letter == letter }) { options.insert(pair.option) }
    }
  }

  private static let byLetter: [(option: ComparisonOptions, letter: Character)] = [
    (.caseInsensitive, "c"), (.diacriticInsensitive, "d"), (.normalized, "n"), (.localeSensitive, "l"),
  ]
}
