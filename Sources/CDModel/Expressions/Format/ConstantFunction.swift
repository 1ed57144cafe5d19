/// The written form of constant collections and objects: calls of names that are not functions.
///
/// `SET(1, 2)`, `DICTIONARY("key", 1, …)`, `COMPOSITE("field", 1, …)` and `OBJECT("Entity", "uri")` accept constants
/// only. An array is written `{1, 2}`.
enum ConstantFunction {
  static func constant(_ name: String, _ arguments: [ValueExpression]) -> ExpressionConstant? {
    guard ["SET", "DICTIONARY", "COMPOSITE", "OBJECT"].contains(name) else { return nil }
    var constants: [ExpressionConstant] = []
    for argument in arguments {
      guard case .constant(let constant) = argument.kind else { return nil }
      constants.append(constant)
    }
    switch name {
    case "SET": return .set(Set(constants))
    case "DICTIONARY": return pairs(constants).map(ExpressionConstant.dictionary)
    case "COMPOSITE":
      guard let fields = pairs(constants) else { return nil }
      var values: [String: AttributeValue] = [:]
      for (field, constant) in fields {
        guard case .value(let value) = constant else { return nil }
        values[field] = value
      }
      return .value(.composite(values))
    default:
      guard constants.count == 2, case .value(.string(let entity)) = constants[0],
        case .value(.string(let uri)) = constants[1]
      else { return nil }
      return .object(ObjectReference(entity: entity, uri: uri))
    }
  }

  private static func pairs(_ constants: [ExpressionConstant]) -> [String: ExpressionConstant]? {
    guard constants.count.isMultiple(of: 2) else { return nil }
    var result: [String: ExpressionConstant] = [:]
    for index in stride(from: 0, to: constants.count, by: 2) {
      guard case .value(.string(let key)) = constants[index] else { return nil }
      result[key] = constants[index + 1]
    }
    return result
  }
}
