#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

// The types that the evaluator cannot know. It sees only values: half of the integer 1 is 0, and half of the double 1 is
// 0.5. So the checked expression has the values in the types that the checker gives them.
extension CheckerSession {
  /// Returns a value of a choice in the type that all values of the choice have. A literal and a Boolean take it, and so
  /// does a sum, which is an integer if it adds nothing.
  ///
  /// An expression with translated keys is for another program, so it stays as written.
  func written(_ value: CheckedValue, as type: ExpressionType?) -> CheckedValue {
    guard translation == nil, case .attribute(let wanted)? = type, case .attribute(let own) = value.type
    else { return value }
    let (wantedType, ownType) = (TypeRules.rawType(wanted, in: graph), TypeRules.rawType(own, in: graph))
    if case .constant(.value(let constant)) = value.expression.kind {
      guard value.isLiteral || ownType == .bool, let new = Self.constant(constant, as: wantedType) else {
        return value
      }
      return changed(value, .constant(.value(new)))
    }
    switch (ownType, wantedType) {
    case (.bool, .bool): return value
    case (.bool, _) where TypeRules.isInteger(wantedType): return cast(value, to: wantedType)
    case (_, .float), (_, .double), (_, .decimal):
      return value.isLiteral && ownType != wantedType ? cast(value, to: wantedType) : writtenSum(value)
    default: return value
    }
  }

  /// Returns a sum of fractions, as an operand or an argument, in its type. Returns other values as they are.
  func writtenSum(_ value: CheckedValue) -> CheckedValue {
    guard translation == nil, case .attribute(let type) = value.type, type == .double || type == .decimal
    else { return value }
    switch value.expression.kind {
    case .path(_, let steps):
      let sum = PathStep.collectionOperator(CollectionOperator.sum.rawValue)
      return steps.contains(sum) ? cast(value, to: type) : value
    case .function(.sum, _): return cast(value, to: type)
    default: return value
    }
  }

  private func cast(_ value: CheckedValue, to type: AttributeType) -> CheckedValue {
    changed(value, .cast(value.expression, .attribute(type), otherwise: nil))
  }

  private func changed(_ value: CheckedValue, _ kind: ValueExpression.Kind) -> CheckedValue {
    var result = value
    result.expression = ValueExpression(kind: kind, span: value.expression.span)
    result.isChanged = true
    return result
  }

  /// A constant in another type of numbers; nil if it stays as it is. A Float has no constants of its own.
  private static func constant(_ value: AttributeValue, as type: AttributeType) -> AttributeValue? {
    switch (value, type) {
    case (.int(let number), .float), (.int(let number), .double): .double(Double(number))
    case (.int(let number), .decimal): .decimal(Decimal(number))
    case (.double(let number), .decimal): Decimal(digitsOf: number).map(AttributeValue.decimal)
    case (_, .bool): nil
    case (.bool(let flag), _): TypeRules.isInteger(type) ? .int(flag ? 1 : 0) : nil
    default: nil
    }
  }
}
