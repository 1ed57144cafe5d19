import CDModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The SQL of SQLite, on a connection that has the functions of ``PredicateFunctions``.
struct SQLiteDialect: SQLDialect {
  /// The tables that are in stores of other engines.
  private let others: Set<String>

  /// - Parameter others: The tables that are in stores of other engines.
  init(others: Set<String> = []) { self.others = others }

  var name: String { "SQLite" }

  // MARK: Limits

  /// SQLite accepts an expression tree of at most 1,000 levels, 127 arguments of a function and 64 tables in a join.
  var limits: SQLLimits { SQLLimits() }

  /// SQLite's limits are 32,766 parameters, a million bytes, and a parser stack of 100 entries. These limits are lower,
  /// to leave room for the rest of the statement.
  private static let maximumBindings = 30_000
  private static let maximumLength = 900_000
  private static let maximumDepth = 80
  /// The maximum depth of the parser stack for a value outside the condition.
  private static let maximumTermDepth = 60

  func accepts(_ condition: SQLText) -> Bool {
    condition.bindings.count <= Self.maximumBindings && condition.text.utf8.count <= Self.maximumLength
      && condition.parserDepth <= Self.maximumDepth
  }

  func acceptsTerm(_ value: SQLText) -> Bool { value.parserDepth <= Self.maximumTermDepth }

  // MARK: Values

  func stored(_ value: AttributeValue) -> AttributeValue { value.stored }

  func stored(_ number: Decimal) -> AttributeValue? { DecimalText.encode(number).map(AttributeValue.string) }

  func value(ofColumn column: SQLText, _ type: StorageType) -> SQLText { column }

  func comparesExactly(_ integers: ClosedRange<Int64>) -> Bool { true }

  // MARK: Tables

  func isReachable(_ table: String) -> Bool { others.isEmpty || !others.contains(table) }

  func columnType(_ type: StorageType, mayNameFile: Bool) -> String {
    // The name of a file is TEXT, and data are BLOB.
    if mayNameFile { return "ANY" }
    return switch type.storageClass {
    case .text: "TEXT"
    case .integer: "INTEGER"
    case .real: "REAL"
    case .bytes: "BLOB"
    }
  }

  func tableOptions(hasOwnKey: Bool) -> String { hasOwnKey ? "STRICT" : "STRICT, WITHOUT ROWID" }

  // MARK: Conditions

  var always: String { "1" }
  var never: String { "0" }

  func equality(_ left: SQLValue, _ right: SQLValue, isEqual: Bool) -> SQLText {
    isEqual ? "\(left.sql) IS \(right.sql)" : "\(left.sql) IS NOT \(right.sql)"
  }

  func ordered(_ value: SQLValue) -> SQLText { value.sql }

  func isNotTrue(_ condition: SQLText) -> SQLText { "(\(condition)) IS NOT 1" }

  func membership(_ value: SQLText, in list: [AttributeValue]) -> SQLText? {
    SQLiteArray.json(list).map { "\(value) IN (SELECT value FROM json_each(\(bind: .string($0))))" }
  }

  // MARK: Texts

  func order(_ left: SQLText, _ right: SQLText, _ options: ComparisonOptions) -> SQLText? {
    "cdgen_order(\(left), \(right), \(raw: String(options.rawValue)))"
  }

  func search(
    _ whole: SQLText, for part: SQLText, _ anchor: SearchAnchor, _ options: ComparisonOptions
  ) -> SQLText? {
    "cdgen_search(\(whole), \(part), \(raw: String(anchor.rawValue)), \(raw: String(options.rawValue)))"
  }

  func match(
    _ text: SQLText, _ comparisonOperator: ComparisonOperator, _ pattern: SQLText,
    _ options: ComparisonOptions
  ) -> SQLText? {
    let function = PredicateFunctions.name(comparisonOperator)
    return "\(raw: function)(\(text), \(pattern), \(raw: String(options.rawValue)))"
  }

  func canonical(_ text: SQLText) -> SQLText? { "cdgen_canonical(\(text))" }

  // MARK: Calculations

