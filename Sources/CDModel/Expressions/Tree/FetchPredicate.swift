/// A condition that an object or a value meets or does not.
///
/// A predicate is read from a format string, built with `&&`, `||`, `!` and ``Comparison``s, or made by
/// the typed query language; it is the same tree, and equal, however it came about. ``kind`` is what an
/// evaluator or a translator switches over.
///
/// Trees have one form for one meaning where that costs nothing, so that equal text gives equal trees and
/// ``canonicalText`` reads back to an equal one:
/// - an AND or an OR is flat and has at least two parts; a parenthesised compound stays a part of its own,
/// - NOT never stands directly under NOT: two of them cancel out,
/// - NONE is NOT ANY, and SOME is ANY.
public struct FetchPredicate: Hashable, Sendable {
  /// What a predicate is.
  public indirect enum Kind: Hashable, Sendable {
    /// `TRUEPREDICATE` or `FALSEPREDICATE`.
    case constant(Bool)
    /// A comparison of two values.
    case comparison(Comparison)
    /// True when all of the parts are. There are at least two.
    case and([FetchPredicate])
    /// True when one of the parts is. There are at least two.
    case or([FetchPredicate])
    /// True where the other is not.
    case not(FetchPredicate)
  }

  /// What the predicate says.
  public let kind: Kind

  /// Where the predicate stands in the text that it was read from; nil for one that was built.
  public let span: SourceSpan?

  private let height: Int32

  /// The count of levels of the tree, that of its value expressions included: 1 for `TRUEPREDICATE`.
  ///
  /// The parser refuses a tree of more than ``maximumDepth`` levels. What walks a tree recursively and is
  /// handed predicates that an app has built compares first, and throws.
  public var depth: Int { Int(height) }

  /// The most levels of a tree that the parser accepts, such that a walk fits a thread's small stack.
  public static let maximumDepth = ValueExpression.maximumDepth

  init(kind: Kind, span: SourceSpan?) {
    self.kind = kind
    self.span = span
    let below: Int
    switch kind {
    case .constant: below = 0
    case .comparison(let comparison): below = max(comparison.left.depth, comparison.right.depth)
    case .and(let parts), .or(let parts): below = parts.reduce(0) { max($0, $1.depth) }
    case .not(let part): below = part.depth
    }
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
  /// The predicate that everything meets.
  public static let truePredicate = FetchPredicate(kind: .constant(true), span: nil)
  /// The predicate that nothing meets.
  public static let falsePredicate = FetchPredicate(kind: .constant(false), span: nil)

  /// A predicate that compares two values.
  public init(_ comparison: Comparison) {
    self.init(kind: .comparison(comparison), span: nil)
  }

  /// A predicate that compares two values.
  public init(
    _ left: ValueExpression, _ comparisonOperator: ComparisonOperator, _ right: ValueExpression,
    modifier: ComparisonModifier = .direct, options: ComparisonOptions = []
  ) {
    self.init(
      Comparison(
        left: left, operator: comparisonOperator, right: right, modifier: modifier, options: options))
  }

  /// True when all of the predicates are; so it is true when there are none.
  public static func and(_ predicates: [FetchPredicate]) -> FetchPredicate {
    conjunction(predicates, span: nil)
  }

  /// True when one of the predicates is; so it is false when there are none.
  public static func or(_ predicates: [FetchPredicate]) -> FetchPredicate {
    disjunction(predicates, span: nil)
  }

  /// The opposite of a predicate. That of an opposite is what it was made from.
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

  /// Both predicates. A chain of `&&` is one flat AND.
  public static func && (lhs: FetchPredicate, rhs: FetchPredicate) -> FetchPredicate {
    if case .and(var parts) = lhs.kind {
      parts.append(rhs)
      return .and(parts)
    }
    return .and([lhs, rhs])
  }

  /// One of the predicates or both. A chain of `||` is one flat OR.
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
