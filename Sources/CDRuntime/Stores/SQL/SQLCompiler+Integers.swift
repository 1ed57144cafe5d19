import CDModel

// Calculations with integers. Where a result may have no place in 64 bits, or a divisor may be 0, the statement fails
// for such a row, and the evaluator has the last word.
extension SQLCompiler {
  /// Integers in SQL, and the least and greatest that there can be.
  struct Integers {
    let sql: SQLText
    let range: ClosedRange<Int64>
    let isNullable: Bool
    /// The one number that it is, where no row has a part in it.
    var constant: Int64? { sql.text == "?" && range.lowerBound == range.upperBound ? range.lowerBound : nil }
    /// Whether the text is short, and costs little to be evaluated twice.
    fileprivate var isPlain: Bool { sql.bindings.isEmpty && !sql.text.contains("(") }
  }

  mutating func calculate(
    _ left: Integers, _ integerOperator: IntegerOperator, _ right: Integers
  ) -> SQLValue {
    if left.constant != nil, right.constant == nil, integerOperator == .add || integerOperator == .multiply {
      return calculate(right, integerOperator, left)
    }
    let range = Self.range(left.range, integerOperator, right.range)
    let isNullable = left.isNullable || right.isNullable
    if Self.mayFail(left.range, integerOperator, right.range) {
      mayFail = true
      return SQLValue(
        Self.checked(left, integerOperator, right), .int(range), isNullable: isNullable)
    }
    let sql: SQLText =
      if let word = integerOperator.word {
        "(\(left.sql) \(raw: word) \(right.sql))"
      } else {
        PredicateFunctions.calculation(integerOperator, left.sql, right.sql)
      }
    return SQLValue(sql, .int(range), isNullable: isNullable)
  }

  /// A calculation that fails for rows that have no result.
  private static func checked(_ left: Integers, _ integerOperator: IntegerOperator, _ right: Integers)
    -> SQLText
  {
    let call = PredicateFunctions.calculation(integerOperator, left.sql, right.sql)
    // A column and a constant: a comparison costs less than the function, which then is there to fail.
    guard let word = integerOperator.word, left.isPlain, let constant = right.constant,
      let bounds = Self.operands(integerOperator, constant)
    else { return call }
    let test: SQLText
    if bounds.lowerBound == .min {
      test = "\(left.sql) > \(bind: .int(bounds.upperBound))"
    } else if bounds.upperBound == .max {
      test = "\(left.sql) < \(bind: .int(bounds.lowerBound))"
    } else {
      test = "\(left.sql) NOT BETWEEN \(bind: .int(bounds.lowerBound)) AND \(bind: .int(bounds.upperBound))"
    }
    return "(CASE WHEN \(test) THEN \(call) ELSE \(left.sql) \(raw: word) \(right.sql) END)"
  }

  /// The left operands with which a calculation has a result; nil where there is no simple answer.
  private static func operands(_ integerOperator: IntegerOperator, _ right: Int64) -> ClosedRange<Int64>? {
    switch integerOperator {
    case .add: right < 0 ? (.min - right)...(.max) : (.min)...(.max - right)
    case .subtract: right < 0 ? (.min)...(.max + right) : (.min + right)...(.max)
    case .multiply:
      switch right {
      case 0: nil
      case -1: -Int64.max...Int64.max
      case ..<0: (.max / right)...(.min / right)
      default: (.min / right)...(.max / right)
      }
    case .divide: right == -1 ? -Int64.max...Int64.max : nil
    case .remainder, .power, .exclusiveOr: nil
    }
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

  /// Where the results lie.
  private static func range(
    _ left: ClosedRange<Int64>, _ integerOperator: IntegerOperator, _ right: ClosedRange<Int64>
  ) -> ClosedRange<Int64> {
    let all = Int64.min...Int64.max
    switch integerOperator {
    case .add, .subtract, .multiply:
      let values = corners(left, integerOperator, right).map(\.value)
      return (values.min() ?? .min)...(values.max() ?? .max)
    case .divide:
      // No quotient by 1 or more is farther from 0 than the dividend.
      if right.lowerBound > 0 { return min(left.lowerBound, 0)...max(left.upperBound, 0) }
      guard left.lowerBound > .min else { return all }
      let bound = max(-left.lowerBound, left.upperBound)
      return -bound...bound
    case .remainder:
      // With the sign of the dividend, and no farther from 0.
      return min(left.lowerBound, 0)...max(left.upperBound, 0)
    case .power, .exclusiveOr: return all
    }
  }

  /// The results at the ends of both ranges, held within 64 bits.
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

  // MARK: One operand

  mutating func negated(_ value: Integers) -> SQLValue {
    let (least, greatest) = (value.range.lowerBound, value.range.upperBound)
    guard least == .min else {
      return SQLValue("(-\(value.sql))", .int(-greatest...(-least)), isNullable: value.isNullable)
    }
    return calculate(
      Integers(sql: "\(bind: .int(0))", range: 0...0, isNullable: false), .subtract, value)
  }

  /// SQLite's `abs` fails for the least integer, as ours does.
  mutating func absolute(_ value: Integers) -> SQLValue {
    let (least, greatest) = (value.range.lowerBound, value.range.upperBound)
    if least == .min { mayFail = true }
    let bound = max(least == .min ? .max : abs(least), greatest == .min ? .max : abs(greatest))
    return SQLValue("abs(\(value.sql))", .int(0...bound), isNullable: value.isNullable)
  }
}

/// What is calculated of two integers.
enum IntegerOperator: Int, CaseIterable {
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

  /// SQL's operator for results that have a place; nil where there is none.
  var word: String? {
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
