import CDModel

extension SQLCompiler {
  /// Compiles a chain of operators of the same precedence. Returns nil if SQL's result could differ from the
  /// evaluator's in any bit.
  mutating func operation(
    _ first: ValueExpression, _ terms: [OperationTerm]
  ) throws(EvaluationError) -> SQLValue? {
    guard terms.count <= dialect.limits.operations, let start = try operand(first) else { return nil }
    var result = start
    for term in terms {
      guard let right = try operand(term.operand), let value = apply(term.operator, result, right)
      else { return nil }
      result = .value(value)
    }
    guard case .value(let value) = result else { return nil }
    return value
  }

  private mutating func apply(
    _ expressionOperator: ExpressionOperator, _ left: SQLOperand, _ right: SQLOperand
  ) -> SQLValue? {
    guard let first = Self.calculable(left), let second = Self.calculable(right) else { return nil }
    if let left = first.integers, let right = second.integers,
      let integerOperator = IntegerOperator(expressionOperator)
    {
      // A power with a negative exponent is a fraction.
      if integerOperator == .power, right.constant.map({ $0 < 0 }) ?? true { return nil }
      return calculate(left, integerOperator, right)
    }
    guard let text = dialect.calculation(first, expressionOperator, second) else { return nil }
    let isNullable = first.isNullable || second.isNullable
    switch (first.kind, second.kind, expressionOperator) {
    case (.string, .string, .add): return SQLValue(text, .string, isNullable: isNullable)
    case (.int, .int, .bitwiseAnd), (.int, .int, .bitwiseOr), (.int, .int, .shiftLeft),
      (.int, .int, .shiftRight):
      return SQLValue(text, .int(Int64.min...Int64.max), isNullable: isNullable)
    case (.double, .double, .add), (.double, .double, .subtract), (.double, .double, .multiply),
      (.double, .double, .divide), (.double, .int, .add), (.double, .int, .subtract),
      (.double, .int, .multiply), (.double, .int, .divide), (.int, .double, .add),
      (.int, .double, .subtract), (.int, .double, .multiply), (.int, .double, .divide):
      // If an operand is a finite number other than 0, the result is never NaN, which SQL would turn into NULL.
      let constants = expressionOperator == .divide ? [right] : [left, right]
      guard constants.contains(where: Self.isFiniteAndNotZero) else { return nil }
      return SQLValue(text, .double, isNullable: isNullable)
    default: return nil
    }
  }

  private static func isFiniteAndNotZero(_ operand: SQLOperand) -> Bool {
    guard case .constant(let value) = operand, let number = Number(value)?.double else { return false }
    return number.isFinite && number != 0
  }

  /// Returns an operand as a value of SQL, if it is a column's value or a constant that is an integer, a double or a
  /// string.
  private static func calculable(_ operand: SQLOperand) -> SQLValue? {
    switch operand {
    case .value(let value): return value
    case .constant(.value(.int(let number))):
      return SQLValue("\(bind: .int(number))", .int(number...number), isNullable: false)
    case .constant(.value(.bool(let flag))):
      return SQLValue("\(bind: .int(flag ? 1 : 0))", .int(0...1), isNullable: false)
    case .constant(.value(.double(let number))) where number.isFinite:
      return SQLValue("\(bind: .double(number))", .double, isNullable: false)
    case .constant(.value(.string(let text))):
      return SQLValue("\(bind: .string(text))", .string, isNullable: false)
    case .constant, .collection: return nil
    }
  }

  mutating func negated(_ operand: ValueExpression) throws(EvaluationError) -> SQLValue? {
    guard case .value(let value)? = try self.operand(operand) else { return nil }
    if let integers = value.integers { return negated(integers) }
    return value.kind == .double
      ? SQLValue("(-\(value.sql))", .double, isNullable: value.isNullable) : nil
  }

  mutating func complement(_ operand: ValueExpression) throws(EvaluationError) -> SQLValue? {
    guard case .value(let value)? = try self.operand(operand), let integers = value.integers else {
      return nil
    }
    return SQLValue(
      "(~\(value.sql))", .int(~integers.range.upperBound...(~integers.range.lowerBound)),
      isNullable: value.isNullable)
  }

  // MARK: Choices

  mutating func coalesced(_ values: [ValueExpression]) throws(EvaluationError) -> SQLValue? {
    guard values.count <= dialect.limits.arguments, let parts = try sameKind(values) else { return nil }
    let list = SQLText.joined(parts.map(\.sql), ", ")
    return SQLValue(
      "coalesce(\(list))", Self.kind(of: parts), isNullable: parts.allSatisfy(\.isNullable))
  }

