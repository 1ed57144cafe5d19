import CDModel
import CSQLite

/// The functions by which SQL calculates with integers as the evaluator does, where SQLite's own operators would go on
/// with a rounded double or with NULL: `cdgen_add(left, right)` and the like. They fail where there is no result, and
/// give NULL where an argument is NULL.
///
/// - `cdgen_within(value, least, greatest, else)`: the number as an integer, if it is one and lies there; else the fourth
///   argument, and without one it fails.
extension PredicateFunctions {
  /// A call of the function of an operator.
  static func calculation(_ integerOperator: IntegerOperator, _ left: SQLText, _ right: SQLText) -> SQLText {
    "\(raw: name(integerOperator))(\(left), \(right))"
  }

  /// A call that gives the integers of a range as they are, and for other numbers something else. Without that it
  /// fails.
  static func limited(
    _ value: SQLText, to range: ClosedRange<Int64>, otherwise: SQLText? = nil
  ) -> SQLText {
    let bounds: SQLText = "\(bind: .int(range.lowerBound)), \(bind: .int(range.upperBound))"
    guard let otherwise else { return "cdgen_within(\(value), \(bounds))" }
    return "cdgen_within(\(value), \(bounds), \(otherwise))"
  }

  private static func name(_ integerOperator: IntegerOperator) -> String { "cdgen_\(integerOperator)" }

  static func installIntegers(on connection: OpaquePointer) {
    let flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS
    for integerOperator in IntegerOperator.allCases {
      // The operator comes along in place of an address.
      sqlite3_create_function_v2(
        connection, name(integerOperator), 2, flags,
        UnsafeMutableRawPointer(bitPattern: UInt(integerOperator.rawValue)),
        { context, _, arguments in
          guard let left = arguments?[0], let right = arguments?[1],
            let integerOperator = IntegerOperator(rawValue: Int(bitPattern: sqlite3_user_data(context)))
          else { return }
          let types = (sqlite3_value_type(left), sqlite3_value_type(right))
          if types.0 == SQLITE_NULL || types.1 == SQLITE_NULL { return sqlite3_result_null(context) }
          guard types == (SQLITE_INTEGER, SQLITE_INTEGER) else {
            return sqlite3_result_error(context, "integers are calculated with integers", -1)
          }
          do throws(EvaluationError) {
            sqlite3_result_int64(
              context,
              try PredicateFunctions.result(
                sqlite3_value_int64(left), integerOperator, sqlite3_value_int64(right)))
          } catch { sqlite3_result_error(context, error.description, -1) }
        }, nil, nil, nil)
    }
    for count in [3, 4] as [Int32] {
      sqlite3_create_function_v2(
        connection, "cdgen_within", count, flags, nil,
        { context, count, arguments in
          guard let value = arguments?[0], let least = arguments?[1], let greatest = arguments?[2] else {
            return
          }
          let number: Int64?
          switch sqlite3_value_type(value) {
          case SQLITE_NULL: return sqlite3_result_null(context)
          case SQLITE_INTEGER: number = sqlite3_value_int64(value)
          case SQLITE_FLOAT: number = Int64(exactly: sqlite3_value_double(value))
          default: number = nil
          }
          if let number, number >= sqlite3_value_int64(least), number <= sqlite3_value_int64(greatest) {
            return sqlite3_result_int64(context, number)
          }
          guard count == 4, let otherwise = arguments?[3] else {
            return sqlite3_result_error(context, "a number does not fit", -1)
          }
          sqlite3_result_value(context, otherwise)
        }, nil, nil, nil)
    }
  }

  private static func result(
    _ left: Int64, _ integerOperator: IntegerOperator, _ right: Int64
  ) throws(EvaluationError) -> Int64 {
    let (result, isOverflow): (Int64, Bool)
    switch integerOperator {
    case .add: (result, isOverflow) = left.addingReportingOverflow(right)
    case .subtract: (result, isOverflow) = left.subtractingReportingOverflow(right)
    case .multiply: (result, isOverflow) = left.multipliedReportingOverflow(by: right)
    case .exclusiveOr: return left ^ right
    case .divide, .remainder, .power:
      // Seldom enough to go by what the evaluator goes by.
      let number =
        switch integerOperator {
        case .divide: try Arithmetic.calculate(.int(left), .divide, .int(right))
        case .power: try Arithmetic.power(.int(left), .int(right))
        default: try Arithmetic.remainder(.int(left), .int(right))
        }
      guard case .int(let integer) = number else { throw .overflow(operation: "\(integerOperator)") }
      return integer
    }
    if isOverflow { throw .overflow(operation: integerOperator.word ?? "") }
    return result
  }
}
