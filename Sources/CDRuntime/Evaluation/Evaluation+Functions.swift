import CDModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

extension Evaluation {
  mutating func call(
    _ function: ExpressionFunction, _ arguments: [ValueExpression]
  ) throws(EvaluationError) -> EvaluationValue {
    let (minimum, maximum) = function.arity
    guard arguments.count >= minimum, arguments.count <= maximum ?? .max else {
      throw .wrongArguments(function: function.rawValue, count: arguments.count)
    }
    if function == .objectFromWithIndex { return try element(arguments[0], arguments[1]) }
    let values = try values(arguments)
    switch function {
    case .sum, .count, .min, .max, .average, .median, .mode, .stddev:
      return try aggregate(function, values)
    case .random: return .double(Double.random(in: 0..<1))
    case .now: return .value(.date(now))
    case .uuid: return .value(.uuid(UUID.random()))
    case .noindex: return values[0]
    default: break
    }
    // The others have no result where an argument is nil.
    if values.contains(where: \.isNull) { return .null }
    switch function {
    case .addTo: return try Self.apply(.add, values[0], values[1])
    case .fromSubtract: return try Self.apply(.subtract, values[0], values[1])
    case .multiplyBy: return try Self.apply(.multiply, values[0], values[1])
    case .divideBy: return try Self.apply(.divide, values[0], values[1])
    case .raiseToPower: return try Self.apply(.power, values[0], values[1])
    case .modulusBy:
      return try Arithmetic.remainder(try number(values[0], function), try number(values[1], function)).value
    case .bitwiseAndWith: return try Self.apply(.bitwiseAnd, values[0], values[1])
    case .bitwiseOrWith: return try Self.apply(.bitwiseOr, values[0], values[1])
    case .bitwiseXorWith: return try Self.apply(.bitwiseXor, values[0], values[1])
    case .leftshiftBy: return try Self.apply(.shiftLeft, values[0], values[1])
    case .rightshiftBy: return try Self.apply(.shiftRight, values[0], values[1])
    case .onesComplement: return .int(~(try integer(values[0], function.rawValue)))
    case .randomn:
      let bound = try integer(values[0], function.rawValue)
      if bound <= 0 { throw .notANumber(operation: function.rawValue) }
      return .int(Int64.random(in: 0..<bound))
    case .uppercase, .lowercase, .length, .canonical:
      guard case .value(.string(let text)) = values[0] else {
        throw .wrongOperand(operation: function.rawValue, found: values[0].kindName)
      }
      return Self.apply(function, text)
    default: return try Self.apply(function, try number(values[0], function))
    }
  }

  /// A function of a string.
  private static func apply(_ function: ExpressionFunction, _ text: String) -> EvaluationValue {
    switch function {
    case .uppercase: .string(text.uppercased())
    case .lowercase: .string(text.lowercased())
    // As in Foundation, a length is a count of UTF-16 units.
    case .length: .int(Int64(text.utf16.count))
    default: .string(FoundationText.folded(text, [.caseInsensitive, .diacriticInsensitive]))
    }
  }

  /// A function of a number.
  private static func apply(_ function: ExpressionFunction, _ number: Number) throws(EvaluationError)
    -> EvaluationValue
  {
    let word = function.rawValue
    switch function {
    case .sqrt: return try Arithmetic.checked(number.double.squareRoot(), word).value
    case .log: return try Arithmetic.checked(log10(number.double), word).value
    case .ln: return try Arithmetic.checked(Self.naturalLogarithm(number.double), word).value
    case .exp: return try Arithmetic.checked(Self.exponential(number.double), word).value
    case .abs: return try Arithmetic.absolute(number).value
    case .floor: return Arithmetic.rounded(number, .down).value
    case .ceiling: return Arithmetic.rounded(number, .up).value
    case .trunc: return Arithmetic.rounded(number, .towardZero).value
    default: throw .unsupported("the function '\(word)'")
    }
  }

  // The C functions under names that no case of an enumeration has.
  private static func naturalLogarithm(_ number: Double) -> Double { log(number) }
  private static func exponential(_ number: Double) -> Double { exp(number) }

  private func number(_ value: EvaluationValue, _ function: ExpressionFunction) throws(EvaluationError)
    -> Number
  {
    guard let number = Number(value) else {
      throw .wrongOperand(operation: function.rawValue, found: value.kindName)
    }
    return number
  }

  /// A function of a collection of values or of several values. Where SELF is a collection, a key's values
  /// come as one.
  private func aggregate(
    _ function: ExpressionFunction, _ values: [EvaluationValue]
  ) throws(EvaluationError) -> EvaluationValue {
    let word = function.rawValue
    var elements: [EvaluationValue] = []
    for value in values {
      switch value {
      case .collection, .dictionary: elements += try Self.elements(of: value, for: word)
      case .value(.null) where values.count == 1: break
      default:
        if function == .count, values.count == 1 {
          throw .notACollection(operation: word, found: value.kindName)
        }
        elements.append(value)
      }
    }
    switch function {
    case .sum: return try Aggregation.sum(elements, word).value
    case .count: return .int(Int64(elements.count))
    case .min: return try Aggregation.extreme(elements, word) { $0 < 0 }
    case .max: return try Aggregation.extreme(elements, word) { $0 > 0 }
    case .average: return try Aggregation.average(elements, word)
    case .median: return try Aggregation.median(elements)
    case .mode: return try Aggregation.modes(elements)
    default: return try Aggregation.standardDeviation(elements)
    }
  }

  /// `objectFrom:withIndex:`, whose index may be one of the words FIRST, LAST and SIZE.
  private mutating func element(
    _ collection: ValueExpression, _ index: ValueExpression
  ) throws(EvaluationError) -> EvaluationValue {
    let value = try value(collection)
    if case .path(let base, let steps) = index.kind, case .object = base.kind, steps.count == 1,
      case .key(let word) = steps[0]
    {
      switch word.uppercased() {
      case "FIRST": return try follow([.first], from: value)
      case "LAST": return try follow([.last], from: value)
      case "SIZE": return try follow([.size], from: value)
      default: break
      }
    }
    return try Self.element(try self.value(index), of: value)
  }
}
