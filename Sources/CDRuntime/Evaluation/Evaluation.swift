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

/// An evaluation, with its object and the current values of the variables.
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
    case .constant(let constant): return sets.value(constant)
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
      // Nil always converts to nil. The alternative is only for values that do not fit.
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

  /// Returns the elements of a collection or the values of a dictionary. Nil has no elements.
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

  /// Returns the values of a dictionary in the order of their keys, so that the results are the same in each run.
  static func values(of dictionary: [String: EvaluationValue]) -> [EvaluationValue] {
    dictionary.sorted { CodeUnits.order($0.key, $1.key) < 0 }.map(\.value)
  }
}

extension Evaluation {
  /// Returns the value at the end of a key path. If a value on the path is nil, the result is nil, or an empty
  /// collection if the path leads to one.
  private mutating func follow(
    _ steps: ArraySlice<PathStep>, from start: EvaluationValue
  ) throws(EvaluationError) -> EvaluationValue {
    var value = start
    var rest = steps
    while let step = rest.popFirst() {
      switch step {
      case .key(let key): value = try Self.value(forKey: key, of: value)
      case .itself: break
      case .collectionOperator(let name):
        guard let collectionOperator = CollectionOperator(rawValue: name) else {
          throw .unsupported("@\(name)")
        }
        if collectionOperator == .count {
          value = .int(Int64(try Self.elements(of: value, for: "@count").count))
          continue
        }
        let operands = try operands(of: collectionOperator, in: value, rest)
        return try Aggregation.aggregate(operands, collectionOperator)
      case .variable(let name): throw .unsupported("the key $\(name)")
      case .index(let index): value = try Self.element(try self.value(index), of: value)
      case .first: value = try Self.elements(of: value, for: "[FIRST]").first ?? .null
      case .last: value = try Self.elements(of: value, for: "[LAST]").last ?? .null
      case .size: value = .int(Int64(try Self.elements(of: value, for: "[SIZE]").count))
      }
    }
    return value
  }

  /// Returns the values of the steps after an operator, for all elements. If the operator comes before the path of a
  /// single object, as in `@sum.items.price`, returns the values of that path.
  private mutating func operands(
    of collectionOperator: CollectionOperator, in value: EvaluationValue, _ steps: ArraySlice<PathStep>
  ) throws(EvaluationError) -> [EvaluationValue] {
    switch value {
    case .collection(let elements):
      var results: [EvaluationValue] = []
      results.reserveCapacity(elements.count)
      for element in elements {
        let result = try follow(steps, from: element)
        if case .collection(let inner) = result { results += inner } else { results.append(result) }
      }
      return results
    case .dictionary, .subject:
      let word = "@\(collectionOperator.rawValue)"
      if steps.isEmpty { return try Self.elements(of: value, for: word) }
      return try Self.elements(of: try follow(steps, from: value), for: word)
    default: return try Self.elements(of: value, for: "@\(collectionOperator.rawValue)")
    }
  }

  /// Returns the value for a key. For a collection, returns the values of all its elements in one flat collection.
  static func value(forKey key: String, of value: EvaluationValue) throws(EvaluationError) -> EvaluationValue
  {
    switch value {
    case .subject(let subject): return try subject.evaluationValue(forKey: key)
    case .dictionary(let values): return values[key] ?? .null
    case .collection(let elements):
      var results: [EvaluationValue] = []
      results.reserveCapacity(elements.count)
      for element in elements {
        let result = try self.value(forKey: key, of: element)
        if case .collection(let inner) = result { results += inner } else { results.append(result) }
      }
      return .collection(results)
    case .value(.null): return .null
    case .value(.composite(let fields)):
      guard let field = fields[key] else { throw .unknownKey(key, entity: value.kindName) }
      return .value(field)
    case .reference: throw .unsupported("a key of an object that is a constant")
    case .value, .float:
      guard let result = ValueKeys.value(forKey: key, of: value) else {
        throw .unknownKey(key, entity: value.kindName)
      }
      return result
    }
  }

