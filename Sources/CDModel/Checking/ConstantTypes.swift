/// The types of constants.
enum ConstantTypes {
  static func type(of constant: ExpressionConstant) -> ExpressionType {
    switch constant {
    case .value(let value): return type(of: value)
    case .object(let reference): return .object(entity: reference.entity)
    case .dictionary: return .dictionary
    case .array(let elements): return .collection(of: common(elements))
    case .set(let elements): return .collection(of: common(Array(elements)))
    }
  }

  static func type(of value: AttributeValue) -> ExpressionType {
    switch value {
    case .null: .null
    case .int(let number): .attribute(TypeRules.type(of: number))
    case .composite: .attribute(.composite(""))
    default: value.type.map(ExpressionType.attribute) ?? .unknown
    }
  }

  /// The common type of all elements that are not nil. `.unknown` if they differ and are not all numbers.
  private static func common(_ elements: [ExpressionConstant]) -> ExpressionType {
    var result: ExpressionType?
    for element in elements {
      let type = type(of: element)
      if type == .null { continue }
      guard let known = result else {
        result = type
        continue
      }
      if known == type { continue }
      guard case (.attribute(let left), .attribute(let right)) = (known, type),
        let wider = TypeRules.calculation(left, isLiteral: false, right, isLiteral: false)
      else { return .unknown }
      result = .attribute(wider)
    }
    return result ?? .unknown
  }
}