  mutating func ternary(
    _ condition: FetchPredicate, _ yes: ValueExpression, _ no: ValueExpression
  ) throws(EvaluationError) -> SQLValue? {
    let test = try self.condition(condition, isNegated: false)
    guard test.isExact, let parts = try sameKind([yes, no]) else { return nil }
    return SQLValue(
      "(CASE WHEN \(test.sql) THEN \(parts[0].sql) ELSE \(parts[1].sql) END)", Self.kind(of: parts),
      isNullable: parts.contains(where: \.isNullable))
  }

  /// Compiles expressions to values of the same type. Constants get the type of the other values. Returns nil if there
  /// is no common type.
  private mutating func sameKind(_ values: [ValueExpression]) throws(EvaluationError) -> [SQLValue]? {
    var operands: [SQLOperand] = []
    var kind: SQLValue.Kind?
    for value in values {
      guard let operand = try operand(value) else { return nil }
      operands.append(operand)
      guard case .value(let value) = operand else { continue }
      switch (kind, value.kind) {
      case (nil, _): kind = value.kind
      case (.int(let left)?, .int(let right)):
        kind = .int(min(left.lowerBound, right.lowerBound)...max(left.upperBound, right.upperBound))
      default: if kind != value.kind { return nil }
      }
    }
    guard let kind = kind ?? Self.kind(ofConstants: operands), kind != .opaque else { return nil }
    var result: [SQLValue] = []
    for operand in operands {
      switch operand {
      case .value(let value): result.append(value)
      case .collection: return nil
      case .constant(let constant):
        switch (SQLConstant.form(constant, as: kind, key, dialect), kind, constant) {
        case (.null, _, _): result.append(SQLValue("NULL", kind))
        case (.stored(let stored), _, _) where !kind.isNumber:
          result.append(SQLValue("\(bind: stored)", kind, isNullable: false))
        // In memory, a numeric constant keeps its own type, on which a calculation depends: half of the integer 7 is 3, and
        // half of the decimal 7 is 3.5. So only a constant of the same number type is allowed below.
        case (.stored(.int(let number)), .int, .value(.int)),
          (.stored(.int(let number)), .int, .value(.bool)):
          result.append(SQLValue("\(bind: .int(number))", .int(number...number), isNullable: false))
        case (.stored(.double(let number)), .double, .value(.double)):
          result.append(SQLValue("\(bind: .double(number))", kind, isNullable: false))
        default: return nil
        }
      }
    }
    return result
  }

  /// The common type of constants that are all integers, all Booleans or all strings; nil otherwise.
  private static func kind(ofConstants operands: [SQLOperand]) -> SQLValue.Kind? {
    var kinds: [SQLValue.Kind] = []
    for case .constant(let constant) in operands {
      switch constant {
      case .value(.null): break
      case .value(.int): kinds.append(.int(.min...(.max)))
      case .value(.bool): kinds.append(.int(0...1))
      case .value(.string): kinds.append(.string)
      default: return nil
      }
    }
    return kinds.allSatisfy { $0 == kinds.first } ? kinds.first : nil
  }

  private static func kind(of values: [SQLValue]) -> SQLValue.Kind {
    values.dropFirst().reduce(values[0].kind) { kind, value in
      if case .int(let left) = kind, case .int(let right) = value.kind {
        return .int(min(left.lowerBound, right.lowerBound)...max(left.upperBound, right.upperBound))
      }
      return kind
    }
  }

  /// Compiles the functions that have an exact form in SQL: those that correspond to operators, some others for
  /// integers, and `canonical` for strings.
  mutating func call(
    _ function: ExpressionFunction, _ arguments: [ValueExpression]
  ) throws(EvaluationError) -> SQLValue? {
    let operators: [ExpressionFunction: ExpressionOperator] = [
      .addTo: .add, .fromSubtract: .subtract, .multiplyBy: .multiply, .divideBy: .divide,
      .raiseToPower: .power, .bitwiseAndWith: .bitwiseAnd, .bitwiseOrWith: .bitwiseOr,
      .bitwiseXorWith: .bitwiseXor, .leftshiftBy: .shiftLeft, .rightshiftBy: .shiftRight,
    ]
    if let expressionOperator = operators[function], arguments.count == 2 {
      return try operation(arguments[0], [OperationTerm(expressionOperator, arguments[1])])
    }
    if function == .modulusBy, arguments.count == 2 {
      guard let left = try operand(arguments[0]).flatMap(Self.calculable)?.integers,
        let right = try operand(arguments[1]).flatMap(Self.calculable)?.integers
      else { return nil }
      return calculate(left, .remainder, right)
    }
    if function == .onesComplement, arguments.count == 1 { return try complement(arguments[0]) }
    guard arguments.count == 1, case .value(let value)? = try operand(arguments[0]) else { return nil }
    switch function {
    case .abs: return value.integers.map { absolute($0) }
    case .noindex:
      return SQLValue(dialect.unindexed(value.sql), value.kind, isNullable: value.isNullable)
    case .canonical where value.kind == .string:
      return dialect.canonical(value.sql).map { SQLValue($0, .string, isNullable: value.isNullable) }
    default: return nil
    }
  }
}

