#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension ValueExpression {
  /// `SELF`.
  public static let object = ValueExpression(kind: .object, span: nil)
  /// `ANYKEY`.
  public static let anyKey = ValueExpression(kind: .anyKey, span: nil)
  /// `nil`.
  public static let null = ValueExpression(kind: .constant(.null), span: nil)

  /// A constant.
  public static func constant(_ constant: ExpressionConstant) -> ValueExpression {
    ValueExpression(kind: .constant(constant), span: nil)
  }

  /// A single value as a constant.
  public static func constant(_ value: AttributeValue) -> ValueExpression {
    ValueExpression(kind: .constant(.value(value)), span: nil)
  }

  /// `$name`. The name is given without its sigil.
  public static func variable(_ name: String) -> ValueExpression {
    ValueExpression(kind: .variable(name), span: nil)
  }

  /// A key path from its text, such as `author.name` or `reviews.@avg.stars`. This is the form that `%K` accepts.
  ///
  /// `SELF` and `$name` have their special meaning as the first step; `@name` and `SELF` have it at any step. Every
  /// other text between dots is a key, whatever characters it contains.
  public static func keyPath(_ text: String) -> ValueExpression {
    keyPath(text, span: nil)
  }

  /// A key path made of property names.
  public static func keyPath(_ keys: [String]) -> ValueExpression {
    keys.isEmpty ? object : .path(object, keys.map(PathStep.key))
  }

  /// A value followed by steps.
  package static func path(_ base: ValueExpression, _ steps: [PathStep]) -> ValueExpression {
    path(base, steps, span: nil)
  }

  /// An array of values.
  public static func aggregate(_ elements: [ValueExpression]) -> ValueExpression {
    aggregate(elements, span: nil)
  }

  /// A number with its sign reversed.
  public static func negated(_ operand: ValueExpression) -> ValueExpression {
    ValueExpression(kind: .negated(operand), span: nil)
  }

  /// An integer with all bits inverted.
  public static func bitwiseComplement(_ operand: ValueExpression) -> ValueExpression {
    ValueExpression(kind: .bitwiseComplement(operand), span: nil)
  }

  /// An operation with two operands.
  package static func operation(
    _ left: ValueExpression, _ expressionOperator: ExpressionOperator, _ right: ValueExpression
  ) -> ValueExpression {
    operation(left, [OperationTerm(expressionOperator, right)], span: nil)
  }

  /// The first value that is not nil. An empty list gives nil, and a single value gives that value.
  public static func coalesced(_ values: [ValueExpression]) -> ValueExpression {
    switch values.count {
    case 0: null
    case 1: values[0]
    default: ValueExpression(kind: .coalesced(values), span: nil)
    }
  }

  /// A call of a function. The checker verifies the number of arguments.
  package static func function(
    _ function: ExpressionFunction, _ arguments: [ValueExpression]
  ) -> ValueExpression {
    ValueExpression(kind: .function(function, arguments), span: nil)
  }

  /// A call of a method by its selector, with a target and arguments.
  public static func invocation(
    _ target: ValueExpression, selector: String, _ arguments: [ValueExpression]
  ) -> ValueExpression {
    ValueExpression(kind: .invocation(target, selector: selector, arguments), span: nil)
  }

  /// A conversion to a type. Nil stays nil. If the value cannot be converted, the result is `otherwise`; without it,
  /// evaluation fails.
  package static func cast(
    _ value: ValueExpression, _ type: CastType, otherwise: ValueExpression? = nil
  ) -> ValueExpression {
    cast(value, type, otherwise: otherwise, span: nil)
  }

  /// One of two values, chosen by a condition.
  public static func ternary(
    _ condition: FetchPredicate, _ yes: ValueExpression, _ no: ValueExpression
  ) -> ValueExpression {
    ValueExpression(kind: .ternary(condition, yes, no), span: nil)
  }

  /// The elements of a collection that meet a condition. In the condition, the variable stands for the element.
  public static func subquery(
    _ collection: ValueExpression, variable: String, _ condition: FetchPredicate
  ) -> ValueExpression {
    ValueExpression(kind: .subquery(collection, variable: variable, condition), span: nil)
  }

  /// `$variable := value`. It can be read and printed, but not evaluated.
  public static func assignment(variable: String, _ value: ValueExpression) -> ValueExpression {
    ValueExpression(kind: .assignment(variable: variable, value), span: nil)
  }
}

// Shared by the factories and the parser. Each function builds the normalised form of a tree, with a span.
extension ValueExpression {
  static func keyPath(_ text: String, span: SourceSpan?) -> ValueExpression {
    var base = object
    var steps: [PathStep] = []
    for (number, key) in text.split(separator: ".", omittingEmptySubsequences: false).enumerated() {
      if number == 0, key == "SELF" || key == "self" {
        continue
      } else if number == 0, key.count > 1, key.first == "$" {
        base = ValueExpression(kind: .variable(String(key.dropFirst())), span: span)
      } else if key == "SELF" || key == "self" {
        steps.append(.itself)
      } else if key.count > 1, key.first == "@" {
        steps.append(.collectionOperator(String(key.dropFirst())))
      } else {
        steps.append(.key(String(key)))
      }
    }
    return path(base, steps, span: span)
  }

  static func path(_ base: ValueExpression, _ steps: [PathStep], span: SourceSpan?) -> ValueExpression {
    if steps.isEmpty { return ValueExpression(kind: base.kind, span: span) }
    if case .path(let root, let first) = base.kind {
      return ValueExpression(kind: .path(root, first + steps), span: span)
    }
    return ValueExpression(kind: .path(base, steps), span: span)
  }

  static func aggregate(_ elements: [ValueExpression], span: SourceSpan?) -> ValueExpression {
    var constants: [ExpressionConstant] = []
    constants.reserveCapacity(elements.count)
    for element in elements {
      guard case .constant(let constant) = element.kind else {
        return ValueExpression(kind: .aggregate(elements), span: span)
      }
      constants.append(constant)
    }
    return ValueExpression(kind: .constant(.array(constants)), span: span)
  }

  static func operation(
    _ first: ValueExpression, _ terms: [OperationTerm], span: SourceSpan?
  ) -> ValueExpression {
    if case .operation(let root, let before) = first.kind, let last = before.last, let next = terms.first,
      last.operator.precedence == next.operator.precedence
    {
      return ValueExpression(kind: .operation(root, before + terms), span: span)
    }
    return ValueExpression(kind: .operation(first, terms), span: span)
  }

  static func cast(
    _ value: ValueExpression, _ type: CastType, otherwise: ValueExpression?, span: SourceSpan?
  ) -> ValueExpression {
    if otherwise == nil, case .constant(.value(let written)) = value.kind,
      let constant = CastConstant.fold(written, type)
    {
      return ValueExpression(kind: .constant(.value(constant)), span: span)
    }
    return ValueExpression(kind: .cast(value, type, otherwise: otherwise), span: span)
  }
}
