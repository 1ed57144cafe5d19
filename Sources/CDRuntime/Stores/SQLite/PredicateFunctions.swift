import CDModel
import CSQLite

/// The SQL functions that compare strings in the same way as the evaluator. A connection needs them to run compiled
/// predicates.
///
/// - `cdgen_order(text, other, options)`: -1, 0 or 1; NULL if an argument is NULL.
/// - `cdgen_search(whole, part, place, options)`: 1 if the whole, which is text or data, has the part at the start (0),
///   the end (1) or anywhere (2).
/// - `cdgen_like(text, pattern, options)`, `cdgen_matches(text, pattern, options)`, and so on for each operator with a
///   pattern: 1 if the text matches the pattern.
/// - `cdgen_canonical(text)`: the text without case and diacritics.
/// - The collations `cdgen_1`, `cdgen_3` and so on: the order of strings under options, by the options' raw value.
///
/// A constant pattern is prepared only for the first row. SQLite keeps it until the statement ends.
///
/// `cdgen_search`, `cdgen_like` and `cdgen_matches` return 0 if an argument is NULL, like comparisons in memory.
enum PredicateFunctions {
  /// Adds the functions to a connection.
  static func install(on connection: OpaquePointer) {
    // The functions depend only on their arguments and have no side effects. SQLite may use this to optimise.
    let flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS
    sqlite3_create_function_v2(
      connection, "cdgen_order", 3, flags, nil,
      { context, _, arguments in
        guard let left = PredicateFunctions.utf8(arguments, 0),
          let right = PredicateFunctions.utf8(arguments, 1)
        else {
          return sqlite3_result_null(context)
        }
        let order = PredicateFunctions.order(left, right, PredicateFunctions.options(arguments, 2))
        sqlite3_result_int64(context, Int64(order.signum()))
      }, nil, nil, nil)
    sqlite3_create_function_v2(
      connection, "cdgen_search", 4, flags, nil,
      { context, _, arguments in
        sqlite3_result_int(context, PredicateFunctions.search(context, arguments) ? 1 : 0)
      },
      nil, nil, nil)
    installPatterns(on: connection)
    sqlite3_create_function_v2(
      connection, "cdgen_canonical", 1, flags, nil,
      { context, _, arguments in
        guard let text = PredicateFunctions.text(arguments, 0) else { return sqlite3_result_null(context) }
        let folded = FoundationText.folded(text, [.caseInsensitive, .diacriticInsensitive])
        sqlite3_result_text(context, folded, Int32(clamping: folded.utf8.count), SQLite.copied)
      }, nil, nil, nil)
    installIntegers(on: connection)
    installCollations(on: connection)
  }

  /// The name of the function for an operator with a pattern.
  static func name(_ comparisonOperator: ComparisonOperator) -> String {
    "cdgen_" + comparisonOperator.rawValue.lowercased()
  }

  private static func installPatterns(on connection: OpaquePointer) {
    for (place, each) in ComparisonOperator.allCases.enumerated() where each.form == .pattern {
      // The user data pointer carries the index of the operator, not an address.
      sqlite3_create_function_v2(
        connection, name(each), 3, SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS,
        UnsafeMutableRawPointer(bitPattern: UInt(place)),
        { context, _, arguments in
          do throws(EvaluationError) {
            let pattern = try PredicateFunctions.prepared(
              context, arguments
            ) { (pattern, options) throws(EvaluationError) in
              let place = Int(bitPattern: sqlite3_user_data(context))
              return try TextPattern(pattern, of: ComparisonOperator.allCases[place], options)
            }
            guard let left = PredicateFunctions.text(arguments, 0), let pattern else {
              return sqlite3_result_int(context, 0)
            }
            sqlite3_result_int(context, try pattern.matches(left) ? 1 : 0)
          } catch {
            sqlite3_result_error(context, error.description, -1)
          }
        }, nil, nil, nil)
    }
  }

  /// The name of the collation for strings under options; nil if strings are ordered by code units.
  static func collation(_ options: ComparisonOptions) -> String? {
    options.folds ? "cdgen_\(options.rawValue)" : nil
  }

  private static func installCollations(on connection: OpaquePointer) {
    for rawValue in UInt8(1)..<16 {
      guard let name = collation(ComparisonOptions(rawValue: rawValue)) else { continue }
      // The user data pointer carries the options themselves, not an address.
      sqlite3_create_collation_v2(
        connection, name, SQLITE_UTF8, UnsafeMutableRawPointer(bitPattern: UInt(rawValue)),
        { options, leftCount, left, rightCount, right in
          let options = ComparisonOptions(rawValue: UInt8(truncatingIfNeeded: UInt(bitPattern: options)))
          let order = PredicateFunctions.order(
            PredicateFunctions.bytes(left, leftCount), PredicateFunctions.bytes(right, rightCount), options)
          return Int32(order.signum())
        }, nil)
    }
  }

  private static func bytes(_ start: UnsafeRawPointer?, _ count: Int32) -> UnsafeBufferPointer<UInt8> {
    guard let start else { return UnsafeBufferPointer(start: nil, count: 0) }
    return UnsafeBufferPointer(start: start.assumingMemoryBound(to: UInt8.self), count: Int(count))
  }