  /// Returns an element by its index or key.
  static func element(
    _ index: EvaluationValue, of value: EvaluationValue
  ) throws(EvaluationError) -> EvaluationValue {
    if value.isNull { return .null }
    switch (value, index) {
    case (.dictionary(let elements), .value(.string(let key))): return elements[key] ?? .null
    case (.subject, .value(.string(let key))): return try self.value(forKey: key, of: value)
    case (.collection(let elements), _):
      guard let number = Number(index) else {
        throw .wrongOperand(operation: "[ ]", found: index.kindName)
      }
      let position: Int?
      switch number {
      case .int(let number): position = Int(exactly: number)
      case .double, .float, .decimal: position = Int(exactly: number.double)
      }
      guard let position, elements.indices.contains(position) else { throw .indexOutOfRange }
      return elements[position]
    default: throw .wrongOperand(operation: "[ ]", found: value.kindName)
    }
  }
}

extension Evaluation {
  private mutating func holds(_ comparison: Comparison) throws(EvaluationError) -> Bool {
    let comparisonOperator = comparison.operator
    let left = try value(comparison.left)
    if comparison.modifier == .direct, comparisonOperator == .in,
      let constants = sets.elements(of: comparison.right)
    {
      if constants.count > ConstantSets.minimumCount, comparison.options.isEmpty,
        case .value(let member) = left,
        let isMember = sets.contains(member, in: constants)
      {
        return isMember
      }
      // Only two constants need the names of roots, which the list below has. An object itself knows its hierarchy.
      let isConstant = if case .reference = left { true } else { false }
      if !isConstant {
        // This loop does not copy a long list for each object.
        for constant in constants
        where Equality.areEqual(EvaluationValue(constant), left, comparison.options) { return true }
        return false
      }
    }
    let right = try value(comparison.right)
    switch comparison.modifier {
    case .direct:
      return try Comparer.compare(left, comparisonOperator, right, comparison.options, sets.texts)
    case .any:
      for element in try Self.elements(of: left, for: "ANY")
      where try Comparer.compare(element, comparisonOperator, right, comparison.options, sets.texts) {
        return true
      }
      return false
    case .all:
      for element in try Self.elements(of: left, for: "ALL")
      where try !Comparer.compare(element, comparisonOperator, right, comparison.options, sets.texts) {
        return false
      }
      return true
    }
  }
}

/// The comparison of two values with an operator.
enum Comparer {
  static func compare(
    _ left: EvaluationValue, _ comparisonOperator: ComparisonOperator, _ right: EvaluationValue,
    _ options: ComparisonOptions, _ texts: PreparedTexts
  ) throws(EvaluationError) -> Bool {
    switch comparisonOperator {
    case .equalTo: return Equality.areEqual(left, right, options)
    case .notEqualTo: return !Equality.areEqual(left, right, options)
    case .lessThan, .lessThanOrEqualTo, .greaterThan, .greaterThanOrEqualTo:
      return try isOrdered(left, comparisonOperator, right, options)
    case .between:
      let bounds: [EvaluationValue]
      switch right {
      case .collection(let elements): bounds = elements
      case .value(.null): return false
      default: throw .wrongOperand(operation: "BETWEEN", found: right.kindName)
      }
      guard bounds.count == 2 else { throw .wrongBounds(count: bounds.count) }
      guard try isOrdered(bounds[0], .lessThanOrEqualTo, left, options) else { return false }
      return try isOrdered(left, .lessThanOrEqualTo, bounds[1], options)
    case .in: return try isMember(left, of: right, comparisonOperator, options, texts)
    case .contains: return try isMember(right, of: left, comparisonOperator, options, texts)
    case .beginsWith: return try isPart(right, of: left, .start, comparisonOperator, options, texts)
    case .endsWith: return try isPart(right, of: left, .end, comparisonOperator, options, texts)
    default:
      guard comparisonOperator.form == .pattern else { throw .unsupported(comparisonOperator.rawValue) }
      guard let (text, pattern) = try strings(left, right, comparisonOperator) else { return false }
      return try texts.pattern(pattern, comparisonOperator, options).matches(text)
    }
  }