  // SQLite's own operators would continue with a rounded double or NULL, so a function fails in their place.
  func calculation(
    _ left: SQLIntegers, _ integerOperator: IntegerOperator, _ right: SQLIntegers, mayFail: Bool
  ) -> SQLText? {
    guard let word = integerOperator.word else {
      return PredicateFunctions.calculation(integerOperator, left.sql, right.sql)
    }
    if !mayFail { return "(\(left.sql) \(raw: word) \(right.sql))" }
    let call = PredicateFunctions.calculation(integerOperator, left.sql, right.sql)
    // For a column and a constant, a comparison with the bounds is cheaper than the function. The function is then
    // called only to fail.
    guard left.isPlain, let constant = right.constant, let bounds = integerOperator.operands(before: constant)
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

  func calculation(
    _ left: SQLValue, _ expressionOperator: ExpressionOperator, _ right: SQLValue
  ) -> SQLText? {
    let word = left.kind == .string ? "||" : expressionOperator.rawValue
    return "(\(left.sql) \(raw: word) \(right.sql))"
  }

  func wide(_ integers: SQLText) -> SQLText { integers }

  func double(_ number: SQLText) -> SQLText { "CAST(\(number) AS REAL)" }

  func limited(_ number: SQLText, to range: ClosedRange<Int64>, otherwise: SQLText?) -> SQLText? {
    PredicateFunctions.limited(number, to: range, otherwise: otherwise)
  }

  // SQLite's sum of integers fails on overflow, like the evaluator's.
  func sum(_ integers: SQLText) -> SQLText? { "coalesce(sum(\(integers)), 0)" }

  func average(_ integers: SQLText) -> SQLText? { "CAST(sum(\(integers)) AS REAL) / count(\(integers))" }

  func unindexed(_ value: SQLText) -> SQLText { "+\(value)" }

  // MARK: Results

  func direction(_ kind: SQLValue.Kind, _ options: ComparisonOptions, isAscending: Bool) -> String? {
    let collation =
      kind == .string ? PredicateFunctions.collation(options).map { " COLLATE " + $0 } ?? "" : ""
    return collation + (isAscending ? "" : " DESC")
  }

  func window(offset: Int, limit: Int?) -> String {
    limit != nil || offset > 0 ? " LIMIT \(limit ?? -1) OFFSET \(offset)" : ""
  }
}

extension SQLDialect where Self == SQLiteDialect {
  static var sqlite: SQLiteDialect { SQLiteDialect() }
}

extension IntegerOperator {
  /// The left operands for which a calculation has a result; nil if there is no simple range.
  fileprivate func operands(before right: Int64) -> ClosedRange<Int64>? {
    switch self {
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
}

extension SQLText {
  /// An upper limit for the number of entries that SQLite's parser needs on its stack for nested expressions. The
  /// weights come from experiments: 10 for SELECT or CASE, 7 for the arguments of a function, 3 for any other
  /// parenthesis.
  fileprivate var parserDepth: Int {
    var open: [Int] = []
    var depth = 0
    var deepest = 0
    let bytes = Array(text.utf8)
    for (index, byte) in bytes.enumerated() {
      if byte == UInt8(ascii: "(") {
        var weight = 3
        if bytes[(index + 1)...].starts(with: Self.select) || bytes[(index + 1)...].starts(with: Self.case) {
          weight = 10
        } else if index > 0, bytes[index - 1] != UInt8(ascii: " "), bytes[index - 1] != UInt8(ascii: "(") {
          weight = 7
        }
        open.append(weight)
        depth += weight
        deepest = max(deepest, depth)
      } else if byte == UInt8(ascii: ")") {
        depth -= open.popLast() ?? 0
      }
    }
    return deepest
  }

  private static let select = Array("SELECT".utf8)
  private static let `case` = Array("CASE".utf8)
}

/// Passes a long list as one parameter.
private enum SQLiteArray {
  /// Returns a JSON array of integers or strings. Returns nil if JSON could not give the same values back.
  static func json(_ values: [AttributeValue]) -> String? {
    var parts: [String] = []
    parts.reserveCapacity(values.count)
    for value in values {
      switch value {
      case .int(let number): parts.append(String(number))
      case .string(let text):
        // SQLite's JSON functions end a string at a NUL.
        if text.utf8.contains(0) { return nil }
        parts.append(quoted(text))
      default: return nil
      }
    }
    return "[" + parts.joined(separator: ",") + "]"
  }

  private static func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": result += "\\\""
      case "\\": result += "\\\\"
      case "\u{1}"..<"\u{20}":
        let digits = String(scalar.value, radix: 16)
        result += "\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }
}
