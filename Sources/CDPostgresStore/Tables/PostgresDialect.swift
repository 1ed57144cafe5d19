import CDModel
import CDRuntime

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The SQL of PostgreSQL.
///
/// Booleans are `boolean`, decimals `numeric`, UUIDs `uuid`, dates `double precision`.
struct PostgresDialect: SQLDialect {
  /// The form in which statements find each table; the table's name for those that are not here.
  private let tables: [String: String]
  /// The tables that are in stores of other engines.
  private let others: Set<String>

  /// - Parameters:
  ///   - tables: The form in which statements find each table, by its name.
  ///   - others: The tables that are in stores of other engines.
  init(tables: [String: String] = [:], others: Set<String> = []) {
    self.tables = tables
    self.others = others
  }

  var name: String { "PostgreSQL" }
  var limits: SQLLimits { SQLLimits() }

  func table(_ name: String) -> String { tables[name] ?? SQLText.quoted(name) }

  func isReachable(_ table: String) -> Bool { others.isEmpty || !others.contains(table) }

  // The limit is 65,535 parameters. This leaves room for the rest of the statement.
  func accepts(_ condition: SQLText) -> Bool { condition.bindings.count <= 60_000 }
  func acceptsTerm(_ value: SQLText) -> Bool { true }

  /// Numbers the parameters of a complete statement, which are `?` in the neutral form of ``SQLText``.
  static func rendered(_ text: String) -> String {
    var result: [UInt8] = []
    result.reserveCapacity(text.utf8.count + 64)
    var count = 0
    // The quote of the name or literal that contains the current byte; nil outside. A doubled quote ends a name or a
    // literal and begins it again, so it needs no special case.
    var open: UInt8?
    for byte in text.utf8 {
      switch (open, byte) {
      case (nil, UInt8(ascii: "?")):
        count += 1
        result += "$\(count)".utf8
        continue
      case (nil, UInt8(ascii: "\"")), (nil, UInt8(ascii: "'")): open = byte
      case (byte, _): open = nil
      default: break
      }
      result.append(byte)
    }
    return String(decoding: result, as: UTF8.self)
  }

  // MARK: Values

  func stored(_ value: AttributeValue) -> AttributeValue {
    if case .uuid = value { value } else { value.stored }
  }

  func stored(_ number: Decimal) -> AttributeValue? { .decimal(number) }

  func value(ofColumn column: SQLText, _ type: StorageType) -> SQLText {
    type == .bool ? "CAST(\(column) AS integer)" : column
  }

  /// The most bytes of a value that a row of objects contains. To read a larger one later takes less time than to send
  /// the values of all objects of a fetch; a smaller one is not worth a round trip.
  static let largestInlineSize = 4096

  // The length of a value that is stored outside of its row is known without reading the value. An empty value is marked
  // like a large one: it is rare, and reading it later gives the same result.
  func laterValue(_ column: String) -> String? {
    "CASE WHEN octet_length(\(column)) > \(Self.largestInlineSize) THEN CAST('' AS bytea) ELSE \(column) END"
  }

  // PostgreSQL converts the integer to a double.
  func comparesExactly(_ integers: ClosedRange<Int64>) -> Bool {
    integers.lowerBound >= -(1 << 53) && integers.upperBound <= 1 << 53
  }

  // MARK: Tables

  func columnType(_ type: StorageType, mayNameFile: Bool) -> String {
    let own = PostgresType(type)
    // The order of code units, whatever the database's own order is.
    return own == .text ? own.name + #" COLLATE "C""# : own.name
  }

  func tableOptions(hasOwnKey: Bool) -> String { "" }

  // MARK: Conditions

  var always: String { "TRUE" }
  var never: String { "FALSE" }