  // MARK: Order

  private static func isOrdered(
    _ left: EvaluationValue, _ comparisonOperator: ComparisonOperator, _ right: EvaluationValue,
    _ options: ComparisonOptions
  ) throws(EvaluationError) -> Bool {
    guard let order = try order(left, comparisonOperator, right, options) else { return false }
    return switch comparisonOperator {
    case .lessThan: order < 0
    case .lessThanOrEqualTo: order <= 0
    case .greaterThan: order > 0
    default: order >= 0
    }
  }

  /// Returns the order of two values, or 0 if both are nil. Returns nil if only one of them is nil, or if one of them
  /// is NaN. No comparison is then true.
  private static func order(
    _ left: EvaluationValue, _ comparisonOperator: ComparisonOperator, _ right: EvaluationValue,
    _ options: ComparisonOptions
  ) throws(EvaluationError) -> Int? {
    switch (left, right) {
    case (.value(.null), .value(.null)): return 0
    case (.value(.null), _), (_, .value(.null)): return nil
    case (.value(.string(let left)), .value(.string(let right))):
      return TextComparison.order(left, right, options)
    case (.value(.date(let left)), .value(.date(let right))):
      return left < right ? -1 : left == right ? 0 : left > right ? 1 : nil
    default:
      if let first = Number(left), let second = Number(right) { return Number.order(first, second) }
      if case (.value(let first), .value(let second)) = (left, right),
        first.type?.traits?.category.isOrdered == true, let order = ValueOrder.compare(first, second)
      {
        return order.rawValue
      }
      throw .incomparable(
        operator: comparisonOperator.rawValue, left: left.kindName, right: right.kindName)
    }
  }

  // MARK: Membership and parts

  private static func isMember(
    _ member: EvaluationValue, of whole: EvaluationValue, _ comparisonOperator: ComparisonOperator,
    _ options: ComparisonOptions, _ texts: PreparedTexts
  ) throws(EvaluationError) -> Bool {
    switch whole {
    case .value(.null): return false
    case .collection(let elements): return elements.contains { Equality.areEqual($0, member, options) }
    case .dictionary(let elements):
      return elements.values.contains { Equality.areEqual($0, member, options) }
    case .value(.string(let text)):
      guard case .value(.string(let part)) = member else { return false }
      return texts.search(part, options).isFound(in: text, at: .anywhere)
    case .value(.data(let data)):
      guard case .value(.data(let part)) = member else { return false }
      return CodeUnits.contains(Array(data), Array(part), .anywhere)
    default: throw .wrongOperand(operation: comparisonOperator.rawValue, found: whole.kindName)
    }
  }

  private static func isPart(
    _ part: EvaluationValue, of whole: EvaluationValue, _ anchor: SearchAnchor,
    _ comparisonOperator: ComparisonOperator, _ options: ComparisonOptions, _ texts: PreparedTexts
  ) throws(EvaluationError) -> Bool {
    switch (whole, part) {
    case (.value(.null), _), (_, .value(.null)): return false
    case (.value(.string(let text)), .value(.string(let part))):
      return texts.search(part, options).isFound(in: text, at: anchor)
    case (.value(.data(let data)), .value(.data(let part))):
      return CodeUnits.contains(Array(data), Array(part), anchor)
    default:
      throw .incomparable(operator: comparisonOperator.rawValue, left: whole.kindName, right: part.kindName)
    }
  }

  /// Returns two strings; nil if one of the values is nil.
  private static func strings(
    _ left: EvaluationValue, _ right: EvaluationValue, _ comparisonOperator: ComparisonOperator
  ) throws(EvaluationError) -> (String, String)? {
    switch (left, right) {
    case (.value(.null), _), (_, .value(.null)): return nil
    case (.value(.string(let left)), .value(.string(let right))): return (left, right)
    default:
      throw .incomparable(operator: comparisonOperator.rawValue, left: left.kindName, right: right.kindName)
    }
  }
}

