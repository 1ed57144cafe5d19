import CDModel
import CSQLite

/// The functions by which SQL compares strings as the evaluator does. A connection that runs compiled
/// predicates needs them.
///
/// - `cdgen_order(text, other, options)`: -1, 0 or 1; NULL where one of them is NULL.
/// - `cdgen_search(whole, part, place, options)`: 1 if the whole, of text or data, has the part at the start
///   (0), the end (1) or anywhere (2).
/// - `cdgen_like(text, pattern, options)`, `cdgen_matches(text, pattern, options)`: 1 if it does.
/// - `cdgen_canonical(text)`: the text without case and diacritics.
/// - the collations `cdgen_1`, `cdgen_3` and so on: the order of strings under options, by their raw value.
///
/// The search, `cdgen_like` and `cdgen_matches` are 0 where an argument is NULL, as comparisons are in memory.
enum PredicateFunctions {
  /// Makes the functions known to a connection.
  static func install(on connection: OpaquePointer) {
    // The same arguments have the same result, and nothing else is done: SQLite may use that.
    let flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS
    sqlite3_create_function_v2(
      connection, "cdgen_order", 3, flags, nil,
      { context, _, arguments in
        guard let left = PredicateFunctions.text(arguments, 0),
          let right = PredicateFunctions.text(arguments, 1)
        else {
          return sqlite3_result_null(context)
        }
        sqlite3_result_int64(
          context, Int64(TextComparison.order(left, right, PredicateFunctions.options(arguments, 2)).signum())
        )
      }, nil, nil, nil)
    sqlite3_create_function_v2(
      connection, "cdgen_search", 4, flags, nil,
      { context, _, arguments in sqlite3_result_int(context, PredicateFunctions.search(arguments) ? 1 : 0) },
      nil, nil, nil)
    sqlite3_create_function_v2(
      connection, "cdgen_like", 3, flags, nil,
      { context, _, arguments in
        guard let left = PredicateFunctions.text(arguments, 0),
          let pattern = PredicateFunctions.text(arguments, 1)
        else {
          return sqlite3_result_int(context, 0)
        }
        let matches = LikePattern(pattern, PredicateFunctions.options(arguments, 2)).matches(left)
        sqlite3_result_int(context, matches ? 1 : 0)
      }, nil, nil, nil)
    sqlite3_create_function_v2(
      connection, "cdgen_matches", 3, flags, nil,
      { context, _, arguments in
        guard let left = PredicateFunctions.text(arguments, 0),
          let pattern = PredicateFunctions.text(arguments, 1)
        else {
          return sqlite3_result_int(context, 0)
        }
        do throws(EvaluationError) {
          let expression = try RegularExpression.compiled(pattern, PredicateFunctions.options(arguments, 2))
          sqlite3_result_int(context, try expression.matches(left) ? 1 : 0)
        } catch {
          sqlite3_result_error(context, error.description, -1)
        }
      }, nil, nil, nil)
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

  /// The name of the collation by which strings are ordered under options; nil where they are by code units.
  static func collation(_ options: ComparisonOptions) -> String? {
    options.folds ? "cdgen_\(options.rawValue)" : nil
  }

  private static func installCollations(on connection: OpaquePointer) {
    for rawValue in UInt8(1)..<16 {
      guard let name = collation(ComparisonOptions(rawValue: rawValue)) else { continue }
      // The options come along in place of an address.
      sqlite3_create_collation_v2(
        connection, name, SQLITE_UTF8, UnsafeMutableRawPointer(bitPattern: UInt(rawValue)),
        { options, leftCount, left, rightCount, right in
          let options = ComparisonOptions(rawValue: UInt8(truncatingIfNeeded: UInt(bitPattern: options)))
          return Int32(
            TextComparison.order(
              PredicateFunctions.text(left, leftCount), PredicateFunctions.text(right, rightCount), options
            ).signum())
        }, nil)
    }
  }

  private static func text(_ start: UnsafeRawPointer?, _ count: Int32) -> String {
    String(
      decoding: UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : Int(count)), as: UTF8.self)
  }

  private typealias Arguments = UnsafeMutablePointer<OpaquePointer?>?

  private static func search(_ arguments: Arguments) -> Bool {
    guard let place = arguments.map({ sqlite3_value_int($0[2]) }).flatMap({ SearchPlace(rawValue: Int($0)) })
    else { return false }
    if let whole = PredicateFunctions.text(arguments, 0), let part = PredicateFunctions.text(arguments, 1) {
      return TextComparison.contains(whole, part, at: place, PredicateFunctions.options(arguments, 3))
    }
    guard let whole = bytes(arguments, 0), let part = bytes(arguments, 1) else { return false }
    return CodeUnits.contains(whole, part, place)
  }

  private static func options(_ arguments: Arguments, _ place: Int) -> ComparisonOptions {
    ComparisonOptions(
      rawValue: UInt8(truncatingIfNeeded: arguments.map { sqlite3_value_int($0[place]) } ?? 0))
  }

  /// An argument that is text; nil for another.
  private static func text(_ arguments: Arguments, _ place: Int) -> String? {
    guard let value = arguments?[place], sqlite3_value_type(value) == SQLITE_TEXT else { return nil }
    let start = sqlite3_value_text(value)
    let count = Int(sqlite3_value_bytes(value))
    return String(decoding: UnsafeBufferPointer(start: start, count: start == nil ? 0 : count), as: UTF8.self)
  }

  /// An argument that is data; nil for another.
  private static func bytes(_ arguments: Arguments, _ place: Int) -> [UInt8]? {
    guard let value = arguments?[place], sqlite3_value_type(value) == SQLITE_BLOB else { return nil }
    let count = Int(sqlite3_value_bytes(value))
    guard let start = sqlite3_value_blob(value) else { return [] }
    return Array(UnsafeRawBufferPointer(start: start, count: count))
  }
}