  /// Compares two texts under options, by their bytes if that is enough.
  private static func order(
    _ left: UnsafeBufferPointer<UInt8>, _ right: UnsafeBufferPointer<UInt8>, _ options: ComparisonOptions
  ) -> Int {
    if !options.isEmpty, !options.contains(.normalized),
      let order = TextComparison.order(ascii: left, right, options)
    {
      return order
    }
    return TextComparison.order(
      String(decoding: left, as: UTF8.self), String(decoding: right, as: UTF8.self), options)
  }

  private typealias Arguments = UnsafeMutablePointer<OpaquePointer?>?

  private static func search(_ context: OpaquePointer?, _ arguments: Arguments) -> Bool {
    guard
      let anchor = arguments.map({ sqlite3_value_int($0[2]) }).flatMap({ SearchAnchor(rawValue: Int($0)) })
    else { return false }
    if let whole = utf8(arguments, 0),
      let search = prepared(context, arguments, options: 3, { TextSearch($0, $1) })
    {
      return search.isFound(in: whole, at: anchor)
    }
    guard let whole = bytes(arguments, 0), let part = bytes(arguments, 1) else { return false }
    return CodeUnits.contains(whole, part, anchor)
  }

  /// Prepares a value from the second argument, a pattern, and the options. Returns nil if the pattern is not text.
  ///
  /// - Parameter options: The index of the argument with the options.
  private static func prepared<Value, E: Error>(
    _ context: OpaquePointer?, _ arguments: Arguments, options index: Int = 2,
    _ make: (String, ComparisonOptions) throws(E) -> Value
  ) throws(E) -> Value? {
    if let known = sqlite3_get_auxdata(context, 1) {
      return (Unmanaged<AnyObject>.fromOpaque(known).takeUnretainedValue() as? Prepared<Value>)?.value
    }
    guard let pattern = text(arguments, 1) else { return nil }
    let value = try make(pattern, options(arguments, index))
    // SQLite keeps the value if the argument is a constant; otherwise it releases the value at once.
    sqlite3_set_auxdata(context, 1, Unmanaged<AnyObject>.passRetained(Prepared(value)).toOpaque()) {
      address in
      if let address { Unmanaged<AnyObject>.fromOpaque(address).release() }
    }
    return value
  }

  /// A prepared pattern that SQLite keeps.
  private final class Prepared<Value> {
    let value: Value
    init(_ value: Value) { self.value = value }
  }

  private static func options(_ arguments: Arguments, _ index: Int) -> ComparisonOptions {
    ComparisonOptions(
      rawValue: UInt8(truncatingIfNeeded: arguments.map { sqlite3_value_int($0[index]) } ?? 0))
  }

  /// A text argument; nil for an argument of another type.
  private static func text(_ arguments: Arguments, _ index: Int) -> String? {
    utf8(arguments, index).map { String(decoding: $0, as: UTF8.self) }
  }

  /// The bytes of a text argument, valid only during the call; nil for an argument of another type.
  private static func utf8(_ arguments: Arguments, _ index: Int) -> UnsafeBufferPointer<UInt8>? {
    guard let value = arguments?[index], sqlite3_value_type(value) == SQLITE_TEXT else { return nil }
    let start = sqlite3_value_text(value)
    let count = Int(sqlite3_value_bytes(value))
    return UnsafeBufferPointer(start: start, count: start == nil ? 0 : count)
  }

  /// A data argument; nil for an argument of another type.
  private static func bytes(_ arguments: Arguments, _ index: Int) -> [UInt8]? {
    guard let value = arguments?[index], sqlite3_value_type(value) == SQLITE_BLOB else { return nil }
    let count = Int(sqlite3_value_bytes(value))
    guard let start = sqlite3_value_blob(value) else { return [] }
    return Array(UnsafeRawBufferPointer(start: start, count: count))
  }
}

/// The SQL functions that calculate with integers in the same way as the evaluator, such as `cdgen_add(left, right)`.
/// SQLite's own operators would continue with a rounded double or NULL. These functions fail if there is no result, and
/// return NULL if an argument is NULL.
///
/// - `cdgen_within(value, least, greatest, else)`: the value as an integer, if it is an integer within the bounds.
///   Otherwise the fourth argument; without a fourth argument the function fails.
extension PredicateFunctions {
  /// Returns a call of the function for an operator.
  static func calculation(_ integerOperator: IntegerOperator, _ left: SQLText, _ right: SQLText) -> SQLText {
    "\(raw: name(integerOperator))(\(left), \(right))"
  }

  /// Returns a call that gives the value if it is an integer of the range, and otherwise an alternative. Without an
  /// alternative, the call fails.
  static func limited(
    _ value: SQLText, to range: ClosedRange<Int64>, otherwise: SQLText? = nil
  ) -> SQLText {
    let bounds: SQLText = "\(bind: .int(range.lowerBound)), \(bind: .int(range.upperBound))"
    guard let otherwise else { return "cdgen_within(\(value), \(bounds))" }
    return "cdgen_within(\(value), \(bounds), \(otherwise))"
  }

  private static func name(_ integerOperator: IntegerOperator) -> String { "cdgen_" + integerOperator.name }

  private static func installIntegers(on connection: OpaquePointer) {
    let flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS
    for integerOperator in IntegerOperator.allCases {
      // The user data pointer carries the operator itself, not an address.
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
      // These operators are rare, so they use the evaluator's own calculation.
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
