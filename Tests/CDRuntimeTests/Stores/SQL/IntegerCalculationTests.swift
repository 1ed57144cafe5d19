import Foundation
import Testing

@testable import CDRuntime

/// What SQL calculates with integers is what the evaluator does, at all edges: a result, nil, or none.
@Suite(.onceForAllKinds) struct IntegerCalculationTests {
  private static let version = ModelVersion(
    number: 1,
    entities: [
      EntityDescription(
        name: "Pair",
        attributes: [
          AttributeDescription(name: "a", type: .int64, isOptional: true),
          AttributeDescription(name: "b", type: .int64, isOptional: true),
          AttributeDescription(name: "small", type: .int16, isOptional: true),
          AttributeDescription(name: "flag", type: .bool, isOptional: true),
          AttributeDescription(name: "ratio", type: .double, isOptional: true),
        ])
    ])

  private static let edges: [Int64] = [
    .min, .min + 1, -(1 << 53) - 1, -3_037_000_500, -65_537, -32_769, -7, -2, -1, 0, 1, 2, 3, 64, 32_768,
    3_037_000_499, 3_037_000_500, (1 << 53) + 1, .max / 2 + 1, .max - 1, .max,
  ]
  private static let ratios: [Double] = [
    -0x1p63, -1e300, -2.5, -0.0, 0, 0.5, 1, 7, 32_767, 32_768, 0x1p53, 0x1.fffffffffffffp62, 0x1p63,
  ]

  /// All pairs of edges, and of edges with nil.
  private static func makeObjects() -> [RandomObject] {
    var objects: [RandomObject] = []
    for (row, a) in (edges.map { AttributeValue.int($0) } + [.null]).enumerated() {
      for (column, b) in (edges.map { AttributeValue.int($0) } + [.null]).enumerated() {
        let object = RandomObject("Pair", Int64(objects.count + 1))
        object.values = [
          "a": a, "b": b,
          "small": column % 5 == 4 ? .null : .int([-32_768, -1, 0, 32_767][column % 5]),
          "flag": row % 3 == 2 ? .null : .bool(row % 3 == 1),
          "ratio": (row + column) % 14 == 13 ? .null : .double(ratios[(row + column) % 14]),
        ]
        objects.append(object)
      }
    }
    return objects
  }

  private let objects = makeObjects()
  private let rows: StoredRows

  init() throws {
    rows = try StoredRows(Self.version)
    try rows.insert(
      objects.map { ("Pair", $0.values.merging(["_pk": .int($0.key), "_version": .int(1)]) { $1 }) })
  }

  private static let expressions: [String] = {
    var result: [String] = []
    for word in ["+", "-", "*", "/", "&", "|", "^", "<<", ">>"] {
      result += ["a \(word) b", "small \(word) a", "a \(word) flag", "flag \(word) small"]
      for constant in ["1", "-1", "2", "-3", "0", "9223372036854775807", "-9223372036854775807"] {
        result += ["a \(word) \(constant)", "\(constant) \(word) a", "small \(word) \(constant)"]
      }
    }
    for constant in ["b", "1", "-1", "0", "7", "-9223372036854775807"] {
      result += [
        "modulus:by:(a, \(constant))", "modulus:by:(small, \(constant))", "modulus:by:(\(constant), a)",
      ]
    }
    result += [
      "-a", "-small", "-flag", "~a", "~small", "onesComplement:(a)", "abs(a)", "abs(small)", "abs(flag)",
      "-(-a)",
      "a ** 0", "a ** 1", "a ** 2", "a ** 63", "small ** 4", "raise:toPower:(a, 3)", "bitwiseXor:with:(a, b)",
      "add:to:(a, b)", "from:subtract:(a, b)", "multiply:by:(a, b)", "divide:by:(a, b)",
      "a + 1 + 2 + b - small * 3", "(a - b) * (a + b)", "1 + a - 1", "a + 0", "a * 0", "a ?? b + 1",
      "TERNARY(a < 5, a + 5, a - 5)", "(a + 1) ?? 0", "a + (small ?? 0) + (b ?? 0)",
    ]
    for type in ["Int16", "Int32", "Int64"] {
      for source in ["a", "small", "flag", "ratio", "a + 1"] {
        result += [
          "CAST(\(source), '\(type)')", "CAST(\(source), '\(type)', -7)", "CAST(\(source), '\(type)', nil)",
          "CAST(\(source), '\(type)', 0) ?? 5", "CAST(\(source), '\(type)', small)",
        ]
      }
    }
    return result
  }()