  // `IS DISTINCT FROM` uses no index.
  func equality(_ left: SQLValue, _ right: SQLValue, isEqual: Bool) -> SQLText {
    switch (isEqual, left.isNullable, right.isNullable) {
    case (true, true, true): "\(left.sql) IS NOT DISTINCT FROM \(right.sql)"
    case (true, _, _): "\(left.sql) = \(right.sql)"
    case (false, false, false): "\(left.sql) <> \(right.sql)"
    case (false, _, _): "\(left.sql) IS DISTINCT FROM \(right.sql)"
    }
  }

  func ordered(_ value: SQLValue) -> SQLText {
    value.kind == .string ? #"\#(value.sql) COLLATE "C""# : value.sql
  }

  func isNotTrue(_ condition: SQLText) -> SQLText { "(\(condition)) IS NOT TRUE" }

  func membership(_ value: SQLText, in list: [AttributeValue]) -> SQLText? {
    var numbers: [String] = []
    for case .int(let number) in list { numbers.append(String(number)) }
    guard numbers.count == list.count else { return nil }
    let array = AttributeValue.string("{" + numbers.joined(separator: ",") + "}")
    return "\(value) = ANY(CAST(\(bind: array) AS bigint[]))"
  }

  // MARK: Texts

  // No collation of PostgreSQL compares as the evaluator does.
  func order(_ left: SQLText, _ right: SQLText, _ options: ComparisonOptions) -> SQLText? { nil }
  func search(
    _ whole: SQLText, for part: SQLText, _ anchor: SearchAnchor, _ options: ComparisonOptions
  ) -> SQLText? { nil }
  func match(
    _ text: SQLText, _ comparisonOperator: ComparisonOperator, _ pattern: SQLText,
    _ options: ComparisonOptions
  ) -> SQLText? { nil }
  func canonical(_ text: SQLText) -> SQLText? { nil }

  // MARK: Calculations

  // PostgreSQL calculates with the type of the columns, and fails where a result does not fit.
  func calculation(
    _ left: SQLIntegers, _ integerOperator: IntegerOperator, _ right: SQLIntegers, mayFail: Bool
  ) -> SQLText? {
    let word: String
    switch integerOperator {
    case .power: return nil
    case .exclusiveOr: word = "#"
    default: word = integerOperator.word ?? ""
    }
    return "(\(wide(left.sql)) \(raw: word) \(wide(right.sql)))"
  }

  func calculation(
    _ left: SQLValue, _ expressionOperator: ExpressionOperator, _ right: SQLValue
  ) -> SQLText? {
    switch (left.kind, expressionOperator) {
    case (.string, .add): "(\(left.sql) || \(right.sql))"
    case (.int, .bitwiseAnd), (.int, .bitwiseOr):
      "(\(wide(left.sql)) \(raw: expressionOperator.rawValue) \(wide(right.sql)))"
    // A shift by 64 bits is a shift by none, and a double that overflows is an error.
    default: nil
    }
  }

  func wide(_ integers: SQLText) -> SQLText { "CAST(\(integers) AS bigint)" }
  func double(_ number: SQLText) -> SQLText { "CAST(\(number) AS double precision)" }
  func limited(_ number: SQLText, to range: ClosedRange<Int64>, otherwise: SQLText?) -> SQLText? { nil }
  func sum(_ integers: SQLText) -> SQLText? { "CAST(coalesce(sum(\(integers)), 0) AS bigint)" }
  func average(_ integers: SQLText) -> SQLText? {
    "CAST(sum(\(integers)) AS double precision) / count(\(integers))"
  }
  func unindexed(_ value: SQLText) -> SQLText { value }

  // MARK: Results

  func direction(_ kind: SQLValue.Kind, _ options: ComparisonOptions, isAscending: Bool) -> String? {
    if kind == .string, options.folds { return nil }
    return (kind == .string ? " COLLATE \"C\"" : "")
      + (isAscending ? " NULLS FIRST" : " DESC NULLS LAST")
  }

  func window(offset: Int, limit: Int?) -> String {
    (limit.map { " LIMIT \($0)" } ?? "") + (offset > 0 ? " OFFSET \(offset)" : "")
  }
}
