/// An expression that gives a value, such as a side of a comparison, a derivation or a rule of a migration.
///
/// As with ``FetchPredicate``, trees are normalised where that costs nothing:
/// - `SELF.name` is `name`, and a key path after another one is a single key path,
/// - consecutive operators of one precedence form one operation, so that long sums do not nest:
///   `(a + b) - c` is `a + b - c`,
/// - `{…}` with only constants is an array constant, equal to an array that was passed as an argument,
/// - CAST of a number or of a base64, UUID, decimal or URL text is a constant of that type.
public struct ValueExpression: Hashable, Sendable {
  /// The forms of a value expression.
  package indirect enum Kind: Hashable, Sendable {
    /// A constant.
    case constant(ExpressionConstant)
    /// `SELF`: the object that the predicate is evaluated with, inside SUBQUERY too.
    case object
    /// `ANYKEY`. It can be read, but the checker and the evaluator refuse it.
    case anyKey
    /// `$name`. The name is stored without its sigil.
    case variable(String)
    /// A value followed by at least one step. The base of a plain key path is ``object``.
    case path(ValueExpression, [PathStep])
    /// `{a, b}`: an array whose elements are not all constants.
    case aggregate([ValueExpression])
    /// `-x`.
    case negated(ValueExpression)
    /// `~x`.
    case bitwiseComplement(ValueExpression)
    /// A value followed by at least one operator with its right operand. All operators have the same precedence and are
    /// applied from left to right.
    case operation(ValueExpression, [OperationTerm])
    /// `a ?? b ?? c`: the first value that is not nil. There are at least two values.
    case coalesced([ValueExpression])
    /// A call of a function.
    case function(ExpressionFunction, [ValueExpression])
    /// A call of an unknown function. It can be read, but the checker and the evaluator refuse it.
    case unknownFunction(String, [ValueExpression])
    /// `FUNCTION(target, 'selector', …)`.
    case invocation(ValueExpression, selector: String, [ValueExpression])
    /// `CAST(value, 'type')`, or `CAST(value, 'type', else)`, which gives the third value if the conversion fails. Nil
    /// stays nil.
    case cast(ValueExpression, CastType, otherwise: ValueExpression?)
    /// `TERNARY(condition, then, else)`.
    case ternary(FetchPredicate, ValueExpression, ValueExpression)
    /// `SUBQUERY(collection, $variable, condition)`: the elements that meet the condition.
    case subquery(ValueExpression, variable: String, FetchPredicate)
    /// `$variable := value`.
    case assignment(variable: String, ValueExpression)
  }

  /// The form of the expression.
  package let kind: Kind

  /// The position in the text that the expression was read from; nil for an expression built in code.
  public let span: SourceSpan?

  /// The key of an expression that reads one property of the object; nil for any other expression.
  package var onlyKey: String? {
    guard case .path(let base, let steps) = kind, case .object = base.kind, steps.count == 1,
      case .key(let key) = steps[0]
    else { return nil }
    return key
  }

  private let height: Int32

  /// The number of levels of the tree: 1 for a constant. See ``FetchPredicate/depth``.
  public var depth: Int { Int(height) }

  /// The maximum number of levels that the parser accepts.
  ///
  /// A recursive walk over such a tree fits the 512 KiB stack of a secondary thread, even in a debug build, if it uses
  /// at most 4 KiB a level.
  public static let maximumDepth = 100

  init(kind: Kind, span: SourceSpan?) {
    self.kind = kind
    self.span = span
    height = Int32(clamping: Self.depthBelow(kind) + 1)
  }

  private static func depthBelow(_ kind: Kind) -> Int {
    if case .constant(let constant) = kind { return constant.depth - 1 }
    var depth = 0
    forEachPart(of: kind) { depth = max(depth, $0.depth) }
    return depth
  }

  public static func == (lhs: ValueExpression, rhs: ValueExpression) -> Bool {
    lhs.height == rhs.height && lhs.kind == rhs.kind
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(kind)
  }
}
