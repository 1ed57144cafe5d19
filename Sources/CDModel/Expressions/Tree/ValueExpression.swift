/// An expression that gives a value: a side of a comparison, a derived attribute, a migration's rule.
///
/// As with ``FetchPredicate``, there is one tree for one meaning where that costs nothing:
/// - `SELF.name` is `name`, and a key path behind another is one key path,
/// - operators of one precedence that follow each other are one ``Kind/operation(_:_:)``, so that long sums
///   do not nest: `(a + b) - c` is `a + b - c`,
/// - `{…}` of constants alone is an array constant, as an array that was an argument is,
/// - a number, base64, UUID, decimal or URL text in CAST is the constant of that type.
public struct ValueExpression: Hashable, Sendable {
  /// What a value expression is.
  public indirect enum Kind: Hashable, Sendable {
    /// A constant.
    case constant(ExpressionConstant)
    /// `SELF`: what the predicate is evaluated with, inside SUBQUERY too.
    case object
    /// `ANYKEY`: read, and refused by the checker and when evaluated.
    case anyKey
    /// `$name`, the name without its sigil.
    case variable(String)
    /// A value and at least one step from there. The base of a plain key path is ``object``.
    case path(ValueExpression, [PathStep])
    /// `{a, b}`: an array of values that are not all constants.
    case aggregate([ValueExpression])
    /// `-x`.
    case negated(ValueExpression)
    /// `~x`.
    case bitwiseComplement(ValueExpression)
    /// A value and at least one operator with what stands to its right, all of one precedence, to be
    /// applied from left to right.
    case operation(ValueExpression, [OperationTerm])
    /// `a ?? b ?? c`: the first that is not nil, of at least two.
    case coalesced([ValueExpression])
    /// A function of arguments.
    case function(ExpressionFunction, [ValueExpression])
    /// A call of what is no function: read, and refused by the checker and when evaluated.
    case unknownFunction(String, [ValueExpression])
    /// `FUNCTION(target, 'selector', …)`.
    case invocation(ValueExpression, selector: String, [ValueExpression])
    /// `CAST(value, 'type')`, or `CAST(value, 'type', else)`, which has the third value where the
    /// conversion fails. Nil stays nil.
    case cast(ValueExpression, CastType, otherwise: ValueExpression?)
    /// `TERNARY(condition, then, else)`.
    case ternary(FetchPredicate, ValueExpression, ValueExpression)
    /// `SUBQUERY(collection, $variable, condition)`: the elements that meet the condition.
    case subquery(ValueExpression, variable: String, FetchPredicate)
    /// `$variable := value`.
    case assignment(variable: String, ValueExpression)
  }

  /// What the expression is.
  public let kind: Kind

  /// Where the expression stands in the text that it was read from; nil for one that was built.
  public let span: SourceSpan?

  private let height: Int32

  /// The count of levels of the tree: 1 for a constant. See ``FetchPredicate/depth``.
  public var depth: Int { Int(height) }

  /// The most levels of a tree that the parser accepts.
  ///
  /// A recursive walk then fits the 512 KiB stack of a secondary thread, even in a debug build, if it takes no
  /// more than 4 KiB a level.
  public static let maximumDepth = 100

  init(kind: Kind, span: SourceSpan?) {
    self.kind = kind
    self.span = span
    height = Int32(clamping: Self.depthBelow(kind) + 1)
  }

  private static func depthBelow(_ kind: Kind) -> Int {
    func deepest(_ expressions: [ValueExpression]) -> Int { expressions.reduce(0) { max($0, $1.depth) } }
    switch kind {
    case .object, .anyKey, .variable: return 0
    case .constant(let constant): return constant.depth - 1
    case .path(let base, let steps):
      return steps.reduce(base.depth) { depth, step in
        if case .index(let index) = step { max(depth, index.depth) } else { depth }
      }
    case .aggregate(let elements), .coalesced(let elements), .function(_, let elements),
      .unknownFunction(_, let elements):
      return deepest(elements)
    case .negated(let operand), .bitwiseComplement(let operand), .assignment(_, let operand):
      return operand.depth
    case .operation(let first, let terms): return terms.reduce(first.depth) { max($0, $1.operand.depth) }
    case .invocation(let target, _, let arguments): return max(target.depth, deepest(arguments))
    case .cast(let value, _, let otherwise): return max(value.depth, otherwise?.depth ?? 0)
    case .ternary(let condition, let yes, let no): return max(condition.depth, yes.depth, no.depth)
    case .subquery(let collection, _, let condition): return max(collection.depth, condition.depth)
    }
  }

  public static func == (lhs: ValueExpression, rhs: ValueExpression) -> Bool {
    lhs.height == rhs.height && lhs.kind == rhs.kind
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(kind)
  }
}