  private enum Answer: Equatable {
    case value(AttributeValue)
    case none
  }

  /// How many tests share the expressions. Each of them fills a store.
  private static let partCount = 8

  @Test(arguments: 0..<partCount) func sqlAgreesWithTheEvaluator(part: Int) throws {
    for place in stride(from: part, to: Self.expressions.count, by: Self.partCount) {
      try compareSQLWithTheEvaluator(Self.expressions[place])
    }
  }

  private func compareSQLWithTheEvaluator(_ format: String) throws {
    let checked = ExpressionChecker(graph: rows.plan.graph).check(
      try ValueExpression(format: format), on: "Pair")
    #expect(!checked.hasErrors, "\(format)")
    let plan = try #require(rows.plan.entity("Pair"))
    var compiler = SQLCompiler(
      entity: plan, model: rows.plan, variables: [:], now: Date(), key: SQLPredicate.noKey, dialect: .sqlite)
    guard case .value(let compiled)? = try compiler.operand(checked.expression) else {
      Issue.record("SQL has no form of \(format)")
      return
    }
    guard case .int(let range) = compiled.kind else {
      Issue.record("\(format) is not an integer")
      return
    }
    var failures = 0
    let answers = try rows.integers(compiled.sql, ofRows: objects.map(\.key), in: "Pair")
    for (object, found) in zip(objects, answers) {
      let expected: Answer
      do throws(EvaluationError) {
        switch try PredicateEvaluator().value(of: checked.expression, for: object) {
        case .value(.bool(let flag)): expected = .value(.int(flag ? 1 : 0))
        case .value(let value): expected = .value(value)
        default: expected = .none
        }
      } catch { expected = .none }
      let answer = found.map { Answer.value($0) } ?? Answer.none
      #expect(answer == expected, "\(compiled.sql.text) of \(object.values)")
      switch expected {
      case .none: failures += 1
      case .value(.int(let number)): #expect(range.contains(number), "\(format) of \(object.values)")
      case .value(let value):
        #expect(value == .null && compiled.isNullable, "\(format) of \(object.values)")
      }
    }
    // What SQL says can fail is all that does.
    #expect(failures == 0 || compiler.mayFail, "\(format)")
  }

  @Test func chainsGrowNoFasterThanTheyAreLong() throws {
    let plan = try #require(rows.plan.entity("Pair"))
    let format = "a" + String(repeating: " + 1 - b", count: 4)
    var compiler = SQLCompiler(
      entity: plan, model: rows.plan, variables: [:], now: Date(), key: SQLPredicate.noKey, dialect: .sqlite)
    guard case .value(let compiled)? = try compiler.operand(ValueExpression(format: format)) else {
      Issue.record("SQL has no form of it")
      return
    }
    #expect(compiled.sql.text.utf8.count < 400)
  }

  @Test func aFetchAnswersAsMemoryDoes() throws {
    let plan = try #require(rows.plan.entity("Pair"))
    for (format, isExact) in [("a + 1 > 5", true), ("a < 100 AND a + 1 > 5", true), ("a ** b > 5", false)] {
      let compiled = try SQLPredicate.compile(
        FetchPredicate(format: format), entity: plan, plan: rows.plan, dialect: .sqlite)
      #expect(compiled.isExact == isExact, "\(format)")
    }
  }
}

extension StoredRows {
  /// The values of an expression for the rows with these keys. A value is nil if the expression fails for the row.
  func integers(_ sql: SQLText, ofRows keys: [Int64], in entity: String) throws -> [AttributeValue?] {
    let table = SQLText.quoted(plan.entity(entity)?.table ?? "")
    return try inspect { connection in
      // The type tells a double that SQLite has made of an overflow.
      let statement = try connection.statement(
        "SELECT value, typeof(value) FROM (SELECT \(sql.text) AS value FROM \(table) AS t0 WHERE t0._pk = ?)")
      return try keys.map { key in
        defer { statement.reset() }
        statement.bind(sql.bindings + [.int(key)])
        do {
          guard try statement.step(), !statement.isNull(0) else { return .null }
          return statement.string(1) == "integer" ? .int(statement.int64(0)) : .string("no integer")
        } catch is StoreError { return nil }
      }
    }
  }
}