extension Evaluation {
  /// Evaluates operators of the same precedence from left to right.
  private mutating func operation(
    _ first: ValueExpression, _ terms: [OperationTerm]
  ) throws(EvaluationError) -> EvaluationValue {
    var result = try value(first)
    var isLiteral = Self.isLiteral(first)
    for term in terms {
      var operand = try value(term.operand)
      let operandIsLiteral = Self.isLiteral(term.operand)
      if isLiteral != operandIsLiteral {
        (result, operand) = Self.matched(result, operand, isLeftLiteral: isLiteral)
      }
      result = try Self.apply(term.operator, result, operand)
      isLiteral = isLiteral && operandIsLiteral
    }
    return result
  }

  /// Returns the operands of a calculation of which exactly one is a literal. It takes the type of the other one.
  private static func matched(
    _ left: EvaluationValue, _ right: EvaluationValue, isLeftLiteral: Bool
  ) -> (EvaluationValue, EvaluationValue) {
    guard let first = Number(left), let second = Number(right) else { return (left, right) }
    if isLeftLiteral { return (Arithmetic.literal(first, for: second).value, right) }
    return (left, Arithmetic.literal(second, for: first).value)
  }

  /// Returns whether an expression consists of literal numbers, which take the type of the numbers around them.
  private static func isLiteral(_ expression: ValueExpression) -> Bool {
    switch expression.kind {
    case .constant(.value(.int)), .constant(.value(.double)): true
    case .negated(let operand): isLiteral(operand)
    case .operation(let first, let terms): isLiteral(first) && terms.allSatisfy { isLiteral($0.operand) }
    default: false
    }
  }

  private mutating func negated(_ value: EvaluationValue) throws(EvaluationError) -> EvaluationValue {
    if value.isNull { return .null }
    guard let number = Number(value) else { throw .wrongOperand(operation: "-", found: value.kindName) }
    return try Arithmetic.negated(number).value
  }

  /// Applies an operator to two values. The result is nil if one of the values is nil. For set operators, nil is an
  /// empty collection instead.
  static func apply(
    _ expressionOperator: ExpressionOperator, _ left: EvaluationValue, _ right: EvaluationValue
  ) throws(EvaluationError) -> EvaluationValue {
    let word = expressionOperator.rawValue
    switch expressionOperator {
    case .union, .intersect, .minus: return try combine(left, expressionOperator, right)
    case .shiftLeft, .shiftRight, .bitwiseAnd, .bitwiseXor, .bitwiseOr:
      if left.isNull || right.isNull { return .null }
      let first = try integer(left, word)
      let second = try integer(right, word)
      return switch expressionOperator {
      case .shiftLeft: .int(first << second)
      case .shiftRight: .int(first >> second)
      case .bitwiseAnd: .int(first & second)
      case .bitwiseXor: .int(first ^ second)
      default: .int(first | second)
      }
    case .add, .subtract, .multiply, .divide, .power:
      if left.isNull || right.isNull { return .null }
      if let result = try textOrTime(left, expressionOperator, right) { return result }
      guard let first = Number(left) else { throw .wrongOperand(operation: word, found: left.kindName) }
      guard let second = Number(right) else { throw .wrongOperand(operation: word, found: right.kindName) }
      return try Arithmetic.calculate(first, expressionOperator, second).value
    }
  }

  /// Returns the concatenation of two strings, or the result of a calculation with dates and seconds. Returns nil for
  /// other values.
  private static func textOrTime(
    _ left: EvaluationValue, _ expressionOperator: ExpressionOperator, _ right: EvaluationValue
  ) throws(EvaluationError) -> EvaluationValue? {
    switch (left, expressionOperator, right) {
    case (.value(.string(let left)), .add, .value(.string(let right))): return .string(left + right)
    case (.value(.date(let left)), .subtract, .value(.date(let right))):
      return .double(left.timeIntervalSinceReferenceDate - right.timeIntervalSinceReferenceDate)
    case (.value(.date(let date)), .add, _):
      guard let seconds = Number(right)?.double else { return nil }
      return .value(.date(date.addingTimeInterval(seconds)))
    case (.value(.date(let date)), .subtract, _):
      guard let seconds = Number(right)?.double else { return nil }
      return .value(.date(date.addingTimeInterval(-seconds)))
    case (_, .add, .value(.date(let date))):
      guard let seconds = Number(left)?.double else { return nil }
      return .value(.date(date.addingTimeInterval(seconds)))
    default: return nil
    }
  }

