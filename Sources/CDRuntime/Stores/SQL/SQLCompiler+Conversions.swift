import CDModel

extension SQLCompiler {
  /// CAST between numbers, as far as SQL has the evaluator's answer.
  mutating func cast(
    _ value: ValueExpression, _ type: CastType, otherwise: ValueExpression?
  ) throws(EvaluationError) -> SQLValue? {
    guard case .attribute(let type) = type, case .value(let value)? = try operand(value) else { return nil }
    let wanted: ClosedRange<Int64>
    switch (value.kind, type) {
    case (.double, .double): return value
    case (.int, .double):
      return SQLValue("CAST(\(value.sql) AS REAL)", .double, isNullable: value.isNullable)
    case (.int, .bool), (.double, .bool): wanted = 0...1
    case (.int, .int16), (.double, .int16): wanted = Int64(Int16.min)...Int64(Int16.max)
    case (.int, .int32), (.double, .int32): wanted = Int64(Int32.min)...Int64(Int32.max)
    case (.int, .int64), (.double, .int64): wanted = Int64.min...Int64.max
    default: return nil
    }
    if case .int(let range) = value.kind, wanted.contains(range.lowerBound), wanted.contains(range.upperBound)
    {
      return value
    }
    guard let otherwise else {
      mayFail = true
      return SQLValue(
        PredicateFunctions.limited(value.sql, to: wanted), .int(wanted), isNullable: value.isNullable)
    }
    guard let alternative = try integer(otherwise), case .int(let range) = alternative.kind else {
      return nil
    }
    return SQLValue(
      PredicateFunctions.limited(value.sql, to: wanted, otherwise: alternative.sql),
      .int(min(wanted.lowerBound, range.lowerBound)...max(wanted.upperBound, range.upperBound)),
      isNullable: value.isNullable || alternative.isNullable)
  }

  /// What stands for a value that does not fit: an integer or nil.
  private mutating func integer(_ expression: ValueExpression) throws(EvaluationError) -> SQLValue? {
    switch try operand(expression) {
    case .constant(.value(.null))?: SQLValue("NULL", .int(0...0))
    case .constant(.value(.int(let number)))?:
      SQLValue("\(bind: .int(number))", .int(number...number), isNullable: false)
    case .constant(.value(.bool(let flag)))?:
      SQLValue("\(bind: .int(flag ? 1 : 0))", .int(0...1), isNullable: false)
    case .value(let value)?: value
    case .constant?, .collection?, nil: nil
    }
  }
}
