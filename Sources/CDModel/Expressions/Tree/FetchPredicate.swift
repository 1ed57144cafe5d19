/// A condition that is true or false for an object or a value.
///
/// A predicate is read from a format string, or made by the typed query language, and combined with `&&`, `||` and `!`.
/// All of these give the same tree, so the results are equal.
///
/// Trees are normalised where that costs nothing. Equal text gives equal trees, and reading ``canonicalText`` gives an
/// equal tree:
/// - an AND or an OR is flat and has at least two parts; a compound in parentheses remains a part of its own,
/// - NOT is never directly inside NOT: two of them cancel out,
/// - `NONE` becomes `NOT ANY`, and `SOME` becomes `ANY`.
public struct FetchPredicate: Hashable, Sendable {
  /// The forms of a predicate.
  package indirect enum Kind: Hashable, Sendable {
    /// `TRUEPREDICATE` or `FALSEPREDICATE`.
    case constant(Bool)
    /// A comparison of two values.
    case comparison(Comparison)
    /// True if all parts are true. There are at least two.
    case and([FetchPredicate])
    /// True if at least one part is true. There are at least two.
    case or([FetchPredicate])
    /// True if the part is not true.
    case not(FetchPredicate)
  }

  /// The form of the predicate.
  package let kind: Kind

  /// The position in the text that the predicate was read from; nil for a predicate built in code.
  public let span: SourceSpan?

  private let height: Int32

  /// The number of levels of the tree, including its value expressions: 1 for `TRUEPREDICATE`.
  ///
  /// The parser refuses a tree of more than ``maximumDepth`` levels. Predicates that an app has built can be deeper. So
  /// code that walks a tree recursively checks the depth first and throws an error.
  public var depth: Int { Int(height) }

  /// The maximum number of levels that the parser accepts. A recursive walk over it fits a thread's small stack.
  public static let maximumDepth = ValueExpression.maximumDepth

  init(kind: Kind, span: SourceSpan?) {
    self.kind = kind
    self.span = span
    var below = 0
    Self.forEachPart(of: kind) { below = max(below, $0.depth) }
    height = Int32(clamping: below + 1)
  }

  public static func == (lhs: FetchPredicate, rhs: FetchPredicate) -> Bool {
    lhs.height == rhs.height && lhs.kind == rhs.kind
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(kind)
  }
}

extension FetchPredicate {
  /// The predicate that is true for everything.
  public static let truePredicate = FetchPredicate(kind: .constant(true), span: nil)
  /// The predicate that is false for everything.
  public static let falsePredicate = FetchPredicate(kind: .constant(false), span: nil)

  /// Creates a predicate from a comparison.
  package init(_ comparison: Comparison) {
    self.init(kind: .comparison(comparison), span: nil)
  }

  /// Creates a predicate that compares two values.
  package init(
    _ left: ValueExpression, _ comparisonOperator: ComparisonOperator, _ right: ValueExpression,
    modifier: ComparisonModifier = .direct, options: ComparisonOptions = []
  ) {
    self.init(
      Comparison(
        left: left, operator: comparisonOperator, right: right, modifier: modifier, options: options))
  }

  /// True if all predicates are true, and so also if there are none.
  public static func and(_ predicates: [FetchPredicate]) -> FetchPredicate {
    conjunction(predicates, span: nil)
  }

  /// True if at least one predicate is true. False if there are none.
  public static func or(_ predicates: [FetchPredicate]) -> FetchPredicate {
    disjunction(predicates, span: nil)
  }

  /// The opposite of a predicate. The opposite of a NOT is the predicate inside it.
  public static func not(_ predicate: FetchPredicate) -> FetchPredicate {
    negation(predicate, span: nil)
  }

  static func conjunction(_ parts: [FetchPredicate], span: SourceSpan?) -> FetchPredicate {
    switch parts.count {
    case 0: FetchPredicate(kind: .constant(true), span: span)
    case 1: parts[0]
    default: FetchPredicate(kind: .and(parts), span: span)
    }
  }

  static func disjunction(_ parts: [FetchPredicate], span: SourceSpan?) -> FetchPredicate {
    switch parts.count {
    case 0: FetchPredicate(kind: .constant(false), span: span)
    case 1: parts[0]
    default: FetchPredicate(kind: .or(parts), span: span)
    }
  }

  static func negation(_ part: FetchPredicate, span: SourceSpan?) -> FetchPredicate {
    if case .not(let inner) = part.kind { return inner }
    return FetchPredicate(kind: .not(part), span: span)
  }

  /// True if both predicates are true. A chain of `&&` is one flat AND.
  public static func && (lhs: FetchPredicate, rhs: FetchPredicate) -> FetchPredicate {
    if case .and(var parts) = lhs.kind {
      parts.append(rhs)
      return .and(parts)
    }
    return .and([lhs, rhs])
  }

  /// True if at least one of the predicates is true. A chain of `||` is one flat OR.
  public static func || (lhs: FetchPredicate, rhs: FetchPredicate) -> FetchPredicate {
    if case .or(var parts) = lhs.kind {
      parts.append(rhs)
      return .or(parts)
    }
    return .or([lhs, rhs])
  }

  /// The opposite of a predicate.
  public static prefix func ! (predicate: FetchPredicate) -> FetchPredicate {
    not(predicate)
  }
}