  /// Applies a set operator. The result contains each value once: first the values of the left side, then those of the
  /// right side.
  private static func combine(
    _ left: EvaluationValue, _ expressionOperator: ExpressionOperator, _ right: EvaluationValue
  ) throws(EvaluationError) -> EvaluationValue {
    let word = expressionOperator.rawValue
    let first = try elements(of: left, for: word)
    let second = try elements(of: right, for: word)
    func isInSecond(_ value: EvaluationValue) -> Bool { second.contains { Equality.areEqual($0, value) } }
    switch expressionOperator {
    case .union: return .collection(Aggregation.distinct(first + second))
    case .intersect: return .collection(Aggregation.distinct(first.filter(isInSecond)))
    default: return .collection(Aggregation.distinct(first.filter { !isInSecond($0) }))
    }
  }

  private static func integer(_ value: EvaluationValue, _ word: String) throws(EvaluationError) -> Int64 {
    guard case .int(let number) = Number(value) else {
      throw .wrongOperand(operation: word, found: value.kindName)
    }
    return number
  }

  private func integer(_ value: EvaluationValue, _ word: String) throws(EvaluationError) -> Int64 {
    try Self.integer(value, word)
  }
}

extension Evaluation {
  private mutating func call(
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
    // All other functions return nil if an argument is nil.
    if values.contains(where: \.isNull) { return .null }
    switch function {
    case .addTo, .fromSubtract, .multiplyBy, .divideBy, .raiseToPower, .modulusBy:
      return try calculate(function, values, arguments)
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

  /// Applies a function that corresponds to an operator, with the operator's rule for literals.
  private func calculate(
    _ function: ExpressionFunction, _ values: [EvaluationValue], _ arguments: [ValueExpression]
  ) throws(EvaluationError) -> EvaluationValue {
    var (left, right) = (values[0], values[1])
    let isLeftLiteral = Self.isLiteral(arguments[0])
    if isLeftLiteral != Self.isLiteral(arguments[1]) {
      (left, right) = Self.matched(left, right, isLeftLiteral: isLeftLiteral)
    }
    switch function {
    case .addTo: return try Self.apply(.add, left, right)
    case .fromSubtract: return try Self.apply(.subtract, left, right)
    case .multiplyBy: return try Self.apply(.multiply, left, right)
    case .divideBy: return try Self.apply(.divide, left, right)
    case .raiseToPower: return try Self.apply(.power, left, right)
    default: return try Arithmetic.remainder(try number(left, function), try number(right, function)).value
    }
  }

  /// Applies a function of a string.
  private static func apply(_ function: ExpressionFunction, _ text: String) -> EvaluationValue {
    switch function {
    case .uppercase: .string(text.uppercased())
    case .lowercase: .string(text.lowercased())
    // As in Foundation, the length is the number of UTF-16 units.
    case .length: .int(Int64(text.utf16.count))
    default: .string(FoundationText.folded(text, [.caseInsensitive, .diacriticInsensitive]))
    }
  }

  /// Applies a function of a number.
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

  // Other names for the C functions, because the names `log` and `exp` are cases of the enumeration.
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

  /// Applies a function to the elements of collections and to single values. If SELF is a collection, the values of a
  /// key come as one collection.
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

  /// Evaluates `objectFrom:withIndex:`, whose index may be one of the words FIRST, LAST and SIZE.
  private mutating func element(
    _ collection: ValueExpression, _ index: ValueExpression
  ) throws(EvaluationError) -> EvaluationValue {
    let value = try value(collection)
    if let word = index.onlyKey {
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