extension SQLValue {
  /// The value as integers; nil if it has another type.
  fileprivate var integers: SQLIntegers? {
    guard case .int(let range) = kind else { return nil }
    return SQLIntegers(sql: sql, range: range, isNullable: isNullable)
  }
}

/// A value of integers in SQL, with the least and greatest possible integer.
package struct SQLIntegers {
  package let sql: SQLText
  package let range: ClosedRange<Int64>
  package let isNullable: Bool
  /// The integer, if the value is a single constant.
  package var constant: Int64? {
    sql.text == "?" && range.lowerBound == range.upperBound ? range.lowerBound : nil
  }
  /// Whether the text is short, so that it is cheap to evaluate twice.
  package var isPlain: Bool { sql.bindings.isEmpty && !sql.text.contains("(") }
}

// Calculations with integers. If a result may overflow 64 bits or a divisor may be 0, the statement fails for such a
// row, and then the evaluator decides.
extension SQLCompiler {
  private mutating func calculate(
    _ left: SQLIntegers, _ integerOperator: IntegerOperator, _ right: SQLIntegers
  ) -> SQLValue? {
    if left.constant != nil, right.constant == nil, integerOperator == .add || integerOperator == .multiply {
      return calculate(right, integerOperator, left)
    }
    let fails = Self.mayFail(left.range, integerOperator, right.range)
    guard let sql = dialect.calculation(left, integerOperator, right, mayFail: fails) else { return nil }
    if fails { mayFail = true }
    return SQLValue(
      sql, .int(Self.range(left.range, integerOperator, right.range)),
      isNullable: left.isNullable || right.isNullable)
  }

  private static func mayFail(
    _ left: ClosedRange<Int64>, _ integerOperator: IntegerOperator, _ right: ClosedRange<Int64>
  ) -> Bool {
    switch integerOperator {
    case .add, .subtract, .multiply: corners(left, integerOperator, right).contains { $0.isOverflow }
    case .divide: right.contains(0) || left.lowerBound == .min && right.contains(-1)
    case .remainder: right.contains(0)
    case .power: true
    case .exclusiveOr: false
    }
  }

  /// The range of the results.
  private static func range(
    _ left: ClosedRange<Int64>, _ integerOperator: IntegerOperator, _ right: ClosedRange<Int64>
  ) -> ClosedRange<Int64> {
    let all = Int64.min...Int64.max
    switch integerOperator {
    case .add, .subtract, .multiply:
      let values = corners(left, integerOperator, right).map(\.value)
      return (values.min() ?? .min)...(values.max() ?? .max)
    case .divide:
      // If the divisor is at least 1, the quotient is never farther from 0 than the dividend.
      if right.lowerBound > 0 { return min(left.lowerBound, 0)...max(left.upperBound, 0) }
      guard left.lowerBound > .min else { return all }
      let bound = max(-left.lowerBound, left.upperBound)
      return -bound...bound
    case .remainder:
      // The remainder has the sign of the dividend and is never farther from 0 than the dividend.
      return min(left.lowerBound, 0)...max(left.upperBound, 0)
    case .power, .exclusiveOr: return all
    }
  }

  /// The results for the ends of both ranges, clamped to 64 bits.
  private static func corners(
    _ left: ClosedRange<Int64>, _ integerOperator: IntegerOperator, _ right: ClosedRange<Int64>
  ) -> [(value: Int64, isOverflow: Bool)] {
    [left.lowerBound, left.upperBound].flatMap { left in
      [right.lowerBound, right.upperBound].map { right in
        switch integerOperator {
        case .add:
          let (sum, isOverflow) = left.addingReportingOverflow(right)
          return (isOverflow ? left < 0 ? .min : .max : sum, isOverflow)
        case .subtract:
          let (difference, isOverflow) = left.subtractingReportingOverflow(right)
          return (isOverflow ? left < 0 ? .min : .max : difference, isOverflow)
        default:
          let (product, isOverflow) = left.multipliedReportingOverflow(by: right)
          return (isOverflow ? (left < 0) != (right < 0) ? .min : .max : product, isOverflow)
        }
      }
    }
  }

