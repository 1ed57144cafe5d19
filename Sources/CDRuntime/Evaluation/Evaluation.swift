import CDModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// One evaluation: the object, and the variables as they are at the moment.
struct Evaluation {
  let object: EvaluationValue
  var variables: [String: EvaluationValue]
  let now: Date
  let sets: ConstantSets

  mutating func holds(_ predicate: FetchPredicate) throws(EvaluationError) -> Bool {
    switch predicate.kind {
    case .constant(let holds): return holds
    case .comparison(let comparison): return try holds(comparison)
    case .and(let parts):
      for part in parts where try !holds(part) { return false }
      return true
    case .or(let parts):
      for part in parts where try holds(part) { return true }
      return false
    case .not(let part): return try !holds(part)
    }
  }

  mutating func value(_ expression: ValueExpression) throws(EvaluationError) -> EvaluationValue {
    switch expression.kind {
    case .constant(let constant): return EvaluationValue(constant)
    case .object: return object
    case .anyKey: throw .unsupported("ANYKEY")
    case .variable(let name):
      guard let value = variables[name] else { throw .unboundVariable(name) }
      return value
    case .path(let base, let steps): return try follow(steps[...], from: try value(base))
    case .aggregate(let elements): return .collection(try values(elements))
    case .negated(let operand): return try negated(try value(operand))
    case .bitwiseComplement(let operand):
      let value = try value(operand)
      if value.isNull { return .null }
      return .int(~(try integer(value, "~")))
    case .operation(let first, let terms): return try operation(first, terms)
    case .coalesced(let choices):
      for choice in choices {
        let value = try value(choice)
        if !value.isNull { return value }
      }
      return .null
    case .function(let function, let arguments): return try call(function, arguments)
    case .unknownFunction(let name, _): throw .unsupported("the function '\(name)'")
    case .invocation(let target, let selector, let arguments):
      return try Invocation.call(selector, of: try value(target), try values(arguments))
    case .cast(let operand, let type, let otherwise):
      let value = try value(operand)
      // Nil is no value that does not fit: it stays nil, whatever stands for those.
      if let converted = try Conversion.convert(value, to: type) { return converted }
      guard let otherwise else { throw .failedConversion(type: type.name, from: value.kindName) }
      return try self.value(otherwise)
    case .ternary(let condition, let yes, let no): return try holds(condition) ? value(yes) : value(no)
    case .subquery(let collection, let variable, let condition):
      return try subquery(try value(collection), variable, condition)
    case .assignment(let variable, let assigned):
      let value = try value(assigned)
      variables[variable] = value
      return value
    }
  }

  mutating func values(_ expressions: [ValueExpression]) throws(EvaluationError) -> [EvaluationValue] {
    var values: [EvaluationValue] = []
    values.reserveCapacity(expressions.count)
    for expression in expressions { values.append(try value(expression)) }
    return values
  }

  private mutating func subquery(
    _ collection: EvaluationValue, _ variable: String, _ condition: FetchPredicate
  ) throws(EvaluationError) -> EvaluationValue {
    let elements = try Self.elements(of: collection, for: "SUBQUERY")
    let outer = variables[variable]
    defer { variables[variable] = outer }
    var result: [EvaluationValue] = []
    for element in elements {
      variables[variable] = element
      if try holds(condition) { result.append(element) }
    }
    return .collection(result)
  }

  /// The elements of a collection or the values of a dictionary. Nil is no elements.
  static func elements(
    of value: EvaluationValue, for operation: @autoclosure () -> String
  ) throws(EvaluationError) -> [EvaluationValue] {
    switch value {
    case .collection(let elements): return elements
    case .dictionary(let elements): return Self.values(of: elements)
    case .value(.null): return []
    default: throw .notACollection(operation: operation(), found: value.kindName)
    }
  }

  /// The values of a dictionary in the order of their keys, so that results are the same in every run.
  static func values(of dictionary: [String: EvaluationValue]) -> [EvaluationValue] {
    dictionary.sorted { CodeUnits.order($0.key, $1.key) < 0 }.map(\.value)
  }
}
