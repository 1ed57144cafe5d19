import CDModel

extension SQLCompiler {
  /// Operators of one precedence: those whose result SQL has to the last bit, and which cannot fail.
  mutating func operation(
    _ first: ValueExpression, _ terms: [OperationTerm]
  ) throws(EvaluationError) -> SQLValue? {
    // SQLite takes no tree of more than 1,000 levels.
    guard terms.count <= 200, let start = try operand(first) else { return nil }
    var result = start
    for term in terms {
      guard let right = try operand(term.operand), let value = Self.apply(term.operator, result, right)
      else { return nil }
      result = .value(value)
    }
    guard case .value(let value) = result else { return nil }
    return value
  }

  private static func apply(
    _ expressionOperator: ExpressionOperator, _ left: SQLOperand, _ right: SQLOperand
  ) -> SQLValue? {
    guard let first = calculable(left), let second = calculable(right) else { return nil }
    let word = first.kind == .string ? "||" : expressionOperator.rawValue
    let text: SQLText = "(\(first.sql) \(raw: word) \(second.sql))"
    let isNullable = first.isNullable || second.isNullable
    switch (first.kind, second.kind, expressionOperator) {
    case (.string, .string, .add): return SQLValue(text, .string, isNullable: isNullable)
    case (.int(let left), .int(let right), .add), (.int(let left), .int(let right), .subtract),
      (.int(let left), .int(let right), .multiply), (.int(let left), .int(let right), .divide):
      guard let range = range(left, expressionOperator, right) else { return nil }
      return SQLValue(text, .int(range), isNullable: isNullable)
    case (.int, .int, .bitwiseAnd), (.int, .int, .bitwiseOr), (.int, .int, .shiftLeft),
      (.int, .int, .shiftRight):
      return SQLValue(text, .int(Int64.min...Int64.max), isNullable: isNullable)
    case (.double, .double, .add), (.double, .double, .subtract), (.double, .double, .multiply),
      (.double, .double, .divide), (.double, .int, .add), (.double, .int, .subtract),
      (.double, .int, .multiply), (.double, .int, .divide), (.int, .double, .add),
      (.int, .double, .subtract), (.int, .double, .multiply), (.int, .double, .divide):
      // With a finite number that is not 0 no result is NaN, which SQL has as NULL.
      let constants = expressionOperator == .divide ? [right] : [left, right]
      guard constants.contains(where: isFiniteAndNotZero) else { return nil }
      return SQLValue(text, .double, isNullable: isNullable)
    default: return nil
    }
  }

  private static func isFiniteAndNotZero(_ operand: SQLOperand) -> Bool {
    guard case .constant(let value) = operand, let number = Number(value)?.double else { return false }
    return number.isFinite && number != 0
  }

  /// An operand as a value of SQL, where it is an integer, a double or a string.
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

  /// Where the results lie; nil where one may overflow or a divisor may be 0.
  private static func range(
    _ left: ClosedRange<Int64>, _ expressionOperator: ExpressionOperator, _ right: ClosedRange<Int64>
  ) -> ClosedRange<Int64>? {
    func corner(_ left: Int64, _ right: Int64) -> Int64? {
      let (result, overflow) =
        switch expressionOperator {
        case .add: left.addingReportingOverflow(right)
        case .subtract: left.subtractingReportingOverflow(right)
        default: left.multipliedReportingOverflow(by: right)
        }
      return overflow ? nil : result
    }
    if expressionOperator == .divide {
      // Only by -1 a quotient may overflow, of the least integer.
      if right.contains(0) || left.lowerBound == Int64.min && right.contains(-1) { return nil }
      if right.lowerBound > 0 { return min(left.lowerBound, 0)...max(left.upperBound, 0) }
      if left.lowerBound == Int64.min { return Int64.min...Int64.max }
      let bound = max(left.lowerBound.magnitude, left.upperBound.magnitude)
      return -Int64(bound)...Int64(bound)
    }
    let corners = [
      corner(left.lowerBound, right.lowerBound), corner(left.lowerBound, right.upperBound),
      corner(left.upperBound, right.lowerBound), corner(left.upperBound, right.upperBound),
    ].compactMap(\.self)
    guard corners.count == 4, let least = corners.min(), let greatest = corners.max() else { return nil }
    return least...greatest
  }

  mutating func negated(_ operand: ValueExpression) throws(EvaluationError) -> SQLValue? {
    guard case .value(let value)? = try self.operand(operand) else { return nil }
    switch value.kind {
    case .double: return SQLValue("(-\(value.sql))", .double, isNullable: value.isNullable)
    case .int(let range) where range.lowerBound > Int64.min:
      return SQLValue(
        "(-\(value.sql))", .int(-range.upperBound...(-range.lowerBound)), isNullable: value.isNullable)
    default: return nil
    }
  }

  // MARK: Choices

  mutating func coalesced(_ values: [ValueExpression]) throws(EvaluationError) -> SQLValue? {
    // A function of SQLite takes 127 arguments at most.
    guard values.count <= 100, let parts = try sameKind(values) else { return nil }
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

  /// Values of one kind. Constants take that of the others; nil where there is no one kind.
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
    guard let kind, kind != .opaque else { return nil }
    var result: [SQLValue] = []
    for operand in operands {
      switch operand {
      case .value(let value): result.append(value)
      case .collection: return nil
      case .constant(let constant):
        switch (SQLConstant.form(constant, as: kind, key), kind) {
        case (.null, _): result.append(SQLValue("NULL", kind))
        case (.stored(.int(let number)), .int):
          result.append(SQLValue("\(bind: .int(number))", .int(number...number), isNullable: false))
        // A constant of another kind of number would stay one in memory.
        case (.stored(let stored), _) where !kind.isNumber:
          result.append(SQLValue("\(bind: stored)", kind, isNullable: false))
        case (.stored(.double(let number)), .double):
          result.append(SQLValue("\(bind: .double(number))", kind, isNullable: false))
        default: return nil
        }
      }
    }
    return result
  }

  private static func kind(of values: [SQLValue]) -> SQLValue.Kind {
    values.dropFirst().reduce(values[0].kind) { kind, value in
      if case .int(let left) = kind, case .int(let right) = value.kind {
        return .int(min(left.lowerBound, right.lowerBound)...max(left.upperBound, right.upperBound))
      }
      return kind
    }
  }

  /// The functions that SQL has an exact form of: those that an operator means, and two of strings.
  mutating func call(
    _ function: ExpressionFunction, _ arguments: [ValueExpression]
  ) throws(EvaluationError) -> SQLValue? {
    let operators: [ExpressionFunction: ExpressionOperator] = [
      .addTo: .add, .fromSubtract: .subtract, .multiplyBy: .multiply, .divideBy: .divide,
      .bitwiseAndWith: .bitwiseAnd, .bitwiseOrWith: .bitwiseOr, .leftshiftBy: .shiftLeft,
      .rightshiftBy: .shiftRight,
    ]
    if let expressionOperator = operators[function], arguments.count == 2 {
      return try operation(arguments[0], [OperationTerm(expressionOperator, arguments[1])])
    }
    guard arguments.count == 1, case .value(let value)? = try operand(arguments[0]) else { return nil }
    switch function {
    case .noindex: return SQLValue("+\(value.sql)", value.kind, isNullable: value.isNullable)
    case .canonical where value.kind == .string:
      return SQLValue("cdgen_canonical(\(value.sql))", .string, isNullable: value.isNullable)
    default: return nil
    }
  }
}