  // MARK: Unary operators

  private mutating func negated(_ value: SQLIntegers) -> SQLValue? {
    let (least, greatest) = (value.range.lowerBound, value.range.upperBound)
    guard least == .min else {
      return SQLValue(
        "(-\(dialect.wide(value.sql)))", .int(-greatest...(-least)), isNullable: value.isNullable)
    }
    return calculate(
      SQLIntegers(sql: "\(bind: .int(0))", range: 0...0, isNullable: false), .subtract, value)
  }

  /// SQL's `abs` fails for the least integer, like the evaluator's.
  private mutating func absolute(_ value: SQLIntegers) -> SQLValue {
    let (least, greatest) = (value.range.lowerBound, value.range.upperBound)
    if least == .min { mayFail = true }
    let bound = max(least == .min ? .max : abs(least), greatest == .min ? .max : abs(greatest))
    return SQLValue("abs(\(dialect.wide(value.sql)))", .int(0...bound), isNullable: value.isNullable)
  }
}

/// An operator on two integers.
package enum IntegerOperator: Int, CaseIterable {
  case add, subtract, multiply, divide, remainder, power, exclusiveOr

  init?(_ expressionOperator: ExpressionOperator) {
    switch expressionOperator {
    case .add: self = .add
    case .subtract: self = .subtract
    case .multiply: self = .multiply
    case .divide: self = .divide
    case .power: self = .power
    case .bitwiseXor: self = .exclusiveOr
    default: return nil
    }
  }

  private static let names = ["add", "subtract", "multiply", "divide", "remainder", "power", "exclusiveOr"]

  /// The name of the case. String interpolation of the case itself would look it up by reflection whenever a store is
  /// opened, which takes longer than the rest of installing a function.
  var name: String { Self.names[rawValue] }

  /// SQL's operator, which is valid if the result does not overflow; nil if SQL has no such operator.
  package var word: String? {
    switch self {
    case .add: "+"
    case .subtract: "-"
    case .multiply: "*"
    case .divide: "/"
    case .remainder: "%"
    case .power, .exclusiveOr: nil
    }
  }
}

extension SQLCompiler {
  /// Compiles a CAST between numbers, if SQL gives the evaluator's result.
  mutating func cast(
    _ value: ValueExpression, _ type: CastType, otherwise: ValueExpression?
  ) throws(EvaluationError) -> SQLValue? {
    guard case .attribute(let type) = type, case .value(let value)? = try operand(value) else { return nil }
    let wanted: ClosedRange<Int64>
    switch (value.kind, type) {
    case (.double, .double): return value
    case (.int, .double):
      return SQLValue(dialect.double(value.sql), .double, isNullable: value.isNullable)
    case (.int, .bool), (.double, .bool): wanted = 0...1
    case (.int, _), (.double, _):
      guard let range = type.traits?.integerRange else { return nil }
      wanted = range
    default: return nil
    }
    if case .int(let range) = value.kind, wanted.contains(range.lowerBound), wanted.contains(range.upperBound)
    {
      return value
    }
    guard let otherwise else {
      guard let sql = dialect.limited(value.sql, to: wanted, otherwise: nil) else { return nil }
      mayFail = true
      return SQLValue(sql, .int(wanted), isNullable: value.isNullable)
    }
    guard let alternative = try integer(otherwise), case .int(let range) = alternative.kind,
      let sql = dialect.limited(value.sql, to: wanted, otherwise: alternative.sql)
    else { return nil }
    return SQLValue(
      sql,
      .int(min(wanted.lowerBound, range.lowerBound)...max(wanted.upperBound, range.upperBound)),
      isNullable: value.isNullable || alternative.isNullable)
  }

  /// Compiles the alternative for a value that does not fit. The caller checks that it is an integer or nil.
  private mutating func integer(_ expression: ValueExpression) throws(EvaluationError) -> SQLValue? {
    switch try operand(expression) {
    case .constant(.value(.null))?: SQLValue("NULL", .int(0...0))
    case let operand?: Self.calculable(operand)
    case nil: nil
    }
  }
}
